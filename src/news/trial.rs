//! One message now, to see whether a target can be told at all.

use std::sync::mpsc;

use crate::config::{Means, Notify, Target};
use crate::error::{Error, Result};
use crate::news::message::Message;
use crate::news::{call, means};

/// Tells a target a code, and waits until its program has ended.
///
/// # Errors
/// What went wrong, in the words of the target's program.
pub fn send(notify: &Notify, name: &str, target: &Target, code: &str) -> Result<()> {
    let title = format!("askbox test: {code}");
    let message = Message::plain(name, "test", &title, &format!("Type {code} where `askbox notify test` asks for it."));
    let (sender, ended) = mpsc::channel();
    let failed = |problem: String| Error::failed(format!("target {name}: {problem}"), hint(notify, name, target));
    let started = call::start(means::call(target, &message, &[])?, notify.time_limit.0, move |result| drop(sender.send(result)));
    started.map_err(|e| if e.is_shortage() { e } else { failed(e.to_string()) })?;
    let result = ended.recv().unwrap_or_else(|_| Err("could not be waited for".into()));
    result.map_err(failed)
}

/// What names the key of the configuration.
fn hint(notify: &Notify, name: &str, target: &Target) -> String {
    let key = match target.means() {
        Some(Means::Exec(command)) if *command == notify.command => "notify.command".to_owned(),
        Some(Means::Exec(_)) => format!("target.{name}.exec"),
        Some(Means::Desktop) => {
            return format!("{} has to be installed and reach your desktop, or take target.{name} away", means::DESKTOP);
        }
        Some(Means::Webhook(_)) => format!("target.{name}.webhook"),
        Some(Means::Ntfy(_)) | None => format!("target.{name}.ntfy"),
    };
    format!("correct {key} in the configuration: askbox doctor --config")
}
