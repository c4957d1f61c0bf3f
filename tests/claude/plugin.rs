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

#[test]
fn news_reach_the_model_once_and_a_turn_without_news_adds_nothing() {
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

/// What the model is told last in a session whose subagent posts a question.
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
fn a_question_that_a_subagent_posts_is_told_once_when_the_subagent_has_ended() {
    for in_background in [false, true] {
        let said = told_after_a_subagent_asked(in_background);
        assert_eq!(said.matches("sub: \"Which colour?\"").count(), 1, "in the background: {in_background}: {said}");
        assert!(said.contains("call AskUserQuestion"), "{said}");
    }
}

#[test]
fn without_a_question_the_plugin_costs_a_session_less_than_600_tokens() {
    let world = ClaudeWorld::new();
    world.make_mailbox();
    let size = |args: &[&str]| {
        world.prompt_stream(r#"@@[{"text":"done"}]"#, args).ok();
        world.api.turns().last().expect("a turn").body.to_string().len()
    };
    let (without, with) = (size(&[]), size(&["--plugin-dir", &plugin()]));
    let tokens = with.saturating_sub(without) / 4;
    println!("the plugin costs {tokens} tokens ({with} bytes instead of {without})");
    assert!(with > without && tokens < 600, "{tokens}");
}
