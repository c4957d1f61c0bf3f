//! An agent whose result came on a line that cannot be read, or did not come at all. Its transcript shows whether it has ended its turn.

use std::fs::File;

use crate::attempt::ending::Ending;
use crate::attempt::record::Run;
use crate::supervise::attend::attendance::Attendance;
use crate::supervise::attend::stopped_calls;
use askbox_agent::program::Exit;
use askbox_agent::transcript;
use askbox_config::RunnerKind;

impl Attendance<'_, '_> {
    /// Lets an agent exit that has ended its turn, and whose result must be on a line that could not be read. It waits for another message,
    /// which will not come.
    pub(super) fn end_wait_for_unread_result(&mut self) {
        if self.unread_line.is_some() && self.last_words().is_some() {
            self.live.log.note("the agent's transcript shows that its turn has ended, but its result could not be read: it may exit");
            self.stopping.let_it_exit(&mut self.live);
        }
    }

    /// Takes the agent's last words from its transcript as its result, if it has ended its turn, and no turn came to its end here.
    pub(super) fn conclude_from_transcript(&mut self, exit: &Exit) {
        if (exit.status == Some(0) || self.live.was_signalled)
            && let Some(text) = self.last_words()
        {
            self.live.log.note("no result of the agent could be read: its last words in its transcript count as the result");
            self.session.had_a_turn(&self.live, &self.live.run.session_id.to_string().into());
            self.outcome.note_turn(Ending::Delivered { text: text.into(), cost_usd: None });
        }
    }

    fn last_words(&self) -> Option<String> {
        if self.live.agent.kind != RunnerKind::Claude || !self.outcome.is_open() {
            return None;
        }
        let run = self.live.run;
        let told = (1..=run.attempt).map(|attempt| Run { attempt, ..run.clone() }.continue_id().to_string());
        let messages: Vec<String> = told.chain([run.message_id.to_string()]).collect();
        transcript::last_words(File::open(stopped_calls::transcript_of(&self.live)?).ok()?, &messages)
    }
}
