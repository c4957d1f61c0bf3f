//! Whether the agent's shell finds the programs of askbox. An agent that does not find `ask-post` cannot ask, and may end its turn as if
//! it had asked.

use std::path::{Path, PathBuf};

use crate::process::programs;
use askbox_agent::claude::SettingsPath;

/// The programs that an agent calls by name.
const PROGRAMS: [&str; 4] = ["ask-post", "checkpoint", "relaunch", "ask-answer"];

/// A PATH of the agent's settings that hides askbox's programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HiddenBy {
    /// The settings file that sets the PATH.
    pub file: PathBuf,
    /// The folder of the programs, which the PATH lacks.
    pub missing: PathBuf,
    /// The PATH with that folder at its end.
    pub mended: String,
}

impl HiddenBy {
    /// Looks at the settings of an agent in this folder. `None` if they set no PATH, or one with which `ask-post` is found.
    pub fn settings_of(config_dir: &Path, folder: &Path) -> Option<Self> {
        let SettingsPath { file, path } = SettingsPath::in_force(config_dir, folder).filter(|path| path.lacks(PROGRAMS[0]))?;
        let missing = programs::relaunch().ok()?.parent()?.to_path_buf();
        let mended = std::env::join_paths(std::env::split_paths(&path).chain([missing.clone()])).ok()?.into_string().ok()?;
        Some(Self { file, missing, mended })
    }
}

/// Finds the program of askbox that a shell did not find, in the output of a command. Each shell has its own words for that.
pub fn not_found_in(output: &str) -> Option<&'static str> {
    if !output.contains("not found") {
        return None;
    }
    let is_said = |program: &&str| {
        output.lines().map(str::trim_end).any(|line| {
            let of_a_shell = |rest: Option<&str>| rest.is_some_and(|before| before.ends_with(": "));
            of_a_shell(line.strip_suffix(&format!("{program}: command not found")))
                || of_a_shell(line.strip_suffix(&format!("{program}: not found")))
                || line.ends_with(&format!(": command not found: {program}"))
        })
    };
    PROGRAMS.into_iter().find(is_said)
}

/// The name of one of askbox's programs, in a file. Another name in the file reads as none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct ProgramName(pub Option<&'static str>);

impl<'de> serde::Deserialize<'de> for ProgramName {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let name: Option<String> = serde::Deserialize::deserialize(from)?;
        Ok(Self(name.and_then(|name| PROGRAMS.into_iter().find(|program| *program == name))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_each_shell_are_known() {
        for (said, program) in [
            ("Exit code 127\n/bin/bash: line 1: ask-post: command not found", Some("ask-post")),
            ("sh: 1: checkpoint: not found\nmore", Some("checkpoint")),
            ("zsh:1: command not found: relaunch", Some("relaunch")),
            ("ask-post: w does not exist: not found", None),
            ("/bin/bash: line 1: my-ask-post: command not found", None),
            ("/bin/bash: line 1: jq: command not found", None),
            ("the page says `ask-post: command not found` in its text", None),
            ("", None),
        ] {
            assert_eq!(not_found_in(said), program, "{said}");
        }
    }
}
