//! News that should have been sent long ago, because the watcher that notifies hangs or does not know the target. Only reads.

use std::time::Duration;

use chrono::TimeDelta;

use crate::news::post::Present;
use crate::news::record::Ledger;
use askbox_config::{Config, Event, targets};
use askbox_mailbox::{Folder, Mailbox, Time, WorkflowId, list, read_question, round, timers};

/// The events that wait for one target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LateTarget {
    /// The target.
    pub target: String,
    /// The number of events that wait.
    pub count: usize,
    /// When the oldest of them should have been sent.
    pub since: Time,
}

/// The targets with events that are late by more than `patience`.
pub fn late_targets(mailbox: &Mailbox, config: &Config, patience: Duration, now: Time) -> Vec<LateTarget> {
    let notify = &config.notify;
    let delta = |span: Duration| TimeDelta::from_std(span).unwrap_or_default();
    let present = Present::look(mailbox);
    let seen_for = |workflow: &WorkflowId| if present.sees(workflow) { delta(notify.present.0) } else { TimeDelta::zero() };
    // One attempt may take this long, and no other event of its round is sent during it.
    let latest = now - delta(patience) - delta(notify.time_limit.0);
    let is_quiet = notify.quiet.end(now).is_some() || notify.quiet.end(latest).is_some();
    let pending: Vec<WorkflowId> = list::workflows(mailbox, Folder::Pending).unwrap_or_default();
    let waiting = targets(&config.target).into_iter().filter_map(|(name, target)| {
        let ledger = Ledger::read(mailbox, &name);
        let entries = ledger.open_entries().into_iter().filter_map(|(due, round, n)| {
            let entry = ledger.records.get(&round)?.events.get(n)?;
            let due = if entry.event.is_new() { due + seen_for(&round.workflow) } else { due };
            (entry.urgent || !is_quiet).then_some(due)
        });
        // The watcher that notifies makes a record of each question as soon as it is there, in quiet hours too.
        let unknown = pending.iter().filter_map(|workflow| {
            let question = read_question::pending(mailbox, workflow).ok()?.typed;
            let round = round::of_pending(mailbox, &question).ok()?;
            let event = if question.approval.is_some() { Event::Approval } else { Event::Asked };
            let is_to_be_told = question.until.is_none() && question.closed.is_none() && target.events.contains(&event);
            (is_to_be_told && !ledger.records.contains_key(&round))
                .then(|| timers::asked(mailbox, &question) + delta(notify.grace.0) + seen_for(workflow))
        });
        let late: Vec<Time> = entries.chain(unknown).filter(|due| *due < latest).collect();
        Some(LateTarget { count: late.len(), since: late.into_iter().min()?, target: name })
    });
    waiting.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::news::record::EntryState;
    use askbox_config::Target;
    use askbox_mailbox::id::QuestionId;
    use askbox_mailbox::id::RoundId;
    use askbox_mailbox::time;

    #[test]
    fn only_what_is_wanted_due_and_not_yet_told_waits() {
        let folder = tempfile::tempdir().unwrap();
        let mailbox = Mailbox::open_or_create(folder.path().join("m")).unwrap();
        let mut config = Config::default();
        config.target.insert("desk".into(), Target { desktop: true, ..Target::default() });
        let now = time::now();
        let late = || late_targets(&mailbox, &config, Duration::from_secs(60), now).iter().map(|w| (w.count, w.since)).collect::<Vec<_>>();
        assert_eq!(late(), [], "no record yet");
        let mut ledger = Ledger::open(&mailbox, "desk").unwrap();
        let mut want = |event, due| {
            let round = RoundId { workflow: "docs".parse().unwrap(), question: QuestionId::generate() };
            ledger.change(&round, |record| record.want(event, 0, due, false)).unwrap();
            round
        };
        let old = now - TimeDelta::seconds(100);
        want(Event::Asked, now + TimeDelta::seconds(20));
        want(Event::Failed, now - TimeDelta::seconds(80));
        assert_eq!(late(), [], "telling it may take 30 seconds");
        let round = want(Event::Parked, old);
        assert_eq!(late(), [(1, old)]);
        let mut ledger = Ledger::open(&mailbox, "desk").unwrap();
        let told = ledger.change(&round, |record| {
            record.events[0].state = EntryState::Sent;
            true
        });
        told.unwrap();
        assert_eq!(late(), []);
    }
}
