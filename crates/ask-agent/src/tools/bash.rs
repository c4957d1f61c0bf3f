//! `Bash`: a shell command.

use std::time::Duration;

use crate::host::Host;
use crate::outcome::Outcome;
use crate::process::{self, Output};
use askbox_mailbox::error::Result;

/// How long a command may take, in milliseconds, if neither the call nor `$BASH_DEFAULT_TIMEOUT_MS` says.
const USUAL: u64 = 120_000;
const LONGEST: u64 = 600_000;
/// The most bytes of output that the model reads.
const OUTPUT: usize = 30_000;

/// Runs a command. `timeout` is in milliseconds.
pub(super) fn run(host: &mut Host, command: &str, timeout: Option<u64>) -> Result<Outcome> {
    let usual = || std::env::var("BASH_DEFAULT_TIMEOUT_MS").ok().and_then(|ms| ms.parse().ok()).unwrap_or(USUAL);
    let limit = Duration::from_millis(timeout.unwrap_or_else(usual).clamp(1, LONGEST));
    let cwd = host.cwd.clone();
    let ran = process::shell(host, command, "", &cwd, Output::Together, limit)?;
    let output = shorten(ran.stdout.trim_end(), OUTPUT);
    Ok(match (ran.status, ran.cut) {
        (0, None) => Outcome::ok(output),
        (status, None) => Outcome::error(format!("Exit code {status}\n{output}")),
        (status, Some(why)) => Outcome::error(format!("Exit code {status}\nCommand was ended: {why}\n{output}")),
    })
}

/// The middle of a long text is left out.
fn shorten(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let (head, tail) = (text.floor_char_boundary(most / 2), text.floor_char_boundary(text.len() - most / 2));
    format!("{}\n… [{} bytes are left out] …\n{}", &text[..head], tail - head, &text[tail..])
}
