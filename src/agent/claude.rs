//! How `claude` is called: its arguments, its environment, the lines it takes on stdin, and where it keeps a session.
//!
//! Pure functions but for [`transcript_exists`], which looks into a folder. Grounded on Claude Code 2.1.330.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// Makes `claude` a supervised agent: stream-json both ways, permission requests on stdout.
const SUPERVISED: [&str; 8] =
    ["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--permission-prompt-tool", "stdio"];

/// What every agent may run without being asked: how it asks, and how it saves its state. Chains need one more rule from the
/// operator, `Bash(relaunch spawn:*)`.
pub const DEFAULT_ALLOWED_TOOLS: [&str; 2] = ["Bash(ask-post:*)", "Bash(checkpoint:*)"];

/// The variable that names the folder of settings and sessions.
pub const CONFIG_DIR: &str = "CLAUDE_CONFIG_DIR";

/// How to launch the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation {
    /// A path, or a name that is looked for on PATH.
    pub program: PathBuf,
    /// Its arguments, without the program's name.
    pub args: Vec<OsString>,
    /// Variables of our own environment that the agent must not inherit.
    pub env_remove: Vec<OsString>,
    /// Variables that are set, after the removal.
    pub env_set: Vec<(OsString, OsString)>,
    /// The folder it works in.
    pub cwd: PathBuf,
}

impl Invocation {
    /// `session`: in the `=` form, so that no id can pass for an option.
    fn new(program: &Path, cwd: &Path, session: &[String]) -> Self {
        let args = SUPERVISED.iter().map(OsString::from).chain(session.iter().map(OsString::from)).collect();
        // A background task would outlive the turn, and a deferred question would be lost to it.
        let env_set = vec![("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS".into(), "1".into())];
        Self { program: program.into(), args, env_remove: Vec::new(), env_set, cwd: cwd.into() }
    }

    /// A new session under this id, a UUID. Refused by `claude` if a session of that id exists in this folder.
    pub fn start(program: &Path, cwd: &Path, session_id: &str) -> Self {
        Self::new(program, cwd, &[format!("--session-id={session_id}")])
    }

    /// Continues a session. Nothing but model and system prompt is remembered: give all options again.
    pub fn resume(program: &Path, cwd: &Path, session_id: &str) -> Self {
        Self::new(program, cwd, &[format!("--resume={session_id}")])
    }

    /// Continues a copy of session `from` under the id `new`; the original stays as it is.
    pub fn fork(program: &Path, cwd: &Path, from: &str, new: &str) -> Self {
        let session = [format!("--resume={from}"), "--fork-session".into(), format!("--session-id={new}")];
        Self::new(program, cwd, &session)
    }

    fn with(mut self, option: &str, value: impl Into<OsString>) -> Self {
        self.args.extend([option.into(), value.into()]);
        self
    }

    /// `acceptEdits`, `auto`, `bypassPermissions`, `manual`, `dontAsk` or `plan`.
    pub fn permission_mode(self, mode: &str) -> Self {
        self.with("--permission-mode", mode)
    }

    /// Rules for tools that need no permission, such as [`DEFAULT_ALLOWED_TOOLS`].
    pub fn allowed_tools<S: AsRef<str>>(mut self, rules: impl IntoIterator<Item = S>) -> Self {
        // One argument a rule, in the `=` form: the option takes any number of arguments and would swallow what follows.
        for rule in rules {
            self.args.push(format!("--allowedTools={}", rule.as_ref()).into());
        }
        self
    }

    /// Settings for this launch alone, such as hooks, as JSON.
    pub fn settings(self, json: &str) -> Self {
        self.with("--settings", json)
    }

    /// The operator's own arguments, last.
    pub fn extra_args<S: Into<OsString>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Keeps what belongs to another agent out of this one: see [`is_scrubbed`]. `names`: our own environment's.
    pub fn scrub<S: Into<OsString>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.env_remove.extend(names.into_iter().map(Into::into).filter(|name| is_scrubbed(name)));
        self
    }

    /// Sets a variable; wins over scrubbing.
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        let name = name.into();
        self.env_remove.retain(|removed| *removed != name);
        self.env_set.retain(|(set, _)| *set != name);
        self.env_set.push((name, value.into()));
        self
    }

    /// The folder of settings and sessions, if it is not the default.
    pub fn config_dir(self, dir: &Path) -> Self {
        self.env(CONFIG_DIR, dir)
    }
}

/// The rule that lets an agent read this one file; `None` for a path that as a pattern could mean another one.
#[must_use]
pub fn may_read(path: &Path) -> Option<String> {
    let plain = |c: char| c.is_alphanumeric() || "/._-+@ ".contains(c);
    let path = path.to_str().filter(|p| p.starts_with('/') && p.chars().all(plain))?;
    Some(format!("Read(/{path})"))
}

/// What of `CLAUDE*` is the operator's own and no trace of an outer agent: settings, credentials, switches.
const OPERATORS: [&str; 7] = [
    CONFIG_DIR,
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_USE_",
    "CLAUDE_CODE_SKIP_",
    "CLAUDE_CODE_DISABLE_",
    "CLAUDE_CODE_MAX_",
    "CLAUDE_CODE_RETRY_",
];

/// Whether a variable tells an agent that it runs inside another: `AI_AGENT`, and `CLAUDE*` but for the operator's own.
pub fn is_scrubbed(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name == b"AI_AGENT" || (name.starts_with(b"CLAUDE") && !OPERATORS.iter().any(|own| name.starts_with(own.as_bytes())))
}

/// A message to the agent. Its receipts bear the uuid, and a session takes a message of a uuid it knows only once.
pub fn user_message(uuid: &str, text: &str) -> String {
    line(json!({
        "type": "user",
        "uuid": uuid,
        "message": { "role": "user", "content": text },
    }))
}

/// Asks what the agent knows: its commands, models, agents. Answered by a control reply of this id, before any request to the API.
pub fn initialize(request_id: &str) -> String {
    line(json!({
        "type": "control_request",
        "request_id": request_id,
        "request": { "subtype": "initialize" },
    }))
}

/// Ends the turn at once; the process stays for the next message. Answered by a control reply of this id.
pub fn interrupt(request_id: &str) -> String {
    line(json!({
        "type": "control_request",
        "request_id": request_id,
        "request": { "subtype": "interrupt" },
    }))
}

/// Lets the agent use the tool as it asked.
pub fn permission_allow(request_id: &str) -> String {
    permission(request_id, json!({ "behavior": "allow" }))
}

/// Lets the agent use the tool with another input, such as `AskUserQuestion` with its answers.
pub fn permission_allow_with(request_id: &str, input: &Value) -> String {
    permission(request_id, json!({ "behavior": "allow", "updatedInput": input }))
}

/// Refuses; the agent is shown the message and goes on.
pub fn permission_deny(request_id: &str, message: &str) -> String {
    // Without a message the agent would be told of an invalid reply instead.
    let message = if message.is_empty() { "not permitted" } else { message };
    permission(request_id, json!({ "behavior": "deny", "message": message }))
}

fn permission(request_id: &str, decision: Value) -> String {
    line(json!({
        "type": "control_response",
        "response": { "subtype": "success", "request_id": request_id, "response": decision },
    }))
}

/// One line with its line feed. A byte that is no JSON kills the agent in the middle of its turn, so that no line is
/// ever put together by hand.
fn line(message: Value) -> String {
    // JSON escapes control characters: the only line feed is the last byte.
    format!("{message}\n")
}

/// The folder of settings and sessions under this environment: `$CLAUDE_CONFIG_DIR`, else `$HOME/.claude`; `None` if
/// neither variable is set to something.
pub fn config_dir(env: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let set = |name| env(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set(CONFIG_DIR).or_else(|| set("HOME").map(|home| home.join(".claude")))
}

/// The transcript of a session: if there is one, the session began and can be resumed; if not, its id is still free.
///
/// Looks for `projects/*/<session_id>.jsonl`, since the name of a project's folder is ambiguous and a session may run
/// in any. Of several the newest. It appears with the first API request, not with `init`; while a deferred call is
/// pending it exists as well, and the resume then takes no message.
///
/// Returns `None` also for an id that is no plain name, and where the folder cannot be read.
pub fn transcript_exists(config_dir: &Path, session_id: &str) -> Option<PathBuf> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if session_id.is_empty() || !session_id.bytes().all(plain) {
        return None;
    }
    let name = format!("{session_id}.jsonl");
    let projects = std::fs::read_dir(config_dir.join("projects")).ok()?;
    let transcripts = projects.flatten().filter_map(|project| {
        let path = project.path().join(&name);
        let found = path.metadata().ok().filter(|found| found.is_file() && found.len() > 0)?;
        Some((found.modified().ok(), path))
    });
    transcripts.max().map(|(_, path)| path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(invocation: &Invocation) -> Vec<&str> {
        invocation.args.iter().map(|arg| arg.to_str().unwrap()).collect()
    }

    #[test]
    fn start_resume_and_fork_differ_only_in_how_they_name_the_session() {
        let (program, cwd) = (Path::new("claude"), Path::new("/p"));
        let cases = [
            (Invocation::start(program, cwd, "S"), &["--session-id=S"][..]),
            (Invocation::resume(program, cwd, "S"), &["--resume=S"]),
            (Invocation::fork(program, cwd, "S", "N"), &["--resume=S", "--fork-session", "--session-id=N"]),
        ];
        for (invocation, session) in &cases {
            assert_eq!(args(invocation), [&SUPERVISED[..], session].concat());
            assert_eq!(invocation.cwd, cwd);
            assert!(invocation.env_set.contains(&("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS".into(), "1".into())));
        }
    }

    #[test]
    fn options_follow_in_order_and_no_rule_swallows_the_next_argument() {
        let invocation = Invocation::resume(Path::new("claude"), Path::new("/p"), "S")
            .permission_mode("acceptEdits")
            .allowed_tools(DEFAULT_ALLOWED_TOOLS)
            .settings(r#"{"hooks":{}}"#)
            .extra_args(["--model", "x"]);
        assert_eq!(
            args(&invocation)[SUPERVISED.len() + 1..],
            [
                "--permission-mode",
                "acceptEdits",
                "--allowedTools=Bash(ask-post:*)",
                "--allowedTools=Bash(checkpoint:*)",
                "--settings",
                r#"{"hooks":{}}"#,
                "--model",
                "x"
            ]
        );
    }

    #[test]
    fn nothing_of_an_outer_agent_is_inherited_but_folder_and_credentials_are() {
        let names = [
            "PATH",
            "CLAUDECODE",
            "CLAUDE_CODE_SESSION_ID",
            "CLAUDE_PID",
            "CLAUDE_EFFORT",
            "AI_AGENT",
            "CLAUDE_CONFIG_DIR",
            "ANTHROPIC_API_KEY",
            "CLAUDE_CODE_OAUTH_TOKEN",
            "CLAUDE_CODE_USE_BEDROCK",
        ];
        let invocation = Invocation::start(Path::new("claude"), Path::new("/p"), "S")
            .scrub(names)
            .config_dir(Path::new("/c"))
            .env("CLAUDE_CODE_OAUTH_TOKEN", "given by the operator");
        let expected = ["CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_PID", "CLAUDE_EFFORT", "AI_AGENT"];
        assert_eq!(invocation.env_remove, expected);
        assert!(invocation.env_set.contains(&(CONFIG_DIR.into(), "/c".into())));
    }

    #[test]
    fn every_message_is_exactly_one_line_of_json_whatever_the_text() {
        let text = "a\nb\r\u{2028}\u{0}\"\\ é😀 {\"type\":\"user\"}\n";
        for message in [
            user_message("u", text),
            interrupt(text),
            initialize(text),
            permission_allow(text),
            permission_allow_with("r", &json!({"x": text})),
            permission_deny("r", text),
        ] {
            assert_eq!(message.matches('\n').count(), 1);
            assert!(message.ends_with('\n') && !message.contains('\r'));
            serde_json::from_str::<Value>(&message).unwrap();
        }
        let value: Value = serde_json::from_str(&user_message("u", text)).unwrap();
        assert_eq!((&value["uuid"], &value["message"]["content"]), (&json!("u"), &json!(text)));
    }

    #[test]
    fn a_file_that_may_be_read_is_named_so_that_no_other_one_is_meant() {
        assert_eq!(may_read(Path::new("/a b/c-1.json")).as_deref(), Some("Read(//a b/c-1.json)"));
        for path in ["a", "/a/*", "/a/**/b", "/a)b", "/a,b", "/a/[b]", "/a/!b", "/a/b?", "/a\\b"] {
            assert_eq!(may_read(Path::new(path)), None, "{path}");
        }
    }

    #[test]
    fn a_refusal_always_has_a_message() {
        assert!(permission_deny("r", "").contains(r#""message":"not permitted""#));
    }

    #[test]
    fn the_config_folder_is_the_variable_or_the_default_in_the_home() {
        let env = |vars: &'static [(&str, &str)]| move |name: &str| vars.iter().find(|(n, _)| *n == name).map(|(_, v)| OsString::from(v));
        let both = env(&[("CLAUDE_CONFIG_DIR", "/c"), ("HOME", "/h")]);
        assert_eq!(config_dir(both), Some("/c".into()));
        let empty = env(&[("CLAUDE_CONFIG_DIR", ""), ("HOME", "/h")]);
        assert_eq!(config_dir(empty), Some("/h/.claude".into()));
        assert_eq!(config_dir(env(&[])), None);
    }

    #[test]
    fn a_transcript_is_found_in_any_project_and_an_id_leads_nowhere_else() {
        let dir = std::env::temp_dir().join(format!("askbox-transcripts-{}", std::process::id()));
        let project = dir.join("projects/-some-where");
        std::fs::create_dir_all(&project).unwrap();
        std::fs::create_dir_all(dir.join("projects/-other")).unwrap();
        std::fs::write(project.join("s-1.jsonl"), "{}\n").unwrap();
        std::fs::write(project.join("empty.jsonl"), "").unwrap();
        assert_eq!(transcript_exists(&dir, "s-1"), Some(project.join("s-1.jsonl")));
        for id in ["s-2", "empty", "../-some-where/s-1", "", "s-1/", "."] {
            assert_eq!(transcript_exists(&dir, id), None);
        }
        assert_eq!(transcript_exists(Path::new("/nonexistent"), "s-1"), None);
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
