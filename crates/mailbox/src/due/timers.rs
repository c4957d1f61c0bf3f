//! Timers are empty files in `timers/`, named `TIME~KIND~WORKFLOW~QUESTION`. So a watcher finds every date without reading a
//! document. Timers are hints and not synced. The document decides whether a date is real, and a lost timer is made again when its
//! document is read.

use std::collections::HashSet;
use std::path::PathBuf;

use crate::{Folder, Mailbox, OnExpiry, Question, Result, RoundId, Time, Until, WorkflowId, disk, list, time};

/// The action that is due at the time of a timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, strum::EnumString, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Due {
    /// The question expires.
    Expire,
    /// The event that the question waits for may have come. The timer of a file is always due: its time is the beginning of 1970.
    Until,
    /// The user is reminded of the question.
    Remind,
    /// The next attempt of a run may start.
    Retry,
}

crate::words!(Due);

/// A timer: what is due for a round, and when.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timer {
    /// The time when it is due.
    pub at: Time,
    /// The action that is due.
    pub due: Due,
    /// The timer's round.
    pub round: RoundId,
}

impl Timer {
    /// Returns the file name, such as `20261122T101500.000Z~expire~WORKFLOW~QUESTION`.
    pub fn file_name(&self) -> String {
        // RFC 3339 without `-` and `:`, which have a meaning in shells.
        let at = time::rfc3339(self.at).replace(['-', ':'], "");
        format!("{at}~{}~{}~{}", self.due.word(), self.round.workflow, self.round.question)
    }

    /// Returns the timer with this file name. `None` for any other name.
    pub fn from_file_name(name: &str) -> Option<Self> {
        let mut pieces = name.split('~');
        let at = pieces.next()?;
        let (year, month, day_and_hour, minute, second) = (at.get(..4)?, at.get(4..6)?, at.get(6..11)?, at.get(11..13)?, at.get(13..)?);
        let at = time::parse_rfc3339(&format!("{year}-{month}-{day_and_hour}:{minute}:{second}"))?;
        let due = pieces.next()?.parse().ok()?;
        let round = RoundId { workflow: pieces.next()?.parse().ok()?, question: pieces.next()?.parse().ok()? };
        pieces.next().is_none().then_some(Self { at, due, round })
    }

    fn path(&self, mailbox: &Mailbox) -> PathBuf {
        mailbox.folder(Folder::Timers).join(self.file_name())
    }

    /// Returns the path of the file `told~…`. It records that this timer was due and that the user was notified.
    fn told_path(&self, mailbox: &Mailbox) -> PathBuf {
        mailbox.folder(Folder::Timers).join(format!("told~{}", self.file_name()))
    }

    /// Creates the timer's file.
    ///
    /// # Errors
    /// [`Error::Io`](crate::error::Error::Io) if the system refuses.
    pub fn arm(&self, mailbox: &Mailbox) -> Result<()> {
        disk::touch(&self.path(mailbox))
    }

    /// Removes the timer's file, if it exists.
    ///
    /// # Errors
    /// [`Error::Io`](crate::error::Error::Io) if the system refuses.
    pub fn disarm(&self, mailbox: &Mailbox) -> Result<()> {
        disk::untouch(&self.path(mailbox))
    }
}

/// Returns the timers of a question: its expiry, its event, and its next reminder after `now`. Reminders are counted from the time
/// `asked`. A date after the year 9999 has no timer, because a file name cannot hold it.
pub fn of_question(question: &Question, round: &RoundId, asked: Time, now: Time) -> Vec<Timer> {
    let timer = |at, due| Timer { at: rounded_up(at), due, round: round.clone() };
    let mut timers: Vec<_> = question.expires_at.map(|at| timer(at, Due::Expire)).into_iter().collect();
    timers.extend(question.until.as_ref().map(|until| match until {
        Until::At(at) => timer(*at, Due::Until),
        Until::File(_) => timer(Time::UNIX_EPOCH, Due::Until),
    }));
    // A question that waits for an event asks no person, so it has no reminders.
    if let Some(every) = question.remind_every.filter(|_| question.until.is_none())
        && let Ok(every) = chrono::TimeDelta::from_std(every.0)
        && every > chrono::TimeDelta::zero()
    {
        // The number is negative if the clock was set back after the question. Then the next reminder may lie before `asked`.
        let gone = (now - asked).num_milliseconds().div_euclid(every.num_milliseconds().max(1));
        let next = i32::try_from(gone + 1).ok().and_then(|n| every.checked_mul(n)).and_then(|d| asked.checked_add_signed(d));
        timers.extend(next.map(|at| timer(at, Due::Remind)));
    }
    timers.retain(|timer| time::is_rfc3339(timer.at));
    timers
}

/// Returns the workflows whose question waits for an event. Reads the names of the timers only, no document.
///
/// # Errors
/// [`Error::Io`](crate::error::Error::Io) if the system refuses.
pub fn waiting_for_events(mailbox: &Mailbox) -> Result<HashSet<WorkflowId>> {
    let timers = list::names(mailbox, Folder::Timers)?;
    Ok(timers.iter().filter_map(|n| Timer::from_file_name(n)).filter(|t| t.due == Due::Until).map(|t| t.round.workflow).collect())
}

/// Rounds a time up to what a file name can hold: to the millisecond, and to the first year. If it were rounded down, the timer
/// would be due before the date in the document.
fn rounded_up(at: Time) -> Time {
    let at = at.max(time::FIRST);
    let cut = time::to_the_millisecond(at);
    if cut < at { cut.checked_add_signed(chrono::TimeDelta::milliseconds(1)).unwrap_or(cut) } else { cut }
}

/// Returns when a question was asked: its `timestamp`, else the modification time of its file in `pending/`, else the current time.
pub fn asked(mailbox: &Mailbox, question: &Question) -> Time {
    let written = || disk::metadata(mailbox.document(Folder::Pending, &question.workflow_id)).and_then(|m| m.modified());
    question.asked_at().unwrap_or_else(|| written().map_or_else(|_| time::now(), Time::from))
}

/// Arms the timers of a question, except an expiry if the user was already notified of it.
///
/// # Errors
/// [`Error::Io`](crate::error::Error::Io) if the system refuses.
pub fn arm(mailbox: &Mailbox, question: &Question, round: &RoundId) -> Result<()> {
    let timers = of_question(question, round, asked(mailbox, question), time::now());
    timers.iter().filter(|t| t.due != Due::Expire || !disk::exists(t.told_path(mailbox))).try_for_each(|t| t.arm(mailbox))
}

/// Records that the user was notified that a question is overdue. Returns `false` if that was recorded before.
///
/// # Errors
/// [`Error::Io`](crate::error::Error::Io) if the system refuses.
pub fn note_overdue(mailbox: &Mailbox, round: &RoundId, expires_at: Time) -> Result<bool> {
    let path = Timer { at: rounded_up(expires_at), due: Due::Expire, round: round.clone() }.told_path(mailbox);
    if disk::exists(&path) { Ok(false) } else { disk::touch(&path).map(|()| true) }
}

/// The reason why a question with a default is overdue, as a sentence for people.
pub const UNDECIDED: &str = "its asker's default decides nothing, because answers must be signed (answers.require_signed)";

/// True if the time of this pending question is over and its default was not applied, because answers must be signed and a default
/// is not.
pub fn is_undecided(mailbox: &Mailbox, question: &Question, round: &RoundId) -> bool {
    let expires_at = question.expires_at.filter(|at| question.on_expiry() == OnExpiry::Default && *at <= time::now());
    expires_at.is_some_and(|at| {
        let timer = Timer { at: rounded_up(at), due: Due::Expire, round: round.clone() };
        disk::exists(timer.told_path(mailbox))
    })
}

/// Removes the timers of a question. Ignores a failure: when a leftover timer is due, it is checked against the document.
pub fn disarm(mailbox: &Mailbox, question: &Question, round: &RoundId) {
    for timer in of_question(question, round, asked(mailbox, question), time::now()) {
        let _ = timer.disarm(mailbox);
        if timer.due == Due::Expire {
            let _ = disk::untouch(&timer.told_path(mailbox));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::QuestionId;

    #[test]
    fn a_timer_reads_back_from_its_name() {
        let timer = Timer {
            at: time::now(),
            due: Due::Remind,
            round: RoundId { workflow: "a.b-c".parse().unwrap(), question: QuestionId::generate() },
        };
        assert_eq!(Timer::from_file_name(&timer.file_name()), Some(timer));
        assert_eq!(Timer::from_file_name("x~expire~a~b"), None);
    }

    #[test]
    fn a_timer_is_never_due_before_its_date() {
        let mut question = Question::new("w".parse().unwrap(), "?");
        question.expires_at = time::parse_rfc3339("2026-01-01T00:00:00.0004Z");
        let round = RoundId { workflow: "w".parse().unwrap(), question: QuestionId::generate() };
        let timer = of_question(&question, &round, time::now(), time::now()).remove(0);
        assert!(Timer::from_file_name(&timer.file_name()).unwrap().at > question.expires_at.unwrap());
    }

    #[test]
    fn a_date_before_all_years_has_a_timer_that_is_due() {
        let mut question = Question::new("w".parse().unwrap(), "?");
        question.expires_at = serde_json::from_str(r#""0000-01-01T00:00:00+23:59""#).unwrap();
        assert!(time::is_before_all_years(question.expires_at.unwrap()));
        let round = RoundId { workflow: "w".parse().unwrap(), question: QuestionId::generate() };
        let timer = of_question(&question, &round, time::now(), time::now()).remove(0);
        assert_eq!(Timer::from_file_name(&timer.file_name()).as_ref(), Some(&timer));
        assert!(timer.at <= time::now());
    }

    #[test]
    fn the_next_reminder_lies_ahead() {
        let mut question = Question::new("w".parse().unwrap(), "?");
        question.timestamp = Some("2026-01-01T00:00:00Z".into());
        question.remind_every = Some(time::Span(std::time::Duration::from_secs(3600)));
        let round = RoundId { workflow: "w".parse().unwrap(), question: QuestionId::generate() };
        let now = time::parse_rfc3339("2026-01-01T05:30:00Z").unwrap();
        let timers = of_question(&question, &round, question.asked_at().unwrap(), now);
        assert_eq!(time::rfc3339(timers[0].at), "2026-01-01T06:00:00.000Z");
    }
}
