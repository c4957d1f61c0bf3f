//! The reason why answers launch no agent now: the queue is paused, or no watcher runs.

use chrono::Local;

use crate::site::Site;
use askbox_mailbox::time::{self, Time};
use askbox_run::story::cause::{self, HoldUp};
use askbox_run::story::queue::{self, QueueState};

/// The reason in sentences for a person. `None` if answers launch agents. A file that cannot be read counts as no reason.
pub fn in_words(site: &Site) -> Option<String> {
    // The operator may have changed the configuration since the last look.
    site.context.reload();
    let config = match site.context.loaded() {
        Ok(loaded) => loaded,
        Err(e) => return Some(format!("Answers are kept: {}", cause::unreadable_configuration(&e))),
    };
    let queue = queue::of(&site.mailbox, &config.config).ok();
    if let Some(queue) = queue.filter(|queue| queue.state == QueueState::Probing) {
        return Some(format!("The queue tries one run before it goes on: {}. Answers are kept.", queue.why.unwrap_or_default()));
    }
    cause::all(&site.mailbox, Some(&config.config)).first().map(sentence)
}

fn sentence(hold_up: &HoldUp) -> String {
    let until = hold_up.until.map(|at| format!(" (until {} here)", clock(at))).unwrap_or_default();
    format!("Answers are kept, and launch nothing{until}: {}", hold_up.words())
}

/// A moment ahead in local time, with its zone, because the person may be in another one: without the date if it is today.
pub fn clock(at: Time) -> String {
    let here = at.with_timezone(&Local);
    let is_today = here.date_naive() == time::now().with_timezone(&Local).date_naive();
    if is_today { here.format("%H:%M:%S %:z").to_string() } else { time::local(at) }
}
