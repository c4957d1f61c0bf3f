//! The live run, its log and its agent. Every step of the attending thread works with them.

use serde_json::Value;
use uuid::Uuid;

use crate::attempt::record::Run;
use crate::supervise::event_log::EventLog;
use crate::supervise::started_agent::RunningAgent;
use askbox_agent::acp::{Choice, Client};
use askbox_agent::claude;
use askbox_agent::events::EventKind;
use askbox_agent::stream::FormReply;
use askbox_config::{Config, RunnerKind};
use askbox_mailbox::{Folder, Mailbox, Question, Result, read_question, round};

/// The most texts that are kept for the end of a turn.
const MOST_UNTOLD: usize = 32;

/// A live run, its log and its agent.
pub(super) struct LiveRun<'a, 'b> {
    pub(super) mailbox: &'a Mailbox,
    pub(super) config: &'a Config,
    pub(super) run: &'a Run,
    pub(super) log: &'a mut EventLog<'b>,
    pub(super) agent: RunningAgent,
    /// True if a signal was sent to the agent, to end it.
    pub(super) was_signalled: bool,
    /// The last question that was recorded as posted.
    posted: Option<String>,
    /// True if the log says that the agent's shell does not find a program of askbox.
    lack_noted: bool,
    /// Texts that the agent is told once its turn is over.
    untold: Vec<String>,
}

impl<'a, 'b> LiveRun<'a, 'b> {
    pub(super) fn new(mailbox: &'a Mailbox, config: &'a Config, run: &'a Run, log: &'a mut EventLog<'b>, agent: RunningAgent) -> Self {
        Self { mailbox, config, run, log, agent, was_signalled: false, posted: None, lack_noted: false, untold: Vec::new() }
    }

    /// The question of the round that this run works on.
    pub(super) fn own_question(&self) -> Result<Question> {
        let round = self.run.round();
        Ok(read_question::of_round(&self.mailbox.round(Folder::Running, &round), &round)?.typed)
    }

    /// Tells the agent something beside its reply to a request. The model reads it with the result of the call. An agent that speaks ACP
    /// takes one message at a time: it is told once its turn is over.
    pub(super) fn tell(&mut self, request_id: &str, text: &str) {
        if self.agent.kind == RunnerKind::Acp {
            return self.tell_later(text);
        }
        let uuid = Uuid::new_v5(&self.run.message_id, format!("beside {request_id}").as_bytes());
        self.agent.say(&claude::user_message(&uuid.to_string(), text));
    }

    /// Keeps a text for the agent until its turn is over.
    pub(super) fn tell_later(&mut self, text: &str) {
        if self.untold.len() < MOST_UNTOLD {
            self.untold.push(text.to_owned());
        }
    }

    /// The texts that the agent is to be told now that its turn is over.
    pub(super) fn take_untold(&mut self) -> Vec<String> {
        std::mem::take(&mut self.untold)
    }

    /// Permits a tool call.
    pub(super) fn permit(&mut self, request_id: &str) {
        if !self.decide_over_acp(request_id, Choice::Allow, "") {
            self.agent.say(&claude::permission_allow(request_id));
        }
    }

    /// Permits a tool call of `claude` with the input that a person has made of it.
    pub(super) fn permit_with(&mut self, request_id: &str, input: &Value) {
        self.agent.say(&claude::permission_allow_with(request_id, input));
    }

    /// Refuses a tool call. The model reads the words.
    pub(super) fn refuse(&mut self, request_id: &str, words: &str) {
        if !self.decide_over_acp(request_id, Choice::Refuse, words) {
            self.agent.say(&claude::permission_deny(request_id, words));
        }
    }

    /// Answers a form. `false` if the agent's program has no way to say this. It is then told that nobody decided.
    pub(super) fn reply_to_form(&mut self, request_id: &str, reply: &FormReply) -> bool {
        let (line, is_said) = match self.agent.of_acp(|client| client.reply_to_form(request_id, reply)) {
            Some(Some(made)) => made,
            // The agent no longer waits.
            Some(None) => return true,
            None => (claude::elicitation_reply(request_id, reply), true),
        };
        self.agent.say(&line);
        is_said
    }

    /// Ends the turn without a request to the model. `name` names the request to `claude`.
    pub(super) fn end_turn(&mut self, name: &str) {
        let line = self.agent.of_acp(Client::cancel).unwrap_or_else(|| claude::interrupt(name));
        self.agent.say(&line);
    }

    /// Refuses a tool call and ends the turn without a request to the model. `words` are not for the model.
    pub(super) fn refuse_and_end(&mut self, request_id: &str, words: &str) {
        let line = self.agent.of_acp(Client::cancel).unwrap_or_else(|| claude::permission_deny_and_end(request_id, words));
        self.agent.say(&line);
    }

    /// Answers the request of an agent that speaks ACP. Its reply has no room for words, so the model reads them after the turn. Returns
    /// false for any other agent.
    fn decide_over_acp(&mut self, request_id: &str, choice: Choice, words: &str) -> bool {
        let Some(decided) = self.agent.of_acp(|client| client.decide(request_id, choice)) else { return false };
        let Some((line, made)) = decided else { return true };
        self.agent.say(&line);
        if choice == Choice::Allow && made != Choice::Allow {
            self.log.note("the agent offers no way to allow the call once, so its request was cancelled");
            self.tell_later("A call was allowed, but your program offered no way to allow it once. It was not made.");
        }
        if !words.is_empty() {
            self.tell_later(words);
        }
        true
    }

    /// True if the workflow has an open question that its agent asked. A question about a tool call is not one: the supervisor asks it.
    pub(super) fn has_asked(&self) -> bool {
        let is_asked = |question: &Question| question.approval.is_none() && question.elicited_by.is_none();
        let answered = self.mailbox.document(Folder::Answered, &self.run.workflow_id);
        let open = [read_question::pending(self.mailbox, &self.run.workflow_id), read_question::document(&answered)];
        open.into_iter().any(|document| document.is_ok_and(|document| is_asked(&document.typed)))
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
