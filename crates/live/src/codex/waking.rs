//! Gives an idle session of Codex one turn with its news.
//!
//! 1. *Reads* the session. A subagent's news go to the session that a person sees. A session at work is left alone until it rests. A session that
//!    the daemon has put away is left alone until somebody resumes it: this client does not know the sandbox and the approvals that its user chose.
//! 2. *Searches* it for a text that a watcher has left on record, if there is one. The daemon does that, because a session's outputs may be longer
//!    than any message. A summary of the turns would not do: a text that joined a turn under way is not in it.
//! 3. *Joins* it, so that its dialogs in the turn reach this client.
//! 4. *Tells* it: the answers are claimed, the text is put on record, then sent. The answers are delivered once the daemon has taken it.
//!
//! One session at a time, so that two subagents of a session do not tell it in the same moment.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::codex::news;
use crate::codex::telling::{Claims, Telling};
use crate::codex::wire::{self, Status, Thread, ThreadId};
use askbox_mailbox::{Result, SessionId};
use askbox_run::{Desk, log};

/// The first pause after a session did not take its news. Each further one is twice as long.
const AGAIN: Duration = Duration::from_secs(30);
/// The longest of these pauses.
const LONGEST_PAUSE: Duration = Duration::from_secs(600);
/// How long the daemon may take for one step.
const PATIENCE: Duration = Duration::from_secs(30);
/// How many sessions may stand above a subagent.
const DEPTH: usize = 16;

/// A message that has to be sent as a request of ours.
pub(super) type Call = (&'static str, Value);

/// The sessions that are told, and that are told later.
#[derive(Default)]
pub(super) struct Waking {
    job: Option<Job>,
    jobs: u64,
    later: HashMap<SessionId, Later>,
    /// How often in a row a session did not take its news.
    failures: HashMap<SessionId, u32>,
    pub(super) has_threads: bool,
}

/// The number of a job. A reply to an earlier job is dropped.
pub(super) type JobId = u64;

struct Job {
    id: JobId,
    thread: SessionId,
    since: Instant,
    step: Step,
}

enum Step {
    Reads { of: ThreadId, depth: usize, left: Option<Telling> },
    Searches { left: Telling, rests: bool },
    Joins { to: ThreadId, left: Option<Telling> },
    Tells(Telling, Claims),
}

impl Job {
    /// No reply comes any more. Answers that are claimed wait again. The session may have been told of them, which its turns will say.
    fn ends(self, desk: Desk<'_>) {
        if let Step::Tells(_, claims) = self.step {
            claims.given_back(desk.mailbox).unwrap_or_else(|e| log::error(&e));
        }
    }
}

/// Why a session is told later.
enum Later {
    /// It is at work or put away. It is looked at again once a session rests.
    Busy(Instant),
    Failed(Instant),
}

/// The consequence of a reply.
pub(super) struct Next {
    pub(super) calls: Vec<Call>,
    /// A session that is loaded for this client now.
    pub(super) loaded: Option<Thread>,
}

impl Waking {
    /// True if a reply is awaited.
    pub(super) fn awaits_reply(&self) -> bool {
        self.job.is_some()
    }

    /// Begins with the next session that has news. Returns the request, and the number for [`Self::answered`].
    pub(super) fn tick(&mut self, desk: Desk<'_>) -> Option<(JobId, Call)> {
        if let Some(job) = self.job.take_if(|job| job.since.elapsed() > PATIENCE) {
            self.failed(job.thread);
            job.ends(desk);
        }
        let named = news::named(desk.mailbox);
        self.has_threads = named.is_some();
        if self.job.is_some() {
            return None;
        }
        let now = Instant::now();
        self.later.retain(|_, later| matches!(later, Later::Busy(at) | Later::Failed(at) if *at > now));
        for (thread, workflows) in named.into_iter().flatten() {
            if self.later.contains_key(&thread) {
                continue;
            }
            let left = Telling::left_behind(desk.mailbox, &thread);
            let policy = desk.config.answers.policy();
            let news = match &left {
                // The notes stay until its session has said whether it has the text. Without a note, nobody would ask the session again.
                Some(left) => Claims::of_the_dead(desk.mailbox, &left.lines).map(|is_settled| (is_settled, Vec::new())),
                None => news::of_thread(desk.mailbox, &policy, &thread, &workflows).map(|lines| (true, lines)),
            };
            match news {
                Ok((false, _)) => continue,
                Ok((true, lines)) if lines.is_empty() && left.is_none() => continue,
                Ok(_) => {}
                // Another process keeps a lock, or a file cannot be read now.
                Err(e) => {
                    log::error(&e);
                    self.failed(thread);
                    continue;
                }
            }
            let of = left.as_ref().map_or_else(|| thread.to_string(), |left| left.to.clone());
            let call = ("thread/read", json!({ "threadId": of }));
            self.jobs += 1;
            self.job = Some(Job { id: self.jobs, thread, since: now, step: Step::Reads { of, depth: 0, left } });
            return Some((self.jobs, call));
        }
        None
    }

    /// The connection is over.
    pub(super) fn end(&mut self, desk: Desk<'_>) {
        if let Some(job) = self.job.take() {
            job.ends(desk);
        }
    }

    /// A session rests: it may be one that was at work.
    pub(super) fn rested(&mut self) {
        self.later.retain(|_, later| matches!(later, Later::Failed(_)));
    }

    /// Takes the reply to the last request of a job.
    pub(super) fn answered(&mut self, desk: Desk<'_>, id: JobId, result: Result<Value, String>) -> Next {
        let Some(Job { thread, step, .. }) = self.job.take_if(|job| job.id == id) else { return Next { calls: Vec::new(), loaded: None } };
        self.takes_reply(desk, id, thread, step, result).unwrap_or_else(|e| {
            // The news are on record, and the session is looked at again.
            log::error(&e);
            Next { calls: self.failed(thread), loaded: None }
        })
    }

    fn takes_reply(&mut self, desk: Desk<'_>, id: JobId, thread: SessionId, step: Step, result: Result<Value, String>) -> Result<Next> {
        let nothing = |calls| Next { calls, loaded: None };
        let result = match result {
            Ok(result) => result,
            Err(why) => {
                if !self.failures.contains_key(&thread) {
                    tracing::warn!(%thread, "codex gives a session no turn with the news of askbox: {why}");
                }
                if let Step::Tells(telling, claims) = step {
                    claims.given_back(desk.mailbox)?;
                    telling.is_over(desk.mailbox, &thread)?;
                }
                self.failed(thread);
                return Ok(nothing(Vec::new()));
            }
        };
        match step {
            Step::Reads { of, depth, left } => {
                let Some(read) = wire::thread(&result) else { return Ok(nothing(self.failed(thread))) };
                let rests = read.status == Status::Resting;
                Ok(nothing(match (left, read.parent_thread_id) {
                    (Some(left), _) => {
                        let params = json!({ "threadId": left.to, "searchTerm": left.id, "limit": 1 });
                        self.goes_on(id, thread, Step::Searches { left, rests }, ("thread/searchOccurrences", params))
                    }
                    (None, Some(parent)) if depth < DEPTH => {
                        let call = ("thread/read", json!({ "threadId": parent }));
                        self.goes_on(id, thread, Step::Reads { of: parent, depth: depth + 1, left: None }, call)
                    }
                    _ => self.joins(id, thread, of, None, rests),
                }))
            }
            Step::Searches { left, rests } => match result["data"].as_array() {
                Some(found) if found.is_empty() => Ok(nothing(self.joins(id, thread, left.to.clone(), Some(left), rests))),
                Some(_) => {
                    let (claims, _) = Claims::take(desk, left.lines.clone())?;
                    left.was_told(desk, &thread, claims)?;
                    self.failures.remove(&thread);
                    Ok(nothing(Vec::new()))
                }
                None => Ok(nothing(self.failed(thread))),
            },
            Step::Joins { to, left } => {
                let loaded = wire::thread(&result);
                let calls = if loaded.as_ref().is_some_and(|loaded| matches!(loaded.status, Status::Active { .. })) {
                    self.is_busy(thread)
                } else {
                    self.tell(desk, id, thread, to, left)?
                };
                Ok(Next { calls, loaded })
            }
            Step::Tells(telling, claims) => {
                telling.was_told(desk, &thread, claims)?;
                self.failures.remove(&thread);
                Ok(nothing(Vec::new()))
            }
        }
    }

    fn joins(&mut self, id: JobId, thread: SessionId, to: ThreadId, left: Option<Telling>, rests: bool) -> Vec<Call> {
        if !rests {
            return self.is_busy(thread);
        }
        let call = ("thread/resume", json!({ "threadId": to, "excludeTurns": true }));
        self.goes_on(id, thread, Step::Joins { to, left }, call)
    }

    /// Sends the news as they are now. A person may have taken an answer since a watcher put them on record.
    fn tell(&mut self, desk: Desk<'_>, id: JobId, thread: SessionId, to: ThreadId, left: Option<Telling>) -> Result<Vec<Call>> {
        let named = news::named(desk.mailbox).and_then(|mut named| named.remove(&thread)).unwrap_or_default();
        let lines = news::of_thread(desk.mailbox, &desk.config.answers.policy(), &thread, &named)?;
        let (claims, lines) = Claims::take(desk, lines)?;
        let telling = match left {
            Some(left) if left.lines == lines => Ok(left),
            // They were taken back, or somebody else has taken them.
            left if lines.is_empty() => {
                left.map_or(Ok(()), |left| left.is_over(desk.mailbox, &thread))?;
                return Ok(vec![("thread/unsubscribe", json!({ "threadId": to }))]);
            }
            _ => Telling::begin(desk.mailbox, &thread, to, lines),
        };
        let telling = match telling {
            Ok(telling) => telling,
            Err(e) => {
                claims.given_back(desk.mailbox)?;
                return Err(e);
            }
        };
        let input = json!([{ "type": "text", "text": telling.text(), "text_elements": [] }]);
        let call = ("turn/start", json!({ "threadId": telling.to, "input": input }));
        Ok(self.goes_on(id, thread, Step::Tells(telling, claims), call))
    }

    fn goes_on(&mut self, id: JobId, thread: SessionId, step: Step, call: Call) -> Vec<Call> {
        self.job = Some(Job { id, thread, since: Instant::now(), step });
        vec![call]
    }

    fn is_busy(&mut self, thread: SessionId) -> Vec<Call> {
        self.later.insert(thread, Later::Busy(Instant::now() + AGAIN));
        Vec::new()
    }

    fn failed(&mut self, thread: SessionId) -> Vec<Call> {
        let times = self.failures.entry(thread).or_default();
        let pause = (AGAIN * 2_u32.pow((*times).min(5))).min(LONGEST_PAUSE);
        *times += 1;
        self.later.insert(thread, Later::Failed(Instant::now() + pause));
        Vec::new()
    }
}
