//! A request of the daemon as one that a person can answer: a command, a change of files, or questions of the agent.
//!
//! The reply to the daemon, and the signs that the session took it.

use serde_json::{Map, Value, json};

use crate::codex::request::{Asked, Asks, Request, patch};
use crate::codex::threads::Known;
use crate::request::ask_user_question;
use askbox_mailbox::documents::fields::tool_call::REQUEST_USER_INPUT;
use askbox_mailbox::programs::CODEX;
use askbox_mailbox::{Error, Result};
use askbox_run::asking::posted;
use askbox_run::asking::receipt::End;
use askbox_run::asking::request::{self as asking, More};
use askbox_run::{Reply, Subject};

/// The names of Codex's own tools.
const EXEC_COMMAND: &str = "exec_command";
const APPLY_PATCH: &str = "apply_patch";

/// The request in this session, whole. Its workflow is the same after each new connection.
///
/// # Errors
/// [`Error::Failed`] if the daemon has not said what the call does, or if the session's id is not one that a question can name.
pub(super) fn request(request: &Request, thread: &Known) -> Result<asking::Request> {
    let no_session = |_| Error::failed("codex's session has an id that is not a UUID", "answer it at its terminal");
    let (tool, input, cwd) = match &request.asks {
        Asks::Command { cwd, input } => (EXEC_COMMAND, input.clone(), cwd.as_deref()),
        Asks::Patch { input } => {
            let not_told = || Error::failed("codex has not told which files a call changes", "answer it at its terminal");
            let mut input = input.clone();
            input.insert("patch".into(), patch(thread.changes(&request.item).ok_or_else(not_told)?).into());
            (APPLY_PATCH, input, None)
        }
        Asks::Input(asked) => (REQUEST_USER_INPUT, as_ask_user_question(asked), None),
    };
    let call = request.call_id();
    Ok(asking::Request {
        workflow: posted::workflow(&thread.cwd, &request.thread.parse().map_err(no_session)?, &call)?,
        session: thread.session(&request.thread).parse().map_err(no_session)?,
        folder: thread.cwd.clone(),
        subject: if matches!(request.asks, Asks::Input(_)) { Subject::Questions } else { Subject::Call },
        tool: tool.into(),
        input,
        cwd: cwd.unwrap_or(&thread.cwd).to_path_buf(),
        call,
        subagent: thread.subagent(&request.thread),
        more: More { title: thread.title(), ..More::default() },
    })
}

/// The questions in the form of Claude Code's tool AskUserQuestion, which the mailbox reads.
fn as_ask_user_question(asked: &[Asked]) -> Map<String, Value> {
    let question = |asked: &Asked| ask_user_question(&asked.question, &asked.header, false, asked.options.as_deref().unwrap_or_default());
    Map::from_iter([("questions".to_owned(), asked.iter().map(question).collect())])
}

/// A message to the daemon that follows from an answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Message {
    /// The result of the request. `None` if the session's turn is ended instead.
    pub(super) result: Option<Value>,
    /// What the model is told behind it: a refusal has no place for words.
    pub(super) words: Option<String>,
    /// The effect in the session if it takes the message.
    pub(super) wanted: Wanted,
}

/// The effect in the session if it takes the reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// The call is made.
    Made,
    /// The call is refused, and the turn goes on.
    Refused,
    /// The turn ends.
    Stopped,
    /// The agent reads the answer.
    Told,
}

impl Message {
    /// The message with this reply.
    pub(super) fn of(request: &Request, reply: Reply) -> Self {
        match (reply, &request.asks) {
            (Reply::Stop { .. }, Asks::Input(_)) => Self { result: None, words: None, wanted: Wanted::Stopped },
            // It has no other place for the words.
            (Reply::Refuse { words, .. }, Asks::Input(asked)) => Self::answers(asked, vec![vec![words]; asked.len()]),
            (Reply::Answers(answers), Asks::Input(asked)) => Self::answers(asked, answers.lists()),
            (Reply::Stop { .. } | Reply::Answers(_) | Reply::Form(_), _) => Self::decision("cancel", None, Wanted::Stopped),
            (Reply::Refuse { words, has_reason }, _) => Self::decision("decline", has_reason.then_some(words), Wanted::Refused),
            (Reply::Allow { .. }, _) => Self::decision("accept", None, Wanted::Made),
        }
    }

    fn decision(decision: &str, words: Option<String>, wanted: Wanted) -> Self {
        Self { result: Some(json!({ "decision": decision })), words, wanted }
    }

    fn answers(asked: &[Asked], answers: Vec<Vec<String>>) -> Self {
        let each = asked.iter().zip(answers).map(|(asked, answers)| (asked.id.clone(), json!({ "answers": answers })));
        Self { result: Some(json!({ "answers": each.collect::<Map<_, _>>() })), words: None, wanted: Wanted::Told }
    }
}

/// A sign of the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    /// The request has ended, whoever replied.
    Resolved,
    /// The call was made, or failed.
    Made,
    /// The call was refused.
    Refused,
    /// The turn has ended.
    TurnEnded { interrupted: bool },
}

/// Looks for the signs that the session took a reply. The daemon says that a request has ended, but not who replied first.
pub(super) struct Receipt {
    wanted: Wanted,
    is_resolved: bool,
}

impl Receipt {
    /// For a reply that is sent now.
    pub(super) fn begin(wanted: Wanted) -> Self {
        Self { wanted, is_resolved: false }
    }

    /// Takes a sign. Returns the end, as far as it tells it.
    pub(super) fn take(&mut self, sign: Sign) -> End {
        match (self.wanted, sign) {
            (Wanted::Told, Sign::Resolved) | (Wanted::Made, Sign::Made) | (Wanted::Refused, Sign::Refused) => End::Confirmed,
            (Wanted::Stopped, Sign::TurnEnded { interrupted: true }) => End::Confirmed,
            // The turn went on without the call.
            (Wanted::Refused, Sign::TurnEnded { interrupted: false }) if self.is_resolved => End::Confirmed,
            (_, Sign::Resolved) => {
                self.is_resolved = true;
                End::NotKnownYet
            }
            // The turn's end follows.
            (Wanted::Stopped, Sign::Refused) => End::NotKnownYet,
            (_, Sign::Made) => End::too_late(&format!("{}: the call was made", CODEX.answered)),
            (_, Sign::Refused) => End::too_late(&format!("{}: the call was refused", CODEX.answered)),
            (_, Sign::TurnEnded { .. }) => End::too_late(&format!("{}: the turn has ended", CODEX.answered)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codex::threads::Threads;
    use crate::codex::wire::{ChangeKind, FileChange, Item, Status, Thread};
    use askbox_mailbox::QuestionDocument;
    use askbox_mailbox::documents::checks::check_question::check;
    use askbox_mailbox::programs::CODEX;

    const ID: &str = "01a21ac8-b92a-7de2-b387-e540b49d4ef1";
    const PARENT: &str = "15c96f27-091a-5dc1-bcce-0d2e49721bc0";

    fn threads(parent: Option<&str>) -> Threads {
        let mut threads = Threads::default();
        let thread = Thread {
            name: None,
            preview: Some("Fix the login\nplease".into()),
            updated_at: None,
            ephemeral: false,
            id: ID.into(),
            cwd: "/work/My Shop".into(),
            status: Status::Resting,
            parent_thread_id: parent.map(str::to_owned),
            agent_nickname: Some("Ada".into()),
            agent_role: None,
            turns: Vec::new(),
        };
        let change = FileChange { path: "/opt/x".into(), kind: ChangeKind::Add, diff: "one\n".into() };
        threads.add(thread, vec![Item { id: "call_1".into(), client_id: None, status: None, changes: Some(vec![change]) }]);
        threads
    }

    fn asked(method: &str, more: Value, parent: Option<&str>) -> Result<QuestionDocument> {
        let mut params = json!({"threadId": ID, "turnId": "u", "itemId": "call_1", "startedAtMs": 1}).as_object().unwrap().clone();
        params.extend(more.as_object().unwrap().clone());
        let (request, threads) = (Request::read(method, &params).unwrap(), threads(parent));
        let known = threads.get(&request.thread).unwrap();
        let document = super::request(&request, known)?.question(&CODEX, askbox_mailbox::time::now())?;
        check(&document.typed).map(|()| document)
    }

    #[test]
    fn a_command_of_codex_is_asked_about_with_once_alone() {
        let more = json!({"command": "/bin/bash -lc 'touch qa'", "reason": "needs it", "cwd": "/elsewhere"});
        let question = asked("item/commandExecution/requestApproval", more, None).unwrap().typed;
        let expected =
            "May the agent call exec_command?\n    command: /bin/bash -lc 'touch qa'\n    reason: needs it\nIn the folder /elsewhere";
        assert_eq!(question.question, expected);
        assert_eq!(question.options.keys(), "once");
        assert!(question.approval.as_ref().unwrap().editable.is_none());
        assert_eq!(question.live.unwrap().words(), "codex session \"Fix the login please\" in \"My Shop\"");
        assert!(question.workflow_id.as_str().starts_with("live-my-shop-"));
    }

    #[test]
    fn a_patch_of_codex_is_asked_about_with_its_changes() {
        let question = asked("item/fileChange/requestApproval", json!({}), Some(PARENT)).unwrap().typed;
        assert!(question.question.contains("    patch:\n        add \"/opt/x\"\n          +one\n"), "{}", question.question);
        let live = question.live.unwrap();
        assert_eq!((live.session.to_string().as_str(), live.agent.as_deref(), live.title), (PARENT, Some("Ada"), None));
        let other = json!({"itemId": "call_2"});
        assert!(asked("item/fileChange/requestApproval", other, None).is_err(), "its changes are not known");
    }

    #[test]
    fn questions_of_codex_keep_their_options() {
        let one = json!({"id": "q1", "header": "How", "question": "Merge?", "options": [{"label": "merge", "description": "m"}]});
        let two = json!({"id": "q2", "header": "Why", "question": "Why?", "options": null});
        let question = asked("item/tool/requestUserInput", json!({"questions": [one]}), None).unwrap().typed;
        assert_eq!((question.question.as_str(), question.options.keys().as_str()), ("Merge?", "merge"));
        assert_eq!(asked("item/tool/requestUserInput", json!({"questions": [one, two]}), None).unwrap().typed.parts().len(), 2);
        assert!(asked("item/tool/requestUserInput", json!({"questions": [one, one]}), None).is_err());
    }
}

#[cfg(test)]
mod tests_of_reply {
    use super::*;

    fn after(wanted: Wanted, signs: &[Sign]) -> Option<bool> {
        let mut receipt = Receipt::begin(wanted);
        let mut ends = signs.iter().map(|sign| receipt.take(*sign));
        ends.find(|end| *end != End::NotKnownYet).map(|end| end == End::Confirmed)
    }

    #[test]
    fn only_the_sign_of_the_answer_itself_delivers_it() {
        use Sign::{Made, Refused, Resolved, TurnEnded};
        let (ended, cut) = (TurnEnded { interrupted: false }, TurnEnded { interrupted: true });
        for (wanted, signs, end) in [
            (Wanted::Made, &[Resolved, Made][..], Some(true)),
            (Wanted::Made, &[Resolved, Refused], Some(false)),
            (Wanted::Made, &[Resolved, cut], Some(false)),
            (Wanted::Made, &[Resolved], None),
            (Wanted::Refused, &[Resolved], None),
            (Wanted::Stopped, &[Resolved, Refused], None),
            (Wanted::Refused, &[Resolved, Refused], Some(true)),
            (Wanted::Refused, &[Resolved, Made], Some(false)),
            (Wanted::Refused, &[Resolved, cut], Some(false)),
            (Wanted::Refused, &[Resolved, ended], Some(true)),
            (Wanted::Refused, &[ended], Some(false)),
            (Wanted::Made, &[Resolved, ended], Some(false)),
            (Wanted::Stopped, &[Resolved, Refused, cut], Some(true)),
            (Wanted::Stopped, &[Resolved, Made], Some(false)),
            (Wanted::Stopped, &[Resolved, ended], Some(false)),
            (Wanted::Told, &[Resolved], Some(true)),
            (Wanted::Told, &[cut], Some(false)),
        ] {
            assert_eq!(after(wanted, signs), end, "{wanted:?} {signs:?}");
        }
    }
}
