//! The version of the agent program, if the program is `claude`.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde::Serialize;

use crate::commands::doctor::checkup::Checkup;
use crate::commands::doctor::installation::last_words;
use askbox_agent::claude::Version;
use askbox_mailbox::{text, thread};
use askbox_run::process::programs;

/// The maximum time that the program may take to print its version. The real one takes a tenth of a second.
const PATIENCE: Duration = Duration::from_secs(20);
/// The maximum number of bytes that are read of the program's output.
const LONGEST: u64 = 4096;

/// The agent program and its version.
#[derive(Debug, Serialize)]
pub(in crate::commands::doctor) struct AgentVersion {
    /// The path of the program.
    program: PathBuf,
    /// Its version, such as `2.1.330`. Missing if the program did not print one in time.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    /// True if askbox's tests ran on this version.
    tested: bool,
    /// The abilities that this version lacks, in sentences.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    lacks: Vec<&'static str>,
}

/// Asks `claude` for its version. A `claude` that ended at once is a problem.
pub(in crate::commands::doctor) fn look(checkup: &mut Checkup) {
    checkup.facts.agent = known(checkup);
}

/// The version of the program of Claude Code's runner. `None` if the program is missing or is not `claude`.
fn known(checkup: &mut Checkup) -> Option<AgentVersion> {
    let (name, runner) = checkup.config.runner.of_claude()?;
    let program = programs::find(Path::new(&runner.program)).ok()?;
    if program.file_name()? != "claude" {
        return None;
    }
    let (said, last_words) = heard(&program).unwrap_or_default();
    let version = Version::parse(&said);
    if version.is_none() && !last_words.is_empty() {
        let command = format!("{} --version", text::path_word(&program));
        let said = format!("`{command}` ended at once and named no version{last_words}");
        checkup.report("agent_cannot_start", format!("runner.{name}.program"), said, command);
    }
    Some(AgentVersion {
        tested: version.is_some_and(Version::is_tested),
        lacks: version.map(|version| version.lacks().collect()).unwrap_or_default(),
        version: version.map(|version| version.to_string()),
        program,
    })
}

/// The version that this program of `claude` prints.
pub(in crate::commands::doctor) fn of_program(program: &Path) -> Option<Version> {
    said(program).and_then(|said| Version::parse(&said))
}

/// The output of `--version`.
pub(in crate::commands::doctor) fn said(program: &Path) -> Option<String> {
    heard(program).map(|(said, _)| said)
}

/// The output of `--version`, and the last words on standard error.
fn heard(program: &Path) -> Option<(String, String)> {
    let mut call = Command::new(program);
    let mut child = call.arg("--version").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().ok()?;
    let complaint = last_words::read(child.stderr.take());
    let output = child.stdout.take()?;
    let (sender, receiver) = mpsc::channel();
    let reads = thread::start(move || {
        let mut text = String::new();
        let _ = output.take(LONGEST).read_to_string(&mut text);
        let _ = sender.send(text);
    });
    let said = reads.ok().and_then(|_| receiver.recv_timeout(PATIENCE).ok());
    let _ = child.kill();
    let _ = child.wait();
    Some((said?, complaint.words()))
}

impl AgentVersion {
    /// The version in words, for people.
    pub(in crate::commands::doctor) fn words(&self) -> String {
        let path = text::file_name(&self.program);
        let Some(version) = &self.version else {
            return format!("The agent program {path} does not say its version.\n");
        };
        let tested = if self.tested { "one of the versions that askbox was tested with" } else { "which askbox was not tested with" };
        let mut out = format!("The agent program is claude {version} ({path}), {tested}.\n");
        self.lacks.iter().for_each(|lack| out.push_str(&format!("  With this version, {lack}.\n")));
        out
    }
}
