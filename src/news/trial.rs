//! One message now, to see whether a target can be told at all.

use std::sync::mpsc;

use crate::config::{Notify, Target};
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
    call::start(means::call(target, &message, &[])?, notify.time_limit.0, move |result| drop(sender.send(result)))?;
    let result = ended.recv().unwrap_or_else(|_| Err("could not be waited for".into()));
    result.map_err(|problem| {
        Error::failed(format!("target {name}: {problem}"), "correct the target in the configuration: askbox doctor --config")
    })
}
