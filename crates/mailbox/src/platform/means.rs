//! The programs of a system that askbox uses to show notifications and to run services.

use crate::platform::system;

/// How a notification is shown on the desktop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Desktop {
    /// `notify-send`, which speaks the desktop's own protocol.
    NotifySend,
    /// `osascript`, which runs AppleScript.
    AppleScript,
}

/// The program that keeps a service of the user running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServiceManager {
    /// systemd, with a unit of the user.
    Systemd,
    /// launchd, with a property list of the user.
    Launchd,
}

/// How this system shows a notification.
pub const DESKTOP: Desktop = system::DESKTOP;

/// The program that keeps a service running on this system.
pub const SERVICE_MANAGER: ServiceManager = system::SERVICE_MANAGER;
