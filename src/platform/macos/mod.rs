//! macOS: kqueue, `sysctl`, `F_GETPATH`. Compiled and linted, and not yet run: see [`weaker`](crate::platform::weaker).

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
pub(crate) const WEAKER: &[crate::platform::weaker::Weaker] = &crate::platform::weaker::ON_MACOS;

#[cfg(feature = "relaunch")]
pub(crate) const DESKTOP: crate::platform::means::Desktop = crate::platform::means::Desktop::AppleScript;

#[cfg(feature = "askbox")]
pub(crate) const SERVICE_MANAGER: crate::platform::means::ServiceManager = crate::platform::means::ServiceManager::Launchd;
