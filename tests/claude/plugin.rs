//! The plugin in `plugin/`: it is valid, its hooks fire, and it costs few tokens.

use std::path::Path;

use serde_json::json;

use crate::support::ClaudeWorld;
use crate::support::claude::api::Request;
use crate::support::claude::{bash, uuid};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

fn plugin() -> String {
    Path::new(ROOT).join("plugin").display().to_string()
}

fn whole(request: &Request) -> String {
    request.model_text()
}

#[test]
fn the_plugin_and_the_marketplace_are_valid() {
    let world = ClaudeWorld::without_askbox();
    for place in [plugin(), ROOT.to_owned()] {
        let outcome = world.claude().args(["plugin", "validate", &place]).output().expect("claude");
        assert!(outcome.status.success(), "{place}: {outcome:?}");
    }
}

/// The model's newest message in a session whose subagent posts a question.
fn told_after_a_subagent_asked(in_background: bool) -> String {
    let world = ClaudeWorld::new();
    world.make_mailbox();
    world.api.on("Sub work.", json!([bash("ask-post -w sub 'Which colour?'"), {"text": "QUESTION_POSTED:sub"}]));
    let input =
        json!({"description": "work", "prompt": "Sub work.", "subagent_type": "general-purpose", "run_in_background": in_background});
    world.api.on("Do it all.", json!([{"tool": "Agent", "input": input}, {"text": "done"}, {"text": "heard"}]));
    let args = ["--plugin-dir", &plugin(), "--allowedTools=Bash(ask-post:*)"];
    world.prompt_stream("Do it all.", &args).ok();
    let of_the_session = |turn: &&Request| whole(turn).contains("Do it all.");
    whole(world.api.turns().iter().rfind(of_the_session).expect("a turn"))
}

#[test]
fn a_subagents_posted_question_is_told_once_at_its_end() {
    for in_background in [false, true] {
        let said = told_after_a_subagent_asked(in_background);
        assert_eq!(said.matches("sub: \"Which colour?\"").count(), 1, "in the background: {in_background}: {said}");
        assert!(said.contains("call AskUserQuestion"), "{said}");
    }
}

#[test]
fn the_session_passes_on_its_users_answer_unasked() {
    let world = ClaudeWorld::new();
    world.ask("w", &["Which database?"]);
    let steps = json!([bash("ask-answer list"), bash("ask-answer w pg --note 'as ever'"), {"text": "done"}]);
    let said = world.prompt_stream(&format!("@@{steps}"), &["--plugin-dir", &plugin()]).ok().stdout;
    assert!(said.contains(r#""permission_denials":[]"#), "{said}");
    let answer = &world.document("answered/w.json")["answer"];
    assert_eq!((&answer["value"], &answer["note"], &answer["through"]), (&json!("pg"), &json!("as ever"), &json!("agent")));
}

/// The definitions of the server's tools come into a session only when its model looks for them.
#[test]
fn without_a_question_the_plugin_costs_under_600_tokens() {
    let world = ClaudeWorld::new();
    world.make_mailbox();
    let request = |steps: &str, args: &[&str]| {
        world.prompt_stream(&format!("@@{steps}"), args).ok();
        world.api.turns().last().expect("a turn").body.clone()
    };
    let size = |args: &[&str]| request(r#"[{"text":"done"}]"#, args).to_string().len();
    let (without, with) = (size(&[]), size(&["--plugin-dir", &plugin()]));
    let tokens = with.saturating_sub(without) / 4;
    println!("the plugin costs {tokens} tokens ({with} bytes instead of {without})");
    assert!(with > without && tokens < 600, "{tokens}");

    let names = ["ask_user", "check_answer", "list_questions", "load_checkpoint", "run_status", "save_checkpoint", "stop_run"];
    let names = names.map(|name| format!("mcp__plugin_askbox_askbox__{name}"));
    let look =
        json!([{"tool": "ToolSearch", "input": {"query": format!("select:{}", names.join(",")), "max_results": 10}}, {"text": "done"}]);
    let loaded = request(&look.to_string(), &["--plugin-dir", &plugin()]);
    let defined = loaded["tools"].as_array().expect("tools").iter().filter(|tool| names.iter().any(|name| tool["name"] == *name));
    let sizes: Vec<_> = defined.map(|tool| (tool["name"].as_str().expect("a name"), tool.to_string().len() / 4)).collect();
    let all: usize = sizes.iter().map(|(_, tokens)| tokens).sum();
    println!("all its tools cost {all} tokens once they are loaded: {sizes:?}");
    assert!(sizes.len() == names.len() && all < 1200, "{all}: {sizes:?}");
}

#[test]
fn news_reach_the_model_once_and_other_turns_add_nothing() {
    let world = ClaudeWorld::new();
    world.ask("w", &["Which database?"]);
    let (session, plugin) = (uuid(), plugin());
    let say = |args: &[&str]| world.prompt_stream(r#"@@[{"text":"done"}]"#, &[&["--plugin-dir", &plugin], args].concat()).ok().stdout;
    let init = say(&["--session-id", &session]);
    for name in ["askbox:inbox", "askbox:answer", "askbox:tree", "askbox:stop", "askbox:ask-the-user", "askbox:questions-of-agents"] {
        assert!(init.contains(name), "{name} is not listed: {init}");
    }
    let first = whole(world.api.turns().last().expect("a turn"));
    assert_eq!(first.matches("w: \"Which database?\"").count(), 1, "{first}");
    world.answer("w", "pg");
    say(&["--resume", &session]);
    let second = whole(world.api.turns().last().expect("a turn"));
    assert_eq!(second.matches("- w: was answered").count(), 1, "{second}");
    say(&["--resume", &session]);
    let third = whole(world.api.turns().last().expect("a turn"));
    assert_eq!(third.matches("askbox: since you last looked").count(), 1, "only that of the turn before: {third}");
}
