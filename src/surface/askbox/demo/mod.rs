//! `askbox demo`: the whole job, step by step, with the real programs in a temporary mailbox. Only the agent is a script.

#![allow(clippy::disallowed_methods, reason = "the demo writes a temporary folder of its own, outside of any mailbox")]

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use inquire::{InquireError, Select, Text};

use crate::agent::claude::{self, Invocation};
use crate::agent::events::{Event, EventKind};
use crate::agent::stream::lines::BoundedLines;
use crate::agent::stream::{Interpreter, StreamItem};
use crate::disk::file_events::FolderWatch;
use crate::error::{Error, IoContext, Result};
use crate::id::{RoundId, SessionId, WorkflowId};
use crate::mailbox::{Folder, Mailbox, intake};
use crate::run::attempt::record;
use crate::run::process::processes::Process;
use crate::run::view::status::{self, Standing};
use crate::surface::args::askbox::Demo;
use crate::surface::program;
use crate::surface::relaunch::event_words;
use crate::{text, time};

pub mod agent;
mod script;
mod stage;

use stage::Stage;

/// The agent's pause between two steps where somebody looks on, in milliseconds.
const PACE: u64 = 500;
/// How long the relaunched agent may take. Nothing in it waits.
const PATIENCE: Duration = Duration::from_secs(60);

/// Shows the whole job.
pub fn run(args: &Demo) -> Result<u8> {
    let somebody = program::is_interactive() && !args.auto;
    let stage = Stage::new(if somebody { PACE } else { 0 }, script::GUIDE)?;
    let done = clean_up_on_signal(stage.root(), args.keep).and_then(|()| show(&stage, somebody));
    let root = stage.root().display();
    match &done {
        Ok(()) if args.keep => print(&format!("\nEverything is left in {root}; look around with: export ASKBOX_DIR={root}/questions\n"))?,
        Ok(()) => remove(stage.root())?,
        // What failed is there to be looked at.
        Err(_) => program::say(&format!("note: the demo's files are left in {root}\n")),
    }
    done.map(|()| 0)
}

fn remove(root: &Path) -> Result<()> {
    std::fs::remove_dir_all(root).io("remove", root)
}

/// A demo that is interrupted leaves nothing: the watcher gets the terminal's signal too, or notices that its mailbox is gone.
fn clean_up_on_signal(root: &Path, keep: bool) -> Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let mut signals = signal_hook::iterator::Signals::new([SIGTERM, SIGINT, SIGHUP])
        .map_err(|e| Error::failed(format!("cannot listen for signals: {e}"), "is the process limit reached?"))?;
    let root = root.to_path_buf();
    std::thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            Watcher::end_any();
            if !keep {
                let _ = std::fs::remove_dir_all(root);
            }
            std::process::exit(128 + signal);
        }
    });
    Ok(())
}

fn show(stage: &Stage, somebody: bool) -> Result<()> {
    let workflow: WorkflowId = script::WORKFLOW.parse()?;
    print(&format!(
        "askbox demo: an agent asks, exits, and is relaunched with the answer.\n\
         The programs are the real ones, in {}; only the agent is a script instead of a model.\n\
         The mailbox of this demo: {}\n",
        stage.programs.display(),
        stage.mailbox().display()
    ))?;

    heading(1, "An agent works, and needs a decision. Nobody is there to be asked.")?;
    command(&format!("claude -p '{}'", script::TASK))?;
    run_one(stage)?;
    print("\n   The agent has ended. What is left of it are two files:\n\n")?;
    let mailbox = Mailbox::open(stage.mailbox())?;
    let round = intake::round_of(&mailbox, &intake::read_pending(&mailbox, &workflow)?.typed)?;
    for folder in [Folder::Pending, Folder::Checkpoints] {
        file(&mailbox.document(folder, &workflow))?;
    }

    heading(2, "A watcher stands by. It is woken by the file system; waiting costs nothing.")?;
    command("relaunch watch &")?;
    let watcher = Watcher::start(stage)?;
    watcher.until(|line| line.contains("  watching  "), Duration::from_secs(20))?;

    heading(3, "Minutes or days later, you answer.")?;
    run_program(stage, "ask-answer", &["list"])?;
    run_program(stage, "ask-answer", &["show", script::WORKFLOW])?;
    let answer = if somebody { ask(&mailbox, &workflow)? } else { Some(script::AUTO.to_owned()) };
    if !somebody {
        print("   (the demo answers by itself)\n")?;
    }
    match &answer {
        Some(answer) => run_program(stage, "ask-answer", &["--", script::WORKFLOW, answer])?,
        None => run_program(stage, "ask-answer", &["decline", script::WORKFLOW])?,
    }

    heading(4, "The watcher relaunches the agent, once: a new process, with checkpoint and answer.")?;
    watcher.until(|line| line.contains("  launched  "), PATIENCE)?;
    command(&format!("relaunch logs -f {}", script::WORKFLOW))?;
    follow_run(&mailbox, &round)?;
    watcher.end();

    heading(5, "What is left")?;
    print("   The agent's work:\n\n")?;
    file(&stage.work().join("guide.md"))?;
    print("\n   The round, in the folder that is its state:\n\n")?;
    command(&format!("ls {}", Folder::ALL[..5].iter().map(|f| f.name()).collect::<Vec<_>>().join(" ")))?;
    for folder in &Folder::ALL[..5] {
        for name in crate::mailbox::list::names(&mailbox, *folder)? {
            print(&format!("   {}/{name}\n", folder.name()))?;
        }
    }
    print("\n   Its run:\n\n")?;
    listing(&mailbox, &round)?;
    print("\n   And who did what, when:\n\n")?;
    command("cat audit.jsonl")?;
    let audit = std::fs::read_to_string(mailbox.audit()).io("read", mailbox.audit())?;
    audit.lines().try_for_each(|line| print(&format!("   {line}\n")))?;
    what_next()
}

/// Run 1: nobody relaunches it; it is started as a user would start it.
fn run_one(stage: &Stage) -> Result<()> {
    let session = SessionId::generate();
    let call = Invocation::start(&stage.agent, &stage.work(), &session.to_string()).extra_args([agent::WORD]);
    let mut child =
        stage.command(&call.program).args(&call.args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().io("launch", &call.program)?;
    if let Some(mut input) = child.stdin.take() {
        let message = claude::user_message(&SessionId::generate().to_string(), script::TASK);
        input.write_all(message.as_bytes()).io("write to", "the agent")?;
    }
    let mut interpreter = Interpreter::new();
    let mut lines = BoundedLines::new(child.stdout.take().map_or_else(|| Box::new(std::io::empty()) as Box<dyn Read>, |o| Box::new(o)));
    let mut failed = true;
    while let Some(line) = lines.next_line().io("read", "the agent's output")? {
        for signal in interpreter.feed(&line) {
            match signal {
                StreamItem::Event(kind) => event(&Event { seq: 1, at: time::now(), kind })?,
                StreamItem::TurnEnded(turn) => failed = turn.is_error,
                _ => {}
            }
        }
    }
    succeeded(child.wait().io("wait for", &call.program)?, "the demo's agent")?;
    if failed { Err(Error::failed("a command of the demo's agent failed", "see its output above")) } else { Ok(()) }
}

/// Shows the events of the relaunched agent until its round is over.
fn follow_run(mailbox: &Mailbox, round: &RoundId) -> Result<()> {
    let folder = record::folder(mailbox, round, 1);
    let folder_watch = FolderWatch::new(&folder)?;
    let deadline = Instant::now() + PATIENCE;
    let mut seen = 0;
    loop {
        // Looked at before the events: what led to the end is then surely read.
        let status = status::of(mailbox, &round.workflow)?;
        let log = folder.join("events.jsonl");
        let events = match std::fs::read_to_string(&log) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => String::new(),
            other => other.io("read", &log)?,
        };
        let whole = events.rfind('\n').map_or(0, |at| at + 1);
        for line in events[seen..whole].lines() {
            let read = serde_json::from_str(line).map_err(|e| Error::failed(format!("no event: {e}"), "report this"))?;
            event(&read)?;
        }
        seen = whole;
        match status.state {
            Standing::Delivered => return Ok(()),
            Standing::Answered | Standing::Running | Standing::Orphaned if Instant::now() < deadline => {
                folder_watch.wait(Duration::from_millis(100));
            }
            state => {
                let why = status.why.unwrap_or_else(|| "it took too long".into());
                let problem = format!("the relaunched agent is {}: {why}", state.word());
                return Err(Error::failed(problem, format!("see its output in {}", folder.display())));
            }
        }
    }
}

/// Puts the question to the user; `None` is a refusal.
fn ask(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<Option<String>> {
    const OWN: &str = "your own words";
    const DECLINE: &str = "decline to answer";
    let question = intake::read_pending(mailbox, workflow)?.typed;
    let mut rows: Vec<String> = question.options.0.iter().map(|c| format!("{}: {}", c.key, c.description)).collect();
    rows.extend([OWN.to_owned(), DECLINE.to_owned()]);
    let failed = |e: InquireError| match e {
        InquireError::OperationCanceled | InquireError::OperationInterrupted => {
            Error::failed("the demo was left without an answer", "start again: askbox demo, or let it answer: askbox demo --auto")
        }
        e => Error::failed(format!("the terminal failed: {e}"), "let the demo answer by itself: askbox demo --auto"),
    };
    let chosen = Select::new(&question.question, rows).raw_prompt().map_err(failed)?;
    match question.options.0.get(chosen.index) {
        Some(choice) => Ok(Some(choice.key.clone())),
        None if chosen.value == DECLINE => Ok(None),
        None => {
            let required = inquire::validator::ValueRequiredValidator::new("write something, or leave with esc");
            Text::new("Your answer:").with_validator(required).prompt().map(Some).map_err(failed)
        }
    }
}

/// The running watcher; it ends with the demo.
struct Watcher {
    child: Child,
    lines: Receiver<String>,
}

/// The watcher's process, for the signal handler's thread.
static WATCHER: std::sync::Mutex<Option<Process>> = std::sync::Mutex::new(None);

impl Watcher {
    fn start(stage: &Stage) -> Result<Self> {
        let mut child = stage.program("relaunch").arg("watch").stdin(Stdio::null()).stderr(Stdio::piped()).spawn().io("run", "relaunch")?;
        if let Ok(mut slot) = WATCHER.lock() {
            *slot = Process::hold(child.id());
        }
        let (sender, lines) = mpsc::channel();
        if let Some(output) = child.stderr.take() {
            std::thread::spawn(move || {
                for line in BufReader::new(output).lines().map_while(|l| l.ok()) {
                    let _ = sender.send(line);
                }
            });
        }
        Ok(Self { child, lines })
    }

    /// Shows its lines until the one that is waited for.
    fn until(&self, is_it: impl Fn(&str) -> bool, limit: Duration) -> Result<()> {
        let deadline = Instant::now() + limit;
        loop {
            let Ok(line) = self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) else {
                return Err(Error::failed("the watcher does not say what it should", "see its lines above"));
            };
            print(&format!("   {line}\n"))?;
            if is_it(&line) {
                return Ok(());
            }
        }
    }

    fn end(self) {}

    fn end_any() {
        if let Ok(slot) = WATCHER.lock()
            && let Some(process) = slot.as_ref()
        {
            process.signal(rustix::process::Signal::TERM);
        }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        Self::end_any();
        let _ = self.child.wait();
    }
}

fn run_program(stage: &Stage, name: &str, args: &[&str]) -> Result<()> {
    let words: Vec<String> = args.iter().filter(|a| **a != "--").map(|a| text::shell_quote(a)).collect();
    command(&format!("{name} {}", words.join(" ")))?;
    let output = Command::output(stage.program(name).args(args).stdin(Stdio::null()).stderr(Stdio::inherit())).io("run", name)?;
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        print(&format!("   {line}\n"))?;
    }
    succeeded(output.status, name)
}

fn succeeded(status: ExitStatus, what: &str) -> Result<()> {
    if status.success() { Ok(()) } else { Err(Error::failed(format!("{what} failed ({status})"), "see its words above")) }
}

fn listing(mailbox: &Mailbox, round: &RoundId) -> Result<()> {
    let folder = record::folder(mailbox, round, 1);
    let shown = folder.strip_prefix(mailbox.root()).unwrap_or(&folder);
    command(&format!("ls {}", shown.display()))?;
    let entries = std::fs::read_dir(&folder).io("read", &folder)?;
    let mut names: Vec<_> = entries.flatten().map(|e| e.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    print(&format!("   {}\n", names.join("  ")))
}

fn heading(n: u32, words: &str) -> Result<()> {
    print(&format!("\n{n}. {words}\n\n"))
}

fn command(line: &str) -> Result<()> {
    print(&format!("   $ {line}\n"))
}

/// One event. What the agent types and sees is shown as it is, over several lines.
fn event(event: &Event) -> Result<()> {
    let (mark, text) = match &event.kind {
        EventKind::ToolCall { name, input, .. } if name == "Bash" => ("$ ", input["command"].as_str().unwrap_or_default()),
        EventKind::ToolResult { text, .. } => ("", text.as_str()),
        _ => return event_words::words(event).lines().try_for_each(|line| print(&format!("   {line}\n"))),
    };
    for (n, line) in text.lines().enumerate() {
        let mark = if n == 0 { mark } else { &"  "[..mark.len()] };
        print(&format!("   agent     {mark}{line}\n"))?;
    }
    Ok(())
}

fn file(path: &Path) -> Result<()> {
    command(&format!("cat {}", text::shell_quote(&path.display().to_string())))?;
    let content = std::fs::read_to_string(path).io("read", path)?;
    content.lines().try_for_each(|line| print(&format!("   {line}\n")))
}

fn print(words: &str) -> Result<()> {
    program::print_words(words)
}

fn what_next() -> Result<()> {
    print(
        "\nThat was all of it. Next, with an agent of your own:\n\n\
         \x20  $ cargo install --path .            put the five programs on your PATH\n\
         \x20  $ askbox init                       write a configuration with every key explained\n\
         \x20  $ relaunch watch                    the service, beside whatever you do\n\
         \x20  $ claude -p 'Do … . If you need a decision of mine: checkpoint save, ask-post, end your turn.' \\\n\
         \x20      --allowedTools 'Bash(ask-post:*)' 'Bash(checkpoint:*)'\n\
         \x20  $ ask-answer                        the inbox\n\
         \x20  $ askbox doctor                     is everything in order?\n",
    )
}
