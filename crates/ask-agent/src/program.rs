//! The program: finds its session, takes messages, runs turns, and says how each ended.

use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::{Value, json};

use crate::conversation::Conversation;
use crate::end::End;
use crate::events::Events;
use crate::history::Message;
use crate::host::{Host, Queued, Stop};
use crate::settings::Settings;
use crate::transcript::{self, Transcript, new_id};
use crate::{person, task};
use askbox_agent::claude;
use askbox_agent::transcript::find;
use askbox_cli::args::ask_agent_args::{AskAgent, Format};
use askbox_cli::program;
use askbox_mailbox::error::{Error, IoContext, Result};

/// The longest task on standard input, in bytes.
const LONGEST_TASK: u64 = 16 << 20;
/// The exit status after SIGTERM.
const TERMINATED: u8 = 128 + 15;

/// Runs `ask-agent`; returns the exit status.
///
/// # Errors
/// Those of wrong arguments, of files, of the mailbox and of a missing key. That the API refuses is not an error but a result.
pub fn run(args: AskAgent) -> Result<u8> {
    let streams = args.streams_in();
    if streams && args.output_format != Format::StreamJson {
        return Err(Error::usage("--input-format stream-json needs --output-format stream-json", "give both, or neither"));
    }
    let cwd = std::env::current_dir().io("find", "the working folder")?;
    let config_dir = claude::config_dir(|name| std::env::var_os(name));
    let config_dir = config_dir.ok_or_else(|| Error::failed("there is no folder for sessions", "set HOME or CLAUDE_CONFIG_DIR"))?;
    let settings = Settings::read(&config_dir, &cwd, &args)?;
    let found = Session::find(&args, &config_dir, &cwd);
    let session = match found {
        Err(e @ Error::NotFound { .. }) if streams => {
            let events = Events::new(&args.resume.map(|id| id.to_string()).unwrap_or_default(), args.output_format, false);
            let errors = json!({ "type": "result", "subtype": "error_during_execution", "is_error": true, "errors": [e.to_string()] });
            events.result(errors, "");
            return Err(e);
        }
        found => found?,
    };
    let events = Events::new(&session.id, args.output_format, args.include_partial_messages);
    let prompt = if streams { None } else { prompt(&args)? };
    let host = Host::new(args, cwd, session.id, session.path, events, settings)?;
    host.listen(streams)?;
    let mut agent = Running { host, conversation: None };
    if session.is_resumed {
        agent.conversation()?;
    }
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

/// The session of this process, on the disk.
struct Session {
    id: String,
    path: PathBuf,
    is_resumed: bool,
}

impl Session {
    fn find(args: &AskAgent, config_dir: &Path, cwd: &Path) -> Result<Self> {
        let new = args.session_id.map_or_else(new_id, |id| id.to_string());
        let path = transcript::folder(config_dir, cwd).join(format!("{new}.jsonl"));
        let is_free = || match find(config_dir, &new) {
            None => Ok(()),
            Some(_) => Err(Error::conflict(format!("Session ID {new} is already in use."), "go on with it: --resume")),
        };
        let Some(resumed) = args.resume else {
            is_free()?;
            return Ok(Self { id: new, path, is_resumed: false });
        };
        let id = resumed.to_string();
        let known = find(config_dir, &id);
        let known =
            known.ok_or_else(|| Error::not_found(format!("No conversation found with session ID: {id}"), "begin one with --session-id"))?;
        match (args.fork_session, args.session_id) {
            (false, Some(_)) => Err(Error::usage("--session-id with --resume also needs --fork-session", "leave one of them out")),
            (false, None) => Ok(Self { id, path: known, is_resumed: true }),
            (true, _) => {
                is_free()?;
                if let Some(folder) = path.parent() {
                    transcript::create_folder(folder)?;
                }
                transcript::copy(&known, &path)?;
                Ok(Self { id: new, path, is_resumed: true })
            }
        }
    }
}

struct Running {
    host: Host,
    /// Opened when it is needed: a session without a message has no file.
    conversation: Option<Conversation>,
}

impl Running {
    fn conversation(&mut self) -> Result<(&mut Conversation, &mut Host)> {
        if self.conversation.is_none() {
            let host = &self.host;
            let mut transcript = Transcript::open(&host.transcript, &host.session, &host.cwd)?;
            if let Some(to) = &host.args.resume_session_at {
                transcript.rewind(to)?;
            }
            let role = host.args.agent.as_ref();
            let definition = match role.map(|name| (name, host.agents.iter().find(|agent| agent.name == **name))) {
                Some((name, None)) => return Err(Error::not_found(format!("there is no agent `{name}`"), "askbox agents lists them")),
                other => other.and_then(|(_, agent)| agent),
            };
            let set = |name: &str| program::env(name).or_else(|| host.settings.env(name));
            let model = host.args.model.clone().or(transcript.history.model.clone()).or_else(|| set("ANTHROPIC_MODEL"));
            let mut request = task::request(host, definition, model.as_deref(), 0);
            // The command line wins over the definition.
            request.model = host.args.model.clone().unwrap_or(request.model);
            let known = transcript.history.prompts().filter(|uuid| transcript.history.is_answered(uuid) == Some(true));
            self.host.known = known.map(str::to_owned).collect();
            let host = &self.host;
            self.conversation = Some(Conversation::new(transcript, request, host.args.max_turns.unwrap_or(usize::MAX)));
        }
        match &mut self.conversation {
            Some(conversation) => Ok((conversation, &mut self.host)),
            None => Err(Error::failed("the session is not open", "report this")),
        }
    }

    /// One turn, for a person or a script: the task, or what comes next in the session.
    fn once(&mut self, prompt: Option<String>) -> Result<u8> {
        let message = prompt.map(|text| Queued { uuid: new_id(), content: text.trim_end().into() });
        let is_error = self.turn(message)?;
        Ok(if self.host.stop() == Some(Stop::Terminate) { TERMINATED } else { is_error.into() })
    }

    /// One turn for each message on standard input, until it ends.
    fn serve(&mut self) -> Result<u8> {
        let mut is_error = false;
        let waits = |conversation: &Conversation| conversation.transcript.history.waiting.is_some();
        if self.conversation.as_ref().is_some_and(waits) {
            // The call that waits for a person is made once more, without a message.
            is_error = self.turn(None)?;
        }
        loop {
            if self.host.stop() == Some(Stop::Terminate) {
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
        let (conversation, host) = self.conversation()?;
        host.turn_begins();
        if let Some(message) = message {
            match conversation.transcript.history.is_answered(&message.uuid) {
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
        conversation.rounds = 0;
        let end = conversation.go_on(host)?;
        if matches!(end, End::Stopped(Stop::Terminate)) {
            return Ok(true);
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
    let (subtype, is_error, terminal_reason, stop_reason, more, text) = match end {
        End::Finished(words) => ("success", false, "completed", "end_turn", json!({ "result": words }), words),
        End::Waits(call) => {
            if host.events.format() == Format::Text {
                program::say(&format!("hint: once it is answered, go on with: ask-agent --resume {}\n", host.session));
            }
            let call = json!({ "deferred_tool_use": { "id": call.id, "name": call.name, "input": call.input } });
            let text = format!("QUESTION_POSTED:{}", person::workflow(host)?);
            ("success", false, "tool_deferred", "tool_deferred", call, text)
        }
        End::ByHook => ("success", false, "hook_stopped", "tool_use", json!({}), "A hook ended the turn.".into()),
        End::Stopped(_) => {
            let last = conversation.transcript.history.messages.iter().rev().find(|message| !matches!(message, Message::Prompt { .. }));
            let cut = if matches!(last, Some(Message::Result { .. })) { "aborted_tools" } else { "aborted_streaming" };
            ("error_during_execution", true, cut, "", json!({}), "The turn was interrupted.".into())
        }
        End::Failed(failure) => {
            let status = failure.status.map(|status| format!("{status} ")).unwrap_or_default();
            let wait = failure.retry_after.map(|wait| format!(" (the API asks to wait {} s)", wait.as_secs())).unwrap_or_default();
            let words = format!("API Error: {status}{}: {}{wait}", failure.kind, failure.message);
            let more = json!({ "result": words, "api_error_status": failure.status, "api_error_type": failure.kind });
            ("success", true, "api_error", "", more, words)
        }
        End::MaxRounds(most) => {
            let errors = json!({ "errors": [format!("Reached maximum number of turns ({most})")] });
            ("error_max_turns", true, "max_turns", "", errors, format!("The model was asked {most} times, which is the limit."))
        }
    };
    let mut result = json!({
        "type": "result", "subtype": subtype, "is_error": is_error, "terminal_reason": terminal_reason,
        "stop_reason": Some(stop_reason).filter(|reason| !reason.is_empty()),
        "result": "", "num_turns": conversation.rounds, "duration_ms": u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        "usage": host.usage.to_json(), "permission_denials": [],
    });
    more.as_object().into_iter().flatten().for_each(|(key, value)| result[key] = value.clone());
    Ok((result, text))
}
