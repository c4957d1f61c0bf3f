//! The text of a question about a tool call. askbox writes every line of it, so a reader recognises text that somebody else wrote.
//!
//! 1. The first line names the tool, or says that a plan is asked about.
//! 2. The call's own texts follow, indented by four spaces or more: first its object, such as a path, then what changes, then the rest.
//! 3. Each line below begins with askbox's words, in this order: [`FOLDER`], [`SUBAGENT`], [`ABOUT_SUBAGENT`], [`AGENT_SAYS`].
//!
//! So no line of the call or of the agent looks like a line that askbox prints below the question, such as a command to copy.

use std::path::Path;

use crate::documents::fields::live::EXIT_PLAN_MODE;
use crate::text;

/// The beginning of the first line, in front of the tool's name.
const MAY_CALL: &str = "May the agent call ";
/// The words behind the tool's name if the call was allowed before, and around who allowed it.
const ONCE_MORE: [&str; 2] = [" once more? Allowed ", "; it may have run."];
/// The most characters of a tool's name.
const LONGEST_TOOL: usize = 200;
/// The most characters of a path in the short form of a call.
const LONGEST_PATH: usize = 40;
/// The most lines of a value in short.
const MOST_LINES: usize = 20;
/// The most characters of another text in the short form of a call.
const LONGEST_VALUE: usize = 100;

/// The fields of a call's input that name its object: what is run, changed, read or fetched. They are shown first, in this order.
const OBJECTS: [&str; 9] = ["command", "patch", "file_path", "notebook_path", "filePath", "url", "query", "pattern", "path"];
/// The longest text that is shown above the longer ones, in bytes.
const SHORT: usize = 80;

/// The words in front of the number of lines of a new file.
pub const NEW: &str = "new, ";
/// The words in front of the number of lines that a change removes and adds.
pub const CHANGE: &str = "change ";

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
pub fn first_line(tool: &str, allowed: Option<&str>) -> String {
    first_line_of(&in_words(tool, "of server"), allowed)
}

fn first_line_of(tool: &str, allowed: Option<&str>) -> String {
    let (tool, [once_more, may_have_run]) = (text::excerpt(&text::visible(tool), LONGEST_TOOL), ONCE_MORE);
    allowed.map_or_else(|| format!("{MAY_CALL}{tool}?"), |allowed| format!("{MAY_CALL}{tool}{once_more}{allowed}{may_have_run}"))
}

/// The tool's name for people: a tool of an MCP server is told as `TOOL of SERVER`.
fn in_words(tool: &str, of: &str) -> String {
    let of_server = tool.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"));
    of_server.map_or_else(|| tool.to_owned(), |(server, tool)| format!("{tool} {of} {server}"))
}

/// True if this is the first line of a question about a call of this tool. An earlier version wrote the name of an MCP server's tool as it is.
pub fn is_first_line(line: &str, tool: &str) -> bool {
    [first_line(tool, None), first_line_of(tool, None)].iter().any(|first| {
        let rest = line.strip_prefix(first.trim_end_matches('?')).and_then(|rest| rest.strip_prefix(ONCE_MORE[0]));
        line == first || rest.is_some_and(|rest| rest.ends_with(ONCE_MORE[1]))
    })
}

/// The place of a field of the input among the others: the object first, then short texts, then long ones.
pub fn place(name: &str, value: &str) -> (usize, bool) {
    let object = OBJECTS.iter().position(|object| *object == name).unwrap_or(OBJECTS.len());
    (object, value.contains('\n') || value.len() > SHORT)
}

/// Returns the call of a question in a few words, as its text shows it: `Edit settings.py (−2 +2)`, `Bash: git push`. `None` if the text
/// shows nothing of a call. All characters can be seen. `plan` is the text of a plan, and `folder` that of the call.
pub(in crate::documents) fn in_short(question: &str, tool: &str, plan: Option<&str>, folder: Option<&Path>) -> Option<String> {
    let (first, call) = question.split_once('\n')?;
    if first == PLAN {
        let title = plan?.lines().map(|line| line.trim_matches(['#', ' '])).find(|line| !line.is_empty())?;
        return Some(format!("carry out this plan: {}", text::excerpt(&text::visible(title), LONGEST_VALUE)));
    }
    let mut lines = call.lines().map_while(|line| line.strip_prefix(INDENTATION)).peekable();
    let (name, value) = lines.next()?.split_once(':')?;
    let mut value = value.trim().to_owned();
    if value.is_empty() {
        let of_value = std::iter::from_fn(|| lines.next_if(|line| line.starts_with(INDENTATION)));
        value = of_value.map(str::trim).filter(|line| !line.is_empty()).take(MOST_LINES).collect::<Vec<_>>().join(" ⏎ ");
    }
    let changed = |line: &str| match line.strip_prefix(CHANGE) {
        Some(changed) => changed.strip_suffix(':').map(str::to_owned),
        None => line.starts_with(NEW).then(|| line.to_owned()),
    };
    let changed = lines.take(2).find_map(changed).map(|changed| format!(" ({changed})")).unwrap_or_default();
    let named = text::excerpt(&text::visible(&in_words(tool, "of")), LONGEST_PATH);
    let short = || text::excerpt(&value, LONGEST_VALUE);
    let words = match (tool, name) {
        ("WebFetch", "url") => format!("fetch {}", short()),
        ("WebSearch", "query") => format!("search {}", short()),
        (_, "file_path" | "notebook_path" | "filePath" | "path") => {
            format!("{named} {}{changed}", short_path(&value, folder))
        }
        _ => format!("{named}: {}", short()),
    };
    Some(if first.contains(ONCE_MORE[0]) { format!("(once more) {words}") } else { words })
}

/// A path below the folder without the folder. A long one is cut in its middle, so that its last part is seen.
fn short_path(path: &str, folder: Option<&Path>) -> String {
    let below = folder.and_then(|folder| Path::new(path).strip_prefix(folder).ok()).and_then(Path::to_str);
    let path = text::excerpt(below.filter(|below| !below.is_empty()).unwrap_or(path), usize::MAX);
    let length = path.chars().count();
    if length <= LONGEST_PATH {
        return path;
    }
    let (begin, end) = (LONGEST_PATH / 4, LONGEST_PATH - LONGEST_PATH / 4 - 1);
    path.chars().take(begin).chain(['…']).chain(path.chars().skip(length - end)).collect()
}

/// True if each line of the question about a call of this tool is one that askbox writes.
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

    fn short(tool: &str, call: &str) -> Option<String> {
        in_short(&format!("{}\n{call}", first_line(tool, None)), tool, None, Some(Path::new("/work")))
    }

    #[test]
    fn a_call_in_short_names_its_object() {
        let deep = format!("/work/{}settings.py", "long/".repeat(20));
        for (tool, call, expected) in [
            ("Bash", "    command: git push", "Bash: git push"),
            ("Bash", "    command:\n        cd x\n        rm y", "Bash: cd x ⏎ rm y"),
            ("Edit", "    file_path: /work/a.py\n    change −2 +2:\n        line 1:\n        - a", "Edit a.py (−2 +2)"),
            (
                "Write",
                "    file_path: /work/.git/hooks/x\n    new, 120 lines\n    content:\n        y",
                "Write .git/hooks/x (new, 120 lines)",
            ),
            ("Write", "    file_path: /etc/x\n    content: change 1:", "Write /etc/x"),
            ("WebFetch", "    url: https://x.org\n    prompt: what", "fetch https://x.org"),
            ("mcp__notes__add", "    text: milk", "add of notes: milk"),
            ("Read", &format!("    file_path: {deep}"), "Read long/long/…ng/long/long/long/settings.py"),
        ] {
            assert_eq!(short(tool, call).as_deref(), Some(expected));
        }
        assert_eq!(short("Bash", "In the folder /work"), None);
        assert!(is_first_line("May the agent call add of server notes?", "mcp__notes__add"));
        assert!(is_first_line("May the agent call mcp__notes__add?", "mcp__notes__add"));
    }

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
