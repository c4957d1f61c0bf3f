//! The request of a dialog, which a person can answer: a tool call, a plan, or the questions of AskUserQuestion.
//!
//! Finds out when a person last typed at the session's own terminal. Then news of the dialog can wait: the person sees the dialog.
//! And the form of a server opens there.
//!
//! The system changes the time of a terminal's last reading when its program takes a key, in steps of eight seconds. This time
//! stays as it is while a session waits at its prompt, shows a dialog or redraws the screen. The time of the last writing does not. (Measured
//! with 2.1.332.)

use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};
use uuid::Uuid;

use crate::commands::hook::dialog::signs::{self, is_attended};
use crate::commands::hook::event::PermissionRequest;
use askbox_agent::{sessions, subagents};
use askbox_cli::program;
use askbox_mailbox::documents::fields::live::{EXIT_PLAN_MODE, Mode, Offered, Rule};
use askbox_mailbox::documents::fields::tool_call::{ASK_USER_QUESTION, Subagent};
use askbox_mailbox::{Mailbox, Result, SessionId, Time, ToolCall, Trace, presence, processes, text};
use askbox_run::asking::posted::{self, LONGEST_NAME};
use askbox_run::asking::request::More;
use askbox_run::{Request, Subject};

/// Returns an id for the call, whose own id is in no transcript. Two hooks of one dialog find the same one.
pub(in crate::commands::hook) fn id_not_told(event: &PermissionRequest) -> String {
    let call = json!([event.session_id, event.agent_id, event.prompt_id, event.tool_name, event.tool_input]).to_string();
    ToolCall::id_not_told(&Uuid::new_v5(&Uuid::NAMESPACE_OID, call.as_bytes()).simple().to_string())
}

/// Returns the request about the call with this id. An agent in the background, which has no dialog, waits until this time.
///
/// # Errors
/// If no workflow can be named.
pub(in crate::commands::hook) fn request(event: &PermissionRequest, call: String, until: Option<Time>) -> Result<Request> {
    let offers = match event.tool_name.as_str() {
        ASK_USER_QUESTION => Vec::new(),
        EXIT_PLAN_MODE => vec![Offered::Mode(Mode::AcceptEdits), Offered::Mode(Mode::Auto)],
        _ => event.permission_suggestions.iter().filter_map(offered).collect(),
    };
    Ok(Request {
        workflow: posted::workflow(&event.cwd, &event.session_id, &call)?,
        session: event.session_id,
        folder: event.cwd.clone(),
        subject: if event.tool_name == ASK_USER_QUESTION { Subject::Questions } else { Subject::Call },
        tool: event.tool_name.clone(),
        input: event.tool_input.clone(),
        cwd: event.cwd.clone(),
        call,
        subagent: event.agent_id.as_ref().map(|id| subagent(event, id)),
        more: More {
            title: title(&event.transcript_path, &event.session_id),
            offers,
            until,
            unattended: !is_attended(),
            config_dir: signs::config_dir(&event.transcript_path).map(Path::to_path_buf),
            trace: Trace::of_environment().ok().flatten(),
            remark: None,
        },
    })
}

/// One of the dialog's suggestions. `None` if it would give a permission that is not understood here.
fn offered(suggestion: &Value) -> Option<Offered> {
    let texts = |list: &Value| list.as_array()?.iter().map(|text| text.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>();
    let rule = |rule: &Value| {
        let content = match &rule["ruleContent"] {
            Value::Null => None,
            content => Some(content.as_str()?.to_owned()),
        };
        Some(Rule { tool: rule["toolName"].as_str()?.to_owned(), content })
    };
    match suggestion["type"].as_str()? {
        "addRules" if suggestion["behavior"] == "allow" => {
            Some(Offered::Rules(suggestion["rules"].as_array()?.iter().map(rule).collect::<Option<_>>()?))
        }
        "addDirectories" => texts(&suggestion["directories"]).map(Offered::Folders),
        "setMode" => match suggestion["mode"].as_str()? {
            "acceptEdits" => Some(Offered::Mode(Mode::AcceptEdits)),
            "auto" => Some(Offered::Mode(Mode::Auto)),
            _ => None,
        },
        _ => None,
    }
}

/// The name of the session, from its own file.
pub(super) fn title(transcript: &Path, id: &SessionId) -> Option<String> {
    let pid: i32 = program::env("CLAUDE_PID")?.parse().ok()?;
    let session = sessions::claude::of_process(signs::config_dir(transcript)?, pid)?;
    session.name.filter(|_| session.session_id == id.to_string())
}

/// The subagent, in the words that Claude Code noted about it.
fn subagent(event: &PermissionRequest, id: &str) -> Subagent {
    let noted = subagents::note(&event.transcript_path, id).unwrap_or_default();
    let short = |words: Option<String>| words.map(|words| text::excerpt(&words, LONGEST_NAME)).filter(|words| !words.is_empty());
    Subagent { id: text::excerpt(id, LONGEST_NAME), kind: short(event.agent_type.clone().or(noted.kind)), task: short(noted.task) }
}

/// The steps of the time.
pub(super) const STEP: Duration = Duration::from_secs(8);
/// How often the terminal is looked at.
const EVERY: Duration = Duration::from_secs(1);

/// Watches the terminal of one session for keys.
pub(super) struct Keys {
    terminal: Option<PathBuf>,
    last_key: Option<SystemTime>,
    next_look: Instant,
}

impl Keys {
    /// Watches the terminal of this process.
    pub(super) fn of_process(pid: &str) -> Self {
        let terminal = pid.parse().ok().and_then(processes::terminal);
        Self { terminal, last_key: None, next_look: Instant::now() }
    }

    /// The begin of the step in which the last key came. `None` if no terminal is known.
    pub(super) fn last(&self) -> Option<SystemTime> {
        self.terminal.as_ref().and_then(|terminal| terminal.metadata().as_ref().map(Metadata::accessed).ok()?.ok())
    }

    /// Writes down when the last key came, if that has changed.
    pub(super) fn look(&mut self, mailbox: &Mailbox, session: &SessionId) {
        if Instant::now() < self.next_look {
            return;
        }
        self.next_look = Instant::now() + EVERY;
        if let Some(at) = self.last().filter(|at| self.last_key != Some(*at)) {
            self.last_key = Some(at);
            // Without it, the news come a little earlier.
            let _ = presence::note_typing(mailbox, session, at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use askbox_mailbox::QuestionDocument;
    use askbox_mailbox::programs::CLAUDE;
    use serde_json::json;

    fn event(tool: &str, input: Value, suggestions: Value) -> PermissionRequest {
        let event = json!({
            "session_id": "15c96f27-091a-5dc1-bcce-0d2e49721bc0", "transcript_path": "/c/projects/p/s.jsonl", "cwd": "/work/My Shop",
            "tool_name": tool, "tool_input": input, "permission_suggestions": suggestions,
        });
        serde_json::from_value(event).unwrap()
    }

    fn asked(event: &PermissionRequest) -> QuestionDocument {
        request(event, "toolu_1".into(), None).unwrap().question(&CLAUDE, askbox_mailbox::time::now()).unwrap()
    }

    #[test]
    fn a_call_is_asked_about_with_the_dialogs_own_offers() {
        let suggestions = json!([
            {"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "touch:*"}], "behavior": "allow", "destination": "localSettings"},
            {"type": "setMode", "mode": "acceptEdits", "destination": "session"},
            {"type": "setMode", "mode": "bypassPermissions", "destination": "session"},
            {"type": "addRules", "rules": [{"toolName": "Bash"}], "behavior": "deny", "destination": "session"},
        ]);
        let document = asked(&event("Bash", json!({"command": "touch a"}), suggestions));
        let question = &document.typed;
        askbox_mailbox::documents::checks::check_question::check(question).unwrap();
        let keys: Vec<_> = question.options.0.iter().map(|choice| choice.key.as_str()).collect();
        assert_eq!(keys, ["once", "session-1", "accept-edits"]);
        assert!(question.workflow_id.as_str().starts_with("live-my-shop-"), "{}", question.workflow_id);
        assert_eq!(question.config_dir.as_deref(), Some(Path::new("/c")));
        assert!(question.question.contains("touch a") && question.live.as_ref().unwrap().project == "My Shop");
    }

    #[test]
    fn a_plan_is_its_own_context() {
        let document = asked(&event("ExitPlanMode", json!({"plan": "# Plan\nBuild it.", "planFilePath": "/x"}), json!([])));
        let asked = &document.typed;
        askbox_mailbox::documents::checks::check_question::check(&document.typed).unwrap();
        assert_eq!(asked.context.as_deref(), Some("# Plan\nBuild it."));
        assert!(!document.typed.question.contains("Build it"));
        assert_eq!(asked.options.keys(), "once, accept-edits, auto");
    }

    #[test]
    fn a_question_of_the_agent_keeps_its_form() {
        let input = json!({"questions": [{"question": "Which?", "header": "DB", "multiSelect": false, "options": [{"label": "a", "description": ""}]}]});
        let document = asked(&event("AskUserQuestion", input, json!([])));
        askbox_mailbox::documents::checks::check_question::check(&document.typed).unwrap();
        assert!(document.typed.approval.is_none() && document.typed.live.is_some());
    }
}
