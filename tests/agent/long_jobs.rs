//! Long jobs: a context that fills up, a limit on money, the files that tell about the project, and searches.

use crate::agent::scene::{SESSION, Scene, system};
use crate::support::output;
use serde_json::{Value, json};

fn bash(command: &str) -> Value {
    json!({"tool": "Bash", "input": {"command": command}})
}

/// The API's words for a context that is full.
fn full() -> Value {
    let error = json!({"type": "invalid_request_error", "message": "prompt is too long: 208310 tokens > 200000 maximum"});
    json!({"status": 400, "body": json!({"type": "error", "error": error}).to_string()})
}

#[test]
fn a_full_context_with_a_large_summary_ends_the_turn() {
    let scene = Scene::new();
    let mut steps = vec![bash("echo a")];
    steps.extend(vec![full(); 9]);
    let result = scene.begin(&format!("x @@{}", json!(steps))).result();
    assert_eq!((&result["terminal_reason"], scene.turns().len()), (&json!("blocking_limit"), 3));
}

#[test]
fn the_limit_on_money_ends_the_turn_before_the_next_request() {
    let scene = Scene::new();
    let run = |budget: &str, prices: &str| {
        let steps = json!([bash("echo a"), bash("echo b"), {"text": "done"}]);
        let mut agent = scene.agent(&["--output-format", "json", "--max-budget-usd", budget]);
        output(agent.env("ASK_AGENT_PRICES", prices).arg(format!("x @@{steps}")))
    };
    // A reply has 1000 tokens of input and 100 of output.
    let ended = run("0.008", "[3,15]");
    let result = ended.json();
    assert_eq!((ended.code(), &result["subtype"], scene.turns().len()), (1, &json!("error_max_budget_usd"), 2));
    assert!((result["total_cost_usd"].as_f64().unwrap() - 0.009).abs() < 1e-9, "{result}");
    assert_eq!(run("1", "[3,15]").ok().json()["result"], "done");
    let refused = run("1", "");
    assert!(refused.stderr.contains("needs the prices") && refused.stderr.contains("ASK_AGENT_PRICES"), "{refused:?}");
}

#[test]
fn the_files_about_the_project_are_in_the_system_prompt() {
    let scene = Scene::new();
    std::fs::write(scene.path("CLAUDE.md"), "Use tabs.").unwrap();
    std::fs::write(scene.path("CLAUDE.local.md"), "Be brief.").unwrap();
    std::fs::create_dir_all(scene.path(".claude")).unwrap();
    std::fs::write(scene.path(".claude/CLAUDE.md"), "Speak French.").unwrap();
    let task = json!({"tool": "Task", "input": {"prompt": "child @@[{\"text\":\"ok\"}]"}});
    scene.begin(&format!("x @@{}", json!([task, {"text": "done"}]))).ok();
    for turn in scene.turns() {
        let prompt = system(&turn);
        let at = ["Speak French.", "Use tabs.", "Be brief."].map(|words| prompt.find(words).unwrap_or_else(|| panic!("{prompt}")));
        assert!(at.is_sorted(), "{prompt}");
    }
}

#[test]
fn a_search_finds_lines_and_stays_where_it_may() {
    let scene = Scene::new();
    for (file, text) in [
        ("src/a.rs", "fn one() {}\nfn Two() {}\n"),
        ("src/b.txt", "fn one\n"),
        ("secret/key", "fn one\n"),
        ("built/c.rs", "fn one\n"),
        (".hidden/d.rs", "fn one\n"),
        (".gitignore", "built\n"),
    ] {
        std::fs::create_dir_all(scene.path(file).parent().unwrap()).unwrap();
        std::fs::write(scene.path(file), text).unwrap();
    }
    std::fs::create_dir(scene.path(".git")).unwrap();
    std::os::unix::fs::symlink("/etc", scene.path("src/link")).unwrap();
    scene.settings(&json!({"permissions": {"deny": ["Read(secret/**)"]}}));
    let grep = |input: Value| json!({"tool": "Grep", "input": input});
    let steps = json!([
        grep(json!({"pattern": "fn one"})),
        grep(json!({"pattern": "fn two", "-i": true, "output_mode": "content", "path": "src"})),
        grep(json!({"pattern": "one", "glob": "*.rs"})),
        grep(json!({"pattern": "one", "path": "secret"})),
        grep(json!({"pattern": "root", "path": "/etc"})),
        grep(json!({"pattern": "("})),
        {"text": "done"},
    ]);
    let mode = ["--permission-mode", "dontAsk", "--session-id", SESSION];
    output(scene.careful_agent(&mode).arg(format!("x @@{steps}"))).ok();
    let told = scene.turns().last().unwrap().tool_results();
    let path = |file: &str| scene.path(file).display().to_string();
    assert_eq!(told[0], [path("src/a.rs"), path("src/b.txt")].join("\n"));
    assert_eq!(told[1], format!("{}:2:fn Two() {{}}", path("src/a.rs")));
    assert_eq!(told[2], path("src/a.rs"));
    assert!(told[3..5].iter().all(|text| text.starts_with("Permission to use Grep")), "{told:#?}");
    assert!(told[5].contains("not understood"), "{told:#?}");
}

mod promises {
    use super::*;

    #[test]
    fn a_full_context_is_summarised_and_the_transcript_keeps_all() {
        for is_told_by in ["an error", "the reply"] {
            let scene = Scene::new();
            let is_error = is_told_by == "an error";
            let half = json!({"text": "half a", "stop": "model_context_window_exceeded"});
            let long = bash("seq 1 20000; echo the-end");
            let summary = json!({"text": "We counted. Next: finish."});
            let steps = if is_error { json!([long, full(), summary]) } else { json!([long, half, summary]) };
            scene.api.on("[The context was full.", json!([{"text": "all done"}]));
            assert_eq!(scene.begin(&format!("x @@{steps}")).ok().result()["result"], "all done", "{is_told_by}");
            let turns = scene.turns();
            let (asked, after) = (&turns[turns.len() - 2], &turns[turns.len() - 1]);
            assert!(asked.model_text().contains("Your context is full") && asked.tool_results()[0].len() == 1000);
            assert_eq!(asked.body["tool_choice"]["type"], "none");
            assert_eq!(after.messages().len(), 1);
            assert!(after.model_text().ends_with("We counted. Next: finish."), "{}", after.model_text());
            let transcript = std::fs::read_to_string(scene.transcript()).unwrap();
            assert!(transcript.contains("the-end") && transcript.contains("isCompactSummary"));
            let jq = format!("jq -s 'map(select(.message).message)' {}", scene.transcript().display());
            let messages: Value = serde_json::from_str(&scene.sh(&jq)).unwrap();
            assert_eq!((&messages[0]["role"], &messages[1]["content"][0]["name"]), (&json!("user"), &json!("Bash")));
            // The next process goes on from the summary.
            output(scene.agent(&["--resume", SESSION]).arg(r#"more @@[{"text":"two"}]"#)).ok();
            assert_eq!(scene.turns().last().unwrap().messages().len(), 3);
        }
    }
}
