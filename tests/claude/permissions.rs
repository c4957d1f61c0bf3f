//! The decisions about 200 calls, by `claude` and by `ask-agent`: `permissions.txt` has them, and both decide so.
//!
//! A group of calls begins with `=`, and names the permission mode, the rules, and what a hook before each call says. Each call has the
//! decision in front: it is allowed, asked about, or refused. `claude` also allows commands that only read, such as `ls`, without a rule.
//! `ask-agent` does not know them, and a rule of it that refuses a command refuses it with more words, too. So none of both is here. `ASKBOX_WRITE_DOCS=1` writes the decisions of `claude`.

use std::collections::HashSet;
use std::path::Path;

use crate::support::ClaudeWorld;
use crate::support::claude::live::Live;
use crate::support::in_parallel;
use serde_json::{Value, json};

const TABLE: &str = include_str!("permissions.txt");
const DECISIONS: [&str; 3] = ["allowed", "asked", "refused"];

/// The settings that the head of a group names.
fn settings(head: &str) -> (String, Value) {
    let mut parts = head.trim_start_matches("= ").split("; ");
    let mode = parts.next().unwrap().to_owned();
    let mut settings = json!({"permissions": {}});
    for part in parts {
        let (kind, what) = part.split_once(' ').unwrap();
        if kind == "hook" {
            let says = json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": what, "permissionDecisionReason": "denied"}});
            let command = format!("echo '{says}'");
            settings["hooks"] = json!({"PreToolUse": [{"hooks": [{"type": "command", "command": command}]}]});
        } else {
            settings["permissions"][kind] = what.split(", ").collect();
        }
    }
    (mode, settings)
}

fn step(call: &str, work: &Path) -> Value {
    let (tool, what) = call.split_once(' ').unwrap();
    let input = match tool {
        "Bash" => json!({"command": what}),
        "Read" => json!({"file_path": work.join(what)}),
        "Write" => json!({"file_path": work.join(what), "content": "x\n"}),
        _ => json!({"pattern": what}),
    };
    json!({"tool": tool, "input": input})
}

/// The decisions about the calls of a group.
fn decide(is_claude: bool, head: &str, calls: &[&str]) -> Vec<&'static str> {
    let world = ClaudeWorld::without_askbox();
    for file in ["README.md", "src/a.rs", "docs/a.md", "docs/deep/b.md", "secret/key", "secret/other", "../outside/o.txt"] {
        let path = world.work().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "x\n").unwrap();
    }
    let (mode, settings) = settings(head);
    let steps: Vec<Value> = calls.iter().map(|call| step(call, world.work())).chain([json!({"text": "done"})]).collect();
    let mut command = if is_claude { world.claude() } else { world.command("ask-agent") };
    command.args(["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]);
    command.args(["--permission-prompt-tool", "stdio", "--permission-mode", &mode, "--settings", &settings.to_string()]);
    let mut live = Live::spawn(command);
    live.say("1b0e4c6e-3c2f-4d4e-9d57-1f1f6a9a1c22", &format!("x @@{}", json!(steps)));
    let mut asked = HashSet::new();
    loop {
        let event = live.expect("a request or the end", |event| ["control_request", "result"].contains(&event["type"].as_str().unwrap()));
        if event["type"] == "result" {
            break;
        }
        asked.insert(event["request"]["tool_use_id"].as_str().unwrap().to_owned());
        live.permit(&event, &json!({"behavior": "deny", "message": "not now"}));
    }
    live.finish();
    let last = world.api.turns().pop().unwrap();
    let results: Vec<&Value> = last.messages().iter().filter_map(|message| message["content"].as_array()).flatten().collect();
    let results: Vec<&&Value> = results.iter().filter(|block| block["type"] == "tool_result").collect();
    assert_eq!(results.len(), calls.len(), "{head}");
    let decision = |result: &&&Value| {
        let text = result["content"].to_string();
        let is_refused = ["ermission to", "hook error", "No such tool", "requires approval", "denied", "permission"]
            .iter()
            .any(|words| text.contains(words));
        match asked.contains(result["tool_use_id"].as_str().unwrap()) {
            true => "asked",
            false if result["is_error"] == true && is_refused => "refused",
            false => "allowed",
        }
    };
    results.iter().map(decision).collect()
}

/// The table with the decisions of one program.
fn table(is_claude: bool) -> String {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in TABLE.lines() {
        match line.strip_prefix("= ") {
            Some(_) => groups.push((line, Vec::new())),
            None => groups
                .last_mut()
                .unwrap()
                .1
                .push(line.split_once(' ').filter(|(first, _)| DECISIONS.contains(first)).map_or(line, |(_, call)| call)),
        }
    }
    let texts: Vec<std::sync::Mutex<String>> = groups.iter().map(|_| Default::default()).collect();
    in_parallel(4, &(0..groups.len()).collect::<Vec<_>>(), |n| {
        let (head, calls) = &groups[*n];
        let decided = decide(is_claude, head, calls);
        let lines = calls.iter().zip(decided).map(|(call, decision)| format!("{decision} {call}\n"));
        *texts[*n].lock().unwrap() = format!("{head}\n{}", lines.collect::<String>());
    });
    texts.into_iter().map(|text| text.into_inner().unwrap()).collect()
}

mod promises {
    use super::*;

    #[test]
    fn claude_and_ask_agent_decide_alike_about_200_calls() {
        let theirs = table(true);
        if std::env::var_os("ASKBOX_WRITE_DOCS").is_some() {
            std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/claude/permissions.txt"), &theirs).unwrap();
        }
        let ours = table(false);
        let mut head = "";
        let mut different = Vec::new();
        for (their, our) in theirs.lines().zip(ours.lines()) {
            head = if their.starts_with('=') { their } else { head };
            if their != our {
                different.push(format!("{head}\n    claude: {their}\n    ask-agent: {our}"));
            }
        }
        assert!(different.is_empty(), "{} differ:\n{}", different.len(), different.join("\n"));
        assert_eq!(theirs, TABLE, "the decisions are in tests/claude/permissions.txt");
        assert!(TABLE.lines().filter(|line| !line.starts_with('=')).count() >= 200);
    }
}
