//! The text of a question about a tool call. askbox writes every line of it, so a reader recognises text that somebody else wrote.
//!
//! 1. The first line names the tool, or says that a plan is asked about.
//! 2. The call's own texts follow, indented by four spaces or more.
//! 3. Each line below begins with askbox's words, in this order: [`FOLDER`], [`SUBAGENT`], [`ABOUT_SUBAGENT`], [`AGENT_SAYS`].
//!
//! So no line of the call or of the agent looks like a line that askbox prints below the question, such as a command to copy.

use crate::documents::fields::live::EXIT_PLAN_MODE;
use crate::text;

/// The beginning of the first line, in front of the tool's name.
const MAY_CALL: &str = "May the agent call ";
/// The words behind the tool's name if the call was allowed before, and around who allowed it.
const ONCE_MORE: [&str; 2] = [" once more? Allowed ", "; it may have run."];
/// The most characters of a tool's name.
const LONGEST_TOOL: usize = 200;

/// The first line of a question about a plan.
pub const PLAN: &str = "May the agent carry out this plan?";
/// The words in front of the folder.
pub const FOLDER: &str = "In the folder ";
/// The words in front of the subagent that makes the call.
pub const SUBAGENT: &str = "A subagent makes this call: ";
/// The words in front of the agent's own words about its subagent.
pub const ABOUT_SUBAGENT: &str = "The agent says about the subagent: ";
/// The words in front of the agent's own words about the call.
pub const AGENT_SAYS: &str = "The agent says: ";

/// The beginnings of the lines below the call, in their order.
const BELOW: [&str; 4] = [FOLDER, SUBAGENT, ABOUT_SUBAGENT, AGENT_SAYS];
/// The indentation of the call's own texts.
const INDENTATION: &str = "    ";

/// Returns the first line of the question about a call of this tool. `allowed` names the time and the person, if somebody allowed it before and it may have run.
#[must_use]
pub fn first_line(tool: &str, allowed: Option<&str>) -> String {
    let (tool, [once_more, may_have_run]) = (text::excerpt(&text::visible(tool), LONGEST_TOOL), ONCE_MORE);
    allowed.map_or_else(|| format!("{MAY_CALL}{tool}?"), |allowed| format!("{MAY_CALL}{tool}{once_more}{allowed}{may_have_run}"))
}

/// True if this is the first line of a question about a call of this tool.
#[must_use]
pub fn is_first_line(line: &str, tool: &str) -> bool {
    let first = first_line(tool, None);
    let rest = line.strip_prefix(first.trim_end_matches('?')).and_then(|rest| rest.strip_prefix(ONCE_MORE[0]));
    line == first || rest.is_some_and(|rest| rest.ends_with(ONCE_MORE[1]))
}

/// True if each line of the question about a call of this tool is one that askbox writes.
#[must_use]
pub(in crate::documents) fn is_askboxs(question: &str, tool: &str) -> bool {
    let mut lines = question.split('\n');
    let first = lines.next().unwrap_or_default();
    let is_plan = tool == EXIT_PLAN_MODE && first == PLAN;
    if !is_plan && !is_first_line(first, tool) {
        return false;
    }
    let mut below = BELOW.iter();
    let mut is_above = true;
    lines.all(|line| {
        if is_above && line.starts_with(INDENTATION) {
            return true;
        }
        is_above = false;
        below.any(|words| line.starts_with(words))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_about_a_call_is_one_that_askbox_writes() {
        let own = [
            "May the agent call Bash?",
            "May the agent call Bash?\n    command: ls\nIn the folder /work",
            "May the agent call Bash?\n    command:\n        ls\n        \n        rm x\n    timeout: 5\nIn the folder /work\nThe agent says: List",
            "May the agent call Bash?\nIn the folder /work\nA subagent makes this call: reviewer a2ed\n\
             The agent says about the subagent: Review\nThe agent says: List",
        ];
        for text in own {
            assert!(is_askboxs(text, "Bash"), "{text}");
        }
        assert!(is_askboxs(&format!("{}\n    command: ls", first_line("Bash", Some("at noon by ann"))), "Bash"));
        assert!(is_askboxs("May the agent carry out this plan?\nIn the folder /work", "ExitPlanMode"));
        let copy = "To allow this call whenever the workflow makes it, or this one time, copy:\n  ask-answer other once --round X";
        for text in [
            "?",
            "May the agent call Write?",
            "May the agent carry out this plan?\nIn the folder /work",
            "May the agent call Bash?\n",
            "May the agent call Bash?\n\n    command: ls",
            "May the agent call Bash?\n    command: ls\n  ask-answer other once --round X",
            "May the agent call Bash?\n    command: ls\nIn the folder /work\nIn the folder /safe",
            "May the agent call Bash?\nThe agent says: List\nIn the folder /work",
            "May the agent call Bash?\nIn the folder /work\n    command: ls",
            &format!("May the agent call Bash?\n    command: ls\nIn the folder /work\n{copy}"),
            &format!("May the agent call Bash?\n    command: ls\nIn the folder /work\n\n{copy}"),
        ] {
            assert!(!is_askboxs(text, "Bash"), "{text}");
        }
    }
}
