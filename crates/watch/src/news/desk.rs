//! One target at work: its records, and its channel.

use uuid::Uuid;

use crate::news::channel::{Channel, Hear, Untold};
use crate::news::lines::Notice;
use crate::news::message;
use crate::news::post::{Parcel, Place};
use crate::news::record::{Entry, EntryState, Ledger};
use crate::news::wanted::{self, Facts};
use askbox_config::{Event, Target};
use askbox_mailbox::{Folder, Mailbox, Result, RoundId, Shown, dialogs, list, prompts, timers};

/// One target at work.
pub(super) struct Desk {
    pub name: String,
    pub target: Target,
    pub ledger: Ledger,
    pub channel: Channel,
    /// True if answers from its people count.
    pub takes_replies: bool,
}

impl Desk {
    /// Sends one parcel, or drops what is no longer true. A problem with the channel is returned with the events.
    pub(super) fn send(&mut self, mailbox: &Mailbox, parcel: Parcel, hear: impl Hear) -> Result<Option<Untold>> {
        let (places, notice) = match parcel {
            Parcel::One(place) => match self.of_one(mailbox, &place)? {
                Some(notice) => (vec![place], notice),
                // A message that was half sent before a crash may have been seen.
                None => {
                    self.change(&place, |entry| {
                        entry.state = if entry.state == EntryState::Sending { EntryState::Sent } else { EntryState::Dropped };
                    })?;
                    return Ok(None);
                }
            },
            Parcel::Several(places) => {
                let notice = self.of_several(mailbox, &places)?;
                (places, notice)
            }
        };
        for place in &places {
            self.change(place, |entry| entry.state = EntryState::Sending)?;
        }
        match self.channel.tell(notice, places.clone(), hear) {
            // The system has no process to spare: the events stay as they are.
            Err(e) if e.is_shortage() => Err(e),
            // For example, the program does not exist.
            Err(e) => Ok(Some((places, e.to_string()))),
            Ok(()) => Ok(None),
        }
    }

    /// How many of its questions wait for an answer that can come through the channel.
    pub(super) fn waiting(&self) -> usize {
        if self.takes_replies && self.target.can_answer() { self.ledger.cards() } else { 0 }
    }

    /// The notice of one event. `None` if the question no longer waits.
    fn of_one(&self, mailbox: &Mailbox, (round, event, count): &Place) -> Result<Option<Notice>> {
        if event.is_of_session() {
            return Ok(self.of_session(mailbox, round, *event, *count));
        }
        let found = wanted::facts_of_workflow(mailbox, &round.workflow, std::slice::from_ref(round));
        let is_still_so = |facts: &&Facts| facts.round == *round && (!event.asks() || facts.waits_for_a_person());
        let Some(facts) = found.iter().find(is_still_so) else { return Ok(None) };
        let Some(record) = self.ledger.records.get(round) else { return Ok(None) };
        let Some(entry) = record.events.iter().find(|e| (e.event, e.count) == (*event, *count)) else { return Ok(None) };
        let name = &self.name;
        let mut notice = Notice::of_round(name, (record.id(name, entry), record.card(name)), *event, facts, &self.target.open);
        let question = &facts.question;
        if event.asks() && self.target.can_answer() && !self.takes_replies {
            let page = if notice.message.open.is_some() { "on the page, or " } else { "" };
            notice.message.text = format!("{}\nTo answer: {page}ask-answer {}", notice.message.text, round.workflow);
        } else if event.asks() && self.target.can_answer() && question.approval.is_none() && !question.is_batch() {
            notice.shown = Some(Shown::of_question(question)?.to_string());
        }
        if notice.shown.is_none() {
            notice.buttons.clear();
        }
        Ok(Some(notice))
    }

    /// The notice of a dialog at a terminal, or of a prompt. `None` if the dialog has ended, or if the prompt was seen or has come further.
    fn of_session(&self, mailbox: &Mailbox, round: &RoundId, event: Event, count: u32) -> Option<Notice> {
        let record = self.ledger.records.get(round)?;
        let entry = record.events.iter().find(|entry| (entry.event, entry.count) == (event, count))?;
        let (id, ids) = (*round.question.uuid(), (record.id(&self.name, entry), record.card(&self.name)));
        if event == Event::AtTerminal {
            return Some(Notice::of_dialog(&self.name, ids, &dialogs::read(mailbox, id).ok()?));
        }
        let (_, prompt) = prompts::news(mailbox).find(|(of, prompt)| *of == id && message::event_of(prompt) == (event, count))?;
        Some(Notice::of_prompt(&self.name, ids, event, &prompt, &self.target.open))
    }

    fn of_several(&self, mailbox: &Mailbox, places: &[Place]) -> Result<Notice> {
        let events = timers::waiting_for_events(mailbox)?;
        let waiting = list::workflows(mailbox, Folder::Pending)?.iter().filter(|workflow| !events.contains(workflow)).count();
        let told: Vec<Event> = places.iter().map(|(_, event, _)| *event).collect();
        let all: String = places.iter().map(|(round, event, count)| format!("{} {} {count}\n", round.question, event.word())).collect();
        let id = Uuid::new_v5(&Uuid::new_v5(&Uuid::NAMESPACE_OID, self.name.as_bytes()), all.as_bytes());
        Ok(Notice::of_several(&self.name, id, &told, waiting, &self.target.open))
    }

    pub(super) fn change(&mut self, (round, event, count): &Place, change: impl FnOnce(&mut Entry)) -> Result<()> {
        if !self.ledger.records.contains_key(round) {
            return Ok(());
        }
        self.ledger.change(round, |record| {
            let found = record.events.iter_mut().find(|entry| (entry.event, entry.count) == (*event, *count));
            found.map(change).is_some()
        })
    }
}
