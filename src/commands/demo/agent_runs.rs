//! The two runs of the demo's agent. The demo starts the first one itself, and the watcher launches the second one.

use std::io::{Read, Write};
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::commands::demo::agent;
use crate::commands::demo::narration::event;
use crate::commands::demo::stage::{Stage, succeeded};
use askbox_agent::claude::{self, Invocation};
use askbox_agent::stream::Interpreter;
use askbox_agent::stream::lines::BoundedLines;
use askbox_agent::{Event, StreamItem};
use askbox_mailbox::{Error, FolderWatch, IoContext, Lock, Mailbox, Result, RoundId, SessionId, time};
use askbox_run::view::tail::EventTail;
use askbox_run::{Standing, Teller, record};

/// The maximum time that the relaunched agent may take.
pub(super) const TIME_LIMIT: Duration = Duration::from_secs(60);

/// The first run, started as a user would start it.
pub(super) fn first_run(stage: &Stage) -> Result<()> {
    let session = SessionId::generate();
    let call = Invocation::start(&stage.agent, &session.to_string()).extra_args(stage.agent_args.iter().copied());
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
pub(super) fn follow_second_run(mailbox: &Mailbox, round: &RoundId) -> Result<()> {
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
