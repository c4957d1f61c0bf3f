//! The agent asks a person, exits, and goes on with the answer, alone and below other agents.

use crate::agent::scene::{SESSION, Scene};
use crate::support::{Outcome, output};
use serde_json::{Value, json};

fn ask(question: &str) -> Value {
    json!({"tool": "AskUserQuestion", "input": {"questions": [{"question": question, "header": "DB", "multiSelect": false,
        "options": [{"label": "pg", "description": "A server"}, {"label": "sqlite", "description": "A file"}]}]}})
}

#[track_caller]
fn waits(outcome: Outcome) -> Value {
    let result = outcome.ok().result();
    assert_eq!((&result["terminal_reason"], &result["is_error"]), (&json!("tool_deferred"), &json!(false)), "{result:#}");
    result
}

const ANSWERED: &str = r#"Your questions have been answered: "Which DB?"="sqlite". You can now continue with these answers in mind."#;

#[test]
fn a_person_reads_what_to_do_where_no_program_reads() {
    let scene = Scene::new();
    let task = format!("x @@{}", json!([ask("Which DB?"), {"text": "all done"}]));
    let asked = output(scene.agent(&["--session-id", SESSION]).arg(task)).ok();
    assert_eq!(asked.stdout, format!("QUESTION_POSTED:{SESSION}\n"));
    assert!(asked.stderr.contains(&format!("ask-agent --resume {SESSION}")), "{asked:?}");
    scene.ok("ask-answer", &[SESSION, "pg"]);
    assert_eq!(output(&mut scene.agent(&["--resume", SESSION])).ok().stdout, "all done\n");
}

#[test]
fn a_refusal_and_a_question_back_are_told_as_such() {
    let scene = Scene::new();
    waits(scene.begin(&format!("x @@{}", json!([ask("Which DB?"), ask("Which DB, then?"), {"text": "done"}]))));
    scene.ok("ask-answer", &["decline", SESSION, "--note", "not mine"]);
    waits(scene.go_on());
    let told = scene.turns()[1].tool_results();
    assert!(told[0].contains("declined to answer") && told[0].contains("not mine"), "{told:?}");
    scene.ok("ask-answer", &["ask-back", SESSION, "Why a DB?"]);
    scene.go_on().ok();
    let told = scene.turns()[2].tool_results();
    assert!(told[1].contains("asks back") && told[1].contains("Why a DB?"), "{told:?}");
}

#[test]
fn a_call_decided_for_good_is_asked_about_once() {
    let scene = Scene::new();
    let call = |command: &str| json!({"tool": "Bash", "input": {"command": command}});
    let (made, no) = (call("echo made >> effects"), call("echo no >> effects"));
    let steps = json!([made, made, no, no, {"text": "done"}]);
    waits(output(scene.careful_agent(&["--output-format", "stream-json", "--session-id", SESSION]).arg(format!("x @@{steps}"))));
    let go_on = || output(&mut scene.careful_agent(&["--output-format", "stream-json", "--resume", SESSION]));
    let decide = |is_it: fn(&str) -> bool, note: &str| {
        let shown = scene.ok("ask-answer", &["show", SESSION]);
        let line = shown.lines().map(str::trim).find(|line| line.starts_with("ask-answer") && is_it(line)).expect("a line to copy");
        scene.sh(&format!("{line}{note}"));
    };
    decide(|line| line.contains(" workflow --round "), "");
    waits(go_on());
    decide(|line| line.contains("--always"), " --note 'not here'");
    assert_eq!(go_on().ok().result()["result"], "done");
    assert_eq!(std::fs::read_to_string(scene.path("effects")).unwrap(), "made\nmade\n");
    let told = scene.turns()[4].tool_results();
    assert!(told[2].contains("not here") && told[3].contains("not here"), "{told:?}");
}

#[test]
fn the_model_is_told_what_ran_after_a_changed_call() {
    let scene = Scene::new();
    let steps =
        json!([{"tool": "Bash", "input": {"command": "echo one"}}, {"tool": "Bash", "input": {"command": "echo two"}}, {"text": "done"}]);
    let args = ["--output-format", "stream-json", "--session-id", SESSION];
    waits(output(scene.careful_agent(&args).arg(format!("x @@{steps}"))));
    let go_on = || output(&mut scene.careful_agent(&["--output-format", "stream-json", "--resume", SESSION]));
    let round = || scene.seen(SESSION);
    std::fs::write(scene.path("edited"), "echo 1").unwrap();
    scene.ok("ask-answer", &["edit", SESSION, "--input", &scene.path("edited").display().to_string(), "--round", &round()]);
    waits(go_on());
    let result = scene.turns()[1].tool_results().pop().expect("the result");
    assert!(
        result.starts_with("1\n") && result.contains("Your user changed this call of Bash") && result.contains("but this: echo 1\n"),
        "{result}"
    );
    scene.ok("ask-answer", &[SESSION, "once", "--note", "and no more", "--round", &round()]);
    assert_eq!(go_on().ok().result()["result"], "done");
    let result = scene.turns()[2].tool_results().pop().expect("the result");
    assert!(result.starts_with("two\n") && result.contains("Your user allowed this call of Bash, and says: and no more"), "{result}");
}

mod promises {
    use super::*;

    #[test]
    fn a_question_ends_the_process_and_its_answer_is_the_result() {
        let scene = Scene::new();
        waits(scene.begin(&format!("x @@{}", json!([ask("Which DB?"), {"text": "done"}]))));
        let asked = scene.document(&format!("pending/{SESSION}.json"));
        assert_eq!((&asked["question"], &asked["tool_call"]["name"]), (&json!("Which DB?"), &json!("AskUserQuestion")));
        // Too early: nothing happens, and nothing is asked twice.
        waits(scene.go_on());
        assert_eq!((scene.turns().len(), scene.names("pending").len()), (1, 1));
        scene.ok("ask-answer", &[SESSION, "sqlite"]);
        let result = scene.go_on().ok().result();
        assert_eq!(result["result"], "done");
        assert_eq!(scene.turns()[1].tool_results(), [ANSWERED]);
        assert_eq!(scene.rounds("closed", SESSION)[0]["closed"]["state"], "delivered");
        assert_eq!(scene.names("answered"), [] as [String; 0]);
    }

    #[test]
    fn a_chain_of_three_asks_sleeps_and_wakes() {
        let scene = Scene::new();
        scene.define("lead", "description: Leads\ntools: Task, Bash", "You lead.");
        let task = |kind: &str, prompt: String| json!({"tool": "Task", "input": {"subagent_type": kind, "prompt": prompt}});
        let leaf = json!([ask("Which DB?"), {"text": "the leaf chose"}]);
        let lead = json!([{"tool": "Bash", "input": {"command": "echo once >> effects"}}, task("general-purpose", format!("leaf @@{leaf}")), {"text": "led"}]);
        let steps = json!([task("lead", format!("lead @@{lead}")), {"text": "all done"}]);
        let result = waits(scene.begin(&format!("x @@{steps}")));
        assert_eq!(result["deferred_tool_use"]["name"], "AskUserQuestion");
        waits(scene.go_on());
        assert_eq!(scene.turns().len(), 4, "waiting costs no request");
        scene.ok("ask-answer", &[SESSION, "sqlite"]);
        assert_eq!(scene.go_on().ok().result()["result"], "all done");
        let turns = scene.turns();
        assert_eq!(turns[4].tool_results(), [ANSWERED]);
        assert_eq!(turns[5].tool_results()[1], "the leaf chose");
        assert_eq!(turns[6].tool_results(), ["led"]);
        assert_eq!(std::fs::read_to_string(scene.path("effects")).unwrap(), "once\n");
        assert_eq!(turns.len(), 7);
    }

    #[test]
    fn a_call_without_a_rule_waits_for_a_persons_permission() {
        let scene = Scene::new();
        let steps = json!([{"tool": "Bash", "input": {"command": "echo made >> effects"}}, {"tool": "Bash", "input": {"command": "echo no >> effects"}}, {"text": "done"}]);
        let args = ["--output-format", "stream-json", "--session-id", SESSION];
        waits(output(scene.careful_agent(&args).arg(format!("x @@{steps}"))));
        let go_on = || output(&mut scene.careful_agent(&["--output-format", "stream-json", "--resume", SESSION]));
        let allow = |word: &str| {
            let shown = scene.ok("ask-answer", &["show", SESSION]);
            let line = shown
                .lines()
                .map(str::trim)
                .find(|line| line.starts_with(&format!("ask-answer {SESSION} {word} --round ")))
                .expect("a line to copy")
                .to_owned();
            scene.sh(&line);
        };
        allow("once");
        waits(go_on());
        assert_eq!(std::fs::read_to_string(scene.path("effects")).unwrap(), "made\n");
        scene.ok("ask-answer", &["decline", SESSION]);
        assert_eq!(go_on().ok().result()["result"], "done");
        assert_eq!(std::fs::read_to_string(scene.path("effects")).unwrap(), "made\n");
        assert!(scene.turns()[2].tool_results()[1].contains("refused this call"));
    }
}
