//! The process that copies this machine's questions into a database: whether it runs, how far it is behind, and which offers it refused.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::commands::doctor::checkup::{Checkup, edit, problem};
use askbox_mailbox::time::CLOCK_SKEW;
use askbox_mailbox::{disk, text, time};
use askbox_peers::sync::connection::Database;
use askbox_peers::sync::host::epoch::EpochFile;
use askbox_peers::sync::host::service::HEARTBEAT;
use askbox_peers::sync::host::state::{self, HostState};
use askbox_run::story::cause::edit_configuration;

/// A running process counts as behind if its last contact is older than this. It records each heartbeat.
const BEHIND: Duration = HEARTBEAT.saturating_mul(4);
/// The number of refused offers that people are shown.
const SHOWN: usize = 3;

/// The state of the process for programs, and some lines about it for people.
fn facts(checkup: &mut Checkup, is_running: bool, epoch: &EpochFile, state: &HostState) {
    let mut fact = json!({ "running": is_running, "host": epoch.host, "epoch": epoch.epoch });
    if let (Value::Object(fact), Ok(Value::Object(state))) = (&mut fact, serde_json::to_value(state)) {
        fact.extend(state);
    }
    let reached = state.reached_at.map_or("never reached".into(), |at| format!("reached {} ago", time::human(time::since(at))));
    let runs = if is_running { "runs" } else { "does not run" };
    let host = if epoch.host.is_empty() { String::new() } else { format!(" as the host {}", text::excerpt(&epoch.host, 64)) };
    let accepted = if state.accepted == 1 { "1 offer".to_owned() } else { format!("{} offers", state.accepted) };
    let mut words = format!("askbox sync {runs}{host}: database {reached}, {accepted} accepted since it started.\n");
    for refused in state.refused.iter().rev().take(SHOWN) {
        let what = serde_json::to_value(refused.decided).ok().and_then(|word| word.as_str().map(str::to_owned)).unwrap_or_default();
        let workflow = refused.workflow_id.as_ref().map_or("an offer".into(), ToString::to_string);
        let (ago, by) = (time::human(time::since(refused.at)), text::excerpt(&refused.sent_by, 64));
        words.push_str(&format!("  {workflow}: an answer of {by} was not accepted ({what}), {ago} ago\n"));
    }
    checkup.facts.add("sync", &fact, words);
}

/// A command that reaches the database at the same address, or says why it cannot. The running process itself also keeps trying.
fn try_database(checkup: &Checkup) -> String {
    format!("psql {} -c 'SELECT 1'", text::shell_quote(&checkup.config.sync.database))
}

/// Reports a database that is not UTF-8. Says nothing if that cannot be found out.
fn encoding(checkup: &mut Checkup, subject: &str, address: &str, root_certificate: &Path) {
    let other = || {
        let mut database = Database::at(address, root_certificate).ok()?.connect().ok()?;
        let encoding: String = database.query_one("SHOW server_encoding", &[]).ok()?.try_get(0).ok()?;
        Some(encoding).filter(|encoding| encoding != "UTF8")
    };
    let Some(encoding) = Some(address).filter(|address| !address.is_empty()).and_then(|_| other()) else { return };
    let encoding = text::excerpt(&encoding, 40);
    let so = "so a text with other letters is refused; make another database, and name that one";
    let make = "CREATE DATABASE askbox_utf8 ENCODING 'UTF8' LOCALE 'C' TEMPLATE template0";
    let mend = format!("psql {} -c \"{make}\"", text::shell_quote(address));
    checkup.report("database_encoding", subject, format!("its database keeps text as {encoding}, not as UTF-8, {so}"), mend);
}

/// Reports the problems of the process.
pub(in crate::commands::doctor) fn look(checkup: &mut Checkup) {
    let Some(mailbox) = checkup.mailbox.clone() else { return };
    let run = checkup.command("askbox sync run");
    let configured = checkup.config.sync.clone();
    let (read, state) = (EpochFile::read(&mailbox), HostState::read(&mailbox));
    let epoch = read.as_ref().ok().cloned().unwrap_or_default();
    // This mailbox was a host, or is configured to be one.
    let is_host = !configured.database.is_empty() || state.is_some() || !epoch.tokens.is_empty();
    let (state, is_running) = (state.unwrap_or_default(), state::is_running(&mailbox));
    if is_host {
        facts(checkup, is_running, &epoch, &state);
    }
    if let Err(e) = read {
        let file = state::folder(&mailbox).join("epoch.json");
        return checkup.report("unreadable", checkup.shown(&file), problem(&e), edit(&file));
    }
    if !is_host {
        return;
    }
    // A running process keeps the configuration that it was started with, but the next one would not start with this one.
    if let Err(e) = Database::at(&configured.database, &configured.root_certificate)
        && !configured.database.is_empty()
    {
        return checkup.report("config", "sync.database", problem(&e), edit_configuration());
    }
    let subject = if epoch.host.is_empty() { "sync".to_owned() } else { format!("host {}", epoch.host) };
    if let Some(at) = epoch.fenced_at {
        let ago = time::human(time::since(at));
        let said = format!(
            "another mailbox is this host since {ago} ago: this one is its copy, was restored, or is new; nobody elsewhere sees it"
        );
        return checkup.report("fenced", subject, said, format!("{run} --take-over"));
    }
    // A database that was not reached lately is not waited for.
    if state.failing.is_none() {
        encoding(checkup, &subject, &configured.database, &configured.root_certificate);
    }
    if !is_running {
        // Without an address nobody wants the process to run: this machine only was a host earlier.
        if !configured.database.is_empty() {
            let said = "askbox sync does not run, so people elsewhere neither see nor answer what is asked here";
            checkup.report("no_sync", subject, said, run);
        }
        return;
    }
    if let Some(failing) = &state.failing {
        let hint = if failing.hint.is_empty() { String::new() } else { format!("; {}", failing.hint) };
        let said = format!("fails since {} ago: {}{hint}", time::human(time::since(failing.since)), failing.problem);
        checkup.report("sync_failing", &subject, said, try_database(checkup));
    } else if state.reached_at.is_none_or(|at| time::since(at) > BEHIND) {
        let ago = state.reached_at.map_or("never".into(), |at| format!("{} ago", time::human(time::since(at))));
        let (why, mend) = match disk::lock_holder(&state::lock_file(&mailbox)) {
            Some(holder) if holder.is_stopped => (holder.to_string(), format!("kill -CONT {}", holder.pid)),
            Some(holder) => (format!("its link or the server hangs, or {holder} itself"), try_database(checkup)),
            None => ("its link or the server hangs".to_owned(), try_database(checkup)),
        };
        checkup.report("sync_behind", &subject, format!("runs, and reached the database last {ago}: {why}"), mend);
    }
    let skew = Duration::from_millis(state.clock_ms.unsigned_abs());
    if skew > CLOCK_SKEW {
        let way = if state.clock_ms > 0 { "ahead of" } else { "behind" };
        let said = format!("the clock here is {} {way} the database's: times that people elsewhere see are off by it", time::human(skew));
        checkup.report("clock", subject, said, "timedatectl set-ntp true");
    }
}
