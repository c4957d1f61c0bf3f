//! Linux: pidfds, `/proc`, `openat2`.

pub mod ancestors;
pub mod files;
pub mod processes;

pub const WEAKER: &[crate::platform::weaker::Weaker] = &[];

pub const DESKTOP: crate::platform::means::Desktop = crate::platform::means::Desktop::NotifySend;

pub const SERVICE_MANAGER: crate::platform::means::ServiceManager = crate::platform::means::ServiceManager::Systemd;
