//! The parts of the check before all routing: names, devices, sessions, secrets.
//!
//! | file | idea |
//! |---|---|
//! | `hosts` | the names under which the page may be requested, and the pages that may send it forms |
//! | `devices` | the signed-in devices and the links that can still be used, in the file beside the configuration |
//! | `session` | a signed-in device: its cookie, its secrets and their hashes, and the forms that it sends |

mod devices;
mod hosts;
mod session;

pub use devices::{Device, Devices, LINK_LASTS, name_of_device};
pub use hosts::{Host, Hosts};
pub use session::{Posted, Secret, SignedIn, browser, cookies, is_same, set_cookie};
