//! The paths of the programs `relaunch` and `askbox` and of the agent program.

use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use askbox_config::{Config, Runner, RunnerKind};
use askbox_mailbox::{Error, Result, WorkflowId, text};

/// The path that [`relaunch_is`] was given.
static RELAUNCH: OnceLock<PathBuf> = OnceLock::new();

/// Names the `relaunch` program, which launches every agent. Without a call, the program is looked for beside the running one and then
/// on PATH. Only the first call has an effect.
pub fn relaunch_is(program: impl Into<PathBuf>) {
    let _ = RELAUNCH.set(program.into());
}

/// The path to run another program of askbox by: the one beside this program, else its bare name.
pub fn beside(name: &str) -> PathBuf {
    let beside = std::env::current_exe().ok().map(|own| own.with_file_name(name)).filter(|program| program.exists());
    beside.unwrap_or_else(|| name.into())
}

/// The path of the `relaunch` program.
///
/// # Errors
/// [`Error::Failed`] if it is not found.
pub fn relaunch() -> Result<PathBuf> {
    if let Some(named) = RELAUNCH.get() {
        return Ok(named.clone());
    }
    let beside = std::env::current_exe().ok().map(|own| own.with_file_name("relaunch")).filter(|p| is_executable(p));
    beside.or_else(|| found(Path::new("relaunch"))).ok_or_else(|| {
        Error::failed("the `relaunch` program is not found", "install it beside this program or on PATH; a library caller can name it")
    })
}

/// The path of the `askbox` program, which receives the questions that an agent asks with a tool of its own; `None` if it is not
/// installed.
pub fn askbox() -> Option<PathBuf> {
    let beside = relaunch().ok().map(|relaunch| relaunch.with_file_name("askbox")).filter(|p| is_executable(p));
    beside.or_else(|| found(Path::new("askbox")))
}

/// The command that installs all programs from a checkout.
pub const FROM_A_CHECKOUT: &str = "cargo install --path . --features release";

/// The path of the program that talks with an agent that speaks ACP.
///
/// # Errors
/// [`Error::Failed`] if it is not installed.
pub fn adapter() -> Result<PathBuf> {
    let beside = relaunch().ok().map(|relaunch| relaunch.with_file_name("askbox-acp")).filter(|p| is_executable(p));
    beside.or_else(|| found(Path::new("askbox-acp"))).ok_or_else(|| {
        let hint = format!("the release has it; from a checkout: {FROM_A_CHECKOUT}");
        Error::failed("there is no program `askbox-acp`, which talks with agents of the kind `acp`", hint)
    })
}

/// The path of an agent program. A program with a folder in its name keeps its path; any other is looked up on PATH.
///
/// # Errors
/// [`Error::Failed`] if there is no such executable file, or if the system cannot start the file.
pub fn find(program: &Path) -> Result<PathBuf> {
    let candidates = candidates(program);
    let Some(file) = candidates.iter().find(|file| is_executable(file)) else {
        return Err(match candidates.iter().find(|file| file.is_file()) {
            Some(file) => {
                Error::failed(format!("`{}` is not executable", file.display()), format!("permit it: chmod +x {}", text::path_word(file)))
            }
            None => Error::failed(
                format!("there is no program `{}`", program.display()),
                format!("install it, put it on the watcher's PATH, or set [runner.NAME] program = \"/path\" in {}", configuration()),
            ),
        });
    };
    // A file that begins like a text and does not name the program that runs it. npm leaves such a file in place of `claude` until the
    // package's install script has run.
    let is_text = |byte: &u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace();
    if beginning(file).is_some_and(|begin| !begin.starts_with(b"#!") && !begin.is_empty() && begin.iter().all(is_text)) {
        return Err(Error::failed(
            format!("`{}` is a text without `#!` in its first line, which the system does not start", file.display()),
            "if npm installed it, its install script did not run (--ignore-scripts): install it again without that option",
        ));
    }
    Ok(file.clone())
}

/// The path of a runner's program, if the system can start it: like [`find`], and the program that its first line names is there too.
///
/// # Errors
/// The errors of [`find`]; [`Error::Failed`] if the interpreter is missing.
pub fn of_runner(runner: &Runner) -> Result<PathBuf> {
    if runner.kind == RunnerKind::Acp {
        adapter()?;
    }
    startable(Path::new(&runner.program), runner.env.get("PATH").map(OsStr::new))
}

/// The reason why the program of this workflow's runner cannot be started, as far as this process sees; `None` if it can.
pub fn cannot_start(config: &Config, workflow: &WorkflowId) -> Option<Error> {
    config.runner_of(workflow).and_then(|(_, runner)| of_runner(&runner)).err()
}

/// Refuses a launch that a person asks for if the program of this workflow's runner cannot be started. The launch would only park the round.
///
/// # Errors
/// [`Error::Conflict`] with the missing program.
pub fn check(config: &Config, workflow: &WorkflowId) -> Result<()> {
    cannot_start(config, workflow).map_or(Ok(()), |error| {
        Err(Error::conflict(format!("{workflow} stays where it is, because its agent cannot be started: {error}"), error.hint()))
    })
}

/// Like [`of_runner`], for a program and the PATH that its process gets; `None` for that of this process.
pub(in crate::process) fn startable(program: &Path, path: Option<&OsStr>) -> Result<PathBuf> {
    let file = find(program)?;
    let Some(interpreter) = interpreter(&file) else { return Ok(file) };
    let own = std::env::var_os("PATH").unwrap_or_default();
    if candidates_in(&interpreter, path.unwrap_or(&own)).iter().any(|file| is_executable(file)) {
        return Ok(file);
    }
    let (shown, name) = (text::file_name(&file), text::file_name(&interpreter));
    Err(Error::failed(
        format!("`{shown}` cannot be started: its first line names `{name}`, and there is no such program"),
        match interpreter.is_absolute() {
            true => format!("install {name}, or mend the first line of {shown}"),
            false => {
                format!("install {name}, or put its folder on the watcher's PATH, or set [runner.NAME] env.PATH in {}", configuration())
            }
        },
    ))
}

/// The program that runs a script: the one that its first line names, or that `env` looks up for it. `None` for any other file.
fn interpreter(file: &Path) -> Option<PathBuf> {
    let begin = beginning(file)?;
    let line = begin.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let first = Path::new(OsStr::from_bytes(words.next()?));
    if first.file_name()? != "env" {
        return Some(first.to_path_buf());
    }
    // `env` may have flags and variables in front of the name.
    let name = words.find(|word| !word.starts_with(b"-") && !word.contains(&b'='))?;
    Some(PathBuf::from(OsStr::from_bytes(name)))
}

/// The first bytes of a file: enough for the longest first line that the system reads.
fn beginning(file: &Path) -> Option<Vec<u8>> {
    let mut begin = Vec::new();
    std::fs::File::open(file).ok()?.take(256).read_to_end(&mut begin).ok()?;
    Some(begin)
}

/// The path of the configuration, for messages.
fn configuration() -> String {
    askbox_config::location().unwrap_or_default().display().to_string()
}

/// The file that would be this program, but is not executable.
pub fn not_executable(program: &Path) -> Option<PathBuf> {
    candidates(program).into_iter().find(|file| file.is_file() && !is_executable(file))
}

/// The places where a program may lie: its own path if it has a folder, else the folders of PATH.
fn candidates(program: &Path) -> Vec<PathBuf> {
    candidates_in(program, &std::env::var_os("PATH").unwrap_or_default())
}

fn candidates_in(program: &Path, path: &OsStr) -> Vec<PathBuf> {
    let has_folder = program.components().count() > 1;
    if has_folder { vec![program.into()] } else { std::env::split_paths(path).map(|folder| folder.join(program)).collect() }
}

pub(crate) fn is_executable(program: &Path) -> bool {
    rustix::fs::access(program, rustix::fs::Access::EXEC_OK).is_ok() && program.is_file()
}

/// The executable file of a program.
fn found(program: &Path) -> Option<PathBuf> {
    candidates(program).into_iter().find(|file| is_executable(file))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_script_needs_the_program_that_its_first_line_names() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("agent");
        let starts = |begin: &str, path: Option<&str>| {
            std::fs::write(&file, format!("{begin}\nexit 0\n")).unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o700)).unwrap();
            startable(&file, path.map(OsStr::new)).map(drop).map_err(|e| e.to_string())
        };
        for begin in ["#!/bin/sh", "#! /bin/sh -e", "#!/usr/bin/env sh", "#!/usr/bin/env -S A=b sh -e"] {
            assert_eq!(starts(begin, None), Ok(()), "{begin}");
        }
        for begin in ["#!/nowhere/node", "#!/usr/bin/env node-that-is-not-there", "#!/usr/bin/env -S A=b node-that-is-not-there x"] {
            let why = starts(begin, None).unwrap_err();
            assert!(why.contains("its first line names `") && why.contains("no such program"), "{why}");
        }
        // The agent's own PATH decides.
        assert!(starts("#!/usr/bin/env agent", Some("/nowhere")).is_err());
        assert_eq!(starts("#!/usr/bin/env agent", folder.path().to_str()), Ok(()));
    }
}
