//! The command line and the environment of a launch of `claude`, and the variables that `claude` itself uses.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::caller_env::is_of_the_caller;

/// The variable that names the folder of settings and sessions.
pub const CONFIG_DIR: &str = "CLAUDE_CONFIG_DIR";

/// The folder of settings and sessions: `$CLAUDE_CONFIG_DIR`, else `$HOME/.claude`. `None` if both variables are missing or empty.
pub fn config_dir(env: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let set = |name| env(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set(CONFIG_DIR).or_else(|| set("HOME").map(|home| home.join(".claude")))
}

/// Variables (or their prefixes) among `CLAUDE*` that the operator sets: settings, credentials, switches.
const SET_BY_OPERATOR: [&str; 11] = [
    CONFIG_DIR,
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_USE_",
    "CLAUDE_CODE_SKIP_",
    "CLAUDE_CODE_DISABLE_",
    "CLAUDE_CODE_MAX_",
    "CLAUDE_CODE_RETRY_",
    "CLAUDE_CODE_ENABLE_TELEMETRY",
    "CLAUDE_CODE_ENHANCED_TELEMETRY_",
    "CLAUDE_CODE_OTEL_",
    "CLAUDE_CODE_PROPAGATE_TRACEPARENT",
];

/// True if an outer agent sets this variable for the programs that it runs: `AI_AGENT`, and `CLAUDE*` except for the variables that the
/// operator sets.
pub fn is_inherited_from_agent(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name == b"AI_AGENT" || (name.starts_with(b"CLAUDE") && !SET_BY_OPERATOR.iter().any(|own| name.starts_with(own.as_bytes())))
}

/// True if the service manager sets this variable for the watcher alone: its sockets, its log and its watchdog. A program that the
/// agent runs could otherwise report in the watcher's name (systemd: sd_notify(3), sd_listen_fds(3), systemd.exec(5)).
fn is_of_the_service(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    let of = |prefix: &[u8]| name.starts_with(prefix);
    matches!(name, b"NOTIFY_SOCKET" | b"JOURNAL_STREAM") || of(b"WATCHDOG_") || of(b"LISTEN_") || of(b"MEMORY_PRESSURE_")
}

/// True if this variable is the place of this process in a trace. The agent is in the trace of its round. The trace of the program that
/// started the watcher does not concern it.
fn is_place_in_a_trace(name: &OsStr) -> bool {
    matches!(name.as_encoded_bytes(), b"TRACEPARENT" | b"TRACESTATE")
}

/// Options of every launch: stream-json on stdin and stdout, each piece of an answer as it is generated, and permission requests on
/// stdout.
const SUPERVISED: [&str; 9] = [
    "-p",
    "--input-format",
    "stream-json",
    "--output-format",
    "stream-json",
    "--verbose",
    "--include-partial-messages",
    "--permission-prompt-tool",
    "stdio",
];

/// How to launch the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation {
    /// A path, or a name to look up on PATH.
    pub program: PathBuf,
    /// Its arguments, without the program's name.
    pub args: Vec<OsString>,
    /// Variables that the agent must not inherit.
    pub env_remove: Vec<OsString>,
    /// Variables that are set, after the removal.
    pub env_set: Vec<(OsString, OsString)>,
}

impl Invocation {
    /// `session` are options in the `=` form, so that an id is never read as an option.
    fn new(program: &Path, session: &[String]) -> Self {
        let args = SUPERVISED.iter().map(OsString::from).chain(session.iter().map(OsString::from)).collect();
        // A background task would outlive the turn, and a deferred question would be lost.
        let env_set = vec![("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS".into(), "1".into())];
        Self { program: program.into(), args, env_remove: Vec::new(), env_set }
    }

    /// A plain program, without arguments.
    pub fn plain(program: &Path) -> Self {
        Self { program: program.into(), args: Vec::new(), env_remove: Vec::new(), env_set: Vec::new() }
    }

    /// A new session under this id, a UUID. `claude` refuses the id if a session with it exists in this folder.
    pub fn start(program: &Path, session_id: &str) -> Self {
        Self::new(program, &[format!("--session-id={session_id}")])
    }

    /// Continues a session. The session keeps only its model and its system prompt: give all other options again.
    pub fn resume(program: &Path, session_id: &str) -> Self {
        Self::new(program, &[format!("--resume={session_id}")])
    }

    /// [`Invocation::resume`] without the entries behind this one. They stay in the transcript, beside the new ones.
    pub fn resume_behind(program: &Path, session_id: &str, entry: &str) -> Self {
        Self::new(program, &[format!("--resume={session_id}"), format!("--resume-session-at={entry}")])
    }

    /// Continues a copy of session `from` under the id `new`; the original stays as it is.
    pub fn fork(program: &Path, from: &str, new: &str) -> Self {
        let session = [format!("--resume={from}"), "--fork-session".into(), format!("--session-id={new}")];
        Self::new(program, &session)
    }

    fn with(mut self, option: &str, value: impl Into<OsString>) -> Self {
        self.args.extend([option.into(), value.into()]);
        self
    }

    /// `acceptEdits`, `auto`, `bypassPermissions`, `manual`, `dontAsk` or `plan`.
    pub fn permission_mode(self, mode: &str) -> Self {
        self.with("--permission-mode", mode)
    }

    /// Rules for tools that need no permission, such as [`DEFAULT_ALLOWED_TOOLS`](crate::claude::DEFAULT_ALLOWED_TOOLS).
    pub fn allowed_tools<S: AsRef<str>>(mut self, rules: impl IntoIterator<Item = S>) -> Self {
        // One argument for each rule, in the `=` form, because the option takes any number of arguments and would take those that
        // follow too.
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

    /// Removes the variables that an outer agent set (see [`is_inherited_from_agent`]), those that the service manager meant for the
    /// watcher alone, those that the caller meant for itself, and the place of this process in a trace. `names` are the variables of this process.
    pub fn scrub<S: Into<OsString>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        let is_removed = |name: &OsString| {
            is_inherited_from_agent(name) || is_of_the_service(name) || is_of_the_caller(name) || is_place_in_a_trace(name)
        };
        self.env_remove.extend(names.into_iter().map(Into::into).filter(is_removed));
        self
    }

    /// Sets a variable, even if [`scrub`](Self::scrub) removes it.
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        let name = name.into();
        self.env_remove.retain(|removed| *removed != name);
        self.env_set.retain(|(set, _)| *set != name);
        self.env_set.push((name, value.into()));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claude::DEFAULT_ALLOWED_TOOLS;

    #[test]
    fn the_config_folder_is_the_variable_or_the_default_in_the_home() {
        let env = |vars: &'static [(&str, &str)]| move |name: &str| vars.iter().find(|(n, _)| *n == name).map(|(_, v)| OsString::from(v));
        let both = env(&[("CLAUDE_CONFIG_DIR", "/c"), ("HOME", "/h")]);
        assert_eq!(config_dir(both), Some("/c".into()));
        let empty = env(&[("CLAUDE_CONFIG_DIR", ""), ("HOME", "/h")]);
        assert_eq!(config_dir(empty), Some("/h/.claude".into()));
        assert_eq!(config_dir(env(&[])), None);
    }

    fn args(invocation: &Invocation) -> Vec<&str> {
        invocation.args.iter().map(|arg| arg.to_str().unwrap()).collect()
    }

    #[test]
    fn start_resume_and_fork_differ_only_in_naming_the_session() {
        let program = Path::new("claude");
        let cases = [
            (Invocation::start(program, "S"), &["--session-id=S"][..]),
            (Invocation::resume(program, "S"), &["--resume=S"]),
            (Invocation::fork(program, "S", "N"), &["--resume=S", "--fork-session", "--session-id=N"]),
        ];
        for (invocation, session) in &cases {
            assert_eq!(args(invocation), [&SUPERVISED[..], session].concat());
            assert!(invocation.env_set.contains(&("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS".into(), "1".into())));
        }
    }

    #[test]
    fn options_follow_in_order_and_no_rule_swallows_an_argument() {
        let invocation = Invocation::resume(Path::new("claude"), "S")
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
    fn an_outer_agent_and_a_service_leave_only_what_is_the_runs() {
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
            "NOTIFY_SOCKET",
            "WATCHDOG_USEC",
            "JOURNAL_STREAM",
            "LISTEN_FDS",
            "NOTIFY_ME",
            "CLAUDE_CODE_ENABLE_TELEMETRY",
            "OTEL_EXPORTER_OTLP_ENDPOINT",
            "TRACEPARENT",
            "TRACESTATE",
        ];
        let invocation = Invocation::start(Path::new("claude"), "S")
            .scrub(names)
            .env(CONFIG_DIR, "/c")
            .env("CLAUDE_CODE_OAUTH_TOKEN", "given by the operator");
        let of_an_agent = ["CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_PID", "CLAUDE_EFFORT", "AI_AGENT"];
        let expected =
            [&of_an_agent[..], &["NOTIFY_SOCKET", "WATCHDOG_USEC", "JOURNAL_STREAM", "LISTEN_FDS", "TRACEPARENT", "TRACESTATE"]].concat();
        assert_eq!(invocation.env_remove, expected);
        assert!(invocation.env_set.contains(&(CONFIG_DIR.into(), "/c".into())));
    }
}
