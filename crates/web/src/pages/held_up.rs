//! The reason why answers launch no agent now: the queue is paused, or no watcher runs.

use chrono::Local;

use crate::site::Site;
use askbox_mailbox::time::{self, Time};
use askbox_mailbox::who::presence;
use askbox_watch::report::summary::{self, Cause, Queue, QueueState};

/// The reason in sentences for a person. `None` if answers launch agents. A file that cannot be read counts as no reason.
pub fn in_words(site: &Site) -> Option<String> {
    // The operator may have changed the configuration since the last look.
    site.context.reload();
    let config = match site.context.loaded() {
        Ok(loaded) => loaded,
        Err(e) => return Some(format!("No agent is launched, because the configuration cannot be read: {e}. Answers are kept.")),
    };
    let queue = summary::queue(&site.mailbox, &config.config).ok();
    if let Some(why) = queue.as_ref().and_then(of_queue) {
        return Some(why);
    }
    let has_watcher = presence::anybody(&site.mailbox).unwrap_or(true);
    (!has_watcher).then(|| "No watcher runs: answers are kept, and launch nothing until one does (relaunch watch).".into())
}

fn of_queue(queue: &Queue) -> Option<String> {
    let why = queue.why.as_deref().unwrap_or_default();
    match (queue.state, queue.until, queue.cause) {
        (QueueState::Open, ..) => None,
        (QueueState::Probing, ..) => Some(format!("The queue tries one run before it goes on: {why}. Answers are kept.")),
        // The end of this pause is only when a watcher looks again.
        (QueueState::Paused, _, Some(Cause::NoProgram)) => Some(format!("The queue is paused: {why}. Answers are kept.")),
        (QueueState::Paused, Some(until), _) => {
            let go = if queue.cause.is_some_and(Cause::ends_with_go) { " (at once: relaunch go)" } else { "" };
            Some(format!("The queue is paused until {}: {why}. Answers are kept until then{go}.", clock(until)))
        }
        (QueueState::Paused, None, Some(Cause::Held)) => {
            Some(format!("The queue is {why}. Answers are kept, and launch nothing until: relaunch go."))
        }
        (QueueState::Paused, None, _) => Some(format!("The queue is paused: {why}. Answers are kept.")),
    }
}

/// A moment ahead in local time, with its zone, because the person may be in another one: without the date if it is today.
pub fn clock(at: Time) -> String {
    let here = at.with_timezone(&Local);
    let is_today = here.date_naive() == time::now().with_timezone(&Local).date_naive();
    if is_today { here.format("%H:%M:%S %:z").to_string() } else { time::local(at) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paused_queue_says_why_and_until_when() {
        let queue = |state, until, cause, why: &str| Queue { state, until, why: Some(why.into()), cause: Some(cause), failures: 0 };
        let at = time::now() + chrono::TimeDelta::days(3);
        let said = |queue| of_queue(&queue).unwrap_or_default();
        let until = said(queue(QueueState::Paused, Some(at), Cause::Failures, "3 runs failed"));
        assert!(until.starts_with(&format!("The queue is paused until {}: 3 runs failed.", time::local(at))), "{until}");
        assert!(until.ends_with("(at once: relaunch go)."), "{until}");
        // `relaunch go` brings no money, and no program.
        for (cause, why) in [(Cause::DayCost, "$5 of $5 are spent"), (Cause::NoProgram, "no agent can be started: no `claude`")] {
            let until = said(queue(QueueState::Paused, Some(at), cause, why));
            assert!(until.contains(why) && !until.contains("relaunch go"), "{until}");
        }
        let by_hand = said(queue(QueueState::Paused, None, Cause::Held, "paused by ann 5m ago: the API is down"));
        assert!(
            by_hand.starts_with("The queue is paused by ann 5m ago: the API is down.") && by_hand.ends_with("relaunch go."),
            "{by_hand}"
        );
        assert!(said(queue(QueueState::Probing, None, Cause::Failures, "3 runs failed")).contains("tries one run"));
        assert_eq!(said(queue(QueueState::Open, None, Cause::Failures, "")), "");
    }
}
