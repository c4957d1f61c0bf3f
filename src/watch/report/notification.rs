//! Notifying the user through the operator's program, `notify.command`.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::config::Config;
use crate::mailbox::QuestionDocument;
use crate::run::process::handle::ProcessHandle;
use crate::text;

/// A notification program that runs longer is killed.
const TIME_LIMIT: Duration = Duration::from_secs(30);

/// Starts the notification program, if one is configured, with the question on its standard input. Returns at once: a program that
/// fails or hangs does no harm.
pub(in crate::watch) fn send(config: &Config, event: &str, document: &QuestionDocument) {
    let Some((program, args)) = config.notify.command.split_first() else { return };
    let child = Command::new(program)
        .args(args)
        .arg(event)
        .env("ASKBOX_EVENT", event)
        .env("ASKBOX_WORKFLOW_ID", document.typed.workflow_id.as_str())
        .env("ASKBOX_QUESTION", text::excerpt(&document.typed.title(), 400))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(e) => return tracing::error!("notify.command: {program}: {e}"),
    };
    let (stdin, bytes) = (child.stdin.take(), document.to_bytes());
    std::thread::spawn(move || {
        let process = ProcessHandle::open(child.id());
        // The program may never read its standard input, so this thread must not wait for the write.
        std::thread::spawn(move || {
            let _ = stdin.map(|mut s| s.write_all(&bytes));
        });
        if process.as_ref().is_some_and(|p| !p.wait_gone(TIME_LIMIT)) {
            let _ = child.kill();
        }
        let _ = child.wait();
    });
}
