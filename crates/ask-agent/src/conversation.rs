//! The loop: one step after another, until the turn is over. The session and each of its subagents are such conversations.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::history::{Call, SUMMARY, blocks, words};
use crate::host::{Happening, Host};
use crate::model::{self, Failure, Heard, ModelReply, Request};
use crate::outcome::Outcome;
use crate::process;
use crate::rules::hooks;
use crate::step::{self, End, Fault, Step, Stop};
use crate::transcript::{Transcript, new_id};
use askbox_mailbox::Result;

/// The longest pause that the API may ask for. A longer one ends the turn, and says so.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// The first pause of ours, and the longest. Each is twice the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const OWN_LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// What the model reads about a call that a died process had begun.
const UNKNOWN: &str = "[Tool call interrupted: the process died before the result was recorded, so the outcome is unknown. \
                       The call may have been made in whole or in part. Look before you repeat it.]";
const ENDED: &str = " It still ran, and was ended now.";
/// What the model reads about a call that was not made because a person interrupted the turn. `relaunch` knows both texts.
const REJECTED: &str = "The user doesn't want to proceed with this tool use. The tool use was rejected: it was not made.";
const INTERRUPTED: &str = "[Request interrupted by user for tool use]";
const INTERRUPTED_TEXT: &str = "[Request interrupted by user]";
/// The model reads this in front of a summary.
const SUMMARISED: &str = "[The context was full. A summary of the conversation so far:]\n";
/// The model reads this behind the fault of its reply.
const GO_ON: &str = ". Go on where it ends. Send less at once, and nothing that was stopped.]";

/// The subagent that a conversation belongs to.
#[derive(Debug, Clone)]
pub(crate) struct Subagent {
    /// The id of the call that started it.
    pub call: String,
    /// The name of its definition.
    pub kind: String,
    /// How many agents stand above it.
    pub depth: usize,
}

/// A conversation with the model.
pub(crate) struct Conversation {
    pub transcript: Transcript,
    pub request: Request,
    /// `None` for the session itself.
    pub subagent: Option<Subagent>,
    /// How often the model may be asked in a turn.
    max_rounds: usize,
    /// How often it was asked in this turn.
    pub rounds: usize,
    /// True if a hook did not let this turn end.
    pub is_held: bool,
    /// True if the newest reply of this turn was not enough.
    pub has_failed: bool,
}

impl Conversation {
    pub fn new(transcript: Transcript, request: Request, subagent: Option<Subagent>, max_rounds: usize) -> Self {
        // All of a subagent's work is one turn. The session's next turn begins at 0.
        let rounds = transcript.history.messages.iter().filter(|message| message.is_reply()).count();
        Self { transcript, request, subagent, max_rounds, rounds, is_held: false, has_failed: false }
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
        loop {
            if let Some(end) = self.step(host)? {
                return Ok(end);
            }
        }
    }

    /// Takes the next step. Returns the end of the turn if there is none.
    fn step(&mut self, host: &mut Host) -> Result<Option<End>> {
        host.look();
        let step = step::next(&self.transcript.history);
        if let Some(stop) = host.stop.filter(|_| !matches!(step, Step::Finish | Step::Wait)) {
            return self.stopped(host, stop).map(Some);
        }
        match step {
            Step::Wait => return Ok(Some(End::Finished(String::new()))),
            Step::Finish => match self.held_by_a_hook(host)? {
                Some(why) => {
                    self.is_held = true;
                    self.transcript.remark(&format!("Stop hook feedback:\n{why}"), json!({}))?;
                }
                None => return Ok(Some(End::Finished(self.transcript.history.last_words()))),
            },
            Step::AskModel => {
                self.take_queue(host)?;
                if host.args.max_budget_usd.is_some_and(|most| host.cost >= most) {
                    let why = "The limit on money was reached".into();
                    return Ok(Some(End::Short("error_max_budget_usd", "budget_exhausted", None, why)));
                }
                if self.rounds >= self.max_rounds {
                    let why = format!("Reached maximum number of turns ({})", self.max_rounds);
                    return Ok(Some(End::Short("error_max_turns", "max_turns", None, why)));
                }
                return self.ask(host, false);
            }
            Step::Tell(Fault::Full) => return self.ask(host, true),
            Step::Tell(fault) => self.transcript.remark(&format!("[{}{GO_ON}", fault.parts().0), json!({}))?,
            Step::SayUnknown(call) => {
                let ended = if process::end_left_over(&process::mark(host, &call)) { ENDED } else { "" };
                self.answer(host, &call, &Outcome::error(format!("{UNKNOWN}{ended}")))?;
            }
            Step::Make(call) => return self.make(host, &call),
        }
        Ok(None)
    }

    pub fn answer(&mut self, host: &Host, call: &Call, outcome: &Outcome) -> Result<()> {
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
    fn held_by_a_hook(&self, host: &mut Host) -> Result<Option<String>> {
        let event = if self.subagent.is_some() { "SubagentStop" } else { "Stop" };
        let about = json!({ "stop_hook_active": self.is_held, "last_assistant_message": self.transcript.history.last_words() });
        let verdict = hooks::run(host, event, "", &about)?;
        Ok((verdict.decision == hooks::HookDecision::Deny && !verdict.ends_turn).then_some(verdict.reason))
    }

    /// Asks the model and takes its reply in, as a summary if one is asked for. Returns the end of the turn if there is no whole reply.
    fn ask(&mut self, host: &mut Host, summary: bool) -> Result<Option<End>> {
        let mut max_tokens = host.api.max_tokens(&self.request.model);
        let (mut attempt, mut pause) = (0, FIRST_PAUSE);
        loop {
            let body = model::body(&self.request, &self.transcript.history, &host.session, max_tokens, summary).to_string();
            let failure = match self.hear(host, body.into())? {
                Ok(reply) if reply.is_complete => {
                    let message = reply.into_message();
                    host.spend(&message["usage"]);
                    if summary {
                        let words = words(&blocks(&message["content"]));
                        if words.trim().is_empty() {
                            return Ok(Some(Fault::Full.end()));
                        }
                        host.events.system("compact_boundary", json!({}));
                        return self.transcript.remark(&format!("{SUMMARISED}{words}"), json!({ SUMMARY: true })).map(|()| None);
                    }
                    self.transcript.reply(&message)?;
                    self.rounds += 1;
                    host.events.reply(&message, self.parent());
                    let fault = self.transcript.history.messages.last().and_then(Fault::of);
                    let had_failed = std::mem::replace(&mut self.has_failed, fault.is_some());
                    return Ok(fault.filter(|_| had_failed).map(Fault::end));
                }
                Ok(cut) => {
                    // Before the end of the process, nothing is written: the next process asks again.
                    if let Some(mut message) = cut.into_cut_message().filter(|_| host.stop == Some(Stop::Interrupt)) {
                        self.transcript.reply(&message)?;
                        message["aborted"] = true.into();
                        host.events.reply(&message, self.parent());
                    }
                    return self.stopped(host, host.stop.unwrap_or(Stop::Terminate)).map(Some);
                }
                Err(failure) => failure,
            };
            if let Some(room) = host.api.room(&self.request.model, &failure).filter(|room| *room < max_tokens) {
                max_tokens = room;
                continue;
            }
            // The messages do not fit into the model's context.
            if ["prompt is too long", "exceed context limit"].iter().any(|words| failure.message.contains(words)) {
                let had_failed = std::mem::replace(&mut self.has_failed, true);
                return if had_failed || summary { Ok(Some(Fault::Full.end())) } else { self.ask(host, true) };
            }
            attempt += 1;
            let wait = failure.retry_after.unwrap_or(pause);
            if !failure.may_pass() || attempt > host.api.max_retries || wait > LONGEST_PAUSE {
                return Ok(Some(End::Failed(failure)));
            }
            let about = json!({
                "attempt": attempt, "max_retries": host.api.max_retries, "error_status": failure.status, "error": failure.kind,
                "retry_delay_ms": u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
            });
            host.events.system("api_retry", about);
            let deadline = Instant::now() + wait;
            while host.wait(Some(deadline)).is_some() && host.stop.is_none() {}
            if let Some(stop) = host.stop {
                return self.stopped(host, stop).map(Some);
            }
            pause = (pause * 2).min(OWN_LONGEST_PAUSE);
        }
    }

    /// Sends one request and listens. The reply is not complete if a request to stop came first.
    fn hear(&self, host: &mut Host, body: Arc<str>) -> Result<Result<ModelReply, Failure>> {
        static NUMBER: AtomicU64 = AtomicU64::new(1);
        let (number, sender) = (NUMBER.fetch_add(1, Ordering::Relaxed), host.sender.clone());
        let _ongoing = host.api.send(body, move |heard| sender.send(Happening::Model(number, heard)).is_ok())?;
        let mut reply = ModelReply::default();
        loop {
            match host.wait(None) {
                _ if host.stop.is_some() => return Ok(Ok(reply)),
                Some(Happening::Model(of, heard)) if of == number => match heard {
                    Heard::Event(event) => {
                        host.events.piece(&event, self.parent());
                        if let Err(failure) = reply.take(&event) {
                            return Ok(Err(failure));
                        }
                        if reply.is_complete {
                            return Ok(Ok(reply));
                        }
                    }
                    Heard::End(end) => return Ok(Err(end.err().unwrap_or_else(|| Failure::broken("the reply ended early")))),
                },
                Some(_) => {}
                None => return Ok(Err(Failure::broken("no reply came"))),
            }
        }
    }

    /// Ends a turn before its time. After an interrupt, the calls that were not made get a result, so nobody makes them later. Before the
    /// end of the process, nothing is written: the next process makes them.
    pub fn stopped(&mut self, host: &Host, stop: Stop) -> Result<End> {
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
        let (model, mode) = (&self.request.model, host.args.mode());
        let about = json!({ "cwd": host.cwd, "model": model, "permissionMode": mode, "tools": self.tools(), "agents": agents });
        host.events.system("init", about);
    }
}
