//! The service that keeps the watcher running.
//!
//! | file | idea |
//! |---|---|
//! | `service_files` | the unit of systemd, the file of launchd |
//! | `service_variables` | the environment that the service needs, in a file of its own |

pub mod service_files;
pub(in crate::surface::askbox) mod service_variables;
