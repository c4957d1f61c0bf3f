//! The surroundings that all conversations of a process share. All that happens comes through one channel: lines on standard input,
//! signals, pieces of the model's reply, the end of a command. So the agent hears a request to stop whatever it waits for.

use std::collections::{HashSet, VecDeque};
use std::ffi::OsString;
use std::io::BufRead;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender};
use std::time::Instant;

use serde_json::{Value, json};

use crate::events::Events;
use crate::model::{Api, Heard};
use crate::settings::Settings;
use crate::step::Stop;
use crate::transcript::new_id;
use askbox_cli::args::ask_agent_args::AskAgent;
use askbox_definitions::agent_file::Agent;
use askbox_mailbox::{Error, Result, thread};

/// Something that happened.
pub(crate) enum Happening {
    /// A line on standard input; `Err` if it is not JSON.
    Line(Result<Value, String>),
    /// Standard input has ended.
    InputEnded,
    /// A signal that asks this process to end.
    Signal(i32),
    /// A part of the reply to the request with this number.
    Model(u64, Heard),
    /// The running command has ended, with this status.
    CommandEnded(i32),
}

/// A message of the user that no request holds yet.
#[derive(Debug, Clone)]
pub(crate) struct Queued {
    pub uuid: String,
    pub content: Value,
}

/// The surroundings, and all that has happened in them.
pub(crate) struct Host {
    pub args: AskAgent,
    pub cwd: PathBuf,
    pub session: String,
    pub transcript: PathBuf,
    pub events: Events,
    pub settings: Settings,
    pub api: Api,
    pub agents: Vec<Agent>,
    pub queue: VecDeque<Queued>,
    /// The messages that the session has worked on.
    pub known: HashSet<String>,
    /// The messages that this turn has taken from the queue.
    pub taken: Vec<String>,
    /// The tokens of this turn, those of subagents included.
    pub usage: Value,
    /// The US dollars of this process, if its prices are known: of a million tokens of input and of output.
    pub cost: f64,
    pub prices: Option<[f64; 2]>,
    pub input_ended: bool,
    /// An error that ends the process: a line on standard input that cannot be understood.
    pub broken: Option<String>,
    /// The request to stop that has come, and how many have come.
    pub stop: Option<Stop>,
    pub stops: u32,
    /// Where threads report what happens.
    pub sender: Sender<Happening>,
    pub happenings: Receiver<Happening>,
}

impl Host {
    /// Listens to signals, and to standard input if messages come from there.
    pub fn listen(&self, to_input: bool) -> Result<()> {
        use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
        let hint = "check the limit on processes: ulimit -u";
        let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP])
            .map_err(|e| Error::failed(format!("cannot handle signals: {e}"), hint))?;
        let sender = self.sender.clone();
        thread::start(move || signals.forever().for_each(|signal| drop(sender.send(Happening::Signal(signal)))))?;
        if to_input {
            let sender = self.sender.clone();
            thread::start(move || {
                for line in std::io::stdin().lock().lines().map_while(|line| line.ok()).filter(|line| !line.trim().is_empty()) {
                    let parsed = serde_json::from_str(&line).map_err(|e| format!("Error parsing streaming input line: {e}"));
                    let _ = sender.send(Happening::Line(parsed));
                }
                let _ = sender.send(Happening::InputEnded);
            })?;
        }
        Ok(())
    }

    /// An interrupt ends one turn; the next one begins without it.
    pub fn turn_begins(&mut self) {
        self.stop.take_if(|stop| *stop == Stop::Interrupt);
        self.stops = 0;
        self.usage = Value::Null;
        self.spend(&Value::Null);
        self.taken.clear();
    }

    /// Adds the tokens of a reply. Writing to the cache costs a quarter more than other input, and reading from it a tenth.
    pub fn spend(&mut self, usage: &Value) {
        let [input, output] = self.prices.unwrap_or_default();
        for (name, price) in [
            ("input_tokens", input),
            ("output_tokens", output),
            ("cache_read_input_tokens", 0.1 * input),
            ("cache_creation_input_tokens", 1.25 * input),
        ] {
            self.usage[name] = (self.usage[name].as_u64().unwrap_or(0) + usage[name].as_u64().unwrap_or(0)).into();
            self.cost += usage[name].as_f64().unwrap_or(0.0) * price / 1e6;
        }
    }

    /// Takes in what has happened, without waiting.
    pub fn look(&mut self) {
        while let Ok(happening) = self.happenings.try_recv() {
            self.take(happening);
        }
    }

    /// Waits for the next happening; `None` once the deadline is over. Messages, replies and signals are taken in here.
    pub fn wait(&mut self, deadline: Option<Instant>) -> Option<Happening> {
        let until = |at: Instant| self.happenings.recv_timeout(at.saturating_duration_since(Instant::now())).ok();
        let next = deadline.map_or_else(|| self.happenings.recv().ok(), until)?;
        Some(self.take(next))
    }

    fn take(&mut self, happening: Happening) -> Happening {
        match &happening {
            Happening::Line(Ok(line)) => self.take_line(line),
            Happening::Line(Err(why)) => self.broken = Some(why.clone()),
            Happening::InputEnded => self.input_ended = true,
            Happening::Signal(signal) => {
                self.stop_for(if *signal == signal_hook::consts::SIGINT { Stop::Interrupt } else { Stop::Terminate });
                // After a signal the process ends with its turn.
                self.input_ended = true;
            }
            Happening::Model(..) | Happening::CommandEnded(_) => {}
        }
        happening
    }

    /// Takes in a request to stop.
    pub fn stop_for(&mut self, stop: Stop) {
        self.stop = Some(stop);
        self.stops += 1;
    }

    fn take_line(&mut self, line: &Value) {
        match line["type"].as_str() {
            Some("user") => {
                let uuid = line["uuid"].as_str().map_or_else(new_id, str::to_owned);
                // A message that the session has worked on is not queued.
                if !self.known.contains(&uuid) {
                    self.events.receipt(&uuid, "queued");
                }
                self.queue.push_back(Queued { uuid, content: line["message"]["content"].clone() });
            }
            Some("control_request") => {
                let done = |response: Value| json!({ "subtype": "success", "response": response });
                let mut response = match line["request"]["subtype"].as_str() {
                    Some("interrupt") => {
                        self.stop_for(Stop::Interrupt);
                        done(json!({ "still_queued": [] }))
                    }
                    Some("initialize") => {
                        let about = |agent: &Agent| json!({ "name": agent.name, "description": agent.description });
                        let agents: Vec<Value> = self.agents.iter().map(about).collect();
                        done(json!({ "commands": [], "agents": agents, "pid": std::process::id() }))
                    }
                    other => {
                        json!({ "subtype": "error", "error": format!("ask-agent does not know the request {}", other.unwrap_or_default()) })
                    }
                };
                response["request_id"] = line["request_id"].clone();
                self.events.line(json!({ "type": "control_response", "response": response }));
            }
            _ => {}
        }
    }

    /// Asks the program at the other end, and waits for its reply. `None` if a request to stop comes first, or the input ends.
    pub fn request(&mut self, request: Value) -> Option<Value> {
        let id = new_id();
        self.events.line(json!({ "type": "control_request", "request_id": id, "request": request }));
        while self.stop.is_none() && !self.input_ended {
            match self.wait(None)? {
                Happening::Line(Ok(mut line)) if line["type"] == "control_response" && line["response"]["request_id"] == *id => {
                    return Some(line["response"].take());
                }
                _ => {}
            }
        }
        self.events.line(json!({ "type": "control_cancel_request", "request_id": id }));
        None
    }

    /// The variables of the commands that tools and hooks run. The first two tell askbox's programs that an agent runs them.
    pub fn tool_env(&self) -> Vec<(OsString, OsString)> {
        let own = [
            ("CLAUDECODE", "1".into()),
            ("CLAUDE_CODE_SESSION_ID", self.session.clone().into()),
            ("CLAUDE_PROJECT_DIR", self.cwd.clone().into_os_string()),
        ];
        let set = self.settings.env.iter().map(|(name, value)| (name.into(), value.into()));
        set.chain(own.into_iter().map(|(name, value)| (name.into(), value))).collect()
    }
}
