//! `askbox gc`: prunes what the operator does not want to keep any more, and says what went.

use crate::error::Result;
use crate::gc::{self, Policy, Report};
use crate::surface::args::askbox_args::Gc;
use crate::surface::program;
use crate::{config, time};

/// Prunes and tells.
pub fn run(args: &Gc) -> Result<u8> {
    let keep = match args.keep {
        Some(keep) => Some(keep),
        None => config::load()?.config.history.keep.0.map(|span| span.0),
    };
    let report = gc::run(&args.common.open()?, Policy { keep, dry_run: args.dry_run })?;
    if args.common.json {
        program::print_json(&report)?;
    } else {
        program::print_words(&words(&report))?;
        report.left.iter().for_each(|left| program::warn(&format!("{} was left: {}", left.subject, left.why)));
    }
    Ok(u8::from(report.left.iter().any(|left| left.is_failure)))
}

fn words(report: &Report) -> String {
    let mut out: String = report.would_go.iter().map(|name| format!("{name}\n")).collect();
    let Some(keep) = report.keep else {
        return "Everything is kept: the configuration sets no history.keep. For once: askbox gc --keep 90d\n".into();
    };
    let count = |n: u64, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    let rounds = format!("{} that had been over for {}", count(report.rounds, "round"), time::human(keep.0));
    let whole =
        format!("with {} of which nothing is left and {}", count(report.workflows, "workflow"), count(report.checkpoints, "checkpoint"));
    let went = if report.dry_run { "would go" } else { "went" };
    let freed =
        report.bytes.filter(|b| *b > 0).map_or_else(String::new, |b| format!("; {:.1} MiB are free again", b as f64 / f64::from(1 << 20)));
    out.push_str(&format!("{rounds} {went}, {whole}{freed}.\n"));
    out
}
