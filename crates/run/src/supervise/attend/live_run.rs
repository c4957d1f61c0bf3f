//! The live run, its log and its agent. Every step of the attending thread works with them.

use uuid::Uuid;

use crate::attempt::record::Run;
use crate::supervise::event_log::EventLog;
use crate::supervise::started_agent::RunningAgent;
use askbox_agent::claude;
use askbox_agent::events::EventKind;
use askbox_config::Config;
use askbox_mailbox::{Folder, Mailbox, Question, Result, RoundId, read_question, round};

/// A live run, its log and its agent.
pub(super) struct LiveRun<'a, 'b> {
    pub(super) mailbox: &'a Mailbox,
    pub(super) config: &'a Config,
    pub(super) run: &'a Run,
    pub(super) log: &'a mut EventLog<'b>,
    pub(super) agent: RunningAgent,
    /// True if a signal was sent to the agent, to end it.
    pub(super) was_signalled: bool,
    /// The rounds whose answers propose another call to an agent whose program cannot be given a changed one.
    pub(super) proposals: Vec<(RoundId, Question)>,
    /// The last question that was recorded as posted.
    pub(super) posted: Option<String>,
    /// True if the log says that the agent's shell does not find a program of askbox.
    pub(super) lack_noted: bool,
}

impl LiveRun<'_, '_> {
    /// The question of the round that this run works on.
    pub(super) fn own_question(&self) -> Result<Question> {
        let round = self.run.round();
        Ok(read_question::of_round(&self.mailbox.round(Folder::Running, &round), &round)?.typed)
    }

    /// Tells the agent something beside its reply to a request. The model reads it with the result of the call, and with an adapter once the
    /// turn is over.
    pub(super) fn tell(&mut self, request_id: &str, text: &str) {
        let uuid = Uuid::new_v5(&self.run.message_id, format!("beside {request_id}").as_bytes());
        self.agent.say(&claude::user_message(&uuid.to_string(), text));
    }

    /// Notes, once, that the agent's shell does not find this program of askbox.
    pub(super) fn say_that_the_shell_lacks(&mut self, program: &str) {
        if !std::mem::replace(&mut self.lack_noted, true) {
            self.log.note(format!("the agent's shell does not find `{program}`, so the agent cannot ask with it"));
        }
    }

    /// Records a question that the agent has posted.
    pub(super) fn look_for_question(&mut self) {
        self.agent.take_hand_made();
        let Ok(document) = read_question::pending(self.mailbox, &self.run.workflow_id) else { return };
        let Ok(round) = round::of_pending(self.mailbox, &document.typed) else { return };
        let id = round.question.to_string();
        if self.posted.as_ref() != Some(&id) {
            self.posted = Some(id.clone());
            self.log.event(EventKind::QuestionPosted { workflow_id: round.workflow.as_str().into(), question_id: id.into() });
        }
    }
}
