//! The arguments of `relaunch`. The help texts are its documentation.

use clap::{Parser, Subcommand};

use crate::surface::program::Common;

/// Relaunches agents whose questions were answered, each once.
#[derive(Debug, Parser)]
#[command(
    name = "relaunch",
    version,
    about = "Relaunch agents whose questions were answered, each once",
    args_conflicts_with_subcommands = true,
    arg_required_else_help = false,
    after_long_help = AFTER
)]
pub struct Args {
    /// Flags of every program.
    #[command(flatten)]
    pub common: Common,
    /// The workflow to claim and run now; one whose id is also a command follows `--`
    #[arg(value_name = "ID")]
    pub id: Option<String>,
    /// What to do.
    #[command(subcommand)]
    pub command: Option<Command>,
}

const AFTER: &str = "Examples:
  $ relaunch watch                 the service: waits for answers, costs nothing meanwhile
  $ relaunch docs-42               claim and run one answered workflow now, in the foreground
  $ relaunch status                what waits, runs, or is parked
  $ relaunch -- status             a workflow whose id is `status`

What is launched, and with which permissions, is the operator's to say: see `askbox init`.

Exit status: 0 done · 1 failed · 2 usage · 3 no such workflow · 4 conflict · 5 invalid document · 6 still waiting";

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Watch the mailbox and relaunch whatever is answered: the service
    #[command(after_long_help = "Examples:
  $ relaunch watch
  $ relaunch watch --mailbox /srv/questions --poll 5s

SIGTERM or Ctrl-C ends the watcher; runs go on and the next watcher finds them.
Several watchers on one mailbox are safe: each answer is claimed once.")]
    Watch {
        /// Look every so often instead of waiting for file events, as on a network filesystem
        #[arg(long, value_name = "DURATION")]
        poll: Option<String>,
    },
    /// Show where workflows stand: one, or all that are not over
    #[command(after_long_help = "Examples:
  $ relaunch status
  $ relaunch status docs-42 --json | jq -r '.state, .live.words'
  $ relaunch status -f
  $ relaunch status --summary --json | jq .queue

A live run also says what it does: starting, thinking, tool:NAME (12s), throttled(529, retry 3, 4.2s),
silent 40s, asking, finished.

States: pending, overdue, answered, queued, running, throttled, retrying, orphaned, parked, interrupted,
awaiting, delivered, withdrawn, expired, superseded, dropped, unreadable.")]
    Status {
        /// Everything at a glance, for monitoring: counts, the oldest question, whether the queue is paused, the day's costs
        #[arg(long, conflicts_with = "id")]
        summary: bool,
        /// The workflow; all that are not over where it is left out
        id: Option<String>,
        /// Keep the view up to date until Ctrl-C; with --json, one object for every change
        #[arg(short, long)]
        follow: bool,
    },
    /// Read along what a run does, for people
    #[command(after_long_help = "Examples:\n  $ relaunch logs docs-42\n  $ relaunch logs -f docs-42")]
    Logs {
        /// The workflow
        id: String,
        /// Go on until the run ends
        #[arg(short, long)]
        follow: bool,
    },
    /// Print a run's events, one JSON object a line, for programs
    #[command(
        after_long_help = "Examples:\n  $ relaunch events -f docs-42 | jq -c 'select(.type == \"tool_call\")'\n  $ relaunch events --since 120 docs-42"
    )]
    Events {
        /// The workflow
        id: String,
        /// Go on until the run ends
        #[arg(short, long)]
        follow: bool,
        /// Only events after this `seq`
        #[arg(long, value_name = "SEQ", default_value_t = 0)]
        since: u64,
    },
    /// Give an agent a prompt, as a workflow of its own, and read along until it is done
    #[command(after_long_help = "Examples:
  $ relaunch run --stream fix-imports.md | jq -r 'select(.type == \"tool_call\").name'
  $ echo 'Fix the imports in src/x.py' | relaunch run -w fix-imports -

Ctrl-C, SIGTERM, or a reader that closes the pipe stop the agent: the tool call in flight finishes, the
turn ends, and the last event, `interrupted`, returns what it has. Go on later with: relaunch ID")]
    Run {
        /// The file with the prompt, or - for standard input
        file: std::path::PathBuf,
        /// The workflow's id; a new one where it is left out
        #[arg(short, long, value_name = "ID")]
        workflow: Option<String>,
        /// Print every event as it happens, one JSON object a line
        #[arg(long)]
        stream: bool,
    },
    /// Stop a live run without losing its work
    #[command(after_long_help = "Examples:
  $ relaunch stop docs-42
  $ relaunch stop docs-42 --report --grace 2m
  $ relaunch stop docs-42 --now

The ladder, one rung after the other:
  1. the tool call in flight finishes (for --grace at most), new ones are refused, the turn ends
  2. the in-band interrupt, where the agent writes or thinks
  3. SIGTERM: the agent takes its running tools along
  4. the whole tree is frozen and killed
The session is kept; go on with: relaunch docs-42")]
    Stop {
        /// The workflow
        id: String,
        /// How long the tool call in flight may take to finish [default: limits.grace, 30s]
        #[arg(long, value_name = "DURATION")]
        grace: Option<String>,
        /// Ask the agent what it has before it goes
        #[arg(long)]
        report: bool,
        /// Do not wait for the tool call in flight
        #[arg(long)]
        now: bool,
        /// With everything below it; nobody is woken because of that
        #[arg(long)]
        tree: bool,
    },
    /// Start another agent from within an agent, and print its reply
    #[command(after_long_help = "Examples:
  $ relaunch spawn review.md
  $ relaunch spawn --prompt 'Which license has this project?' --model haiku
  $ relaunch spawn --agent reviewer --prompt 'Review src/main.rs'
  $ relaunch spawn --background tests.md; relaunch spawn --background docs.md

Prints the agent's final text and nothing else. Where it ends its turn with a question open, at or below it, or
where --timeout is over first, prints one line instead:
  SGN_PEND_STARTED (ID)
End your turn then: you are resumed, once, with the reply. What ends without a reply prints one line such as
`parked (ID): why`, with exit status 1.")]
    Spawn {
        /// The file with the instructions, or - for a prompt on standard input
        #[arg(required_unless_present = "prompt", conflicts_with = "prompt")]
        file: Option<std::path::PathBuf>,
        /// The prompt itself
        #[arg(long, value_name = "TEXT")]
        prompt: Option<String>,
        /// As one of the agents that are defined for claude: see `askbox agents list`
        #[arg(long, value_name = "NAME")]
        agent: Option<String>,
        /// With another model
        #[arg(long, value_name = "MODEL")]
        model: Option<String>,
        /// How long to wait for the reply [default: 9m, or what the Bash around it takes]
        #[arg(long, value_name = "DURATION")]
        timeout: Option<String>,
        /// Do not wait: print the ID, and be resumed with the reply
        #[arg(long)]
        background: bool,
        /// Be resumed as soon as this one is done, not only with all others
        #[arg(long)]
        any: bool,
        /// The new workflow's id; a generated one where it is left out
        #[arg(short, long, value_name = "ID")]
        workflow: Option<String>,
    },
    /// Print a workflow's reply, or SGN_PEND_ONGOING; costs nothing while the answer is not in
    #[command(after_long_help = "Examples:
  $ relaunch resume docs-42

One of:
  the final text         it has finished; the same again, as often as you ask
  SGN_PEND_ONGOING       it still waits: nothing was asked of any model
  SGN_PEND_STARTED (ID)  it went on, and waits for something new
  parked (ID): why       it has ended without a reply; exit status 1")]
    Resume {
        /// The workflow
        id: String,
        /// How long to wait while it works [default: 9m, or what the Bash around it takes]
        #[arg(long, value_name = "DURATION")]
        timeout: Option<String>,
    },
    /// Bring a parked round back and run it now
    #[command(after_long_help = "Examples:\n  $ relaunch retry docs-42")]
    Retry {
        /// The workflow
        id: String,
    },
    /// Give a parked round up; everything is kept in closed/
    #[command(after_long_help = "Examples:\n  $ relaunch drop docs-42 --why 'done by hand'")]
    Drop {
        /// The workflow
        id: String,
        /// Why, for the record
        #[arg(long)]
        why: Option<String>,
    },
    /// Claim an answer and print the resume prompt, for a main agent that uses its own subagent tool
    #[command(after_long_help = "Examples:
  $ relaunch prompt docs-42

From then on the round is delivered: no watcher launches anybody for it. Use it where the main
agent relaunches by itself; where a watcher runs, let the watcher do it. Never both.")]
    Prompt {
        /// The workflow
        id: String,
    },
    /// Own one claimed run (started by the watcher)
    #[command(hide = true)]
    Supervise {
        /// The workflow
        id: String,
        /// The round
        question: String,
        /// The attempt
        attempt: u32,
        /// As an orphan, which belongs to nobody
        #[arg(long)]
        detach: bool,
        /// The process that detached this one, and is about to end
        #[arg(long)]
        from: Option<u32>,
    },
}
