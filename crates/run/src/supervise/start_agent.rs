//! Turns a claimed attempt into an agent that has received its first message, into a program that has its round on standard input, or
//! into an adapter of askbox that talks with an agent in the agent's own protocol: `askbox-acp`.
//!
//! Checks that the agent program knows the role (the agent definition) that the run asks for.
//!
//! `claude --agent NAME` with an unknown name runs without that role's rules and with all tools, and does not report it. So the
//! supervisor asks for the known names before it sends the message, when no model has cost anything yet. Only the agent program knows
//! all names: the built-in ones, those of plugins, and those of its own arguments.
//!
//! A program may act before it reads anything, and an adapter may start the agent. So the attempt's record is durable before the program
//! starts, and not only before it has its input, as for an agent.

use std::path::Path;

use serde_json::Value;

use crate::attempt::auto_choice::AutoChoice;
use crate::attempt::once;
use crate::attempt::record::Begin;
use crate::attempt::suspended_call::{self, Told};
use crate::claim::plan;
use crate::fence;
use crate::money::budget::{self, Allowance};
use crate::process::launch::{self, Handed, SessionStart};
use crate::process::own_programs::HiddenBy;
use crate::process::permitted::{self, WorkFolder};
use crate::process::programs;
use crate::prompt::{message, round_input, templates};
use crate::supervise::hooks::{self, HeldCalls, Waits};
use crate::supervise::ownership::OwnedAttempt;
use crate::supervise::started_agent::{self, Launch, RunningAgent, Started};
use askbox_agent::claude::{self, Invocation};
use askbox_agent::events::EventKind;
use askbox_agent::output::{AdapterOutput, AgentOutput};
use askbox_agent::program::ProgramOutput;
use askbox_agent::stream::Interpreter;
use askbox_config::{Config, Runner, RunnerKind};
use askbox_mailbox::disk::{self, Staged};
use askbox_mailbox::documents::question::Content;
use askbox_mailbox::{Error, Mailbox, QuestionDocument, Result, text};

/// A launch that is prepared. Nothing has been started, and no name on disk has changed.
struct Prepared {
    document: QuestionDocument,
    start: SessionStart,
    /// The first message, as the agent reads it; `None` if the session goes on with a call that waits in it.
    message: Option<String>,
    call: Invocation,
    folder: WorkFolder,
    max_turns: Option<u32>,
    /// Settings that hide askbox's programs from the agent.
    hidden_by: Option<HiddenBy>,
    /// `run.json` with the state `running`; `None` if the attempt has no `run.json` yet.
    record: Option<Staged>,
}

/// Launches the agent of an attempt and sends it its first message.
pub(super) fn start(launch: Launch<'_, '_>, runner: &Runner, allowance: &Allowance) -> Result<Started> {
    let Launch { mailbox, config, attempt, log, sources, channel } = launch;
    let Prepared { document, start, message, call, folder, max_turns, hidden_by, record } =
        prepare(mailbox, config, runner, attempt, allowance)?;
    // Before the launch, because recovery must know that there may be a process. After a power cut there is none.
    record.map_or(Ok(()), Staged::replace_ahead)?;
    let mut spawned = started_agent::spawn((mailbox, config, &attempt.run), &call, &folder, start, RunnerKind::Claude)?;
    // The disk works while the agent starts. The record is durable before the agent receives any input. If the power is cut before
    // that, the agent that ends did not know anything.
    if let Err(e) = attempt.make_durable(mailbox, &document) {
        started_agent::end(&mut spawned.child);
        return Err(e);
    }
    let run = &attempt.run;
    run.begin_why.iter().for_each(|why| log.note(why.clone()));
    if let Begin::Fork { from, of: Some(of) } = &run.begin {
        let what = if matches!(document.typed.content(), Content::Task(_)) { "which started this" } else { "within which this was asked" };
        log.note(format!("in a fork of session {from} of {of}, {what}"));
    }
    hidden_by.iter().for_each(|hidden_by| log.note(about_path(hidden_by, &call)));
    let interpreter = match &spawned.start {
        SessionStart::New => Interpreter::new(),
        SessionStart::Continue { .. } => Interpreter::resuming(run.session_id.to_string()),
        SessionStart::Fork(from) => Interpreter::resuming(from.as_str()),
    };
    let output = AgentOutput::Claude(Box::new(interpreter));
    let mut agent = RunningAgent::connect(mailbox, run, spawned, output, sources, channel, log);
    let held_message = match (message, &run.role) {
        (Some(message), Some(_)) => {
            agent.say(&claude::initialize(ROLE_QUESTION));
            Some(message)
        }
        (Some(message), None) => {
            agent.say(&message);
            None
        }
        (None, _) => {
            log.note("the session goes on with the call that waits in it");
            None
        }
    };
    Ok(Started { agent, held_message, max_turns })
}

fn prepare(mailbox: &Mailbox, config: &Config, runner: &Runner, attempt: &mut OwnedAttempt, allowance: &Allowance) -> Result<Prepared> {
    let document = attempt.take_document(mailbox)?;
    let run = &mut attempt.run;
    let folder = permitted::of_launch(config, run)?;
    let start = launch::session_start(mailbox, run);
    if let (Begin::Fork { from, .. }, SessionStart::New) = (&run.begin, &start) {
        // The transcript existed when the round was claimed. From now on every attempt begins a new session, with the prompt for a new
        // one.
        let why = plan::transcript_gone(from);
        run.auto = run.auto.as_ref().map(|_| AutoChoice::because(why.clone()));
        run.begin_why = Some(why);
        run.begin = Begin::Fresh;
    }
    let handed = Handed::new(config, &document.typed, run);
    let record = attempt.begin(mailbox, &handed.nonce)?;
    let run = &attempt.run;
    let continued = match &start {
        SessionStart::New => None,
        SessionStart::Continue { .. } => Some(run.session_id.to_string()),
        SessionStart::Fork(from) => Some(from.clone()),
    };
    let renamed = message::renamed_folder(&document.typed, run);
    let message = match suspended_call::told(mailbox, &document.typed, run, continued.as_deref()) {
        Told::Nothing => None,
        Told::ToContinue => Some(claude::user_message(&run.continue_id().to_string(), &format!("{}{renamed}", templates::CONTINUE))),
        Told::TheMessage => {
            let text = message::first_message(mailbox, config, &document.typed, run)? + &renamed;
            Some(claude::user_message(&run.message_id.to_string(), &text))
        }
    };
    let askbox = programs::askbox();
    if !config.approvals.is_empty() {
        can_hold_calls(runner, askbox.as_deref())?;
    }
    let held = askbox.as_deref().map(|askbox| HeldCalls {
        askbox,
        approvals: &config.approvals,
        answers: &config.answers,
        waiting: document.typed.approval.as_ref(),
    });
    let config_dir = run.config_dir.clone().or_else(|| claude::config_dir(|name| std::env::var_os(name)));
    let hidden_by = config_dir.and_then(|dir| HiddenBy::settings_of(&dir, folder.path()));
    let path = hidden_by.as_ref().map(|hidden_by| hidden_by.mended.as_str());
    let settings =
        hooks::settings(&run.folder(mailbox), &Waits::of(mailbox, &run.workflow_id, &fence::asks(mailbox, run)), held.as_ref(), path);
    let call = launch::agent_call(mailbox, &document.typed, run, runner, &start, &settings, &handed);
    let max_turns = Some(config.limits.turns).filter(|turns| *turns > 0 && !budget::says(&call, budget::MAX_TURNS));
    let call = allowance.limit(call, max_turns);
    Ok(Prepared { document, start, message, call, folder, max_turns, hidden_by, record })
}

/// Says that the agent's settings set a PATH without askbox's programs, and whether this launch adds their folder.
fn about_path(hidden_by: &HiddenBy, call: &Invocation) -> String {
    let HiddenBy { file, missing, mended } = hidden_by;
    let is_mended = call.args.iter().any(|arg| arg.to_str().is_some_and(|arg| arg.contains(mended.as_str())));
    let then = if is_mended { "it was added for this run" } else { "the agent will not find `ask-post`: add it there" };
    format!("{} sets a PATH without askbox's programs, which lie in {}; {then}", file.display(), missing.display())
}

/// Refuses a launch if the rules of `[approvals]` could not hold any call.
fn can_hold_calls(runner: &Runner, askbox: Option<&Path>) -> Result<()> {
    let without_hooks = runner.args.iter().map(String::as_str).find(|arg| matches!(*arg, "--bare" | "--safe-mode"));
    if let Some(arg) = launch::without_our_settings(runner).or(without_hooks) {
        let message = format!("[approvals] has rules, but with the runner's argument `{arg}` the agent gets no hook that holds a call");
        return Err(Error::failed(message, "take the argument out of [runner.NAME] args, or empty [approvals]"));
    }
    match askbox {
        Some(_) => Ok(()),
        None => Err(Error::failed(
            "[approvals] has rules, but the `askbox` program, which holds the calls, is not found",
            "install it beside `relaunch` or on PATH, or empty [approvals]",
        )),
    }
}

/// The id of the control request, which its reply repeats.
pub const ROLE_QUESTION: &str = "askbox-role";
/// How many known names the refusal lists.
const NAMES: usize = 20;

/// The refusal, if the reply lists names and `role` is not among them.
pub fn unknown_role(role: &str, answer: &Value) -> Option<String> {
    let names: Vec<&str> = answer["agents"].as_array()?.iter().filter_map(|a| a["name"].as_str()).collect();
    // An agent of a plugin may be named without the plugin.
    if names.iter().any(|name| *name == role || name.strip_suffix(role).is_some_and(|plugin| plugin.ends_with(':'))) {
        return None;
    }
    let mut known: Vec<String> = names.iter().take(NAMES).map(|name| text::excerpt(name, 40)).collect();
    if names.len() > NAMES {
        known.push("…".into());
    }
    Some(format!("there is no agent `{}`; known here: {}", text::excerpt(role, 80), known.join(", ")))
}

/// Launches the program of an attempt and gives it its round.
pub(super) fn program(launch: Launch<'_, '_>, runner: &Runner) -> Result<Started> {
    let Launch { mailbox, config, attempt, log, sources, channel } = launch;
    attempt.refuse_choices("is a program, which has none", "start it without that choice, or under an id that another runner runs")?;
    let folder = permitted::of_launch(config, &attempt.run)?;
    let (document, handed) = attempt.begin_durably(mailbox, config)?;
    let run = &attempt.run;
    let input = round_input::of(mailbox, &document, run)?;
    let file = run.folder(mailbox).join(round_input::FILE);
    disk::touch_folder(&run.folder(mailbox))?;
    disk::replace_ahead(&file, input.as_bytes())?;
    let call = launch::program_call(mailbox, run, runner, &handed, &file);
    let spawned = started_agent::spawn((mailbox, config, run), &call, &folder, SessionStart::New, RunnerKind::Program)?;
    run.begin_why.iter().for_each(|why| log.note(why.clone()));
    once::in_words(mailbox, &run.round()).into_iter().for_each(|words| log.note(words));
    log.event(EventKind::Started {
        session_id: run.session_id.to_string().into(),
        model: "".into(),
        version: "".into(),
        permission_mode: "".into(),
        cwd: folder.path().display().to_string().into(),
        resumed: None,
        program: call.program.file_name().map(|name| text::file_name(name).into()),
    });
    let mut agent = RunningAgent::connect(mailbox, run, spawned, AgentOutput::Program(ProgramOutput::default()), sources, channel, log);
    agent.say(&input);
    agent.close_input();
    Ok(Started { agent, held_message: None, max_turns: None })
}

/// Launches the adapter of an attempt. It reads the records of the attempt, opens the session and makes the first message by itself.
pub(super) fn adapter(launch: Launch<'_, '_>, runner: &Runner) -> Result<Started> {
    let Launch { mailbox, config, attempt, log, sources, channel } = launch;
    let fix = "choose it in the agent's own settings, and start without that choice";
    attempt.refuse_choices("speaks ACP, which has no way to choose one", fix)?;
    programs::of_runner(runner)?;
    let adapter = programs::adapter()?;
    let folder = permitted::of_launch(config, &attempt.run)?;
    let (_, handed) = attempt.begin_durably(mailbox, config)?;
    let run = &attempt.run;
    let call = launch::adapter_call(mailbox, run, runner, &handed, &adapter);
    let spawned = started_agent::spawn((mailbox, config, run), &call, &folder, SessionStart::New, RunnerKind::Acp)?;
    run.begin_why.iter().for_each(|why| log.note(why.clone()));
    let output = AgentOutput::Adapter(AdapterOutput::default());
    let agent = RunningAgent::connect(mailbox, run, spawned, output, sources, channel, log);
    let max_turns = Some(config.limits.turns).filter(|turns| *turns > 0);
    Ok(Started { agent, held_message: None, max_turns })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_is_known_by_its_whole_name_or_without_its_plugin() {
        let answer = serde_json::json!({"agents": [{"name": "plain"}, {"name": "kit:reviewer"}, {"name": 3}, "x"]});
        for known in ["plain", "reviewer", "kit:reviewer"] {
            assert_eq!(unknown_role(known, &answer), None);
        }
        for other in ["Plain", "lain", "viewer", "", "kit", "x"] {
            assert!(unknown_role(other, &answer).unwrap().ends_with("known here: plain, kit:reviewer"), "{other}");
        }
        for silent in ["null", "{}", r#"{"agents":{}}"#] {
            assert_eq!(unknown_role("plain", &serde_json::from_str(silent).unwrap()), None);
        }
    }
}
