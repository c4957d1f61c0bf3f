//! The live run, its log and its agent. Every step of the attending thread works with them.

use serde_json::Value;
use uuid::Uuid;

use crate::attempt::record::Run;
use crate::supervise::event_log::EventLog;
use crate::supervise::started_agent::RunningAgent;
use askbox_agent::claude;
use askbox_agent::events::EventKind;
use askbox_agent::stream::FormReply;
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
    posted: Option<String>,
    /// True if the log says that the agent's shell does not find a program of askbox.
    lack_noted: bool,
}

impl<'a, 'b> LiveRun<'a, 'b> {
    pub(super) fn new(mailbox: &'a Mailbox, config: &'a Config, run: &'a Run, log: &'a mut EventLog<'b>, agent: RunningAgent) -> Self {
        Self { mailbox, config, run, log, agent, was_signalled: false, proposals: Vec::new(), posted: None, lack_noted: false }
    }

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

    /// Permits a tool call.
    pub(super) fn permit(&mut self, request_id: &str) {
        self.agent.say(&claude::permission_allow(request_id));
    }

    /// Permits a tool call of `claude` with the input that a person has made of it.
    pub(super) fn permit_with(&mut self, request_id: &str, input: &Value) {
        self.agent.say(&claude::permission_allow_with(request_id, input));
    }

    /// Refuses a tool call. The model reads the words.
    pub(super) fn refuse(&mut self, request_id: &str, words: &str) {
        self.agent.say(&claude::permission_deny(request_id, words));
    }

    /// Answers a form.
    pub(super) fn reply_to_form(&mut self, request_id: &str, reply: &FormReply) {
        self.agent.say(&claude::elicitation_reply(request_id, reply));
    }

    /// Ends the turn without a request to the model. `name` names the request.
    pub(super) fn end_turn(&mut self, name: &str) {
        self.agent.say(&claude::interrupt(name));
    }

    /// Refuses a tool call and ends the turn without a request to the model. `words` are not for the model.
    pub(super) fn refuse_and_end(&mut self, request_id: &str, words: &str) {
        self.agent.say(&claude::permission_deny_and_end(request_id, words));
    }

    /// Notes, once, that the agent's shell does not find this program of askbox.
    pub(super) fn say_that_the_shell_lacks(&mut self, program: &str) {
        if !std::mem::replace(&mut self.lack_noted, true) {
            self.log.note(format!("the agent's shell does not find `{program}`, so the agent cannot ask with it"));
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
}
