//! The demo from beginning to end, in five steps.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::commands::demo::agent_runs::{TIME_LIMIT, first_run, follow_second_run};
use crate::commands::demo::narration::{Reaction, ask, command, file, heading, print, wants_to_go_on, what_next};
use crate::commands::demo::stage::{Stage, succeeded};
use crate::commands::demo::watcher_process::{Rest, Watcher, clean_up_on_signal, let_signal_end};
use crate::commands::demo::{agent, scripted_api};
use askbox_cli::args::askbox_args::Demo;
use askbox_cli::program;
use askbox_inbox as inbox;
use askbox_mailbox::{Folder, IoContext, Mailbox, Result, RoundAt, RoundId, WorkflowId, list, read_question, round, text};
use askbox_run::record;

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
    let pace = if has_person { PACE } else { 0 };
    let api = if args.agent { Some(scripted_api::start(Duration::from_millis(pace))?) } else { None };
    let stage = Stage::new(pace, agent::GUIDE, api)?;
    inbox::keep_drafts_in(stage.root.join("drafts"));
    let done = clean_up_on_signal(&stage, args.keep).and_then(|()| show(&stage, has_person, args.agent));
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

fn show(stage: &Stage, has_person: bool, is_small_agent: bool) -> Result<End> {
    let goes_on = || if has_person { wants_to_go_on() } else { Ok(true) };
    let workflow: WorkflowId = agent::WORKFLOW.parse()?;
    print(&format!(
        "askbox demo: an agent asks, exits, and is relaunched with the answer.\n\
         The programs are the real ones, from {}.\n\
         {}\n\
         The mailbox of this demo is {}.\n",
        stage.programs.display(),
        if is_small_agent {
            "The agent is ask-agent. Only its model is a script."
        } else {
            "Only the agent is a script instead of a model."
        },
        stage.mailbox().display()
    ))?;

    heading(1, "An agent works and needs a decision, but no person is there to ask.")?;
    command(&format!("{} -p '{}'", if is_small_agent { "ask-agent" } else { "claude" }, agent::TASK))?;
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
    watcher.end();
    if !goes_on()? {
        return Ok(End::Left);
    }

    heading(5, "What remains")?;
    print("   The agent's work:\n\n")?;
    file(&stage.work().join("guide.md"))?;
    print("\n   The question, now closed; the folder is its state:\n\n")?;
    command(&format!("ls {}", Folder::ALL[..5].iter().map(|f| f.name()).collect::<Vec<_>>().join(" ")))?;
    for folder in &Folder::ALL[..5] {
        for name in list::names(&mailbox, *folder)? {
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
