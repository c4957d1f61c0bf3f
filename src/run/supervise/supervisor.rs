//! The process that owns one run. It holds the round's lock, launches the agent, is its message channel and its permission
//! host, and turns its stream into events. If it dies, the kernel sends its agent SIGTERM and recovery goes on from there.

use std::fs::File;
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::agent::claude;
use crate::agent::events::{Event, EventKind, EventWriter, read_tail};
use crate::agent::stream::{Interpreter, StreamItem};
use crate::config::Config;
use crate::disk::{self, Lock, Staged};
use crate::error::{Error, IoContext, Result};
use crate::id::RoundId;
use crate::mailbox::{Folder, Mailbox, QuestionDocument, intake};
use crate::run::attempt::ending::{self, Ending};
use crate::run::attempt::record::{self, Record, Run, State};
use crate::run::claim::{self, Claim, OnRecord, Taken, plan};
use crate::run::money::budget::{self, Allowance};
use crate::run::money::costs::Book;
use crate::run::process::launch::{self, Start};
use crate::run::process::lookout::{Lookout, Source};
use crate::run::process::pipes::{self, Complaints};
use crate::run::process::processes::{self, Process, Waiter};
use crate::run::process::{prompt, role};
use crate::run::supervise::attend::Attendance;
use crate::run::supervise::ladder::Request;
use crate::run::supervise::stop;
use crate::time::{self, Time};

/// Lines of the agent's output that may wait to be recorded. A full channel holds the reader back, and through the pipe the
/// agent; so memory stays bounded, whatever comes.
const WAITING_LINES: usize = 16;
/// How long a disk may refuse the record of a delivered run: nobody else knows that it was delivered.
const RECORD_PATIENCE: Duration = Duration::from_secs(300);

/// What the supervisor waits for.
#[derive(Debug)]
pub(crate) enum Input {
    Signals(Vec<StreamItem>),
    OutputEnded,
    Exited(String),
    Stop(Request),
    /// Somebody may have asked for a stop: `stop.json` says.
    Woken,
}

/// Asks a running [`supervise`] to stop; for another thread.
#[derive(Debug, Clone)]
pub struct Stopper(SyncSender<Input>);

impl Stopper {
    /// Climbs the ladder; see [`crate::run::supervise::ladder`].
    pub fn stop(&self, request: Request) {
        // Waits behind the lines that wait: a flood must not swallow it.
        let _ = self.0.send(Input::Stop(request));
    }
}

/// What is to be supervised.
#[derive(Debug)]
pub enum Attempt {
    /// An attempt on record; its round's lock is free, or about to be.
    Recorded {
        /// Its round.
        round: RoundId,
        /// Its number.
        attempt: u32,
    },
    /// Claimed by this process with [`crate::run::claim::take_to_launch`]: it is not on record yet.
    Taken(Box<Claim<Taken>>),
}

impl Attempt {
    /// `runs/WORKFLOW/QUESTION/ATTEMPT`.
    #[must_use]
    pub fn folder(&self, mailbox: &Mailbox) -> PathBuf {
        match self {
            Self::Recorded { round, attempt } => record::folder(mailbox, round, *attempt),
            Self::Taken(claim) => claim.run.folder(mailbox),
        }
    }
}

impl From<&Run> for Attempt {
    fn from(run: &Run) -> Self {
        Self::Recorded { round: run.round(), attempt: run.attempt }
    }
}

/// What is known of an attempt without reading it once more.
#[derive(Default)]
struct Known {
    document: Option<QuestionDocument>,
    record: Option<Record>,
}

/// Supervises one attempt to its end. `observe` sees every event as it is written; `stoppable` gets the handle to stop it, and
/// says what is to be looked out for beside the agent.
///
/// Returns the record as it is at the end; where somebody else supervises the round, or it is over, the record as it was.
pub fn supervise(
    mailbox: &Mailbox,
    config: &Config,
    attempt: Attempt,
    observe: &mut dyn FnMut(&Event),
    stoppable: impl FnOnce(Stopper) -> Vec<Box<dyn Source>>,
) -> Result<Run> {
    let (mut run, known, mut hold) = match attempt {
        Attempt::Taken(claim) => {
            let (run, document, taken) = claim.into_parts();
            (run, Known { document: Some(document), record: None }, Hold::Taken(taken))
        }
        Attempt::Recorded { round, attempt } => {
            let lock = take_lock(mailbox, &round)?;
            // Only now is it certain that the record does not change under us.
            let record = Record::read(mailbox, &round, attempt)?;
            let run = record.run().clone();
            let (Some(lock), State::Claimed, true) = (lock, run.state, mailbox.round(Folder::Running, &round).exists()) else {
                return Ok(run);
            };
            (run, Known { document: None, record: Some(record) }, Hold::OnRecord(OnRecord::with_lock(lock)))
        }
    };
    let mut log = Log { mailbox, run: run.clone(), writer: None, observe, failed: None, book: Book::of(mailbox, &run) };
    let (sender, inputs) = mpsc::sync_channel(WAITING_LINES);
    let ears = Ears { sources: stoppable(Stopper(sender.clone())), sender };
    // What it sets aside of the day's money, others must see before it is launched.
    if config.limits.day_cost > 0.0 {
        hold = Hold::OnRecord(hold.on_record(mailbox, &run)?);
    }
    let (allowance, refused) = match Allowance::take(mailbox, config, &mut run) {
        Err(e) => (Allowance::default(), Some(Ending::Failed { why: e.to_string() })),
        Ok(allowance) => {
            let refusal = allowance.refusal();
            (allowance, refusal)
        }
    };
    let (ending, last) = match refused {
        Some(ending) => (ending, None),
        None => match start(mailbox, config, (&mut run, known), &mut hold, &mut log, ears, &allowance) {
            Ok(agent) => Attendance::new(mailbox, config, &run, agent, &mut log).until_the_end(&inputs, allowance.time()),
            Err(e @ (Error::Failed { .. } | Error::Invalid { .. })) => (Ending::Hopeless { why: e.to_string() }, None),
            Err(e) => (Ending::Failed { why: e.to_string() }, None),
        },
    };
    let on_record = hold.on_record(mailbox, &run)?;
    let token = run.token();
    // What the agent left behind must be gone before anybody goes on with its session or its workflow.
    let ended = if processes::none_is_left() { Ok(0) } else { processes::end(|t| t == token, processes::TERM_GRACE) };
    match ended {
        Ok(0) => {}
        Ok(ended) => log.note(format!("{ended} processes that the agent left behind were ended")),
        Err(left) => log.note(format!("{left} processes of this run cannot be killed")),
    }
    last.into_iter().for_each(|event| log.event(event));
    run.cost_usd = log.book.total();
    let run = finish(mailbox, config, run, &allowance.named(ending), &mut log)?;
    log.ended(&run);
    drop(on_record);
    match log.failed {
        Some(e) => Err(e),
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

/// Where the events of the earlier attempts ended: the numbers go on, so that one number names one event of the round.
fn last_seq_before(mailbox: &Mailbox, run: &Run) -> u64 {
    let ended = |attempt| {
        let mut file = File::open(record::folder(mailbox, &run.round(), attempt).join("events.jsonl")).ok()?;
        read_tail(&mut file).ok().map(|tail| tail.last_seq).filter(|seq| *seq > 0)
    };
    (1..run.attempt).rev().find_map(ended).unwrap_or(0)
}

/// The claimer may be about to let go of the lock; a supervisor at work will not.
fn take_lock(mailbox: &Mailbox, round: &RoundId) -> Result<Option<Lock>> {
    let path = record::lock_path(mailbox, round);
    let deadline = Instant::now() + Duration::from_secs(2);
    let mut pause = Duration::from_micros(100);
    loop {
        match Lock::try_acquire(&path)? {
            Some(lock) => return Ok(Some(lock)),
            None if Instant::now() > deadline => return Ok(None),
            None => std::thread::sleep(pause),
        }
        pause = (pause * 2).min(Duration::from_millis(5));
    }
}

fn path(mailbox: &Mailbox, run: &Run) -> PathBuf {
    run.folder(mailbox).join("events.jsonl")
}

/// The event log: the file, and whoever looks on.
pub(crate) struct Log<'a> {
    mailbox: &'a Mailbox,
    run: Run,
    /// Opened when there is something to write.
    writer: Option<EventWriter<File>>,
    observe: &'a mut dyn FnMut(&Event),
    failed: Option<Error>,
    book: Book,
}

impl Log<'_> {
    pub(crate) fn event(&mut self, kind: EventKind) {
        let at = time::now();
        if let Err(e) = self.book.take(at, &kind) {
            let _ = self.append(at, &EventKind::Note { text: format!("a turn's cost could not be booked: {e}") });
        }
        let seq = self.append(at, &kind).unwrap_or_else(|e| {
            // A full disk must not stop the agent's work: the run goes on, the error is told at the end.
            self.failed = Some(self.failed.take().unwrap_or(e));
            self.writer.as_ref().map_or(0, EventWriter::last_seq)
        });
        (self.observe)(&Event { seq, at, kind });
    }

    fn append(&mut self, at: Time, kind: &EventKind) -> Result<u64> {
        let path = path(self.mailbox, &self.run);
        self.writer()?.append(at, kind).io("write", path)
    }

    fn writer(&mut self) -> Result<&mut EventWriter<File>> {
        match &mut self.writer {
            Some(writer) => Ok(writer),
            none => {
                let path = path(self.mailbox, &self.run);
                disk::touch_folder(&self.run.folder(self.mailbox))?;
                let mut file = disk::open_append(&path)?;
                let mut tail = read_tail(&mut file).io("read", path)?;
                if tail.last_seq == 0 {
                    tail.last_seq = last_seq_before(self.mailbox, &self.run);
                }
                Ok(none.insert(EventWriter::after(file, tail)))
            }
        }
    }

    pub(crate) fn note(&mut self, text: impl Into<String>) {
        self.event(EventKind::Note { text: text.into() });
    }

    /// What becomes of a run that failed.
    fn ended(&mut self, run: &Run) {
        let why = run.why.clone().unwrap_or_default();
        match (run.state, run.retry_at) {
            (State::Parked, _) => self.event(EventKind::Parked { why }),
            (State::Failed, Some(at)) if run.is_throttled() => {
                let wait = (at - time::now()).num_milliseconds();
                let delay_ms = u64::try_from(wait).unwrap_or(0);
                self.event(EventKind::Throttled { status: None, retry: run.attempt, max_retries: None, delay_ms, error: why });
            }
            (State::Failed, _) => self.note(format!("failed: {why}")),
            _ => {}
        }
    }
}

/// A started agent.
pub(crate) struct Agent {
    pub(crate) process: Option<Arc<Process>>,
    pub(crate) input: Option<pipes::Input>,
    pub(crate) interpreter: Arc<Mutex<Interpreter>>,
    pub(crate) complaints: Receiver<String>,
    pub(crate) start: Start,
    /// Kept back until the agent has said that it knows its role.
    pub(crate) held: Option<String>,
    /// How many answers of the model it may take, where the operator's own arguments say nothing else.
    pub(crate) turns: Option<u32>,
    /// For everything beside its output.
    _lookout: Lookout,
    _control: Option<stop::Control>,
}

/// How far the claim of the round has come.
enum Hold {
    Taken(Taken),
    OnRecord(OnRecord),
}

impl Hold {
    /// Sees to it that the attempt is on record. Without it there was no claim: where that fails nothing of it may live any more.
    fn on_record(self, mailbox: &Mailbox, run: &Run) -> Result<OnRecord> {
        match self {
            Self::OnRecord(on_record) => Ok(on_record),
            Self::Taken(mut taken) => taken.put_on_record(mailbox, run).inspect_err(|_| {
                let _ = disk::untouch(&path(mailbox, run));
                taken.give_back(mailbox, run);
            }),
        }
    }
}

/// Makes durable which attempt it is, with which session, and of which workflow.
fn make_durable(mailbox: &Mailbox, document: &QuestionDocument, run: &Run, hold: &mut Hold) -> Result<()> {
    match hold {
        Hold::OnRecord(_) => claim::make_durable(mailbox, &mailbox.lock(&run.workflow_id)?, document, run),
        Hold::Taken(taken) => {
            let on_record = taken.put_on_record(mailbox, run)?;
            let durable = taken.make_durable(mailbox, document, run);
            // Releases the workflow's lock.
            *hold = Hold::OnRecord(on_record);
            durable
        }
    }
}

/// What a supervisor hears of beside the agent's output, and where it hears it.
struct Ears {
    sources: Vec<Box<dyn Source>>,
    sender: SyncSender<Input>,
}

fn start(
    mailbox: &Mailbox,
    config: &Config,
    (run, known): (&mut Run, Known),
    hold: &mut Hold,
    log: &mut Log<'_>,
    ears: Ears,
    allowance: &Allowance,
) -> Result<Agent> {
    let Ears { mut sources, sender } = ears;
    let (_, runner) = config.runner(Some(&run.runner))?;
    let document = known.document.map_or_else(|| intake::read_round_file(&mailbox.round(Folder::Running, &run.round())), Ok)?;
    let start = launch::start_of(run);
    if let (record::Begin::Fork { from }, Start::New) = (&run.begin, &start) {
        // It was there when the round was claimed. From here on every attempt is a fresh one, and is told what a fresh one needs.
        run.begin_why = Some(plan::transcript_gone(from));
        run.begin = record::Begin::Fresh;
    }
    run.state = State::Running;
    run.started_at = Some(time::now());
    let record = match hold {
        Hold::OnRecord(_) => known.record.map_or_else(|| Record::read(mailbox, &run.round(), run.attempt), Ok)?.stage(run).map(Some)?,
        Hold::Taken(_) => None,
    };
    let message = prompt::message(mailbox, config, &document.typed, run)?;
    let call = launch::invocation(mailbox, &document.typed, run, &runner, &start);
    let turns = Some(config.limits.turns).filter(|turns| *turns > 0 && !budget::says(&call, budget::MAX_TURNS));
    let call = allowance.limit(call, turns);
    // Before the launch: recovery must know that there may be a process. A power cut leaves none.
    record.map_or(Ok(()), Staged::replace_ahead)?;
    let mut lookout = Lookout::new().io("open a pipe for", run.folder(mailbox))?;
    let (stderr_read, stderr_write) = std::io::pipe().io("open a pipe for", run.folder(mailbox))?;
    let mut child = launch::spawn(&call, File::from(std::os::fd::OwnedFd::from(stderr_write)))?;
    let process = Process::hold(child.id()).map(Arc::new);
    // While the agent starts. It is told nothing before all that says so is durable: then a power cut takes away no more than an
    // agent that knew of nothing.
    if let Err(e) = make_durable(mailbox, &document, run, hold) {
        let _ = child.kill().and_then(|()| child.wait());
        return Err(e);
    }
    run.begin_why.iter().for_each(|why| log.note(why.clone()));
    let waker = sender.clone();
    let control = match stop::listen(&run.folder(mailbox), move || drop(waker.send(Input::Woken))) {
        Ok((control, wake_ups)) => {
            sources.push(wake_ups);
            Some(control)
        }
        Err(e) => {
            log.note(format!("`relaunch stop` cannot wake this run, only a signal can: {e}"));
            None
        }
    };
    let interpreter = Arc::new(Mutex::new(match &start {
        Start::New => Interpreter::new(),
        Start::Continue => Interpreter::resuming(run.session_id.to_string()),
        Start::Fork(from) => Interpreter::resuming(from),
    }));
    let mut input = pipes::Input::of(&mut child);
    let (lines, end) = (sender.clone(), sender.clone());
    let take = move |signals| lines.send(Input::Signals(signals)).is_ok();
    pipes::spawn_reader(&mut child, interpreter.clone(), take, move || drop(end.send(Input::OutputEnded)));
    let (complaining, complaints) = Complaints::new(stderr_read, run.folder(mailbox).join("stderr.log"));
    sources.push(Box::new(complaining));
    let exited = move |status| drop(sender.send(Input::Exited(status)));
    match &process {
        Some(process) => sources.push(Box::new(Waiter::new(child, process.clone(), exited))),
        None => processes::wait_aside(child, exited),
    }
    lookout.start(sources);
    let message = claude::user_message(&run.message_id.to_string(), &message);
    let (first, held) = match &run.role {
        Some(_) => (role::question(), Some(message)),
        None => (message, None),
    };
    input.say(&first);
    Ok(Agent { process, input: Some(input), interpreter, complaints, start, held, turns, _lookout: lookout, _control: control })
}
