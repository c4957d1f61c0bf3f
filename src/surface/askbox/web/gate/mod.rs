//! What the check before all routing knows: names, devices, sessions, secrets.
//!
//! | file | idea |
//! |---|---|
//! | `hosts` | under which names the page may be asked for, and which pages may send it forms |
//! | `devices` | who is signed in, and which links still sign in: the file beside the configuration |
//! | `session` | a device that is signed in: its cookie, and the forms that it sends |
//! | `secret` | secrets, their hashes, and the token of a form |

mod devices;
mod hosts;
mod secret;
mod session;

pub use devices::{Device, Devices, LINK_LASTS, name_of_device};
pub use hosts::{Host, Hosts};
pub use secret::Secret;
pub use session::{Posted, SignedIn, cookie, set_cookie};
