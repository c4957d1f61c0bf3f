//! Attending a live agent: every signal it gives, every deadline it has, and the ladder when it is to stop.

mod stopping;

use std::sync::PoisonError;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use serde_json::Value;
use uuid::Uuid;

use crate::agent::claude;
use crate::agent::events::EventKind;
use crate::agent::stream::{PermissionRequest, ReceiptState, StreamItem, TurnOutcome, Verdict};
use crate::config::Config;
use crate::mailbox::{Mailbox, intake};
use crate::run::attempt::ending::Ending;
use crate::run::attempt::failure::Class;
use crate::run::attempt::record::Run;
use crate::run::process::launch::Start;
use crate::run::process::{prompt, role};
use crate::run::supervise::ladder::{Doing, Ladder, Request, Rung};
use crate::run::supervise::stop;
use crate::run::supervise::supervisor::{Agent, Input, Log};
use crate::time;

/// How long an agent may take to go after its result and the end of its input.
const EXIT_GRACE: Duration = Duration::from_secs(10);
/// How long output may still come once the agent is gone: a grandchild may hold the pipe open for ever.
const DRAIN: Duration = Duration::from_secs(2);
/// The longest sleep without a deadline.
const SLEEP: Duration = Duration::from_secs(3600);

/// What the run is up to.
#[derive(Debug)]
enum Phase {
    /// The agent works.
    Working,
    /// It is to stop.
    Stopping(Ladder),
    /// It was stopped and asked what it has; its input closes behind the answer.
    Reporting(Ladder),
    /// Its last word is here and its input is closed: it should go by itself, until then.
    Leaving(Instant),
    /// It did not.
    Pushed(Ladder),
}

pub(crate) struct Attendance<'a, 'b> {
    mailbox: &'a Mailbox,
    config: &'a Config,
    run: &'a Run,
    agent: Agent,
    log: &'a mut Log<'b>,
    phase: Phase,
    stopped: Option<String>,
    /// Of what kind the limit is that stopped it.
    class: Option<Class>,
    /// The limit that stopped it, where one did that parks.
    limit: Option<Class>,
    /// Answers of the model so far.
    round_trips: u32,
    ending: Option<Ending>,
    began: bool,
    /// The permission mode in which its session began, until that session gets anywhere.
    new_session: Option<String>,
    message_seen: bool,
    asked: Option<String>,
    /// What it said in the turn that was cut, if it was asked for a report after it.
    partial: Option<String>,
    /// A tool call was refused because the run is to stop.
    refused: bool,
    /// Tool calls in flight, by id.
    tools: Vec<String>,
    last_sign: Instant,
    silent: Duration,
    /// How long the API asked to be left alone, the last time.
    told_to_wait: Option<Duration>,
}

impl<'a, 'b> Attendance<'a, 'b> {
    pub(crate) fn new(mailbox: &'a Mailbox, config: &'a Config, run: &'a Run, agent: Agent, log: &'a mut Log<'b>) -> Self {
        Self {
            mailbox,
            config,
            run,
            agent,
            log,
            phase: Phase::Working,
            stopped: None,
            class: None,
            limit: None,
            round_trips: 0,
            ending: None,
            began: false,
            new_session: None,
            message_seen: false,
            asked: None,
            tools: Vec::new(),
            last_sign: Instant::now(),
            silent: config.limits.silent_after.0,
            partial: None,
            refused: false,
            told_to_wait: None,
        }
    }

    /// How the attempt ended, and its last event, if there is one to be written when nothing of it lives any more. `tree`: how
    /// long its tree may still be at work.
    pub(crate) fn until_the_end(mut self, inputs: &Receiver<Input>, tree: Option<Duration>) -> (Ending, Option<EventKind>) {
        let begun = Instant::now();
        let out_of_time = begun + self.config.limits.run_time.0;
        let tree_out_of_time = tree.map(|left| begun + left);
        let (mut exited, mut output_ended) = (None::<(String, Instant)>, false);
        // Somebody may have asked before we listened.
        self.look_for_stop();
        loop {
            let now = Instant::now();
            if let Some((_, drained)) = &exited
                && (output_ended || now >= *drained)
            {
                break;
            }
            self.climb(now);
            let working = matches!(self.phase, Phase::Working);
            if working && now >= out_of_time {
                self.limit(format!("it ran longer than limits.run_time = {}", time::human(self.config.limits.run_time.0)));
            } else if working && tree_out_of_time.is_some_and(|at| now >= at) {
                self.class = Some(Class::Tree);
                let limit = time::human(self.config.limits.tree_time.0);
                self.limit(format!("its whole tree was at work for limits.tree_time = {limit}"));
            } else if working && now - self.last_sign >= self.config.limits.silence.0 {
                self.limit(format!("it was silent for limits.silence = {}", time::human(self.config.limits.silence.0)));
            }
            let drained = exited.as_ref().map(|(_, at)| *at);
            let working = matches!(self.phase, Phase::Working);
            let deadlines = [
                self.next_rung(),
                drained,
                Some(out_of_time).filter(|_| working),
                tree_out_of_time.filter(|_| working),
                Some(self.last_sign + self.config.limits.silence.0).filter(|_| working),
                Some(self.last_sign + self.silent).filter(|_| working),
            ];
            let next = deadlines.into_iter().flatten().min().unwrap_or(now + SLEEP);
            match inputs.recv_timeout(next.saturating_duration_since(now)) {
                Ok(Input::Signals(signals)) => {
                    signals.into_iter().for_each(|s| self.take(s));
                    self.last_sign = Instant::now();
                    self.silent = self.config.limits.silent_after.0;
                }
                Ok(Input::OutputEnded) => {
                    output_ended = true;
                    // Nothing can come any more: it may go.
                    self.leave();
                }
                Ok(Input::Exited(status)) => exited = Some((status, Instant::now() + DRAIN)),
                Ok(Input::Stop(request)) => self.stop(request),
                Ok(Input::Woken) => self.look_for_stop(),
                Err(RecvTimeoutError::Timeout) => self.silence(),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.verdict(exited.map_or_else(|| "its output ended".into(), |(status, _)| status))
    }

    fn silence(&mut self) {
        let silent = self.last_sign.elapsed();
        if matches!(self.phase, Phase::Working) && silent >= self.silent {
            self.silent *= 2;
            self.log.event(EventKind::Silent { seconds: silent.as_secs() });
        }
    }

    fn take(&mut self, signal: StreamItem) {
        match signal {
            StreamItem::Event(kind) => {
                self.count_tools(&kind);
                if matches!(kind, EventKind::Text { .. } | EventKind::ToolCall { .. }) {
                    self.remember();
                }
                if let EventKind::Throttled { delay_ms, .. } = &kind {
                    self.told_to_wait = Some(Duration::from_millis(*delay_ms));
                }
                let may_have_asked = matches!(kind, EventKind::ToolResult { .. } | EventKind::Result { .. });
                self.log.event(kind);
                if may_have_asked {
                    self.look_for_question();
                }
            }
            StreamItem::Began { session_id, permission_mode, first, .. } => {
                if session_id == self.run.session_id.to_string() {
                    self.began = true;
                    // An interrupt before the turn is without effect.
                    if matches!(&self.phase, Phase::Stopping(ladder) if ladder.rung() == Rung::Interrupt) {
                        self.say(claude::interrupt("askbox-stop-begun"));
                    }
                    if first {
                        self.new_session = Some(permission_mode);
                    }
                } else {
                    self.log.note(format!("the agent reports session {session_id}, not the chosen one"));
                }
            }
            StreamItem::RoundTrip => self.round_trip(),
            StreamItem::Receipt { uuid, state } if uuid == self.run.message_id.to_string() => self.receipt(state),
            StreamItem::Permission(request) => self.decide(&request),
            StreamItem::TurnEnded(turn) => self.turn_ended(&turn),
            StreamItem::ControlReply { request_id, response, .. } if request_id == role::QUESTION => self.role_is(&response),
            StreamItem::Receipt { .. } | StreamItem::PermissionCancelled { .. } | StreamItem::ControlReply { .. } => {}
        }
    }

    /// Only an agent that knows its role is told what to do: any other would do it as somebody else.
    fn role_is(&mut self, response: &Value) {
        let Some(message) = self.agent.held.take() else { return };
        match self.run.role.as_deref().and_then(|role| role::unknown(role, response)) {
            _ if self.stopped.is_some() => self.leave(),
            None => self.say(message),
            Some(why) => {
                self.ending = Some(Ending::Refused { class: Class::Role, why });
                self.leave();
            }
        }
    }

    fn count_tools(&mut self, kind: &EventKind) {
        match kind {
            EventKind::ToolCall { id, .. } => self.tools.push(id.clone()),
            EventKind::ToolResult { id, text, .. } => {
                self.tools.retain(|t| t != id);
                self.refused |= self.stopped.is_some() && text.contains(stop::REFUSAL);
            }
            EventKind::Result { .. } => self.tools.clear(),
            _ => {}
        }
    }

    fn doing(&self) -> Doing {
        if self.tools.is_empty() { Doing::Words } else { Doing::Tool }
    }

    fn turn_ended(&mut self, turn: &TurnOutcome) {
        let delivered = matches!(self.ending, Some(Ending::Delivered { .. }));
        // A turn that our stop cut is no result, whatever the agent calls it.
        let cut = self.refused || matches!(turn.verdict, Verdict::HookStopped | Verdict::Interrupted { .. });
        let ours = self.stopped.is_some() && (cut || matches!(self.phase, Phase::Reporting(_)));
        if !delivered && !ours {
            self.ending = Some(Ending::of_turn(turn).after(self.told_to_wait));
            if matches!(self.ending, Some(Ending::Delivered { .. })) {
                self.remember();
            }
        }
        match &self.phase {
            Phase::Stopping(ladder) if cut && ladder.request.report && ladder.rung() <= Rung::Interrupt => {
                let request = ladder.request.clone();
                self.log.note("stopped; asking for a report");
                self.partial = match self.interrupted("") {
                    EventKind::Interrupted { text, .. } => Some(text),
                    _ => None,
                };
                let uuid = Uuid::new_v5(&self.run.message_id, format!("report {}", self.run.attempt).as_bytes());
                self.say(claude::user_message(&uuid.to_string(), prompt::REPORT));
                // The report has the grace to come; a tool it calls is refused.
                self.phase = Phase::Reporting(Ladder::report(Request { now: false, ..request }, Instant::now()));
            }
            _ => self.leave(),
        }
    }

    /// The session got somewhere: from here on it is the workflow's, and what is asked in it is resumed in it. One that got
    /// nowhere leaves the workflow with the session that it was forked from.
    fn remember(&mut self) {
        let Some(permission_mode) = self.new_session.take() else { return };
        let update = || {
            let lock = self.mailbox.lock(&self.run.workflow_id)?;
            crate::mailbox::documents::workflow::update(self.mailbox, &lock, |w| {
                w.session_id = Some(self.run.session_id);
                w.permission_mode = Some(permission_mode);
                w.agent = Some(self.run.runner.clone());
            })
        };
        if let Err(e) = update() {
            self.log.note(format!("the workflow's record could not be written: {e}"));
        }
    }

    /// `completed` alone means that the session had this message before, in an earlier attempt, and dropped it: the model is
    /// not shown the answer again, but must be told to go on.
    fn receipt(&mut self, state: ReceiptState) {
        match state {
            ReceiptState::Queued | ReceiptState::Started => self.message_seen = true,
            ReceiptState::Completed if !self.message_seen && self.agent.start == Start::Continue => {
                self.message_seen = true;
                self.log.note("the session had the answer already; asking it to continue");
                let uuid = Uuid::new_v5(&self.run.message_id, &self.run.attempt.to_be_bytes());
                self.say(claude::user_message(&uuid.to_string(), prompt::CONTINUE));
            }
            ReceiptState::Completed | ReceiptState::Cancelled => {}
        }
    }

    fn say(&mut self, line: String) {
        if let Some(input) = &mut self.agent.input {
            input.say(&line);
        }
    }

    /// Nobody is there to be asked, so what the operator has not allowed is refused, with the way out.
    fn decide(&mut self, request: &PermissionRequest) {
        let why = if request.requires_user_interaction {
            format!(
                "Your user is not at this session. Ask with `ask-post -w {} \"QUESTION\" -o KEY=DESCRIPTION`, then end your turn: you will be relaunched with the answer.",
                self.run.workflow_id
            )
        } else {
            "Not permitted in this unattended run. Go on without it, or ask your user with `ask-post` and end your turn.".to_owned()
        };
        self.log.event(EventKind::Permission { tool: request.tool_name.clone(), decision: "deny".into(), why: why.clone() });
        self.say(claude::permission_deny(&request.request_id, &why));
    }

    fn look_for_question(&mut self) {
        let Ok(document) = intake::read_pending(self.mailbox, &self.run.workflow_id) else { return };
        let Ok(round) = intake::round_of(self.mailbox, &document.typed) else { return };
        let id = round.question.to_string();
        if self.asked.as_ref() != Some(&id) {
            self.asked = Some(id.clone());
            self.log.event(EventKind::QuestionPosted { workflow_id: round.workflow.to_string(), question_id: id });
        }
    }

    fn look_for_stop(&mut self) {
        match stop::asked(&self.run.folder(self.mailbox)) {
            Ok(Some(stop)) => self.stop(stop.request(self.config.limits.grace.0)),
            Ok(None) => {}
            Err(e) => self.log.note(format!("a request to stop cannot be read: {e}")),
        }
    }

    /// The agent was told how many there may be, and should have ended by itself.
    fn round_trip(&mut self) {
        self.round_trips = self.round_trips.saturating_add(1);
        let Some(turns) = self.agent.turns else { return };
        if self.round_trips > turns && matches!(self.phase, Phase::Working) {
            self.limit = Some(Class::Turns);
            self.limit(format!("it went past limits.turns = {turns}"));
        }
    }

    fn interrupted(&self, how: &str) -> EventKind {
        self.agent.interpreter.lock().unwrap_or_else(PoisonError::into_inner).interrupted(how)
    }

    fn verdict(mut self, status: String) -> (Ending, Option<EventKind>) {
        let ending = match (self.ending.take(), self.stopped.take()) {
            (Some(delivered @ Ending::Delivered { .. }), _) if self.began => delivered,
            (Some(Ending::Delivered { .. }), None) => {
                Ending::Failed { why: "a result came, but of another session than the chosen one".into() }
            }
            (_, Some(why)) => match self.limit {
                Some(class) => Ending::Refused { class, why },
                None => Ending::Interrupted { why, class: self.class },
            },
            (Some(other), None) => other,
            (None, None) => {
                // What it complained of last is what it died of.
                let said = self.agent.complaints.recv_timeout(DRAIN).unwrap_or_default();
                let said = if said.is_empty() { String::new() } else { format!(": {said}") };
                Ending::Failed { why: format!("the agent ended without a result ({status}){said}") }
            }
        };
        let last = match &ending {
            Ending::Interrupted { why, .. } => Some(self.interrupted(why)),
            Ending::Refused { why, .. } if self.limit.is_some() => Some(self.interrupted(why)),
            _ => None,
        };
        let last = match (last, self.partial) {
            (Some(EventKind::Interrupted { how, text, tool_calls, tool_calls_omitted, files_touched, session_id, .. }), Some(partial)) => {
                let report = Some(text).filter(|t| !t.is_empty());
                Some(EventKind::Interrupted { how, text: partial, report, tool_calls, tool_calls_omitted, files_touched, session_id })
            }
            (last, _) => last,
        };
        (ending, last)
    }
}
