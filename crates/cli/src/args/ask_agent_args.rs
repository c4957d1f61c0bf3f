//! `ask-agent`'s arguments. They are those of `claude` that `relaunch` uses.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};

/// The form of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// The final words.
    Text,
    /// The final event.
    Json,
    /// Each event, one a line.
    StreamJson,
}

/// A small agent over the Messages API, whose transcript is its whole state
///
/// It works until the model has finished its turn, or until a person has to answer. Then it exits. The same command again takes the
/// answer from the mailbox and goes on.
#[derive(Debug, Clone, Parser)]
#[command(name = "ask-agent", version, after_help = EXAMPLES)]
pub struct AskAgent {
    /// The task; without it and without --resume, standard input
    pub prompt: Option<String>,
    /// For compatibility with `claude`: this agent has no other mode
    #[arg(short, long)]
    pub print: bool,
    /// The id of the new session, a UUID
    #[arg(long, value_name = "ID")]
    pub session_id: Option<uuid::Uuid>,
    /// Go on with this session
    #[arg(short, long, value_name = "ID")]
    pub resume: Option<uuid::Uuid>,
    /// With --resume: go on behind this message
    #[arg(long, value_name = "MESSAGE", requires = "resume")]
    pub resume_session_at: Option<String>,
    /// With --resume: go on with a copy of the session, under the id of --session-id
    #[arg(long, requires = "resume")]
    pub fork_session: bool,
    /// The model; otherwise that of the session, of $ANTHROPIC_MODEL, or a built-in one
    #[arg(long)]
    pub model: Option<String>,
    /// The agent file whose prompt and tools are used, by its name
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// text: messages come as arguments; stream-json: as lines of JSON
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = ["text", "stream-json"])]
    pub input_format: String,
    /// How the output looks
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub output_format: Format,
    /// With stream-json: also each piece of a reply
    #[arg(long)]
    pub include_partial_messages: bool,
    /// For compatibility with `claude`: stream-json has all events anyway
    #[arg(long)]
    pub verbose: bool,
    /// `stdio`: ask the program at the other end for permissions, instead of a person through the mailbox
    #[arg(long, value_name = "WHO", value_parser = ["stdio"])]
    pub permission_prompt_tool: Option<String>,
    /// default, acceptEdits, dontAsk, plan or bypassPermissions
    #[arg(long, value_name = "MODE", default_value = "default",
        value_parser = ["default", "manual", "auto", "acceptEdits", "dontAsk", "plan", "bypassPermissions"])]
    pub permission_mode: String,
    /// The same as --permission-mode bypassPermissions
    #[arg(long)]
    pub dangerously_skip_permissions: bool,
    /// A call that needs no permission: Bash, Bash(git:*), Read(docs/**); once for each rule
    #[arg(long = "allowedTools", alias = "allowed-tools", value_name = "RULE")]
    pub allowed_tools: Vec<String>,
    /// Tools that the agent does not have, or calls that are refused
    #[arg(long = "disallowedTools", alias = "disallowed-tools", value_name = "RULES")]
    pub disallowed_tools: Vec<String>,
    /// More settings: JSON, or a file
    #[arg(long, value_name = "JSON")]
    pub settings: Option<String>,
    /// The model is asked at most this often
    #[arg(long, value_name = "N")]
    pub max_turns: Option<usize>,
    /// No model is asked once this much was spent; $ASK_AGENT_PRICES has the prices
    #[arg(long, value_name = "USD")]
    pub max_budget_usd: Option<f64>,
    /// The mailbox for questions; otherwise $ASKBOX_DIR, or ~/.claude/questions
    #[arg(long, value_name = "DIR")]
    pub mailbox: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Environment:
  ANTHROPIC_API_KEY     the key, or ANTHROPIC_AUTH_TOKEN a token; it is never stored
  ANTHROPIC_BASE_URL    the API, if it is not https://api.anthropic.com

Examples:
  $ ask-agent 'Write tests for src/users.py' --allowedTools='Bash(pytest:*)' --permission-mode acceptEdits
  $ ask-agent --resume 6f1c…      take the answer to its question and go on, or go on after a crash";

impl AskAgent {
    /// The permission mode in force.
    pub fn mode(&self) -> &str {
        if self.dangerously_skip_permissions { "bypassPermissions" } else { &self.permission_mode }
    }
}
