//! The plugin as a person gets it, and a subagent's question from its asking to the answer, in a session at a terminal.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::ClaudeWorld;
use crate::support::Terminal;
use crate::support::claude::bash;
use crate::support::{output, until};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

fn agent(prompt: &str) -> Value {
    let input = json!({"description": "work", "prompt": prompt, "subagent_type": "general-purpose", "run_in_background": false});
    json!({"tool": "Agent", "input": input})
}

/// `askbox setup` in the world, with the folder of settings of its `claude`.
fn set_up(world: &ClaudeWorld) {
    let said = world.run("askbox", &["setup", "--yes", "--without", "service"]).ok();
    assert!(said.stdout.contains("skills/askbox/hooks/hooks.json: new"), "{said:?}");
}

#[test]
fn the_marketplace_of_the_repository_installs_the_plugin_and_setup_then_leaves_it_alone() {
    let world = ClaudeWorld::new();
    for args in [&["plugin", "marketplace", "add", ROOT][..], &["plugin", "install", "askbox@askbox"], &["plugin", "list"]] {
        let outcome = output(world.claude().args(args)).ok();
        assert!(outcome.stdout.contains("askbox"), "{args:?}: {outcome:?}");
    }
    let said = world.run("askbox", &["setup", "--dry-run", "--without", "service"]).ok().stdout;
    assert!(said.contains("settings.json") && !said.contains("skills/askbox"), "{said}");
}

#[test]
fn a_subagents_question_says_who_asks_and_no_rule_is_bypassed() {
    let world = ClaudeWorld::new();
    world.make_mailbox();
    world.api.on("Sub work.", json!([bash("ask-post -w sub 'Which colour?'"), {"text": "over"}]));
    let plugin = Path::new(ROOT).join("plugin").display().to_string();
    for (rule, is_asked) in [("Read", false), ("Bash(ask-post:*)", true)] {
        let rule = format!("--allowedTools={rule}");
        world.prompt_stream(&format!("Do it. @@{}", json!([agent("Sub work."), {"text": "done"}])), &["--plugin-dir", &plugin, &rule]).ok();
        assert_eq!(world.in_mailbox("pending/sub.json").exists(), is_asked, "{rule}");
    }
    let question = world.json(world.in_mailbox("pending/sub.json"));
    let by = question["asked_by"].as_str().unwrap_or_default().to_owned();
    assert!(by.strip_prefix("general-purpose ").is_some_and(|id| id.len() > 8), "{by:?}");
}

#[test]
fn the_session_may_answer_without_an_approval_and_its_subagents_may_not() {
    let world = ClaudeWorld::new();
    set_up(&world);
    world.ask("w", &["Which?"]);
    world.api.on("Sub work.", json!([bash("ask-answer w sub"), {"text": "over"}]));
    world
        .prompt_stream(&format!("Do it. @@{}", json!([agent("Sub work."), bash("ask-answer w both; touch x"), {"text": "done"}])), &[])
        .ok();
    assert!(world.in_mailbox("pending/w.json").exists(), "neither a subagent nor a second command is let through");
    world.prompt_stream(&format!("Do it. @@{}", json!([bash("ask-answer w 'the session'"), {"text": "done"}])), &[]).ok();
    assert_eq!(world.json(world.in_mailbox("answered/w.json"))["answer"]["value"], "the session");
}

#[test]
fn a_subagents_question_goes_to_the_person_at_the_terminal_and_the_agent_is_relaunched_without_a_permission_prompt() {
    let mut world = ClaudeWorld::new();
    world.keep_watching_from_the_start();
    set_up(&world);
    let settings = json!({
        "hasCompletedOnboarding": true, "theme": "dark", "customApiKeyResponses": {"approved": ["dummy"], "rejected": []},
        "projects": {world.work().display().to_string(): {"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true}},
    });
    std::fs::write(world.claude_config().join(".claude.json"), settings.to_string()).expect("settings");
    world.api.on("Sub work.", json!([
        bash("checkpoint save sub --step look --next-action 'paint it'"), bash("ask-post -w sub 'Which colour?' -o red='warm' -o blue='cold'"), {"text": "QUESTION_POSTED:sub"}]));
    world.api.on("Resume workflow sub", json!([{"text": "painted"}]));
    let question = json!({"questions": [{"question": "Which colour?", "header": "Question", "multiSelect": false,
        "options": [{"label": "red", "description": "warm"}, {"label": "blue", "description": "cold"}]}]});
    world.api.on(
        "Paint it.",
        json!([
        agent("Sub work."), bash("ask-answer show sub --format ask-user-question"), {"tool": "AskUserQuestion", "input": question},
        bash("ask-answer sub red"), {"text": "The answer is handed on."}]),
    );
    for n in 0..16 {
        world.api.on(&format!("Quiet {n}."), json!([{"text": format!("Heard {n}.")}]));
    }
    world.api.on("And now?", json!([{"text": "All told."}]));
    let program = world.claude_program().display().to_string();
    let terminal = Terminal::running(&world, (120, 50), &[], &[&program]);
    terminal.see("❯");
    let say = |words: &str| {
        terminal.press(&["-l", words]);
        terminal.see(words);
        terminal.press(&["Enter"]);
    };
    say("Paint it.");
    let asked = terminal.see("Enter to select");
    assert!(asked.contains("Which colour?") && asked.contains("blue"), "{asked}");
    terminal.press(&["Enter"]);
    terminal.see("The answer is handed on.");
    until("the run with the answer", || world.state("sub") == "delivered");
    say("And now?");
    terminal.see("All told.");
    let last = |marker: &str| world.api.turns().iter().rfind(|turn| turn.model_text().contains(marker)).expect("a turn").model_text();
    assert!(last("And now?").contains("- sub: its run finished"), "{}", last("And now?"));
    let before = last("And now?").matches("askbox: ").count();
    for n in 0..16 {
        say(&format!("Quiet {n}."));
        terminal.see(&format!("Heard {n}."));
    }
    assert_eq!(last("Quiet 15.").matches("askbox: ").count(), before, "a turn without news adds nothing");
    assert_eq!(world.json(world.in_mailbox("checkpoints/sub.json"))["user_answer"], "red");
}
