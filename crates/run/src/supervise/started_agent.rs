//! A started agent: its process, its standard input, and the threads that send messages about it.

use std::io::PipeReader;
use std::process::Child;
use std::sync::mpsc::{Receiver, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::process::Signal;

use crate::attempt::record::Run;
use crate::process::agent_exit::{self, AgentExit};
use crate::process::launch::SessionStart;
use crate::process::pipes::{self, AgentErrors, AgentInput};
use crate::process::poll_thread::{PollSource, PollThread};
use crate::supervise::event_log::EventLog;
use crate::supervise::run_message::RunMessage;
use crate::supervise::stop::{self, ControlFifo};
use askbox_agent::events::EventKind;
use askbox_agent::stream::Interpreter;
use askbox_mailbox::Mailbox;
use askbox_mailbox::error::Result;
use askbox_mailbox::platform::ProcessHandle;
use askbox_mailbox::thread::Waiting;

/// The parts of an agent that exist before it is connected.
pub(crate) struct SpawnedAgent {
    pub(crate) child: Child,
    pub(crate) watched: Watched,
    /// The reading end of its standard error.
    pub(crate) stderr: PipeReader,
    pub(crate) threads: Threads,
    /// How its session began.
    pub(crate) start: SessionStart,
}

/// The way to notice the end of an agent's process.
pub(crate) enum Watched {
    /// By a pidfd, which also keeps its pid from being reused.
    ByHandle(Arc<ProcessHandle>),
    /// By a thread, because no pidfd could be opened.
    ByThread(Waiting),
}

/// The threads that attend to an agent. They exist before it does.
pub(crate) struct Threads {
    input: Waiting,
    output: Waiting,
    poll: PollThread,
}

impl Threads {
    pub(crate) fn start() -> Result<Self> {
        Ok(Self { input: Waiting::start()?, output: Waiting::start()?, poll: PollThread::new()? })
    }
}

/// A started agent, connected to the channel.
pub(crate) struct RunningAgent {
    process: Option<Arc<ProcessHandle>>,
    /// Its standard input; `None` once it was closed.
    input: Option<AgentInput>,
    interpreter: Arc<Mutex<Interpreter>>,
    /// Receives the last line of the agent's standard error when that ends.
    last_complaint: Receiver<String>,
    /// How its session began.
    pub(crate) start: SessionStart,
    /// Watches for everything except its standard output; ends when this is dropped.
    _poll_thread: PollThread,
    control_fifo: Option<ControlFifo>,
}

impl RunningAgent {
    /// Lets the threads turn everything that happens to the agent, and the readiness of `sources`, into messages on `channel`.
    pub(crate) fn connect(
        mailbox: &Mailbox,
        run: &Run,
        spawned: SpawnedAgent,
        mut sources: Vec<Box<dyn PollSource>>,
        channel: SyncSender<RunMessage>,
        log: &mut EventLog<'_>,
    ) -> Self {
        let SpawnedAgent { mut child, watched, stderr, threads: Threads { input, output, poll: mut poll_thread }, start } = spawned;
        let folder = run.folder(mailbox);
        let interpreter = Arc::new(Mutex::new(match &start {
            SessionStart::New => Interpreter::new(),
            SessionStart::Continue { .. } => Interpreter::resuming(run.plan.session_id.to_string()),
            SessionStart::Fork(from) => Interpreter::resuming(from.as_str()),
        }));
        let (on_stop, on_output, on_end) = (channel.clone(), channel.clone(), channel.clone());
        let control_fifo = match stop::listen_for_wake_ups(&folder, move || drop(on_stop.send(RunMessage::CheckStopRequest))) {
            Ok((control_fifo, wake_ups)) => {
                sources.push(wake_ups);
                Some(control_fifo)
            }
            Err(e) => {
                log.note(format!("`relaunch stop` cannot wake this run, only a signal can: {e}"));
                None
            }
        };
        let input = AgentInput::of_child(&mut child, input);
        let take = move |items| on_output.send(RunMessage::Output(items)).is_ok();
        pipes::read_output(output, &mut child, interpreter.clone(), take, move || drop(on_end.send(RunMessage::OutputEnded)));
        let (complaints, last_complaint) = AgentErrors::new(stderr, folder.join("stderr.log"));
        sources.push(Box::new(complaints));
        let exited = move |status| drop(channel.send(RunMessage::Exited(status)));
        let process = match watched {
            Watched::ByHandle(process) => {
                sources.push(Box::new(AgentExit::new(child, process.clone(), exited)));
                Some(process)
            }
            Watched::ByThread(thread) => {
                agent_exit::wait_on(thread, child, exited);
                None
            }
        };
        poll_thread.start(sources);
        Self { process, input: Some(input), interpreter, last_complaint, start, _poll_thread: poll_thread, control_fifo }
    }

    /// Writes a line to the agent's standard input. Never blocks. Does nothing once the input was closed, or while the agent leaves too
    /// much unread.
    pub(crate) fn say(&mut self, line: &str) {
        if let Some(input) = &mut self.input {
            input.say(line);
        }
    }

    /// True if the agent leaves so much unread that nothing more is sent to it.
    pub(crate) fn leaves_too_much_unread(&self) -> bool {
        self.input.as_ref().is_some_and(AgentInput::is_full)
    }

    /// True if another process can wake the supervisor.
    pub(crate) fn can_be_woken(&self) -> bool {
        self.control_fifo.is_some()
    }

    /// Closes the agent's standard input after everything that was written. The agent can then exit after its turn.
    pub(crate) fn close_input(&mut self) {
        self.input = None;
    }

    /// Sends a Unix signal to the agent's process alone.
    pub(crate) fn signal(&self, signal: Signal) {
        if let Some(process) = &self.process {
            process.signal(signal);
        }
    }

    /// The event with the work that a stopped agent has done so far. `how` says what stopped it.
    pub(crate) fn interrupted(&self, how: &str) -> EventKind {
        self.interpreter.lock().unwrap_or_else(PoisonError::into_inner).interrupted(how)
    }

    /// The last line that the agent wrote to its standard error, once that has ended. Empty if there is none within `patience`.
    pub(crate) fn last_complaint(&self, patience: Duration) -> String {
        self.last_complaint.recv_timeout(patience).unwrap_or_default()
    }
}
