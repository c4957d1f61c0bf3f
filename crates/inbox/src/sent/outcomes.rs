//! The second pane of the inbox: the answered questions and their state. The answers that were sent to other machines from this screen come
//! first. The work of their runs is shown only on those machines.

use std::time::{Duration, Instant};

use crate::sender;
use crate::sent::from_here::SentAnswer;
use askbox_mailbox::overview::past_rounds;
use askbox_mailbox::{AnswerValue, Mailbox, RoundAt, RoundId, text, time};
use askbox_peers::machines::offer_state::Stands;
use askbox_run::story::{self, Mark, Reached};
use askbox_run::view::history::{self, HistoryEntry};
use askbox_run::{Standing, Story, Teller};

/// The number of rounds that are shown, the newest first.
const SHOWN: usize = 100;

/// The minimum time between two readings of the answered rounds.
const READ_EVERY: Duration = Duration::from_millis(300);

/// The rounds that were answered or are over, and the chosen one.
#[derive(Debug, Default)]
pub struct Outcomes {
    pub rows: Vec<Outcome>,
    pub at: usize,
    /// The time since which the rows may be out of date.
    pub old_since: Option<Instant>,
}

/// The state of an answered round.
#[derive(Debug, Clone, Copy)]
pub enum OutcomeState {
    /// The state of a round on this machine.
    Here(Standing),
    /// The state of an offer to another machine.
    There(Stands),
}

impl OutcomeState {
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
    pub state: OutcomeState,
    /// The time since it entered its state, such as `3m`.
    pub since: String,
    pub question: String,
    pub answer: String,
    /// True if the answer can be taken back.
    pub may_be_taken_back: bool,
    /// The details, line by line: the reason for its state, what to do, the cost, the result.
    pub details: Vec<(&'static str, String)>,
}

impl Outcomes {
    /// Reads the rounds. The chosen round stays chosen.
    pub fn read(teller: &Teller<'_>, sent: &[SentAnswer], before: Option<&Self>) -> Self {
        let mailbox = teller.mailbox();
        let found = past_rounds::newest_first(mailbox, None, None, Some(SHOWN));
        let entries = found.filter_map(|round| history::entry(teller, &round.ok()?).ok().flatten());
        let here = entries.filter_map(|entry| outcome(mailbox, entry));
        let rows: Vec<_> = sent.iter().rev().filter_map(offered).chain(here).take(SHOWN).collect();
        let chosen = before.and_then(Self::chosen).map(|chosen| chosen.at.clone());
        let at = chosen.and_then(|at| rows.iter().position(|row| row.at == at)).unwrap_or(0);
        let mut outcomes = Self { rows, at, old_since: None };
        outcomes.look_at_chosen(mailbox);
        outcomes
    }

    /// The time to read the rounds again.
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

    /// Chooses the row of this round, if it is still there.
    pub fn choose(&mut self, mailbox: &Mailbox, round: &RoundAt) {
        if let Some(at) = self.rows.iter().position(|row| row.at == *round) {
            self.at = at;
            self.look_at_chosen(mailbox);
        }
    }

    /// Reads the detail that only the events of the run contain. Reads it for the chosen round alone, because events may be long.
    fn look_at_chosen(&mut self, mailbox: &Mailbox) {
        let Some(row) = self.rows.get_mut(self.at) else { return };
        if let (OutcomeState::Here(_), Some(refused)) = (row.state, refused(mailbox, &row.at.round)) {
            row.details.retain(|(name, _)| *name != "refused");
            row.details.insert(1.min(row.details.len()), ("refused", refused));
        }
    }
}

/// The row of an answer that was sent from here to another machine.
fn offered(given: &SentAnswer) -> Option<Outcome> {
    let (told, offer) = (given.told()?, given.offer.as_ref()?);
    let since = time::human(time::since(offer.sent_at));
    let step = if told.stands.is_on_its_way() { format!("not yet {}", told.step) } else { told.step };
    let first = match told.stands {
        Stands::Sending => format!("sending since {since}"),
        Stands::NotSent => format!("not sent {since} ago"),
        _ => format!("sent {since} ago"),
    };
    let details = [
        ("steps", format!("{first} → {step}")),
        ("answer", offer.words.clone()),
        ("note", offer.offered.note.clone().unwrap_or_default()),
        ("why", told.why),
        ("to do", told.todo),
    ];
    Some(Outcome {
        at: given.at.clone(),
        state: OutcomeState::There(told.stands),
        since,
        question: offer.offered.title.clone(),
        answer: offer.words.clone(),
        may_be_taken_back: false,
        details: details.into_iter().filter(|(_, value)| !value.is_empty()).collect(),
    })
}

fn outcome(mailbox: &Mailbox, entry: HistoryEntry) -> Option<Outcome> {
    let status = entry.status;
    let round = RoundId { workflow: status.workflow_id.clone(), question: status.question_id? };
    let mut details = Vec::new();
    let mut tell = |name, value: Option<String>| details.extend(value.filter(|v| !v.is_empty()).map(|value| (name, value)));
    let answer = entry.answer.map(|given| given.answer);
    let said = answer.as_ref().map_or(String::new(), |answer| match &answer.value {
        Some(value) => text::excerpt(&AnswerValue::to_text(value), 200),
        None => answer.word().into(),
    });
    let may_be_taken_back = status.state == Standing::Answered && sender::may_be_taken_back(mailbox, &round);
    tell("steps", Some(steps(&status)));
    tell("answer", answer.as_ref().map(|answer| format!("{said} ({})", answer.who())));
    tell("note", answer.and_then(|answer| answer.note));
    tell("why", status.why.clone());
    tell("to do", status.todo.clone());
    tell("attempt", status.attempt.map(|n| n.to_string()));
    tell("next", status.next_beside_todo().map(str::to_owned));
    tell("runner", status.runner_in_words());
    tell("cost", status.cost());
    tell("result", status.result.clone());
    Some(Outcome {
        at: RoundAt::here(round),
        state: OutcomeState::Here(status.state),
        since: status.since.map_or_else(|| "-".into(), |at| time::human(time::since(at))),
        question: text::excerpt(&status.question, 200),
        answer: said,
        may_be_taken_back,
        details,
    })
}

/// The steps that the answer has come along, each with its age.
fn steps(story: &Story) -> String {
    let is_past = |mark: &Mark| matches!(mark.reached, Reached::Done | Reached::Failed) && mark.at.is_some();
    let words = |mark: Mark| format!("{} {}", mark.name, time::ago(mark.at));
    let steps = story.progress().into_iter().filter(is_past).map(words).collect::<Vec<_>>().join(" → ");
    if steps.is_empty() {
        story.since.map(|at| format!("{} {}", story.state.word(), time::ago(Some(at)))).unwrap_or_default()
    } else {
        steps
    }
}

/// A line about the tool calls that were refused to the run.
fn refused(mailbox: &Mailbox, round: &RoundId) -> Option<String> {
    let refused = story::work_of(mailbox, round).ok()?.refused?;
    let calls = if refused.calls == 1 { "1 tool call".to_owned() } else { format!("{} tool calls", refused.calls) };
    Some(format!("{calls}; see: relaunch status {}", round.workflow))
}
