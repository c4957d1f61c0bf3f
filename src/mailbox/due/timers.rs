//! Timers: empty files in `timers/`, named `TIME~KIND~WORKFLOW~QUESTION`, so that a watcher finds every date without reading a
//! document. They are hints and not synced: the document says whether a date is real, and a lost timer is made again when its
//! document is read.

use std::collections::HashSet;
use std::path::PathBuf;

use crate::disk;
use crate::error::Result;
use crate::id::{RoundId, WorkflowId};
use crate::mailbox::documents::asked::OnExpiry;
use crate::mailbox::documents::fields::until::Until;
use crate::mailbox::documents::question::Question;
use crate::mailbox::layout::{Folder, Mailbox};
use crate::mailbox::listing::list;
use crate::time::{self, Time};

/// What is due at the time of a timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Due {
    /// The question expires.
    Expire,
    /// The event may have come that the question waits for. The timer of a file is always due: its time is the beginning of 1970.
    Until,
    /// The user is reminded of the question.
    Remind,
    /// The next attempt of a run may start.
    Retry,
}

impl Due {
    fn word(self) -> &'static str {
        match self {
            Self::Expire => "expire",
            Self::Until => "until",
            Self::Remind => "remind",
            Self::Retry => "retry",
        }
    }
}

/// A timer.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timer {
    /// When it is due.
    pub at: Time,
    /// What is due.
    pub due: Due,
    /// The round it belongs to.
    pub round: RoundId,
}

impl Timer {
    /// The file name, such as `20261122T101500.000Z~expire~WORKFLOW~QUESTION`.
    #[must_use]
    pub fn file_name(&self) -> String {
        // RFC 3339 without `-` and `:`, which have a meaning in shells.
        let at = time::rfc3339(self.at).replace(['-', ':'], "");
        format!("{at}~{}~{}~{}", self.due.word(), self.round.workflow, self.round.question)
    }

    /// Reads a file name.
    #[must_use]
    pub fn from_file_name(name: &str) -> Option<Self> {
        let mut pieces = name.split('~');
        let at = pieces.next()?;
        let (year, month, day_and_hour, minute, second) = (at.get(..4)?, at.get(4..6)?, at.get(6..11)?, at.get(11..13)?, at.get(13..)?);
        let at = time::parse_rfc3339(&format!("{year}-{month}-{day_and_hour}:{minute}:{second}"))?;
        let due = match pieces.next()? {
            "expire" => Due::Expire,
            "until" => Due::Until,
            "remind" => Due::Remind,
            "retry" => Due::Retry,
            _ => return None,
        };
        let round = RoundId { workflow: pieces.next()?.parse().ok()?, question: pieces.next()?.parse().ok()? };
        pieces.next().is_none().then_some(Self { at, due, round })
    }

    fn path(&self, mailbox: &Mailbox) -> PathBuf {
        mailbox.folder(Folder::Timers).join(self.file_name())
    }

    /// The file `told~…`: it notes that this timer was due and that the user was notified.
    fn told_path(&self, mailbox: &Mailbox) -> PathBuf {
        mailbox.folder(Folder::Timers).join(format!("told~{}", self.file_name()))
    }

    /// Creates the file.
    pub fn arm(&self, mailbox: &Mailbox) -> Result<()> {
        disk::touch(&self.path(mailbox))
    }

    /// Removes the file.
    pub fn disarm(&self, mailbox: &Mailbox) -> Result<()> {
        disk::untouch(&self.path(mailbox))
    }
}

/// The timers of a question: its expiry, its event, and its next reminder after `now`. Reminders are counted from the time `asked`. A date that a
/// file name cannot hold, beyond the year 9999, has no timer.
#[must_use]
pub fn of_question(question: &Question, round: &RoundId, asked: Time, now: Time) -> Vec<Timer> {
    let timer = |at, due| Timer { at: rounded_up(at), due, round: round.clone() };
    let mut timers: Vec<_> = question.asked.expires_at.map(|at| timer(at, Due::Expire)).into_iter().collect();
    timers.extend(question.asked.until.as_ref().map(|until| match until {
        Until::At(at) => timer(*at, Due::Until),
        Until::File(_) => timer(Time::UNIX_EPOCH, Due::Until),
    }));
    // Nobody is reminded of what no person is asked.
    if let Some(every) = question.asked.remind_every.filter(|_| question.asked.until.is_none())
        && let Ok(every) = chrono::TimeDelta::from_std(every.0)
        && every > chrono::TimeDelta::zero()
    {
        // Also where the clock was set back after the question: the reminders before `asked` count then.
        let gone = (now - asked).num_milliseconds().div_euclid(every.num_milliseconds().max(1));
        let next = i32::try_from(gone + 1).ok().and_then(|n| every.checked_mul(n)).and_then(|d| asked.checked_add_signed(d));
        timers.extend(next.map(|at| timer(at, Due::Remind)));
    }
    timers.retain(|timer| time::is_rfc3339(timer.at));
    timers
}

/// The workflows whose question waits for an event, as the names tell it: no document is read.
pub fn waiting_for_events(mailbox: &Mailbox) -> Result<HashSet<WorkflowId>> {
    let timers = list::names(mailbox, Folder::Timers)?;
    Ok(timers.iter().filter_map(|n| Timer::from_file_name(n)).filter(|t| t.due == Due::Until).map(|t| t.round.workflow).collect())
}

/// Rounds up to the milliseconds, and to the first year, that a file name holds. A time rounded down would be due before the document's.
fn rounded_up(at: Time) -> Time {
    let at = at.max(time::FIRST);
    let cut = time::to_the_millisecond(at);
    if cut < at { cut.checked_add_signed(chrono::TimeDelta::milliseconds(1)).unwrap_or(cut) } else { cut }
}

/// When a question was asked: its `timestamp`, or else the modification time of its file.
#[must_use]
pub fn asked(mailbox: &Mailbox, question: &Question) -> Time {
    let written = || disk::metadata(mailbox.document(Folder::Pending, &question.workflow_id)).and_then(|m| m.modified());
    question.asked_at().unwrap_or_else(|| written().map_or_else(|_| time::now(), Time::from))
}

/// Arms the timers of a question, except an expiry that the user was notified of before.
pub fn arm(mailbox: &Mailbox, question: &Question, round: &RoundId) -> Result<()> {
    let timers = of_question(question, round, asked(mailbox, question), time::now());
    timers.iter().filter(|t| t.due != Due::Expire || !disk::exists(t.told_path(mailbox))).try_for_each(|t| t.arm(mailbox))
}

/// Notes that a question is overdue. Returns `false` if that was noted before.
pub fn note_overdue(mailbox: &Mailbox, round: &RoundId, expires_at: Time) -> Result<bool> {
    let path = Timer { at: rounded_up(expires_at), due: Due::Expire, round: round.clone() }.told_path(mailbox);
    if disk::exists(&path) {
        return Ok(false);
    }
    disk::touch(&path).map(|()| true)
}

/// Why a question with a default is overdue.
pub const UNDECIDED: &str = "its asker's default decides nothing, because answers must be signed (answers.require_signed)";

/// Whether the time of this pending question is over and its default was not applied: it decides nothing where answers must be signed.
#[must_use]
pub fn is_undecided(mailbox: &Mailbox, question: &Question, round: &RoundId) -> bool {
    let expires_at = question.asked.expires_at.filter(|at| question.asked.on_expiry() == OnExpiry::Default && *at <= time::now());
    expires_at.is_some_and(|at| {
        let timer = Timer { at: rounded_up(at), due: Due::Expire, round: round.clone() };
        disk::exists(timer.told_path(mailbox))
    })
}

/// Removes the timers of a question. A failure is ignored: a timer that stays is checked against the document when it is due.
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
        question.asked.expires_at = time::parse_rfc3339("2026-01-01T00:00:00.0004Z");
        let round = RoundId { workflow: "w".parse().unwrap(), question: QuestionId::generate() };
        let timer = of_question(&question, &round, time::now(), time::now()).remove(0);
        assert!(Timer::from_file_name(&timer.file_name()).unwrap().at > question.asked.expires_at.unwrap());
    }

    #[test]
    fn a_date_before_all_years_has_a_timer_that_is_due() {
        let mut question = Question::new("w".parse().unwrap(), "?");
        question.asked.expires_at = serde_json::from_str(r#""0000-01-01T00:00:00+23:59""#).unwrap();
        assert!(time::is_before_all_years(question.asked.expires_at.unwrap()));
        let round = RoundId { workflow: "w".parse().unwrap(), question: QuestionId::generate() };
        let timer = of_question(&question, &round, time::now(), time::now()).remove(0);
        assert_eq!(Timer::from_file_name(&timer.file_name()).as_ref(), Some(&timer));
        assert!(timer.at <= time::now());
    }

    #[test]
    fn the_next_reminder_lies_ahead() {
        let mut question = Question::new("w".parse().unwrap(), "?");
        question.timestamp = Some("2026-01-01T00:00:00Z".into());
        question.asked.remind_every = Some(time::Span(std::time::Duration::from_secs(3600)));
        let round = RoundId { workflow: "w".parse().unwrap(), question: QuestionId::generate() };
        let now = time::parse_rfc3339("2026-01-01T05:30:00Z").unwrap();
        let timers = of_question(&question, &round, question.asked_at().unwrap(), now);
        assert_eq!(time::rfc3339(timers[0].at), "2026-01-01T06:00:00.000Z");
    }
}
