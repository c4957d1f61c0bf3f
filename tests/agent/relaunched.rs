//! `relaunch` drives `ask-agent` as it drives `claude`: the configuration names the program, and nothing else is different.

use crate::agent::scene::Scene;
use crate::support::{Running, program, until};
use serde_json::{Value, json};

fn scene(more: &str) -> Scene {
    let scene = Scene::new();
    let runner = format!("[runner]\ndefault = \"small\"\n[runner.small]\nprogram = \"{}\"\n", program("ask-agent"));
    scene.configure(&format!("{runner}{more}"));
    scene.make_mailbox();
    scene
}

fn bash(command: &str) -> Value {
    json!({"tool": "Bash", "input": {"command": command}})
}

fn ask(question: &str) -> Value {
    let options = json!([{"label": "pg", "description": "A server"}, {"label": "sqlite", "description": "A file"}]);
    json!({"tool": "AskUserQuestion", "input": {"questions": [{"question": question, "header": "DB", "multiSelect": false, "options": options}]}})
}

const ANSWERED: &str = r#"Your questions have been answered: "Which DB?"="sqlite". You can now continue with these answers in mind."#;

/// Gives a new workflow `docs` a task, and waits until its first run has ended.
#[track_caller]
fn begin(scene: &Scene, steps: &Value) {
    scene.run("relaunch", &["run", "-w", "docs", "--prompt", &format!("Do the work. @@{steps}")]);
    until("the first run has ended", || ["pending", "delivered", "parked"].contains(&scene.state("docs").as_str()));
}

/// Answers, and waits until the run with the answer has delivered.
#[track_caller]
fn answer(scene: &Scene, value: &str, rounds: usize) {
    let shown = scene.ok("ask-answer", &["show", "docs"]);
    let command = format!("ask-answer docs {value} --round ");
    let copied = shown.lines().map(str::trim).find(|line| line.starts_with(&command));
    scene.sh(copied.unwrap_or(&format!("ask-answer docs {value}")));
    scene.closed("docs", "delivered", rounds);
}

#[test]
fn a_question_of_its_shell_comes_back_as_a_message() {
    let scene = scene("[relaunch]\nmode = \"fresh\"\n");
    scene.api.on("Resume workflow from checkpoint", json!([bash("checkpoint get docs user_answer"), {"text": "went on"}]));
    begin(&scene, &json!([bash("checkpoint save docs --step one"), bash("ask-post 'Merge?' -w docs -o a=A -o b=B"), {"text": "I exit."}]));
    assert_eq!(scene.state("docs"), "pending", "{:#?}", scene.status("docs"));
    let _watcher = scene.watch();
    answer(&scene, "a", 2);
    assert_eq!(scene.turns().last().unwrap().tool_results().pop().unwrap(), "a");
}

#[test]
fn a_stop_lets_its_tool_finish() {
    let scene = scene("allowed_tools = [\"Bash\"]\n");
    let wait = "touch begun; until [ -e go ]; do sleep 0.05; done; echo finished >> effects";
    let steps = json!([{"tools": [bash(wait), bash("echo second >> effects")]}, {"text": "done"}]);
    let _watcher = scene.watch();
    let run = Running::start(scene.command("relaunch").args(["run", "-w", "docs", "--prompt", &format!("x @@{steps}")]));
    until("the tool runs", || scene.path("begun").exists());
    let stop = Running::start(scene.command("relaunch").args(["stop", "docs"]));
    until("the stop is asked for", || !crate::support::files(&scene.in_mailbox("runs")).keys().all(|path| !path.ends_with("stop.json")));
    std::fs::write(scene.path("go"), "").unwrap();
    scene.reaches("docs", "interrupted");
    assert_eq!(std::fs::read_to_string(scene.path("effects")).unwrap(), "finished\n");
    drop((run, stop));
}

#[test]
fn an_unknown_role_is_refused_before_a_model_costs_anything() {
    let scene = scene("");
    scene.define("reviewer", "description: Reviews", "You review.");
    let task = r#"Look @@[{"text":"reviewed"}]"#;
    let known = scene.run("relaunch", &["spawn", "--prompt", task, "--agent", "reviewer", "-w", "known"]);
    assert!(known.stdout.contains("reviewed"), "{known:?}");
    assert_eq!(crate::agent::scene::system(&scene.turns()[0]), "You review.");
    let unknown = scene.run("relaunch", &["spawn", "--prompt", task, "--agent", "nobody", "-w", "unknown"]);
    assert!(unknown.words().contains("no agent `nobody`; known here: reviewer"), "{unknown:?}");
    assert_eq!(scene.turns().len(), 1);
}

#[test]
fn a_reply_that_is_not_enough_is_not_delivered() {
    let no = json!({"text": "no", "refuses": true});
    let half = json!({"text": "half a", "stop": "max_tokens"});
    let full = json!({"status": 400, "body": json!({"error": {"message": "prompt is too long: 2 tokens > 1 maximum"}}).to_string()});
    for (steps, class) in [
        (json!([no, no]), "refusal"),
        (json!([half, half, half, half, half, half, half]), "agent"),
        (json!(vec![full; 9]), "too_long"),
        (json!([{"cut": true, "error": "invalid_request_error"}]), "invalid_request"),
    ] {
        let scene = scene("[relaunch]\nattempts = 2\nbackoff = \"1s\"\n");
        begin(&scene, &steps);
        let status = scene.status("docs");
        assert_eq!((&status["state"], &status["failure"]), (&json!("parked"), &json!(class)), "{status:#}");
    }
}

#[test]
fn a_limit_on_money_holds_once_the_prices_are_known() {
    let scene = scene("[limits]\nrun_cost = 0.008\n[runner.small.env]\nASK_AGENT_PRICES = \"[3,15]\"\n");
    let list = json!({"tool": "TodoWrite", "input": {"todos": []}});
    begin(&scene, &json!([list, list, list, {"text": "done"}]));
    let status = scene.status("docs");
    assert_eq!((&status["state"], &status["failure"], scene.turns().len()), (&json!("parked"), &json!("budget"), 2), "{status:#}");
}

mod promises {
    use super::*;

    #[test]
    fn its_question_sleeps_and_the_call_gets_the_answer() {
        let scene = scene("");
        begin(
            &scene,
            &json!([{"text": "I look.", "tool": "Bash", "input": {"command": "checkpoint save docs --step one"}}, ask("Which DB?"), {"text": "done"}]),
        );
        assert_eq!(scene.state("docs"), "pending", "{:#?}", scene.status("docs"));
        let _watcher = scene.watch();
        answer(&scene, "sqlite", 2);
        let turns = scene.turns();
        assert_eq!(turns.len(), 3, "no request beyond those of the work");
        assert_eq!(turns[2].tool_results()[1], ANSWERED);
        let events = scene.run("relaunch", &["events", "docs"]).ok().events();
        let kinds: Vec<&str> = events.iter().filter_map(|event| event["type"].as_str()).collect();
        assert!(kinds.contains(&"tool_result") && kinds.contains(&"text") && kinds.last() == Some(&"result"), "{kinds:?}");
        assert!(!kinds.contains(&"raw"), "every line is understood: {events:#?}");
    }

    #[test]
    fn a_question_of_its_subagent_wakes_exactly_that_subagent() {
        let scene = scene("");
        let leaf = json!([ask("Which DB?"), {"text": "the leaf chose"}]);
        let task = json!({"tool": "Task", "input": {"subagent_type": "general-purpose", "description": "Choose", "prompt": format!("leaf @@{leaf}")}});
        begin(&scene, &json!([task, {"text": "done"}]));
        assert_eq!(scene.document("pending/docs.json")["question"], "Which DB?", "{:#?}", scene.status("docs"));
        let _watcher = scene.watch();
        answer(&scene, "sqlite", 2);
        let turns = scene.turns();
        assert_eq!(
            (turns.len(), turns[2].tool_results(), turns[3].tool_results()),
            (4, vec![ANSWERED.to_owned()], vec!["the leaf chose".to_owned()])
        );
    }

    #[test]
    fn a_protected_path_that_a_person_has_allowed_is_written() {
        let scene = scene("[approvals]\nask = [\"Write\"]\n");
        std::fs::create_dir_all(scene.path(".git")).unwrap();
        begin(&scene, &json!([{"tool": "Write", "input": {"file_path": ".git/config", "content": "mine"}}, {"text": "done"}]));
        let _watcher = scene.watch();
        answer(&scene, "once", 2);
        assert_eq!(
            std::fs::read_to_string(scene.path(".git/config")).unwrap_or_default(),
            "mine",
            "{:?}",
            scene.turns().last().unwrap().tool_results()
        );
    }

    #[test]
    fn a_call_that_a_rule_holds_is_made_once_after_the_permission() {
        let scene = scene("allowed_tools = [\"Bash\"]\n[approvals]\nask = [\"Bash(deploy:*)\"]\n");
        std::fs::write(scene.path("deploy"), "#!/bin/sh\necho deployed >> effects\necho ok\n").unwrap();
        begin(&scene, &json!([bash("deploy now || sh ./deploy"), {"text": "done"}]));
        assert!(!scene.path("effects").exists());
        let _watcher = scene.watch();
        answer(&scene, "once", 2);
        assert_eq!(std::fs::read_to_string(scene.path("effects")).unwrap(), "deployed\n");
        assert!(scene.turns()[1].tool_results()[0].ends_with("ok"));
    }
}
