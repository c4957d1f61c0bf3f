//! Sends the next prompts of people to sessions of Codex, and stops sessions. Without a connection, both wait in the mailbox.
//!
//! Words: the session is *read*; at work, it is left alone until it rests, because only a prompt that is still here can be taken back. It is
//! *joined*, so that its dialogs and the signs of its turn reach this client. Then the turn is *begun*. Codex would run the same words twice, so
//! the name of the prompt's file says that they leave before they do.
//!
//! Stop: its turn is *looked* for and *interrupted*, and Codex *asked* what runs on.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use chrono::TimeDelta;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::codex::waking::{Call, Next};
use crate::codex::wire::{self, EndedTurn, Item, Status, ThreadId};
use askbox_agent::conversation::codex::reached;
use askbox_mailbox::prompts::{self, Agent, Place, Prompt, Reached};
use askbox_mailbox::{Mailbox, disk, text, time};
use askbox_run::log;

/// How long the daemon may take for one step.
const PATIENCE: Duration = Duration::from_secs(30);
/// The pause before a session at work is read again, if it is not heard to rest before.
const AGAIN: Duration = Duration::from_secs(15);
/// A stop that is older stops nothing: its turn may be over.
const LATE: TimeDelta = TimeDelta::seconds(15);

const SILENT: &str = "Codex has not answered: look before you send it again";
const UNREAD: &str = "its turn was stopped before the model read it: send it again";

/// The prompts that are on their way.
#[derive(Default)]
pub(super) struct Prompting {
    job: Option<Job>,
    jobs: JobId,
    open: HashMap<Uuid, Open>,
    /// The sessions at work.
    later: HashMap<ThreadId, Instant>,
}

/// The number of a job. A reply to an earlier job is dropped.
pub(super) type JobId = u64;

struct Job {
    number: JobId,
    id: Uuid,
    prompt: Prompt,
    since: Instant,
    step: Step,
}

#[derive(Clone, Copy)]
enum Step {
    Reads,
    Joins,
    Begins,
    Looks,
    Interrupts,
    Asks,
}

/// A prompt that was sent. `turn` is empty until it is known, or if an earlier process has sent the prompt.
struct Open {
    prompt: Prompt,
    turn: String,
}

impl Prompting {
    /// Finds out how far the prompts have come that an earlier process has sent. The session is heard from now on.
    pub(super) fn begin(mailbox: &Mailbox) -> Self {
        let mut prompting = Self::default();
        for (id, _, mut prompt) in
            prompts::all(mailbox).into_iter().filter(|(_, place, prompt)| *place == Place::Sent && prompt.agent == Agent::Codex)
        {
            if !matches!(prompt.reached, Reached::Nothing | Reached::Given | Reached::TakenUp) {
                continue;
            }
            let file = askbox_sessions::file_of_codex(&prompt.session).and_then(|file| disk::open_of_another_program(&file).ok());
            match file.and_then(|file| reached(file, &id.to_string()).ok()).unwrap_or_default() {
                Reached::Nothing => note(mailbox, id, &mut prompt, Reached::NotArrived, "look before you send it again"),
                now => note(mailbox, id, &mut prompt, now, ""),
            }
            if prompt.reached == Reached::TakenUp {
                prompting.open.insert(id, Open { prompt, turn: String::new() });
            }
        }
        prompting
    }

    /// True if a prompt of this session is on its way, or its turn.
    pub(super) fn is_in(&self, thread: &ThreadId) -> bool {
        self.open.values().any(|open| open.prompt.session == *thread) || self.job.as_ref().is_some_and(|job| job.prompt.session == *thread)
    }

    /// True if a reply is awaited.
    pub(super) fn awaits_reply(&self) -> bool {
        self.job.is_some()
    }

    /// Begins with the next prompt. Returns the request, and the number for [`Self::answered`].
    pub(super) fn tick(&mut self, mailbox: &Mailbox) -> Option<(JobId, Call)> {
        if let Some(mut job) = self.job.take_if(|job| job.since.elapsed() > PATIENCE) {
            self.open.remove(&job.id);
            if job.prompt.sent_at.is_some() {
                note(mailbox, job.id, &mut job.prompt, Reached::NotArrived, SILENT);
            }
        }
        if self.job.is_some() || !prompts::are_kept(mailbox) {
            return None;
        }
        let now = Instant::now();
        self.later.retain(|_, at| *at > now);
        let is_next = |prompt: &Prompt| prompt.stops || !(self.later.contains_key(&prompt.session) || self.is_in(&prompt.session));
        let mut kept: Vec<_> = prompts::all(mailbox)
            .into_iter()
            .filter(|(_, place, of)| *place == Place::Kept && of.agent == Agent::Codex && is_next(of))
            .collect();
        kept.sort_by_key(|(_, _, prompt)| !prompt.stops);
        let (id, _, prompt) = kept.into_iter().next()?;
        self.jobs += 1;
        let job = Job { number: self.jobs, id, prompt, since: Instant::now(), step: Step::Reads };
        let call = if job.prompt.stops { self.stops(mailbox, job)? } else { self.goes_on(job, Step::Reads, "thread/read", json!({})) };
        Some((self.jobs, call))
    }

    fn stops(&mut self, mailbox: &Mailbox, mut job: Job) -> Option<Call> {
        if !log::ok(prompts::begin(mailbox, job.id, &mut job.prompt))? {
            return None;
        }
        if time::now().signed_duration_since(job.prompt.at) > LATE {
            note(mailbox, job.id, &mut job.prompt, Reached::NotArrived, "it came too late: another turn may be at work");
            return None;
        }
        Some(self.goes_on(job, Step::Looks, "thread/turns/list", json!({ "limit": 1, "itemsView": "notLoaded" })))
    }

    /// Takes the reply to the last request of a job.
    pub(super) fn answered(&mut self, mailbox: &Mailbox, number: JobId, result: std::result::Result<Value, String>) -> Next {
        let mut next = Next { calls: Vec::new(), loaded: None };
        let Some(mut job) = self.job.take_if(|job| job.number == number) else { return next };
        let step = job.step;
        let result = match result {
            Ok(result) => result,
            Err(_) if matches!(step, Step::Reads | Step::Joins) => {
                self.later.insert(job.prompt.session, Instant::now() + AGAIN);
                return next;
            }
            Err(_) if matches!(step, Step::Asks) => {
                note(mailbox, job.id, &mut job.prompt, Reached::Answered, "a command may run on in the background");
                return next;
            }
            Err(why) => {
                self.open.remove(&job.id);
                note(mailbox, job.id, &mut job.prompt, Reached::Refused, &text::excerpt(&why, 300));
                return next;
            }
        };
        match step {
            Step::Reads | Step::Joins => {
                let read = wire::thread(&result);
                let rests = read.as_ref().is_some_and(|thread| thread.status == Status::Resting);
                next.loaded = read.filter(|_| matches!(step, Step::Joins));
                if !rests {
                    self.later.insert(job.prompt.session, Instant::now() + AGAIN);
                } else if next.loaded.is_none() {
                    next.calls.push(self.goes_on(job, Step::Joins, "thread/resume", json!({ "excludeTurns": true })));
                } else if log::ok(prompts::begin(mailbox, job.id, &mut job.prompt)) == Some(true) {
                    self.open.insert(job.id, Open { prompt: job.prompt.clone(), turn: String::new() });
                    let input = json!([{ "type": "text", "text": job.prompt.words, "text_elements": [] }]);
                    let params = json!({ "input": input, "clientUserMessageId": job.id });
                    next.calls.push(self.goes_on(job, Step::Begins, "turn/start", params));
                }
            }
            Step::Begins => {
                if let Some(open) = self.open.get_mut(&job.id) {
                    open.turn = result["turn"]["id"].as_str().unwrap_or_default().to_owned();
                    let reached = open.prompt.reached.max(Reached::Given);
                    note(mailbox, job.id, &mut open.prompt, reached, "");
                }
            }
            Step::Looks => match result["data"][0]["id"].as_str().filter(|_| result["data"][0]["status"] == "inProgress") {
                Some(turn) => next.calls.push(self.goes_on(job, Step::Interrupts, "turn/interrupt", json!({ "turnId": turn }))),
                None => note(mailbox, job.id, &mut job.prompt, Reached::NotArrived, "no turn was at work"),
            },
            Step::Interrupts => next.calls.push(self.goes_on(job, Step::Asks, "thread/backgroundTerminals/list", json!({}))),
            Step::Asks => {
                let all = result["data"].as_array().into_iter().flatten().filter_map(|one| one["command"].as_str());
                let all = all.map(|command| text::excerpt(command, 100)).collect::<Vec<_>>().join("; ");
                let why = if all.is_empty() { all } else { format!("runs on in the background: {all}") };
                note(mailbox, job.id, &mut job.prompt, Reached::Answered, &why);
            }
        }
        next
    }

    fn goes_on(&mut self, job: Job, step: Step, method: &'static str, mut params: Value) -> Call {
        params["threadId"] = job.prompt.session.clone().into();
        self.job = Some(Job { step, since: Instant::now(), ..job });
        (method, params)
    }

    /// The session has begun with this item.
    pub(super) fn item(&mut self, mailbox: &Mailbox, item: &Item) {
        let id = item.client_id.as_ref().and_then(|id| id.parse().ok());
        if let Some((id, open)) = id.and_then(|id| Some((id, self.open.get_mut(&id)?))) {
            note(mailbox, id, &mut open.prompt, Reached::TakenUp, "");
        }
    }

    /// A turn has ended. Returns true if it was that of a prompt.
    pub(super) fn turn(&mut self, mailbox: &Mailbox, turn: &EndedTurn) -> bool {
        let ended: Vec<_> = self.open.extract_if(|_, open| open.turn == turn.id).collect();
        let is_one = !ended.is_empty();
        for (id, mut open) in ended {
            let (reached, why) = match (open.prompt.reached, turn.status.as_str()) {
                (Reached::TakenUp, "completed") => (Reached::Answered, ""),
                (Reached::TakenUp, "interrupted") => (Reached::Answered, "its turn was stopped"),
                (Reached::TakenUp, _) => (Reached::Answered, "its turn has failed"),
                _ => (Reached::NotArrived, UNREAD),
            };
            note(mailbox, id, &mut open.prompt, reached, why);
        }
        is_one
    }

    /// A session rests.
    pub(super) fn rested(&mut self, mailbox: &Mailbox, thread: &ThreadId) {
        self.later.remove(thread);
        for (id, mut open) in self
            .open
            .extract_if(|_, open| open.turn.is_empty() && open.prompt.reached == Reached::TakenUp && open.prompt.session == *thread)
        {
            note(mailbox, id, &mut open.prompt, Reached::Answered, "");
        }
    }
}

fn note(mailbox: &Mailbox, id: Uuid, prompt: &mut Prompt, reached: Reached, why: &str) {
    log::ok(prompts::reach(mailbox, id, prompt, reached, why));
}

#[cfg(test)]
mod tests {
    use super::*;
    use askbox_mailbox::documents::fields::through::Through;
    use askbox_mailbox::who::caller::{Below, Caller};

    /// At a dialog, Codex takes words into the turn at work, and forgets them if that turn is stopped (measured with 0.171).
    #[test]
    fn words_that_a_stopped_turn_has_not_read_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let mailbox = Mailbox::open_or_create(folder.path().join("m")).unwrap();
        let person = Caller::new("ann", "web", Through::Web, Below::NoAgent).unwrap();
        let mut prompting = Prompting::default();
        let [read, unread] = [Reached::TakenUp, Reached::Given].map(|reached| {
            let (id, mut prompt) = (Uuid::new_v4(), Prompt::new(Agent::Codex, "t", "go on".into(), "ann"));
            prompts::keep(&mailbox, &person, id, &prompt).unwrap();
            assert!(prompts::begin(&mailbox, id, &mut prompt).unwrap() && !prompts::begin(&mailbox, id, &mut prompt).unwrap());
            note(&mailbox, id, &mut prompt, reached, "");
            prompting.open.insert(id, Open { prompt, turn: "u".into() });
            id
        });
        let ended = |id: &str| EndedTurn { id: id.into(), status: "interrupted".into() };
        assert!(!prompting.turn(&mailbox, &ended("another")) && prompting.is_in(&"t".into()));
        assert!(prompting.turn(&mailbox, &ended("u")) && !prompting.is_in(&"t".into()));
        let of =
            |id| prompts::all(&mailbox).into_iter().find(|(of, ..)| *of == id).map(|(_, _, prompt)| (prompt.reached, prompt.why)).unwrap();
        assert_eq!(of(read), (Reached::Answered, "its turn was stopped".into()));
        assert_eq!(of(unread), (Reached::NotArrived, UNREAD.into()));
    }
}
