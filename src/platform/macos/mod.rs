//! macOS: kqueue, `renameatx_np`, `F_GETPATH`. Compiled and linted, and not yet run: see [`weaker`](crate::platform::weaker).

pub(crate) mod files;
#[cfg(feature = "relaunch")]
pub(crate) mod handle;
#[cfg(feature = "relaunch")]
pub(crate) mod kinship;
#[cfg(feature = "relaunch")]
pub(crate) mod processes;

#[cfg(feature = "relaunch")]
pub(crate) const WEAKER: &[crate::platform::weaker::Weaker] = &crate::platform::weaker::ON_MACOS;

#[cfg(feature = "relaunch")]
pub(crate) const DESKTOP: crate::platform::means::Desktop = crate::platform::means::Desktop::AppleScript;

#[cfg(feature = "relaunch")]
pub(crate) const SERVICE_MANAGER: crate::platform::means::ServiceManager = crate::platform::means::ServiceManager::Launchd;
