//! The supervisor's reaction to each item of the agent's output.

use std::str::FromStr;
use std::time::Duration;

use serde_json::Value;

use crate::attempt::ending::Ending;
use crate::attempt::failure::{Class, PlanLimit};
use crate::attempt::suspended_call;
use crate::process::own_programs;
use crate::supervise::attend::attendance::Attendance;
use crate::supervise::{hooks, start_agent};
use askbox_agent::claude;
use askbox_agent::events::EventKind;
use askbox_agent::stream::{StreamItem, TurnOutcome, Verdict};

impl Attendance<'_, '_> {
    pub(super) fn take(&mut self, item: StreamItem) {
        match item {
            StreamItem::Event(kind) => self.event(kind),
            StreamItem::Began { session_id, permission_mode, version, first, .. } => {
                if let (true, 1, Some(version)) = (first, self.live.run.attempt, claude::Version::parse(version.raw())) {
                    version.lacks().for_each(|lack| self.live.log.note(format!("with claude {version}, {lack}")));
                }
                if self.session.begin(&mut self.live, &session_id, permission_mode, first) {
                    self.stopping.interrupt_again(&mut self.live);
                }
            }
            StreamItem::Generating(what) => self.live.log.generating(what),
            StreamItem::RoundTrip => self.model_answered(),
            StreamItem::Receipt { uuid, state } if uuid == self.live.run.message_id.to_string() => {
                self.session.receipt(&mut self.live, state);
            }
            StreamItem::Permission(request) => self.requests.permission_asked(&mut self.live, &self.stopping, request),
            StreamItem::TurnEnded(turn) => self.turn_ended(&turn),
            StreamItem::ControlReply { request_id, response, .. } if request_id == start_agent::ROLE_QUESTION => {
                self.role_answered(&response)
            }
            StreamItem::Elicitation(elicitation) => self.requests.elicited(&mut self.live, &self.stopping, elicitation),
            StreamItem::CannotBegin { class, why } => self.cannot_begin(&class, why),
            StreamItem::PlanLimit { resets_at, limit } => {
                self.outcome.plan_limit = PlanLimit::new(resets_at, &limit).or(self.outcome.plan_limit.take());
            }
            StreamItem::UnknownRequest { request_id } => self.live.agent.say(&claude::unknown_request(request_id.raw())),
            StreamItem::RequestCancelled { request_id } => self.requests.cancelled(&mut self.live, &request_id),
            StreamItem::Receipt { .. } | StreamItem::ControlReply { .. } | StreamItem::Asked(_) | StreamItem::Wrote(_) => {}
        }
    }

    fn event(&mut self, kind: EventKind) {
        let mut lacks = None;
        match &kind {
            EventKind::Text { .. } => self.session.record(&mut self.live),
            EventKind::ToolCall { id, .. } => {
                self.tools.begin(id);
                self.session.record(&mut self.live);
            }
            EventKind::ToolResult { id, text, .. } => {
                self.tools.end(id);
                lacks = own_programs::not_found_in(text.raw());
                if self.stopping.has_begun() && text.raw().contains(hooks::REFUSAL) {
                    self.outcome.tool_refused = true;
                }
            }
            EventKind::Result { .. } => self.tools.end_all(),
            EventKind::Raw { what, head, .. } if ["not_json", "torn", "over_limit"].iter().any(|unread| what == unread) => {
                self.unread_line = Some(head.clone());
            }
            EventKind::Throttled { delay_ms, .. } => self.outcome.asked_to_wait = Some(Duration::from_millis(*delay_ms)),
            _ => {}
        }
        let may_have_asked = matches!(kind, EventKind::ToolResult { .. } | EventKind::Result { .. });
        self.live.log.event(kind);
        lacks.into_iter().for_each(|program| self.live.say_that_the_shell_lacks(program));
        if may_have_asked {
            self.live.look_for_question();
        }
    }

    /// Sends the message with the answer if the agent knows its role. Otherwise the agent would act without the role's rules.
    fn role_answered(&mut self, response: &Value) {
        let Some(message) = self.session.held_message.take() else { return };
        match self.live.run.role.as_deref().and_then(|role| start_agent::unknown_role(role, response)) {
            _ if self.stopping.has_begun() => self.stopping.let_it_exit(&mut self.live),
            None => self.live.agent.say(&message),
            Some(why) => {
                self.outcome.turn_ending = Some(Ending::Refused { class: Class::Role, why });
                self.stopping.let_it_exit(&mut self.live);
            }
        }
    }

    /// Ends the attempt before the agent has its message.
    fn cannot_begin(&mut self, class: &str, why: String) {
        let ending = match Class::from_str(class) {
            Ok(Class::Held) => Ending::Held { why },
            Ok(Class::Shortage) => Ending::Short { why },
            Ok(class) => Ending::Refused { class, why },
            Err(_) => Ending::Failed { why },
        };
        self.outcome.turn_ending = Some(ending);
        self.stopping.let_it_exit(&mut self.live);
    }

    /// Counts the model's answers. The agent program was told the limit and should have stopped by itself.
    fn model_answered(&mut self) {
        if let Some(most) = self.answers.count().filter(|_| self.stopping.is_working()) {
            let ending = Ending::Refused { class: Class::Turns, why: format!("it went past limits.turns = {most}") };
            self.stopping.stop_at_limit(&mut self.live, self.tools.doing(), ending);
        }
    }

    fn turn_ended(&mut self, turn: &TurnOutcome) {
        // The line that says that the session begins may have been lost.
        self.session.had_a_turn(&self.live, &turn.session_id);
        // A stop ended the turn. Such a turn has no result, whatever the agent program calls it.
        let cut = self.outcome.tool_refused || matches!(turn.verdict, Verdict::HookStopped | Verdict::Interrupted { .. });
        if cut && !self.stopping.has_begun() {
            // The hooks read a request to stop before the message about it has come here, if the disk is slow.
            self.stopping.check_stop_request(&mut self.live, self.tools.doing());
        }
        let stopped_by_us = self.stopping.has_begun() && (cut || self.stopping.is_reporting());
        if !stopped_by_us {
            let ending = self
                .asked_with_a_tool(turn)
                .unwrap_or_else(|| Ending::of_turn(turn).after(self.outcome.asked_to_wait).at_limit(self.outcome.plan_limit.as_ref()));
            if ending.is_delivered() {
                self.session.record(&mut self.live);
            }
            self.outcome.note_turn(ending);
        }
        let before_report = self.stopping.turn_ended(&mut self.live, cut);
        self.outcome.text_before_report = before_report.or(self.outcome.text_before_report.take());
    }

    /// Returns the ending of a turn that ended because the agent asked: either our hook posted the question, or the supervisor ended
    /// the turn so that the question could be posted.
    fn asked_with_a_tool(&mut self, turn: &TurnOutcome) -> Option<Ending> {
        if let (Verdict::Interrupted { .. }, Some(question)) = (&turn.verdict, self.requests.ends_for()) {
            return Some(Ending::Asking { question, cost_usd: turn.cost_usd });
        }
        let Verdict::Deferred { tool_use_id, .. } = &turn.verdict else { return None };
        let question = suspended_call::question_of(self.live.mailbox, self.live.run, tool_use_id.raw())?;
        Some(Ending::Asking { question, cost_usd: turn.cost_usd })
    }
}
