//! The version of the agent program, if the program is `claude`.

use std::io::{self, Read};
use std::path::Path;
use std::process::{ChildStdout, Command};
use std::time::Duration;

use serde_json::json;

use crate::commands::doctor::checkup::Checkup;
use crate::commands::doctor::installation::asked::Asked;
use askbox_agent::claude::Version;
use askbox_mailbox::text;
use askbox_run::programs;

/// The maximum time that the program may take to print its version. The real one takes a tenth of a second.
const PATIENCE: Duration = Duration::from_secs(20);
/// The maximum number of bytes that are read of the program's output.
const LONGEST: u64 = 4096;

/// Asks `claude` for its version, and shows it. A `claude` that ended at once is a problem.
pub(in crate::commands::doctor) fn look(checkup: &mut Checkup) {
    let Some((name, runner)) = checkup.config.runner.of_claude() else { return };
    let Ok(program) = programs::find(Path::new(&runner.program)) else { return };
    if program.file_name().is_none_or(|name| name != "claude") {
        return;
    }
    let (said, last_words) = heard(&program).unwrap_or_default();
    let version = Version::parse(&said);
    if version.is_none() && !last_words.is_empty() {
        let command = format!("{} --version", text::path_word(&program));
        let said = format!("`{command}` ended at once and named no version{last_words}");
        checkup.report("agent_cannot_start", format!("runner.{name}.program"), said, command);
    }
    let (tested, path) = (version.is_some_and(Version::is_tested), text::file_name(&program));
    let Some(version) = version else {
        let words = format!("The agent program {path} does not say its version.\n");
        return checkup.facts.add("agent", &json!({ "program": program, "tested": tested }), words);
    };
    let whether = if tested { "one of the versions that askbox was tested with" } else { "which askbox was not tested with" };
    let mut words = format!("The agent program is claude {version} ({path}), {whether}.\n");
    let mut fact = json!({ "program": program, "version": version.to_string(), "tested": tested });
    let lacks: Vec<_> = version.lacks().collect();
    if !lacks.is_empty() {
        words.extend(lacks.iter().map(|lack| format!("  With this version, {lack}.\n")));
        fact["lacks"] = json!(lacks);
    }
    checkup.facts.add("agent", &fact, words);
}

/// The output of `--version`.
pub(in crate::commands::doctor) fn said(program: &Path) -> Option<String> {
    heard(program).map(|(said, _)| said)
}

/// The output of `--version`, and the last words on standard error.
fn heard(program: &Path) -> Option<(String, String)> {
    let mut asked = Asked::start(Command::new(program).arg("--version")).ok()?;
    let read = |input, output: ChildStdout| {
        drop(input);
        io::read_to_string(output.take(LONGEST)).ok()
    };
    let said = asked.hear(PATIENCE, read).ok()?;
    Some((said, asked.last_words()))
}
