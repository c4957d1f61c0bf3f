//! Sends the next prompts of people to sessions of Claude Code and of opencode. A thread of the watcher waits until a session is idle, because only a prompt
//! that is still here can be taken back. Without a watcher, prompts wait in the mailbox.
//!
//! | file | idea |
//! |---|---|
//! | `wire` | the inbox socket of a session of Claude Code, and the receipts that come back |
//! | `opencode` | prompts and stops for sessions of opencode |

mod opencode;
mod wire;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::time::Duration;

use chrono::TimeDelta;
use uuid::Uuid;

use askbox_agent::sessions::claude::{self as live, Session};
use askbox_agent::{claude, prompt_receipt, transcript};
use askbox_mailbox::disk::file_events::Hints;
use askbox_mailbox::prompts::{self, Agent, Place, Prompt, Reached};
use askbox_mailbox::{Lock, Mailbox, Result, disk, text, thread, time};
use askbox_run::log;
use wire::{Receipt, Receipts};

/// A prompt that is not in the session's queue after this time has not arrived.
const ARRIVES_WITHIN: TimeDelta = TimeDelta::seconds(3);
/// How long a prompt that has not arrived is looked for.
const LOOKED_FOR: TimeDelta = TimeDelta::minutes(1);
/// How long after its sending a prompt is looked at often.
const FRESH: TimeDelta = TimeDelta::seconds(10);
/// The pauses between two looks: at a prompt that was just sent, at one that another process sends, at others, and at nothing.
const SOON: Duration = Duration::from_millis(100);
const ANOTHERS: Duration = Duration::from_secs(1);
const LATER: Duration = Duration::from_secs(15);
const NEVER: Duration = Duration::from_secs(24 * 3600);

/// The advice about a prompt that has not arrived.
const LOOK: &str = "look before you send it again";

/// A reason to look.
enum Event {
    Look,
    Receipt(Receipt),
}

/// The lock of the only process that sends a mailbox's prompts in this way.
const LOCK: &str = "prompts";

/// The thread that sends prompts. It starts with the first prompt. Dropping this ends it.
#[derive(Debug, Default)]
pub struct Prompting {
    /// The mailbox, and true if prompts for opencode are sent too. `None` if nothing is sent.
    of: Option<(Mailbox, bool)>,
    thread: Option<(SyncSender<Event>, Arc<AtomicBool>)>,
}

impl Prompting {
    /// Sends the prompts of this mailbox, from the first [`Self::wake`] on. `opencode` says that those for opencode are sent too.
    pub fn new(mailbox: Mailbox, opencode: bool) -> Self {
        Self { of: Some((mailbox, opencode)), thread: None }
    }

    /// Looks at the prompts now. If the system refuses the thread, the next call tries again.
    pub fn wake(&mut self) {
        if let Some((events, _)) = &self.thread {
            let _ = events.try_send(Event::Look);
        } else if let Some((mailbox, opencode)) = self.of.as_ref().filter(|(mailbox, _)| !prompts::all(mailbox).is_empty()) {
            self.thread = log::ok(start(mailbox.clone(), *opencode));
        }
    }
}

fn start(mailbox: Mailbox, opencode: bool) -> Result<(SyncSender<Event>, Arc<AtomicBool>)> {
    let (events, happened) = mpsc::sync_channel(16);
    let config_dir = claude::config_dir(|name| std::env::var_os(name)).unwrap_or_default();
    let receipts = Receipts::new({
        let events = events.clone();
        move |receipt| drop(events.send(Event::Receipt(receipt)))
    });
    let mut sender = Sender { mailbox, opencode, config_dir, receipts, only: None, hints: None, events: events.clone() };
    let is_over = Arc::<AtomicBool>::default();
    let ends = Arc::clone(&is_over);
    thread::start(move || sender.follow(&happened, &ends))?;
    Ok((events, is_over))
}

impl Drop for Prompting {
    fn drop(&mut self) {
        if let Some((events, is_over)) = &self.thread {
            is_over.store(true, Ordering::Relaxed);
            let _ = events.try_send(Event::Look);
        }
    }
}

/// The mark in the words of a prompt. It tells equal words apart.
fn mark(id: Uuid) -> String {
    format!("[askbox {}", &id.simple().to_string()[..8])
}

/// The words of a prompt as they are sent: never with a claim about permissions, and never as a command.
fn sent_words(id: Uuid, prompt: &Prompt) -> String {
    format!("{}\n\n{}: sent by {} through askbox]", prompt.words, mark(id), text::one_line(&prompt.by))
}

/// True if nothing more can become of a prompt.
fn is_over(prompt: &Prompt) -> bool {
    match prompt.reached {
        Reached::Answered | Reached::Refused => true,
        Reached::NotArrived => !is_within(prompt, LOOKED_FOR),
        Reached::Nothing | Reached::Held | Reached::Given | Reached::TakenUp => false,
    }
}

/// True if the prompt was sent within this time.
fn is_within(prompt: &Prompt, limit: TimeDelta) -> bool {
    prompt.sent_at.is_some_and(|at| time::now().signed_duration_since(at) < limit)
}

struct Sender {
    mailbox: Mailbox,
    opencode: bool,
    config_dir: PathBuf,
    receipts: Receipts,
    /// Held as long as a prompt is open.
    only: Option<Lock>,
    /// Events of the folder of sessions, as long as a prompt waits for one.
    hints: Option<Hints>,
    events: SyncSender<Event>,
}

impl Sender {
    fn follow(&mut self, happened: &Receiver<Event>, is_over: &AtomicBool) {
        while !is_over.load(Ordering::Relaxed) {
            let pause = self.work();
            if let Ok(Event::Receipt(receipt)) = happened.recv_timeout(pause) {
                self.take_in(&receipt);
            }
        }
    }

    /// Looks at all prompts, and sends those whose sessions are idle. Returns the pause until the next look.
    fn work(&mut self) -> Duration {
        let mut all = prompts::all(&self.mailbox);
        all.retain(|(_, place, prompt)| *place == Place::Kept || (*place == Place::Sent && !is_over(prompt) && !prompt.stops));
        let of_opencode: Vec<_> = all.extract_if(.., |(_, _, prompt)| self.opencode && prompt.agent == Agent::Opencode).collect();
        all.retain(|(_, _, prompt)| prompt.agent == Agent::Claude);
        if all.is_empty() && of_opencode.is_empty() {
            (self.only, self.hints) = (None, None);
            return NEVER;
        }
        if self.only.is_none() {
            self.only = Lock::try_acquire(&self.mailbox.lock_file(LOCK)).ok().flatten();
        }
        if self.only.is_none() {
            return ANOTHERS;
        }
        let of_opencode = if of_opencode.is_empty() { LATER } else { opencode::work(&self.mailbox, of_opencode) };
        if all.is_empty() {
            return of_opencode;
        }
        self.watch();
        let sessions = live::all(&self.config_dir);
        let (mut at_work, mut is_fresh) = (BTreeSet::new(), false);
        for (id, _, mut prompt) in all.iter().filter(|(_, place, _)| *place == Place::Sent).cloned() {
            self.look(id, &mut prompt);
            is_fresh |= is_within(&prompt, FRESH);
            let session = sessions.iter().find(|session| session.session_id == prompt.session);
            let has_ended_turn = session.is_some_and(|session| session.is_idle() && session.since() > prompt.sent_at);
            if !is_over(&prompt) && prompt.reached != Reached::NotArrived && !has_ended_turn {
                at_work.insert(prompt.session);
            }
        }
        for (id, _, prompt) in all.into_iter().filter(|(_, place, _)| *place == Place::Kept) {
            // One prompt at a time: the rest can still be taken back.
            let session = sessions.iter().find(|session| session.session_id == prompt.session && session.is_idle());
            if prompt.stops {
                // The hook of a session at work takes it, with the next call.
                if sessions.iter().all(|session| session.session_id != prompt.session || session.is_idle()) {
                    log::ok(prompts::end_stop(&self.mailbox, id, prompt, Some(prompts::TOO_LATE)).map(drop));
                }
                continue;
            }
            let Some(session) = session.filter(|session| !at_work.contains(&session.session_id)) else { continue };
            at_work.insert(prompt.session.clone());
            is_fresh = true;
            if let Err(e) = self.send(id, prompt, session) {
                tracing::warn!("a prompt cannot be sent: {e}");
            }
        }
        if is_fresh { SOON } else { of_opencode }
    }

    fn watch(&mut self) {
        if self.hints.is_none() {
            let events = self.events.clone();
            self.hints = Hints::new(move |_| drop(events.try_send(Event::Look))).ok();
            // Without events the next look comes after a pause.
            self.hints.as_mut().map(|hints| hints.watch(&self.config_dir.join("sessions")));
        }
    }

    /// Sends a kept prompt. The name of its file says so before the first byte leaves.
    fn send(&mut self, id: Uuid, mut prompt: Prompt, session: &Session) -> Result<()> {
        if !prompts::begin(&self.mailbox, id, &mut prompt)? {
            return Ok(());
        }
        self.receipts
            .send(&self.config_dir, session, id, &sent_words(id, &prompt))
            .or_else(|e| prompts::reach(&self.mailbox, id, &mut prompt, Reached::NotArrived, &format!("its inbox cannot be reached: {e}")))
    }

    /// Reads how far a prompt has come.
    fn look(&self, id: Uuid, prompt: &mut Prompt) {
        let file = transcript::find(&self.config_dir, &prompt.session).and_then(|path| disk::open_of_another_program(&path).ok());
        let read = file.and_then(|file| prompt_receipt::reached(file, &mark(id)).ok()).unwrap_or_default();
        let (reached, why) = match read {
            Reached::Nothing if matches!(prompt.reached, Reached::Nothing) && !is_within(prompt, ARRIVES_WITHIN) => {
                (Reached::NotArrived, LOOK)
            }
            Reached::Nothing => return,
            read => (read, ""),
        };
        log::ok(prompts::reach(&self.mailbox, id, prompt, reached, why));
    }

    fn take_in(&self, receipt: &Receipt) {
        for (id, _, mut prompt) in
            prompts::all(&self.mailbox).into_iter().filter(|(id, place, _)| *place == Place::Sent && receipt.is_of(*id))
        {
            if prompt.reached < Reached::Given {
                let why = text::excerpt(&receipt.reason, 300);
                let reached = if receipt.status == "held" { Reached::Held } else { Reached::Refused };
                log::ok(prompts::reach(&self.mailbox, id, &mut prompt, reached, &why));
            }
        }
    }
}
