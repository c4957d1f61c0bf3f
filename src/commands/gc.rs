//! `askbox gc`: archives and removes old history, and prints what it did.

use serde::Serialize;

use askbox_cli::args::askbox_args::Gc;
use askbox_cli::{Context, program};
use askbox_mailbox::{Result, document, text, time};
use askbox_run::gc::{self, Archived, Fate, Policy, Report, Tally};

/// How many bytes are printed together.
const PRINTED_TOGETHER: usize = 16 << 10;

/// Prints one JSON object: the names of the files that would go, and the report. There may be a million names, so they are printed as they
/// are found: first those that would be removed, then those that would be archived.
#[derive(Default)]
struct JsonReport {
    /// What becomes of the files in the list that is not closed yet.
    list: Option<Fate>,
    unprinted: String,
}

impl JsonReport {
    fn name(&mut self, fate: Fate, name: &str) -> Result<()> {
        let key = match fate {
            Fate::Removed => "would_go",
            Fate::Archived => "would_be_archived",
        };
        match self.list.replace(fate) {
            Some(before) if before == fate => self.unprinted.push(','),
            Some(_) => self.unprinted.push_str(&format!("],\"{key}\":[")),
            None => self.unprinted.push_str(&format!("{{\"{key}\":[")),
        }
        self.unprinted.push_str(&in_json(&name)?);
        if self.unprinted.len() < PRINTED_TOGETHER { Ok(()) } else { program::print_exactly(&std::mem::take(&mut self.unprinted)) }
    }

    fn end(mut self, report: &Report) -> Result<()> {
        let report = in_json(report)?;
        match report.strip_prefix('{').filter(|_| self.list.is_some()) {
            Some(fields) => self.unprinted.push_str(&format!("],{fields}")),
            None => self.unprinted.push_str(&report),
        }
        program::print_value(&self.unprinted)
    }
}

fn in_json(value: &impl Serialize) -> Result<String> {
    Ok(text::escape_json(&String::from_utf8_lossy(&document::to_json(value)?)))
}

/// Archives and removes old history, and prints what it did.
pub fn run(args: &Gc, context: &Context) -> Result<u8> {
    let of_file = || context.loaded().map(|loaded| loaded.config.history.clone());
    let keep = if let Some(keep) = args.keep { Some(keep) } else { of_file()?.keep.0.map(|span| span.0) };
    let archive = if let Some(archive) = args.archive { archive } else { of_file()?.archive };
    let policy = Policy { keep, archive: archive.0.map(|span| span.0), dry_run: args.dry_run };
    let (mut json, mut printed) = (JsonReport::default(), Ok(()));
    // There may be a million names. They are printed as they are found.
    let report = gc::run(&args.common.open()?, policy, &mut |fate, name| match args.common.json {
        _ if printed.is_err() => {}
        true => printed = json.name(fate, name),
        false => printed = program::print(&format!("{name}\n")),
    })?;
    printed?;
    if args.common.json {
        json.end(&report)?;
    } else {
        program::print(&words(&report))?;
        report.left.iter().for_each(|left| program::warn(&format!("{} was kept: {}", left.subject, left.why)));
    }
    Ok(u8::from(report.left.iter().any(|left| left.is_failure)))
}

fn words(report: &Report) -> String {
    let removed = report.keep.map(|keep| {
        let removed = if report.dry_run { "Would remove" } else { "Removed" };
        format!("{removed} {}{}.\n", amount(&report.removed, keep.0), freed(&report.removed))
    });
    let archived = report.archived.as_ref().map(|archived| of_archived(archived, report.dry_run));
    if removed.is_none() && archived.is_none() {
        let kept = "Everything is kept: history.keep is not configured, and history.archive is never.";
        return format!("{kept} To remove history once: askbox gc --keep 90d\n");
    }
    removed.into_iter().chain(archived).collect()
}

fn of_archived(archived: &Archived, dry_run: bool) -> String {
    let verb = if dry_run { "Would archive" } else { "Archived" };
    let packed =
        archived.archive_bytes.filter(|bytes| *bytes > 0).map_or_else(String::new, |bytes| format!(": {} in archive/", mib(bytes)));
    format!("{verb} {}{}{packed}.\n", amount(&archived.tally, archived.after.0), freed(&archived.tally))
}

fn amount(tally: &Tally, age: std::time::Duration) -> String {
    let rounds = format!("{} that ended more than {} ago", count(tally.rounds, "round"), time::human(age));
    format!("{rounds}, with {} and {} that nothing else needs", count(tally.workflows, "workflow"), count(tally.checkpoints, "checkpoint"))
}

fn freed(tally: &Tally) -> String {
    tally.bytes.filter(|b| *b > 0).map_or_else(String::new, |bytes| format!(" ({})", mib(bytes)))
}

pub(in crate::commands) fn count(n: u64, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

pub(in crate::commands) fn mib(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}
