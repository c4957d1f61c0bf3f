//! The process that copies this machine's questions into a database: whether it runs, how far it is behind, and which offers it refused.

use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use crate::commands::doctor::checkup::{Checkup, edit, problem};
use askbox_config as config;
use askbox_mailbox::time::{self, CLOCK_SKEW};
use askbox_mailbox::{disk, text};
use askbox_peers::sync::connection::Database;
use askbox_peers::sync::host::epoch::EpochFile;
use askbox_peers::sync::host::service::HEARTBEAT;
use askbox_peers::sync::host::state::{self, HostState};

/// A running process counts as behind if its last contact is older than this. It records each heartbeat.
const BEHIND: Duration = HEARTBEAT.saturating_mul(4);
/// The number of refused offers that people are shown.
const SHOWN: usize = 3;

/// The state of the process.
#[derive(Debug, Serialize)]
pub(in crate::commands::doctor) struct KnownSync {
    running: bool,
    /// The name of this host in the database.
    host: String,
    epoch: i64,
    #[serde(flatten)]
    state: HostState,
}

/// The state of the process, if this mailbox was ever a host or is configured to be one.
fn known(checkup: &Checkup) -> Option<KnownSync> {
    let mailbox = checkup.mailbox.as_ref()?;
    let (epoch, state) = (EpochFile::read(mailbox).unwrap_or_default(), HostState::read(mailbox));
    if checkup.config.sync.database.is_empty() && state.is_none() && epoch.tokens.is_empty() {
        return None;
    }
    Some(KnownSync { running: state::is_running(mailbox), host: epoch.host, epoch: epoch.epoch, state: state.unwrap_or_default() })
}

impl KnownSync {
    /// Some lines about the process, for people.
    pub(in crate::commands::doctor) fn words(&self) -> String {
        let reached = self.state.reached_at.map_or("never reached".into(), |at| format!("reached {} ago", time::human(time::since(at))));
        let runs = if self.running { "runs" } else { "does not run" };
        let host = if self.host.is_empty() { String::new() } else { format!(" as the host {}", text::excerpt(&self.host, 64)) };
        let accepted = if self.state.accepted == 1 { "1 offer".to_owned() } else { format!("{} offers", self.state.accepted) };
        let mut out = format!("askbox sync {runs}{host}: database {reached}, {accepted} accepted since it started.\n");
        for refused in self.state.refused.iter().rev().take(SHOWN) {
            let what = serde_json::to_value(refused.decided).ok().and_then(|word| word.as_str().map(str::to_owned)).unwrap_or_default();
            let workflow = refused.workflow_id.as_ref().map_or("an offer".into(), ToString::to_string);
            let (ago, by) = (time::human(time::since(refused.at)), text::excerpt(&refused.sent_by, 64));
            out.push_str(&format!("  {workflow}: an answer of {by} was not accepted ({what}), {ago} ago\n"));
        }
        out
    }
}

/// A command that reaches the database at the same address, or says why it cannot. The running process itself also keeps trying.
fn try_database(checkup: &Checkup) -> String {
    format!("psql {} -c 'SELECT 1'", text::shell_quote(&checkup.config.sync.database))
}

/// The encoding of the database, if it is not UTF-8. `None` also if that cannot be found out.
pub(super) fn other_encoding(address: &str, root_certificate: &Path) -> Option<String> {
    if address.is_empty() {
        return None;
    }
    let row = Database::at(address, root_certificate).ok()?.connect().ok()?.query_one("SHOW server_encoding", &[]).ok()?;
    row.try_get::<_, String>(0).ok().filter(|encoding| encoding != "UTF8")
}

/// Reports a database that is not UTF-8.
pub(super) fn report_encoding(checkup: &mut Checkup, subject: &str, encoding: &str, address: &str) {
    let said = format!(
        "its database keeps text as {}, not as UTF-8, so a text with other letters is refused; make another database, and name that one",
        text::excerpt(encoding, 40)
    );
    let make = "CREATE DATABASE askbox_utf8 ENCODING 'UTF8' LOCALE 'C' TEMPLATE template0";
    checkup.report("database_encoding", subject, said, format!("psql {} -c \"{make}\"", text::shell_quote(address)));
}

/// Reports the problems of the process.
pub(in crate::commands::doctor) fn look(checkup: &mut Checkup) {
    checkup.facts.sync = known(checkup);
    let Some(mailbox) = checkup.mailbox.clone() else { return };
    let run = checkup.command("askbox sync run");
    let epoch = match EpochFile::read(&mailbox) {
        Ok(epoch) => epoch,
        Err(e) => {
            let file = state::folder(&mailbox).join("epoch.json");
            return checkup.report("unreadable", checkup.shown(&file), problem(&e), edit(&file));
        }
    };
    let Some(known) = known(checkup) else { return };
    // A running process keeps the configuration that it was started with, but the next one would not start with this one.
    let configured = &checkup.config.sync;
    if let Err(e) = Database::at(&configured.database, &configured.root_certificate)
        && !configured.database.is_empty()
    {
        let place = config::location().unwrap_or_default();
        return checkup.report("config", "sync.database", problem(&e), edit(&place));
    }
    let subject = if known.host.is_empty() { "sync".to_owned() } else { format!("host {}", known.host) };
    if let Some(at) = epoch.fenced_at {
        let ago = time::human(time::since(at));
        let said = format!(
            "another mailbox is this host since {ago} ago: this one is its copy, was restored, or is new; nobody elsewhere sees it"
        );
        return checkup.report("fenced", subject, said, format!("{run} --take-over"));
    }
    // A database that was not reached lately is not waited for.
    if known.state.failing.is_none()
        && let Some(encoding) = other_encoding(&configured.database, &configured.root_certificate)
    {
        report_encoding(checkup, &subject, &encoding, &checkup.config.sync.database.clone());
    }
    if !known.running {
        // Nobody wants the process to run: this machine only was a host earlier.
        if checkup.config.sync.database.is_empty() {
            return;
        }
        return checkup.report(
            "no_sync",
            subject,
            "askbox sync does not run, so people elsewhere neither see nor answer what is asked here",
            run,
        );
    }
    if let Some(failing) = &known.state.failing {
        let hint = if failing.hint.is_empty() { String::new() } else { format!("; {}", failing.hint) };
        let said = format!("fails since {} ago: {}{hint}", time::human(time::since(failing.since)), failing.problem);
        checkup.report("sync_failing", &subject, said, try_database(checkup));
    } else if known.state.reached_at.is_none_or(|at| time::since(at) > BEHIND) {
        let ago = known.state.reached_at.map_or("never".into(), |at| format!("{} ago", time::human(time::since(at))));
        let (why, mend) = match disk::lock_holder(&state::lock_file(&mailbox)) {
            Some(holder) if holder.is_stopped => (holder.to_string(), format!("kill -CONT {}", holder.pid)),
            Some(holder) => (format!("its link or the server hangs, or {holder} itself"), try_database(checkup)),
            None => ("its link or the server hangs".to_owned(), try_database(checkup)),
        };
        checkup.report("sync_behind", &subject, format!("runs, and reached the database last {ago}: {why}"), mend);
    }
    let skew = Duration::from_millis(known.state.clock_ms.unsigned_abs());
    if skew > CLOCK_SKEW {
        let way = if known.state.clock_ms > 0 { "ahead of" } else { "behind" };
        let said = format!("the clock here is {} {way} the database's: times that people elsewhere see are off by it", time::human(skew));
        checkup.report("clock", subject, said, "timedatectl set-ntp true");
    }
}
