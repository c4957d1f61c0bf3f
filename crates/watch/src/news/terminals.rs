//! Dialogs at the terminals of programs that nobody can answer from another place (`live.news`). Such a dialog has no question. A target's
//! record shows it as a round: the program's name is the workflow, the dialog's id is the question, and `at_terminal` is the only event.

use std::sync::mpsc::Sender;

use chrono::TimeDelta;

use crate::news::channel::Note;
use crate::news::desk::Desk;
use crate::news::record::{Ledger, Record};
use askbox_config::{Event, Live, Target};
use askbox_mailbox::{Hints, Mailbox, QuestionId, Result, RoundId, dialogs, disk, time};
use askbox_run::log;

/// The dialogs that the courier tells.
pub(super) struct Terminals {
    live: Live,
    /// Report that a dialog opens or ends. Without them, each pass of the courier looks.
    hints: Option<Hints>,
}

impl Terminals {
    pub(super) fn new(live: Live) -> Self {
        Self { live, hints: None }
    }

    /// Sends a note whenever a dialog opens or ends from now on.
    pub(super) fn begin(&mut self, mailbox: &Mailbox, sender: &Sender<Note>) -> Result<()> {
        if self.live.news.is_empty() {
            // The hooks are silent now, so nobody else removes what a killed program has left.
            dialogs::waiting(mailbox);
            return Ok(());
        }
        let folder = dialogs::folder(mailbox);
        disk::create_folder(&folder)?;
        let sender = sender.clone();
        let hints = Hints::new(move |_| drop(sender.send(Note::Dialogs))).and_then(|mut hints| hints.watch(&folder).map(|()| hints));
        self.hints = hints.inspect_err(log::error).ok();
        Ok(())
    }

    /// True if a pass has to come soon, because nobody reports new dialogs.
    pub(super) fn polls(&self) -> bool {
        !self.live.news.is_empty() && self.hints.is_none()
    }

    /// Brings the records of the targets up to date.
    pub(super) fn look<'a>(&self, mailbox: &Mailbox, desks: impl Iterator<Item = &'a mut Desk>) -> Result<()> {
        let dialogs = if self.live.news.is_empty() { Vec::new() } else { dialogs::waiting(mailbox) };
        let wanted: Vec<RoundId> = dialogs
            .into_iter()
            .filter(|(_, dialog)| self.live.news.contains(&dialog.program))
            .filter_map(|(id, dialog)| {
                let workflow = dialog.program.command().parse().ok()?;
                Some(RoundId { workflow, question: QuestionId::from_uuid(id) })
            })
            .collect();
        // The grace time begins when the dialog is seen: a file could name a begin that is long ago.
        let due =
            TimeDelta::from_std(self.live.grace.0).ok().and_then(|grace| time::now().checked_add_signed(grace)).unwrap_or_else(time::now);
        for desk in desks {
            let over: Vec<RoundId> = desk.ledger.records.keys().filter(|round| is_one(&desk.ledger, round)).cloned().collect();
            for round in over.iter().filter(|round| !wanted.contains(round)) {
                desk.ledger.forget(round)?;
            }
            for round in wanted.iter().filter(|_| wants(&desk.target)) {
                // A file may have the id of a question, which keeps its own record.
                if desk.ledger.records.get(round).is_none_or(Record::is_at_terminal) {
                    desk.ledger.change(round, |record| record.want(Event::AtTerminal, 0, due, false))?;
                }
            }
        }
        Ok(())
    }
}

/// True if the target is told about such dialogs.
fn wants(target: &Target) -> bool {
    target.events.contains(&Event::AtTerminal) && target.live.tells(true)
}

/// True if the round stands for such a dialog.
pub(super) fn is_one(ledger: &Ledger, round: &RoundId) -> bool {
    ledger.records.get(round).is_some_and(Record::is_at_terminal)
}
