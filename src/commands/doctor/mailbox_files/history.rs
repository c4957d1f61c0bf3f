//! What history costs, what the policy does with it, and whether the archived rounds can be read.

use serde_json::json;

use crate::commands::doctor::checkup::Checkup;
use crate::commands::gc::{count, mib};
use askbox_config::History;
use askbox_mailbox::time;
use askbox_run::archive::{self, ArchiveState};
use askbox_run::gc;

/// The number of bytes of archives that are read to find damage, about a second's work.
const MOST_READ: u64 = 64 << 20;

/// Estimates the space that history takes, and shows the policy. Shows nothing if there is no history, or if it cannot be read.
fn facts(checkup: &mut Checkup, archives: &ArchiveState) {
    let Some(mailbox) = &checkup.mailbox else { return };
    let cost = gc::cost(mailbox, &checkup.closed);
    if cost.rounds == 0 && archives.rounds == 0 {
        return;
    }
    let History { archive, keep } = &checkup.config.history;
    let mut fact = json!({
        "rounds": cost.rounds, "bytes": cost.bytes, "files": cost.files, "archived": archives.rounds, "archive_bytes": archives.bytes,
    });
    let here = format!("{} in about {} and {}", count(cost.rounds, "closed round"), mib(cost.bytes), count(cost.files, "file"));
    let there = match archives.rounds {
        0 => String::new(),
        n => format!(", {} in {}", count(n, "archived round"), mib(archives.bytes)),
    };
    let mut policy = Vec::new();
    if let Some(after) = archive.0 {
        fact["archive_after"] = json!(after);
        policy.push(format!("rounds of more than {} ago are archived once a day", time::human(after.0)));
    }
    if let Some(keep) = keep.0 {
        fact["keep"] = json!(keep);
        policy.push(format!("`askbox gc` removes those of more than {} ago", time::human(keep.0)));
    }
    let policy = if policy.is_empty() { "nothing is archived or removed".to_owned() } else { policy.join("; ") };
    checkup.facts.add("history", &fact, format!("History: {here}{there}; {policy}.\n"));
}

/// Reports archived rounds that cannot be read.
pub(in crate::commands::doctor) fn look(checkup: &mut Checkup) {
    let Some(mailbox) = checkup.mailbox.clone() else { return };
    let Ok(state) = archive::state(&mailbox) else { return };
    facts(checkup, &state);
    let damaged = archive::damage_of(&mailbox, MOST_READ).unwrap_or_default();
    let Some((path, first)) = damaged.first() else { return };
    let others = if damaged.len() == 1 { String::new() } else { format!(" ({} archived rounds are damaged)", damaged.len()) };
    let said = format!("{first}{others}; {}; this names each round that cannot be read", first.hint());
    checkup.report("archive", checkup.shown(path), said, format!("{} >/dev/null", checkup.command("askbox history --limit 0")));
}
