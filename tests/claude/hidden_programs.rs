//! Settings of Claude Code with an `env.PATH` that hides askbox's programs from the agent's Bash.

use std::path::PathBuf;

use serde_json::json;

use crate::support::ClaudeWorld;
use crate::support::claude::bash;

/// A run of `w` that asks with `ask-post`, in a project or for a user whose settings set this PATH.
#[track_caller]
fn run_that_asks(file: impl Fn(&ClaudeWorld) -> PathBuf, config: &str) -> ClaudeWorld {
    let mut world = ClaudeWorld::new();
    let path = file(&world);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    std::fs::write(path, json!({"env": {"PATH": "/usr/bin:/bin"}}).to_string()).expect("settings");
    world.configure(config);
    world.keep_watching_from_the_start();
    world.ask("w", &["Begin?"]);
    world.api.on("User chose: begin", json!([bash("ask-post -w w 'Which?' -o a=A -o b=B"), {"text": "QUESTION_POSTED:w"}]));
    world.answer("w", "begin");
    world
}

#[test]
fn settings_that_hide_ask_post_keep_no_run_from_asking() {
    let files: [fn(&ClaudeWorld) -> PathBuf; 3] = [
        |world| world.claude_config().join("settings.json"),
        |world| world.work().join(".claude/settings.json"),
        |world| world.work().join(".claude/settings.local.json"),
    ];
    for file in files {
        let world = run_that_asks(file, "");
        world.wait_status("w", "the question", |_| world.names("pending") == ["w.json"] && world.names("running").is_empty());
        let said = format!("{} sets a PATH without askbox's programs", file(&world).display());
        let notes = world.notes("w");
        assert!(notes.iter().any(|note| note.contains(&said) && note.ends_with("; it was added for this run")), "{said}: {notes:?}");
    }
}

#[test]
fn a_run_that_does_not_find_ask_post_says_so() {
    // The operator's own settings take the place of the run's.
    let world = run_that_asks(|world| world.work().join(".claude/settings.json"), "[runner.claude]\nargs = ['--settings', '{}']\n");
    world.wait_state("w", "delivered");
    assert!(world.names("pending").is_empty());
    assert_eq!(world.status("w")["live"]["not_found"], "ask-post");
    let said = world.ok("relaunch", &["status", "w"]);
    assert!(said.contains("`ask-post` is not on the PATH of the agent's shell"), "{said}");
    let notes = world.notes("w");
    for words in ["the agent will not find `ask-post`: add it there", "the agent's shell does not find `ask-post`"] {
        assert_eq!(notes.iter().filter(|note| note.contains(words)).count(), 1, "{words}: {notes:?}");
    }
}
