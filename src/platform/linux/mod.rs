//! Linux: pidfds, `/proc`, `openat2`.

#[cfg(feature = "relaunch")]
pub(crate) mod ancestors;
pub(crate) mod files;
#[cfg(feature = "relaunch")]
pub(crate) mod held;
#[cfg(feature = "relaunch")]
pub(crate) mod kinship;
#[cfg(feature = "relaunch")]
pub(crate) mod processes;

#[cfg(feature = "relaunch")]
pub(crate) const WEAKER: &[crate::platform::weaker::Weaker] = &[];

#[cfg(feature = "relaunch")]
pub(crate) const DESKTOP: crate::platform::means::Desktop = crate::platform::means::Desktop::NotifySend;

#[cfg(feature = "askbox")]
pub(crate) const SERVICE_MANAGER: crate::platform::means::ServiceManager = crate::platform::means::ServiceManager::Systemd;
