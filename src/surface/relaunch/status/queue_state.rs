//! `relaunch status --summary`, and the queue's state as the reason why answered workflows wait.

use crate::error::{Error, Result};
use crate::mailbox::Mailbox;
use crate::run::view::status::{Standing, Status};
use crate::surface::program::{self, Context};
use crate::surface::terminal::fitted;
use crate::time::{self, Time};
use crate::watch::report::summary::{self, Queue, QueueState};

/// Prints the numbers at a glance.
pub fn show_summary(mailbox: &Mailbox, context: &Context, json: bool) -> Result<u8> {
    let summary = summary::of(mailbox, &context.loaded()?.config)?;
    if json {
        program::print_json(&summary)?;
        return Ok(0);
    }
    let mut out = String::new();
    let rounds: Vec<String> = summary.rounds.iter().filter(|(_, n)| **n > 0).map(|(state, n)| format!("{n} {state}")).collect();
    let mut line = |name: &str, value: String| out.push_str(&format!("{name:<10} {value}\n"));
    line("rounds", if rounds.is_empty() { "none is open".into() } else { rounds.join(", ") });
    if let Some(at) = summary.oldest_pending_at {
        line("oldest", format!("waits for {}", time::human(time::since(at))));
    }
    line("queue", in_words(&summary.queue, fitted::moment));
    let limit = summary.day_limit_usd.map(|l| format!(" of ${l:.2}")).unwrap_or_default();
    line("today", format!("${:.4}{limit}", summary.spent_today_usd));
    line("watcher", if summary.watched { "is there".into() } else { "none: start one with `relaunch watch`".into() });
    program::print(&out)?;
    Ok(0)
}

fn in_words(queue: &Queue, moment: impl Fn(Time) -> String) -> String {
    let until = queue.until.map(|at| format!(" until {}", moment(at))).unwrap_or_default();
    let why = queue.why.as_ref().map(|w| format!(": {w}")).unwrap_or_default();
    format!("{}{until}{why}", queue.state.word())
}

/// Adds the reason to every workflow that waits for a launch, if nothing is launched: the configuration cannot be read, or the queue is
/// paused.
pub fn explain<'s>(mailbox: &Mailbox, context: &Context, all: impl Iterator<Item = &'s mut Status>) -> Result<()> {
    let mut waiting: Vec<_> = all.filter(|status| waits_for_launch(status.state)).collect();
    if waiting.is_empty() {
        return Ok(());
    }
    let loaded = match context.loaded() {
        Ok(loaded) => loaded,
        Err(error) => {
            waiting.iter_mut().for_each(|status| without_configuration(status, &error));
            return Ok(());
        }
    };
    waiting.retain(|status| matches!(status.state, Standing::Answered | Standing::Queued));
    if waiting.is_empty() {
        return Ok(());
    }
    let queue = summary::queue(mailbox, &loaded.config)?;
    if queue.state != QueueState::Open {
        for status in waiting {
            status.retry_at = queue.until;
            status.why = Some(format!("the queue is {}", in_words(&queue, time::rfc3339)));
        }
    }
    Ok(())
}

fn waits_for_launch(state: Standing) -> bool {
    matches!(state, Standing::Answered | Standing::Queued | Standing::Retrying | Standing::Throttled | Standing::Orphaned)
}

/// Every supervisor reads the configuration, and ends where it cannot be read.
fn without_configuration(status: &mut Status, error: &Error) {
    let broken = format!("no agent is launched, because the configuration cannot be read: {error}");
    status.why = Some(status.why.iter().cloned().chain([broken]).collect::<Vec<_>>().join("; "));
    status.todo = Some(format!("{}; to see whether all is well then: askbox doctor", error.hint()));
}
