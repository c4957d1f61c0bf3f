//! The surfaces: programs of their own on top of the core, found as git finds its own. `askbox web` becomes `askbox-web`, which lies beside
//! it or on PATH.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, ExitCode, Stdio};

use serde::Deserialize;
use serde_json::Value;

use crate::commands::args::{Askbox, Command};
use askbox_cli::{Context, program};
use askbox_mailbox::{Error, Result};
use askbox_run::programs;

/// The commands that are programs of their own, which are also the features of the package that bring them.
const ALL: [&str; 6] = ["agents", "web", "mcp", "sync", "live", "conformance"];

/// Becomes the program of the surface that these arguments of `askbox` name, if it is installed. Returns if it is not.
pub fn become_it(args: &[OsString]) {
    if let Some(program) = args.get(1).and_then(|word| word.to_str()).and_then(installed) {
        let error = Process::new(program).args(&args[2..]).exec();
        program::warn(&format!("{}: {error}", args[1].display()));
    }
}

/// The error about a surface that is not installed.
pub fn missing(name: &str) -> Error {
    let release = if name == "sync" { "" } else { "the release has it; " };
    let hint = format!("{release}from a checkout: cargo install --path . --features {name}");
    Error::not_found(format!("`askbox {name}` is the program `askbox-{name}`, and it is neither beside askbox nor on PATH"), hint)
}

/// The main function of the program of the surface `name`. Its arguments are those behind `askbox NAME`.
pub fn main(name: &'static str, run: impl FnOnce(Command, &Context) -> Result<u8>) -> ExitCode {
    if std::env::args_os().nth(1).is_some_and(|word| word == "--version" || word == "-V") {
        let said = program::print(&format!("askbox-{name} {}\n", env!("CARGO_PKG_VERSION")));
        return ExitCode::from(u8::from(said.is_err()));
    }
    let words = ["askbox", name].map(OsString::from).into_iter().chain(std::env::args_os().skip(1));
    program::main_of(words.collect(), |args: Askbox, context| run(args.command, context))
}

/// The program of the surface `$name`, which is the command `$command` of `askbox`.
#[macro_export]
macro_rules! surface {
    ($name:literal, $command:ident, $run:expr) => {
        fn main() -> std::process::ExitCode {
            let run: fn(_, &askbox_cli::Context) -> askbox_mailbox::Result<u8> = $run;
            $crate::commands::surfaces::main($name, |command, context| match command {
                $crate::commands::args::Command::$command(args) => run(args, context),
                _ => Err($crate::commands::surfaces::missing($name)),
            })
        }
    };
}

fn installed(name: &str) -> Option<PathBuf> {
    let program = ALL.contains(&name).then(|| programs::beside(&format!("askbox-{name}")))?;
    if program.components().count() > 1 { Some(program) } else { programs::find(Path::new(&program)).ok() }
}

/// What the page says of itself (`askbox web about`).
#[derive(Debug, Deserialize)]
pub struct About {
    /// The address where a browser reaches the page, if it runs.
    pub place: Option<String>,
    /// The devices that may answer, for programs and for people.
    pub devices: Option<(Value, String)>,
    /// The problems.
    pub findings: Vec<Finding>,
}

/// A problem of the page.
#[derive(Debug, Deserialize)]
pub struct Finding {
    /// Its kind, as the doctor's table names it.
    pub kind: String,
    /// The file that it is about.
    pub file: String,
    /// The problem in words.
    pub problem: String,
    /// The command that solves it.
    pub mend: String,
}

/// Asks the page about itself. `None` if it is not installed, or says nothing.
pub fn web_about() -> Option<About> {
    let said = Process::new(installed("web")?).arg("about").stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    serde_json::from_slice(&said.stdout).ok()
}
