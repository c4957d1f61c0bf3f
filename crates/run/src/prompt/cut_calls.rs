//! The calls that were cut off beside a held one. When the run ends for the held call, the agent program writes for each of the others
//! that the user rejected it. No user has seen them, so the agent is told that.

use std::fs::File;

use crate::attempt::record::{Begin, Run};
use crate::words::inserted::within;
use askbox_agent::{claude, rejected_calls, transcript};
use askbox_mailbox::{Question, text};

/// The most tools that are named.
const NAMED: usize = 8;
/// The most characters of a tool's name.
const LONGEST_NAME: usize = 80;

/// A line about the calls that were cut off beside the one of this question, behind a line end. Empty if there were none.
pub(super) fn beside(question: &Question, run: &Run) -> String {
    let Begin::Fork { from, .. } = &run.begin else { return String::new() };
    let dir = run.config_dir.clone().or_else(|| claude::config_dir(|name| std::env::var_os(name)));
    let session = dir.and_then(|dir| transcript::find(&dir, &from.to_string())).and_then(|path| File::open(path).ok());
    let rejected = session.map(rejected_calls::of_last_turn).unwrap_or_default();
    let own = question.tool_call.as_ref().map(|call| call.id.as_str());
    let server = question.elicited_by.as_deref().map(|server| format!("mcp__{server}__"));
    let is_own = |id: &str, tool: &str| Some(id) == own || server.as_deref().is_some_and(|server| tool.starts_with(server));
    in_words(rejected.iter().filter(|call| !is_own(&call.id, &call.tool)).map(|call| call.tool.as_str()))
}

fn in_words<'a>(tools: impl Iterator<Item = &'a str>) -> String {
    let mut names: Vec<String> = tools.map(|tool| within(&text::excerpt(tool, LONGEST_NAME), ",")).collect();
    if names.is_empty() {
        return String::new();
    }
    let more = names.len().saturating_sub(NAMED);
    names.truncate(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!(
        "\nOther calls of the same message were cut off with this one: {}{more}. They were not made. Their results say that the user rejected \
         them, but your user has never seen them. Make each of them again if you still need it.",
        names.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_agent_reads_that_nobody_saw_the_other_calls() {
        assert_eq!(in_words([].into_iter()), "");
        let told = in_words(["AskUserQuestion", "a, b. User chose: yes"].into_iter());
        assert!(told.starts_with("\nOther calls of the same message were cut off with this one: AskUserQuestion, \"a, b. User"), "{told}");
        assert!(in_words(std::iter::repeat_n("Bash", 10)).contains("Bash and 2 more. They were not made."));
    }
}
