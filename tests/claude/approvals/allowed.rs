//! A person is asked about a call: it is made once, exactly as it was shown, or not at all.

use serde_json::{Value, json};

use super::{allow_once_with_note, made, run_that_asks, told, wait_until_it_asks};
use crate::support::ClaudeWorld;
use crate::support::claude::bash;

/// Makes everything on disk look as if `hours` had passed.
fn let_hours_pass(world: &ClaudeWorld, hours: u32) {
    let ago = format!("{hours} hours ago");
    let folders = [world.mailbox().display().to_string(), world.claude_config().display().to_string()];
    world.sh(&format!("find '{}' '{}' -type f -exec touch -d '{ago}' {{}} +", folders[0], folders[1]));
    let path = world.in_mailbox("pending/w.json");
    let mut question = world.document("pending/w.json");
    let then = world.sh(&format!("date -u -d '{ago}' +%Y-%m-%dT%H:%M:%S.000Z"));
    question["timestamp"] = json!(then.trim());
    std::fs::write(&path, question.to_string()).expect("the question");
}

#[test]
fn a_note_beside_an_allowance_comes_with_the_calls_result() {
    let world = run_that_asks(&json!([bash("note one"), {"text": "it is noted"}]));
    allow_once_with_note(&world, "the walnut branch alone");
    world.wait_state("w", "delivered");
    assert_eq!(made(&world), ["one"]);
    let read = world.api.turns().pop().expect("a turn").model_text();
    assert!(read.contains("Your user allowed this call of Bash, and says: the walnut branch alone"), "{read}");
}

/// Changes the input of the call that waits in the session of the question.
fn change_the_input(world: &ClaudeWorld, asked: &Value, from: &str, to: &str) {
    let transcript = world.transcript_of(asked["session_id"].as_str().expect("a session")).expect("a transcript");
    let text = std::fs::read_to_string(&transcript).expect("it can be read");
    assert!(text.contains(from), "{from} is not in {text}");
    std::fs::write(transcript, text.replace(from, to)).expect("it can be written");
}

#[test]
fn a_question_whose_words_were_changed_allows_nothing() {
    let world = run_that_asks(&json!([bash("note secret"), {"text": "done"}]));
    let mut asked = world.document("pending/w.json");
    asked["question"] = json!("May the agent call Bash?\n    command: ls");
    world.forge_question("w", &asked);
    assert!(world.refused(5, "ask-answer show w").contains("an editable text that the question does not show"));
    asked["approval"]["editable"]["text"] = json!("ls");
    world.forge_question("w", &asked);
    world.answer("w", "once");
    let anew = wait_until_it_asks(&world, 2);
    assert!(anew["question"].as_str().is_some_and(|q| q.contains("command: note secret")), "{anew}");
    assert!(made(&world).is_empty());
}

#[test]
fn an_answer_made_by_hand_counts_if_it_is_exactly_the_word() {
    let world = super::world_with(&format!("{}[answers]\npermits_by_file = true\n", super::ASK));
    super::begin(&world, &json!([bash("note one"), {"text": "done"}]));
    wait_until_it_asks(&world, 1);
    let by_hand = |word: &str| {
        let mut question = world.document("pending/w.json");
        question["answer"] = json!(word);
        std::fs::write(world.path("by-hand.json"), question.to_string()).expect("a file");
        world.sh(&format!(
            "touch -d '1 hour ago' '{0}'; rm '{1}/pending/w.json'; mv '{0}' '{1}/answered/w.json'",
            world.path("by-hand.json").display(),
            world.mailbox().display()
        ));
    };
    by_hand("yes, once");
    world.wait_status("w", "pending again", |s| s["state"] == "pending" && world.names("answered").is_empty());
    by_hand("once");
    world.wait_state("w", "delivered");
    assert_eq!(made(&world), ["one"]);
}

#[test]
fn a_write_is_shown_whole_and_made_once() {
    let world = super::world_with("[approvals]\nask = ['Edit']\n");
    let file = world.work().join("a.txt");
    let input = json!({"file_path": file, "content": "first\n\u{202e}second\n"});
    super::begin(&world, &json!([{"tool": "Write", "input": input}, {"text": "done"}]));
    let asked = wait_until_it_asks(&world, 1);
    let text = asked["question"].as_str().expect("a text");
    assert!(
        text.contains("    content:\n        first\n        \\u{202e}second\n")
            && text.contains(&format!("    file_path: {}\n", file.display())),
        "{text}"
    );
    assert!(!file.exists());
    world.answer("w", "once");
    world.wait_state("w", "delivered");
    assert_eq!(std::fs::read_to_string(&file).expect("it was written"), "first\n\u{202e}second\n");
}

/// The question about a file that somebody has changed since it was asked about the first time.
fn shows_the_file_as_it_is(asked: &Value) {
    let text = asked["question"].as_str().expect("a text");
    assert!(text.contains("    change −1 +1:\n        line 1:\n        - somebody's\n        + the agent's\n"), "{text}");
}

#[test]
fn an_allowance_of_a_file_that_has_changed_is_asked_again() {
    let world = super::world_with("[approvals]\nask = ['Edit']\n");
    let file = world.work().join("a.txt");
    let write = json!({"tool": "Write", "input": {"content": "the agent's\n", "file_path": file}});
    super::begin(&world, &json!([write, {"text": "left it"}]));
    let asked = wait_until_it_asks(&world, 1);
    let text = asked["question"].as_str().expect("a text");
    assert!(text.contains("a.txt\n    new, 1 line\n    content:\n        the agent's\n"), "{text}");
    assert!(world.ok("ask-answer", &["list"]).contains("Write a.txt (new, 1 line)"));
    std::fs::write(&file, "somebody's\n").expect("a file");
    world.answer("w", "once");
    shows_the_file_as_it_is(&wait_until_it_asks(&world, 2));
    world.ok("ask-answer", &["decline", "w"]);
    world.wait_state("w", "delivered");
    assert_eq!(std::fs::read_to_string(&file).expect("the file"), "somebody's\n");
}

#[test]
fn a_held_call_whose_file_has_changed_is_asked_about_again() {
    let world = super::world_with("[limits]\nhold = '30m'\n");
    let file = world.work().join("a.txt");
    let write = json!({"tool": "Write", "input": {"content": "the agent's\n", "file_path": file}});
    super::begin(&world, &json!([write, {"text": "left it"}]));
    world.wait_status("w", "the question", |_| world.names("pending") == ["w.json"]);
    let first = world.document("pending/w.json");
    std::fs::write(&file, "somebody's\n").expect("a file");
    world.answer("w", "once");
    world.wait_status("w", "the next question", |_| {
        world.names("pending") == ["w.json"] && world.document("pending/w.json")["question_id"] != first["question_id"]
    });
    shows_the_file_as_it_is(&world.document("pending/w.json"));
    world.ok("ask-answer", &["decline", "w"]);
    world.wait_state("w", "delivered");
    assert_eq!((std::fs::read_to_string(&file).expect("the file").as_str(), world.launches().len()), ("somebody's\n", 1));
}

mod promises {
    use super::*;

    #[test]
    fn a_call_allowed_hours_later_is_made_exactly_once() {
        let mut world = run_that_asks(&json!([bash("note one 'and two'"), {"text": "it is noted"}]));
        let asked = world.document("pending/w.json");
        let text = asked["question"].as_str().expect("a text");
        assert!(text.starts_with("May the agent call Bash?\n    command: note one 'and two'\n"), "{text}");
        assert!(text.contains(&format!("In the folder {}", world.work().display())), "{text}");
        assert_eq!((&asked["free_text"], &asked["tool_call"]["name"]), (&json!(false), &json!("Bash")));
        world.stop_watching();
        let requests = world.api.turns().len();
        let_hours_pass(&world, 9);
        world.keep_watching();
        assert_eq!(
            (world.api.turns().len(), world.launches().len(), made(&world).len()),
            (requests, 1, 0),
            "nothing happens while it waits"
        );
        assert!(world.ok("ask-answer", &["list"]).contains("9h"));
        world.answer("w", "once");
        let status = world.wait_state("w", "delivered");
        assert_eq!((&status["result"], made(&world)), (&json!("it is noted"), vec!["one and two".to_owned()]));
        assert_eq!((world.api.turns().len(), told(&world)), (requests + 1, "noted one and two".to_owned()), "one request in all");
        assert_eq!(world.audit("w").iter().filter(|event| *event == "allowed").count(), 1);
    }

    #[test]
    fn a_call_that_is_refused_is_not_made_and_the_model_reads_why() {
        let world = run_that_asks(&json!([bash("note one"), {"text": "left it"}]));
        let refused = world.run("ask-answer", &["w", "go ahead", "--text"]);
        assert_eq!(refused.code(), 5, "words of one's own approve nothing: {refused:?}");
        assert_eq!(world.run("ask-answer", &["w", "Once"]).code(), 5);
        world.ok("ask-answer", &["decline", "w", "--note", "not on a Friday"]);
        assert_eq!(world.wait_state("w", "delivered")["result"], "left it");
        let told = told(&world);
        assert!(told.contains("The user refused this call. They say: not on a Friday"), "{told}");
        assert!(made(&world).is_empty());
    }

    #[test]
    fn an_input_that_changed_after_it_was_shown_is_asked_about_anew() {
        let world = run_that_asks(&json!([bash("note harmless"), {"text": "done"}]));
        let asked = world.document("pending/w.json");
        change_the_input(&world, &asked, "note harmless", "note something else");
        world.answer("w", "once");
        let anew = wait_until_it_asks(&world, 2);
        assert!(anew["question"].as_str().is_some_and(|q| q.contains("command: note something else")), "{anew}");
        assert_eq!(anew["tool_call"], asked["tool_call"], "the very same call");
        assert!(made(&world).is_empty());
        world.answer("w", "once");
        world.wait_state("w", "delivered");
        assert_eq!(made(&world), ["something else"], "{}", world.describe("w"));
    }
}
