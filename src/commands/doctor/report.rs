//! Runs every check and prints the results, for people or as JSON.

use std::collections::HashSet;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde::Serialize;

use crate::commands::doctor::checkup::{CLOSED_CHECKED, Checkup, Finding, MOMENT, word};
use crate::commands::doctor::in_force;
use crate::commands::doctor::installation::acp_agents::AcpAgent;
use crate::commands::doctor::installation::agent_version::AgentVersion;
use crate::commands::doctor::installation::codex::KnownCodex;
#[cfg(feature = "web")]
use crate::commands::doctor::installation::page;
#[cfg(feature = "sync")]
use crate::commands::doctor::installation::sync;
use crate::commands::doctor::installation::{acp_agents, agent_version, codex, peers, setup, targets, traces};
use crate::commands::doctor::mailbox_files::{files, history};
use crate::commands::doctor::progress::Progress;
use crate::commands::doctor::workflows::road::Road;
use crate::commands::doctor::workflows::{documents, hold_ups, waits};
use askbox_cli::args::askbox_args::Doctor;
use askbox_cli::program::{self, Context};
use askbox_cli::terminal::columns;
use askbox_mailbox::Mailbox;
use askbox_mailbox::disk;
use askbox_mailbox::error::{Error, Result};
use askbox_mailbox::listing::past_rounds;
use askbox_mailbox::platform::weaker::{self, Weaker};
use askbox_mailbox::text;
use askbox_mailbox::who::presence;

/// The output of `askbox doctor`.
#[derive(Debug, Serialize)]
struct Report {
    ok: bool,
    findings: Vec<Finding>,
    /// The number of further problems that are not listed. Missing if there are none.
    #[serde(skip_serializing_if = "is_none")]
    more: u64,
    /// The parts that could not be checked, with the reason. Missing if everything was checked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    not_checked: Vec<String>,
    /// True if a watcher is running on the mailbox.
    watcher: bool,
    /// True if a watcher would not start, because the configuration cannot be read.
    #[serde(skip)]
    cannot_watch: bool,
    /// True if no program opens the mailbox, because of its owner or its mode.
    #[serde(skip)]
    is_closed: bool,
    /// The road of the workflow's newest round. Missing if the whole mailbox was checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    road: Option<Road>,
    /// The agent program and its version, if it is `claude`. Missing if only one workflow was checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<AgentVersion>,
    /// The agents that speak ACP. Missing if no runner is of that kind, or if only one workflow was checked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    acp_agents: Vec<AcpAgent>,
    /// Codex's daemon. Missing if there is nothing to say about it, or if only one workflow was checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    codex: Option<KnownCodex>,
    /// The places where people are notified. Missing if there are none, or if only one workflow was checked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    targets: Vec<targets::KnownTarget>,
    /// The collector of spans. Missing if there is none, or if only one workflow was checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    traces: Option<traces::KnownTraces>,
    /// The other machines whose questions are seen from here. Missing if there are none, or if only one workflow was checked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    peers: Vec<peers::KnownPeer>,
    /// The devices that may answer on the web page. Missing if there are none, or if only one workflow was checked.
    #[cfg(feature = "web")]
    #[serde(skip_serializing_if = "Option::is_none")]
    page: Option<page::PageDevices>,
    /// What history costs, and the policy. Missing if there is none, or if only one workflow was checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    history: Option<history::KnownHistory>,
    /// The process that copies the questions into a database. Missing if there is none, or if only one workflow was checked.
    #[cfg(feature = "sync")]
    #[serde(skip_serializing_if = "Option::is_none")]
    sync: Option<sync::KnownSync>,
    /// The promises that are weaker on this system. Missing on Linux.
    #[serde(skip_serializing_if = "<[Weaker]>::is_empty")]
    weaker: &'static [Weaker],
    /// The configuration in force. People see more than its first two values only with `--config`.
    in_force: Vec<in_force::Value>,
}

fn is_none(count: &u64) -> bool {
    *count == 0
}

/// Refuses to check a mailbox of another user as root, as `sudo askbox doctor` does. Every file would count as a problem, and the commands
/// that solve them would give the mailbox to root.
fn refuse_for_another_user(root: &Path) -> Result<()> {
    let owner = disk::metadata(root).map(|meta| meta.uid()).unwrap_or_default();
    if owner == 0 || !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let problem = format!("this runs as root, and the mailbox {} belongs to user {owner}", text::path_word(root));
    Err(Error::usage(problem, format!("run it as that user, without sudo; as root: sudo -u '#{owner}' askbox doctor")))
}

/// Runs every check and prints the report. Returns 1 if there is a problem.
pub fn run(args: &Doctor, context: &Context) -> Result<u8> {
    let root = Mailbox::locate(args.common.mailbox.as_deref())?;
    refuse_for_another_user(&root)?;
    let flag = args.common.mailbox.as_ref().map_or_else(String::new, |_| format!(" --mailbox {}", word(&root)));
    let (mailbox, distrusted) = match Mailbox::open_strictly(&root) {
        Ok(mailbox) => (Some(mailbox), None),
        Err(Error::NotFound { .. }) => (None, None),
        Err(error) => (None, Some(error)),
    };
    let (is_missing, is_closed) = (mailbox.is_none() && distrusted.is_none(), distrusted.is_some());
    let watcher = mailbox.as_ref().is_some_and(|m| presence::anybody(m).unwrap_or(false));
    let loaded = context.loaded();
    let config = loaded.as_ref().map(|l| l.config.clone()).unwrap_or_default();
    let (stale, progress, moment) = (args.stale, Progress::new(), Some(MOMENT));
    let (findings, agent_folders) = (Vec::new(), HashSet::new());
    let is_codex_silent = false;
    let all_rounds = args.all_rounds;
    let newest = |mailbox: &Mailbox| past_rounds::closed_last(mailbox, CLOSED_CHECKED).ok();
    let closed = mailbox.as_ref().filter(|_| args.id.is_none()).and_then(newest).unwrap_or_default();
    let mut checkup = Checkup {
        root,
        mailbox,
        config,
        watcher,
        stale,
        flag,
        all_rounds,
        closed,
        findings,
        more: 0,
        context: context.clone(),
        agent_folders,
        progress,
        moment,
        is_codex_silent,
    };
    let only_answers = loaded.is_ok() && setup::only_answers(&checkup);
    let peers = if args.id.is_none() { peers::known(&checkup) } else { Vec::new() };
    let mut road = None;
    let in_force = match &args.id {
        Some(id) => {
            let mailbox = args.common.open()?;
            if let Err(error) = &loaded {
                setup::unreadable_configuration(&mut checkup, error);
            }
            documents::look_at_workflow(&mut checkup, &mailbox, id)?;
            let teller = checkup.teller(&mailbox);
            road = Road::of_workflow(&checkup, &teller, id);
            if road.as_ref().is_some_and(Road::is_open) {
                hold_ups::of_round(&mut checkup, &teller, id, road.as_ref().is_some_and(Road::names_watcher));
            }
            if loaded.is_ok() && road.as_ref().is_some_and(Road::is_before_launch) {
                setup::launch_of(&mut checkup, id);
                hold_ups::queue(&mut checkup, &teller);
            }
            Vec::new()
        }
        None => {
            setup::look(&mut checkup, loaded.as_ref().err(), only_answers);
            if is_missing && !only_answers {
                files::no_mailbox(&mut checkup, args.common.mailbox.is_some());
            }
            #[cfg(feature = "web")]
            page::look(&mut checkup);
            hold_ups::look(&mut checkup);
            if loaded.is_ok() {
                targets::news_wait(&mut checkup);
                traces::look(&mut checkup);
            }
            files::look(&mut checkup);
            history::look(&mut checkup);
            documents::look(&mut checkup);
            waits::look(&mut checkup);
            peers::look(&mut checkup, &peers);
            #[cfg(feature = "sync")]
            sync::look(&mut checkup);
            in_force::values(&checkup.root, args.common.mailbox.is_some(), args.config || args.common.json, loaded.as_deref().ok())
        }
    };
    let mut not_checked = Vec::new();
    if let Some(error) = distrusted {
        let what = "questions, answers, runs, checkpoints, workflows and waits were not checked, because the mailbox cannot be used";
        not_checked.push(format!("{what}: {error}"));
    }
    if only_answers && args.id.is_none() {
        let why = "nothing was asked on this computer, claude is not installed, and the configuration names other machines";
        not_checked.push(format!("runners and the mailbox, as from here one only answers: {why}"));
    }
    if loaded.is_err() && args.id.is_none() {
        not_checked.push("runners, notifier, metrics and folders of the configuration were not checked, because it cannot be read".into());
    }
    let agent = if args.id.is_none() && loaded.is_ok() { agent_version::agent_version(&checkup.config) } else { None };
    let acp_agents = if args.id.is_none() && loaded.is_ok() && !only_answers { acp_agents::ask(&mut checkup) } else { Vec::new() };
    let codex = if args.id.is_none() && loaded.is_ok() { codex::look(&mut checkup) } else { None };
    let history = if args.id.is_none() { history::known(&checkup) } else { None };
    let targets = if args.id.is_none() { targets::known(&checkup) } else { Vec::new() };
    let traces = if args.id.is_none() { traces::known(&checkup) } else { None };
    #[cfg(feature = "web")]
    let page = if args.id.is_none() { page::known(&checkup) } else { None };
    #[cfg(feature = "sync")]
    let sync = if args.id.is_none() { sync::known(&checkup) } else { None };
    // Dropping the progress removes its line from the terminal.
    drop(checkup.progress);
    let cannot_watch = loaded.is_err();
    let report = Report {
        cannot_watch,
        ok: checkup.findings.is_empty(),
        findings: checkup.findings,
        more: checkup.more,
        not_checked,
        watcher,
        is_closed,
        road,
        agent,
        acp_agents,
        codex,
        targets,
        traces,
        peers,
        #[cfg(feature = "web")]
        page,
        history,
        #[cfg(feature = "sync")]
        sync,
        weaker: weaker::here(),
        in_force,
    };
    if args.common.json {
        program::print_json(&report)?;
    } else {
        program::print(&words(&report, is_missing))?;
    }
    Ok(u8::from(!report.ok))
}

fn words(report: &Report, is_missing: bool) -> String {
    let rows: Vec<[String; 3]> =
        report.in_force.iter().map(|v| [v.key.clone(), text::excerpt(&v.value.to_string(), 80), v.from.clone()]).collect();
    let mut out = if rows.is_empty() { String::new() } else { columns::table(["IN FORCE", "VALUE", "FROM"], &rows) + "\n" };
    if is_missing {
        out.push_str("There is no mailbox yet; askbox setup makes it, and so does the first ask-post.\n");
    } else if report.is_closed {
        out.push_str("The mailbox cannot be used as it is, so no watcher can run.\n");
    } else if report.watcher {
        out.push_str("A watcher is running.\n");
    } else if report.cannot_watch {
        out.push_str("No watcher is running. First mend the configuration, then start one with: relaunch watch\n");
    } else {
        out.push_str("No watcher is running; start one with: relaunch watch\n");
    }
    out.push_str(&report.agent.as_ref().map(AgentVersion::words).unwrap_or_default());
    report.acp_agents.iter().for_each(|agent| out.push_str(&agent.words()));
    out.push_str(report.codex.as_ref().map(KnownCodex::words).unwrap_or_default());
    report.targets.iter().for_each(|target| out.push_str(&target.words()));
    report.traces.iter().for_each(|traces| out.push_str(&traces.words()));
    report.peers.iter().for_each(|peer| out.push_str(&peer.words()));
    #[cfg(feature = "web")]
    out.push_str(&report.page.as_ref().map(page::PageDevices::words).unwrap_or_default());
    #[cfg(feature = "sync")]
    out.push_str(&report.sync.as_ref().map(sync::KnownSync::words).unwrap_or_default());
    out.push_str(&report.history.as_ref().map(history::KnownHistory::words).unwrap_or_default());
    out.push_str(&weaker::words(report.weaker));
    out.push_str(&report.road.as_ref().map(|road| format!("\n{}\n", road.words())).unwrap_or_default());
    match report.findings.len() {
        // The road names the command that starts it.
        0 if report.road.as_ref().is_some_and(Road::is_held_up) => out.push_str("No other problem found.\n"),
        0 => out.push_str("No problems found.\n"),
        1 => out.push_str("1 problem found:\n"),
        n => out.push_str(&format!("{n} problems found:\n")),
    }
    for finding in &report.findings {
        out.push_str(&format!("\n{}: {}: {}\n  $ {}\n", finding.kind, finding.subject, finding.problem, finding.mend));
    }
    for said in &report.not_checked {
        out.push_str(&format!("\nnot checked: {said}\n"));
    }
    if report.more > 0 {
        out.push_str(&format!("\n{} more problems are not listed: solve these first\n", report.more));
    }
    out
}
