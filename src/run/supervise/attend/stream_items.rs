//! What the supervisor does about each item of the agent's output.

use std::time::{Duration, Instant};

use serde_json::Value;
use uuid::Uuid;

use crate::agent::claude;
use crate::agent::events::EventKind;
use crate::agent::stream::{ReceiptState, StreamItem, TurnOutcome, Verdict};
use crate::mailbox::{read_question, round, workflows};
use crate::run::attempt::ending::Ending;
use crate::run::attempt::failure::Class;
use crate::run::attempt::suspended_call;
use crate::run::process::session_start::SessionStart;
use crate::run::prompt::templates;
use crate::run::supervise::attend::attendance::{Attendance, Phase};
use crate::run::supervise::ladder::{Ladder, Request, Rung};
use crate::run::supervise::role_check;
use crate::run::supervise::stop::hooks;
use crate::untrusted::Untrusted;

impl Attendance<'_, '_> {
    pub(super) fn take(&mut self, item: StreamItem) {
        match item {
            StreamItem::Event(kind) => self.event(kind),
            StreamItem::Began { session_id, permission_mode, version, first, .. } => {
                if first && self.run.attempt == 1 {
                    self.say_what_is_missing(&version);
                }
                self.session_began(&session_id, permission_mode, first);
            }
            StreamItem::Generating(what) => self.log.generating(what),
            StreamItem::RoundTrip => self.model_answered(),
            StreamItem::Receipt { uuid, state } if uuid == self.run.plan.message_id.to_string() => self.receipt(state),
            StreamItem::Permission(request) => self.permission_asked(request),
            StreamItem::TurnEnded(turn) => self.turn_ended(&turn),
            StreamItem::ControlReply { request_id, response, .. } if request_id == role_check::QUESTION => self.role_answered(&response),
            StreamItem::Elicitation(elicitation) => self.elicited(elicitation),
            StreamItem::RequestCancelled { request_id } => self.request_cancelled(&request_id),
            StreamItem::Receipt { .. } | StreamItem::ControlReply { .. } => {}
        }
    }

    fn event(&mut self, kind: EventKind) {
        match &kind {
            EventKind::Text { .. } => self.record_session(),
            EventKind::ToolCall { id, .. } => {
                self.tools.begin(id);
                self.record_session();
            }
            EventKind::ToolResult { id, text, .. } => {
                self.tools.end(id);
                self.tool_refused |= self.stop_ending.is_some() && text.raw().contains(hooks::REFUSAL);
            }
            EventKind::Result { .. } => self.tools.end_all(),
            EventKind::Throttled { delay_ms, .. } => self.asked_to_wait = Some(Duration::from_millis(*delay_ms)),
            _ => {}
        }
        let may_have_asked = matches!(kind, EventKind::ToolResult { .. } | EventKind::Result { .. });
        self.log.event(kind);
        if may_have_asked {
            self.look_for_question();
        }
    }

    fn session_began(&mut self, session_id: &Untrusted, permission_mode: Untrusted, first: bool) {
        if *session_id != self.run.plan.session_id.to_string() {
            self.log.note(format!("the agent reports session {}, not the chosen one", session_id.excerpt(80)));
            return;
        }
        self.began = true;
        // An interrupt that was sent before the turn had no effect: send it again.
        if matches!(&self.phase, Phase::Stopping(ladder) if ladder.rung() == Rung::Interrupt) {
            self.agent.say(&claude::interrupt("askbox-stop-begun"));
        }
        if first {
            self.unrecorded_session = Some(permission_mode);
        }
    }

    /// Notes what this version of the agent program lacks.
    fn say_what_is_missing(&mut self, version: &Untrusted) {
        let Some(version) = claude::Version::parse(version.raw()) else { return };
        version.lacks().for_each(|lack| self.log.note(format!("with claude {version}, {lack}")));
    }

    /// Notes the session in the workflow's record once it has produced something: later rounds resume it. A session that produced
    /// nothing is not noted, so the workflow keeps the session that it was forked from.
    fn record_session(&mut self) {
        let Some(permission_mode) = self.unrecorded_session.take() else { return };
        let update = || {
            let lock = self.mailbox.lock(&self.run.workflow_id)?;
            workflows::update(self.mailbox, &lock, |w| {
                w.session_id = Some(self.run.plan.session_id);
                w.permission_mode = Some(permission_mode.raw().to_owned());
                w.agent = Some(self.run.plan.runner.clone());
            })
        };
        if let Err(e) = update() {
            self.log.note(format!("the workflow's record could not be written: {e}"));
        }
    }

    /// Sends the message with the answer if the agent knows its role. An agent that does not know it would act without its rules.
    fn role_answered(&mut self, response: &Value) {
        let Some(message) = self.held_message.take() else { return };
        match self.run.plan.role.as_deref().and_then(|role| role_check::unknown(role, response)) {
            _ if self.stop_ending.is_some() => self.let_it_exit(),
            None => self.agent.say(&message),
            Some(why) => {
                self.turn_ending = Some(Ending::Refused { class: Class::Role, why });
                self.let_it_exit();
            }
        }
    }

    /// `Completed` without `Queued` or `Started` before it means that the session got this message in an earlier attempt and
    /// dropped the repetition. The model must be told to continue.
    fn receipt(&mut self, state: ReceiptState) {
        match state {
            ReceiptState::Queued | ReceiptState::Started => self.message_seen = true,
            ReceiptState::Completed if !self.message_seen && self.agent.start == SessionStart::Continue => {
                self.message_seen = true;
                self.log.note("the session had the answer already; asking it to continue");
                self.agent.say(&claude::user_message(&self.run.continue_id().to_string(), templates::CONTINUE));
            }
            ReceiptState::Completed | ReceiptState::Cancelled => {}
        }
    }

    /// Counts the model's answers. The agent program was told the limit and should have stopped by itself.
    fn model_answered(&mut self) {
        self.answers = self.answers.saturating_add(1);
        if let Some(max) = self.max_answers.filter(|max| self.answers > *max && self.is_working()) {
            self.stop_at_limit(Ending::Refused { class: Class::Turns, why: format!("it went past limits.turns = {max}") });
        }
    }

    /// Records a question that the agent has posted.
    pub(super) fn look_for_question(&mut self) {
        let Ok(document) = read_question::pending(self.mailbox, &self.run.workflow_id) else { return };
        let Ok(round) = round::of_pending(self.mailbox, &document.typed) else { return };
        let id = round.question.to_string();
        if self.posted.as_ref() != Some(&id) {
            self.posted = Some(id.clone());
            self.log.event(EventKind::QuestionPosted { workflow_id: round.workflow.as_str().into(), question_id: id.into() });
        }
    }

    fn turn_ended(&mut self, turn: &TurnOutcome) {
        // A turn that the supervisor stopped has no result, whatever the agent program calls it.
        let cut = self.tool_refused || matches!(turn.verdict, Verdict::HookStopped | Verdict::Interrupted { .. });
        let stopped_by_us = self.stop_ending.is_some() && (cut || matches!(self.phase, Phase::Reporting(_)));
        if !stopped_by_us {
            let ending = self.asked_with_a_tool(turn).unwrap_or_else(|| Ending::of_turn(turn).after(self.asked_to_wait));
            if ending.is_delivered() {
                self.record_session();
            }
            // A session whose call was waiting has a turn for that call and another one for the message: the last one is the result.
            if ending.is_delivered() || !self.turn_ending.as_ref().is_some_and(Ending::is_delivered) {
                self.turn_ending = Some(ending);
            }
        }
        match &self.phase {
            Phase::Stopping(ladder) if cut && ladder.request.report && ladder.rung() <= Rung::Interrupt => {
                let request = Request { now: false, ..ladder.request.clone() };
                self.ask_for_report(request);
            }
            _ => self.let_it_exit(),
        }
    }

    /// The ending of a turn that waits for a question which our hook has posted, or which was ended for one.
    fn asked_with_a_tool(&mut self, turn: &TurnOutcome) -> Option<Ending> {
        if let (Verdict::Interrupted { .. }, Some(question)) = (&turn.verdict, self.requests.ends_for) {
            return Some(Ending::Asking { question, cost_usd: turn.cost_usd });
        }
        let Verdict::Deferred { tool_use_id, .. } = &turn.verdict else { return None };
        // A session that is continued and asks at once says nowhere else that it began (measured on Claude Code 2.1.330).
        self.began |= turn.session_id == self.run.plan.session_id.to_string();
        let question = suspended_call::question_of(self.mailbox, &self.run.workflow_id, tool_use_id.raw())?;
        Some(Ending::Asking { question, cost_usd: turn.cost_usd })
    }

    /// Sends one more message to an agent that was stopped. Its report may take the grace; a tool call in it is refused.
    fn ask_for_report(&mut self, request: Request) {
        self.log.note("stopped; asking for a report");
        if let EventKind::Interrupted { text, .. } = self.agent.interrupted("") {
            self.text_before_report = Some(text);
        }
        let uuid = Uuid::new_v5(&self.run.plan.message_id, format!("report {}", self.run.attempt).as_bytes());
        self.agent.say(&claude::user_message(&uuid.to_string(), templates::REPORT));
        self.phase = Phase::Reporting(Ladder::report(request, Instant::now()));
    }
}
