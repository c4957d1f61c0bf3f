//! The seed's chain, four deep, with the real `claude` on every level. What the API received is the proof.

use crate::support::service::{Service, bash};
use serde_json::json;

const FILES: [&str; 4] = ["ins1-a.md", "ins2-sa.md", "ins3-ssa.md", "ins4-sssa.md"];

#[test]
fn the_birthday_travels_from_the_leaf_to_the_root_for_one_turn_a_level_and_waiting_costs_nothing() {
    let mut service = Service::new();
    service.configure("[runner.claude]\nallowed_tools = [\"Bash(ask-post:*)\", \"Bash(relaunch spawn:*)\"]\n");
    let seed = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/seed");
    let section = service.call("askbox", &["init", "--claude-md"]).ok().stdout;
    std::fs::write(service.home.work().join("CLAUDE.md"), &section).expect("a file");
    for (n, file) in FILES.iter().enumerate() {
        let path = service.home.work().join(file);
        std::fs::copy(seed.join(file), &path).expect("a copy");
        let read = json!({"tool": "Read", "input": {"file_path": path}});
        let action = match FILES.get(n + 1) {
            Some(next) => bash(&format!("relaunch spawn {next}")),
            None => bash("ask-post 'When is your birthday?'"),
        };
        // Past its last step it ends with what the tool said: the seed's "terminate with the sub-agent's reply".
        service.api.on(&format!("{file} and follow its instructions."), json!([read, action]));
    }
    service.api.on("User chose: 1 May", json!([{"text": "1 May"}]));
    service.api.on("What you started has ended.", json!([{"text": "It is 1 May"}]));
    service.watch_on_nothing();

    let said = service.call("relaunch", &["spawn", FILES[0]]).ok().stdout;
    let root = said.strip_prefix("SGN_PEND_STARTED (").and_then(|s| s.strip_suffix(")\n")).unwrap_or_else(|| panic!("{said:?}")).to_owned();
    let turns = service.api.turns();
    let sessions: std::collections::BTreeSet<_> = turns.iter().filter_map(|t| t.session_id()).collect();
    assert_eq!(sessions.len(), 4);
    // Every level knows our words, and read its instructions.
    let row = section.lines().find(|l| l.starts_with("| _spawn_ ")).expect("a row of the table");
    assert!(turns.iter().all(|t| t.model_text().contains(row)), "{row}");
    for words in ["_spawn_ `ins2-sa.md`", "_spawn_ `ins3-ssa.md`", "_spawn_ `ins4-sssa.md`", "_ask_ \"When is your birthday?\""] {
        assert!(turns.iter().any(|t| t.tool_results().join("\n").contains(words)), "{words}");
    }
    assert_eq!(service.files("pending").len(), 1);
    let leaf = service.files("pending")[0].trim_end_matches(".json").to_owned();
    assert_eq!(service.status(&leaf)["question"], "When is your birthday?");

    // Waiting: fifty looks and another watcher, and not one request of any kind.
    let before = service.api.requests().len();
    for n in 0..50 {
        assert_eq!(service.call("relaunch", &["resume", &root]).ok().stdout, "SGN_PEND_ONGOING\n");
        if n == 25 {
            service.stop_watching();
            service.watch();
        }
    }
    assert_eq!(service.api.requests().len(), before);

    service.answer(&leaf, "1 May");
    let status = service.wait_status(&root, "finished", |s| s["state"] == "delivered");
    assert_eq!(status["result"], "It is 1 May");
    let after = service.api.turns().split_off(turns.len());
    assert_eq!(after.len(), 4, "one turn a level: {}", crate::support::api::digest(&after));
    assert!(after[0].model_text().contains("User chose: 1 May"));
    for request in &after[1..] {
        let told = request.model_text();
        assert_eq!(told.matches("What you started has ended.").count(), 1, "{told}");
        assert!(told.contains("finished. Its reply:\n"), "{told}");
    }
    // Each in a fork of its own session.
    let forks = service.launches().split_off(4);
    assert_eq!(forks.len(), 4);
    assert!(forks.iter().all(|l| l.args.contains("--fork-session")), "{forks:#?}");
    let total = service.api.requests().len();
    assert_eq!(service.call("relaunch", &["resume", &root]).ok().stdout, "It is 1 May\n");
    assert_eq!(service.api.requests().len(), total);
}
