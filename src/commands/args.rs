//! The commands of `askbox`.

// Help texts are written for terminals, where `<ID>` is not HTML.
#![allow(rustdoc::invalid_html_tags, missing_docs, reason = "the help texts are the documentation")]

use std::path::PathBuf;

use clap::{Args, CommandFactory, Parser, Subcommand};

use askbox_cli::Common;
use askbox_cli::args::ask_agent_args::AskAgent;
use askbox_cli::args::ask_answer_args::AskAnswer;
use askbox_cli::args::ask_post_args::AskPost;
use askbox_cli::args::askbox_args::{
    Agents, Conformance, Count, Demo, Doctor, Fence, Gc, History, Hook, Inbox, Keygen, Live, Mcp, NotifyCommand, Once, Setup, Tree, Trial,
    Web,
};
use askbox_cli::args::checkpoint_args::Checkpoint;
use askbox_cli::args::common::EXIT_CODES;
use askbox_cli::args::relaunch_args;
use askbox_cli::args::sync_args::SyncCommand;

/// The programs.
pub fn programs() -> Vec<clap::Command> {
    let all = [AskPost::command(), AskAnswer::command(), Checkpoint::command(), relaunch_args::Args::command(), Askbox::command()];
    all.into_iter().chain(cfg!(feature = "agent").then(AskAgent::command)).collect()
}

const EXAMPLES: &str = "Examples:
  $ askbox demo
  $ askbox setup
  $ askbox inbox
  $ askbox doctor
  $ askbox tree -f
  $ askbox history --since 2d
  $ askbox gc --keep 90d --dry-run

The work is done by the programs ask-post, ask-answer, checkpoint and relaunch. The commands web, mcp, sync, live and conformance are\nprograms of their own, such as askbox-web.";

/// Try askbox, set it up, show its workflows and their history, find problems, and remove old history
#[derive(Debug, Parser)]
#[command(name = "askbox", version, max_term_width = 100, disable_help_subcommand = true)]
#[command(after_help = EXIT_CODES, after_long_help = [EXAMPLES, "\n\n", EXIT_CODES].concat())]
pub struct Askbox {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show the whole job, step by step: an agent asks, you answer, a watcher relaunches the agent
    ///
    /// The demo runs the real programs in a temporary mailbox. Only the agent is a script, so neither claude nor a network is
    /// needed.
    #[command(after_help = "Examples:
  $ askbox demo
  $ askbox demo --auto --keep")]
    Demo(Demo),
    /// Set askbox up: configuration, service, plugin of Claude Code, permissions; --remove takes it back
    ///
    /// What will be written is shown first, file by file, and you are asked once. Your own files are added to, and nothing else in them
    /// changes; a file that cannot be read is left alone, and the exit status is then 4. A second setup does what is missing.
    ///
    /// What was written is on record in ~/.local/state/askbox/setup.json, so that --remove can take it back: files that did not
    /// exist go, other files become what they were. Of a file that you have changed since, only what setup put in is taken out.
    #[command(after_help = "Examples:
  $ askbox setup --dry-run
  $ askbox setup
  $ askbox setup --credential ANTHROPIC_API_KEY
  $ askbox setup --yes --without service,plugin
  $ askbox setup --remove")]
    Setup(Setup),
    /// Open the inbox: every question that waits, on one screen. `ask-answer` without arguments does the same
    ///
    /// Keys choose, and enter sends. If enter asks first, `ok`, then enter, confirms. `?` lists the keys. With an ID, that question is open
    /// first.
    #[command(after_help = "Examples:
  $ askbox inbox
  $ askbox inbox docs-42")]
    Inbox(Inbox),
    /// Find problems, each with a command that solves it, and show the configuration in force
    ///
    /// Problems are questions and runs that are stuck, parked, stale or half done, and files that are unreadable or unsafe. The
    /// doctor changes nothing. The exit status is 1 if there are problems, else 0.
    ///
    /// Without an ID every file of the mailbox is read: a mailbox with a million rounds takes minutes, and a terminal shows how far it
    /// is. With an ID only the files of that workflow are read, and the road of its newest round is shown: posted, answered, claimed,
    /// attempted, delivered. It ends where the round stands, with the next command.
    #[command(after_help = "Examples:
  $ askbox doctor
  $ askbox doctor docs-42
  $ askbox doctor --json | jq -r '.findings[].mend'")]
    Doctor(Doctor),
    /// Show each workflow below the one that started it, with state, age, cost and question
    ///
    /// Without an ID, the trees that are not over are shown, with their finished children. With an ID, that workflow and everything
    /// below it. The cost includes all ended runs of a workflow and of everything below it.
    ///
    /// `relaunch status --help` explains the states.
    #[command(after_help = "Examples:
  $ askbox tree
  $ askbox tree -f
  $ askbox tree docs-42 --json | jq -r 'select(.state == \"pending\").workflow_id'")]
    Tree(Tree),
    /// Show past rounds, the newest first: question, answer, who gave it and how, result, cost
    ///
    /// Past are the rounds that were answered or are over: delivered, declined, expired, withdrawn, superseded, dropped, parked, or with
    /// a run at work. `ask-answer list` shows the questions that are open. The newest is what changed last: the end of the round, its last
    /// move, or an answer that came too late.
    ///
    /// On a terminal, times are local and long texts are cut; in a pipe they are whole. With --json each round is one object on a line, with
    /// the name of its file.
    #[command(after_help = "Examples:
  $ askbox history
  $ askbox history docs-42 | less
  $ askbox history --since 2d --limit 0
  $ askbox history --json | jq -r 'select(.answer.by == \"ann\") | [.workflow_id, .answer.value] | @tsv'")]
    History(History),
    /// Archive or remove old history: rounds that ended long ago, and workflows that nothing else needs
    ///
    /// --keep, or history.keep in the configuration, says how long history is kept. Without both, nothing is removed. A round that is
    /// pending, answered, running, parked or awaited always stays, with all that it needs. The command is safe at any time, also
    /// while watchers run.
    #[command(after_help = "Examples:
  $ askbox gc --keep 90d --dry-run
  $ askbox gc --keep 90d
  Removed 12 rounds that ended more than 90d ago, with 9 workflows and
  3 checkpoints that nothing else needs (1.4 MiB).")]
    Gc(Gc),
    /// Write the configuration file, a service, shell completions or man pages
    ///
    /// Without flags, the configuration file is written, with every key explained.
    #[command(after_help = "Examples:
  $ askbox init
  /home/ann/.config/askbox/config.toml

  $ eval \"$(askbox init --completions bash)\"
  $ askbox init --man ~/.local/share/man/man1
  $ askbox init --service && systemctl --user enable --now askbox
  $ askbox init --claude-md >> CLAUDE.md")]
    Init(Init),
    /// Make a key with which your answers are signed, and say what to write into the configuration
    ///
    /// With `answers.require_signed`, only an answer that one of `answers.trusted_keys` has signed counts: not one that an agent has written
    /// itself. The key protects as much as it is out of the agents' reach: the guide for operators says how.
    #[command(after_help = "Examples:
  $ askbox keygen
  $ askbox keygen /media/stick/answer.key --name ann
  $ askbox keygen --public ~/.config/askbox/answer.key")]
    Keygen(Keygen),
    /// Show the agents that are defined for claude, and the problems of their files
    #[command(after_help = "Examples:
  $ askbox agents list
  $ askbox agents show reviewer")]
    Agents(Agents),
    /// Test whether people can be told: on the desktop, by a webhook, on the phone
    ///
    /// Who is told of what is in the configuration: `[notify]` and `[target.NAME]`. A watcher tells them.
    #[command(subcommand)]
    Notify(NotifyCommand),
    /// Ask yourself one question, and show how it reaches you: by the watcher, the news, the page
    ///
    /// It is asked as an agent would ask it, and you answer where you would answer an agent. No agent is started. What is missing on the
    /// way is said, with the command that adds it. Without an answer the question is withdrawn.
    #[command(after_help = "Examples:
  $ askbox trial
  $ askbox trial --wait 2m")]
    Trial(Trial),
    /// Print how many questions wait for a person, for a status line or a prompt
    ///
    /// A question that waits for a file or a time waits for no person, and is not counted. The number is 0 without a mailbox.
    #[command(after_help = "Examples:
  $ askbox count
  $ askbox count --json
  $ askbox count --status-line   # in settings.json of Claude Code: statusLine.command")]
    Count(Count),
    /// List the sessions of Claude Code, Codex, Copilot, Kimi and Qwen on this machine, with what each does and asks
    ///
    /// Sessions that wait for you come first. Their dialogs are questions of the mailbox as well if `[live] enabled` is true, or for Codex
    /// `[live] codex`: answer them from anywhere. A session without askbox's plugin is shown too: answer it at its terminal. A session of
    /// `codex --no-daemon` is not seen, and none of opencode. A session of Gemini is shown only while its dialog waits, and with `[live]
    /// news`. Qwen does not tell whether a session waits. Kimi does not tell whether a session has ended: it is shown for a day if it
    /// waits, and else for an hour.
    #[command(after_help = "Examples:
  $ askbox sessions
  $ askbox sessions --json")]
    Sessions(Common),
    /// Start a session of yours behind a fence: what it cannot touch, it cannot decide
    ///
    /// The session asks, saves and shows its dialogs as ever. It cannot change the mailbox, the configuration, the key or the programs
    /// otherwise, and its shell answers nothing. `[fence]` does the same for runs.
    #[command(after_help = "Examples:
  $ askbox fence claude
  $ alias claude='askbox fence claude'")]
    Fence(Fence),
    /// Mark a call that must be made at most once, from within a run: status 0 for the first caller, 4 for every other
    ///
    /// Call it right before the call itself. The mark belongs to the round and is durable before the status is 0, so no later attempt and no
    /// second process gets 0 for the same words. Status 4 says that the call may have been made: whoever set the mark may have died before
    /// or after it. If the attempt ends without being delivered, the reason names the call. Outside of a live run the status is 2.
    #[command(after_help = "Examples:
  $ askbox once charge-4711 && charge 4711
  $ askbox once charge-4711 || case $? in 4) ask-post 'Was 4711 charged?' -o yes=y -o no=n && exit 6;; *) exit 1;; esac")]
    Once(Once),
    /// Check another implementation of the mailbox protocol, and print what it violates
    ///
    /// COMMAND is a small harness around the implementation: it reads one JSON object a line and answers each with one.
    /// The mailboxes lie in a temporary folder. An operation that the harness does not support is skipped, and told.
    /// The exit status is 1 if a check is violated.
    #[command(after_help = "Lines, each with \"do\" and \"mailbox\", and their replies (docs/dev/conformance.md has all):
  post question → question_id, repeated       answer workflow_id, question_id, value or declined, note, by → question_id
  withdraw workflow_id, why → question_id     round workflow_id, question_id → state, question_id, document
  save workflow_id, checkpoint → {}           load workflow_id → checkpoint           pending → questions
  hash question, answer, n → question_hash, seen, of_its_machine, shown, answer_hash, derived_id

Examples:
  $ askbox conformance --list
  $ askbox conformance -- python3 harness.py
  $ askbox conformance --only race-withdraw --races 200 -- ./harness
  $ askbox conformance --json -- ./harness | jq -c '.checks[] | select(.result != \"kept\")'")]
    Conformance(Conformance),
    /// Answer the hooks of Claude Code: take what an agent asks with AskUserQuestion, tell a session what happened
    ///
    /// Every run of askbox gives this command to its agent; for the sessions of a user, the plugin does. The event is read from standard input.
    /// In a live run, a call of AskUserQuestion is posted as a question and deferred: the run ends, and costs nothing while it waits.
    /// Once the question is answered, the run goes on, and the very same call has the answer. A call that a rule of `[approvals] ask`
    /// names waits in the same way, and is made once a person has allowed it. A session of a user is told what waits
    /// when it starts, and with a prompt what happened since it last looked. Anywhere else, nothing is printed.
    ///
    /// `--from kimi` and `--from gemini` take the hooks of these programs instead, and print nothing: a dialog that waits at a terminal is
    /// told as news, if `[live] news` names the program. `askbox setup` shows the lines for their files.
    Hook(Hook),
    /// Hold the dialogs of one process of opencode or Copilot in the mailbox
    ///
    /// The plugin, which `askbox setup --opencode` or `--copilot` writes, starts this command when a dialog opens. It tells what the program
    /// asks as JSON lines on standard input, and reads the replies. Without `[live] opencode = true` or `experimental_copilot = true`, and in
    /// a run of askbox, the command ends at once.
    #[command(after_help = "Examples:
  $ askbox setup --only live --opencode   # writes the key, and the plugin that starts this command
  $ askbox live opencode < /dev/null && echo the mailbox opens")]
    Live(Live),
    /// Serve the mailbox to agents as tools, by the Model Context Protocol on standard input and output
    ///
    /// An agent's program starts this command and calls its tools: ask_user, check_answer, save_checkpoint, load_checkpoint, list_questions,
    /// run_status and stop_run; answer_question only with `mcp.answer = true` in the configuration. A client that knows tasks gets one for
    /// each question, and waits for nothing; every other client waits at most 45 seconds, and is then told to save its state and end its turn.
    #[command(after_help = "Examples:
  $ claude mcp add --scope user askbox -- askbox mcp
  $ claude -p --mcp-config '{\"mcpServers\":{\"askbox\":{\"command\":\"askbox\",\"args\":[\"mcp\"]}}}'")]
    Mcp(Mcp),
    /// Bring this machine's questions into a PostgreSQL database, where people elsewhere see and answer them
    ///
    /// Answers travel, launches never leave the machine: people make offers, and the machine that has the question decides.
    #[command(subcommand)]
    Sync(SyncCommand),
    /// Serve the page with which people answer from a browser, on this computer or on the phone
    ///
    /// The page shows what the inbox shows, and what became of each answer; it works without scripting. Each device signs in once, with a
    /// link: askbox web link. The page listens on this computer only. The guide has the ways to reach it from elsewhere: ssh -L, tailscale
    /// serve, caddy.
    #[command(after_help = "Examples:
  $ askbox web
  the page is at http://127.0.0.1:8347; a device signs in with: askbox web link

  $ askbox web link \"ann's phone\"
  $ askbox web --listen unix:/run/user/1000/askbox.sock
  $ askbox web sessions
  $ askbox web revoke \"ann's phone\"")]
    Web(Web),
    /// Print what the last word can become: the shells' completions call this
    #[command(hide = true)]
    Complete {
        /// The words of the command line so far
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
    /// What `ask-answer` becomes where other machines come in
    #[command(hide = true)]
    AskAnswer {
        /// Its arguments
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
}

/// `askbox init`
#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("what").args(["print", "completions", "man", "claude_md"])))]
#[command(group(clap::ArgGroup::new("kind").args(["print", "completions", "man", "service", "claude_md"])))]
pub struct Init {
    /// Print the configuration file instead of writing it
    #[arg(long)]
    pub print: bool,
    /// Replace an existing file; the old one is kept beside it
    #[arg(long, conflicts_with = "what")]
    pub force: bool,
    /// Print the completions of all programs, for the shell to evaluate; in bash, zsh and fish they offer ids and option keys too
    #[arg(long, value_name = "SHELL")]
    pub completions: Option<clap_complete::Shell>,
    /// Write a service that runs `relaunch watch`: a systemd user unit, or a launchd property list on macOS
    #[arg(long)]
    pub service: bool,
    /// Write the man pages of all programs into a folder
    #[arg(long, value_name = "DIR")]
    pub man: Option<PathBuf>,
    /// Print a section for CLAUDE.md: how agents start sub-agents, ask, and end their turns
    #[arg(long)]
    pub claude_md: bool,
}
