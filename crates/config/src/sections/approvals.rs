//! `[approvals]`: the tool calls that a person is asked about, and those that are refused.

use crate::section::section;
use crate::tool_rule::ToolRule;
use askbox_mailbox::{Error, Result};

/// The most rules of one list.
const MOST: usize = 64;

section! {
    /// `[approvals]`: the tool calls that a person is asked about, and those that are refused.
    "approvals" Approvals {
        /// Calls that a person decides before they are made; the run ends until then. Rules: `Tool`, `Bash(git push:*)` (commands that
        /// begin with these words, also within longer ones), `Bash(make deploy)` (exactly this one), `mcp__server__tool`, `mcp__server`.
        /// Example: `["Bash(git push:*)", "Write"]`.
        ask: Vec<ToolRule> = Vec::new(),
        /// Calls that are refused, even if `ask` names them. Example: `["Bash(rm:*)"]`.
        refuse: Vec<ToolRule> = Vec::new(),
        /// True if a person is asked about a call that nobody has permitted. The run waits as long as `limits.hold`, then ends until the
        /// call is decided. `false`: such calls are refused.
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
