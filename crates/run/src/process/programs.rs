//! The paths of the programs `relaunch` and `askbox` and of the agent program.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use askbox_mailbox::error::{Error, Result};
use askbox_mailbox::text;

/// The path that [`relaunch_is`] was given.
static RELAUNCH: OnceLock<PathBuf> = OnceLock::new();

/// Names the `relaunch` program, which launches every agent. Without a call, the program is looked for beside the running one and then
/// on PATH. Only the first call has an effect.
pub fn relaunch_is(program: impl Into<PathBuf>) {
    let _ = RELAUNCH.set(program.into());
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
#[must_use]
pub fn askbox() -> Option<PathBuf> {
    let beside = relaunch().ok().map(|relaunch| relaunch.with_file_name("askbox")).filter(|p| is_executable(p));
    beside.or_else(|| found(Path::new("askbox")))
}

/// The path of an agent program. A program with a folder in its name keeps its path; any other is looked up on PATH.
///
/// # Errors
/// [`Error::Failed`] if there is no such executable file, or if the system cannot start the file.
pub fn find(program: &Path) -> Result<PathBuf> {
    if let Some(file) = found(program).filter(|file| is_bare_text(file)) {
        return Err(Error::failed(
            format!("`{}` is a text without `#!` in its first line, which the system does not start", file.display()),
            "if npm installed it, its install script did not run (--ignore-scripts): install it again without that option",
        ));
    }
    found(program).ok_or_else(|| match not_executable(program) {
        Some(file) => {
            Error::failed(format!("`{}` is not executable", file.display()), format!("permit it: chmod +x {}", text::path_word(&file)))
        }
        None => Error::failed(
            format!("there is no program `{}`", program.display()),
            format!(
                "install it, put it on the watcher's PATH, or set [runner.NAME] program = \"/path\" in {}",
                askbox_config::location().unwrap_or_default().display()
            ),
        ),
    })
}

/// The file that would be this program, but is not executable.
#[must_use]
pub fn not_executable(program: &Path) -> Option<PathBuf> {
    candidates(program).into_iter().find(|file| file.is_file() && !is_executable(file))
}

/// The places where a program may lie: its own path if it has a folder, else the folders of PATH.
fn candidates(program: &Path) -> Vec<PathBuf> {
    if program.components().count() > 1 {
        return vec![program.to_path_buf()];
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|folder| folder.join(program)).collect()
}

fn is_executable(program: &Path) -> bool {
    rustix::fs::access(program, rustix::fs::Access::EXEC_OK).is_ok() && program.is_file()
}

/// True if a file begins like a text and does not name the program that runs it. npm leaves such a file in place of `claude` until the
/// package's install script has run.
fn is_bare_text(file: &Path) -> bool {
    let mut begin = Vec::new();
    let is_read = std::fs::File::open(file).is_ok_and(|file| file.take(64).read_to_end(&mut begin).is_ok());
    let is_text = |byte: &u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace();
    is_read && !begin.starts_with(b"#!") && !begin.is_empty() && begin.iter().all(is_text)
}

/// The executable file of a program.
fn found(program: &Path) -> Option<PathBuf> {
    candidates(program).into_iter().find(|file| is_executable(file))
}
