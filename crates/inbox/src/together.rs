//! Declining several questions together.

use std::rc::Rc;

use uuid::Uuid;

use crate::app::{App, UndoHint};
use crate::gate::Passed;
use crate::row::Row;
use crate::sender;
use crate::sent::from_here::SentAnswer;
use crate::text_window::Purpose;
use askbox_cli::person::Named;
use askbox_cli::{AtStake, PersonsDecision};
use askbox_mailbox::{Address, Error, RoundAt, RoundId, excerpt};

/// The maximum number of questions of other machines that are declined together.
const DECLINED_ELSEWHERE: usize = 8;

impl App<'_> {
    /// Asks for the reason to decline the marked questions. Each offer to another machine takes a connection, so the number of those is
    /// limited.
    pub(super) fn ask_to_decline_marked(&mut self) {
        let there = self.waiting.marked_rows().iter().filter(|row| row.address.host.is_some()).count();
        if there > DECLINED_ELSEWHERE {
            self.said = format!("at most {DECLINED_ELSEWHERE} questions of other machines are declined at once, and {there} are marked");
            return;
        }
        self.ask(Purpose::DeclineMarked(self.waiting.marked.len()), None);
    }

    /// The marked questions as the list shows them now, with the drafts that are not sent.
    fn declined_together(&self) -> AtStake {
        let named = |row: Rc<Row>| {
            let (address, draft) = (row.address.clone(), self.draft_of_row(&row).unwrap_or_default());
            Named { address, question: row.facts.question, headline: row.headline.clone(), draft }
        };
        AtStake::DeclinedTogether {
            questions: self.waiting.marked_rows().into_iter().map(named).collect(),
            why: self.waiting.why_declined.clone(),
        }
    }

    /// The beginning of the draft for the question of a row.
    fn draft_of_row(&self, row: &Row) -> Option<String> {
        let Address { host, workflow } = row.address.clone();
        let at = RoundAt { host, round: RoundId { workflow, question: row.facts.question? } };
        let draft = self.keeping.words(&at, || self.sender.pending(&row.address).ok().map(|shown| shown.question().clone()))?;
        Some(excerpt(&draft, 80))
    }

    /// Shows the marked questions in the panel, and asks whether they are to be declined.
    pub(super) fn ask_about_marked(&mut self) {
        self.gate.ask_in_panel(Uuid::nil(), self.declined_together());
        self.said = self.pending_question().unwrap_or_default();
    }

    /// Scrolls the names in the panel, which still asks.
    pub(super) fn scroll_names(&mut self, lines: isize) {
        self.ask_about_marked();
        if let Some(panel) = self.gate.panel_mut() {
            panel.names.step(lines);
        }
    }

    /// Declines the marked questions if they are exactly those that the person was told. Otherwise tells the person again.
    pub(super) fn decline_marked(&mut self) {
        if self.waiting.marked.is_empty() {
            self.gate.forget();
            "none of these questions waits any more".clone_into(&mut self.said);
            return;
        }
        let now = self.declined_together();
        let Some(passed) = self.may_decide(std::slice::from_ref(&now)) else {
            let why = self.gate.was_seen().map_err(str::to_owned);
            self.ask_about_marked();
            if let Err(why) = why {
                self.said = why;
            }
            return;
        };
        self.gate.forget();
        if let AtStake::DeclinedTogether { questions, why } = now {
            self.decline(&questions, &why, passed);
        }
    }

    fn decline(&mut self, questions: &[Named], why: &str, _: Passed) {
        let (mut declined, mut offered, mut failed) = (Vec::new(), 0, None);
        for row in questions {
            // If another question has taken a marked one's place, it is not declined.
            let result = self.sender.pending(&row.address).and_then(|shown| {
                if row.question.is_some_and(|id| id != shown.round.id.question) {
                    return Err(Error::conflict(format!("{} asks another question by now", row.address), "look at it first"));
                }
                if self.sent.is_on_its_way(&shown.at()) {
                    return Err(Error::conflict(format!("an answer to {} is on its way", row.address), "wait until it is decided"));
                }
                self.sender.send(&shown, PersonsDecision::Decline(why.to_owned()))
            });
            match result {
                Ok(sent) => {
                    if sent.offer.is_some() {
                        offered += 1;
                    } else {
                        declined.push(sent.at.clone());
                    }
                    self.waiting.marked.remove(&row.address);
                    self.sent.all.push(SentAnswer::new(sent, None));
                }
                Err(e) => failed = Some(sender::in_one_line(e)),
            }
            self.waiting.changed(row.address.clone());
        }
        self.sent.together(&declined);
        let declined = declined.len();
        let questions = if declined == 1 { "question" } else { "questions" };
        let sent = if offered > 0 { format!(", {offered} sent to their machines to be declined") } else { String::new() };
        self.said = match failed {
            None if declined == 0 && offered > 0 => format!("{offered} sent to their machines to be declined; not yet accepted"),
            None => {
                self.waiting.why_declined.clear();
                format!("{declined} {questions} declined{sent}")
            }
            Some(why) => format!("{declined} {questions} declined{sent}; the marked ones are still open: {why}"),
        };
        self.undo_hint = (declined > 0)
            .then(|| UndoHint { behind: self.said.clone(), says: if declined == 1 { "u takes it back" } else { "u takes them back" } });
    }
}
