//! The program: finds its session, takes messages, runs turns, and says how each ended.

use std::collections::{HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::time::Instant;

use serde_json::{Value, json};

use crate::conversation::Conversation;
use crate::events::Events;
use crate::history::Kind;
use crate::host::{Host, Queued};
use crate::model::Api;
use crate::settings::Settings;
use crate::step::{End, Stop};
use crate::transcript::{self, Transcript, new_id};
use crate::{person, task};
use askbox_agent::claude;
use askbox_agent::transcript::{find, of_new};
use askbox_cli::args::ask_agent_args::{AskAgent, Format};
use askbox_cli::program;
use askbox_definitions::catalog::Catalog;
use askbox_mailbox::{Error, IoContext, Result};

/// The longest task on standard input, in bytes.
const LONGEST_TASK: u64 = 16 << 20;
/// The exit status after SIGTERM.
const TERMINATED: u8 = 128 + 15;

/// Runs `ask-agent`; returns the exit status.
///
/// # Errors
/// Those of wrong arguments, of files, of the mailbox and of a missing key. That the API refuses is not an error but a result.
pub fn run(args: AskAgent) -> Result<u8> {
    let streams = args.input_format == "stream-json";
    if streams && args.output_format != Format::StreamJson {
        return Err(Error::usage("--input-format stream-json needs --output-format stream-json", "give both, or neither"));
    }
    let cwd = std::env::current_dir().io("find", "the working folder")?;
    let config_dir = claude::config_dir(|name| std::env::var_os(name));
    let config_dir = config_dir.ok_or_else(|| Error::failed("there is no folder for sessions", "set HOME or CLAUDE_CONFIG_DIR"))?;
    let settings = Settings::read(&config_dir, &cwd, &args)?;
    let found = find_session(&args, &config_dir, &cwd);
    if let (Err(e @ Error::NotFound { .. }), true) = (&found, streams) {
        let events = Events::new(&args.resume.map(|id| id.to_string()).unwrap_or_default(), args.output_format, false);
        let errors = json!({ "type": "result", "subtype": "error_during_execution", "is_error": true, "errors": [e.to_string()] });
        events.result(errors, "");
    }
    let (session, transcript) = found?;
    let prompt = if streams { None } else { prompt(&args)? };
    let prices = settings.var("ASK_AGENT_PRICES").and_then(|prices| serde_json::from_str(&prices).ok());
    if args.max_budget_usd.is_some() && prices.is_none() {
        return Err(Error::usage("--max-budget-usd needs the prices of the model", "set ASK_AGENT_PRICES=[3,15], in US dollars"));
    }
    let (sender, happenings) = channel();
    let mut host = Host {
        events: Events::new(&session, args.output_format, args.include_partial_messages),
        agents: Catalog::discover(&cwd, |name| std::env::var_os(name)).agents,
        api: Api::from_env(|name| settings.var(name))?,
        transcript,
        session,
        args,
        cwd,
        settings,
        queue: VecDeque::new(),
        known: HashSet::new(),
        taken: Vec::new(),
        usage: Value::Null,
        cost: 0.0,
        prices,
        input_ended: false,
        broken: None,
        stop: None,
        stops: 0,
        sender,
        happenings,
    };
    host.listen(streams)?;
    let conversation = if host.args.resume.is_some() { Some(open(&mut host)?) } else { None };
    let mut agent = Running { host, conversation };
    if streams { agent.serve() } else { agent.once(prompt) }
}

/// The task in the arguments, or on standard input.
fn prompt(args: &AskAgent) -> Result<Option<String>> {
    match &args.prompt {
        Some(prompt) => Ok(Some(prompt.clone())),
        None if args.resume.is_some() => Ok(None),
        None if program::is_interactive() => Err(Error::usage("there is no task", "ask-agent 'TASK', or ask-agent --resume ID")),
        None => program::read_stdin_text(LONGEST_TASK).map(Some),
    }
}

/// The id of the session, and the path of its transcript.
fn find_session(args: &AskAgent, config_dir: &Path, cwd: &Path) -> Result<(String, PathBuf)> {
    let new = args.session_id.map_or_else(new_id, |id| id.to_string());
    let path = of_new(config_dir, cwd, &new);
    let resumed = args.resume.map(|id| id.to_string());
    if args.fork_session || resumed.is_none() {
        if find(config_dir, &new).is_some() {
            return Err(Error::conflict(format!("Session ID {new} is already in use."), "go on with it: --resume"));
        }
    } else if args.session_id.is_some() {
        return Err(Error::usage("--session-id with --resume also needs --fork-session", "leave one of them out"));
    }
    let Some(id) = resumed else { return Ok((new, path)) };
    let missing = || Error::not_found(format!("No conversation found with session ID: {id}"), "begin one with --session-id");
    let known = find(config_dir, &id).ok_or_else(missing)?;
    if !args.fork_session {
        return Ok((id, known));
    }
    transcript::copy(&known, &path)?;
    Ok((new, path))
}

/// Opens the session.
fn open(host: &mut Host) -> Result<Conversation> {
    let mut transcript = Transcript::open(&host.transcript, &host.session, &host.cwd)?;
    if let Some(to) = &host.args.resume_session_at {
        transcript.rewind(to)?;
    }
    let definition = host.args.agent.as_ref().map(|name| {
        let found = host.agents.iter().find(|agent| agent.name == *name);
        found.ok_or_else(|| Error::not_found(format!("there is no agent `{name}`"), "askbox agents lists them"))
    });
    let model = host.args.model.clone().or(transcript.history.model.clone()).or_else(|| host.settings.var("ANTHROPIC_MODEL"));
    let mut request = task::request(host, definition.transpose()?, model.as_deref(), 0);
    // The command line wins over the definition.
    request.model = host.args.model.clone().unwrap_or(request.model);
    host.known = transcript.history.prompts().filter(|(_, is_answered)| *is_answered).map(|(uuid, _)| uuid.to_owned()).collect();
    Ok(Conversation::new(transcript, request, None, host.args.max_turns.unwrap_or(usize::MAX)))
}

struct Running {
    host: Host,
    /// Opened when it is needed: a session without a message has no file.
    conversation: Option<Conversation>,
}

impl Running {
    /// One turn, for a person or a script: the task, or what comes next in the session.
    fn once(&mut self, prompt: Option<String>) -> Result<u8> {
        let message = prompt.map(|text| Queued { uuid: new_id(), content: text.trim_end().into() });
        let is_error = self.turn(message)?;
        Ok(if self.host.stop == Some(Stop::Terminate) { TERMINATED } else { is_error.into() })
    }

    /// One turn for each message on standard input, until it ends.
    fn serve(&mut self) -> Result<u8> {
        let mut is_error = false;
        if self.conversation.as_ref().is_some_and(|open| open.transcript.history.waiting.is_some()) {
            // The call that waits for a person is made once more, without a message.
            is_error = self.turn(None)?;
        }
        loop {
            if self.host.stop == Some(Stop::Terminate) {
                return Ok(TERMINATED);
            }
            if let Some(why) = self.host.broken.take() {
                return Err(Error::failed(why, "write one JSON object a line"));
            }
            match self.host.queue.pop_front() {
                Some(message) => is_error = self.turn(Some(message))?,
                None if self.host.input_ended => return Ok(is_error.into()),
                None => drop(self.host.wait(None)),
            }
        }
    }

    /// Runs a turn to its end. Returns true if it failed.
    fn turn(&mut self, message: Option<Queued>) -> Result<bool> {
        let began = Instant::now();
        let host = &mut self.host;
        let conversation = match &mut self.conversation {
            Some(open) => open,
            None => self.conversation.insert(open(host)?),
        };
        host.turn_begins();
        if let Some(message) = message {
            let known = conversation.transcript.history.prompts().find(|(uuid, _)| *uuid == message.uuid);
            match known.map(|(_, is_answered)| is_answered) {
                Some(true) => {
                    // The session has worked on this message already.
                    host.events.receipt(&message.uuid, "completed");
                    return Ok(false);
                }
                Some(false) => {}
                None => conversation.transcript.prompt(&message.uuid, &message.content)?,
            }
            host.events.receipt(&message.uuid, "started");
            host.taken.push(message.uuid);
        }
        conversation.init(host);
        (conversation.rounds, conversation.is_held, conversation.has_failed) = (0, false, false);
        let end = conversation.go_on(host)?;
        match &end {
            End::Waits(call) => conversation.transcript.wait(call)?,
            End::Stopped(Stop::Terminate) => return Ok(true),
            _ => {}
        }
        let (result, text) = result(conversation, host, end, began)?;
        let is_error = result["is_error"] == true;
        host.events.result(result, &text);
        let state = if is_error { "cancelled" } else { "completed" };
        host.taken.iter().for_each(|uuid| host.events.receipt(uuid, state));
        host.known.extend(std::mem::take(&mut host.taken));
        Ok(is_error)
    }
}

/// The final event of a turn, and its words for a person.
fn result(conversation: &Conversation, host: &Host, end: End, began: Instant) -> Result<(Value, String)> {
    let (own, text) = match end {
        End::Finished(words) => (json!({ "terminal_reason": "completed", "stop_reason": "end_turn", "result": words }), words),
        End::Short(subtype, reason, stop, why) => {
            let mut own = json!({ "subtype": subtype, "is_error": true, "terminal_reason": reason, "stop_reason": stop });
            (own["result"], own["errors"]) = (why.as_str().into(), json!([why]));
            (own, why)
        }
        End::Waits(call) => {
            if host.events.format == Format::Text {
                program::say(&format!("hint: once it is answered, go on with: ask-agent --resume {}\n", host.session));
            }
            let call = json!({ "id": call.id, "name": call.name, "input": call.input });
            let own = json!({ "terminal_reason": "tool_deferred", "stop_reason": "tool_deferred", "deferred_tool_use": call });
            (own, format!("QUESTION_POSTED:{}", person::workflow(host)?))
        }
        End::ByHook => (json!({ "terminal_reason": "hook_stopped", "stop_reason": "tool_use" }), "A hook ended the turn.".into()),
        End::Stopped(_) => {
            let mut newest = conversation.transcript.history.messages.iter().rev();
            let is_in_tools =
                newest.find(|message| !matches!(message.kind, Kind::Prompt | Kind::Remark)).is_some_and(|newest| !newest.is_reply());
            let cut = if is_in_tools { "aborted_tools" } else { "aborted_streaming" };
            let own = json!({ "subtype": "error_during_execution", "is_error": true, "terminal_reason": cut });
            (own, "The turn was interrupted.".into())
        }
        End::Failed(failure) => {
            let (status, kind) = (failure.status, failure.kind);
            let wait = failure.retry_after.map(|wait| format!(" (the API asks to wait {} s)", wait.as_secs())).unwrap_or_default();
            let number = status.map(|status| format!("{status} ")).unwrap_or_default();
            let words = format!("API Error: {number}{kind}: {}{wait}", failure.message);
            let mut own = json!({ "api_error_status": status, "api_error_type": kind, "result": words });
            (own["is_error"], own["terminal_reason"]) = (true.into(), "api_error".into());
            (own, words)
        }
    };
    let mut result = json!({
        "type": "result", "subtype": "success", "is_error": false, "terminal_reason": null, "stop_reason": null, "result": "",
        "num_turns": conversation.rounds, "duration_ms": u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        "usage": host.usage, "total_cost_usd": host.prices.map(|_| host.cost), "permission_denials": [],
    });
    own.as_object().into_iter().flatten().for_each(|(key, value)| result[key] = value.clone());
    Ok((result, text))
}
