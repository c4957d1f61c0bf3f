//! The chain of the first sketch, four levels deep, with the real `claude` on every level, proved by what the API received.

use crate::support::ClaudeWorld;
use crate::support::claude::api::digest;
use crate::support::claude::bash;
use serde_json::json;

const FILES: [&str; 4] = ["ins1-a.md", "ins2-sa.md", "ins3-ssa.md", "ins4-sssa.md"];

#[test]
fn the_birthday_travels_to_the_root_for_one_turn_a_level() {
    let mut world = ClaudeWorld::new();
    world.configure("[runner.claude]\nallowed_tools = [\"Bash(ask-post:*)\", \"Bash(relaunch spawn:*)\"]\n");
    let seed = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/seed");
    let section = world.run("askbox", &["init", "--claude-md"]).ok().stdout;
    std::fs::write(world.work().join("CLAUDE.md"), &section).expect("a file");
    for (n, file) in FILES.iter().enumerate() {
        let path = world.work().join(file);
        std::fs::copy(seed.join(file), &path).expect("a copy");
        let read = json!({"tool": "Read", "input": {"file_path": path}});
        let action = match FILES.get(n + 1) {
            Some(next) => bash(&format!("relaunch spawn {next}")),
            None => bash("ask-post 'When is your birthday?'"),
        };
        // Past its last step it ends with what the tool said: the seed's "terminate with the sub-agent's reply".
        world.api.on(&format!("{file} and follow its instructions."), json!([read, action]));
    }
    world.api.on("User chose: 1 May", json!([{"text": "1 May"}]));
    world.api.on("What you started has ended.", json!([{"text": "It is 1 May"}]));
    world.keep_watching_from_the_start();

    let said = world.run("relaunch", &["spawn", FILES[0]]).ok().stdout;
    let root = said.strip_prefix("SGN_PEND_STARTED (").and_then(|s| s.strip_suffix(")\n")).unwrap_or_else(|| panic!("{said:?}")).to_owned();
    let turns = world.api.turns();
    let sessions: std::collections::BTreeSet<_> = turns.iter().filter_map(|t| t.session_id()).collect();
    assert_eq!(sessions.len(), 4);
    // Every level knows our words, and read its instructions.
    let row = section.lines().find(|l| l.starts_with("| _spawn_ ")).expect("a row of the table");
    assert!(turns.iter().all(|t| t.model_text().contains(row)), "{row}");
    for words in ["_spawn_ `ins2-sa.md`", "_spawn_ `ins3-ssa.md`", "_spawn_ `ins4-sssa.md`", "_ask_ \"When is your birthday?\""] {
        assert!(turns.iter().any(|t| t.tool_results().join("\n").contains(words)), "{words}");
    }
    assert_eq!(world.names("pending").len(), 1);
    let leaf = world.names("pending")[0].trim_end_matches(".json").to_owned();
    assert_eq!(world.status(&leaf)["question"], "When is your birthday?");

    // Waiting: fifty looks and another watcher, and not one request of any kind.
    let before = world.api.requests().len();
    for n in 0..50 {
        assert_eq!(world.run("relaunch", &["resume", &root]).ok().stdout, "SGN_PEND_ONGOING\n");
        if n == 25 {
            world.stop_watching();
            world.keep_watching();
        }
    }
    assert_eq!(world.api.requests().len(), before);

    world.answer(&leaf, "1 May");
    let status = world.wait_status(&root, "finished", |s| s["state"] == "delivered");
    assert_eq!(status["result"], "It is 1 May");
    let after = world.api.turns().split_off(turns.len());
    assert_eq!(after.len(), 4, "one turn a level: {}", digest(&after));
    assert!(after[0].model_text().contains("User chose: 1 May"));
    for request in &after[1..] {
        let told = request.model_text();
        assert_eq!(told.matches("What you started has ended.").count(), 1, "{told}");
        assert!(told.contains("finished. Its reply:\n"), "{told}");
    }
    // Each in a fork of its own session.
    let forks = world.launches().split_off(4);
    assert_eq!(forks.len(), 4);
    assert!(forks.iter().all(|l| l.args.contains("--fork-session")), "{forks:#?}");
    let total = world.api.requests().len();
    assert_eq!(world.run("relaunch", &["resume", &root]).ok().stdout, "It is 1 May\n");
    assert_eq!(world.api.requests().len(), total);
}
