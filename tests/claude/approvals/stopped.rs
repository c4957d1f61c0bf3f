//! Calls that no rule of the operator names: only the rules of Claude Code stop them. The run holds such a call, and then ends for it.

use std::time::Duration;

use serde_json::{Value, json};

use super::{allow_once_with_note, begin, made, told, wait_until_it_asks, world_with};
use crate::support::claude::bash;
use crate::support::process::kill;
use crate::support::{ClaudeWorld, asleep, sleeps};

/// A run of `w` that goes through these steps and holds a call for so long.
#[track_caller]
fn run_that_holds(hold: &str, steps: &Value) -> ClaudeWorld {
    let world = world_with(&format!("[limits]\nhold = '{hold}'\n[relaunch]\nbackoff = '10ms'\n"));
    begin(&world, steps);
    world
}

/// Waits until the live run asks about a call. Returns the question.
#[track_caller]
fn wait_until_it_holds(world: &ClaudeWorld) -> Value {
    world.wait_status("w", "the question", |_| world.names("pending") == ["w.json"]);
    let asked = world.document("pending/w.json");
    assert!(asked["approval"].is_object() && world.names("running").len() == 1, "{asked}");
    asked
}

/// The session is told about the answer, and then goes through these steps.
fn then(world: &ClaudeWorld, about: &str, steps: &Value) {
    world.api.on(about, steps.clone());
}

#[test]
fn an_unanswered_call_ends_the_run_and_is_made_once_later() {
    let mut world = run_that_holds("1s", &json!([bash("note one")]));
    let asked = wait_until_it_asks(&world, 1);
    assert_eq!(world.rounds("closed", "w")[0]["closed"]["state"], "delivered");
    let requests = world.api.turns().len();
    world.stop_watching();
    world.keep_watching();
    assert_eq!((world.api.turns().len(), world.launches().len(), made(&world).len()), (requests, 1, 0), "nothing happens while it waits");
    then(&world, "User chose: once", &json!([bash("note one"), bash("note one"), {"text": "done"}]));
    world.answer("w", "once");
    // The second call is identical to the first, and it is not allowed.
    let anew = wait_until_it_asks(&world, 2);
    assert_eq!(made(&world), ["one"]);
    assert_ne!(anew["question_id"], asked["question_id"]);
    assert!(anew["question"].as_str().is_some_and(|q| q.starts_with("May the agent call Bash?\n")), "{anew}");
    assert_eq!(world.api.turns().len(), requests + 2, "the call again, and its result");
    let answered = world.rounds("closed", "w").len();
    then(&world, "They say: once is enough", &json!([{"text": "left it"}]));
    world.ok("ask-answer", &["decline", "w", "--note", "once is enough"]);
    world.wait_status("w", "the end", |s| s["state"] == "delivered" && world.rounds("closed", "w").len() == answered + 1);
    assert_eq!(made(&world), ["one"]);
}

#[test]
fn the_plan_of_a_run_is_shown_to_a_person_and_carried_out() {
    let world =
        world_with("[limits]\nhold = '30m'\n[runner.claude]\npermission_mode = 'plan'\nallowed_tools = ['Bash(note:*)', 'Bash(hold:*)']\n");
    world.add_hold("hold");
    begin(&world, &json!([bash("hold"), {"tool": "ExitPlanMode", "input": {}}, bash("note one"), {"text": "done"}]));
    world.wait_for_hold("hold");
    // Claude Code reads the plan from the file that it has named to the model.
    let told_to_model = world.api.turns().pop().expect("a turn").body.to_string();
    let at = told_to_model.find("/plans/").expect("the plan's file is named");
    let is_end = |c: char| c.is_whitespace() || "\"\\`'()".contains(c);
    let begins = told_to_model[..at].rfind(is_end).expect("its begin") + 1;
    let ends = at + told_to_model[at..].find(is_end).expect("its end");
    let file = std::path::Path::new(told_to_model[begins..ends].trim_end_matches('.'));
    std::fs::create_dir_all(file.parent().expect("a folder")).expect("it can be made");
    std::fs::write(file, "# Plan\n\nNote one.\n").expect("it can be written");
    world.release("hold");
    let asked = wait_until_it_holds(&world);
    assert!(asked["question"].as_str().is_some_and(|text| text.contains("# Plan") && text.contains("Note one.")), "{asked}");
    world.answer("w", "once");
    world.wait_status("w", "the end", |s| s["state"] == "delivered" && s["result"] == "done");
    assert_eq!(made(&world), ["one"]);
    let told = world.api.turns().iter().flat_map(|turn| turn.tool_results()).collect::<String>();
    assert!(told.contains("User has approved your plan"), "{told}");
}

#[test]
fn a_call_declined_while_the_run_waits_is_refused_in_words() {
    let world = run_that_holds("30m", &json!([bash("note one"), {"text": "left it"}]));
    wait_until_it_holds(&world);
    world.ok("ask-answer", &["decline", "w", "--note", "not on a Friday"]);
    assert_eq!(world.wait_state("w", "delivered")["result"], "left it");
    assert!(told(&world).contains("The user refused this call. They say: not on a Friday"), "{}", told(&world));
    assert!(made(&world).is_empty() && world.status("w")["live"]["refused"].is_null(), "{}", world.status("w"));
}

#[test]
fn a_note_beside_an_allowance_reaches_the_agent_that_waits() {
    let world = run_that_holds("30m", &json!([bash("note one"), {"text": "it is noted"}]));
    wait_until_it_holds(&world);
    allow_once_with_note(&world, "the walnut branch alone");
    world.wait_state("w", "delivered");
    assert_eq!(made(&world), ["one"]);
    let read = world.api.turns().pop().expect("a turn").model_text();
    assert!(read.contains("Your user allowed this call of Bash, and says: the walnut branch alone"), "{read}");
}

#[test]
fn a_note_beside_a_later_allowance_reaches_the_agent() {
    let world = run_that_holds("1s", &json!([bash("note one")]));
    wait_until_it_asks(&world, 1);
    then(&world, "User chose: once", &json!([bash("note one"), {"text": "done"}]));
    allow_once_with_note(&world, "the walnut branch alone");
    world.wait_status("w", "the end", |s| s["state"] == "delivered" && s["result"] == "done");
    assert_eq!(made(&world), ["one"]);
    let read = world.api.turns().pop().expect("a turn").model_text();
    assert_eq!(read.matches("The user added: the walnut branch alone").count(), 1, "{read}");
}

#[test]
fn a_question_withdrawn_while_the_run_waits_refuses_the_call() {
    let world = run_that_holds("30m", &json!([bash("note one"), {"text": "left it"}]));
    wait_until_it_holds(&world);
    world.ok("ask-answer", &["cancel", "w"]);
    assert_eq!(world.wait_state("w", "delivered")["result"], "left it");
    assert!(told(&world).contains("Nobody allows this call: its question was withdrawn"), "{}", told(&world));
    assert!(made(&world).is_empty());
}

#[test]
fn a_call_with_another_input_is_a_new_question() {
    let world = run_that_holds("1s", &json!([bash("note one")]));
    wait_until_it_asks(&world, 1);
    then(&world, "User chose: once", &json!([bash("note two")]));
    world.answer("w", "once");
    let anew = wait_until_it_asks(&world, 2);
    assert!(anew["question"].as_str().is_some_and(|q| q.contains("command: note two")), "{anew}");
    assert!(made(&world).is_empty());
}

#[test]
fn a_call_in_another_folder_is_a_new_question() {
    let world = world_with("[limits]\nhold = '1s'\n");
    std::fs::create_dir(world.work().join("sub")).expect("a folder");
    begin(&world, &json!([bash("note one")]));
    wait_until_it_asks(&world, 1);
    then(&world, "User chose: once", &json!([bash("cd sub"), bash("note one")]));
    world.answer("w", "once");
    let anew = wait_until_it_asks(&world, 2);
    let sub = format!("In the folder {}", world.work().join("sub").display());
    assert!(made(&world).is_empty() && anew["question"].as_str().is_some_and(|q| q.contains(&sub)), "{anew}");
}

#[test]
fn a_call_allowed_to_the_workflow_needs_no_question() {
    let world = run_that_holds("1s", &json!([bash("note one")]));
    wait_until_it_asks(&world, 1);
    then(&world, "User chose: workflow", &json!([bash("note one"), bash("note one"), {"text": "done"}]));
    world.answer("w", "workflow");
    world.wait_status("w", "the end", |s| s["state"] == "delivered" && s["result"] == "done");
    assert_eq!(made(&world), ["one", "one"]);
    world.ask("w", &["More?"]);
    then(&world, "User chose: more", &json!([bash("note one"), {"text": "more is done"}]));
    world.answer("w", "more");
    world.wait_status("w", "the end", |s| s["state"] == "delivered" && s["result"] == "more is done");
    assert_eq!(made(&world).len(), 3);
    world.ok("relaunch", &["approve", "--revoke", "w"]);
    let rounds = world.rounds("closed", "w").len();
    world.ask("w", &["Again?"]);
    then(&world, "User chose: again", &json!([bash("note one"), {"text": "again is done"}]));
    world.answer("w", "again");
    wait_until_it_asks(&world, rounds + 1);
    assert_eq!(made(&world).len(), 3);
}

#[test]
fn a_run_whose_time_ends_while_it_holds_a_call_has_asked() {
    // Long enough for a busy machine to come to the call.
    let world = world_with("[limits]\nrun_time = '90s'\nhold = '30m'\n");
    begin(&world, &json!([bash("note one")]));
    wait_until_it_holds(&world);
    let requests = world.api.turns().len();
    wait_until_it_asks(&world, 1);
    assert_eq!((made(&world).len(), world.api.turns().len()), (0, requests), "the run ends without a request");
    then(&world, "User chose: once", &json!([bash("note one"), {"text": "done"}]));
    world.answer("w", "once");
    world.wait_status("w", "the end", |s| s["state"] == "delivered" && s["result"] == "done");
    assert_eq!(made(&world), ["one"]);
}

#[test]
fn a_foreground_run_that_ends_for_a_call_says_what_it_asks() {
    let world = ClaudeWorld::new();
    world.add_script("note", "echo noted");
    world.configure("[limits]\nhold = '1s'\n");
    world.api.on("Note the walnut.", json!([bash("note one"), {"text": "never said"}]));
    let ran = world.run("relaunch", &["run", "-w", "w", "--prompt", "Note the walnut."]).ok();
    let last = ran.stdout.lines().last().expect("a line");
    assert!(last.contains("asks") && last.ends_with("answer it: ask-answer w ANSWER"), "{ran:?}");
    assert!(!ran.stdout.contains("  failed"), "the turn did not fail: {ran:?}");
    assert_eq!(world.names("pending"), ["w.json"]);
    then(&world, "User chose: once", &json!([{"text": "done"}]));
    world.answer("w", "once");
    let streamed = world.run("relaunch", &["--json", "w"]).ok();
    assert_eq!(streamed.events().last().expect("an event")["type"], "result", "{streamed:?}");
}

#[test]
fn a_run_that_holds_a_call_sleeps_until_the_answer() {
    let world = run_that_holds("30m", &json!([bash("note one"), bash("note two"), bash("note three"), {"text": "done"}]));
    for n in 1..=3 {
        wait_until_it_holds(&world);
        if n == 1 {
            let supervisor = world.only_process("relaunch supervise");
            let (before, begun) = (asleep(supervisor), std::time::Instant::now());
            // Something else that takes its time.
            for _ in 0..200 {
                world.ok("checkpoint", &["path", "w"]);
            }
            let (woken, seconds) = (sleeps(supervisor) - before, begun.elapsed().as_secs_f64());
            assert!(woken as f64 <= 2.0 + seconds, "it woke up {woken} times in {seconds} seconds");
        }
        world.answer("w", "once");
        crate::support::until("the call", || made(&world).len() == n);
    }
    world.wait_state("w", "delivered");
    let took = wake_ups(&world);
    // Without file events it would look every ten seconds.
    assert!(took.len() == 3 && took.iter().any(|took| *took < Duration::from_secs(5)), "{took:?}");
}

/// How long the run took from each answer about a call until the call was allowed.
fn wake_ups(world: &ClaudeWorld) -> Vec<Duration> {
    let time = |at: &Value| chrono::DateTime::parse_from_rfc3339(at.as_str().expect("a time")).expect("a time");
    let audited = world.audited();
    let allowed = |round: &Value| {
        let entry = audited.iter().find(|entry| entry["event"] == "allowed" && entry["question_id"] == round["question_id"]);
        time(&entry.expect("the call was allowed")["at"])
    };
    let rounds = world.rounds("closed", "w");
    let about_calls = rounds.iter().filter(|round| round["approval"].is_object());
    about_calls.map(|round| (allowed(round) - time(&round["answer"]["at"])).to_std().unwrap_or_default()).collect()
}

#[test]
fn of_two_stopped_calls_in_one_message_each_is_asked_about() {
    let both = json!({"tools": [bash("note one"), bash("note two")]});
    let world = run_that_holds("30m", &json!([both, {"text": "done"}]));
    for _ in 0..2 {
        let asked = wait_until_it_holds(&world);
        world.answer("w", "once");
        world.wait_status("w", "the next question", |s| {
            s["state"] == "delivered"
                || (world.names("pending") == ["w.json"] && world.document("pending/w.json")["question_id"] != asked["question_id"])
        });
    }
    assert_eq!(world.wait_state("w", "delivered")["result"], "done");
    assert_eq!(made(&world), ["one", "two"]);
}

#[test]
fn two_stopped_calls_without_a_decision_end_the_run_once() {
    let both = json!({"tools": [bash("note one"), bash("note two")]});
    let world = run_that_holds("1s", &json!([both]));
    let asked = wait_until_it_asks(&world, 1);
    assert!(asked["question"].as_str().is_some_and(|q| q.contains("command: note one")), "{asked}");
    then(&world, "User chose: once", &json!([both, {"text": "done"}]));
    world.answer("w", "once");
    let next = wait_until_it_asks(&world, 2);
    assert!(next["question"].as_str().is_some_and(|q| q.contains("command: note two")), "{next}");
    assert_eq!(made(&world), ["one"]);
    let read = world.api.requests_with_text("User chose: once")[0].model_text();
    assert!(read.contains("were cut off with this one: Bash. They were not made."), "{read}");
}

#[test]
fn a_stop_while_a_call_is_held_withdraws_its_question() {
    let world = run_that_holds("30m", &json!([bash("note one"), {"text": "never said"}]));
    wait_until_it_holds(&world);
    world.ok("relaunch", &["stop", "w"]);
    world.wait_state("w", "interrupted");
    assert!(world.names("pending").is_empty() && made(&world).is_empty());
    assert!(world.rounds("closed", "w").iter().any(|round| round["closed"]["state"] == "withdrawn"));
}

#[test]
fn a_stopped_call_is_refused_where_that_is_switched_off() {
    let world = world_with("[approvals]\nask_stopped = false\n");
    begin(&world, &json!([bash("note one"), {"text": "left it"}]));
    assert_eq!(world.wait_state("w", "delivered")["result"], "left it");
    assert!(told(&world).contains("Not permitted in this unattended run"), "{}", told(&world));
    assert_eq!(world.status("w")["live"]["refused"], json!({"calls": 1, "rules": ["Bash(note:*)"]}));
    assert!(world.names("pending").is_empty() && made(&world).is_empty());
}

#[test]
fn rules_that_refuse_or_deny_ask_nobody() {
    let world = world_with("[approvals]\nrefuse = ['Bash(note:*)']\n");
    let settings = json!({"permissions": {"deny": ["Write"]}});
    std::fs::create_dir_all(world.claude_config()).expect("a folder");
    std::fs::write(world.claude_config().join("settings.json"), settings.to_string()).expect("settings");
    let write = json!({"tool": "Write", "input": {"file_path": world.work().join("a"), "content": "x"}});
    begin(&world, &json!([bash("note one"), write, {"text": "left both"}]));
    assert_eq!(world.wait_state("w", "delivered")["result"], "left both");
    assert_eq!(world.rounds("closed", "w").len(), 1, "nobody was asked");
    assert!(made(&world).is_empty() && !world.work().join("a").exists());
}

mod promises {
    use super::*;

    #[test]
    fn a_call_allowed_while_the_run_waits_is_made_at_once() {
        let world = run_that_holds("30m", &json!([bash("note one"), {"text": "it is noted"}]));
        let asked = wait_until_it_holds(&world);
        let text = asked["question"].as_str().expect("a text");
        assert!(text.contains("command: note one\n") && text.contains(&format!("In the folder {}", world.work().display())), "{text}");
        let requests = world.api.turns().len();
        world.answer("w", "once");
        world.wait_status("w", "the end", |s| s["state"] == "delivered" && s["result"] == "it is noted");
        assert_eq!((made(&world), world.launches().len()), (vec!["one".to_owned()], 1));
        assert_eq!((world.api.turns().len(), told(&world)), (requests + 1, "noted one".to_owned()), "one request, with the call's result");
        assert_eq!(world.audit("w").iter().filter(|event| *event == "allowed").count(), 1);
        assert!(world.status("w")["live"]["refused"].is_null());
    }

    #[test]
    fn a_supervisor_killed_while_it_holds_a_call_loses_nothing() {
        let world = run_that_holds("30m", &json!([bash("note one")]));
        wait_until_it_holds(&world);
        kill(world.only_process("relaunch supervise"));
        wait_until_it_asks(&world, 1);
        assert!(made(&world).is_empty());
        then(&world, "User chose: once", &json!([bash("note one"), {"text": "done"}]));
        world.answer("w", "once");
        world.wait_status("w", "the end", |s| s["state"] == "delivered" && s["result"] == "done");
        assert_eq!(made(&world), ["one"]);
    }
}
