//! `relaunch spawn --agent`: the API receives the prompt of that agent, and an unknown name launches nothing.

use crate::support::ClaudeWorld;
use crate::support::claude::api::Request;
use crate::support::claude::bash;
use serde_json::json;

/// A project with a reviewer of its own, and a user with one for all projects.
fn project() -> ClaudeWorld {
    let world = ClaudeWorld::new();
    let define = |folder: std::path::PathBuf, name: &str, text: &str| {
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::write(folder.join(name), text).expect("a file");
    };
    let projects = world.work().join(".claude/agents");
    let head = "name: reviewer\ndescription: Reviews.\nmodel: haiku\ntools: Read, Bash";
    define(projects.clone(), "reviewer.md", &format!("---\n{head}\n---\nYou are the walnut reviewer.\n"));
    define(projects, "odd.md", "---\nname: my odd agent\ndescription: d\n---\nYou are the odd one.\n");
    define(world.claude_config().join("agents"), "reviewer.md", "---\nname: reviewer\ndescription: d\n---\nYou are nobody.\n");
    define(world.claude_config().join("agents"), "users.md", "---\nname: users\ndescription: d\n---\nYou belong to the user.\n");
    world
}

fn system(request: &Request) -> String {
    request.body["system"].to_string()
}

#[test]
fn the_agents_prompt_model_and_tools_are_what_the_api_gets() {
    let mut world = project();
    world.keep_watching_from_the_start();
    world.api.on("look at it", json!([{"text": "two findings"}]));
    let spawn = |args: &[&str]| world.run("relaunch", &[&["spawn", "--prompt", "look at it"], args].concat()).ok().stdout;

    assert_eq!(spawn(&["--agent", "reviewer"]), "two findings\n");
    let turn = world.api.turns().pop().expect("a turn");
    assert!(system(&turn).contains("You are the walnut reviewer."), "{}", system(&turn));
    assert!(turn.body["model"].as_str().is_some_and(|m| m.starts_with("claude-haiku-")), "{}", turn.body["model"]);
    let tools = turn.tools();
    assert!(["Read", "Bash"].iter().all(|t| tools.iter().any(|o| o == t)), "{tools:?}");
    assert!(!tools.iter().any(|t| ["Write", "Edit", "Agent"].contains(&t.as_str())), "{tools:?}");

    assert_eq!(spawn(&["--agent", "reviewer", "--model", "sonnet"]), "two findings\n");
    let turn = world.api.turns().pop().expect("a turn");
    assert!(system(&turn).contains("You are the walnut reviewer."));
    assert!(turn.body["model"].as_str().is_some_and(|m| m.starts_with("claude-sonnet-")), "{}", turn.body["model"]);

    for (name, words) in [("users", "You belong to the user."), ("my odd agent", "You are the odd one.")] {
        assert_eq!(spawn(&["--agent", name]), "two findings\n");
        let turn = world.api.turns().pop().expect("a turn");
        assert!(system(&turn).contains(words), "{name}: {}", system(&turn));
    }

    // claude takes the tools of a built-in agent, but not its prompt.
    spawn(&["--agent", "Explore"]);
    let tools = world.api.turns().pop().expect("a turn").tools();
    assert!(tools.iter().any(|t| t == "Read") && !tools.iter().any(|t| t == "Write" || t == "Edit"), "{tools:?}");

    spawn(&[]);
    let turn = world.api.turns().pop().expect("a turn");
    assert!(
        !system(&turn).contains("walnut") && turn.tools().iter().any(|t| t == "Write"),
        "somebody's prompt without --agent: {}",
        system(&turn)
    );
    assert_eq!(world.api.turns().len(), 6);
}

#[test]
fn an_agent_that_asks_is_the_same_agent_when_it_is_woken() {
    let mut world = project();
    world.keep_watching_from_the_start();
    world.api.on("look at it", json!([bash("ask-post 'Which file?' -w leaf"), {"text": "asked"}]));
    world.api.on("User chose: all", json!([{"text": "seen all"}]));
    let said = world.run("relaunch", &["spawn", "-w", "leaf", "--agent", "reviewer", "--prompt", "look at it"]).ok().stdout;
    assert_eq!(said, "SGN_PEND_STARTED (leaf)\n");
    world.answer("leaf", "all");
    let status = world.wait_status("leaf", "finished", |s| s["state"] == "delivered" && s["result"] == "seen all");
    assert_eq!(status["result"], "seen all");
    let turns = world.api.turns();
    assert_eq!(turns.len(), 3);
    for turn in &turns {
        assert!(system(turn).contains("You are the walnut reviewer."), "{}", system(turn));
        assert!(turn.body["model"].as_str().is_some_and(|m| m.starts_with("claude-haiku-")), "{}", turn.body["model"]);
    }
    assert!(turns[2].model_text().contains("User chose: all"));
}

#[test]
fn an_undefined_agent_name_is_parked_and_the_parent_told() {
    let mut world = project();
    world.configure("[runner.claude]\nallowed_tools = [\"Bash(relaunch spawn:*)\"]\n");
    world.keep_watching_from_the_start();
    let outcome = world.run("relaunch", &["spawn", "-w", "child", "--agent", "Reviewer", "--prompt", "look at it"]);
    assert_eq!(outcome.status.code(), Some(1), "{outcome:?}");
    let why = "there is no agent `Reviewer`; known here: ";
    assert!(outcome.stdout.starts_with(&format!("parked (child): {why}")), "{outcome:?}");
    for name in ["my odd agent", "reviewer", "users"] {
        assert!(outcome.stdout.contains(name), "{outcome:?}");
    }
    assert_eq!(outcome.stdout.lines().count(), 1);
    assert_eq!(world.api.requests().iter().filter(|r| r.path.starts_with("/v1/messages")).count(), 0);
    // Once: waiting does not mend it.
    assert_eq!(world.launches().len(), 1);
    let parked = world.names("parked").pop().expect("a parked round");
    let round = parked.trim_start_matches("child.").trim_end_matches(".json");
    let run = world.document(&format!("runs/child/{round}/1/run.json"));
    assert_eq!(run["failure"]["class"], "role");
    assert_eq!(run["failure"]["todo"], "define it, or name another: askbox agents list");

    // A parent's Bash gets one line and a status. A parent that says no more than that waits for its child.
    world.api.on("start one", json!([bash("relaunch spawn -w second --agent nobody --prompt go")]));
    let said = world.run("relaunch", &["spawn", "-w", "parent", "--prompt", "start one"]).ok().stdout;
    assert_eq!(said, "SGN_PEND_STARTED (parent)\n");
    let told = world.api.turns().pop().expect("a turn").tool_results().pop().expect("a result");
    assert!(told.starts_with("Exit code 1\nparked (second): there is no agent `nobody`; known here: "), "{told}");

    // It goes on once the name is defined.
    let file = world.work().join(".claude/agents/late.md");
    std::fs::write(file, "---\nname: Reviewer\ndescription: d\n---\nYou came late.\n").expect("a file");
    world.api.on("look at it", json!([{"text": "seen"}]));
    world.run("relaunch", &["retry", "child"]).ok();
    world.wait_status("child", "finished", |s| s["state"] == "delivered" && s["result"] == "seen");
    assert!(system(&world.api.turns().pop().expect("a turn")).contains("You came late."));
}

#[test]
fn an_invalid_agent_name_is_refused_at_once() {
    let world = project();
    for name in ["", " ", "-x", "a\nb"] {
        let outcome = world.run("relaunch", &["spawn", &format!("--agent={name}"), "--prompt", "go"]);
        assert_eq!(outcome.status.code(), Some(2), "{name:?}: {outcome:?}");
        assert!(outcome.stderr.contains("--agent"), "{outcome:?}");
    }
}

#[test]
fn an_agents_file_gives_it_no_permission() {
    let mut world = project();
    world.configure("[approvals]\nask_stopped = false\n");
    let file = world.work().join(".claude/agents/bold.md");
    std::fs::write(file, "---\nname: bold\ndescription: d\ntools: Bash\npermissionMode: bypassPermissions\n---\nYou are bold.\n")
        .expect("a file");
    world.keep_watching_from_the_start();
    world.api.on("make it", json!([bash("touch made"), {"text": "tried"}]));
    let said = world.run("relaunch", &["spawn", "--agent", "bold", "--prompt", "make it"]).ok().stdout;
    assert_eq!(said, "tried\n");
    let turn = world.api.turns().pop().expect("a turn");
    assert!(system(&turn).contains("You are bold."));
    assert!(turn.tool_results()[0].starts_with("Not permitted in this unattended run."), "{:?}", turn.tool_results());
    assert!(!world.work().join("made").exists());
}
