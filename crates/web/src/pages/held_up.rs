//! The reason why answers launch no agent now: the queue is paused, or no watcher runs.

use chrono::Local;

use crate::site::Site;
use askbox_mailbox::{Time, time};
use askbox_run::story::queue::QueueState;

/// The reason in sentences for a person. `None` if answers launch agents. A file that cannot be read counts as no reason.
pub fn in_words(site: &Site) -> Option<String> {
    // The operator may have changed the configuration since the last look.
    site.context.reload();
    let teller = site.teller();
    if let Some(queue) = teller.queue().filter(|queue| queue.state == QueueState::Probing) {
        let why = queue.why.as_deref().unwrap_or_default();
        return Some(format!("The queue tries one run before it goes on: {why}. Answers are kept."));
    }
    teller.general().first().map(|hold_up| format!("Answers are kept, and launch nothing: {}", hold_up.words_at(clock)))
}

/// A moment ahead in local time, with its zone, because the person may be in another one: without the date if it is today.
pub fn clock(at: Time) -> String {
    let here = at.with_timezone(&Local);
    let is_today = here.date_naive() == time::now().with_timezone(&Local).date_naive();
    if is_today { here.format("%H:%M:%S %:z").to_string() } else { time::local(at) }
}
