//! `askbox gc`: removes old history, and prints the removed files.

use askbox_cli::args::askbox_args::Gc;
use askbox_cli::program::{self, Context};
use askbox_mailbox::error::Result;
use askbox_mailbox::time;
use askbox_run::gc::{self, Policy, Report};

/// Removes old history, and prints the removed files.
pub fn run(args: &Gc, context: &Context) -> Result<u8> {
    let keep = match args.keep {
        Some(keep) => Some(keep),
        None => context.loaded()?.config.history.keep.0.map(|span| span.0),
    };
    let report = gc::run(&args.common.open()?, Policy { keep, dry_run: args.dry_run })?;
    if args.common.json {
        program::print_json(&report)?;
    } else {
        program::print(&words(&report))?;
        report.left.iter().for_each(|left| program::warn(&format!("{} was kept: {}", left.subject, left.why)));
    }
    Ok(u8::from(report.left.iter().any(|left| left.is_failure)))
}

fn words(report: &Report) -> String {
    let mut out: String = report.would_go.iter().map(|name| format!("{name}\n")).collect();
    let Some(keep) = report.keep else {
        return "Everything is kept: history.keep is not configured. To remove history once: askbox gc --keep 90d\n".into();
    };
    let count = |n: u64, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    let rounds = format!("{} that ended more than {} ago", count(report.rounds, "round"), time::human(keep.0));
    let rest = format!("{} and {} that nothing else needs", count(report.workflows, "workflow"), count(report.checkpoints, "checkpoint"));
    let removed = if report.dry_run { "Would remove" } else { "Removed" };
    let freed = report.bytes.filter(|b| *b > 0).map_or_else(String::new, |b| format!(" ({:.1} MiB)", b as f64 / f64::from(1 << 20)));
    out.push_str(&format!("{removed} {rounds}, with {rest}{freed}.\n"));
    out
}
