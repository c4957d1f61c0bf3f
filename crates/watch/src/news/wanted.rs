//! The events of a round that a target is to get, according to the mailbox. News are made from the state of the round in the mailbox
//! alone, so that a restart, a lost event or a second look change nothing.

use chrono::TimeDelta;

use crate::news::record::Record;
use askbox_config::{Event, Notify, Target};
use askbox_mailbox::{Closed, Folder, Mailbox, OnExpiry, Question, Round, RoundId, Time, WorkflowId, round, timers};
use askbox_run::{Run, RunState, record};

/// Questions of this priority and more are sent in quiet hours too.
const URGENT: i32 = 10;

/// Adds the events to send to a record, and drops those that are no longer to be sent. Returns whether the record has changed, and when
/// the next look is due.
pub(super) fn apply_wanted(record: &mut Record, facts: &Facts, target: &Target, notify: &Notify, now: Time) -> (bool, Option<Time>) {
    let urgent = facts.question.priority.unwrap_or(0) >= URGENT;
    let mut changed = false;
    let mut next = None;
    let mut want = |record: &mut Record, event: Event, count: u32, due: Time| {
        if target.events.contains(&event) && target.live.tells(facts.question.live.is_some()) {
            changed |= record.want(event, count, due, urgent);
        }
    };
    if facts.waits_for_a_person() {
        let grace = TimeDelta::from_std(notify.grace.0).unwrap_or_default();
        let event = if facts.question.approval.is_some() { Event::Approval } else { Event::Asked };
        want(record, event, facts.times_taken_back(), now + grace);
        if let Some((count, at, after)) = reminder(facts, now) {
            // A reminder whose date is before the first mention of the question here is pointless.
            let mentioned = record.events.iter().filter(|e| e.event.is_new()).map(|e| e.since).max();
            if mentioned.is_some_and(|mentioned| at > mentioned) {
                want(record, Event::Reminder, count, now);
            }
            next = Some(after);
        }
        if let Some(expires) = facts.question.expires_at {
            let soon = soon(facts, notify, expires);
            if expires <= now && (facts.question.on_expiry() == OnExpiry::Keep || facts.is_undecided) {
                want(record, Event::Overdue, 0, now);
            } else if soon.is_some_and(|soon| soon <= now) && expires > now {
                want(record, Event::Expiring, 0, now);
            }
            next = [soon, Some(expires), next].into_iter().flatten().filter(|at| *at > now).min();
        }
        return (changed, next);
    }
    let attempt = facts.run.as_ref().map_or(0, |run| run.attempt);
    // An answer is being taken back: for a moment its file has no answer.
    if facts.folder == Folder::Answered && facts.question.answer.is_none() {
        return (changed, None);
    }
    if facts.folder != Folder::Pending && record.has_asked() {
        want(record, Event::Answered, facts.times_taken_back(), now);
    }
    match (facts.folder, facts.run.as_ref().map(|run| run.state)) {
        (Folder::Running, Some(RunState::Failed)) => want(record, Event::Failed, attempt, now),
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

/// The last reminder whose date has come: its number, its date, and the date of the next one.
fn reminder(facts: &Facts, now: Time) -> Option<(u32, Time, Time)> {
    let every = TimeDelta::from_std(facts.question.remind_every?.0).ok().filter(|every| every.num_milliseconds() > 0)?;
    let gone = (now - facts.asked).num_milliseconds().div_euclid(every.num_milliseconds());
    let at = |n: i64| i32::try_from(n).ok().and_then(|n| every.checked_mul(n)).and_then(|wait| facts.asked.checked_add_signed(wait));
    Some((u32::try_from(gone.max(0)).ok()?, at(gone)?, at(gone + 1)?))
}

/// A round as it is now.
pub(in crate::news) struct Facts {
    pub round: RoundId,
    pub folder: Folder,
    pub question: Question,
    /// When it was asked.
    pub asked: Time,
    /// The last attempt to deliver it.
    pub run: Option<Run>,
    /// True if its time is over, and its default decides nothing.
    pub is_undecided: bool,
}

impl Facts {
    fn of_round(mailbox: &Mailbox, round: Round) -> Self {
        let run = record::latest(mailbox, &round.id).ok().flatten();
        let question = round.document.typed;
        let asked = timers::asked(mailbox, &question);
        let is_undecided = round.folder == Folder::Pending && timers::is_undecided(mailbox, &question, &round.id);
        Self { round: round.id, folder: round.folder, question, asked, run, is_undecided }
    }

    /// True if a person is asked, or if the round reports a failure. A wait for an event and a task ask nobody.
    pub(in crate::news) fn waits_for_a_person(&self) -> bool {
        self.folder == Folder::Pending && self.question.until.is_none()
    }

    pub(in crate::news) fn is_over(&self) -> bool {
        self.folder == Folder::Closed
    }

    pub(in crate::news) fn closed(&self) -> Option<Closed> {
        self.question.closed.as_ref().map(|closing| closing.state)
    }

    /// The reason why it is asked again, or why it is overdue although it has a default.
    pub(in crate::news) fn why_it_waits(&self, event: Event) -> Option<String> {
        let refused = self.question.taken_back.as_ref().filter(|_| self.question.answer.is_none()).and_then(|back| back.refused.as_ref());
        match event {
            Event::Overdue if self.is_undecided => Some(timers::UNDECIDED.to_owned()),
            Event::Asked | Event::Approval => refused.map(|why| format!("an answer was refused: {why}")),
            _ => None,
        }
    }

    /// The number of times that an answer was taken back.
    fn times_taken_back(&self) -> u32 {
        self.question.taken_back.as_ref().map_or(0, |taken| 1 + u32::try_from(taken.before.len()).unwrap_or(u32::MAX))
    }
}

/// The rounds of a workflow that are not over, and those in `known` that are.
pub(in crate::news) fn facts_of_workflow(mailbox: &Mailbox, workflow: &WorkflowId, known: &[RoundId]) -> Vec<Facts> {
    let open = round::open_of_workflow(mailbox, workflow);
    let over: Vec<Round> = known.iter().filter_map(|id| round::in_closed(mailbox, id)).collect();
    let open = open.into_iter().filter(|round| over.iter().all(|closed| closed.id != round.id)).collect::<Vec<_>>();
    over.into_iter().chain(open).map(|round| Facts::of_round(mailbox, round)).collect()
}
