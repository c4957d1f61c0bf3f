//! The table of the checks. The general doctor runs every row, and `askbox doctor ID` runs those that concern a workflow.
//! docs/guide-operator.md shows the table, and a test compares both.

use serde::{Serialize, Serializer};

use crate::commands::doctor::checkup::Checkup;
#[cfg(feature = "web")]
use crate::commands::doctor::installation::page;
#[cfg(feature = "sync")]
use crate::commands::doctor::installation::sync;
use crate::commands::doctor::installation::{
    acp_agents, agent_path, agent_start, agent_version, claude_files, codex, dialogs, login, money, peers, promises, setup, targets, traces,
};
use crate::commands::doctor::mailbox_files::{files, history};
use crate::commands::doctor::workflows::{documents, waits};
use askbox_cli::program;
use askbox_cli::terminal::columns;
use askbox_mailbox::error::Error;

/// One row.
#[derive(Serialize)]
pub(super) struct Check {
    name: &'static str,
    /// What it reads.
    reads: &'static str,
    /// The kinds of problem that it names.
    says: &'static [&'static str],
    #[serde(rename = "of_a_workflow", serialize_with = "is_of_a_workflow")]
    concerns: Concerns,
    #[serde(skip)]
    needs: Needs,
    #[serde(skip)]
    look: fn(&mut Checkup),
}

/// What a check is about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Concerns {
    /// The installation or the whole mailbox: `askbox doctor ID` does not run it.
    Everything,
    /// A workflow too.
    Workflow,
    /// A workflow with a round that is not closed.
    OpenRound,
    /// A workflow whose agent is still to be launched.
    Launch,
}

fn is_of_a_workflow<S: Serializer>(concerns: &Concerns, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_bool(*concerns != Concerns::Everything)
}

/// What a check cannot do without.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Needs {
    Nothing,
    /// A configuration that can be read.
    Configuration,
    /// Also that agents run here. On some machines people only answer.
    Agents,
}

/// A row of the table.
const fn row(name: &'static str, reads: &'static str, says: &'static [&'static str], look: fn(&mut Checkup)) -> Check {
    Check { name, reads, says, concerns: Concerns::Everything, needs: Needs::Nothing, look }
}

impl Check {
    const fn of(self, concerns: Concerns) -> Self {
        Self { concerns, ..self }
    }

    const fn with(self, needs: Needs) -> Self {
        Self { needs, ..self }
    }

    fn applies(&self, checkup: &Checkup) -> bool {
        let has_all = match self.needs {
            Needs::Nothing => true,
            Needs::Configuration => checkup.loaded.is_ok(),
            Needs::Agents => checkup.loaded.is_ok() && !checkup.only_answers,
        };
        let road = checkup.road.as_ref();
        has_all
            && match self.concerns {
                _ if checkup.only.is_none() => true,
                Concerns::Everything => false,
                Concerns::Workflow => true,
                Concerns::OpenRound => road.is_some_and(|road| road.is_open()),
                Concerns::Launch => road.is_some_and(|road| road.is_before_launch()),
            }
    }
}

/// Prints the table.
pub(super) fn list(is_json: bool) -> Result<(), Error> {
    if is_json {
        return program::print_json(&CHECKS);
    }
    let rows: Vec<_> = CHECKS.iter().map(|check| [check.name.to_owned(), check.reads.to_owned(), check.says.join(", ")]).collect();
    program::print(&columns::table(["CHECK", "READS", "SAYS"], &rows))
}

/// Runs the rows that apply.
pub(super) fn run(checkup: &mut Checkup) {
    for check in CHECKS {
        if check.applies(checkup) {
            checkup.says = check.says;
            (check.look)(checkup);
        }
    }
}

const CHECKS: &[Check] = &[
    row("configuration", "the configuration file, and who may write it", &["config", "config_mode", "config_owner"], setup::configuration)
        .of(Concerns::Workflow),
    row("watcher", "the configuration that the running watcher began with", &["newer_configuration"], setup::newer_configuration)
        .of(Concerns::Launch)
        .with(Needs::Configuration),
    row("runners", "the programs of the runners in use", &["config", "permission_mode", "no_runner"], setup::runners)
        .of(Concerns::Launch)
        .with(Needs::Agents),
    row("agent path", "`env.PATH` in the settings of claude", &["hidden_programs"], agent_path::look).with(Needs::Agents),
    row("agent start", "`.claude.json`, and the settings of the administrator", &["agent_cannot_start"], agent_start::look)
        .of(Concerns::Launch)
        .with(Needs::Agents),
    row("claude's files", "`CLAUDE_CONFIG_DIR`, and the hooks in the settings of claude", &["config_dir", "stop_hook"], claude_files::look)
        .of(Concerns::Launch)
        .with(Needs::Agents),
    row("login", "the names of files and variables with logins of agents", &["no_login"], login::look)
        .of(Concerns::Launch)
        .with(Needs::Agents),
    row("money", "the limits on money, and the runners", &["no_cost"], money::look).of(Concerns::Launch).with(Needs::Agents),
    row("folders", "the folders that the configuration names", &["no_folder", "no_metrics"], setup::folders).with(Needs::Configuration),
    row(
        "targets",
        "the programs, secrets and servers of the targets, and when each was told",
        &["no_notifier", "no_secret", "open_secret", "unreachable", "not_told"],
        targets::look,
    )
    .with(Needs::Configuration),
    row("signing", "the keys of `[answers]`", &["sign_key", "sign_command"], setup::signing).with(Needs::Configuration),
    row(
        "dialogs",
        "the settings, hooks, plugins and versions of the programs in `[live]`, and the audit",
        &[
            "live_settings",
            "live_version",
            "live_without_hook",
            "live_without_target",
            "live_without_opencode",
            "live_without_copilot",
            "live_without_qwen",
            "live_without_plugin",
            "live_plugin",
            "dialog",
        ],
        dialogs::look,
    )
    .with(Needs::Configuration),
    row("setup", "what `askbox setup` made, and `permissions.deny` in the settings of claude", &["setup_lost", "denied"], promises::look),
    row("processes", "`/proc`", &["proc"], setup::processes).of(Concerns::Launch),
    row("time zone", "`$TZ`", &["time_zone"], setup::time_zone),
    row("programs", "PATH, and the program file of the running watcher", &["no_program"], setup::all_programs),
    row("mailbox", "the folder of the mailbox", &["no_mailbox"], files::no_mailbox),
    #[cfg(feature = "web")]
    row("page", "`web-devices.json`", &["page_mode", "page_devices", "page_device_unsigned"], page::look),
    row(
        "hold-ups",
        "the queue, the disk, and the lock of the watcher",
        &["paused", "full_disk", "read_only", "watcher_hangs"],
        documents::hold_ups,
    )
    .of(Concerns::OpenRound),
    row("news", "the events that are to be told", &["news_wait"], targets::news_wait).with(Needs::Configuration),
    row("traces", "the tally of the spans", &["no_traces"], traces::look).with(Needs::Configuration),
    row(
        "files",
        "owners, modes, links and names in the mailbox",
        &["no_folder", "no_file", "link", "owner", "mode", "stray", "leftover", "half_done"],
        files::look,
    )
    .of(Concerns::Workflow),
    row("archives", "`archive/`", &["archive", "half_done"], |checkup| {
        history::look(checkup);
        checkup.facts.history = history::known(checkup);
    }),
    row(
        "documents",
        "every question, answer, round, record, checkpoint and quarantined file",
        &[
            "unreadable",
            "newer",
            "misnamed",
            "stale",
            "overdue",
            "ahead",
            "no_folder",
            "closed_folder",
            "transcripts",
            "stop_hook",
            "checkpoint",
            "half_done",
            "unclaimed",
            "watcher_hangs",
            "parked",
            "interrupted",
            "stuck",
            "orphaned",
            "unlisted",
            "quarantined",
            "refused",
            "leftover",
            "hidden_programs",
        ],
        documents::look,
    )
    .of(Concerns::Workflow),
    row("waits", "`awaits/`", &["half_done", "stale_wait", "unwoken", "unreadable", "newer"], waits::look).of(Concerns::Workflow),
    row(
        "machines",
        "the other machines of the configuration",
        &["unreachable", "only_looks", "no_mailbox", "database_encoding"],
        peers::look,
    ),
    #[cfg(feature = "sync")]
    row(
        "database",
        "the state of `askbox sync run`, and the encoding of the database",
        &["unreadable", "config", "fenced", "no_sync", "sync_failing", "sync_behind", "database_encoding", "clock"],
        sync::look,
    ),
    row("agent version", "`claude --version`", &["agent_cannot_start"], agent_version::look).with(Needs::Configuration),
    row("ACP agents", "the answer to `initialize`, and the login shell", &["acp_agent", "hidden_programs"], acp_agents::ask)
        .with(Needs::Agents),
    row("codex", "Codex's daemon and `config.toml`", &["live_daemon", "live_without_codex", "live_version", "live_settings"], codex::look)
        .with(Needs::Configuration),
];
