//! Sends the next prompts of people to sessions of Claude Code. A thread of the watcher waits until a session is idle, because only a prompt
//! that is still here can be taken back. Without a watcher, prompts wait in the mailbox.
//!
//! | file | idea |
//! |---|---|
//! | `wire` | the inbox socket of a session, and the receipts that come back |

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
use askbox_mailbox::{Lock, Mailbox, Result, audit, disk, text, thread, time};
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

/// A reason to look.
enum Event {
    Look,
    Receipt(Receipt),
}

/// The lock of the only process that sends a mailbox's prompts in this way.
const LOCK: &str = "prompts";

/// Wakes the thread that sends prompts. Dropping it ends the thread.
#[derive(Debug, Default)]
pub struct Prompting {
    events: Option<SyncSender<Event>>,
    is_over: Arc<AtomicBool>,
}

impl Prompting {
    /// Starts the thread.
    ///
    /// # Errors
    /// If the system refuses the thread.
    pub fn start(mailbox: Mailbox) -> Result<Self> {
        let (events, happened) = mpsc::sync_channel(16);
        let config_dir = claude::config_dir(|name| std::env::var_os(name)).unwrap_or_default();
        let receipts = Receipts::new({
            let events = events.clone();
            move |receipt| drop(events.send(Event::Receipt(receipt)))
        });
        let mut sender = Sender { mailbox, config_dir, receipts, only: None, hints: None, events: events.clone() };
        let is_over = Arc::<AtomicBool>::default();
        let ends = Arc::clone(&is_over);
        thread::start(move || sender.follow(&happened, &ends))?;
        Ok(Self { events: Some(events), is_over })
    }

    /// Looks at the prompts now.
    pub fn wake(&self) {
        let _ = self.events.as_ref().map(|events| events.try_send(Event::Look).is_ok());
    }
}

impl Drop for Prompting {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.wake();
    }
}

/// The mark in the words of a prompt. It tells equal words apart.
fn mark(id: Uuid) -> String {
    format!("[askbox {}", &id.simple().to_string()[..8])
}

/// The words of a prompt as they are sent: never with a claim about permissions, and never as a command.
fn sent_words(id: Uuid, prompt: &Prompt) -> String {
    format!("{}\n\n{}: sent by {} from the page of askbox]", prompt.words, mark(id), text::one_line(&prompt.by))
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
        all.retain(|(_, place, prompt)| prompt.agent == Agent::Claude && (*place == Place::Kept || !prompt.stops));
        let is_open = |place: Place, prompt: &Prompt| place == Place::Kept || (place == Place::Sent && !is_over(prompt));
        if !all.iter().any(|(_, place, prompt)| is_open(*place, prompt)) {
            (self.only, self.hints) = (None, None);
            return NEVER;
        }
        if self.only.is_none() {
            self.only = Lock::try_acquire(&self.mailbox.lock_file(LOCK)).ok().flatten();
        }
        if self.only.is_none() {
            return ANOTHERS;
        }
        self.watch();
        let sessions = live::all(&self.config_dir);
        let (mut at_work, mut is_fresh) = (BTreeSet::new(), false);
        for (id, _, mut prompt) in all.iter().filter(|(_, place, prompt)| *place == Place::Sent && !is_over(prompt)).cloned() {
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
        if is_fresh { SOON } else { LATER }
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
        if !prompts::take(&self.mailbox, id)? {
            return Ok(());
        }
        prompt.sent_at = Some(time::now());
        prompts::note(&self.mailbox, id, &prompt)?;
        let why = format!("prompt {id} for session {}", prompt.session);
        audit::record(&self.mailbox, audit::Entry::about("prompt_sent").by(&prompt.by).why(why));
        if let Err(e) = self.receipts.send(&self.config_dir, session, id, &sent_words(id, &prompt)) {
            (prompt.reached, prompt.why) = (Reached::NotArrived, format!("its inbox cannot be reached: {e}"));
            prompts::note(&self.mailbox, id, &prompt)?;
        }
        Ok(())
    }

    /// Reads how far a prompt has come.
    fn look(&self, id: Uuid, prompt: &mut Prompt) {
        let file = transcript::find(&self.config_dir, &prompt.session).and_then(|path| disk::open_of_another_program(&path).ok());
        let read = file.and_then(|file| prompt_receipt::reached(file, &mark(id)).ok()).unwrap_or_default();
        let (reached, why) = match read {
            Reached::Nothing if matches!(prompt.reached, Reached::Nothing) && !is_within(prompt, ARRIVES_WITHIN) => {
                (Reached::NotArrived, "look before you send it again".to_owned())
            }
            Reached::Nothing => return,
            read => (read, String::new()),
        };
        self.note(id, prompt, reached, why);
    }

    fn take_in(&self, receipt: &Receipt) {
        for (id, _, mut prompt) in
            prompts::all(&self.mailbox).into_iter().filter(|(id, place, _)| *place == Place::Sent && receipt.is_of(*id))
        {
            if prompt.reached < Reached::Given {
                let why = text::excerpt(&receipt.reason, 300);
                self.note(id, &mut prompt, if receipt.status == "held" { Reached::Held } else { Reached::Refused }, why);
            }
        }
    }

    fn note(&self, id: Uuid, prompt: &mut Prompt, reached: Reached, why: String) {
        if prompt.reached == reached {
            return;
        }
        (prompt.reached, prompt.why) = (reached, why);
        log::ok(prompts::note(&self.mailbox, id, prompt));
    }
}

/// True if words claim a permission mode, which only a session of Claude Code may attest.
pub fn claims_a_mode(words: &str) -> bool {
    words.to_ascii_lowercase().contains("from-mode")
}
