//! What history costs, what the policy does with it, and whether the archives are whole.

use serde_json::json;

use crate::commands::doctor::checkup::{Checkup, LEFT_OVER, age, word};
use crate::commands::gc::{count, mib};
use askbox_config::History;
use askbox_mailbox::time;
use askbox_run::archive::{self, ArchiveState, Damaged};
use askbox_run::gc;

/// The number of bytes of archives that are read to find damage, about a second's work.
const MOST_READ: u64 = 64 << 20;

/// Estimates the space that history takes, and shows the policy. Shows nothing if there is no history, or if it cannot be read.
fn facts(checkup: &mut Checkup, archives: &ArchiveState) {
    let Some(mailbox) = &checkup.mailbox else { return };
    let cost = gc::cost(mailbox, &checkup.closed);
    if cost.rounds == 0 && archives.months == 0 {
        return;
    }
    let History { archive, keep } = &checkup.config.history;
    let mut fact = json!({
        "rounds": cost.rounds, "bytes": cost.bytes, "files": cost.files, "archives": archives.months, "archive_bytes": archives.bytes,
    });
    let here = format!("{} in about {} and {}", count(cost.rounds, "closed round"), mib(cost.bytes), count(cost.files, "file"));
    let there = match archives.months {
        0 => String::new(),
        n => format!(", {} of {}", count(n, "archive"), mib(archives.bytes)),
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

/// Reports archives that are damaged or that a killed process left incomplete.
pub(in crate::commands::doctor) fn look(checkup: &mut Checkup) {
    let Some(Ok(state)) = checkup.mailbox.as_ref().map(archive::state) else { return };
    facts(checkup, &state);
    for (path, error) in state.lost {
        let said = format!("{error}; its rounds cannot be found or read until the index is made again");
        checkup.report("archive", checkup.shown(&path), said, checkup.command("askbox gc"));
    }
    let is_named: Vec<_> = state.damaged.iter().map(|(path, _)| path.with_extension("").with_extension("jsonl.gz")).collect();
    let damage = checkup.mailbox.as_ref().and_then(|mailbox| archive::damage_of(mailbox, MOST_READ).ok());
    for Damaged { path, first, members } in damage.into_iter().flatten().filter(|damaged| !is_named.contains(&damaged.path)) {
        let parts = if members == 1 { String::new() } else { format!(" ({members} parts of it are damaged)") };
        let said = format!("{first}{parts}; {}; this names each part that cannot be read", first.hint());
        checkup.report("archive", checkup.shown(&path), said, format!("{} >/dev/null", checkup.command("askbox history --limit 0")));
    }
    for (path, error) in state.damaged {
        let subject = checkup.shown(&path);
        let said = format!("{error}; rounds of that month cannot be found or read; {}; this only lists what `zcat` can read", error.hint());
        let month = path.with_extension("").with_extension("jsonl.gz");
        checkup.report("archive", subject, said, format!("zcat {} | jq -r .file", word(&month)));
    }
    for path in state.torn.into_iter().filter(|path| age(path) >= LEFT_OVER) {
        let said = "a process was killed while it wrote the end of this archive; what counts is whole";
        checkup.report("half_done", checkup.shown(&path), said, checkup.command("askbox gc"));
    }
}
