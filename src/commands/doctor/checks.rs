//! The table of the checks. The general doctor runs every row, and `askbox doctor ID` runs those that concern a workflow.
//! docs/guide-operator.md shows the table, and a test compares both.

use Concerns::{Everything, Launch, OpenRound, Workflow};
use Needs::{Agents, Configuration, Nothing};
use serde_json::json;

use crate::commands::doctor::checkup::Checkup;
#[cfg(feature = "web")]
use crate::commands::doctor::installation::page;
#[cfg(feature = "sync")]
use crate::commands::doctor::installation::sync;
use crate::commands::doctor::installation::{acp_agents, agent, claude_files, codex, dialogs, login, peers, promises, setup, targets};
use crate::commands::doctor::mailbox_files::{files, history};
use crate::commands::doctor::workflows::{documents, hold_ups, waits};
use askbox_cli::{columns, program};
use askbox_mailbox::Error;

/// One row.
pub(super) struct Check {
    name: &'static str,
    /// What it reads.
    reads: &'static str,
    /// The kinds of problem that it names, with commas between them.
    says: &'static str,
    look: fn(&mut Checkup),
    concerns: Concerns,
    needs: Needs,
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

/// What a check cannot do without. Each needs what those before it need as well.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Needs {
    Nothing,
    /// A configuration that can be read.
    Configuration,
    /// That agents run here. On some machines people only answer.
    Agents,
}

/// A row of the table.
const fn row(name: &'static str, reads: &'static str, look: fn(&mut Checkup)) -> Check {
    Check { name, reads, says: "", look, concerns: Everything, needs: Nothing }
}

impl Check {
    const fn says(self, says: &'static str) -> Self {
        Self { says, ..self }
    }

    const fn of(self, concerns: Concerns) -> Self {
        Self { concerns, ..self }
    }

    const fn with(self, needs: Needs) -> Self {
        Self { needs, ..self }
    }

    /// The kinds of problem that it names.
    fn kinds(&self) -> Vec<&'static str> {
        self.says.split(", ").collect()
    }

    fn applies(&self, checkup: &Checkup) -> bool {
        let has = match checkup.loaded {
            Err(_) => Nothing,
            Ok(_) if checkup.only_answers => Configuration,
            Ok(_) => Agents,
        };
        let is_meant = match self.concerns {
            _ if checkup.only.is_none() => true,
            Everything => false,
            Workflow => true,
            OpenRound => checkup.newest.is_some_and(|newest| newest.is_open),
            Launch => checkup.newest.is_some_and(|newest| newest.is_before_launch),
        };
        is_meant && self.needs <= has
    }
}

/// Prints the table.
pub(super) fn list(is_json: bool) -> Result<(), Error> {
    if is_json {
        let row = |check: &Check| {
            let of_a_workflow = check.concerns != Everything;
            json!({ "name": check.name, "reads": check.reads, "says": check.kinds(), "of_a_workflow": of_a_workflow })
        };
        return program::print_json(&CHECKS.iter().map(row).collect::<Vec<_>>());
    }
    let rows: Vec<_> = CHECKS.iter().map(|check| [check.name, check.reads, check.says].map(str::to_owned)).collect();
    program::print(&columns::table(["CHECK", "READS", "SAYS"], &rows))
}

/// Runs the rows that apply.
pub(super) fn run(checkup: &mut Checkup) {
    for check in CHECKS {
        if check.applies(checkup) {
            checkup.says = check.kinds();
            (check.look)(checkup);
        }
    }
}

const CHECKS: &[Check] = &[
    row("configuration", "the configuration file, and who may write it", setup::configuration)
        .says("config, config_mode, config_owner")
        .of(Workflow),
    row("watcher", "the configuration that the running watcher began with", setup::newer_configuration)
        .says("newer_configuration")
        .of(Launch)
        .with(Configuration),
    row("runners", "the programs of the runners in use", setup::runners).says("config, permission_mode, no_runner").of(Launch).with(Agents),
    row("agent path", "`env.PATH` in the settings of claude", agent::path).says("hidden_programs").with(Agents),
    row("agent start", "`.claude.json`, and the settings of the administrator", agent::start)
        .says("agent_cannot_start")
        .of(Launch)
        .with(Agents),
    row("claude's files", "`CLAUDE_CONFIG_DIR`, and the hooks in the settings of claude", claude_files::look)
        .says("config_dir, stop_hook")
        .of(Launch)
        .with(Agents),
    row("login", "the names of files and variables with logins of agents", login::look).says("no_login").of(Launch).with(Agents),
    row("money", "the limits on money, and the runners", setup::look).says("no_cost").of(Launch).with(Agents),
    row("folders", "the folders that the configuration names", setup::folders).says("no_folder, no_metrics").with(Configuration),
    row("targets", "the programs, secrets and servers of the targets, and when each was told", targets::look)
        .says("no_notifier, no_secret, open_secret, unreachable, not_told")
        .with(Configuration),
    row("signing", "the keys of `[answers]`", setup::signing).says("sign_key, sign_command").with(Configuration),
    row("fence", "`[fence]`, and the kernel", setup::fence).says("no_fence").of(Launch).with(Configuration),
    row("dialogs", "the settings, hooks, plugins and versions of the programs in `[live]`, and the audit", dialogs::look)
        .says(
            "live_settings, live_version, live_without_hook, live_without_target, live_without_opencode, \
             live_without_copilot, live_without_plugin, live_plugin, dialog",
        )
        .with(Configuration),
    row("setup", "what `askbox setup` made, and `permissions.deny` in the settings of claude", promises::look).says("setup_lost, denied"),
    row("processes", "`/proc`", setup::processes).says("proc").of(Launch),
    row("time zone", "`$TZ`", setup::time_zone).says("time_zone"),
    row("programs", "PATH, and the program file of the running watcher", setup::all_programs).says("no_program"),
    row("mailbox", "the folder of the mailbox", files::no_mailbox).says("no_mailbox"),
    #[cfg(feature = "web")]
    row("page", "`web-devices.json`", page::look).says("page_mode, page_devices, page_device_unsigned"),
    row("hold-ups", "the queue, the disk, and the lock of the watcher", hold_ups::look)
        .says("paused, full_disk, read_only, watcher_hangs")
        .of(OpenRound),
    row("news", "the events that are to be told", targets::news_wait).says("news_wait").with(Configuration),
    row("traces", "the tally of the spans", targets::traces).says("no_traces, no_secret, open_secret").with(Configuration),
    row("files", "owners, modes, links and names in the mailbox", files::look)
        .says("no_folder, no_file, link, owner, mode, stray, leftover, half_done")
        .of(Workflow),
    row("archives", "`archive/`", history::look).says("archive"),
    row("documents", "every question, answer, round, record, checkpoint and quarantined file", documents::look)
        .says(
            "unreadable, newer, misnamed, stale, overdue, ahead, folder, transcripts, stop_hook, \
             checkpoint, half_done, unclaimed, watcher_hangs, parked, interrupted, stuck, orphaned, unlisted, \
             quarantined, refused, leftover, hidden_programs",
        )
        .of(Workflow),
    row("waits", "`awaits/`", waits::look).says("half_done, stale_wait, unwoken, unreadable, newer").of(Workflow),
    row("machines", "the other machines of the configuration", peers::look).says("unreachable, only_looks, no_mailbox"),
    #[cfg(feature = "sync")]
    row("database", "the state of `askbox sync run`, and the encoding of the database", sync::look)
        .says("unreadable, config, fenced, no_sync, sync_failing, sync_behind, database_encoding, clock"),
    row("agent version", "`claude --version`", agent::version).says("agent_cannot_start").with(Configuration),
    row("ACP agents", "the answer to `initialize`, and the login shell", acp_agents::ask).says("acp_agent, hidden_programs").with(Agents),
    row("codex", "Codex's daemon and `config.toml`", codex::look)
        .says("live_daemon, live_without_codex, live_version, live_settings")
        .with(Configuration),
];
