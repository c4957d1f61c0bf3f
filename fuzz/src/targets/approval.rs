//! Tool calls that a person has to allow: the rules that name them, and the question that shows one.

use std::path::Path;

use askbox::config::ToolRule;
use askbox::id::WorkflowId;
use askbox::mailbox::documents::checks::check_question;
use askbox::run::approval::ask::{self, Shown};
use askbox::run::approval::call::Call;
use serde_json::{Map, Value};

use super::promises;

/// The first line is a rule, the rest `{"tool", "input", "cwd"}`. A question shows its call completely and safely, and shows no other
/// call. A rule that names a command also names it behind another command, and names whatever a shell reads from a pipe.
pub fn approval(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let (rule, call) = text.split_once('\n').unwrap_or((text, ""));
    let rule = rule.parse::<ToolRule>().inspect(|read| assert_eq!(read.to_string(), rule)).ok();
    let Ok(call) = serde_json::from_str::<Value>(call) else { return };
    let (Some(tool), Some(input), Some(cwd)) = (call["tool"].as_str(), call["input"].as_object(), call["cwd"].as_str()) else { return };
    shown(&Call { tool, input, cwd: Path::new(cwd) });
    let (Some(rule), Some(command)) = (rule, input.get("command").and_then(Value::as_str)) else { return };
    let names = |command: &str| rule.names(tool, &Map::from_iter([("command".to_owned(), Value::from(command))]));
    // A shell could read any command from any text.
    if tool == "Bash" && rule.to_string().ends_with(":*)") {
        assert!(names(&format!("{command} | sh")), "{rule} does not name what {command:?} gives to a shell");
    }
    // The text of an exact rule may only look like a command, such as an operator alone. It may then be a part of another text.
    if rule.to_string().ends_with(":*)") && names(command) {
        for behind in ["true; ", "true && ", "(", "if true; then ", "true\n", "function f { ", "X=1 ", "<<<x ", "noglob "] {
            assert!(names(&format!("{behind}{command}")), "{rule} does not name {behind:?} {command:?}");
        }
    }
}

fn shown(call: &Call<'_>) {
    let workflow: WorkflowId = "w".parse().expect("an id");
    for how in [Shown::First, Shown::PerhapsMade("at noon by ann".into())] {
        let Ok(question) = ask::question(&workflow, call, how) else { return };
        // A call of a tool with such a name is refused when its question is posted.
        let is_no_name = call.tool.is_empty() || call.tool.len() > 256;
        assert_eq!(check_question::check(&question).is_err(), is_no_name, "{question:?}");
        promises::is_shown_safely(&question.question);
        let ours = ["May the agent call ", "    ", "In the folder ", "The agent says: "];
        assert!(question.question.lines().all(|line| ours.iter().any(|begin| line.starts_with(begin))), "{}", question.question);
        assert!(ask::shows(&question, call));
        let mut more = call.input.clone();
        more.insert("x\u{0}y".into(), Value::Null);
        let others =
            [Call { input: &more, ..*call }, Call { cwd: Path::new("/elsewhere/entirely"), ..*call }, Call { tool: "x y z", ..*call }];
        assert!(others.iter().all(|other| !ask::shows(&question, other)), "{}", question.question);
    }
}
