//! `askbox sessions`: the sessions of agents on this machine, what each of them does, and the questions of their dialogs.

use std::collections::HashMap;
use std::path::PathBuf;

use serde_json::{Value, json};

use askbox_agent::claude;
use askbox_agent::sessions::claude::Session;
use askbox_agent::sessions::{self, Doing, Found, Need, Program};
use askbox_cli::{Common, columns, fitted, program};
use askbox_mailbox::dialogs::{self, Dialog};
use askbox_mailbox::overview::waiting;
use askbox_mailbox::prompts::Agent;
use askbox_mailbox::{Error, Mailbox, Result, Time, WorkflowId, text, time};
use askbox_sessions::codex::Doing as OfPerson;

/// The questions of dialogs that wait, by the id of their session.
type Waiting = HashMap<String, Vec<WorkflowId>>;

/// A session of any program.
struct Listed {
    program: &'static str,
    id: String,
    cwd: PathBuf,
    title: Option<String>,
    since: Option<Time>,
    is_waiting: bool,
    /// Its status in words for people.
    does: String,
    /// The fields for programs, without those that all sessions have.
    fields: Value,
}

/// Prints the sessions. A missing mailbox has no questions.
pub fn run(args: &Common) -> Result<u8> {
    let folder = claude::config_dir(|name| std::env::var_os(name))
        .ok_or_else(|| Error::usage("the sessions of Claude Code have no place: $HOME is unset", "set $HOME"))?;
    let (waiting, at_terminals) = match args.open_if_made()? {
        Some(mailbox) => (waiting(&mailbox)?, dialogs::seen(&mailbox)),
        None => (Waiting::new(), Vec::new()),
    };
    let mut found: Vec<Listed> = sessions::claude::all(&folder).into_iter().map(Listed::of_claude).collect();
    let mut programs = "Claude Code, Codex, opencode, Copilot, Kimi or Qwen";
    found.extend(askbox_sessions::of_opencode().into_iter().map(Listed::of_session));
    match askbox_sessions::of_codex() {
        Ok(sessions) => found.extend(sessions.into_iter().map(Listed::of_session)),
        Err(error) => {
            program::say(&format!("the sessions of Codex are not listed: {error}\n"));
            programs = "Claude Code, opencode, Copilot, Kimi or Qwen";
        }
    }
    found.extend(Program::ALL.into_iter().flat_map(of_other));
    // The files of Kimi tell more. Gemini's files do not tell that a session waits.
    let of_gemini = |dialog: &Dialog| dialog.program == dialogs::Program::Gemini;
    found.extend(at_terminals.into_iter().filter(of_gemini).map(Listed::of_dialog));
    // Those that wait for their user come first, the longest wait first.
    found.sort_by_key(|session| (!session.is_waiting && !waiting.contains_key(&session.id), session.since, session.id.clone()));
    if args.json {
        found.into_iter().try_for_each(|session| program::print_json(&session.in_json(&waiting)))?;
        return Ok(0);
    }
    if found.is_empty() {
        program::say(&format!("no session of {programs} runs here\n"));
    }
    let rows: Vec<_> = found.iter().map(|session| session.row(&waiting)).collect();
    let head = ["PROGRAM", "PROJECT", "SINCE", "QUESTION", "DOES", "SESSION", "TITLE"];
    program::print(&fitted::rows(&columns::table(head, &rows)))?;
    Ok(0)
}

/// The sessions of a program that keeps files of them, and a warning about those that cannot be read.
fn of_other(program: Program) -> impl Iterator<Item = Listed> {
    let sessions = program.folder(|name| std::env::var_os(name)).map(|folder| program.sessions(&folder)).unwrap_or_default();
    if sessions.unreadable > 0 {
        program::say(&format!("sessions of {program} that cannot be read: {}\n", sessions.unreadable));
    }
    sessions.found.into_iter().map(move |session| Listed::of_other(program, session))
}

fn waiting(mailbox: &Mailbox) -> Result<Waiting> {
    let of_session = |pending: waiting::Pending| {
        let question = pending.document.ok()?.typed;
        Some((question.live?.session.to_string(), question.workflow_id))
    };
    let mut waiting = Waiting::new();
    for (session, workflow) in waiting::pending(mailbox, of_session)?.into_iter().flatten() {
        waiting.entry(session).or_default().push(workflow);
    }
    Ok(waiting)
}

impl Listed {
    fn of_claude(session: Session) -> Self {
        Self {
            program: "claude",
            title: session.name.clone(),
            since: session.since(),
            is_waiting: session.is_waiting(),
            does: session.in_words(),
            fields: json!({
                "pid": session.pid, "kind": session.kind, "entrypoint": session.entrypoint, "status": session.status,
                "waiting_for": session.waiting_for,
            }),
            id: session.session_id,
            cwd: session.cwd,
        }
    }

    /// Claude Code's words for a status serve for Codex and opencode as well.
    fn of_session(session: askbox_sessions::Session) -> Self {
        let status = match session.doing {
            Some(OfPerson::Waits) => "waiting",
            Some(OfPerson::Works) => "busy",
            Some(OfPerson::Rests) | None => "idle",
        };
        Self {
            program: if session.agent == Agent::Codex { "codex" } else { "opencode" },
            title: session.title,
            since: session.since,
            is_waiting: session.doing == Some(OfPerson::Waits),
            does: session.does,
            fields: json!({ "status": status }),
            id: session.id,
            cwd: session.cwd,
        }
    }

    /// The same words serve for these programs.
    fn of_other(program: Program, session: Found) -> Self {
        let (status, need) = match session.doing {
            Doing::Waits(Need::Permission) => (Some("waiting"), Some("permission")),
            Doing::Waits(Need::Answer) => (Some("waiting"), Some("an answer")),
            Doing::Works => (Some("busy"), None),
            Doing::Rests => (Some("idle"), None),
            Doing::Unknown => (None, None),
        };
        let does = need.map(|need| format!("waits at its terminal: {need}")).or(status.map(str::to_owned)).unwrap_or_else(|| "-".into());
        // Without a process, a killed session looks like a living one.
        let doubt = if session.pid.is_none() { ", or has ended" } else { "" };
        Self {
            program: program.command(),
            title: session.title,
            since: session.since,
            is_waiting: need.is_some(),
            does: format!("{does}{doubt}"),
            fields: json!({ "pid": session.pid, "status": status, "waiting_for": need, "may_have_ended": session.pid.is_none() }),
            id: session.id,
            cwd: session.cwd,
        }
    }

    /// A session whose hook told of a dialog.
    fn of_dialog(dialog: Dialog) -> Self {
        let pid = dialog.process.map(|process| process.pid);
        let need = if dialog.tool == "ask_user" { "an answer" } else { "permission" };
        Self {
            program: dialog.program.command(),
            title: None,
            since: Some(dialog.since),
            is_waiting: true,
            does: format!("waits at its terminal: {}", text::excerpt(&format!("{} {}", dialog.tool, dialog.asks), 40)),
            fields: json!({ "pid": pid, "status": "waiting", "waiting_for": need, "may_have_ended": pid.is_none() }),
            id: dialog.session_id,
            cwd: dialog.cwd.into(),
        }
    }

    fn asked<'a>(&self, waiting: &'a Waiting) -> &'a [WorkflowId] {
        waiting.get(&self.id).map(Vec::as_slice).unwrap_or_default()
    }

    fn row(&self, waiting: &Waiting) -> [String; 7] {
        let project = self.cwd.file_name().map(|name| text::excerpt(&name.to_string_lossy(), 40));
        let since = self.since.map(|at| time::human(time::since(at)));
        let asked = self.asked(waiting).iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let title = self.title.as_deref().map(|title| text::excerpt(title, 40));
        let cell = |words: Option<String>| words.filter(|words| !words.is_empty()).unwrap_or_else(|| "-".into());
        let id = text::excerpt(&self.id, 36);
        [self.program.into(), cell(project), cell(since), cell(Some(asked)), self.does.clone(), id, cell(title)]
    }

    fn in_json(self, waiting: &Waiting) -> Value {
        let mut all = json!({
            "program": self.program, "session_id": self.id, "cwd": self.cwd, "name": self.title,
            "since": self.since.map(time::rfc3339), "questions": self.asked(waiting),
        });
        if let (Some(all), Value::Object(fields)) = (all.as_object_mut(), self.fields) {
            all.extend(fields);
        }
        all
    }
}
