//! Events of sessions that have no question: dialogs at the terminals of programs that nobody can answer from another place (`live.news`), and
//! how far people's prompts have come. A target's record shows each as a round. Its workflow is the program's name, or `prompts`. Its question
//! is the id of the dialog or the prompt.

use std::collections::BTreeMap;
use std::sync::mpsc::Sender;

use chrono::TimeDelta;

use crate::news::channel::Note;
use crate::news::desk::Desk;
use crate::news::message::event_of;
use crate::news::record::{Ledger, Record};
use askbox_config::{Event, Live, Notify, Target};
use askbox_mailbox::{Hints, Mailbox, QuestionId, Result, RoundId, Span, dialogs, disk, prompts, time};
use askbox_run::log;

/// The events that the courier tells.
pub(super) struct Sessions {
    live: Live,
    /// How long the end of a prompt waits before anybody is told, or `None` if no target is told.
    prompts: Option<Span>,
    /// Report that a dialog opens or ends. Without them, each pass of the courier looks. The watcher reports what happens to prompts.
    hints: Option<Hints>,
}

impl Sessions {
    pub(super) fn new(live: Live, notify: &Notify, targets: &BTreeMap<String, Target>) -> Self {
        let tells = |target: &Target| [Event::TurnEnded, Event::NotTaken].into_iter().any(|event| wants(target, event));
        let prompts = targets.values().any(tells).then_some(notify.grace);
        Self { live, prompts, hints: None }
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
        let hints = Hints::new(move |_| drop(sender.send(Note::Sessions))).and_then(|mut hints| hints.watch(&folder).map(|()| hints));
        self.hints = hints.inspect_err(log::error).ok();
        Ok(())
    }

    /// True if a pass has to come soon, because nobody reports new dialogs.
    pub(super) fn polls(&self) -> bool {
        !self.live.news.is_empty() && self.hints.is_none()
    }

    /// What people may be told now: the round, the event with its number, and the grace time.
    fn all(&self, mailbox: &Mailbox) -> Vec<(RoundId, Event, u32, Span)> {
        let round = |workflow: &str, id| Some(RoundId { workflow: workflow.parse().ok()?, question: QuestionId::from_uuid(id) });
        let dialogs = if self.live.news.is_empty() { Vec::new() } else { dialogs::waiting(mailbox) };
        let dialogs = dialogs.into_iter().filter(|(_, dialog)| self.live.news.contains(&dialog.program));
        let dialogs = dialogs.filter_map(|(id, of)| Some((round(of.program.command(), id)?, Event::AtTerminal, 0, self.live.grace)));
        let prompts = self.prompts.into_iter().flat_map(|grace| prompts::news(mailbox).map(move |(id, prompt)| (id, prompt, grace)));
        let prompts = prompts.filter_map(|(id, prompt, grace)| {
            let (event, count) = event_of(&prompt);
            Some((round("prompts", id)?, event, count, grace))
        });
        dialogs.chain(prompts).collect()
    }

    /// Brings the records of the targets up to date.
    pub(super) fn look<'a>(&self, mailbox: &Mailbox, desks: impl Iterator<Item = &'a mut Desk>) -> Result<()> {
        let (wanted, now) = (self.all(mailbox), time::now());
        // The grace time begins when the event is seen: a file could name a begin that is long ago.
        let due = |grace: &Span| TimeDelta::from_std(grace.0).ok().and_then(|grace| now.checked_add_signed(grace)).unwrap_or(now);
        for desk in desks {
            let over: Vec<RoundId> = desk.ledger.records.keys().filter(|round| is_one(&desk.ledger, round)).cloned().collect();
            for round in over.iter().filter(|round| wanted.iter().all(|(of, ..)| of != *round)) {
                desk.ledger.forget(round)?;
            }
            for (round, event, count, grace) in wanted.iter().filter(|(_, event, ..)| wants(&desk.target, *event)) {
                // A file may have the id of a question, which keeps its own record.
                if desk.ledger.records.get(round).is_none_or(Record::is_of_session) {
                    desk.ledger.change(round, |record| record.want(*event, *count, due(grace), false))?;
                }
            }
        }
        Ok(())
    }
}

/// True if the target is told about such events.
fn wants(target: &Target, event: Event) -> bool {
    target.events.contains(&event) && target.live.tells(true)
}

/// True if the round stands for such an event.
pub(super) fn is_one(ledger: &Ledger, round: &RoundId) -> bool {
    ledger.records.get(round).is_some_and(Record::is_of_session)
}
