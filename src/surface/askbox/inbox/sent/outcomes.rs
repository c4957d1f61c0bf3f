//! What became of answered questions: the second pane of the inbox. What was sent to other machines from this screen comes first; what their runs
//! do is seen there.

use std::time::{Duration, Instant};

use crate::id::RoundId;
use crate::mailbox::listing::past_rounds;
use crate::mailbox::{AnswerValue, Mailbox};
use crate::run::attempt::record;
use crate::run::view::history::{self, HistoryEntry};
use crate::run::view::status;
use crate::run::view::status::Standing;
use crate::surface::askbox::inbox::sender::shown::RoundAt;
use crate::surface::askbox::inbox::sent::given::Given;
use crate::surface::askbox::machines::told::Stands;
use crate::text;
use crate::time::{self, Time};

/// How many rounds are shown, the newest first.
const SHOWN: usize = 100;

/// The shortest time between two readings of the answered rounds.
const READ_EVERY: Duration = Duration::from_millis(300);

/// The rounds that were answered or are over, and which of them is chosen.
#[derive(Debug, Default)]
pub struct Outcomes {
    pub rows: Vec<Outcome>,
    pub at: usize,
    /// Since when they may be old.
    old_since: Option<Instant>,
}

/// How an answered round stands.
#[derive(Debug, Clone, Copy)]
pub enum State {
    /// Here.
    Here(Standing),
    /// As an offer to another machine.
    There(Stands),
}

impl State {
    pub fn word(self) -> &'static str {
        match self {
            Self::Here(standing) => standing.word(),
            Self::There(stands) => stands.word(),
        }
    }
}

/// One round that was answered or is over.
#[derive(Debug)]
pub struct Outcome {
    pub at: RoundAt,
    pub state: State,
    /// Since when, as in `3m`.
    pub since: String,
    pub question: String,
    pub answer: String,
    /// When the answer counted.
    accepted_at: Option<Time>,
    /// Why it stands there, what to do, what it cost, what came out, line by line.
    pub details: Vec<(&'static str, String)>,
}

impl Outcomes {
    /// Reads the rounds. The chosen one stays chosen.
    pub fn read(mailbox: &Mailbox, sent: &[Given], before: Option<&Self>) -> Self {
        let found = past_rounds::newest_first(mailbox, None, None, Some(SHOWN));
        let entries = found.filter_map(|round| history::entry(mailbox, &round.ok()?).ok().flatten());
        let rows: Vec<_> = sent.iter().rev().filter_map(offered).take(SHOWN).chain(entries.filter_map(outcome)).collect();
        let chosen = before.and_then(Self::chosen).map(|chosen| chosen.at.clone());
        let at = chosen.and_then(|at| rows.iter().position(|row| row.at == at)).unwrap_or(0);
        let mut outcomes = Self { rows, at, old_since: None };
        outcomes.look_at_chosen(mailbox);
        outcomes
    }

    /// A round may have moved on.
    pub fn grow_old(&mut self) {
        self.old_since.get_or_insert_with(Instant::now);
    }

    /// When they are to be read again.
    pub fn reads_at(&self) -> Option<Instant> {
        self.old_since.map(|since| since + READ_EVERY)
    }

    pub fn chosen(&self) -> Option<&Outcome> {
        self.rows.get(self.at)
    }

    pub fn step(&mut self, mailbox: &Mailbox, by: isize) {
        self.at = self.at.saturating_add_signed(by).min(self.rows.len().saturating_sub(1));
        self.look_at_chosen(mailbox);
    }

    /// Looks up what only the record and the events of the run say: for the chosen round alone, because events may be long.
    fn look_at_chosen(&mut self, mailbox: &Mailbox) {
        let Some(row) = self.rows.get_mut(self.at) else { return };
        let State::Here(standing) = row.state else { return };
        let of_run = [("steps", Some(steps(mailbox, row, standing))), ("refused", refused(mailbox, &row.at.round))];
        for (name, value) in of_run.into_iter().filter_map(|(name, value)| Some((name, value?))).rev() {
            row.details.retain(|(other, _)| *other != name);
            row.details.insert(0, (name, value));
        }
    }
}

/// An answer that was sent to another machine from here.
fn offered(given: &Given) -> Option<Outcome> {
    let (told, offer) = (given.told()?, given.offer.as_ref()?);
    let since = time::human(time::since(offer.sent_at));
    let step = if told.stands == Stands::Sent { format!("not yet {}", told.step) } else { told.step };
    let first = if told.stands == Stands::NotSent { "not sent" } else { "sent" };
    let details = [
        ("steps", format!("{first} {since} ago → {step}")),
        ("answer", offer.words.clone()),
        ("note", offer.offered.note.clone().unwrap_or_default()),
        ("why", told.why),
        ("to do", told.todo),
    ];
    Some(Outcome {
        at: given.at.clone(),
        state: State::There(told.stands),
        since,
        question: offer.offered.title.clone(),
        answer: offer.words.clone(),
        accepted_at: None,
        details: details.into_iter().filter(|(_, value)| !value.is_empty()).collect(),
    })
}

fn outcome(entry: HistoryEntry) -> Option<Outcome> {
    let status = entry.status;
    let round = RoundId { workflow: status.workflow_id.clone(), question: status.question_id? };
    let mut details = Vec::new();
    let mut tell = |name, value: Option<String>| details.extend(value.filter(|v| !v.is_empty()).map(|value| (name, value)));
    let answer = entry.answer.map(|given| given.answer);
    let said = answer.as_ref().map_or(String::new(), |answer| match &answer.value {
        Some(value) => text::excerpt(&AnswerValue::to_text(value), 200),
        None => answer.word().into(),
    });
    let accepted_at = answer.as_ref().and_then(|answer| answer.at);
    tell("answer", answer.as_ref().map(|answer| format!("{said} ({})", answer.who())));
    tell("note", answer.and_then(|answer| answer.note));
    tell("why", status.why.clone());
    tell("to do", status.todo.clone());
    tell("attempt", status.attempt.map(|n| n.to_string()));
    tell("cost", status.cost_usd.map(|cost| format!("${cost:.4}")));
    tell("result", status.result.clone());
    Some(Outcome {
        at: RoundAt::here(round),
        state: State::Here(status.state),
        since: status.since.map_or_else(|| "-".into(), |at| time::human(time::since(at))),
        question: text::excerpt(&status.question, 200),
        answer: said,
        accepted_at,
        details,
    })
}

/// How far the round has come: accepted, launched, and its end, each with its age.
fn steps(mailbox: &Mailbox, row: &Outcome, standing: Standing) -> String {
    let ago = |at: Time| format!("{} ago", time::human(time::since(at)));
    let run = record::latest(mailbox, &row.at.round).ok().flatten();
    let launched = run.as_ref().and_then(|run| run.progress.started_at).map(|at| format!("launched {}", ago(at)));
    let end = (!matches!(standing, Standing::Answered | Standing::Running)).then(|| format!("{} {} ago", row.state.word(), row.since));
    let accepted = row.accepted_at.map(|at| format!("accepted {}", ago(at)));
    [accepted, launched, end].into_iter().flatten().collect::<Vec<_>>().join(" → ")
}

/// The calls that the run was refused.
fn refused(mailbox: &Mailbox, round: &RoundId) -> Option<String> {
    let refused = status::work_of(mailbox, round).ok()?.refused?;
    let calls = if refused.calls == 1 { "1 tool call".to_owned() } else { format!("{} tool calls", refused.calls) };
    Some(format!("{calls}; see: relaunch status {}", round.workflow))
}
