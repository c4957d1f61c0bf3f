//! macOS: kqueue, `sysctl`, `F_GETPATH`. This code is compiled and linted, but has not been run yet: see
//! [`weaker`](crate::platform::weaker).
//!
//! | file | idea |
//! |---|---|
//! | `files` | looks at a file without opening it, opens paths without following links, syncs |
//! | `processes` | all processes, handles of them, orphans, and the death of a parent |
//! | `ancestors` | the processes above this one |

pub mod ancestors;
pub mod files;
pub mod processes;

pub const WEAKER: &[crate::platform::weaker::Weaker] = &crate::platform::weaker::ON_MACOS;

pub const DESKTOP: crate::platform::means::Desktop = crate::platform::means::Desktop::AppleScript;

pub const SERVICE_MANAGER: crate::platform::means::ServiceManager = crate::platform::means::ServiceManager::Launchd;
