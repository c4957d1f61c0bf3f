//! What every program does alike: reads its arguments, prints words, ends with the documented exit status.
//!
//! Standard output is for what was asked for, standard error for everything else. An error is one line, `error: …`, and one
//! that says what to do next, `hint: …`. A reader that goes away (`| head`) is no error.

use std::ffi::OsString;
use std::io::{self, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use clap::error::{ContextKind, ErrorKind};
use serde::Serialize;

use crate::error::{Error, IoContext, Result};
use crate::id::WorkflowId;
use crate::mailbox::Mailbox;
use crate::text;

/// The exit statuses, as `--help` shows them.
pub const EXIT_CODES: &str = "Exit status:
  0  done
  1  failed: the disk, the system
  2  usage: the arguments do not make sense
  3  no such workflow, question, checkpoint or mailbox
  4  conflict: already pending, answered or claimed; nobody will answer
  5  invalid: a document or an id that does not say what it must
  6  still waiting: the time ran out";

/// Flags of every program.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Common {
    /// The mailbox folder; otherwise $ASKBOX_DIR, otherwise ~/.claude/questions
    #[arg(long, global = true, value_name = "DIR")]
    pub mailbox: Option<PathBuf>,
    /// Print JSON, for programs
    #[arg(long, global = true)]
    pub json: bool,
}

impl Common {
    /// The mailbox, which must exist.
    pub fn open(&self) -> Result<Mailbox> {
        Mailbox::open(Mailbox::locate(self.mailbox.as_deref())?)
    }

    /// The mailbox, made where it is missing.
    pub fn open_or_create(&self) -> Result<Mailbox> {
        Mailbox::open_or_create(Mailbox::locate(self.mailbox.as_deref())?)
    }
}

/// Runs a program: reads its arguments (the first is its name), calls `body` and returns the exit status.
pub fn main<A: Parser>(args: impl IntoIterator<Item = OsString>, body: impl FnOnce(A) -> Result<u8>) -> ExitCode {
    let result = match A::try_parse_from(args) {
        Ok(args) => body(args),
        Err(e) if matches!(e.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => print(&e.render().to_string()).map(|()| 0),
        Err(e) => Err(usage(&e)),
    };
    let status = result.unwrap_or_else(|e| {
        complain(&e);
        e.exit_code()
    });
    ExitCode::from(status)
}

/// clap's own complaint as one of ours: its first paragraph, and its tip or where to read on.
fn usage(e: &clap::Error) -> Error {
    if e.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return Error::usage("no command is given", "see which there are: --help");
    }
    let text = e.render().to_string();
    let paragraph = text.split("\n\n").next().unwrap_or_default();
    let message = paragraph.lines().map(str::trim).collect::<Vec<_>>().join(" ");
    let tip = text.lines().find_map(|l| l.trim().strip_prefix("tip: ")).map(str::to_owned);
    let usage = match e.get(ContextKind::Usage) {
        Some(usage) => usage.to_string().lines().next().unwrap_or_default().replace("Usage: ", ""),
        None => text.lines().find_map(|l| l.strip_prefix("Usage: ")).unwrap_or_default().to_owned(),
    };
    let more = if usage.is_empty() { "see --help".to_owned() } else { format!("usage: {usage}; more with --help") };
    Error::usage(message.strip_prefix("error: ").unwrap_or(&message), tip.map_or(more, |tip| format!("{tip}; more with --help")))
}

/// An error about a flag's value, which is a matter of usage and not of a document.
#[must_use]
pub fn of_flag(flag: &str, error: Error) -> Error {
    match error {
        Error::Invalid { problem, fix, .. } => Error::usage(format!("{flag}: {problem}"), fix),
        other => other,
    }
}

/// `error: …` and `hint: …` on standard error.
pub fn complain(error: &Error) {
    say(&format!("error: {}\nhint: {}\n", message(error), text::one_line(&error.hint())));
}

/// An error's message on one line; a document that has no file of its own is not named.
#[must_use]
pub fn message(error: &Error) -> String {
    let message = error.to_string();
    text::one_line(message.strip_prefix("-: ").unwrap_or(&message))
}

/// `warning: …` on standard error.
pub fn warn(warning: &str) {
    say(&format!("warning: {}\n", text::one_line(warning)));
}

/// Words for the human on standard error. That nobody listens is no error.
pub fn say(words: &str) {
    let _ = io::stderr().write_all(words.as_bytes());
}

/// Prints to standard output as it is. A reader that went away is no error.
pub fn print(words: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(words.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        // Not the mailbox's trouble: nothing is taken back because of it.
        Err(e) => Err(Error::failed(
            format!("cannot write to standard output: {e}"),
            "what was asked for may be done all the same: look before you repeat it",
        )),
        Ok(()) => Ok(()),
    }
}

/// Prints words for people: what could drive a terminal is taken out.
pub fn print_words(words: &str) -> Result<()> {
    print(&text::printable(words))
}

/// Prints a value and a newline: to the letter into a pipe or file, harmless on a terminal.
pub fn print_value(value: &str) -> Result<()> {
    let value = if io::stdout().is_terminal() { text::printable(value) } else { value.to_owned() };
    print(&format!("{value}\n"))
}

/// Prints one line of JSON, in which whatever could drive a terminal is escaped.
pub fn print_json(value: &impl Serialize) -> Result<()> {
    let json = String::from_utf8_lossy(&crate::document::to_json(value)?).into_owned();
    print(&format!("{}\n", text::escape_json(&json)))
}

/// A workflow id as somebody typed it.
pub fn workflow(id: &str) -> Result<WorkflowId> {
    id.parse()
}

/// A workflow id from the environment. Unset and empty are the same.
pub fn workflow_from_env(name: &str) -> Result<Option<WorkflowId>> {
    let Some(value) = env(name) else { return Ok(None) };
    value.parse().map(Some).map_err(|e| match e {
        Error::Invalid { file, problem, fix, .. } => Error::Invalid { file, field: format!("${name}"), problem, fix },
        other => other,
    })
}

/// The id given, else `$WORKFLOW_ID`, else `$ASKBOX_WORKFLOW_ID`.
pub fn workflow_or_env(given: Option<&str>) -> Result<Option<WorkflowId>> {
    match given {
        Some(id) => workflow(id).map(Some),
        None => Ok(workflow_from_env("WORKFLOW_ID")?.or(workflow_from_env("ASKBOX_WORKFLOW_ID")?)),
    }
}

/// A variable of the environment that is not empty.
#[must_use]
pub fn env(name: &str) -> Option<String> {
    std::env::var_os(name).filter(|v| !v.is_empty()).map(|v| v.to_string_lossy().into_owned())
}

/// Who sits here: `$USER`, `$LOGNAME`, else the user's number.
#[must_use]
pub fn user() -> String {
    env("USER").or_else(|| env("LOGNAME")).unwrap_or_else(|| format!("user {}", rustix::process::geteuid().as_raw()))
}

/// Whether a human sits at this terminal and can be asked.
#[must_use]
pub fn is_interactive() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// Reads what the user named: a file, a pipe, or `-` for standard input; never more than `limit` bytes.
pub fn read_input(path: &Path, limit: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut read = |source: &mut dyn Read| source.take(limit + 1).read_to_end(&mut bytes).io("read", path);
    if path == Path::new("-") {
        read(&mut io::stdin().lock())?;
    } else {
        read(&mut std::fs::File::open(path).map_err(|e| missing_input(path, e))?)?;
    }
    if bytes.len() as u64 > limit {
        let fix = "shorten it, or put the bulk into a file of its own and name its path";
        return Err(in_input(path, Error::invalid("file", format!("is longer than the limit of {limit} bytes"), fix)));
    }
    Ok(bytes)
}

/// Names the input in an error about what it holds.
#[must_use]
pub fn in_input(path: &Path, error: Error) -> Error {
    error.in_file(if path == Path::new("-") { Path::new("standard input") } else { path })
}

fn missing_input(path: &Path, source: io::Error) -> Error {
    if source.kind() == io::ErrorKind::NotFound {
        return Error::not_found(format!("there is no file {}", path.display()), "check the path; `-` reads standard input");
    }
    Error::Io { action: "open", path: path.to_path_buf(), source }
}

/// Reads text from standard input, without its last newline.
pub fn read_stdin_text(limit: u64) -> Result<String> {
    let bytes = read_input(Path::new("-"), limit)?;
    let mut text = String::from_utf8(bytes).map_err(|e| {
        let problem = format!("is no UTF-8 (byte {})", e.utf8_error().valid_up_to());
        in_input(Path::new("-"), Error::invalid("text", problem, "send text in UTF-8"))
    })?;
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    Ok(text)
}
