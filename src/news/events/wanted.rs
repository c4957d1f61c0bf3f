//! Which events a target is to be told of a round, by what the mailbox says about it.

use chrono::TimeDelta;

use crate::config::{Event, Notify, Target};
use crate::mailbox::Folder;
use crate::mailbox::documents::asked::OnExpiry;
use crate::mailbox::documents::fields::closing::Closed;
use crate::news::events::facts::Facts;
use crate::news::events::record::Record;
use crate::run::attempt::record::State;
use crate::time::Time;

/// Questions of this priority and more are told in quiet hours too.
const URGENT: i32 = 10;

/// Adds to a record what is to be told, and drops what is no longer to be. Returns whether the record has changed, and when the next look
/// is due.
pub(in crate::news) fn apply(record: &mut Record, facts: &Facts, target: &Target, notify: &Notify, now: Time) -> (bool, Option<Time>) {
    let urgent = facts.question.asked.priority.unwrap_or(0) >= URGENT;
    let mut changed = false;
    let mut next = None;
    let mut want = |record: &mut Record, event: Event, count: u32, due: Time| {
        if target.events.contains(&event) {
            changed |= record.want(event, count, due, urgent);
        }
    };
    if facts.waits_for_a_person() {
        let grace = TimeDelta::from_std(notify.grace.0).unwrap_or_default();
        let event = if facts.question.asked.approval.is_some() { Event::Approval } else { Event::Asked };
        want(record, event, facts.times_taken_back(), now + grace);
        if let Some((count, at, after)) = reminder(facts, now) {
            // A reminder whose date is older than the question's first mention here reminds nobody.
            let mentioned = record.events.iter().filter(|e| e.event.is_new_question()).map(|e| e.since).max();
            if mentioned.is_some_and(|mentioned| at > mentioned) {
                want(record, Event::Reminder, count, now);
            }
            next = Some(after);
        }
        if let Some(expires) = facts.question.asked.expires_at {
            let soon = soon(facts, notify, expires);
            if expires <= now && (facts.question.asked.on_expiry() == OnExpiry::Keep || facts.is_undecided) {
                want(record, Event::Overdue, 0, now);
            } else if soon.is_some_and(|soon| soon <= now) && expires > now {
                want(record, Event::Expiring, 0, now);
            }
            next = [soon, Some(expires), next].into_iter().flatten().filter(|at| *at > now).min();
        }
        return (changed, next);
    }
    let attempt = facts.run.as_ref().map_or(0, |run| run.attempt);
    if facts.is_being_taken_back() {
        return (changed, None);
    }
    if facts.folder != Folder::Pending && record.has_asked() {
        want(record, Event::Answered, facts.times_taken_back(), now);
    }
    match (facts.folder, facts.run.as_ref().map(|run| run.progress.state)) {
        (Folder::Running, Some(State::Failed)) => want(record, Event::Failed, attempt, now),
        (Folder::Parked, _) => want(record, Event::Parked, attempt, now),
        (Folder::Closed, _) if facts.closed() == Some(Closed::Delivered) && record.has_asked() => {
            want(record, Event::Delivered, 0, now);
        }
        _ => {}
    }
    changed |= record.drop_questions();
    (changed, None)
}

/// When the event `expiring` is due.
fn soon(facts: &Facts, notify: &Notify, expires: Time) -> Option<Time> {
    let lead = TimeDelta::from_std(notify.expiring.0).ok().filter(|lead| !lead.is_zero())?;
    Some(expires - lead.min((expires - facts.asked) / 4))
}

/// The last reminder whose date has come: which it is, its date, and the date of the next one.
fn reminder(facts: &Facts, now: Time) -> Option<(u32, Time, Time)> {
    let every = TimeDelta::from_std(facts.question.asked.remind_every?.0).ok().filter(|every| every.num_milliseconds() > 0)?;
    let gone = (now - facts.asked).num_milliseconds().div_euclid(every.num_milliseconds());
    let at = |n: i64| i32::try_from(n).ok().and_then(|n| every.checked_mul(n)).and_then(|wait| facts.asked.checked_add_signed(wait));
    Some((u32::try_from(gone.max(0)).ok()?, at(gone)?, at(gone + 1)?))
}
