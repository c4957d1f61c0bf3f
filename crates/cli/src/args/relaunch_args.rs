//! The arguments of `relaunch`. The doc comments are the help texts.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Parser, Subcommand};

use crate::args::common::Common;
use crate::args::value_parsers;
use askbox_mailbox::{QuestionId, Time, WorkflowId};

/// Relaunches agents whose questions were answered, each once.
#[derive(Debug, Parser)]
#[command(name = "relaunch", version, about = "Relaunch agents whose questions were answered, each once", after_long_help = AFTER)]
#[command(args_conflicts_with_subcommands = true, arg_required_else_help = false)]
#[command(disable_help_subcommand = true, max_term_width = 100)]
pub struct Args {
    /// The flags that every program has.
    #[command(flatten)]
    pub common: Common,
    /// The workflow to claim and run now; put `--` before an id that is also a command
    #[arg(value_name = "ID")]
    pub id: Option<WorkflowId>,
    /// The command.
    #[command(subcommand)]
    pub command: Option<Command>,
}

const AFTER: &str = "Examples:
  $ relaunch watch                 the service: waits for answers and relaunches agents
  $ relaunch docs-42               claim one answered workflow and run it now, in the foreground
  $ relaunch status                the workflows that wait, run, or are parked
  $ relaunch -- status             run the workflow whose id is `status`

The operator's configuration says which program is launched, and with which permissions: see `askbox init`.

Exit status: 0 done · 1 failed · 2 usage · 3 no such workflow · 4 conflict · 5 invalid document · 6 still waiting";

/// The names of the commands that the help shows. Other programs need only these, and not the whole description of the arguments.
pub const COMMANDS: [&str; 17] = [
    "watch", "status", "logs", "events", "run", "stop", "spawn", "resume", "wait", "retry", "drop", "prompt", "pause", "go", "approve",
    "done", "exec",
];

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the service that watches the mailbox and relaunches each agent whose question is answered
    #[command(after_long_help = "Examples:
  $ relaunch watch
  $ relaunch watch --mailbox /srv/questions --poll 5s
  $ relaunch watch --json 2>> watcher.jsonl

The log goes to standard error; with --json each line of it is a JSON object. SIGTERM or Ctrl-C ends the watcher. Its runs go on, and the next watcher finds them. \
Several watchers may share one mailbox: each answer is claimed once.")]
    Watch {
        /// Look at the mailbox this often instead of waiting for file events, which network filesystems do not send
        #[arg(long, value_name = "DURATION", value_parser = value_parsers::duration)]
        poll: Option<Duration>,
    },
    /// Show the state of one workflow, or of all that are not over
    #[command(after_long_help = "Examples:
  $ relaunch status
  $ relaunch status docs-42 --json | jq -r '.state, .live.words'
  $ relaunch status -f
  $ relaunch status --summary --json | jq .queue

For a live run, the status includes what the agent is doing: starting, thinking, generating (12s), tool:NAME (12s), \
throttled(529, retry 3, 4.2s), retrying(401, retry 1, 0.6s), silent 40s, asking, finished, ended.

States: pending, overdue, answered, queued, running, throttled, retrying, orphaned, parked, interrupted, \
awaiting, delivered, withdrawn, expired, superseded, dropped, unreadable.")]
    Status {
        /// Show numbers for monitoring: rounds by state, the oldest question, whether the queue is paused, the day's cost
        #[arg(long, conflicts_with = "id")]
        summary: bool,
        /// The workflow; without it, all workflows that are not over
        id: Option<WorkflowId>,
        /// Keep the view up to date until Ctrl-C; with --json, print one object for every change
        #[arg(short, long)]
        follow: bool,
    },
    /// Print what a run did and does, in words
    #[command(
        after_long_help = "Examples:\n  $ relaunch logs docs-42\n  $ relaunch logs -f docs-42\n  $ relaunch logs -f --tail 20 docs-42\n  $ relaunch logs --since 10m docs-42"
    )]
    Logs {
        /// The workflow
        id: WorkflowId,
        /// Go on until the run ends; an answer that waits for its run is waited for
        #[arg(short, long)]
        follow: bool,
        /// Begin with the last N events
        #[arg(long, value_name = "N")]
        tail: Option<usize>,
        /// Only the events of this last time, such as 10m or 2h, or since a time such as 2026-11-23T18:00:00Z
        #[arg(long, value_name = "TIME", value_parser = value_parsers::moment_ago)]
        since: Option<Time>,
    },
    /// Print a run's events as JSON, one object a line
    #[command(
        after_long_help = "Examples:\n  $ relaunch events -f docs-42 | jq -c 'select(.type == \"tool_call\")'\n  $ relaunch events --since 120 docs-42\n  $ relaunch events -f --partial docs-42 | jq -j 'select(.type == \"partial\").text'"
    )]
    Events {
        /// The workflow
        id: WorkflowId,
        /// Go on until the run ends; an answer that waits for its run is waited for
        #[arg(short, long)]
        follow: bool,
        /// Print only events whose `seq` is greater than this
        #[arg(long, value_name = "SEQ", default_value_t = 0)]
        since: u64,
        /// Print also the text that is being generated, as events `partial`; `seq` is that of the event before it
        #[arg(long, requires = "follow")]
        partial: bool,
    },
    /// Start an agent with a prompt, as a new workflow, and print what it does until it ends
    #[command(after_long_help = "Examples:
  $ relaunch run --stream fix-imports.md | jq -r 'select(.type == \"tool_call\").name'
  $ echo 'Fix the imports in src/x.py' | relaunch run -w fix-imports -

  $ relaunch run --prompt 'Which license has this project?'

An attempt that fails is tried again after a pause, and an agent that ended its turn to wait for others is woken \
with their results. The command ends, with status 0, when the agent has finished or waits for an answer. It needs \
no watcher; where one runs, the watcher does all that.

Ctrl-C, SIGTERM, or a closed output pipe stops the agent: the tool call in flight finishes, the turn ends, \
and the last event, `interrupted`, holds what the agent had so far. To go on later: relaunch ID")]
    Run {
        /// The file with the prompt, or - for standard input
        #[arg(required_unless_present = "prompt", conflicts_with = "prompt")]
        file: Option<PathBuf>,
        /// The prompt itself
        #[arg(long, value_name = "TEXT")]
        prompt: Option<String>,
        /// The workflow's id; without it, a new one is generated
        #[arg(short, long, value_name = "ID")]
        workflow: Option<WorkflowId>,
        /// Print every event as it happens, one JSON object a line, and the text while it is generated (`partial`)
        #[arg(long)]
        stream: bool,
    },
    /// Stop a live run and keep its work
    #[command(after_long_help = "Examples:
  $ relaunch stop docs-42
  $ relaunch stop docs-42 --report --grace 2m
  $ relaunch stop docs-42 --now

The steps, until one of them ends the run:
  1. the tool call in flight finishes (within --grace), new calls are refused, and the turn ends
  2. an interrupt message, if the agent is writing or thinking
  3. SIGTERM: the agent ends its running tools and itself
  4. all its processes are frozen (SIGSTOP) and killed (SIGKILL)
The session is kept. To go on: relaunch docs-42")]
    Stop(StopFlags),
    /// Start another agent from within an agent, and print its final text
    #[command(after_long_help = "Examples:
  $ relaunch spawn review.md
  $ relaunch spawn --prompt 'Which license has this project?' --model haiku
  $ relaunch spawn --agent reviewer --prompt 'Review src/main.rs'
  $ relaunch spawn --background tests.md; relaunch spawn --background docs.md
  $ relaunch spawn --fork --prompt 'Write down in NOTES.md what we found'

Prints the agent's final text and nothing else. If the agent, or an agent that it started, waits for an answer \
from the user, or if --timeout is over first, prints one line instead:
  SGN_PEND_STARTED (ID)
End your turn then: you are resumed once, with the final text. If the agent ends without a final text, prints one \
line such as `parked (ID): why`, with exit status 1.")]
    Spawn(Spawn),
    /// Print a workflow's final text, or SGN_PEND_ONGOING while it waits; an answer that nobody has taken is given to its agent, as a watcher would
    #[command(after_long_help = "Examples:
  $ relaunch resume docs-42

Prints one of:
  the final text         it has finished; every further call prints the same
  SGN_PEND_ONGOING       it still waits, or still works when --timeout is over
  SGN_PEND_STARTED (ID)  it went on during this call, and now waits for something new
  parked (ID): why       it has ended without a final text; exit status 1")]
    Resume {
        /// The workflow
        id: WorkflowId,
        /// How long to wait while it works [default: 9m, or a little less than the Bash tool's timeout]
        #[arg(long, value_name = "DURATION", value_parser = value_parsers::duration)]
        timeout: Option<Duration>,
    },
    /// Wait for the end of a workflow, launch nothing, and print its final text
    #[command(after_long_help = "Examples:
  $ relaunch wait docs-42
  $ relaunch wait docs-42 --timeout 2h && make release

Prints what `relaunch resume` prints of a workflow that has ended: its final text, with status 0, or a line such as \
`parked (ID): why`, with status 1. A question does not end the wait. If --timeout is over first, the status is 6. \
The command launches nothing: a watcher, or another command, does. Standard error says so if no watcher runs, and \
if a person must do something first.")]
    Wait {
        /// The workflow
        id: WorkflowId,
        /// How long to wait [default: 2h, or a little less than the Bash tool's timeout]
        #[arg(long, value_name = "DURATION", value_parser = value_parsers::duration)]
        timeout: Option<Duration>,
    },
    /// Run a parked round again, now
    #[command(after_long_help = "Examples:
  $ relaunch retry docs-42
  $ relaunch retry docs-42 --cwd ~/projects/new-name
  $ relaunch retry --all

With --cwd, the run goes on in that folder, in the same session, and its agent is told. Use it if the project's folder \
was renamed.

With --all, a watcher that runs launches every parked round, as many at a time as its limits allow. Without one, they \
run here, one after the other. Runs that a person stopped are left out, and named with the command that starts each. \
The exit status is 1 if one of them fails again.")]
    Retry {
        /// The workflow
        #[arg(required_unless_present = "all", conflicts_with = "all")]
        id: Option<WorkflowId>,
        /// Every parked round
        #[arg(long)]
        all: bool,
        /// Go on in this folder, because the agent's folder was renamed
        #[arg(long, value_name = "DIR", conflicts_with = "all")]
        cwd: Option<PathBuf>,
    },
    /// Give up a parked round, or an answer that its session's dialog did not take; its files are kept in closed/
    #[command(after_long_help = "Examples:\n  $ relaunch drop docs-42 --why 'done by hand'")]
    Drop {
        /// The workflow
        id: WorkflowId,
        /// The reason, for the record
        #[arg(long)]
        why: Option<String>,
    },
    /// Claim an answer and print the resume prompt, for a main agent that starts its own subagent
    #[command(after_long_help = "Examples:
  $ relaunch prompt docs-42

The round then counts as delivered, and no watcher launches an agent for it. Use this only if the main agent \
relaunches its subagents itself. If a watcher runs, leave the relaunch to it.")]
    Prompt {
        /// The workflow
        id: WorkflowId,
    },
    /// Hold the queue: nothing is launched until `relaunch go`
    #[command(after_long_help = "Examples:
  $ relaunch pause --why 'the API is down until noon'
  $ relaunch go

Runs that are live go on, and questions are asked and answered as ever. Watchers and commands in the foreground launch \
nothing: what waits is launched after `relaunch go`. The pause is a file, pause.json, and survives a reboot.")]
    Pause {
        /// The reason, for everybody who looks
        #[arg(long, value_name = "TEXT")]
        why: Option<String>,
    },
    /// Let the queue go on after `relaunch pause`; after failures, try one run now
    Go,
    /// Show or take back the tool calls that you allowed or refused to a workflow for good
    #[command(after_long_help = "Examples:
  $ relaunch approve --list
  $ relaunch approve --revoke docs-42
  $ relaunch approve --revoke docs-42 --call 3f9a12

Calls are decided by answering their question: ask-answer ID workflow allows the call whenever the workflow makes it, and \
ask-answer decline ID --always refuses it. A call is shown as a rule of [approvals] if one is written like it, and only \
exactly this call is meant. After --revoke, the next such call is asked about again. Which calls are asked about: [approvals] in the configuration, see `askbox init --print`.")]
    Approve {
        /// Show what is allowed and refused to this workflow, or without an ID to all
        #[arg(long, value_name = "ID", num_args = 0..=1, required_unless_present = "revoke", conflicts_with = "revoke")]
        list: Option<Option<WorkflowId>>,
        /// Take back what is allowed and refused to this workflow
        #[arg(long, value_name = "ID")]
        revoke: Option<WorkflowId>,
        /// Take back only the call whose hash begins like this
        #[arg(long, value_name = "HASH", requires = "revoke")]
        call: Option<String>,
    },
    /// Say that a process of yours has had an answer; the round then counts as delivered
    #[command(after_long_help = "Examples:
  $ ask-answer docs-42 merge
  $ claude -p 'Resume workflow from the checkpoint of docs-42 …'
  $ relaunch done docs-42

For a main agent that starts its own processes and did not take the answer with `relaunch prompt`. Without this, the \
answer waits for a run, and the next answer of the workflow is refused.

Also for an answer that was sent to a session's dialog and whose end is not known (`sent`), if you know that the session took it. If it did \
not: relaunch drop.")]
    Done {
        /// The workflow
        id: WorkflowId,
    },
    /// Claim the answer and run a program with it, here: `relaunch exec ID -- PROGRAM…`
    #[command(after_long_help = "Examples:
  $ relaunch exec billing-7 -- ./host.py --verbose
  $ relaunch exec billing-7 -- sh -c 'jq -r .document.answer.value'

The program gets the round as one JSON object on standard input, in the folder of the question, and its exit status closes \
the round: 0 delivered, 6 delivered if it has asked, anything else parked. Nothing is tried again by itself: run the same \
command once more. The round is claimed and locked for as long as the program runs, so a second start is refused with \
status 4. Ctrl-C ends the program and everything that it started. If this command itself is killed (SIGKILL), only the program \
gets SIGTERM: if it ignores that, and what it has started, may work on. The next `relaunch exec` ends all of that before it starts.")]
    Exec {
        /// The workflow
        id: WorkflowId,
        /// The program and its arguments
        #[arg(last = true, required = true, value_name = "PROGRAM")]
        program: Vec<String>,
    },
    /// Supervise one claimed run (started by the watcher)
    #[command(hide = true)]
    Supervise {
        /// The workflow
        id: WorkflowId,
        /// The round
        question: QuestionId,
        /// The attempt
        attempt: u32,
        /// Start the supervisor as an orphan and end
        #[arg(long)]
        detach: bool,
        /// The process that detached this one and is about to end
        #[arg(long)]
        from: Option<u32>,
    },
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_commands_are_those_that_the_help_shows() {
        let described = Args::command();
        let shown = described.get_subcommands().filter(|command| !command.is_hide_set()).map(clap::Command::get_name);
        assert_eq!(shown.collect::<Vec<_>>(), COMMANDS);
    }
}

#[derive(Debug, clap::Args)]
pub struct StopFlags {
    /// The workflow
    pub id: WorkflowId,
    /// How long the tool call in flight may take to finish [default: limits.grace, 30s]
    #[arg(long, value_name = "DURATION", value_parser = value_parsers::duration)]
    pub grace: Option<Duration>,
    /// Ask the agent for a report of its work before it ends
    #[arg(long)]
    pub report: bool,
    /// Do not wait for the tool call in flight
    #[arg(long)]
    pub now: bool,
    /// Stop everything below the workflow too; no parent is woken because of that
    #[arg(long)]
    pub tree: bool,
}

#[derive(Debug, clap::Args)]
#[command(group = ArgGroup::new("instructions").required(true).args(["file", "prompt"]))]
pub struct Spawn {
    /// The file with the instructions, or - for a prompt on standard input
    pub file: Option<PathBuf>,
    /// The prompt itself
    #[arg(long, value_name = "TEXT")]
    pub prompt: Option<String>,
    /// Run one of the agents that are defined for claude: see `askbox agents list`
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// Use this model
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// Make the agent a fork of your session: it knows all that you know, and the API's prompt cache has it
    #[arg(long, conflicts_with_all = ["agent", "model"])]
    pub fork: bool,
    /// How long to wait for the final text [default: 9m, or a little less than the Bash tool's timeout]
    #[arg(long, value_name = "DURATION", value_parser = value_parsers::duration)]
    pub timeout: Option<Duration>,
    /// Do not wait: print the ID; you are resumed with the final text
    #[arg(long)]
    pub background: bool,
    /// Be resumed as soon as this agent has ended, without waiting for the others
    #[arg(long)]
    pub any: bool,
    /// The new workflow's id; without it, one is generated
    #[arg(short, long, value_name = "ID")]
    pub workflow: Option<WorkflowId>,
}
