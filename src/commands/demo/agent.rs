//! The demo's agent: a script instead of a model, with the protocol that askbox speaks with claude. Its commands are exactly those that an
//! agent would type.
//!
//! The agent is launched with claude's arguments, reads user messages from standard input, follows the script, and exits when its input
//! ends. Its commands run in a real shell.

use std::ffi::OsString;
use std::io::{BufRead, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use uuid::Uuid;

/// The hidden command. The launcher puts claude's arguments before it.
pub const WORD: &str = "demo-agent";
/// The variable for the pause between two steps, in milliseconds.
pub const PACE: &str = "ASKBOX_DEMO_PACE";

/// True if these arguments call the demo's agent: the program's name, claude's arguments, and [`WORD`] at the end.
pub fn is_called(args: &[OsString]) -> bool {
    args.len() > 1 && args.last().is_some_and(|last| last == WORD) && (args[1] == "-p" || args.len() == 2)
}

/// Runs the agent until its input ends.
pub fn run(args: &[OsString]) -> u8 {
    let option = |name: &str| args.iter().filter_map(|a| a.to_str()?.strip_prefix(name)).next_back().map(str::to_owned);
    let mut agent = Agent {
        session: option("--session-id=").unwrap_or_else(|| Uuid::new_v4().to_string()),
        pace: std::env::var(PACE).ok().and_then(|ms| ms.parse().ok()).map_or(Duration::ZERO, Duration::from_millis),
        calls: 0,
    };
    for line in std::io::stdin().lock().lines() {
        let Ok(message) = line.map_err(drop).and_then(|l| serde_json::from_str::<Value>(&l).map_err(drop)) else { return 1 };
        if message["type"] == "user" && agent.turn(&message).is_err() {
            // The reader of the output is gone.
            return 1;
        }
    }
    0
}

struct Agent {
    session: String,
    pace: Duration,
    calls: usize,
}

impl Agent {
    fn turn(&mut self, message: &Value) -> std::io::Result<()> {
        let began = Instant::now();
        let receipt = |state: &str| json!({"type": "command_lifecycle", "command_uuid": message["uuid"], "state": state});
        self.emit(receipt("queued"))?;
        self.emit(receipt("started"))?;
        self.emit(json!({
            "type": "system", "subtype": "init", "model": "a script",
            "permissionMode": "default", "cwd": std::env::current_dir().unwrap_or_default(),
        }))?;
        let prompt = message["message"]["content"].as_str().unwrap_or_default();
        let (mut last, mut failed) = (String::new(), false);
        for step in script(prompt.starts_with("Resume workflow from checkpoint at ")) {
            std::thread::sleep(self.pace);
            match step {
                Step::Say(text) => {
                    self.assistant(json!({"type": "text", "text": text}))?;
                    last = (*text).to_owned();
                }
                Step::Bash(command) => (last, failed) = self.bash(command)?,
            }
            if failed {
                break;
            }
        }
        self.emit(json!({
            "type": "result", "subtype": "success", "is_error": failed, "result": last, "terminal_reason": "completed",
            "stop_reason": "end_turn", "num_turns": 1, "duration_ms": u64::try_from(began.elapsed().as_millis()).unwrap_or(0),
            "usage": {"input_tokens": 0, "output_tokens": 0},
        }))?;
        self.emit(receipt("completed"))
    }

    /// Runs a command. Returns its output, and true if the command failed.
    fn bash(&mut self, command: &str) -> std::io::Result<(String, bool)> {
        self.calls += 1;
        let id = format!("demo_{}", self.calls);
        self.assistant(json!({"type": "tool_use", "id": id, "name": "Bash", "input": {"command": command}}))?;
        let output = Command::new("/bin/sh").args(["-euc", command]).stdin(Stdio::null()).output()?;
        let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        let (text, failed) = (text.trim_end().to_owned(), !output.status.success());
        let block = json!({"type": "tool_result", "tool_use_id": id, "content": text, "is_error": failed});
        self.emit(json!({"type": "user", "message": {"role": "user", "content": [block]}}))?;
        Ok((text, failed))
    }

    fn assistant(&self, block: Value) -> std::io::Result<()> {
        self.emit(json!({"type": "assistant", "message": {"role": "assistant", "content": [block]}}))
    }

    fn emit(&self, mut line: Value) -> std::io::Result<()> {
        line["session_id"] = self.session.as_str().into();
        line["uuid"] = Uuid::new_v4().to_string().into();
        let mut out = std::io::stdout().lock();
        writeln!(out, "{line}")?;
        out.flush()
    }
}

/// The demo's workflow.
pub const WORKFLOW: &str = "docs-42";
/// The document that the agent edits.
pub const GUIDE: &str = "# Guide\n\n## Errors\n\nA failed request is reported in the log.\n";
/// The user's task for the agent.
pub const TASK: &str = "Add a section on retries to guide.md.";
/// The answer that `--auto` gives.
pub const AUTO: &str = "merge";

/// One step of the agent.
#[derive(Debug, Clone, Copy)]
pub enum Step {
    /// The agent says something.
    Say(&'static str),
    /// The agent calls its shell.
    Bash(&'static str),
}

/// The script of the first process, or of the one that goes on with the answer.
pub fn script(goes_on: bool) -> &'static [Step] {
    if goes_on { &GO_ON } else { &BEGIN }
}

const BEGIN: [Step; 5] = [
    Step::Bash(
        "cp guide.md guide.md.bak
printf '## Retries\\n\\nA failed request is tried again, three times at most.\\n' > proposed.md",
    ),
    Step::Say("The draft is in proposed.md. It overlaps with an existing section. The user must decide, and I cannot ask them directly."),
    Step::Bash(
        "checkpoint save docs-42 --step review --completed draft --completed backup --pending apply \\
  --file-ref guide=guide.md --file-ref backup=guide.md.bak --file-ref proposed=proposed.md \\
  --context 'The new section Retries overlaps with Errors.' --next-action 'apply the choice to guide.md'",
    ),
    Step::Bash(
        "ask-post 'The new section Retries overlaps with Errors. How should we proceed?' -w docs-42 --asked-by demo-agent \\
  -o merge='Put the retries into Errors' -o separate='Keep two sections' -o link='Two sections, with a cross-reference'",
    ),
    Step::Say("The question is posted and my state is saved, so I exit. No process waits for the answer."),
];

const GO_ON: [Step; 4] = [
    Step::Say("I am a new process. All that I know is the checkpoint and the answer."),
    Step::Bash("checkpoint show docs-42"),
    Step::Bash(
        "eval \"$(checkpoint env docs-42)\"
case \"$USER_ANSWER\" in
  merge) tail -n +3 \"$FILE_PROPOSED\" >> \"$FILE_GUIDE\" ;;
  separate) { echo; cat \"$FILE_PROPOSED\"; } >> \"$FILE_GUIDE\" ;;
  link) { echo 'See Retries.'; echo; cat \"$FILE_PROPOSED\"; echo 'See Errors.'; } >> \"$FILE_GUIDE\" ;;
  '') : ;; # declined: leave the guide alone
  *) { echo; cat \"$FILE_PROPOSED\"; printf '(%s)\\n' \"$USER_ANSWER\"; } >> \"$FILE_GUIDE\" ;;
esac",
    ),
    Step::Bash(
        "checkpoint step docs-42 done
eval \"$(checkpoint env docs-42)\"
echo \"guide.md is ready; the answer was: ${USER_ANSWER:-(declined)}\"",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_claudes_own_arguments_before_the_word_call_the_agent() {
        let is = |words: &str| is_called(&words.split(' ').map(OsString::from).collect::<Vec<_>>());
        assert!(is("askbox demo-agent") && is("askbox -p --session-id=x demo-agent"));
        assert!(!is("askbox init --man demo-agent") && !is("askbox demo-agent --help") && !is("demo-agent"));
    }
}
