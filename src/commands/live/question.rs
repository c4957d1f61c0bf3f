//! The question that a request becomes.

use uuid::Uuid;

use crate::commands::live::programs::Program;
use crate::commands::live::request::Request;
use crate::commands::live::wire::Session;
use askbox_cli::dialog_question;
use askbox_mailbox::documents::fields::live::Live;
use askbox_mailbox::documents::fields::tool_call::Subagent;
use askbox_mailbox::error::Result;
use askbox_mailbox::id::SessionId;
use askbox_mailbox::time::Time;
use askbox_mailbox::{QuestionDocument, text};
use askbox_run::dialog::place::{self, LONGEST_NAME};

/// The question about a request that came at this time.
///
/// # Errors
/// [`askbox_mailbox::error::Error::Invalid`] if the call cannot be shown, or asks in a form that is not known.
pub(super) fn document(program: Program, request: &Request, since: Time) -> Result<QuestionDocument> {
    let (cwd, session) = (request.cwd(), session_id(program, &request.root)?);
    // Each request has of its own, also if one call asks more than once.
    let workflow = place::workflow(&cwd, &session, request.id.as_str())?;
    let subagent = (request.session.id != request.root.id).then(|| subagent(&request.session));
    let (project, branch) = place::project(&cwd);
    let live = Live {
        session,
        program: program.name().into(),
        project,
        branch,
        agent: subagent.as_ref().map(|agent| agent.kind.clone().unwrap_or_else(|| agent.id.clone())),
        since,
        in_background: false,
        unattended: false,
        until: None,
        offers: Vec::new(),
    };
    dialog_question::document(request.subject, &workflow, &request.call(&cwd), request.id.as_str(), subagent, live)
}

/// The session's id as a UUID. opencode's own ids are not UUIDs.
fn session_id(program: Program, session: &Session) -> Result<SessionId> {
    let made = || Uuid::new_v5(&Uuid::NAMESPACE_OID, format!("{} {}", program.name(), session.id).as_bytes());
    Uuid::parse_str(&session.id).unwrap_or_else(|_| made()).to_string().parse()
}

fn subagent(session: &Session) -> Subagent {
    let short = |words: &Option<String>| words.as_deref().map(|words| text::excerpt(words, LONGEST_NAME)).filter(|words| !words.is_empty());
    Subagent { id: text::excerpt(&session.id, LONGEST_NAME), kind: short(&session.agent), task: short(&session.title) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::live::request::tests::asked;
    use askbox_mailbox::documents::checks::check_question::check;
    use serde_json::{Value, json};

    fn question(event: &str, request: Value, part: Value, agent: Option<&str>) -> Result<QuestionDocument> {
        let mut asked = asked(event, request, part);
        if let Some(agent) = agent {
            asked.session.id = "ses_2".into();
            asked.session.agent = Some(agent.into());
            asked.session.title = Some("a sub (@general subagent)".into());
        }
        let document = document(Program::Opencode, &Program::Opencode.request(asked)?, askbox_mailbox::time::now())?;
        check(&document.typed).map(|()| document)
    }

    #[test]
    fn a_command_of_opencode_is_asked_about_with_once_alone() {
        let part = json!({"tool": "bash", "state": {"status": "running", "input": {"command": "touch qa"}}});
        let request = json!({"id": "per_1", "permission": "bash", "patterns": ["*"], "metadata": {"command": "touch qa"}, "tool": {}});
        let asked = question("permission.asked", request.clone(), part.clone(), None).unwrap().typed;
        assert_eq!(asked.question, "May the agent call bash?\n    command: touch qa\nIn the folder /work/My Shop");
        assert_eq!(asked.asked.options.keys(), "once");
        assert!(asked.asked.approval.as_ref().unwrap().editable.is_none());
        assert_eq!(asked.asked.live.as_ref().unwrap().words(), "opencode session in \"My Shop\"");
        assert!(asked.workflow_id.as_str().starts_with("live-my-shop-"));
        let of_subagent = question("permission.asked", request, part, Some("general")).unwrap().typed;
        assert!(of_subagent.question.contains("A subagent makes this call: general ses_2"), "{}", of_subagent.question);
        assert_eq!(of_subagent.asked.live.as_ref().unwrap().session, asked.asked.live.unwrap().session);
        assert_eq!(of_subagent.asked.live.unwrap().agent.as_deref(), Some("general"));
    }

    #[test]
    fn questions_of_opencode_keep_their_options() {
        let options = json!([{"label": "merge", "description": "m"}, {"label": "keep", "description": "k"}]);
        let one = json!({"question": "Merge?", "header": "How", "options": options, "multiple": true});
        let two = json!({"question": "Why?", "header": "Why", "options": []});
        let of = |questions: Value| question("question.asked", json!({"id": "que_1", "questions": questions}), Value::Null, None);
        let asked = of(json!([one])).unwrap().typed;
        assert_eq!((asked.question.as_str(), asked.asked.options.keys().as_str()), ("Merge?", "merge, keep"));
        assert_eq!(of(json!([one, two])).unwrap().typed.parts().len(), 2);
        assert!(of(json!([one, one])).is_err());
        let closed = json!({"question": "Merge?", "header": "How", "options": options, "custom": false});
        assert_eq!(of(json!([closed])).unwrap().typed.asked.free_text, Some(false));
        assert!(of(json!([closed, two])).is_ok());
    }
}
