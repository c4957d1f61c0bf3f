//! What became of answered questions: the second pane of the inbox.

use crate::id::RoundId;
use crate::mailbox::{AnswerValue, Mailbox, past_rounds};
use crate::run::view::history::{self, HistoryEntry};
use crate::run::view::status;
use crate::run::view::status::Standing;
use crate::text;
use crate::time;

/// How many rounds are shown, the newest first.
const SHOWN: usize = 100;

/// The rounds that were answered or are over, and which of them is chosen.
#[derive(Debug, Default)]
pub struct Outcomes {
    pub rows: Vec<Outcome>,
    pub at: usize,
}

/// One round that was answered or is over.
#[derive(Debug)]
pub struct Outcome {
    pub round: RoundId,
    pub state: Standing,
    /// Since when, as in `3m`.
    pub since: String,
    pub question: String,
    pub answer: String,
    /// Why it stands there, what to do, what it cost, what came out, line by line.
    pub details: Vec<(&'static str, String)>,
}

impl Outcomes {
    /// Reads the rounds. The chosen one stays chosen.
    pub fn read(mailbox: &Mailbox, before: Option<&Self>) -> Self {
        let found = past_rounds::newest_first(mailbox, None, None, Some(SHOWN));
        let entries = found.filter_map(|round| history::entry(mailbox, &round.ok()?).ok().flatten());
        let rows: Vec<_> = entries.filter_map(|entry| outcome(mailbox, entry)).collect();
        let chosen = before.and_then(Self::chosen).map(|chosen| chosen.round.clone());
        let at = chosen.and_then(|round| rows.iter().position(|row| row.round == round)).unwrap_or(0);
        Self { rows, at }
    }

    pub fn chosen(&self) -> Option<&Outcome> {
        self.rows.get(self.at)
    }

    pub fn step(&mut self, down: bool) {
        let last = self.rows.len().saturating_sub(1);
        self.at = if down { (self.at + 1).min(last) } else { self.at.saturating_sub(1) };
    }
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
    tell("answer", answer.as_ref().map(|answer| format!("{said} ({})", answer.who())));
    tell("note", answer.and_then(|answer| answer.note));
    tell("why", status.why.clone());
    tell("to do", status.todo.clone());
    tell("attempt", status.attempt.map(|n| n.to_string()));
    tell("cost", status.cost_usd.map(|cost| format!("${cost:.4}")));
    tell("refused", refused(mailbox, &round, status.state));
    tell("result", status.result.clone());
    Some(Outcome {
        round,
        state: status.state,
        since: status.since.map_or_else(|| "-".into(), |at| time::human(time::since(at))),
        question: text::excerpt(&status.question, 200),
        answer: said,
        details,
    })
}

/// The calls that the run was refused. Only those of a run that is live are looked up here: its events tell them.
fn refused(mailbox: &Mailbox, round: &RoundId, state: Standing) -> Option<String> {
    let of = (state == Standing::Running).then(|| status::of(mailbox, &round.workflow).ok()).flatten()?;
    let refused = of.live?.refused?;
    Some(format!("{} tool calls; see: relaunch status {}", refused.calls, round.workflow))
}
