//! The service manager of the user: `systemctl --user`, if there is one.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use askbox_mailbox::platform::means::{SERVICE_MANAGER, ServiceManager};
use askbox_mailbox::{Error, Result, status_within};
use askbox_run::programs;

/// The service's unit.
pub(in crate::commands) use askbox_run::story::cause::SERVICE as UNIT;
/// The maximum time that `systemctl` may take.
const LIMIT: Duration = Duration::from_secs(60);

/// True if this user has a service manager that responds.
pub(super) fn is_there() -> bool {
    SERVICE_MANAGER == ServiceManager::Systemd && programs::find(Path::new("systemctl")).is_ok() && succeeds(&["show-environment"])
}

/// True if the service is enabled and runs.
pub(super) fn is_on() -> bool {
    succeeds(&["is-enabled", "--quiet", UNIT]) && succeeds(&["is-active", "--quiet", UNIT])
}

/// Makes systemd read the unit, and starts the service now and at each login.
pub(super) fn enable() -> Result<()> {
    call(&["daemon-reload"])?;
    call(&["enable", "--now", UNIT])
}

/// Calls `systemctl` for this user.
pub(super) fn call(args: &[&str]) -> Result<()> {
    if succeeds(args) {
        return Ok(());
    }
    let command = format!("systemctl --user {}", args.join(" "));
    let hint = format!("see why with: {command}; then repeat this command, which completes the rest");
    Err(Error::failed(format!("`{command}` failed"), hint))
}

fn succeeds(args: &[&str]) -> bool {
    let mut command = Command::new("systemctl");
    command.arg("--user").args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let Ok(mut child) = command.spawn() else { return false };
    let ended = status_within(&mut child, LIMIT).ok().flatten();
    if ended.is_none() {
        let _ = child.kill().and_then(|()| child.wait());
    }
    ended.is_some_and(|status| status.success())
}
