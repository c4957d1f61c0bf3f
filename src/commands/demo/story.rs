//! The demo from beginning to end, in five steps.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use askbox_inbox as inbox;

use crate::commands::demo::agent;
use crate::commands::demo::narration::{Reaction, ask, command, event, file, heading, presses_enter, print, what_next};
use crate::commands::demo::stage::{Stage, succeeded};
use crate::commands::demo::watcher_process::{Rest, Watcher, clean_up_on_signal, let_signal_end};
use askbox_agent::claude::{self, Invocation};
use askbox_agent::stream::Interpreter;
use askbox_agent::stream::lines::BoundedLines;
use askbox_agent::{Event, StreamItem};
use askbox_cli::args::askbox_args::Demo;
use askbox_cli::program;
use askbox_mailbox::{
    Error, Folder, FolderWatch, IoContext, Lock, Mailbox, Result, RoundAt, RoundId, SessionId, WorkflowId, list, read_question, round,
    text, time,
};
use askbox_run::view::tail::EventTail;
use askbox_run::{Standing, Teller, record};

/// The agent's pause between two steps if a person watches, in milliseconds.
const PACE: u64 = 500;

/// The point that the demo reached.
enum End {
    Reached,
    Left,
    /// The person left with Ctrl-C.
    Interrupted,
}

/// Runs the demo.
pub fn run(args: &Demo) -> Result<u8> {
    let has_person = program::is_interactive() && !args.auto;
    let stage = Stage::new(if has_person { PACE } else { 0 }, agent::GUIDE)?;
    inbox::keep_drafts_in(stage.root.join("drafts"));
    let done = clean_up_on_signal(&stage, args.keep).and_then(|()| show(&stage, has_person));
    let_signal_end();
    let root = stage.root.display();
    match &done {
        Ok(_) if args.keep => {
            print(&format!("\nAll files are kept in {root}; use this mailbox with: export ASKBOX_DIR={root}/questions\n"))?
        }
        Ok(End::Reached) => remove(&stage.root)?,
        // The terminal was closed: reading from it fails before the signal arrives. Nobody is there to look at the files, so they are
        // removed.
        Err(_) | Ok(End::Interrupted) if has_person && !program::is_interactive() => {
            Rest::new(&stage).remove();
            return Ok(128 + 1); // as SIGHUP ends it
        }
        Ok(End::Left | End::Interrupted) => {
            remove(&stage.root)?;
            print("The demo has ended early, and its files are removed.\n")?;
        }
        // After a failure, the files show what happened.
        Err(_) => program::say(&format!("note: the demo's files are kept in {root}\n")),
    }
    done.map(|end| if matches!(end, End::Interrupted) { 130 } else { 0 })
}

fn remove(root: &Path) -> Result<()> {
    std::fs::remove_dir_all(root).io("remove", root)
}

fn show(stage: &Stage, has_person: bool) -> Result<End> {
    let goes_on = || if has_person { presses_enter("Enter goes on, q and Enter end the demo") } else { Ok(true) };
    let workflow: WorkflowId = agent::WORKFLOW.parse()?;
    print(&format!(
        "askbox demo: an agent asks, exits, and is relaunched with the answer.\n\
         The programs are the real ones, from {}.\n\
         Only the agent is a script instead of a model.\n\
         The mailbox of this demo is {}.\n",
        stage.programs.display(),
        stage.mailbox().display()
    ))?;

    heading(1, "An agent works and needs a decision, but no person is there to ask.")?;
    command(&format!("claude -p '{}'", agent::TASK))?;
    first_run(stage)?;
    print("\n   The agent has ended. It has left two files:\n\n")?;
    let mailbox = Mailbox::open(stage.mailbox())?;
    let round = round::round_of(&mailbox, &read_question::pending(&mailbox, &workflow)?.typed)?;
    for folder in [Folder::Pending, Folder::Checkpoints] {
        file(&mailbox.document(folder, &workflow))?;
    }
    if !goes_on()? {
        return Ok(End::Left);
    }

    heading(2, "A watcher waits. The file system wakes it, so waiting costs nothing.")?;
    command("relaunch watch &")?;
    let watcher = Watcher::start(stage)?;
    watcher.until(|line| line.contains("  watching  "), Duration::from_secs(20))?;
    if !goes_on()? {
        return Ok(End::Left);
    }

    heading(3, "Minutes or days later, you answer.")?;
    run_program(stage, "ask-answer", &["list"])?;
    run_program(stage, "ask-answer", &["show", agent::WORKFLOW])?;
    let reply = if has_person { ask(&mailbox, &workflow)? } else { Reaction::Answer(agent::AUTO.to_owned()) };
    if !has_person {
        print("   (the demo answers automatically)\n")?;
    }
    match &reply {
        Reaction::Answer(answer) if is_option(&mailbox, &workflow, answer)? => {
            run_program(stage, "ask-answer", &["--", agent::WORKFLOW, answer])?
        }
        // `--text`: the person has already confirmed that these words are not a misspelt option.
        Reaction::Answer(answer) => run_program(stage, "ask-answer", &["--text", "--", agent::WORKFLOW, answer])?,
        Reaction::Decline => run_program(stage, "ask-answer", &["decline", agent::WORKFLOW])?,
        Reaction::Leave | Reaction::Interrupt => {
            // The question is gone, so the words that were typed for it are forgotten too.
            inbox::forget(&RoundAt::here(round));
            return Ok(if matches!(reply, Reaction::Leave) { End::Left } else { End::Interrupted });
        }
    }

    heading(4, "The watcher relaunches the agent once: a new process, with the checkpoint and the answer.")?;
    watcher.until(|line| line.contains("  launched  "), TIME_LIMIT)?;
    command(&format!("relaunch logs -f {}", agent::WORKFLOW))?;
    follow_second_run(&mailbox, &round)?;
    drop(watcher);
    if !goes_on()? {
        return Ok(End::Left);
    }

    heading(5, "What remains")?;
    print("   The agent's work:\n\n")?;
    file(&stage.work().join("guide.md"))?;
    print("\n   The question, now closed; the folder is its state:\n\n")?;
    command(&format!("ls {}", Folder::all().take(5).map(|f| f.name()).collect::<Vec<_>>().join(" ")))?;
    for folder in Folder::all().take(5) {
        for name in list::names(&mailbox, folder)? {
            print(&format!("   {}/{name}\n", folder.name()))?;
        }
    }
    print("\n   The files of its run:\n\n")?;
    listing(&mailbox, &round)?;
    print("\n   The audit log, which says who did what and when:\n\n")?;
    command("cat audit.jsonl")?;
    let audit = std::fs::read_to_string(mailbox.audit()).io("read", mailbox.audit())?;
    audit.lines().try_for_each(|line| print(&format!("   {line}\n")))?;
    what_next()?;
    Ok(End::Reached)
}

fn is_option(mailbox: &Mailbox, workflow: &WorkflowId, answer: &str) -> Result<bool> {
    Ok(read_question::pending(mailbox, workflow)?.typed.options.get(answer).is_some())
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

fn listing(mailbox: &Mailbox, round: &RoundId) -> Result<()> {
    let folder = record::folder(mailbox, round, 1);
    let shown = folder.strip_prefix(mailbox.root()).unwrap_or(&folder);
    command(&format!("ls {}", shown.display()))?;
    let entries = std::fs::read_dir(&folder).io("read", &folder)?;
    let mut names: Vec<_> = entries.flatten().map(|e| e.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    print(&format!("   {}\n", names.join("  ")))
}

/// The maximum time that the relaunched agent may take.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// The first run, started as a user would start it.
fn first_run(stage: &Stage) -> Result<()> {
    let session = SessionId::generate();
    let call = Invocation::start(&stage.agent, &session.to_string()).extra_args([agent::WORD]);
    let mut child =
        stage.command(&call.program).args(&call.args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().io("launch", &call.program)?;
    if let Some(mut input) = child.stdin.take() {
        let message = claude::user_message(&SessionId::generate().to_string(), agent::TASK);
        input.write_all(message.as_bytes()).io("write to", "the agent")?;
    }
    let mut interpreter = Interpreter::new();
    let mut lines = BoundedLines::new(child.stdout.take().map_or_else(|| Box::new(std::io::empty()) as Box<dyn Read>, |o| Box::new(o)));
    let mut failed = true;
    while let Some(line) = lines.next_line().io("read", "the agent's output")? {
        for item in interpreter.feed(&line) {
            match item {
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
fn follow_second_run(mailbox: &Mailbox, round: &RoundId) -> Result<()> {
    let folder = record::folder(mailbox, round, 1);
    let folder_watch = FolderWatch::new(&folder)?;
    let deadline = Instant::now() + TIME_LIMIT;
    let mut events = EventTail::new(folder.join("events.jsonl"));
    loop {
        // The status is read before the events, so that none of the last events is missed.
        let status = Teller::of_states(mailbox).of_workflow(&round.workflow)?;
        while let Some((_, read)) = events.next_event()? {
            event(&read)?;
        }
        match status.state {
            Standing::Delivered => {
                // The supervisor writes the audit log's last line once the round is closed, and releases its lock at its end.
                while Lock::is_held(&record::lock_path(mailbox, round))? && Instant::now() < deadline {
                    std::thread::sleep(Duration::from_millis(10));
                }
                return Ok(());
            }
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
