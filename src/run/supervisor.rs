//! The process that owns one run. It holds the round's lock, launches the agent, is its message channel and its permission
//! host, and turns its stream into events. If it dies, the kernel sends its agent SIGTERM and recovery goes on from there.

use std::fs::File;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use uuid::Uuid;

use super::ending::{self, Ending};
use super::events::{Event, EventKind, EventWriter, read_tail};
use super::launch::{self, Start};
use super::pipes;
use super::processes::{self, Process};
use super::prompt;
use super::record::{self, Run, State};
use crate::agent::claude;
use crate::agent::stream::{Interpreter, PermissionRequest, ReceiptState, Signal};
use crate::config::Config;
use crate::disk::{self, Lock};
use crate::error::{Error, IoContext, Result};
use crate::mailbox::intake;
use crate::mailbox::{Folder, Mailbox};
use crate::time;

/// How long an agent may take to go after its result and the end of its input.
const EXIT_GRACE: Duration = Duration::from_secs(10);
/// How long output may still come once the agent is gone: a grandchild may hold the pipe open for ever.
const DRAIN: Duration = Duration::from_secs(2);
/// A silence worth an event.
const SILENT: Duration = Duration::from_secs(30);
/// Lines of the agent's output that may wait to be recorded. A full channel holds the reader back, and through the pipe the
/// agent; so memory stays bounded, whatever comes.
const WAITING_LINES: usize = 16;
/// How long a disk may refuse the record of a delivered run: nobody else knows that it was delivered.
const RECORD_PATIENCE: Duration = Duration::from_secs(300);

/// What the supervisor waits for.
enum Input {
    Signals(Vec<Signal>),
    OutputEnded,
    Exited(String),
    Stop(String),
}

/// Asks a running [`supervise`] to stop; for a signal handler's thread.
#[derive(Clone)]
pub struct Stopper(SyncSender<Input>);

impl Stopper {
    /// Climbs the ladder: in-band interrupt, SIGTERM, the whole tree killed.
    pub fn stop(&self, why: &str) {
        // Waits behind the lines that wait: a flood must not swallow it.
        let _ = self.0.send(Input::Stop(why.to_owned()));
    }
}

/// Supervises one claimed attempt to its end. `observe` sees every event as it is written; `stoppable` gets the handle to stop it.
///
/// Returns the record as it is at the end; where somebody else supervises the round, or it is over, the record as it was.
pub fn supervise(
    mailbox: &Mailbox,
    config: &Config,
    run: Run,
    observe: &mut dyn FnMut(&Event),
    stoppable: impl FnOnce(Stopper),
) -> Result<Run> {
    let round = run.round();
    let Some(lock) = take_lock(mailbox, &run)? else { return Ok(run) };
    // Only now is it certain that the record does not change under us.
    let mut run = record::read(mailbox, &round, run.attempt)?;
    if run.state != State::Claimed || !mailbox.round(Folder::Running, &round).exists() {
        return Ok(run);
    }
    let folder = run.folder(mailbox);
    let mut file = disk::open_append(&folder.join("events.jsonl"))?;
    let tail = read_tail(&mut file).io("read", folder.join("events.jsonl"))?;
    let mut log = Log { writer: EventWriter::after(file, tail), observe, failed: None };
    let (sender, inputs) = mpsc::sync_channel(WAITING_LINES);
    stoppable(Stopper(sender.clone()));
    let ending = match start(mailbox, config, &mut run, &mut log, sender) {
        Ok(agent) => Watch::new(mailbox, config, &run, agent, log.reborrow()).until_the_end(&inputs),
        Err(e @ (Error::Failed { .. } | Error::Invalid { .. })) => Ending::Hopeless { why: e.to_string() },
        Err(e) => Ending::Failed { why: e.to_string() },
    };
    let token = run.token();
    // What the agent left behind must be gone before anybody goes on with its session or its workflow.
    match processes::end(|t| t == token, processes::TERM_GRACE) {
        Ok(0) => {}
        Ok(ended) => log.note(format!("{ended} processes that the agent left behind were ended")),
        Err(left) => log.note(format!("{left} processes of this run cannot be killed")),
    }
    match &ending {
        Ending::Hopeless { why } => log.event(EventKind::Parked { why: why.clone() }),
        Ending::Failed { why } => log.note(format!("failed: {why}")),
        _ => {}
    }
    let run = finish(mailbox, config, run, &ending, &mut log)?;
    drop(lock);
    match log.failed {
        Some(e) => Err(Error::Io { action: "write", path: folder.join("events.jsonl"), source: e }),
        None => Ok(run),
    }
}

/// Makes the ending durable. A disk that is full now may have room later, and until then this process alone knows the ending.
fn finish(mailbox: &Mailbox, config: &Config, run: Run, ending: &Ending, log: &mut Log<'_>) -> Result<Run> {
    let patience = if matches!(ending, Ending::Delivered { .. }) { RECORD_PATIENCE } else { Duration::from_secs(1) };
    let deadline = Instant::now() + patience;
    let mut pause = Duration::from_millis(50);
    loop {
        match ending::finish(mailbox, config, run.clone(), ending) {
            Err(e @ Error::Io { .. }) if Instant::now() + pause < deadline => {
                log.note(format!("the ending cannot be recorded yet: {e}"));
                std::thread::sleep(pause);
                pause = (pause * 2).min(Duration::from_secs(10));
            }
            other => return other,
        }
    }
}

/// The claimer may be about to let go of the lock; a supervisor at work will not.
fn take_lock(mailbox: &Mailbox, run: &Run) -> Result<Option<Lock>> {
    let path = record::lock_path(mailbox, &run.round());
    let deadline = Instant::now() + Duration::from_secs(2);
    loop {
        match Lock::try_acquire(&path)? {
            Some(lock) => return Ok(Some(lock)),
            None if Instant::now() > deadline => return Ok(None),
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    }
}

/// The event log: the file, and whoever looks on.
struct Log<'a> {
    writer: EventWriter<File>,
    observe: &'a mut dyn FnMut(&Event),
    failed: Option<std::io::Error>,
}

impl<'a> Log<'a> {
    fn reborrow(&mut self) -> &mut Self {
        self
    }

    fn event(&mut self, kind: EventKind) {
        let at = time::now();
        match self.writer.append(at, &kind) {
            Ok(seq) => (self.observe)(&Event { seq, at, kind }),
            // A full disk must not stop the agent's work: the run goes on, the error is told at the end.
            Err(e) => {
                self.failed = Some(self.failed.take().unwrap_or(e));
                (self.observe)(&Event { seq: self.writer.last_seq(), at, kind });
            }
        }
    }

    fn note(&mut self, text: impl Into<String>) {
        self.event(EventKind::Note { text: text.into() });
    }
}

/// A started agent.
struct Agent {
    process: Option<Process>,
    input: Option<mpsc::Sender<String>>,
    interpreter: Arc<Mutex<Interpreter>>,
    start: Start,
}

fn start(mailbox: &Mailbox, config: &Config, run: &mut Run, log: &mut Log<'_>, sender: SyncSender<Input>) -> Result<Agent> {
    let (_, runner) = config.runner(Some(&run.runner))?;
    let document = intake::read_round_file(&mailbox.round(Folder::Running, &run.round()))?;
    let message = prompt::message(mailbox, config, &document.typed, run)?;
    let start = launch::start_of(run);
    if let Some(why) = &run.begin_why {
        log.note(why.clone());
    }
    if let (record::Begin::Fork { from }, Start::New) = (&run.begin, &start) {
        log.note(format!("fresh instead of resume: the transcript of session {from} is gone"));
    }
    let call = launch::invocation(mailbox, run, &runner, &start);
    let stderr = disk::open_append(&run.folder(mailbox).join("stderr.log"))?;
    // Durable before the launch: recovery must know that there may be a process.
    run.state = State::Running;
    run.started_at = Some(time::now());
    record::write(mailbox, run)?;
    let (stderr_read, stderr_write) = std::io::pipe().io("open a pipe for", run.folder(mailbox))?;
    let mut child = launch::spawn(&call, File::from(std::os::fd::OwnedFd::from(stderr_write)))?;
    let process = Process::hold(child.id());
    let interpreter = Arc::new(Mutex::new(match &start {
        Start::New => Interpreter::new(),
        Start::Continue => Interpreter::resuming(run.session_id.to_string()),
        Start::Fork(from) => Interpreter::resuming(from),
    }));
    let input = pipes::spawn_writer(&mut child);
    let (lines, end) = (sender.clone(), sender.clone());
    let take = move |signals| lines.send(Input::Signals(signals)).is_ok();
    pipes::spawn_reader(&mut child, interpreter.clone(), take, move || drop(end.send(Input::OutputEnded)));
    std::thread::spawn(move || pipes::copy_bounded(stderr_read, stderr));
    std::thread::spawn(move || {
        let status = child.wait().map_or_else(|e| e.to_string(), |s| s.to_string());
        let _ = sender.send(Input::Exited(status));
    });
    if let Some(input) = &input {
        let _ = input.send(claude::user_message(&run.message_id.to_string(), &message));
    }
    Ok(Agent { process, input, interpreter, start })
}

/// The rungs of the interrupt ladder, and the polite end after a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rung {
    None,
    /// The result is here and the input is closed: it should go by itself.
    Leaving,
    /// The in-band interrupt was sent.
    Interrupted,
    /// SIGTERM was sent: the agent takes its tools down.
    Terminated,
    /// Everything of the run was killed.
    Killed,
}

struct Watch<'a, 'b> {
    mailbox: &'a Mailbox,
    config: &'a Config,
    run: &'a Run,
    agent: Agent,
    log: &'a mut Log<'b>,
    rung: Rung,
    next_rung: Option<Instant>,
    stopped: Option<String>,
    ending: Option<Ending>,
    began: bool,
    message_seen: bool,
    asked: Option<String>,
    last_sign: Instant,
    silent: Duration,
}

impl<'a, 'b> Watch<'a, 'b> {
    fn new(mailbox: &'a Mailbox, config: &'a Config, run: &'a Run, agent: Agent, log: &'a mut Log<'b>) -> Self {
        Self {
            mailbox,
            config,
            run,
            agent,
            log,
            rung: Rung::None,
            next_rung: None,
            stopped: None,
            ending: None,
            began: false,
            message_seen: false,
            asked: None,
            last_sign: Instant::now(),
            silent: SILENT,
        }
    }

    fn until_the_end(mut self, inputs: &Receiver<Input>) -> Ending {
        let out_of_time = Instant::now() + self.config.limits.run_time.0;
        let (mut exited, mut output_ended) = (None::<(String, Instant)>, false);
        loop {
            let now = Instant::now();
            if let Some((_, drained)) = &exited
                && (output_ended || now >= *drained)
            {
                break;
            }
            if self.next_rung.is_some_and(|at| now >= at) {
                self.climb();
            }
            if self.rung == Rung::None && now >= out_of_time {
                self.stop(format!("it ran longer than limits.run_time = {}", time::human(self.config.limits.run_time.0)));
            }
            if self.rung == Rung::None && now - self.last_sign >= self.config.limits.silence.0 {
                self.stop(format!("it was silent for limits.silence = {}", time::human(self.config.limits.silence.0)));
            }
            let drained = exited.as_ref().map(|(_, at)| *at);
            let deadlines = [
                self.next_rung,
                drained,
                Some(out_of_time).filter(|_| self.rung == Rung::None),
                Some(self.last_sign + self.silent.min(self.config.limits.silence.0)).filter(|_| self.rung == Rung::None),
            ];
            let next = deadlines.into_iter().flatten().min().unwrap_or(now + SILENT);
            match inputs.recv_timeout(next.saturating_duration_since(now)) {
                Ok(Input::Signals(signals)) => {
                    self.last_sign = Instant::now();
                    self.silent = SILENT;
                    signals.into_iter().for_each(|s| self.take(s));
                }
                Ok(Input::OutputEnded) => {
                    output_ended = true;
                    // Nothing can come any more: it may go.
                    self.leave();
                }
                Ok(Input::Exited(status)) => exited = Some((status, Instant::now() + DRAIN)),
                Ok(Input::Stop(why)) => self.stop(why),
                Err(RecvTimeoutError::Timeout) => self.silence(),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.verdict(exited.map_or_else(|| "its output ended".into(), |(status, _)| status))
    }

    fn silence(&mut self) {
        let silent = self.last_sign.elapsed();
        if self.rung == Rung::None && silent >= self.silent {
            self.silent *= 2;
            self.log.event(EventKind::Silent { seconds: silent.as_secs() });
        }
    }

    fn take(&mut self, signal: Signal) {
        match signal {
            Signal::Event(kind) => {
                let may_have_asked = matches!(kind, EventKind::ToolResult { .. } | EventKind::Result { .. });
                self.log.event(kind);
                if may_have_asked {
                    self.look_for_question();
                }
            }
            Signal::Began { session_id, permission_mode, first, .. } => {
                if session_id == self.run.session_id.to_string() {
                    self.began = true;
                    if first {
                        self.remember(permission_mode);
                    }
                } else {
                    self.log.note(format!("the agent reports session {session_id}, not the chosen one"));
                }
            }
            Signal::Receipt { uuid, state } if uuid == self.run.message_id.to_string() => self.receipt(state),
            Signal::Permission(request) => self.decide(&request),
            Signal::TurnEnded(turn) => {
                if self.ending.as_ref().is_none_or(|e| !matches!(e, Ending::Delivered { .. })) {
                    self.ending = Some(Ending::of_turn(&turn));
                }
                self.leave();
            }
            Signal::Receipt { .. } | Signal::PermissionCancelled { .. } | Signal::ControlReply { .. } => {}
        }
    }

    /// The session is ours from here on: a question asked in it may be resumed.
    fn remember(&mut self, permission_mode: String) {
        let update = || {
            let lock = self.mailbox.lock(&self.run.workflow_id)?;
            crate::mailbox::workflow::update(self.mailbox, &lock, |w| {
                w.session_id = Some(self.run.session_id);
                w.permission_mode = Some(permission_mode);
                w.agent = Some(self.run.runner.clone());
            })
        };
        if let Err(e) = update() {
            self.log.note(format!("the workflow's record could not be written: {e}"));
        }
    }

    /// `completed` alone means that the session had this message before, in an earlier attempt, and dropped it: the model is
    /// not shown the answer again, but must be told to go on.
    fn receipt(&mut self, state: ReceiptState) {
        match state {
            ReceiptState::Queued | ReceiptState::Started => self.message_seen = true,
            ReceiptState::Completed if !self.message_seen && self.agent.start == Start::Continue => {
                self.message_seen = true;
                self.log.note("the session had the answer already; asking it to continue");
                let uuid = Uuid::new_v5(&self.run.message_id, &self.run.attempt.to_be_bytes());
                self.say(claude::user_message(&uuid.to_string(), prompt::CONTINUE));
            }
            ReceiptState::Completed | ReceiptState::Cancelled => {}
        }
    }

    fn say(&mut self, line: String) {
        if let Some(input) = &self.agent.input {
            let _ = input.send(line);
        }
    }

    /// Nobody is there to be asked, so what the operator has not allowed is refused, with the way out.
    fn decide(&mut self, request: &PermissionRequest) {
        let why = if request.requires_user_interaction {
            format!(
                "Your user is not at this session. Ask with `ask-post -w {} \"QUESTION\" -o KEY=DESCRIPTION`, then end your turn: you will be relaunched with the answer.",
                self.run.workflow_id
            )
        } else {
            "Not permitted in this unattended run. Go on without it, or ask your user with `ask-post` and end your turn.".to_owned()
        };
        self.log.event(EventKind::Permission { tool: request.tool_name.clone(), decision: "deny".into(), why: why.clone() });
        self.say(claude::permission_deny(&request.request_id, &why));
    }

    fn look_for_question(&mut self) {
        let Ok(document) = intake::read_pending(self.mailbox, &self.run.workflow_id) else { return };
        let Ok(round) = intake::round_of(self.mailbox, &document.typed) else { return };
        let id = round.question.to_string();
        if self.asked.as_ref() != Some(&id) {
            self.asked = Some(id.clone());
            self.log.event(EventKind::QuestionPosted { workflow_id: round.workflow.to_string(), question_id: id });
        }
    }

    /// The turn is over: closing its input lets the agent go.
    fn leave(&mut self) {
        self.agent.input = None;
        if self.rung == Rung::None || self.rung == Rung::Interrupted {
            self.rung = Rung::Leaving;
            self.next_rung = Some(Instant::now() + EXIT_GRACE);
        }
    }

    fn stop(&mut self, why: String) {
        if self.rung != Rung::None {
            return;
        }
        self.log.note(format!("stopping: {why}"));
        self.stopped = Some(why);
        self.rung = Rung::Interrupted;
        self.next_rung = Some(Instant::now() + self.config.limits.grace.0);
        self.log.note("ladder: in-band interrupt");
        self.say(claude::interrupt("askbox-stop"));
    }

    fn climb(&mut self) {
        match self.rung {
            Rung::None | Rung::Killed => self.next_rung = None,
            Rung::Leaving | Rung::Interrupted => {
                self.rung = Rung::Terminated;
                self.next_rung = Some(Instant::now() + processes::TERM_GRACE);
                self.log.note("ladder: SIGTERM");
                if let Some(process) = &self.agent.process {
                    process.signal(rustix::process::Signal::TERM);
                }
            }
            Rung::Terminated => {
                self.rung = Rung::Killed;
                self.next_rung = None;
                self.log.note("ladder: the whole tree is killed");
                let token = self.run.token();
                let _ = processes::end(|t| t == token, Duration::ZERO);
                if let Some(process) = &self.agent.process {
                    process.signal(rustix::process::Signal::KILL);
                }
            }
        }
    }

    fn verdict(mut self, status: String) -> Ending {
        let ending = match (self.ending.take(), self.stopped.take()) {
            (Some(delivered @ Ending::Delivered { .. }), _) if self.began => delivered,
            (Some(Ending::Delivered { .. }), None) => {
                Ending::Failed { why: "a result came, but of another session than the chosen one".into() }
            }
            (_, Some(why)) => Ending::Interrupted { why },
            (Some(other), None) => other,
            (None, None) => Ending::Failed { why: format!("the agent ended without a result ({status})") },
        };
        if let Ending::Interrupted { why } = &ending {
            let event = self.agent.interpreter.lock().unwrap_or_else(PoisonError::into_inner).interrupted(why);
            self.log.event(event);
        }
        ending
    }
}
