//! `relaunch pause` and `relaunch go`: whether agents are launched.

use serde_json::json;

use crate::error::Result;
use crate::mailbox::{Mailbox, pause};
use crate::surface::program;

/// `relaunch pause`.
pub fn hold(mailbox: &Mailbox, why: Option<String>, json: bool) -> Result<u8> {
    let is_new = pause::hold(mailbox, &program::user(), why)?;
    let how = pause::held(mailbox).unwrap_or_default();
    if json {
        program::print_json(&json!({"state": "paused", "changed": is_new, "how": how}))?;
    } else {
        let before = if is_new { "" } else { " already" };
        program::print(&format!("the queue is{before} {how}\nlive runs go on; nothing more is launched until: relaunch go\n"))?;
    }
    Ok(0)
}

/// `relaunch go`.
pub fn release(mailbox: &Mailbox, json: bool) -> Result<u8> {
    let changed = pause::release(mailbox, &program::user())?;
    if json {
        program::print_json(&json!({"state": "open", "changed": changed}))?;
    } else {
        program::print(if changed { "the queue goes on\n" } else { "the queue was not paused\n" })?;
    }
    Ok(0)
}

/// Warns that what waits is not launched.
pub fn warn(mailbox: &Mailbox) {
    if let Some(how) = pause::held(mailbox) {
        program::warn(&format!("the queue is {how}; nothing is launched until: relaunch go"));
    }
}
