//! The surroundings that all conversations of a process share. All that happens comes through one channel: lines on standard input,
//! signals, pieces of the model's reply, the end of a command. So the agent hears a request to stop whatever it waits for.

use std::collections::{HashSet, VecDeque};
use std::ffi::OsString;
use std::io::BufRead;
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use serde_json::{Value, json};

use crate::events::Events;
use crate::model::{Api, Heard, add_usage};
use crate::outcome::Outcome;
use crate::settings::Settings;
use crate::step::{End, Stop};
use crate::transcript::new_id;
use askbox_agent::definitions::agent_file::Agent;
use askbox_cli::args::ask_agent_args::AskAgent;
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
    /// A task in the background is over. The host keeps it in its list.
    TaskOver(Option<Box<TaskOver>>),
}

/// The call that has started a task, its conclusion, and its tokens.
pub(crate) type TaskOver = (String, Result<Result<Outcome, End>>, Value);

/// A message of the user that no request holds yet.
#[derive(Debug, Clone)]
pub(crate) struct Queued {
    pub uuid: String,
    pub content: Value,
}

/// Everything that stays the same while the process lives.
pub(crate) struct Surroundings {
    pub args: AskAgent,
    pub cwd: PathBuf,
    pub session: String,
    pub transcript: PathBuf,
    pub events: Events,
    pub settings: Settings,
    pub api: Api,
    pub agents: Vec<Agent>,
    /// The hosts of all conversations. Each hears the signals, and the lines on standard input.
    pub hosts: Mutex<Vec<Sender<Happening>>>,
    /// Held while a call may ask a person: one conversation at a time does.
    pub asking: Mutex<()>,
    /// True once a conversation waits for a person. Then all come to rest: each finishes its step.
    pub rest: AtomicBool,
}

impl Surroundings {
    fn tell(&self, happening: impl Fn() -> Happening) {
        self.hosts.lock().unwrap_or_else(PoisonError::into_inner).retain(|host| host.send(happening()).is_ok());
    }
}

/// The surroundings, and all that has happened in them. Each task in the background has a host of its own.
pub(crate) struct Host {
    pub around: Arc<Surroundings>,
    is_task: bool,
    /// The tasks that were started, by the calls that have started them. A task stays here until the session has taken in its end.
    pub tasks: HashSet<String>,
    /// The tasks whose end has come and is not yet taken in.
    pub over: VecDeque<Box<TaskOver>>,
    pub queue: VecDeque<Queued>,
    /// The messages that the session has worked on.
    pub known: HashSet<String>,
    /// The messages that this turn has taken from the queue.
    pub taken: Vec<String>,
    /// The tokens of this turn, those of subagents included.
    pub usage: Value,
    pub input_ended: bool,
    /// An error that ends the process: a line on standard input that cannot be understood.
    pub broken: Option<String>,
    /// The request to stop that has come, and how many have come.
    pub stop: Option<Stop>,
    pub stops: u32,
    sender: Sender<Happening>,
    happenings: Receiver<Happening>,
}

impl Deref for Host {
    type Target = Surroundings;
    fn deref(&self) -> &Surroundings {
        &self.around
    }
}

impl Host {
    pub fn new(around: Arc<Surroundings>) -> Self {
        let (sender, happenings) = channel();
        around.hosts.lock().unwrap_or_else(PoisonError::into_inner).push(sender.clone());
        Self {
            around,
            is_task: false,
            tasks: HashSet::new(),
            over: VecDeque::new(),
            queue: VecDeque::new(),
            known: HashSet::new(),
            taken: Vec::new(),
            usage: Value::Null,
            input_ended: false,
            broken: None,
            stop: None,
            stops: 0,
            sender,
            happenings,
        }
    }

    /// A host for the task of a call.
    pub fn for_task(&mut self, call: &str) -> Self {
        let task = Self::new(Arc::clone(&self.around));
        // The task does not hear what was told before.
        self.look();
        self.tasks.insert(call.to_owned());
        Self { is_task: true, input_ended: self.input_ended, stop: self.stop.and(Some(Stop::Terminate)), ..task }
    }

    /// The request to stop that has come. Coming to rest is like the end of the process.
    pub fn is_to_stop(&self) -> Option<Stop> {
        self.stop.or(self.rest.load(Ordering::SeqCst).then_some(Stop::Terminate))
    }

    /// Listens to signals, and to standard input if messages come from there.
    pub fn listen(&self, to_input: bool) -> Result<()> {
        use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
        let hint = "check the limit on processes: ulimit -u";
        let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP])
            .map_err(|e| Error::failed(format!("cannot handle signals: {e}"), hint))?;
        let around = Arc::clone(&self.around);
        thread::start(move || signals.forever().for_each(|signal| around.tell(|| Happening::Signal(signal))))?;
        if to_input {
            let around = Arc::clone(&self.around);
            thread::start(move || {
                for line in std::io::stdin().lock().lines().map_while(|line| line.ok()).filter(|line| !line.trim().is_empty()) {
                    let parsed = serde_json::from_str(&line).map_err(|e| format!("Error parsing streaming input line: {e}"));
                    around.tell(|| Happening::Line(parsed.clone()));
                }
                around.tell(|| Happening::InputEnded);
            })?;
        }
        Ok(())
    }

    /// Where threads report what happens.
    pub fn sender(&self) -> Sender<Happening> {
        self.sender.clone()
    }

    /// An interrupt ends one turn; the next one begins without it.
    pub fn turn_begins(&mut self) {
        self.stop.take_if(|stop| *stop == Stop::Interrupt);
        self.stops = 0;
        self.usage = Value::Null;
        add_usage(&mut self.usage, &Value::Null);
        self.taken.clear();
        self.rest.store(false, Ordering::SeqCst);
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

    fn take(&mut self, mut happening: Happening) -> Happening {
        match &mut happening {
            Happening::Line(Ok(line)) if !self.is_task => self.take_line(line),
            // An interrupt rejects calls of the session. Its tasks come to rest, and go on with the next turn.
            Happening::Line(Ok(line)) if line["request"]["subtype"] == "interrupt" => self.stop_for(Stop::Terminate),
            Happening::Line(Err(why)) => self.broken = Some(why.clone()),
            Happening::InputEnded => self.input_ended = true,
            Happening::Signal(signal) => {
                let is_interrupt = *signal == signal_hook::consts::SIGINT && !self.is_task;
                self.stop_for(if is_interrupt { Stop::Interrupt } else { Stop::Terminate });
                // After a signal the process ends with its turn.
                self.input_ended = true;
            }
            Happening::TaskOver(task) => self.over.extend(task.take()),
            Happening::Line(Ok(_)) | Happening::Model(..) | Happening::CommandEnded(_) => {}
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
