//! Linux: pidfds, `/proc`, `openat2`.
//!
//! | file | idea |
//! |---|---|
//! | `files` | looks at a file without opening it, opens paths without following links, syncs |
//! | `processes` | all processes, handles of them, orphans, and the death of a parent |
//! | `ancestors` | the processes above this one, looked at with few system calls |

pub mod ancestors;
pub mod files;
pub mod processes;

pub const WEAKER: &[crate::platform::weaker::Weaker] = &[];

pub const DESKTOP: crate::platform::means::Desktop = crate::platform::means::Desktop::NotifySend;

pub const SERVICE_MANAGER: crate::platform::means::ServiceManager = crate::platform::means::ServiceManager::Systemd;
