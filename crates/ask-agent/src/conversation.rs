//! The loop: one step after another, until the turn is over. The session and each of its subagents are such conversations.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::calls::{self, Caller, Made};
use crate::end::End;
use crate::history::Call;
use crate::host::{Happening, Host, Stop};
use crate::model::{self, Failure, Heard, Reply, Request};
use crate::outcome::Outcome;
use crate::person::Taken;
use crate::rules::hooks;
use crate::step::{self, Step};
use crate::task::{self, Prepared, Subagent};
use crate::transcript::{Transcript, new_id};
use askbox_mailbox::error::Result;

/// The longest pause that the API may ask for. A longer one ends the turn, and says so.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// The first pause of ours, and the longest. Each is twice the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const OWN_LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// What the model reads about a call that a died process had begun.
const UNKNOWN: &str = "[Tool call interrupted: the process died before the result was recorded, so the outcome is unknown. \
                       The call may have been made in whole or in part. Look before you repeat it.]";
/// What the model reads about a call that was not made because a person interrupted the turn. `relaunch` knows both texts.
const REJECTED: &str = "The user doesn't want to proceed with this tool use. The tool use was rejected: it was not made.";
const INTERRUPTED: &str = "[Request interrupted by user for tool use]";
const INTERRUPTED_TEXT: &str = "[Request interrupted by user]";

/// A conversation with the model.
pub(crate) struct Conversation {
    pub transcript: Transcript,
    request: Request,
    subagent: Option<Subagent>,
    /// 0 for the session, 1 for its subagents.
    depth: usize,
    /// How often the model may be asked in a turn.
    max_rounds: usize,
    /// How often it was asked in this turn.
    pub rounds: usize,
}

impl Conversation {
    pub fn new(transcript: Transcript, request: Request, max_rounds: usize) -> Self {
        Self { transcript, request, subagent: None, depth: 0, max_rounds, rounds: 0 }
    }

    /// The model that is asked.
    pub fn model(&self) -> &str {
        &self.request.model
    }

    /// The names of the tools.
    pub fn tools(&self) -> Vec<&str> {
        self.request.tools.iter().filter_map(|tool| tool["name"].as_str()).collect()
    }

    /// The call that started this subagent. `None` in the session itself.
    fn parent(&self) -> Option<&str> {
        self.subagent.as_ref().map(|subagent| subagent.call.as_str())
    }

    /// Takes one step after another until the turn is over.
    pub fn go_on(&mut self, host: &mut Host) -> Result<End> {
        let mut stop_hook_active = false;
        loop {
            host.look();
            let step = step::next(&self.transcript.history);
            if let Some(stop) = host.stop().filter(|_| !matches!(step, Step::Finish | Step::Wait)) {
                return self.stopped(host, stop);
            }
            match step {
                Step::Wait => return Ok(End::Finished(String::new())),
                Step::Finish => match self.held_by_a_hook(host, stop_hook_active)? {
                    Some(why) => {
                        stop_hook_active = true;
                        self.transcript.prompt(&new_id(), &json!(format!("Stop hook feedback:\n{why}")))?;
                    }
                    None => return Ok(End::Finished(self.transcript.history.last_words())),
                },
                Step::AskModel => {
                    self.take_queue(host)?;
                    if self.rounds >= self.max_rounds {
                        return Ok(End::MaxRounds(self.max_rounds));
                    }
                    if let Some(end) = self.ask(host)? {
                        return Ok(end);
                    }
                }
                Step::SayUnknown(call) => self.answer(host, &call, &Outcome::error(UNKNOWN))?,
                Step::Make(call) | Step::LookIntoMailbox(call) => {
                    if let Some(end) = self.make(host, &call)? {
                        return Ok(end);
                    }
                }
            }
        }
    }

    /// Makes a call. Returns the end of the turn if the call has no result, or if a hook ends the turn behind it.
    fn make(&mut self, host: &mut Host, call: &Call) -> Result<Option<End>> {
        let (outcome, taken, ends_turn) = match calls::make(self, host, call)? {
            Made::Result { outcome, taken, ends_turn } => (outcome, taken, ends_turn),
            Made::Ended(End::Waits(waiting)) => {
                // Only the session's own file is read by others.
                if self.subagent.is_none() {
                    self.transcript.wait(&waiting)?;
                }
                return Ok(Some(End::Waits(waiting)));
            }
            Made::Ended(End::Stopped(stop)) => return self.stopped(host, stop).map(Some),
            Made::Ended(end) => return Ok(Some(end)),
        };
        if let Some(waited) = self.transcript.history.waiting.clone().filter(|waiting| *waiting != call.id) {
            self.transcript.wait_is_over(&waited)?;
        }
        self.answer(host, call, &outcome)?;
        taken.map_or(Ok(()), Taken::delivered)?;
        if ends_turn {
            return Ok(Some(End::ByHook));
        }
        if self.transcript.history.open_calls().is_empty() && hooks::run(host, "PostToolBatch", "", &json!({}))?.ends_turn {
            return Ok(Some(End::ByHook));
        }
        Ok(None)
    }

    fn answer(&mut self, host: &Host, call: &Call, outcome: &Outcome) -> Result<()> {
        let block = outcome.block(call);
        self.transcript.result(&block)?;
        host.events.told(&block, self.parent());
        Ok(())
    }

    /// Messages that came while the agent worked join the next request of the session.
    fn take_queue(&mut self, host: &mut Host) -> Result<()> {
        while let Some(message) = host.queue.pop_front_if(|_| self.subagent.is_none()) {
            host.events.receipt(&message.uuid, "started");
            self.transcript.prompt(&message.uuid, &message.content)?;
            host.taken.push(message.uuid);
        }
        Ok(())
    }

    /// The words of a hook that does not let the turn end.
    fn held_by_a_hook(&self, host: &mut Host, stop_hook_active: bool) -> Result<Option<String>> {
        let event = if self.subagent.is_some() { "SubagentStop" } else { "Stop" };
        let about = json!({ "stop_hook_active": stop_hook_active, "last_assistant_message": self.transcript.history.last_words() });
        let verdict = hooks::run(host, event, "", &about)?;
        Ok((verdict.decision == hooks::Decision::Deny).then_some(verdict.reason))
    }

    /// Asks the model and takes its reply in. Returns the end of the turn if there is no whole reply.
    fn ask(&mut self, host: &mut Host) -> Result<Option<End>> {
        let body: Arc<str> = model::body(&self.request, &self.transcript.history, &host.session).to_string().into();
        let (mut attempt, mut pause) = (0, FIRST_PAUSE);
        loop {
            let failure = match self.hear(host, Arc::clone(&body))? {
                Ok(reply) if reply.is_complete => {
                    let message = reply.into_message();
                    self.transcript.reply(&message)?;
                    self.rounds += 1;
                    host.spend(&message["usage"]);
                    host.events.reply(&message, self.parent());
                    return Ok(None);
                }
                Ok(cut) => {
                    if let Some(mut message) = cut.into_cut_message() {
                        message["aborted"] = true.into();
                        host.events.reply(&message, self.parent());
                        message.as_object_mut().and_then(|message| message.remove("aborted"));
                        self.transcript.reply(&message)?;
                    }
                    return self.stopped(host, host.stop().unwrap_or(Stop::Terminate)).map(Some);
                }
                Err(failure) => failure,
            };
            attempt += 1;
            let wait = failure.retry_after.unwrap_or(pause);
            if !failure.may_pass() || attempt > host.api.max_retries || wait > LONGEST_PAUSE {
                return Ok(Some(End::Failed(failure)));
            }
            let delay_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
            host.events.system(
                "api_retry",
                json!({
                    "attempt": attempt, "max_retries": host.api.max_retries, "retry_delay_ms": delay_ms,
                    "error_status": failure.status, "error": failure.kind,
                }),
            );
            let deadline = Instant::now() + wait;
            while host.wait(Some(deadline)).is_some() && host.stop().is_none() {}
            if let Some(stop) = host.stop() {
                return self.stopped(host, stop).map(Some);
            }
            pause = (pause * 2).min(OWN_LONGEST_PAUSE);
        }
    }

    /// Sends one request and listens. The reply is not complete if a request to stop came first.
    fn hear(&self, host: &mut Host, body: Arc<str>) -> Result<Result<Reply, Failure>> {
        static NUMBER: AtomicU64 = AtomicU64::new(1);
        let (number, sender) = (NUMBER.fetch_add(1, Ordering::Relaxed), host.sender());
        let _ongoing = host.api.send(body, move |heard| sender.send(Happening::Model(number, heard)).is_ok())?;
        let mut reply = Reply::default();
        loop {
            match host.wait(None) {
                _ if host.stop().is_some() => return Ok(Ok(reply)),
                Some(Happening::Model(of, heard)) if of == number => match heard {
                    Heard::Event(event) => {
                        host.events.piece(&event, self.parent());
                        if let Err(why) = reply.take(&event) {
                            return Ok(Err(Failure::broken(why)));
                        }
                        if reply.is_complete {
                            return Ok(Ok(reply));
                        }
                    }
                    Heard::End => return Ok(Err(Failure::broken("the reply ended early"))),
                    Heard::Failed(failure) => return Ok(Err(failure)),
                },
                Some(_) => {}
                None => return Ok(Err(Failure::broken("no reply came"))),
            }
        }
    }

    /// Ends a turn before its time. After an interrupt, the calls that were not made get a result, so nobody makes them later. Before the
    /// end of the process, nothing is written: the next process makes them.
    fn stopped(&mut self, host: &Host, stop: Stop) -> Result<End> {
        if stop == Stop::Interrupt {
            let open = self.transcript.history.open_calls();
            for call in &open {
                self.answer(host, call, &Outcome::error(REJECTED))?;
            }
            let words = json!([{ "type": "text", "text": if open.is_empty() { INTERRUPTED_TEXT } else { INTERRUPTED } }]);
            if self.subagent.is_none() {
                self.transcript.prompt(&new_id(), &words)?;
                host.events.told(&words[0], None);
            }
        }
        Ok(End::Stopped(stop))
    }

    /// The event that begins a turn.
    pub fn init(&self, host: &Host) {
        let agents: Vec<&str> = host.agents.iter().map(|agent| agent.name.as_str()).collect();
        let (mode, tools) = (host.args.mode(), self.tools());
        host.events
            .system("init", json!({ "cwd": host.cwd, "model": self.model(), "permissionMode": mode, "tools": tools, "agents": agents }));
    }
}

impl Caller for Conversation {
    fn has(&self, tool: &str) -> bool {
        self.tools().contains(&tool)
    }

    fn subagent(&self) -> Option<&Subagent> {
        self.subagent.as_ref()
    }

    fn begin(&mut self, call: &Call) -> Result<()> {
        self.transcript.begin(call)
    }

    /// A subagent is a conversation like this one, and goes on in the same way.
    fn work_on(&mut self, host: &mut Host, call: &Call) -> Result<Result<Outcome, End>> {
        let depth = self.depth + 1;
        let Prepared { transcript, request, subagent } = match task::prepare(host, call, self.model(), depth)? {
            Ok(prepared) => prepared,
            Err(refused) => return Ok(Ok(refused)),
        };
        // All of a subagent's work is one turn.
        let rounds = transcript.history.rounds();
        let mut child = Self { transcript, request, subagent: Some(subagent), depth, max_rounds: task::ROUNDS, rounds };
        let end = child.go_on(host)?;
        Ok(task::conclusion(end, &child.transcript.history))
    }
}
