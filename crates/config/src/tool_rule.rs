//! A rule that names tool calls, in Claude Code's spelling.
//!
//! | form | the calls that it names |
//! |---|---|
//! | `Tool` | all calls of the tool; `Edit` names `Write`, `MultiEdit` and `NotebookEdit` as well, as it does for Claude Code |
//! | `Bash(git push:*)` | commands that begin with these words |
//! | `Bash(make deploy)` | exactly this command |
//! | `mcp__server__tool`, `mcp__server` | the tool of an MCP server; all tools of the server |
//!
//! These rules ask or refuse and never allow. So a rule also names a command that only may be the one it means: see
//! [`shell_commands`](super::shell_commands).

use std::fmt;
use std::str::FromStr;

use serde_json::{Map, Value};

use crate::shell_commands;
use askbox_mailbox::{Approval, spelling, text};

/// Claude Code's tool that runs shell commands.
const BASH: &str = "Bash";
/// The tools that a rule for `Edit` names as well, as in Claude Code's own rules.
const EDITS: [&str; 3] = ["Write", "MultiEdit", "NotebookEdit"];
/// The two names of the tool that starts subagents.
const STARTS_SUBAGENTS: [&str; 2] = ["Task", "Agent"];
/// Tools of Claude Code. Rules may name others, but a name that looks like one of these is a misspelling.
const KNOWN: &str = "\
    Agent AskUserQuestion Bash BashOutput Edit ExitPlanMode Glob Grep KillShell LS Monitor MultiEdit NotebookEdit Read \
    Skill Task TodoWrite WebFetch WebSearch Write";
/// The longest rule, in bytes.
const LONGEST: usize = 512;

/// The condition of a rule for a call's input.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Input {
    Any,
    BeginsWith(String),
    Is(String),
}

/// One rule.
#[derive(Debug, Clone, PartialEq, Eq, serde_with::SerializeDisplay, serde_with::DeserializeFromStr, schemars::JsonSchema)]
#[schemars(with = "String", description = "")]
pub struct ToolRule {
    tool: String,
    input: Input,
}

impl FromStr for ToolRule {
    type Err = String;

    /// Reads a rule. The error says why it is not understood.
    fn from_str(rule: &str) -> Result<Self, String> {
        let not_understood = |why: &str| {
            let rule = text::excerpt(rule, 60);
            Err(format!(
                "the rule `{rule}` is not understood: {why}; write a tool's name, `Bash(WORDS:*)`, `Bash(COMMAND)`, or `mcp__SERVER__TOOL`"
            ))
        };
        if rule.len() > LONGEST {
            return not_understood("it is too long");
        }
        let (tool, input) = match rule.split_once('(') {
            None => (rule, None),
            Some((tool, rest)) => match rest.strip_suffix(')') {
                None => return not_understood("its last character is no `)`"),
                Some(input) => (tool, Some(input)),
            },
        };
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if !tool.starts_with(|c: char| c.is_ascii_alphabetic()) || !tool.chars().all(is_name) {
            return not_understood("it does not begin with a tool's name");
        }
        if let Some(server) = tool.strip_prefix("mcp__") {
            if server.is_empty() || server.starts_with('_') {
                return not_understood("it names no server");
            }
        } else if let Some(meant) = misspelt(tool) {
            return not_understood(&format!("did you mean `{meant}`?"));
        }
        let Some(input) = input else { return Ok(Self { tool: tool.into(), input: Input::Any }) };
        if tool != BASH {
            return not_understood("only Bash takes words in parentheses");
        }
        let (words, is_prefix) = input.strip_suffix(":*").map_or((input, false), |prefix| (prefix, true));
        if words.trim().is_empty() || words.trim() != words {
            return not_understood("its words are empty, or begin or end with a space");
        }
        if words.contains('*') {
            return not_understood("a `*` stands only at its end, after a colon");
        }
        if is_prefix && !shell_commands::are_plain_words(words) {
            return not_understood("the beginning of a command is plain words, without quotes and shell operators");
        }
        let input = if is_prefix { Input::BeginsWith(words.into()) } else { Input::Is(words.into()) };
        Ok(Self { tool: tool.into(), input })
    }
}

impl ToolRule {
    /// Returns the rule that is written like exactly this call. `None` if none is: only Bash takes a command in parentheses, and not every
    /// command. The rule may name further calls.
    pub fn like_call(approval: &Approval) -> Option<Self> {
        let command = approval.editable.as_ref().filter(|_| approval.tool == BASH).map(|editable| editable.text.as_str())?;
        let is_plain = text::visible(command) == command && !command.contains(['\n', '\t']);
        let rule = format!("{BASH}({command})").parse::<Self>().ok().filter(|_| is_plain)?;
        matches!(&rule.input, Input::Is(words) if words == command).then_some(rule)
    }

    /// The tools that the rule names, as a regular expression.
    pub fn tools(&self) -> String {
        let names: &[&str] = match self.tool.as_str() {
            "Edit" => &EDITS,
            tool if STARTS_SUBAGENTS.contains(&tool) => &STARTS_SUBAGENTS,
            tool if tool.starts_with("mcp__") => return format!("{tool}(__.*)?"),
            _ => &[],
        };
        names.iter().fold(self.tool.clone(), |all, name| format!("{all}|{name}"))
    }

    fn names_tool(&self, tool: &str) -> bool {
        self.tool == tool
            || (self.tool == "Edit" && EDITS.contains(&tool))
            || (STARTS_SUBAGENTS.contains(&self.tool.as_str()) && STARTS_SUBAGENTS.contains(&tool))
            || (self.tool.starts_with("mcp__") && tool.strip_prefix(&self.tool).is_some_and(|rest| rest.starts_with("__")))
    }

    /// True if the rule names this call. Every rule for Bash names a Bash call whose command cannot be read.
    pub fn names(&self, tool: &str, input: &Map<String, Value>) -> bool {
        if !self.names_tool(tool) {
            return false;
        }
        let Some(command) = input.get("command").and_then(Value::as_str) else { return true };
        match &self.input {
            Input::Any => true,
            Input::BeginsWith(words) => shell_commands::could_begin_with(command, words),
            Input::Is(whole) => shell_commands::could_be(command, whole),
        }
    }
}

/// The tool that was probably meant.
fn misspelt(tool: &str) -> Option<&'static str> {
    let mut known = KNOWN.split(' ');
    if known.clone().any(|known| known == tool) {
        return None;
    }
    known.find(|known| known.eq_ignore_ascii_case(tool) || spelling::is_misspelt(tool, known))
}

impl fmt::Display for ToolRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.input {
            Input::Any => f.write_str(&self.tool),
            Input::BeginsWith(words) => write!(f, "{}({words}:*)", self.tool),
            Input::Is(whole) => write!(f, "{}({whole})", self.tool),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn names(rule: &str, command: &str) -> bool {
        let input = Map::from_iter([("command".to_owned(), Value::from(command))]);
        rule.parse::<ToolRule>().unwrap().names("Bash", &input)
    }

    #[test]
    fn a_call_is_written_as_a_rule_only_if_the_rule_is_exact() {
        let like = |tool: &str, text: &str| {
            let approval = json!({"tool": tool, "sha256": "", "editable": {"field": "command", "text": text}});
            ToolRule::like_call(&serde_json::from_value(approval).unwrap()).map(|rule| rule.to_string())
        };
        assert_eq!(like("Bash", "cd x && git push").as_deref(), Some("Bash(cd x && git push)"));
        for text in ["rm *", "git push:*", " ls", "ls\nrm x", "ls \u{202e}x", ""] {
            assert_eq!(like("Bash", text), None, "{text}");
        }
        assert_eq!(like("Write", "text"), None);
    }

    #[test]
    fn a_rule_that_is_not_understood_is_an_error_that_says_why() {
        let bad = [
            "", " ", "*", "Bash(", "Bash()", "Bash(:*)", "Bash(git push:*", "Bash( git:*)", "Bash(git *)", "Bash(a && b:*)",
            "Bash('git':*)", "Write(/x)", "mcp__*", "mcp__", "mcp__a__*", "Ba sh", "Bash)", "bash", "Wirte", "WebFetch(domain:x)",
        ];
        for rule in bad {
            let error = rule.parse::<ToolRule>().expect_err(rule);
            assert!(error.contains(&format!("`{rule}`")), "{error}");
        }
        assert!("Wirte".parse::<ToolRule>().unwrap_err().contains("did you mean `Write`?"));
    }

    #[test]
    fn a_rule_is_printed_as_it_was_written() {
        for rule in ["Write", "mcp__github__create-issue", "mcp__github", "Bash", "Bash(git push:*)", "Bash(make deploy && make check)"] {
            assert_eq!(rule.parse::<ToolRule>().unwrap().to_string(), rule);
        }
    }

    #[test]
    fn a_tools_name_names_all_its_calls_and_no_other_tools() {
        let names_tool = |rule: &str, tool: &str| rule.parse::<ToolRule>().unwrap().names(tool, &Map::new());
        for (rule, tool) in [
            ("Write", "Write"),
            ("Edit", "Edit"),
            ("Edit", "Write"),
            ("Task", "Agent"),
            ("mcp__db", "mcp__db__query"),
            ("mcp__db__query", "mcp__db__query"),
        ] {
            assert!(names_tool(rule, tool), "{rule} {tool}");
            let expression = format!("|{}|", rule.parse::<ToolRule>().unwrap().tools());
            assert!(expression.contains(&format!("|{tool}|")) || expression.contains("(__.*)?"), "{expression}");
        }
        for (rule, tool) in
            [("Write", "Edit"), ("Write", "write"), ("Write", "WriteAll"), ("mcp__db", "mcp__dbx__query"), ("Bash", "Write")]
        {
            assert!(!names_tool(rule, tool), "{rule} {tool}");
        }
        assert!(names("Bash", "ls"));
    }

    #[test]
    fn an_exact_command_is_no_prefix() {
        assert!(names("Bash(make deploy)", "make deploy") && !names("Bash(make deploy)", "make deploy now"));
        assert!(names("Bash(a && b)", "a && b") && !names("Bash(a && b)", "a && c"));
    }

    #[test]
    fn a_bash_call_whose_command_cannot_be_read_is_named() {
        let input = Map::from_iter([("command".to_owned(), Value::from(7))]);
        assert!("Bash(git push:*)".parse::<ToolRule>().unwrap().names("Bash", &input));
    }
}
