//! A started agent, or a plain program: its process, its standard input, and the threads that send messages about it.

use std::fs::File;
use std::io::PipeReader;
use std::os::fd::OwnedFd;
use std::process::Child;
use std::sync::mpsc::{Receiver, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::process::Signal;

use crate::attempt::record::Run;
use crate::fence::{self, request::FENCE};
use crate::process::agent_exit::{self, AgentExit};
use crate::process::agent_lock;
use crate::process::launch::{self, SessionStart};
use crate::process::permitted::WorkFolder;
use crate::process::pipes::{self, AgentErrors, AgentInput, DrainSign, Draining};
use crate::process::poll_thread::{PollSource, PollThread};
use crate::supervise::desk::Desk;
use crate::supervise::event_log::EventLog;
use crate::supervise::ownership::OwnedAttempt;
use crate::supervise::run_message::RunMessage;
use crate::supervise::stop::{self, ControlFifo};
use askbox_agent::claude::Invocation;
use askbox_agent::events::EventKind;
use askbox_agent::output::AgentOutput;
use askbox_agent::program::ProgramOutput;
use askbox_config::{Config, RunnerKind};
use askbox_mailbox::platform::ProcessHandle;
use askbox_mailbox::thread::ReadyThread;
use askbox_mailbox::{IoContext, Mailbox, Result, disk};

/// The parts that a launch works with.
pub(crate) struct Launch<'a, 'b> {
    pub(crate) mailbox: &'a Mailbox,
    pub(crate) config: &'a Config,
    pub(crate) attempt: &'a mut OwnedAttempt,
    pub(crate) log: &'a mut EventLog<'b>,
    /// Further sources for the poll thread, besides the agent.
    pub(crate) sources: Vec<Box<dyn PollSource>>,
    pub(crate) channel: SyncSender<RunMessage>,
}

/// An agent that has received its first message.
pub(crate) struct Started {
    pub(crate) agent: RunningAgent,
    /// The message with the answer, if the agent was first asked about its role.
    pub(crate) held_message: Option<String>,
    /// The number of the model's answers after which the supervisor stops the run; `None` if the operator's own arguments set a limit.
    pub(crate) max_turns: Option<u32>,
}

/// The parts of an agent that exist before it is connected.
pub(crate) struct SpawnedAgent {
    pub(crate) child: Child,
    pub(crate) watched: Watched,
    /// The reading end of its standard error.
    pub(crate) stderr: PipeReader,
    pub(crate) threads: Threads,
    /// How its session began.
    pub(crate) start: SessionStart,
    /// How it talks.
    pub(crate) kind: RunnerKind,
    /// Takes the requests of an agent behind a fence.
    desk: Option<(Desk, Box<dyn PollSource>)>,
}

/// The way to notice the end of an agent's process.
pub(crate) enum Watched {
    /// By a pidfd, which also keeps its pid from being reused.
    ByHandle(Arc<ProcessHandle>),
    /// By a thread, because no pidfd could be opened.
    ByThread(ReadyThread),
}

/// The threads that attend to an agent. They exist before it does.
pub(crate) struct Threads {
    input: ReadyThread,
    output: ReadyThread,
    poll: PollThread,
    draining: Draining,
    drain_signs: [DrainSign; 2],
}

impl Threads {
    pub(crate) fn start() -> Result<Self> {
        let (draining, drain_signs) = Draining::new()?;
        Ok(Self { input: ReadyThread::start()?, output: ReadyThread::start()?, poll: PollThread::new()?, draining, drain_signs })
    }
}

/// Ends an agent that has received no input.
pub(super) fn end(child: &mut Child) {
    let _ = child.kill().and_then(|()| child.wait());
}

/// Starts the process of an attempt.
pub(super) fn spawn(
    (mailbox, config, run): (&Mailbox, &Config, &Run),
    call: &Invocation,
    folder: &WorkFolder,
    start: SessionStart,
    kind: RunnerKind,
) -> Result<SpawnedAgent> {
    let records = run.folder(mailbox);
    // Before the launch: an agent that cannot be attended to must not be launched.
    let threads = Threads::start()?;
    disk::touch_folder(&records)?;
    let fence = fence::of_run(mailbox, config, run)?;
    let asks = fence::asks(mailbox, run);
    let desk = fence.as_ref().map(|_| Desk::open(mailbox, Some(&run.workflow_id), &asks, call)).transpose()?;
    let call = if fence.is_some() { call.clone().env(FENCE, &asks) } else { call.clone() };
    // An adapter is a program of askbox, and puts its agent behind the fence.
    let fence = fence.filter(|_| kind != RunnerKind::Acp);
    let (stderr, write_end) = std::io::pipe().io("open a pipe for", &records)?;
    let mut child = launch::spawn(&call, folder, &agent_lock::path(&records), fence.as_ref(), File::from(OwnedFd::from(write_end)))?;
    let watched = match ProcessHandle::open(child.id()) {
        Some(process) => Ok(Watched::ByHandle(Arc::new(process))),
        None => ReadyThread::start().map(Watched::ByThread),
    };
    match watched {
        Ok(watched) => Ok(SpawnedAgent { child, watched, stderr, threads, start, kind, desk }),
        Err(e) => {
            end(&mut child);
            Err(e)
        }
    }
}

/// A started agent, connected to the channel.
pub(crate) struct RunningAgent {
    process: Option<Arc<ProcessHandle>>,
    /// Its standard input; `None` once it was closed.
    input: Option<AgentInput>,
    output: Arc<Mutex<AgentOutput>>,
    /// `None` once its output is drained.
    draining: Option<Draining>,
    /// How it talks.
    pub(crate) kind: RunnerKind,
    /// Receives the last line of the agent's standard error when that ends.
    last_complaint: Receiver<String>,
    /// How its session began.
    pub(crate) start: SessionStart,
    /// Watches for everything except its standard output; ends when this is dropped.
    _poll_thread: PollThread,
    pub(super) control_fifo: Option<ControlFifo>,
    /// Its programs end with the agent.
    desk: Option<Desk>,
}

impl RunningAgent {
    /// Lets the threads turn everything that happens to the agent, and the readiness of `sources`, into messages on `channel`.
    pub(crate) fn connect(
        mailbox: &Mailbox,
        run: &Run,
        spawned: SpawnedAgent,
        output: AgentOutput,
        mut sources: Vec<Box<dyn PollSource>>,
        channel: SyncSender<RunMessage>,
        log: &mut EventLog<'_>,
    ) -> Self {
        let SpawnedAgent { mut child, watched, stderr, threads, start, kind, desk } = spawned;
        let Threads { input, output: reader, poll: mut poll_thread, draining, drain_signs: [of_output, of_errors] } = threads;
        let folder = run.folder(mailbox);
        let output = Arc::new(Mutex::new(output));
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
        let (desk, requests) = desk.unzip();
        sources.extend(requests);
        let input = AgentInput::of_child(&mut child, input);
        let take = move |items| on_output.send(RunMessage::Output(items)).is_ok();
        let ended = move || drop(on_end.send(RunMessage::OutputEnded));
        pipes::read_output(reader, &mut child, of_output, output.clone(), take, ended);
        let (complaints, last_complaint) = AgentErrors::new(stderr, of_errors, folder.join("stderr.log"));
        sources.push(Box::new(complaints));
        let exited = move |exit| drop(channel.send(RunMessage::Exited(exit)));
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
        let draining = Some(draining);
        Self { process, input: Some(input), output, draining, kind, last_complaint, start, _poll_thread: poll_thread, control_fifo, desk }
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
        self.output.lock().unwrap_or_else(PoisonError::into_inner).interrupted(how)
    }

    /// Reads the output of a plain program; `None` for an agent.
    pub(crate) fn of_program<T>(&self, read: impl FnOnce(&ProgramOutput) -> T) -> Option<T> {
        match &*self.output.lock().unwrap_or_else(PoisonError::into_inner) {
            AgentOutput::Claude(_) | AgentOutput::Adapter(_) => None,
            AgentOutput::Program(output) => Some(read(output)),
        }
    }

    /// The request that the agent behind an adapter has not answered, if no session has begun.
    pub(crate) fn unanswered(&self) -> Option<String> {
        match &*self.output.lock().unwrap_or_else(PoisonError::into_inner) {
            AgentOutput::Adapter(output) => output.unanswered().map(str::to_owned),
            AgentOutput::Claude(_) | AgentOutput::Program(_) => None,
        }
    }

    /// Takes from its output what is left there, and then sees its end: a process that the agent left behind may hold it open for ever.
    pub(crate) fn drain(&mut self) {
        self.draining = None;
        self.desk = None;
    }

    /// Posts what an agent behind a fence has written into `pending/` by hand.
    pub(crate) fn take_hand_made(&self) {
        self.desk.iter().for_each(Desk::take_hand_made);
    }

    /// The last line that the agent wrote to its standard error, once that has ended or was drained. Empty if there is none within `patience`.
    pub(crate) fn last_complaint(&self, patience: Duration) -> String {
        self.last_complaint.recv_timeout(patience).unwrap_or_default()
    }
}
