//! What a run asks for: one call of a program of askbox.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub use crate::process::launch::FENCE;
/// The environment variable with the workflow for which a program works, in front of the fence.
pub const ASKS_FOR: &str = "ASKBOX_ASKS_FOR";
/// Its value for a person's session, which belongs to no workflow.
pub const ANY: &str = "*";

/// The name of the request, before and after it was taken.
pub const ASKED: &str = "request.json";
pub(crate) const TAKEN: &str = "taken.json";
/// The pipe of the standard input.
pub const INPUT: &str = "in";
/// The pipe of the standard output.
pub const OUTPUT: &str = "out";
/// The pipe of the standard error.
pub const ERRORS: &str = "err";
/// The pipe that tells how the call stands.
pub const END: &str = "end";
/// The word in `end` that says that the request was taken, in front of the status.
pub const IS_TAKEN: u8 = b't';

/// The largest request, in bytes. The system allows 2 MiB of arguments.
pub const LARGEST: u64 = 4 << 20;

/// A call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// The program's name.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// The working folder.
    pub cwd: PathBuf,
    /// The variables of the caller that the program reads.
    pub env: Vec<(String, String)>,
    /// True if the pipe `in` holds its standard input.
    pub has_input: bool,
}

/// True if this call may read its standard input. Otherwise that is left alone: in a loop of a shell it belongs to `read`.
pub fn reads_input(program: &str, args: &[String]) -> bool {
    let names_it = |arg: &String| arg == "-" || arg == "--batch" || arg.ends_with("=-") || arg.ends_with("/dev/stdin");
    program == "askbox-mcp" || args.iter().any(|arg| names_it(arg) || ["hook", "save"].contains(&arg.as_str()))
}

/// The variables that a caller may set: the workflow that it means, its own name, and what its agent says of its session.
pub const VARIABLES: [&str; 8] = [
    "WORKFLOW_ID",
    "ASKBOX_ASKED_BY",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_SESSION_ATTENDED",
    "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS",
    "CLAUDE_PID",
    "NO_COLOR",
    "COLUMNS",
];

/// True if a run may have this call made for it.
pub fn may_be_asked(program: &str, args: &[String]) -> bool {
    let names_a_mailbox = |arg: &String| arg == "--mailbox" || arg.starts_with("--mailbox=");
    let command = args.iter().find(|arg| !arg.starts_with('-')).map_or("", String::as_str);
    let is_known = match program {
        "ask-post" | "checkpoint" | "askbox-mcp" => true,
        // Its other flags are for processes that askbox itself starts.
        "askbox" if command == "hook" => {
            args.iter().all(|arg| !["--receipt", "--left", "--ended", "--from"].iter().any(|flag| arg.starts_with(flag)))
        }
        "askbox" => command == "once",
        "relaunch" => ["spawn", "resume", "wait", "status", "logs", "events", "stop"].contains(&command),
        _ => false,
    };
    is_known && !args.iter().any(names_a_mailbox)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_decides_or_names_another_mailbox_may_be_asked() {
        let may = |words: &str| {
            let mut words = words.split(' ').map(str::to_owned);
            let program = words.next().unwrap_or_default();
            may_be_asked(&program, &words.collect::<Vec<_>>())
        };
        for call in [
            "ask-post -w w Which?",
            "checkpoint save w",
            "askbox once call",
            "askbox hook --ask Bash",
            "relaunch --json spawn f.md",
            "askbox-mcp mcp",
        ] {
            assert!(may(call), "{call}");
        }
        for call in [
            "ask-answer w yes",
            "ask-post -w w --mailbox /tmp/m Which?",
            "checkpoint --mailbox=/tmp/m save w",
            "relaunch w",
            "relaunch pause",
            "relaunch approve w",
            "relaunch supervise w q 1",
            "relaunch exec w -- sh",
            "askbox gc",
            "askbox setup",
            "askbox hook --receipt w/q",
            "askbox hook --left=w --ended given",
            "askbox-web",
            "sh -c true",
            "../../bin/sh",
        ] {
            assert!(!may(call), "{call}");
        }
    }
}
