//! One target at work: its records, the events that are being sent, and the stream of its replies.

use std::collections::{HashMap, HashSet};
use std::sync::mpsc::Sender;
use std::time::Instant;

use uuid::Uuid;

use crate::news::buttons::{Listener, Reply, ReplyKey};
use crate::news::means;
use crate::news::message::Message;
use crate::news::note::Note;
use crate::news::post::{Parcel, Place};
use crate::news::record::{Entry, EntryState, Ledger};
use crate::news::wanted::{self, Facts};
use crate::outgoing::call;
use askbox_config::{Event, Notify, Target};
use askbox_mailbox::dialogs;
use askbox_mailbox::due::timers;
use askbox_mailbox::error::Result;
use askbox_mailbox::id::RoundId;
use askbox_mailbox::listing::list;
use askbox_mailbox::{Folder, Mailbox};

/// One target at work.
pub(super) struct Desk {
    pub target: Target,
    pub ledger: Ledger,
    /// The events that are being sent.
    pub busy: HashSet<Place>,
    pub programs: usize,
    pub listener: Listener,
    /// True if it would have buttons that answer, but replies to messages do not count.
    pub has_no_buttons: bool,
    /// The last message about a button that changed nothing, by round and option.
    pub told_late: HashMap<(RoundId, String), Instant>,
    /// The buttons that changed nothing, and why, whose people are told once a program is free.
    pub untold: Vec<(Reply, String)>,
    /// The end of the time for which its topic for replies is followed.
    pub follow_until: Option<Instant>,
}

impl Desk {
    /// Sends one parcel, or drops what is no longer true.
    pub(super) fn send(
        &mut self,
        mailbox: &Mailbox,
        notify: &Notify,
        name: &str,
        key: Option<&ReplyKey>,
        parcel: Parcel,
        sender: &Sender<Note>,
    ) -> Result<()> {
        let (places, message, replies) = match parcel {
            Parcel::One(place) => match self.of_one(mailbox, name, key, &place)? {
                Some((message, replies)) => (vec![place], message, replies),
                // A message that was half sent before a crash may have been seen.
                None => {
                    return self.change(&place, |entry| {
                        entry.state = if entry.state == EntryState::Sending { EntryState::Sent } else { EntryState::Dropped };
                    });
                }
            },
            Parcel::Several(places) => {
                let message = self.of_several(mailbox, name, &places)?;
                (places, message, Vec::new())
            }
        };
        let call = means::call(&self.target, &message, &replies);
        for place in &places {
            self.change(place, |entry| entry.state = EntryState::Sending)?;
        }
        let (sender, target, told) = (sender.clone(), name.to_owned(), places.clone());
        let limit = means::limit(notify);
        let ended = {
            let (sender, target, told) = (sender.clone(), target.clone(), told.clone());
            move |result| drop(sender.send(Note::Told(target, told, result)))
        };
        match call.and_then(|call| call::start(call, limit, ended)) {
            // The system has no process to spare: the events stay as they are.
            Err(e) if e.is_shortage() => return Err(e),
            // For example, the program does not exist.
            Err(e) => drop(sender.send(Note::Told(target, told, Err(e.to_string())))),
            Ok(()) => {}
        }
        self.programs += 1;
        self.busy.extend(places);
        Ok(())
    }

    /// The message about one event. `None` if the question no longer waits.
    fn of_one(
        &self,
        mailbox: &Mailbox,
        name: &str,
        key: Option<&ReplyKey>,
        (round, event, count): &Place,
    ) -> Result<Option<(Message, Vec<String>)>> {
        if *event == Event::AtTerminal {
            return Ok(self.of_dialog(mailbox, name, round).map(|message| (message, Vec::new())));
        }
        let found = wanted::facts_of_workflow(mailbox, &round.workflow, std::slice::from_ref(round));
        let is_still_so = |facts: &&Facts| facts.round == *round && (!event.asks() || facts.waits_for_a_person());
        let Some(facts) = found.iter().find(is_still_so) else { return Ok(None) };
        let Some(record) = self.ledger.get(round) else { return Ok(None) };
        let Some(entry) = record.events.iter().find(|e| (e.event, e.count) == (*event, *count)) else { return Ok(None) };
        let mut message = Message::of_round(name, (record.id(name, entry), record.card(name)), *event, facts, &self.target.open);
        if self.has_no_buttons && event.asks() {
            let page = if message.open.is_some() { "on the page, or " } else { "" };
            message.text = format!("{}\nTo answer: {page}ask-answer {}", message.text, round.workflow);
        }
        let replies = match key.filter(|_| !self.target.ntfy_replies.is_empty()) {
            Some(key) => key.replies(name, round, &facts.question, &message.buttons)?,
            None => Vec::new(),
        };
        Ok(Some((message, replies)))
    }

    /// The message about a dialog at a terminal. `None` if it has ended.
    fn of_dialog(&self, mailbox: &Mailbox, name: &str, round: &RoundId) -> Option<Message> {
        let record = self.ledger.get(round)?;
        let entry = record.events.iter().find(|entry| entry.event == Event::AtTerminal)?;
        let dialog = dialogs::read(mailbox, *round.question.uuid()).ok()?;
        Some(Message::of_dialog(name, (record.id(name, entry), record.card(name)), &dialog))
    }

    fn of_several(&self, mailbox: &Mailbox, name: &str, places: &[Place]) -> Result<Message> {
        let events = timers::waiting_for_events(mailbox)?;
        let waiting = list::workflows(mailbox, Folder::Pending)?.iter().filter(|workflow| !events.contains(workflow)).count();
        let told: Vec<Event> = places.iter().map(|(_, event, _)| *event).collect();
        let all: String = places.iter().map(|(round, event, count)| format!("{} {} {count}\n", round.question, event.word())).collect();
        let id = Uuid::new_v5(&Uuid::new_v5(&Uuid::NAMESPACE_OID, name.as_bytes()), all.as_bytes());
        Ok(Message::of_several(name, id, &told, waiting, &self.target.open))
    }

    pub(super) fn change(&mut self, (round, event, count): &Place, change: impl FnOnce(&mut Entry)) -> Result<()> {
        if self.ledger.get(round).is_none() {
            return Ok(());
        }
        self.ledger.change(round, |record| {
            let found = record.events.iter_mut().find(|entry| (entry.event, entry.count) == (*event, *count));
            found.map(change).is_some()
        })
    }
}
