//! The one check before all routing, and what it knows: names, devices, secrets.
//!
//! | file | idea |
//! |---|---|
//! | `check` | the check: host, session, origin, form; the headers of every reply |
//! | `hosts` | under which names the page may be asked for, and which pages may send it forms |
//! | `devices` | who is signed in, and which links still sign in: the file beside the configuration |
//! | `secret` | secrets, their hashes, and the token of a form |

mod check;
mod devices;
mod hosts;
mod secret;

pub use check::{Posted, SignedIn, check, set_cookie};
pub use devices::{Devices, LINK_LASTS, name_of_device};
pub use hosts::{Host, Hosts};
pub use secret::Secret;
