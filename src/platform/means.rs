//! The programs of a system that askbox hands something to.

use crate::platform::system;

/// What shows a notification on the desktop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Desktop {
    /// The desktop's own protocol, which `notify-send` speaks.
    #[cfg_attr(target_os = "macos", expect(dead_code, reason = "of Linux"))]
    NotifySend,
    /// AppleScript, which `osascript` runs.
    #[cfg_attr(target_os = "linux", expect(dead_code, reason = "of macOS"))]
    AppleScript,
}

/// What keeps a service of the user running.
#[cfg(feature = "askbox")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServiceManager {
    Systemd,
    Launchd,
}

/// What shows a notification here.
pub(crate) const DESKTOP: Desktop = system::DESKTOP;

/// What keeps a service running here.
#[cfg(feature = "askbox")]
pub(crate) const SERVICE_MANAGER: ServiceManager = system::SERVICE_MANAGER;
