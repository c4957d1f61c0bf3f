//! Lists of tools, as agent files write them.

use crate::agent::definitions::yaml::{Kind, Node};

/// The tools that claude has, or had: names that agent files hold.
const KNOWN: [&str; 50] = [
    "Agent",
    "AskUserQuestion",
    "Bash",
    "BashOutput",
    "CronCreate",
    "CronDelete",
    "CronList",
    "Edit",
    "EnterPlanMode",
    "EnterWorktree",
    "ExitPlanMode",
    "ExitWorktree",
    "Glob",
    "Grep",
    "KillBash",
    "KillShell",
    "LS",
    "LSP",
    "ListAgents",
    "ListMcpResources",
    "ListMcpResourcesTool",
    "Monitor",
    "MultiEdit",
    "NotebookEdit",
    "NotebookRead",
    "PowerShell",
    "Read",
    "ReadMcpResource",
    "ReadMcpResourceTool",
    "ReportFindings",
    "ScheduleWakeup",
    "SendMessage",
    "Skill",
    "SlashCommand",
    "StructuredOutput",
    "Task",
    "TaskCreate",
    "TaskGet",
    "TaskList",
    "TaskOutput",
    "TaskStop",
    "TaskUpdate",
    "TeamCreate",
    "TeamDelete",
    "TodoWrite",
    "ToolSearch",
    "WebFetch",
    "WebSearch",
    "Workflow",
    "Write",
];

/// The tools of a value: `None` for all of them. A text is split at commas and blanks outside of parentheses.
pub fn list(node: &Node) -> Option<Vec<String>> {
    let texts: Vec<&str> = match &node.kind {
        Kind::Text { text, .. } => vec![text],
        Kind::List(items) => {
            items.iter().filter_map(|i| if let Kind::Text { text, .. } = &i.kind { Some(text.as_str()) } else { None }).collect()
        }
        _ => Vec::new(),
    };
    let mut tools = Vec::new();
    for text in texts {
        let (mut tool, mut inside) = (String::new(), false);
        for c in text.chars() {
            match c {
                ',' | ' ' if !inside => tools.push(std::mem::take(&mut tool)),
                c => {
                    inside = (inside || c == '(') && c != ')';
                    tool.push(c);
                }
            }
        }
        tools.push(tool);
    }
    let tools: Vec<String> = tools.iter().map(|t| t.trim().to_owned()).filter(|t| !t.is_empty()).collect();
    (!tools.iter().any(|t| t == "*")).then_some(tools)
}

/// Why a tool is doubtful: the nearest known one, if any. Tools of MCP servers are anybody's.
pub fn doubt(tool: &str) -> Option<Option<&'static str>> {
    let name = tool.split('(').next().unwrap_or(tool);
    if KNOWN.contains(&name) || name.starts_with("mcp__") {
        return None;
    }
    Some(nearest(name, &KNOWN))
}

/// The known word that was probably meant.
#[must_use]
pub fn nearest<'k>(word: &str, known: &[&'k str]) -> Option<&'k str> {
    let plain = |w: &str| w.to_lowercase().replace(['-', '_', ' '], "");
    let (word, mut best) = (plain(word), (0.0, None));
    for known in known {
        let likeness = strsim::jaro_winkler(&word, &plain(known));
        if likeness > best.0 {
            best = (likeness, Some(*known));
        }
    }
    best.1.filter(|_| best.0 >= 0.85)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::definitions::yaml;

    #[test]
    fn tools_come_as_text_or_list_and_a_star_means_all() {
        let tools = |text: &str| list(&yaml::parse(text).unwrap());
        let are = |tools: &[&str]| Some(tools.iter().map(|t| (*t).to_owned()).collect::<Vec<_>>());
        assert_eq!(tools("Read, Bash(git log:*, x) Edit"), are(&["Read", "Bash(git log:*, x)", "Edit"]));
        assert_eq!(tools("[Read, 'Edit, Write', 3]"), are(&["Read", "Edit", "Write"]));
        assert_eq!(tools("'*'"), None);
        assert_eq!(tools("Read, *"), None);
        assert_eq!(tools("~"), are(&[]));
    }

    #[test]
    fn an_unknown_tool_is_told_with_the_one_that_was_meant() {
        assert_eq!(doubt("Bash(git:*)"), None);
        assert_eq!(doubt("mcp__x__y"), None);
        assert_eq!(doubt("read"), Some(Some("Read")));
        assert_eq!(doubt("Nonesuch"), Some(None));
    }
}
