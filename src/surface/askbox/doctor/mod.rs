//! `askbox doctor`: what is in force, and everything that needs a hand, each with the command that mends it. Reads with the
//! same code as the programs do, and changes nothing.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;

use crate::error::{Error, Result};
use crate::mailbox::{Mailbox, presence};
use crate::surface::args::askbox::Doctor;
use crate::surface::program;
use crate::text::{self, shell_quote};
use crate::{config, time};

mod in_force;
mod places;
mod rounds;
mod setup;
mod waits;

/// A file that changes may be somebody's work in progress; one that has not changed for so long is left over.
const LEFT_OVER: Duration = Duration::from_secs(3600);

/// One thing to mend.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Which kind of thing: a word for programs, such as `parked`.
    pub kind: &'static str,
    /// What it is about: a workflow, a path, a key.
    pub subject: String,
    /// What is wrong, in words.
    pub problem: String,
    /// The command that mends it.
    pub mend: String,
}

/// Everything that was seen.
#[derive(Debug, Serialize)]
struct Report {
    ok: bool,
    findings: Vec<Finding>,
    /// Whether a watcher is running on the mailbox.
    watcher: bool,
    in_force: Vec<in_force::Value>,
}

/// The patient, and what was found so far.
struct Ward {
    root: PathBuf,
    /// The mailbox, where it can be opened.
    mailbox: Option<Mailbox>,
    config: config::Config,
    watcher: bool,
    stale: Duration,
    /// Goes behind the command of a program, so that it is about this mailbox.
    flag: String,
    findings: Vec<Finding>,
}

impl Ward {
    fn find(&mut self, kind: &'static str, subject: impl Into<String>, problem: impl Into<String>, mend: impl Into<String>) {
        self.findings.push(Finding {
            kind,
            subject: text::one_line(&subject.into()),
            problem: text::one_line(&problem.into()),
            mend: text::one_line(&mend.into()),
        });
    }

    /// A command of one of the programs, about this mailbox.
    fn command(&self, words: &str) -> String {
        format!("{words}{}", self.flag)
    }

    /// A path, relative to the mailbox where it lies in it.
    fn shown(&self, path: &Path) -> String {
        path.strip_prefix(&self.root).unwrap_or(path).display().to_string()
    }
}

/// A path as a shell word.
fn word(path: &Path) -> String {
    shell_quote(&path.display().to_string())
}

/// Opens an editor on a file.
fn edit(path: &Path) -> String {
    format!("${{EDITOR:-vi}} {}", word(path))
}

/// Looks at everything and tells.
pub fn run(args: &Doctor) -> Result<u8> {
    let stale = time::parse_duration(&args.stale, "stale").map_err(|e| program::of_flag("--stale", e))?;
    let root = Mailbox::locate(args.common.mailbox.as_deref())?;
    let flag = args.common.mailbox.as_ref().map_or_else(String::new, |_| format!(" --mailbox {}", word(&root)));
    let mailbox = Mailbox::open(&root).ok();
    let watcher = mailbox.as_ref().is_some_and(|m| presence::anybody(m).unwrap_or(false));
    let loaded = config::load();
    let config = loaded.as_ref().map(|l| l.config.clone()).unwrap_or_default();
    let mut ward = Ward { root, mailbox, config, watcher, stale, flag, findings: Vec::new() };
    setup::look(&mut ward, loaded.as_ref().err());
    places::look(&mut ward);
    rounds::look(&mut ward);
    waits::look(&mut ward);
    let in_force = in_force::all(&ward.root, args.common.mailbox.is_some(), loaded.ok().as_ref());
    let report = Report { ok: ward.findings.is_empty(), findings: ward.findings, watcher, in_force };
    if args.common.json {
        program::print_json(&report)?;
    } else {
        program::print_words(&words(&report, &ward.root))?;
    }
    Ok(u8::from(!report.ok))
}

fn words(report: &Report, root: &Path) -> String {
    let rows: Vec<[String; 3]> =
        report.in_force.iter().map(|v| [v.key.clone(), text::excerpt(&v.value.to_string(), 80), v.from.clone()]).collect();
    let mut out = crate::surface::ask_answer::show::table(["IN FORCE", "VALUE", "FROM"], &rows);
    out.push('\n');
    if !root.exists() {
        out.push_str("There is no mailbox yet; the first ask-post makes it.\n");
    } else if report.watcher {
        out.push_str("A watcher is running.\n");
    } else {
        out.push_str("No watcher is running; relaunch watch is one.\n");
    }
    match report.findings.len() {
        0 => out.push_str("Nothing is to be mended.\n"),
        1 => out.push_str("1 thing is to be mended:\n"),
        n => out.push_str(&format!("{n} things are to be mended:\n")),
    }
    for finding in &report.findings {
        out.push_str(&format!("\n{}: {}: {}\n  $ {}\n", finding.kind, finding.subject, finding.problem, finding.mend));
    }
    out
}

/// An error as the problem of a finding.
fn problem(error: &Error) -> String {
    format!("{}; {}", program::message(error), error.hint())
}
