//! `relaunch pause` and `relaunch go`: stop and restart the launching of agents.

use serde_json::json;

use askbox_cli::{Context, program};
use askbox_config::Config;
use askbox_mailbox::audit::{self, Entry};
use askbox_mailbox::{Mailbox, Result, pause, time};
use askbox_run::breaker::shared_file;
use askbox_run::breaker::state_machine::Settings;
use askbox_run::money::day::DayBudget;

/// `relaunch pause`.
pub fn hold(mailbox: &Mailbox, why: Option<String>, json: bool) -> Result<u8> {
    let is_new = pause::hold(mailbox, &program::user(), why)?;
    let how = pause::held(mailbox).unwrap_or_default();
    let before = if is_new { "" } else { " already" };
    let words = format!("the queue is{before} {how}\nlive runs go on; nothing more is launched until: relaunch go\n");
    program::print_result(json, &json!({"state": "paused", "changed": is_new, "how": how}), &words).map(|()| 0)
}

/// `relaunch go`.
pub fn release(mailbox: &Mailbox, context: &Context, json: bool) -> Result<u8> {
    let by = program::user();
    let released = pause::release(mailbox, &by)?;
    // A configuration that cannot be read must not keep the queue paused.
    let loaded = context.config().unwrap_or_else(|e| {
        program::warn(&format!("nothing is launched before the configuration can be read: {}", program::message(&e)));
        Config::default()
    });
    let failures = shared_file::try_now(mailbox, Settings::from_config(&loaded.relaunch))?;
    if let Some(why) = &failures {
        audit::record(mailbox, Entry::about("queue_released").by(&by).why(format!("one run is tried now; the queue was paused: {why}")));
    }
    let spent = match DayBudget::at(mailbox, &loaded, time::now())? {
        DayBudget::Spent { why, .. } => Some(why),
        _ => None,
    };
    if json {
        let changed = released || failures.is_some();
        program::print_json(&json!({"state": if spent.is_some() { "spent" } else { "open" }, "changed": changed, "why": spent}))?;
        return Ok(0);
    }
    program::print(&match (&failures, released) {
        (Some(why), _) => format!("one run is tried now, and if it is delivered the queue goes on; it was paused: {why}\n"),
        (None, true) => "the queue goes on\n".to_owned(),
        (None, false) => "the queue was not paused\n".to_owned(),
    })?;
    if let Some(why) = spent {
        program::warn(&format!("nothing is launched today: {why}; to allow more, raise limits.day_cost"));
    }
    Ok(0)
}
