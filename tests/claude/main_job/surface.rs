//! The permissions and the environment of a run, and the other ways to hand over an answer.

use crate::support::claude::bash;
use crate::support::{ClaudeWorld, LIMIT, Signal, asleep, signal};
use serde_json::json;

/// Proves that nothing else was launched: one more workflow goes the whole way, and then the launches are counted.
#[track_caller]
fn only_launched(world: &ClaudeWorld, times: usize) {
    world.api.on("User chose: sentinel", json!([{"text": "sentinel"}]));
    world.ask("sentinel", &["Sentinel?"]);
    world.answer("sentinel", "sentinel");
    world.wait_state("sentinel", "delivered");
    let launches = world.launches();
    assert_eq!(launches.len(), times + 1, "{launches:#?}");
}

#[test]
fn nothing_of_an_outer_session_reaches_the_agent_but_its_key() {
    let mut world = ClaudeWorld::new();
    world.configure("[runner.claude]\nallowed_tools = ['Bash(show-env:*)']\n");
    world.add_script("show-env", "env -0 > env.txt");
    world.make_mailbox();
    let outer = [
        ("CLAUDECODE", "1"),
        ("CLAUDE_CODE_SESSION_ID", "0b0d3a4e-0000-4000-8000-00000000000f"),
        ("CLAUDE_PID", "4711"),
        ("CLAUDE_CODE_ENTRYPOINT", "outer"),
        ("CLAUDE_EFFORT", "outer"),
        ("AI_AGENT", "outer"),
        ("ASKBOX_WORKFLOW_ID", "outer"),
        ("WORKFLOW_ID", "outer"),
    ];
    world.keep_watching_with(&outer);
    world.ask("w", &["Begin?"]);
    world.api.on("User chose: yes", json!([bash("show-env"), {"text": "shown"}]));
    world.answer("w", "yes");
    let status = world.wait_state("w", "delivered");
    let session = status["session_id"].as_str().expect("a session");

    let launch = &world.launches()[0];
    for name in ["CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_PID", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_EFFORT", "AI_AGENT"] {
        assert_eq!(launch.var(name), None, "{name}");
    }
    let config = world.claude_config().display().to_string();
    let expected = [
        ("ANTHROPIC_API_KEY", "dummy"),
        ("CLAUDE_CONFIG_DIR", &config),
        ("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1"),
        ("WORKFLOW_ID", "w"),
        ("ASKBOX_WORKFLOW_ID", "w"),
        ("ASKBOX_SESSION_ID", session),
    ];
    for (name, value) in expected {
        assert_eq!(launch.var(name), Some(value), "{name}");
    }
    let bash_env = std::fs::read_to_string(world.work().join("env.txt")).expect("the tool ran");
    let has = |line: &str| bash_env.split('\0').any(|l| l == line);
    assert!(has("ANTHROPIC_API_KEY=dummy") && has(&format!("CLAUDE_CODE_SESSION_ID={session}")), "{bash_env}");
    assert!(!bash_env.contains("outer") && !bash_env.contains("4711"), "{bash_env}");
}

#[test]
fn relaunch_with_an_id_runs_the_answer_in_the_foreground() {
    let world = ClaudeWorld::new();
    world.ask("w", &["Begin?"]);
    let early = world.run("relaunch", &["w"]);
    assert_eq!(early.status.code(), Some(6), "{early:?}");
    world.api.on("User chose: yes", json!([bash("checkpoint path w"), {"text": "all done"}]));
    world.answer("w", "yes");
    let ran = world.run("relaunch", &["w"]).ok();
    assert!(ran.stdout.contains("all done") && ran.stdout.contains("checkpoint path w"), "{ran:?}");
    assert_eq!(world.status("w")["state"], "delivered");
    let again = world.run("relaunch", &["w"]);
    assert_eq!(again.status.code(), Some(4), "{again:?}");
    assert_eq!(world.launches().len(), 1);
}

#[test]
fn a_run_that_waits_for_its_next_answer_gets_it_in_the_run() {
    let mut world = ClaudeWorld::new();
    world.keep_watching_from_the_start();
    world.ask("w", &["Begin?"]);
    world.api.on("User chose: yes", json!([bash("ask-post 'Left or right?' --wait 50s"), {"text": "went left"}]));
    world.answer("w", "yes");
    world.api.wait_for_text("User chose: yes", 1, LIMIT);
    world.wait_status("w", "asking", |_| world.names("pending") == ["w.json"]);
    world.answer("w", "left");
    world.wait_status("w", "over", |s| s["state"] == "delivered" && world.names("running").is_empty());
    assert_eq!(world.api.turns().pop().expect("a turn").tool_results(), ["left"], "{}", world.describe("w"));
    assert_eq!(world.names("closed").len(), 2);
    only_launched(&world, 1);
}

#[test]
fn relaunch_prompt_says_all_that_a_new_agent_needs() {
    let mut world = ClaudeWorld::new();
    world.configure("[relaunch]\nmode = 'resume'\n");
    world.keep_watching_from_the_start();
    world.ask("w", &["Begin?"]);
    world.api.on("User chose: yes", json!([bash("checkpoint save --step two"), bash("ask-post 'Left or right?'"), {"text": "asked"}]));
    world.answer("w", "yes");
    world.wait_status("w", "asking", |s| s["state"] == "pending" && s["question"] == "Left or right?");
    world.stop_watching();
    world.answer("w", "left");
    let prompt = world.run("relaunch", &["prompt", "w"]).ok().stdout;
    assert!(prompt.starts_with("Resume workflow from checkpoint at /") && prompt.contains("User chose: left"), "{prompt}");
}

mod promises {
    use super::*;

    #[test]
    fn a_run_may_ask_and_save_and_is_refused_everything_else() {
        let mut world = ClaudeWorld::new();
        world.configure("[approvals]\nask_stopped = false\n");
        world.keep_watching_from_the_start();
        world.ask("w", &["Begin?"]);
        let made = world.work().join("made");
        let steps = json!([
            bash("checkpoint save --step two --next-action three"),
            bash("touch made"),
            {"tool": "Write", "input": {"file_path": made, "content": "x"}},
            bash("ask-post 'Which DB?' -o pg=Postgres -o sqlite=SQLite"),
            {"text": "asked"}
        ]);
        world.api.on("User chose: yes", steps);
        world.answer("w", "yes");
        world.wait_status("w", "asking", |s| s["state"] == "pending" && s["question"] == "Which DB?");
        let closed = world.names("closed");
        assert_eq!(closed.len(), 1);
        assert_eq!(world.document(&format!("closed/{}", closed[0]))["closed"]["state"], "delivered");

        let results = world.api.turns().pop().expect("a turn").tool_results();
        assert_eq!(world.document("checkpoints/w.json")["current_step"], "two", "{results:?}");
        let refusal = "Not permitted in this unattended run. Go on without it, or ask your user with `ask-post` and end your turn.";
        assert_eq!((results[1].as_str(), results[2].as_str()), (refusal, refusal));
        assert_eq!(results[3], "QUESTION_POSTED:w");
        assert!(!made.exists());
        let round = closed[0].trim_start_matches("w.").trim_end_matches(".json");
        let events = std::fs::read_to_string(world.in_mailbox(format!("runs/w/{round}/1/events.jsonl"))).expect("events");
        let denied: Vec<&str> = events.lines().filter(|l| l.contains(r#""type":"permission""#)).collect();
        assert_eq!(denied.len(), 2, "{denied:#?}");
        assert!(denied.iter().all(|l| l.contains(r#""decision":"deny""#)));
        assert!(events.contains(r#""type":"question_posted""#), "{events}");
    }

    #[test]
    fn relaunch_prompt_hands_the_answer_to_a_main_agent() {
        let mut world = ClaudeWorld::new();
        world.ask("w", &["Begin?", "-o", "now=At once", "-o", "later=Tomorrow"]);
        world.answer("w", "now");
        let prompt = world.run("relaunch", &["prompt", "w"]).ok().stdout;
        assert!(
            prompt.starts_with("Resume workflow w. Checkpoint: (none was saved).") && prompt.contains("User chose: now (At once)"),
            "{prompt}"
        );
        assert_eq!(world.status("w")["state"], "delivered");
        assert_eq!(world.run("relaunch", &["prompt", "w"]).status.code(), Some(4));
        world.keep_watching();
        only_launched(&world, 0);
    }

    #[test]
    fn a_waiting_asker_receives_the_answer_and_no_agent_is_launched() {
        let mut world = ClaudeWorld::new();
        world.keep_watching_from_the_start();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                world.wait_state("w", "pending");
                // The asker is stopped while the answer comes and the watcher looks: still nobody takes it away. It waits, so it has let go
                // of the workflow's lock.
                let asker = world.processes("--wait 50s");
                asker.iter().for_each(|pid| {
                    asleep(*pid);
                    signal(*pid, Signal::STOP);
                });
                world.answer("w", "left");
                only_launched(&world, 0);
                assert_eq!(world.status("w")["state"], "answered");
                asker.iter().for_each(|pid| signal(*pid, Signal::CONT));
            });
            let outcome = world.user_session(&json!([bash("ask-post 'Left or right?' -w w --wait 50s"), {"text": "went left"}]));
            assert_eq!(outcome.result()["result"], "went left");
        });
        assert_eq!(world.api.turns().pop().expect("a turn").tool_results(), ["left"], "{}", world.describe("w"));
        world.wait_state("w", "delivered");
        assert_eq!(world.launches().len(), 1, "only the sentinel");
    }
}
