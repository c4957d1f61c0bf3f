//! `[approvals]`: the tool calls that a person is asked about, and those that are refused.

use crate::section::section;
use crate::tool_rule::ToolRule;
use askbox_mailbox::error::{Error, Result};

/// The most rules of one list.
const MOST: usize = 64;

section! {
    /// `[approvals]`: the tool calls that a person is asked about, and those that are refused.
    "approvals" Approvals {
        /// Calls that a person is asked about before they are made. The run ends, and costs nothing while it waits. Once the call is
        /// allowed, the run goes on with exactly this call. Rules in Claude Code's spelling: `Tool` (all its calls), `Bash(git push:*)`
        /// (commands that begin with these words), `Bash(make deploy)` (exactly this command), `mcp__server__tool`, `mcp__server`. No
        /// other form is understood. A rule for Bash also matches a command that is part of a longer one (`cd x && git push`), and a
        /// command that may be the one it names, also within an option's value (`tar --to-command='git push'`). Do not allow the same
        /// calls in `allowed_tools` or in Claude Code's own settings. Example: `["Bash(git push:*)", "Write"]`.
        ask: Vec<ToolRule> = Vec::new(),
        /// Calls that are refused, in the same spelling. They are refused even if `ask` names them as well. Example: `["Bash(rm:*)"]`.
        refuse: Vec<ToolRule> = Vec::new(),
        /// Whether a person is asked about a call that Claude Code's own rules stop, because nobody has permitted it. The agent waits
        /// for the answer as long as `limits.hold`. Then the run ends, and goes on once a person has decided. `false`: such calls are
        /// refused, and `relaunch status` counts them.
        ask_stopped: bool = true,
    }
}

impl Approvals {
    /// True if there are no rules.
    pub fn is_empty(&self) -> bool {
        self.ask.is_empty() && self.refuse.is_empty()
    }

    /// Refuses lists that are too long, and a question about a question.
    pub(crate) fn check(&self) -> Result<()> {
        for (key, rules) in [("approvals.ask", &self.ask), ("approvals.refuse", &self.refuse)] {
            if rules.len() > MOST {
                return Err(Error::invalid(key, format!("has {} rules, the limit is {MOST}", rules.len()), "name whole tools instead"));
            }
        }
        if self.ask.iter().any(|rule| rule.to_string() == "AskUserQuestion") {
            let fix = "leave it out: a call of AskUserQuestion is a question to a person already";
            return Err(Error::invalid("approvals.ask", "names AskUserQuestion", fix));
        }
        Ok(())
    }
}
