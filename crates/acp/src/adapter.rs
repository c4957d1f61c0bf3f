//! One attempt: the agent's process, its output, the supervisor's lines, and the agent's end.
//!
//! The agent dies with this process, and this process with the supervisor. SIGTERM is passed on, so that the agent ends its tools. The exit
//! status is the agent's own.

use std::io::BufRead;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

use crate::command::{self, Command};
use crate::opening::{Messages, Opening};
use crate::protocol::{Choice, Client, Item, OwnServer, Permission, SessionPlace};
use crate::session;
use crate::talk::Talk;
use askbox_agent::StreamItem;
use askbox_agent::program::Exit;
use askbox_agent::stream::FormReply;
use askbox_agent::stream::lines::BoundedLines;
use askbox_config::{Config, Runner};
use askbox_fence::Fence;
use askbox_mailbox::documents::fields::asked_in::Nonce;
use askbox_mailbox::{
    Error, Folder, IoContext, Lock, Mailbox, ProcessHandle, Question, ReadyThread, Result, RoundId, processes, read_question, thread,
};
use askbox_run::attempt::failure::Class;
use askbox_run::attempt::record::Begin;
use askbox_run::fence;
use askbox_run::process::agent_exit;
use askbox_run::process::permitted::WorkFolder;
use askbox_run::process::pipes::AgentInput;
use askbox_run::{Run, launch, record};

/// The lock of a workflow's session. Most agents let two processes work on one session, and then lose the work of one.
const SESSION_LOCK: &str = "acp.lock";
/// How long output may still come after the agent has ended. A process that it left behind may hold the pipe open for ever.
const DRAIN: Duration = Duration::from_secs(2);
/// How long the agent may take to end once it can say nothing more.
const EXIT_GRACE: Duration = Duration::from_secs(10);

/// Talks with the agent of an attempt until it has ended. Returns this program's exit status.
///
/// # Errors
/// If the supervisor does not read what it is told.
pub(crate) fn run(mailbox: &Mailbox, config: &Config, round: &RoundId, attempt: u32, nonce: Nonce) -> Result<u8> {
    let begun = Attempt::open(mailbox, config, round, attempt).and_then(|attempt| attempt.begin(mailbox, config, nonce));
    match begun {
        Ok((adapter, _lock)) => adapter.attend(),
        Err(CannotBegin { class, why }) => command::cannot_begin(class, why).map(|()| 0),
    }
}

/// Why the agent cannot be started.
struct CannotBegin {
    class: Option<Class>,
    why: String,
}

impl From<Error> for CannotBegin {
    fn from(error: Error) -> Self {
        let class = match &error {
            e if e.is_held() => Some(Class::Held),
            e if e.is_shortage() => Some(Class::Shortage),
            Error::Failed { .. } | Error::Invalid { .. } => Some(Class::Setup),
            _ => None,
        };
        Self { class, why: error.to_string() }
    }
}

/// The records of the attempt.
struct Attempt {
    run: Run,
    question: Question,
    runner_name: String,
    runner: Runner,
}

impl Attempt {
    /// Reads the records, which anybody who can write to the mailbox may have changed since the supervisor read them.
    fn open(mailbox: &Mailbox, config: &Config, round: &RoundId, attempt: u32) -> Result<Self, CannotBegin> {
        let run = record::read(mailbox, round, attempt)?;
        let question = read_question::of_round(&mailbox.round(Folder::Running, round), round)?.typed;
        if let Err(why) = config.answers.policy().judge(&question) {
            return Err(CannotBegin { class: Some(Class::Untrusted), why: format!("its answer does not count: {}", why.0) });
        }
        let (runner_name, runner) = config.runner_of(&run.workflow_id)?;
        Ok(Self { run, question, runner_name, runner })
    }

    /// Starts the agent and asks it what it can do. Returns the lock of its session too.
    fn begin<'a>(self, mailbox: &'a Mailbox, config: &'a Config, nonce: Nonce) -> Result<(Adapter<'a>, Lock), CannotBegin> {
        let Self { mut run, question, runner_name, runner } = self;
        let lock = Lock::try_acquire(&mailbox.runs_of_workflow(&run.workflow_id).join(SESSION_LOCK))?;
        let held = || CannotBegin { class: Some(Class::Held), why: "another run works on the session of the workflow".into() };
        let lock = lock.ok_or_else(held)?;
        let mut opening = Opening::of(mailbox, &run);
        // Some agents hang or look into another project if a session is continued in another folder.
        let folder = opening.session.as_ref().and_then(|session| WorkFolder::open(config, &session.cwd).ok());
        opening.session = opening.session.filter(|_| folder.is_some());
        if opening.session.is_none() && run.begin != Begin::Fresh {
            run.begin = Begin::Fresh;
            command::note("fresh instead of resume: the agent's session is not on record, or its folder is gone")?;
        }
        let messages = Messages::of(mailbox, config, &question, &run)?;
        let cwd = match &folder {
            Some(folder) => folder.path().to_path_buf(),
            None => std::env::current_dir().io("find", "the working folder")?,
        };
        let server = match runner.mcp.then(OwnServer::of_this_run) {
            Some(Err(why)) => {
                command::note(&format!("the tools of `askbox mcp` are not offered to the agent: {why}"))?;
                None
            }
            other => other.and_then(Result::ok),
        };
        let fence = fence::of_run(mailbox, config, &run)?;
        // The agent's own sandbox must let it write here. Codex fails if it is given a folder that it cannot change itself.
        let writes_into = fence.as_ref().map_or_else(|| mailbox.root().to_path_buf(), |_| fence::asks(mailbox, &run));
        let place = SessionPlace {
            cwd,
            folders: vec![writes_into],
            mode: runner.mode.clone(),
            server,
            prices: runner.prices.as_slice().try_into().ok(),
        };
        let preset = runner.agent(&runner_name);
        let client = Arc::new(Mutex::new(Client::new(&run.session_id.to_string(), place, preset)));
        let (happenings, process, agent) = start(&runner, fence.as_ref(), folder.as_ref(), &client)?;
        let talk = Talk {
            mailbox,
            config,
            run,
            nonce,
            opening,
            messages,
            mode: runner.mode.clone(),
            loads_after_a_minute: preset.is_some_and(|preset| preset.loads_after_a_minute),
            client,
            agent: Some(agent),
            so_far: Default::default(),
        };
        Ok((Adapter { talk, runner, happenings, process, was_signalled: false, files_told: 0 }, lock))
    }
}

/// What happens to the adapter.
enum Happening {
    /// A line of the agent.
    Heard(Vec<Item>),
    /// The agent's output has ended.
    Silent,
    /// A line of the supervisor. `None` once there are no more.
    Command(Option<Command>),
    /// A Unix signal.
    Signal(i32),
    /// The agent has ended.
    Exited(Exit),
}

/// Starts the agent, in its folder or this one, and the threads that tell what happens.
fn start(
    runner: &Runner,
    fence: Option<&Fence>,
    folder: Option<&WorkFolder>,
    client: &Arc<Mutex<Client>>,
) -> Result<(Receiver<Happening>, Option<ProcessHandle>, AgentInput)> {
    let (sender, happenings) = mpsc::channel();
    let (input, waiter) = (ReadyThread::start()?, ReadyThread::start()?);
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP]).io("watch", "Unix signals")?;
    let of_signals = sender.clone();
    thread::start(move || signals.forever().for_each(|signal| drop(of_signals.send(Happening::Signal(signal)))))?;
    processes::adopt_orphans();
    let mut call = launch::tied(runner.program.as_ref(), fence)?;
    call.args(&runner.args).stdin(Stdio::piped()).stdout(Stdio::piped());
    if let Some(folder) = folder {
        call.current_dir(folder.to_start_in());
    }
    let mut child = call.spawn().io("launch", Path::new(&runner.program))?;
    let process = ProcessHandle::open(child.id());
    let agent = AgentInput::of_child(&mut child, input);
    read_agent(&mut child, client.clone(), sender.clone())?;
    let of_supervisor = sender.clone();
    thread::start(move || {
        let lines = std::io::stdin().lock().lines().map_while(|line| line.ok());
        lines.filter_map(|line| Command::read(&line)).for_each(|command| drop(of_supervisor.send(Happening::Command(Some(command)))));
        let _ = of_supervisor.send(Happening::Command(None));
    })?;
    agent_exit::wait_on(waiter, child, move |exit| drop(sender.send(Happening::Exited(exit))));
    Ok((happenings, process, agent))
}

fn read_agent(child: &mut Child, client: Arc<Mutex<Client>>, sender: Sender<Happening>) -> Result<()> {
    let Some(output) = child.stdout.take() else { return Ok(()) };
    thread::start(move || {
        let mut lines = BoundedLines::new(output);
        while let Ok(Some(line)) = lines.next_line() {
            let items = client.lock().unwrap_or_else(PoisonError::into_inner).feed(&line);
            if sender.send(Happening::Heard(items)).is_err() {
                return;
            }
        }
        let _ = sender.send(Happening::Silent);
    })?;
    Ok(())
}

/// The conversation and the agent's process.
struct Adapter<'a> {
    talk: Talk<'a>,
    runner: Runner,
    happenings: Receiver<Happening>,
    process: Option<ProcessHandle>,
    was_signalled: bool,
    /// The number of files that the supervisor knows.
    files_told: usize,
}

impl Adapter<'_> {
    /// Works until the agent has ended.
    fn attend(mut self) -> Result<u8> {
        self.talk.begin()?;
        let (mut exited, mut is_silent, mut ends_at) = (None, false, None::<Instant>);
        while (exited.is_none() || !is_silent) && ends_at.is_none_or(|at| Instant::now() < at) {
            let next = [ends_at, self.talk.due()].into_iter().flatten().min();
            let happening = match next {
                Some(at) => self.happenings.recv_timeout(at.saturating_duration_since(Instant::now())),
                None => self.happenings.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match happening {
                Ok(Happening::Heard(items)) => self.heard(items)?,
                Ok(Happening::Silent) => {
                    (is_silent, ends_at) = (true, ends_at.or(Some(Instant::now() + EXIT_GRACE)));
                    self.talk.leave();
                }
                Ok(Happening::Command(Some(command))) => self.obey(command)?,
                Ok(Happening::Command(None)) => self.talk.leave(),
                Ok(Happening::Signal(signal)) => self.pass_on(signal),
                Ok(Happening::Exited(exit)) => (exited, ends_at) = (Some(exit), Some(Instant::now() + DRAIN)),
                Err(RecvTimeoutError::Timeout) => self.talk.go_on_when_due()?,
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.ended(&exited.unwrap_or_else(|| Exit::unknown("it can say nothing more")))
    }

    fn heard(&mut self, items: Vec<Item>) -> Result<()> {
        self.talk.heard_something();
        for item in items {
            match item {
                Item::Told(StreamItem::TurnEnded(turn)) => {
                    self.tell_files()?;
                    self.talk.turn_ended(turn)?;
                }
                Item::Told(item) => command::say(&item)?,
                Item::Permission(asked) => command::say(&StreamItem::Permission(self.weighed(asked).request))?,
                Item::Replied(reply) => self.talk.replied(reply)?,
                Item::Say(line) => self.talk.say(&line),
            }
        }
        self.tell_files()
    }

    /// Tells the supervisor of files that calls have written since.
    fn tell_files(&mut self) -> Result<()> {
        let untold = self.talk.client().files().get(self.files_told..).unwrap_or_default().to_vec();
        self.files_told += untold.len();
        untold.into_iter().try_for_each(|file| command::say(&StreamItem::Wrote(file)))
    }

    /// Notes whether anybody needs to be asked about the call: it surely is one of a tool of askbox itself, or a rule of `allowed_tools`
    /// surely names it. A rule of `[approvals]` stands above both.
    fn weighed(&self, mut asked: Permission) -> Permission {
        let request = &mut asked.request;
        let (tool, approvals) = (request.tool_name.raw(), &self.talk.config.approvals);
        let Some(input) = request.input.as_object() else { return asked };
        let is_above = approvals.ask.iter().chain(&approvals.refuse).any(|rule| rule.names(tool, input));
        let why = match is_above {
            true => None,
            false if asked.is_own_tool => Some("it is a tool of askbox that asks, saves a state or looks"),
            false => {
                (request.complete && asked.is_plain && self.runner.allows(tool, input)).then_some("a rule of allowed_tools names this call")
            }
        };
        request.needs_nobody = why.map(str::to_owned);
        asked
    }

    fn obey(&mut self, command: Command) -> Result<()> {
        match command {
            Command::Permit { request } => self.decide(&request, Choice::Allow)?,
            Command::Refuse { request, words } => {
                self.decide(&request, Choice::Refuse)?;
                // The reply has no room for words, so the model reads them after the turn.
                self.talk.tell_later(&words);
            }
            Command::Reply { request, reply } => self.reply_to_form(&request, &reply)?,
            Command::Tell(words) => self.talk.tell_later(&words),
            Command::EndTurn => self.talk.end_turn(),
        }
        Ok(())
    }

    fn decide(&mut self, request: &str, choice: Choice) -> Result<()> {
        let Some((line, made)) = self.talk.client().decide(request, choice) else { return Ok(()) };
        self.talk.say(&line);
        if choice == Choice::Allow && made != Choice::Allow {
            self.talk.tell_later("A call was allowed, but your program offered no way to allow it once. It was not made.");
            return command::note("the agent offers no way to allow the call once, so its request was cancelled");
        }
        Ok(())
    }

    /// Answers a form. If the agent's program has no way to say this, it is told that nobody decided, and the agent reads the reply after its
    /// turn.
    fn reply_to_form(&mut self, request: &str, reply: &FormReply) -> Result<()> {
        let Some((line, is_said)) = self.talk.client().reply_to_form(request, reply) else { return Ok(()) };
        self.talk.say(&line);
        let words = match reply {
            FormReply::Decline => "Your user declines to answer what you asked. Do not guess an answer.".to_owned(),
            FormReply::Accept(content) => {
                format!("Your user has answered what you asked, and your program could not be told so: {content}")
            }
            FormReply::Cancel => return Ok(()),
        };
        if is_said {
            return Ok(());
        }
        self.talk.tell_later(&words);
        command::note(
            "the agent's program offers no way to say that: it was told that nobody decided, and the agent reads it after its turn",
        )
    }

    /// Passes a signal on to the agent. This process ends once the agent has.
    fn pass_on(&mut self, signal: i32) {
        self.was_signalled = true;
        if let (Some(process), Some(signal)) = (&self.process, Signal::from_named_raw(signal)) {
            process.signal(signal);
        }
    }

    /// Notes that the agent has written its session's history, if it has ended by itself and left nothing behind. Ends as the agent did.
    fn ended(self, exit: &Exit) -> Result<u8> {
        let has_turn = self.talk.client().has_turn();
        if exit.status == Some(0) && !self.was_signalled && !has_turn && agent_exit::no_descendant_is_left() {
            session::note_end(self.talk.mailbox, &self.talk.run)
                .or_else(|e| command::note(&format!("the session's record could not be written: {e}")))?;
        }
        if let Some(signal) = exit.signal {
            let _ = emulate_default_handler(signal);
        }
        Ok(exit.status.and_then(|status| u8::try_from(status).ok()).unwrap_or(1))
    }
}
