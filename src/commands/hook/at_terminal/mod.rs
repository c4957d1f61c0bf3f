//! `askbox hook --from kimi` and `--from gemini`: writes down that a dialog waits at the terminal of a session, and that it has ended. The
//! watcher tells it as news (`[live] news`).
//!
//! Kimi ignores what its hooks print, and Gemini waits for them. So this prints nothing, always ends with status 0, and waits only for the end of its input. Nothing
//! here decides about a call.
//!
//! | file | idea |
//! |---|---|
//! | `kimi`, `gemini` | the events of each program |

mod gemini;
mod kimi;

use std::io::Read;
use std::path::Path;

use serde_json::Value;
use uuid::Uuid;

use askbox_cli::{Context, program};
use askbox_mailbox::audit::{self, Entry};
use askbox_mailbox::dialogs::{self, Dialog, Process, Program};
use askbox_mailbox::platform::processes::Seen;
use askbox_mailbox::{Mailbox, Result};

/// The maximum size of an event, in bytes. A hook after a call gets the call's output.
const LONGEST: u64 = 4 << 20;
/// The begin of the name of this command in the audit. The command of the program follows.
pub(in crate::commands) const BY: &str = "askbox hook --from ";
/// The most processes between the program and this one: shells.
const MOST_SHELLS: usize = 4;
/// The shells that may run a hook.
const SHELLS: [&str; 9] = ["sh", "bash", "dash", "zsh", "ash", "ksh", "mksh", "fish", "busybox"];

/// An event as news about the dialogs of a session.
#[derive(Debug, PartialEq, Eq)]
enum News {
    /// A dialog opens.
    Opens {
        /// The program's own id of the dialog. `None`: the session has one dialog at a time, and this one replaces it.
        id: Option<String>,
        cwd: String,
        tool: String,
        asks: String,
    },
    /// The dialog with this id has ended.
    Ends(String),
    /// The dialogs of the session have ended. After a call, that is only the dialog of this call.
    EndsAll {
        /// The call that was made.
        after: Option<Call>,
    },
}

/// A call that was made.
#[derive(Debug, PartialEq, Eq)]
struct Call {
    /// The command, if the call was one of the shell.
    command: Option<String>,
}

/// Takes an event from standard input. No problem here may disturb the session.
pub(super) fn take(program: Program, context: &Context) {
    let mut bytes = Vec::new();
    // The event is read to its end in any case, so that the program can write it.
    let mut input = std::io::stdin().lock();
    let is_read =
        input.by_ref().take(LONGEST).read_to_end(&mut bytes).and_then(|_| std::io::copy(&mut input, &mut std::io::sink())).is_ok();
    let is_wanted = || context.config().is_ok_and(|config| config.live.news.contains(&program));
    if !is_read || program::env("ASKBOX_RUN").is_some() || !is_wanted() {
        return;
    }
    if let Some((session, news)) = read(program, &bytes) {
        let _ = note(program, &session, news);
    }
}

/// The session of an event, and its news. `None` if the event has none.
fn read(program: Program, event: &[u8]) -> Option<(String, News)> {
    let event = serde_json::from_slice::<Value>(event).ok()?;
    let news = match program {
        Program::Kimi => kimi::read(&event),
        Program::Gemini => gemini::read(&event),
    };
    Some((word(&event, "session_id")?, news?))
}

/// The dialog that an event opens, without its process.
pub(super) fn opened(program: Program, event: &[u8]) -> Option<Dialog> {
    match read(program, event)? {
        (session, News::Opens { cwd, tool, asks, .. }) => Some(Dialog::new(program, &session, &cwd, &tool, &asks, None)),
        _ => None,
    }
}

fn note(program: Program, session: &str, news: News) -> Result<()> {
    // A missing mailbox has no watcher that could tell the news.
    let mailbox = Mailbox::open(Mailbox::locate(None)?)?;
    let id_of = |id: &str| Uuid::new_v5(&Uuid::NAMESPACE_OID, format!("{} {session} {id}", program.command()).as_bytes());
    match news {
        News::Opens { id, cwd, tool, asks } => {
            let id = match id {
                Some(id) => id_of(&id),
                None => {
                    dialogs::close_in(&mailbox, program, session, |_| true)?;
                    Uuid::now_v7()
                }
            };
            let opened = dialogs::open(&mailbox, id, &Dialog::new(program, session, &cwd, &tool, &asks, program_above()));
            opened.inspect_err(|e| {
                audit::record(&mailbox, Entry::about("dialog_not_asked").by(&format!("{BY}{}", program.command())).why(program::message(e)))
            })
        }
        News::Ends(id) => dialogs::close(&mailbox, id_of(&id)),
        News::EndsAll { after: None } => dialogs::close_in(&mailbox, program, session, |_| true),
        News::EndsAll { after: Some(call) } => dialogs::close_in(&mailbox, program, session, |dialog| gemini::was_for(dialog, &call)),
    }
}

/// The process of the program: the nearest one above that is not a shell.
fn program_above() -> Option<Process> {
    let mut pid = rustix::process::getppid()?.as_raw_nonzero().get();
    for _ in 0..MOST_SHELLS {
        let seen = Seen::at(pid)?;
        let is_shell = seen.file().is_some_and(|file| is_shell(&file));
        if !is_shell {
            break;
        }
        pid = seen.parent;
    }
    Process::at(pid)
}

fn is_shell(file: &Path) -> bool {
    file.file_name().is_some_and(|name| SHELLS.iter().any(|shell| name == *shell))
}

/// A field that is a text and not empty.
fn word(of: &Value, name: &str) -> Option<String> {
    of.get(name)?.as_str().filter(|word| !word.is_empty()).map(str::to_owned)
}

/// The name of the file at a path.
fn file(path: &str) -> String {
    Path::new(path).file_name().map_or_else(|| path.to_owned(), |name| name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_between_the_program_and_its_hook_is_left_out() {
        for (file, is_one) in [("/bin/sh", true), ("/usr/bin/bash", true), ("/usr/bin/node", false), ("/opt/sh/kimi", false)] {
            assert_eq!(is_shell(Path::new(file)), is_one, "{file}");
        }
        assert!(program_above().is_some());
    }
}
