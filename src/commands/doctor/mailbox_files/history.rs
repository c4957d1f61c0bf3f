//! What history costs, what the policy does with it, and whether the archives are whole.

use serde::Serialize;

use crate::commands::doctor::checkup::{Checkup, LEFT_OVER, age, word};
use askbox_config::History;
use askbox_mailbox::time::{self, Span};
use askbox_run::archive::{self, Damaged};
use askbox_run::gc;

/// The number of bytes of archives that are read to find damage, about a second's work.
const MOST_READ: u64 = 64 << 20;

/// The space that history takes, and the policy.
#[derive(Debug, Serialize)]
pub(in crate::commands::doctor) struct KnownHistory {
    /// The number of closed rounds in the mailbox.
    rounds: u64,
    /// About how many bytes they take.
    bytes: u64,
    /// About how many files and folders they have.
    files: u64,
    /// The number of archives.
    archives: u64,
    /// The bytes of the archives and their indexes.
    archive_bytes: u64,
    /// The age at which rounds are archived. Missing if none is.
    #[serde(skip_serializing_if = "Option::is_none")]
    archive_after: Option<Span>,
    /// The age at which `askbox gc` removes rounds for good. Missing if it removes none.
    #[serde(skip_serializing_if = "Option::is_none")]
    keep: Option<Span>,
}

/// Estimates the space. `None` if there is no history, or if it cannot be read.
pub(in crate::commands::doctor) fn known(checkup: &Checkup) -> Option<KnownHistory> {
    let mailbox = checkup.mailbox.as_ref()?;
    let (cost, archives) = (gc::cost(mailbox, &checkup.closed), archive::state(mailbox).ok()?);
    let History { archive, keep } = &checkup.config.history;
    let known = KnownHistory {
        rounds: cost.rounds,
        bytes: cost.bytes,
        files: cost.files,
        archives: archives.months,
        archive_bytes: archives.bytes,
        archive_after: archive.0,
        keep: keep.0,
    };
    (known.rounds > 0 || known.archives > 0).then_some(known)
}

impl KnownHistory {
    pub(in crate::commands::doctor) fn words(&self) -> String {
        let mib = |bytes: u64| format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20));
        let count = |n: u64, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
        let here = format!("{} in about {} and {}", count(self.rounds, "closed round"), mib(self.bytes), count(self.files, "file"));
        let archives = match self.archives {
            0 => String::new(),
            n => format!(", {} of {}", count(n, "archive"), mib(self.archive_bytes)),
        };
        let archived = self.archive_after.map(|after| format!("rounds of more than {} ago are archived once a day", time::human(after.0)));
        let removed = self.keep.map(|keep| format!("`askbox gc` removes those of more than {} ago", time::human(keep.0)));
        let policy: Vec<String> = archived.into_iter().chain(removed).collect();
        let policy = if policy.is_empty() { "nothing is archived or removed".to_owned() } else { policy.join("; ") };
        format!("History: {here}{archives}; {policy}.\n")
    }
}

/// Reports archives that are damaged or that a killed process left incomplete.
pub(in crate::commands::doctor) fn look(checkup: &mut Checkup) {
    let Some(Ok(state)) = checkup.mailbox.as_ref().map(archive::state) else { return };
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
