//! Tool calls that the agent program's own rules stop (`can_use_tool`). A person is asked about such a call, and it is held. If the person
//! allows it in time, it is made; if the time passes first, the run ends without a request to the model and is *asking*. Once the person has
//! answered, the session is told so and makes the call again: exactly that call is let through, once.
//!
//! The rules of an approval are those of `run/approval`: the mark of the round is made before the call is let through. What the agent
//! program's rules deny never comes here.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Map, Value};

use crate::agent::events::EventKind;
use crate::agent::stream::PermissionRequest;
use crate::agent::{claude, transcript};
use crate::error::{Error, Result};
use crate::id::RoundId;
use crate::mailbox::documents::fields::tool_call::ToolCall;
use crate::mailbox::{Folder, Question, read_question};
use crate::run::approval::ask::{self, Shown};
use crate::run::approval::call::Call;
use crate::run::approval::permit::{self, Permit};
use crate::run::approval::{grants, let_through};
use crate::run::attempt::suspended_call;
use crate::run::supervise::attend::attendance::Attendance;
use crate::run::supervise::attend::held_requests::{Request, Waiting};
use crate::text;
use crate::untrusted::Untrusted;

const NOT_PERMITTED: &str = "Not permitted in this unattended run. Go on without it, or ask your user with `ask-post` and end your turn.";

/// Added where a command of askbox was refused, which the rules may allow in another spelling.
const WHAT_A_RULE_COVERS: &str = " A rule that permits `ask-post` or `checkpoint` covers plain and quoted words only: \
    no variables, `$(…)`, `eval`, or JSON in a heredoc.";

const IN_SUBAGENT: &str = "Nobody has permitted this call, and a subagent cannot wait for a person. Go on without it, or end your turn and tell \
    the agent that started you which call is needed: that agent makes it itself, and is then asked about.";

/// How long the agent program may take to write the call into its transcript, from which its folder is read.
const CALL_PATIENCE: Duration = Duration::from_secs(10);

/// The input of a tool, whole.
type Input = Map<String, Value>;

impl Attendance<'_, '_> {
    /// The agent program asks whether a tool call may be made.
    pub(super) fn permission_asked(&mut self, asked: PermissionRequest) {
        if self.agent.leaves_too_much_unread() {
            if !std::mem::replace(&mut self.unread_noted, true) {
                self.log.note("the agent asks for permissions and does not read the replies; it gets no more of them while they pile up");
            }
            return;
        }
        match self.was_let_through(&asked) {
            Ok(true) => return self.allow_call(&asked),
            Ok(false) => {}
            Err(e) => return self.deny_call(&asked, &e.to_string()),
        }
        match self.may_be_allowed(&asked) {
            Ok(true) => self.put_in_line(Waiting::Call(Box::new(asked), Instant::now())),
            Ok(false) => self.refuse(&asked),
            Err(e) => self.deny_call(&asked, &e.to_string()),
        }
    }

    /// Whether `askbox hook` has let exactly this call through, about which a rule of the agent program asks as well. Where not every answer
    /// counts, the mark of the hook is not enough: an agent could write it. There [`Self::decide`] looks at the answer again.
    fn was_let_through(&self, asked: &PermissionRequest) -> Result<bool> {
        let counts = |_: &&Map<String, Value>| asked.complete && self.config.answers.policy().takes_everything();
        let Some(input) = asked.input.as_object().filter(counts) else { return Ok(false) };
        let_through::take(self.mailbox, self.run, asked.tool_use_id.raw(), asked.tool_name.raw(), input)
    }

    /// Whether a person could allow the call, or has. Otherwise it is refused at once.
    fn may_be_allowed(&self, asked: &PermissionRequest) -> Result<bool> {
        let Some(input) = asked.input.as_object().filter(|_| asked.complete) else { return Ok(false) };
        let is_refused = self.config.approvals.refuse.iter().any(|rule| rule.names(asked.tool_name.raw(), input));
        // A command of askbox needs another spelling, not a person.
        // A subagent cannot be interrupted alone, and its folder is not known here.
        if asked.requires_user_interaction || asked.in_subagent || is_refused || calls_askbox(asked) {
            return Ok(false);
        }
        let is_granted = || grants::of(self.mailbox, &self.run.workflow_id).map(|grants| !grants.is_empty());
        Ok(self.config.approvals.ask_stopped || self.own_question()?.asked.approval.is_some() || is_granted()?)
    }

    /// The question of the round that this run works on.
    pub(super) fn own_question(&self) -> Result<Question> {
        let round = self.run.round();
        Ok(read_question::of_round(&self.mailbox.round(Folder::Running, &round), &round)?.typed)
    }

    /// Lets the call through if a person has allowed it, else asks. Returns the request if its folder is not known yet.
    pub(super) fn ask_about_call(&mut self, asked: Box<PermissionRequest>, since: Instant, now: Instant) -> Option<Waiting> {
        let Some(input) = asked.input.as_object() else {
            self.refuse(&asked);
            return None;
        };
        let Some(cwd) = self.folder_of(&asked) else {
            if now < since + CALL_PATIENCE {
                return Some(Waiting::Call(asked, since));
            }
            self.log.note("a call that nobody had permitted is in no transcript, so nobody is asked about it");
            self.refuse(&asked);
            return None;
        };
        match self.decide(&asked, input, &cwd) {
            Ok(Decided::Allow) => self.allow_call(&asked),
            Ok(Decided::Refuse(words)) => self.decline_call(&asked, &words),
            Ok(Decided::Ask(shown)) if self.config.approvals.ask_stopped => match self.question_about(&asked, input, &cwd, shown) {
                Ok(question) => self.hold(Request::Call(asked, cwd), question, None, now + self.config.limits.hold.0),
                Err(e) => self.deny_call(&asked, &e.to_string()),
            },
            Ok(Decided::Ask(_)) => self.refuse(&asked),
            Err(e) => self.deny_call(&asked, &e.to_string()),
        }
        None
    }

    /// The folder in which the call is made, from the session's transcript.
    fn folder_of(&self, asked: &PermissionRequest) -> Option<PathBuf> {
        let dir = self.run.config_dir.clone().or_else(|| claude::config_dir(|name| std::env::var_os(name)))?;
        let file = std::fs::File::open(claude::transcript_exists(&dir, &self.run.session_id.to_string())?).ok()?;
        transcript::folder_of_call(file, asked.tool_use_id.raw()).filter(|folder| folder.is_absolute())
    }

    fn question_about(&self, asked: &PermissionRequest, input: &Input, cwd: &Path, shown: Shown) -> Result<Question> {
        let call = Call { tool: asked.tool_name.raw(), input, cwd };
        let mut question = ask::question(&self.run.workflow_id, &call, shown)?;
        question.asked.tool_call = Some(ToolCall { name: call.tool.to_owned(), id: asked.tool_use_id.raw().to_owned() });
        Ok(question)
    }

    fn decide(&mut self, asked: &PermissionRequest, input: &Input, cwd: &Path) -> Result<Decided> {
        let call = Call { tool: asked.tool_name.raw(), input, cwd };
        let (question, policy) = (self.own_question()?, self.config.answers.policy());
        let handed_over = suspended_call::is_handed_over_in(self.mailbox, self.run);
        if grants::covers(self.mailbox, &policy, &self.run.workflow_id, &call)? {
            return Ok(Decided::Allow);
        }
        if question.asked.approval.is_none() {
            return Ok(Decided::Ask(Shown::First));
        }
        // The hook has used the answer for this very call, and a rule of the agent program asks as well.
        if permit::allows(&policy, &question, &call)
            && let_through::take(self.mailbox, self.run, asked.tool_use_id.raw(), call.tool, input)?
        {
            return Ok(Decided::Allow);
        }
        Ok(match permit::permit(self.mailbox, &policy, &self.run.round(), &question, &call)? {
            Permit::Allowed => {
                suspended_call::note_handed_over(self.mailbox, self.run)?;
                Decided::Allow
            }
            Permit::Refused(words) => Decided::Refuse(words),
            // What was allowed once was made in this run; the agent wants it a second time.
            Permit::Ask(Shown::PerhapsMade) if handed_over => Decided::Ask(Shown::First),
            Permit::Ask(shown) => Decided::Ask(shown),
        })
    }

    /// Does what the person says while the agent waits. Returns the next question, and why, if this answer is not about the call.
    pub(super) fn answer_call(
        &mut self,
        asked: &PermissionRequest,
        cwd: &Path,
        round: &RoundId,
        question: &Question,
    ) -> Option<(Question, String)> {
        let input = asked.input.as_object()?;
        let call = Call { tool: asked.tool_name.raw(), input, cwd };
        match permit::permit(self.mailbox, &self.config.answers.policy(), round, question, &call) {
            Ok(Permit::Allowed) => self.allow_call(asked),
            Ok(Permit::Refused(words)) => self.decline_call(asked, &words),
            Ok(Permit::Ask(shown)) => match self.question_about(asked, input, cwd, shown) {
                Ok(question) => return Some((question, "the question does not show the call that waits".into())),
                Err(e) => self.deny_call(asked, &e.to_string()),
            },
            Err(e) => self.deny_call(asked, &e.to_string()),
        }
        None
    }

    /// The question ended without an answer.
    pub(super) fn nobody_allows(&mut self, asked: &PermissionRequest, end: &str) {
        self.decline_call(asked, &format!("Nobody allows this call: its question was {end}. Go on without it."));
    }

    /// The run cannot ask any more, or not now.
    pub(super) fn nobody_could_be_asked(&mut self, asked: &PermissionRequest, why: &str) {
        self.decline_call(asked, &format!("{NOT_PERMITTED} Nobody could be asked about it: {why}."));
    }

    /// The question could not be posted.
    pub(super) fn could_not_ask(&mut self, request: &Request, e: &Error) {
        match request {
            Request::Server(asked, _) => self.cancel_for_server(asked, &format!("its question could not be posted: {e}")),
            Request::Call(asked, _) if matches!(e, Error::Conflict { .. }) => {
                let pending = read_question::pending(self.mailbox, &self.run.workflow_id);
                let title = pending.map(|document| text::excerpt(&document.typed.title(), 80)).unwrap_or_default();
                let words = format!(
                    "Your user has not answered an earlier question yet: {title}. A person has to allow this call too: make it again once that answer is there."
                );
                self.decline_call(asked, &words);
            }
            Request::Call(asked, _) => self.deny_call(asked, &e.to_string()),
        }
    }

    fn allow_call(&mut self, asked: &PermissionRequest) {
        self.log_decision(asked, "allow", "a person has allowed exactly this call", None);
        self.agent.say(&claude::permission_allow(asked.request_id.raw()));
    }

    /// Refuses the call in a person's words, or because of a question: nothing that a rule of the configuration would change.
    fn decline_call(&mut self, asked: &PermissionRequest, words: &str) {
        self.log_decision(asked, "decline", words, None);
        self.agent.say(&claude::permission_deny(asked.request_id.raw(), words));
    }

    /// Refuses a call about which nobody could be asked, because something failed.
    fn deny_call(&mut self, asked: &PermissionRequest, why: &str) {
        self.deny(asked, &format!("{NOT_PERMITTED} Nobody could be asked about it: {why}."));
    }

    /// Refuses a call about which nobody is asked, and says what the agent can do instead.
    fn refuse(&mut self, asked: &PermissionRequest) {
        let why = if asked.requires_user_interaction {
            format!(
                "Your user is not at this session. Ask with `ask-post 'QUESTION' -w {} -o KEY=DESCRIPTION`, then end your turn: you will be relaunched with the answer.",
                self.run.workflow_id
            )
        } else if asked.in_subagent && self.config.approvals.ask_stopped && !calls_askbox(asked) {
            IN_SUBAGENT.to_owned()
        } else {
            [NOT_PERMITTED, if calls_askbox(asked) { WHAT_A_RULE_COVERS } else { "" }].concat()
        };
        self.deny(asked, &why);
    }

    fn deny(&mut self, asked: &PermissionRequest, why: &str) {
        let rule = claude::rule_for(asked.tool_name.raw(), &asked.input).filter(|_| !asked.requires_user_interaction);
        self.log_decision(asked, "deny", why, rule);
        self.agent.say(&claude::permission_deny(asked.request_id.raw(), why));
    }

    fn log_decision(&mut self, asked: &PermissionRequest, decision: &str, why: &str, rule: Option<String>) {
        let rule = rule.map(Untrusted::from);
        self.log.event(EventKind::Permission { tool: asked.tool_name.clone(), decision: decision.into(), why: why.into(), rule });
    }
}

/// What becomes of a call.
enum Decided {
    Allow,
    Refuse(String),
    Ask(Shown),
}

/// Whether a stopped shell command names a program that agents of askbox use.
fn calls_askbox(asked: &PermissionRequest) -> bool {
    let command = asked.input["command"].as_str().unwrap_or_default();
    ["ask-post", "checkpoint "].iter().any(|program| command.contains(program))
}
