//! The end of a plain program: its exit status is the verdict on its work.

use crate::attempt::ending::Ending;
use crate::attempt::program_exit;
use crate::supervise::attend::attendance::Attendance;
use crate::supervise::attend::conclusion::COMPLAINT_PATIENCE;
use askbox_agent::program::{AWAITS_PERSON, COMPLETED, Exit, NOT_DONE};

impl Attendance<'_, '_> {
    /// Notes the ending that the exit of a program means. Does nothing for an agent, whose stream has the verdict.
    pub(super) fn program_ended(&mut self, exit: &Exit) {
        let Some((text, cost_usd)) = self.live.agent.of_program(|output| (output.result(), output.cost_usd())) else { return };
        let ending = program_exit::ending(exit, text, cost_usd, || self.live.agent.last_complaint(COMPLAINT_PATIENCE));
        self.live.look_for_question();
        let ended = match &ending {
            Ending::Delivered { .. } => COMPLETED,
            Ending::Awaits { .. } => AWAITS_PERSON,
            _ => NOT_DONE,
        };
        self.record_result(ended);
        self.outcome.note_turn(ending);
    }

    /// Books the dollars of a program that was stopped. Its status is not a verdict, so the event is not a receipt.
    pub(super) fn program_stopped(&mut self) {
        if self.live.agent.of_program(|output| output.cost_usd()).flatten().is_some() {
            self.record_result(NOT_DONE);
        }
    }

    fn record_result(&mut self, ended: &str) {
        let took = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let event = self.live.agent.of_program(|output| output.result_event(ended, took));
        event.into_iter().for_each(|event| self.live.log.event(event));
    }
}
