//! The request of a program, which a person can answer.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::wire::{RequestId, Session};
use askbox_mailbox::documents::fields::tool_call::Subagent;
use askbox_mailbox::programs::Facts;
use askbox_mailbox::{Error, Result, SessionId, text};
use askbox_run::asking::posted::{self, LONGEST_NAME};
use askbox_run::asking::request::{Input, More};
use askbox_run::{Request, Subject};

/// The most characters that an error tells of a form that is not known.
const LONGEST_TOLD: usize = 100;

/// How opencode begins the title of a session that has none.
const UNTITLED: &str = "New session";

/// The state of a call whose input is there.
pub(super) const RUNNING: &str = "running";

/// A request of this program. `session` asks, and a person has begun `root`.
///
/// # Errors
/// If its session can have no id.
pub(super) fn of(
    facts: &Facts,
    id: RequestId,
    subject: Subject,
    (tool, input): (String, Input),
    (session, root): (&Session, &Session),
) -> Result<(RequestId, Request)> {
    let cwd = PathBuf::from(&session.directory);
    // opencode's own ids are not UUIDs.
    let made = || Uuid::new_v5(&Uuid::NAMESPACE_OID, format!("{} {}", facts.name, root.id).as_bytes());
    let asks: SessionId = Uuid::parse_str(&root.id).unwrap_or_else(|_| made()).to_string().parse()?;
    let request = Request {
        // Each request has one of its own, also if one call asks more than once.
        workflow: posted::workflow(&cwd, &asks, id.as_str())?,
        session: asks,
        folder: cwd.clone(),
        subject,
        tool,
        input,
        cwd,
        call: id.as_str().to_owned(),
        subagent: (session.id != root.id).then(|| subagent(session)),
        more: More { title: root.title.clone().filter(|title| !title.starts_with(UNTITLED)), ..More::default() },
    };
    Ok((id, request))
}

fn subagent(session: &Session) -> Subagent {
    let short = |words: &Option<String>| words.as_deref().map(|words| text::excerpt(words, LONGEST_NAME)).filter(|words| !words.is_empty());
    Subagent { id: text::excerpt(&session.id, LONGEST_NAME), kind: short(&session.agent), task: short(&session.title) }
}

/// An option of a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Choice {
    label: String,
    description: String,
}

/// A question in the form of Claude Code's tool AskUserQuestion, which the mailbox reads.
pub(super) fn ask_user_question(question: &str, header: &str, several: bool, options: &[Choice]) -> Value {
    let mut asked = json!({ "question": question, "header": header, "multiSelect": several });
    if !options.is_empty() {
        asked["options"] = json!(options);
    }
    asked
}

/// The call's input, and the program's own fields of the request that say more.
///
/// # Errors
/// If the input has a field that imitates one of the program.
pub(super) fn with_fields_beside(program: &str, mut input: Map<String, Value>, said: Map<String, Value>) -> Result<Map<String, Value>> {
    // A field of the input may imitate one of the program, also one that the program does not tell.
    if input.keys().any(|name| name.strip_prefix(program).is_some_and(|rest| rest.starts_with('.'))) {
        return Err(not_told(program));
    }
    for (name, value) in said.into_iter().filter(|(name, value)| input.get(name) != Some(value)).collect::<Vec<_>>() {
        input.insert(format!("{program}.{name}"), value);
    }
    Ok(input)
}

pub(super) fn not_told(program: &str) -> Error {
    Error::failed(format!("{program} has not told what a call does"), "answer it at its terminal")
}

/// The error for a request in a form that is not known. The words of the program are cut.
pub(super) fn not_known(program: &str, what: &str) -> Error {
    let what = text::excerpt(what, LONGEST_TOLD);
    Error::failed(format!("{program} asks in a form that is not known: {what}"), "answer it at its terminal")
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::json;

    use super::*;
    use crate::opencode;
    use crate::wire::Asked;
    use askbox_mailbox::QuestionDocument;
    use askbox_mailbox::documents::checks::check_question::check;
    use askbox_mailbox::programs::OPENCODE;

    /// A dialog with these properties, as the plugin tells it.
    pub(crate) fn asked(event: &str, request: Value, part: Value) -> Asked {
        let session = json!({"id": "ses_1", "directory": "/work/My Shop", "title": "New session", "agent": "build"});
        serde_json::from_value(json!({"event": event, "request": request, "session": session, "root": session, "part": part})).unwrap()
    }

    fn question(event: &str, request: Value, part: Value, agent: Option<&str>) -> Result<QuestionDocument> {
        let mut asked = asked(event, request, part);
        if let Some(agent) = agent {
            asked.session.id = "ses_2".into();
            asked.session.agent = Some(agent.into());
            asked.session.title = Some("a sub (@general subagent)".into());
        }
        let (_, request) = opencode::read(asked)?;
        let document = request.question(&OPENCODE, askbox_mailbox::time::now())?;
        check(&document.typed).map(|()| document)
    }

    #[test]
    fn a_command_of_opencode_is_asked_about_with_once_alone() {
        let part = json!({"tool": "bash", "state": {"status": "running", "input": {"command": "touch qa"}}});
        let request = json!({"id": "per_1", "permission": "bash", "patterns": ["*"], "metadata": {"command": "touch qa"}, "tool": {}});
        let asked = question("permission.asked", request.clone(), part.clone(), None).unwrap().typed;
        assert_eq!(asked.question, "May the agent call bash?\n    command: touch qa\nIn the folder /work/My Shop");
        assert_eq!(asked.options.keys(), "once");
        assert!(asked.approval.as_ref().unwrap().editable.is_none());
        assert_eq!(asked.live.as_ref().unwrap().words(), "opencode session in \"My Shop\"");
        assert!(asked.workflow_id.as_str().starts_with("live-my-shop-"));
        let of_subagent = question("permission.asked", request, part, Some("general")).unwrap().typed;
        assert!(of_subagent.question.contains("A subagent makes this call: general ses_2"), "{}", of_subagent.question);
        assert_eq!(of_subagent.live.as_ref().unwrap().session, asked.live.unwrap().session);
        assert_eq!(of_subagent.live.unwrap().agent.as_deref(), Some("general"));
    }

    #[test]
    fn a_question_names_the_title_of_its_session() {
        let mut titled =
            asked("question.asked", json!({"id": "que_1", "questions": [{"question": "Merge?", "header": "How"}]}), Value::Null);
        titled.root.title = Some("Fix the \u{1b}login".into());
        let question = opencode::read(titled).unwrap().1.question(&OPENCODE, askbox_mailbox::time::now()).unwrap().typed;
        assert_eq!(question.live.unwrap().words(), "opencode session \"Fix the login\" in \"My Shop\"");
    }

    #[test]
    fn questions_of_opencode_keep_their_options() {
        let options = json!([{"label": "merge", "description": "m"}, {"label": "keep", "description": "k"}]);
        let one = json!({"question": "Merge?", "header": "How", "options": options, "multiple": true});
        let two = json!({"question": "Why?", "header": "Why", "options": []});
        let of = |questions: Value| question("question.asked", json!({"id": "que_1", "questions": questions}), Value::Null, None);
        let asked = of(json!([one])).unwrap().typed;
        assert_eq!((asked.question.as_str(), asked.options.keys().as_str()), ("Merge?", "merge, keep"));
        assert_eq!(of(json!([one, two])).unwrap().typed.parts().len(), 2);
        assert!(of(json!([one, one])).is_err());
        let closed = json!({"question": "Merge?", "header": "How", "options": options, "custom": false});
        assert_eq!(of(json!([closed])).unwrap().typed.free_text, Some(false));
        assert!(of(json!([closed, two])).is_ok());
    }
}
