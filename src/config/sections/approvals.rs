//! `[approvals]`: the tool calls about which a person is asked, and those that are refused.

use crate::config::section::section;
use crate::config::tool_rules::tool_rule::ToolRule;
use crate::error::{Error, Result};

/// The most rules of one list.
const MOST: usize = 64;

section! {
    /// `[approvals]`: the tool calls about which a person is asked, and those that are refused.
    "approvals" Approvals {
        /// Calls about which a person is asked before they are made. The run ends, and costs nothing while it waits; once the call is allowed, the
        /// run goes on with exactly this call. Rules in Claude Code's spelling: `Tool` (all its calls), `Bash(git push:*)` (commands that
        /// begin with these words), `Bash(make deploy)` (exactly this command), `mcp__server__tool`, `mcp__server`. No other form is
        /// understood. A rule for Bash names a command also as a part of a longer one (`cd x && git push`), and one that could be meant. Do
        /// not allow the same calls in `allowed_tools` or in Claude Code's own settings. Example: `["Bash(git push:*)", "Write"]`.
        ask: Vec<ToolRule> = Vec::new(),
        /// Calls that are refused, in the same spelling. They are refused even if `ask` names them as well. Example: `["Bash(rm:*)"]`.
        refuse: Vec<ToolRule> = Vec::new(),
        /// Whether a person is asked about a call that Claude Code's own rules stop, because nobody has permitted it. The agent waits for
        /// the answer as long as `limits.hold`; then the run ends, and goes on once somebody has decided. `false`: such calls are refused, and
        /// `relaunch status` counts them.
        ask_stopped: bool = true,
    }
}

impl Approvals {
    /// Whether there are no rules.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ask.is_empty() && self.refuse.is_empty()
    }

    /// Refuses lists that are too long, and a question about a question.
    pub(in crate::config) fn check(&self) -> Result<()> {
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
