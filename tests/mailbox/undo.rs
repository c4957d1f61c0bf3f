//! An answer is taken back as long as nothing has taken it; otherwise the person is told why not.

use crate::support::{World, until};

fn answered(world: &World, more: &[&str]) {
    world.ok("checkpoint", &["save", "w", "--step", "one"]);
    world.ok("ask-post", &[&["-w", "w", "Merge?", "-o", "a=A", "-o", "b=B"], more].concat());
    world.ok("ask-answer", &["w", "a", "--by", "ann", "--note", "quickly"]);
}

/// Runs `ask-answer undo w`, which must be refused with status 4 and these words.
#[track_caller]
fn refused(world: &World, words: &str) {
    let out = world.run("ask-answer", &["undo", "w"]);
    assert_eq!(out.code(), 4, "{out:?}");
    assert!(out.stderr.contains(words), "{}", out.stderr);
}

#[test]
fn an_answer_that_is_taken_back_leaves_the_question_as_it_was_and_another_answer_counts() {
    let world = World::at_home();
    answered(&world, &["--timeout", "2h"]);
    let round = world.round("w");
    let said = world.ok("ask-answer", &["undo", "w", "--by", "ann"]);
    assert!(
        said.starts_with("w: taken back (answered by ann through ask-answer") && said.ends_with("the question waits again\n"),
        "{said}"
    );
    let pending = world.document("pending/w.json");
    assert_eq!((pending["question_id"].as_str(), pending.get("answer")), (Some(round.as_str()), None));
    let checkpoint = world.document("checkpoints/w.json");
    assert!(checkpoint.get("user_answer").is_none_or(serde_json::Value::is_null) && checkpoint.get("user_answer_to").is_none());
    assert_eq!(world.names("timers").len(), 1, "it expires as before");
    let shown = world.ok("ask-answer", &["show", "w"]);
    assert!(shown.contains("waiting for an answer") && shown.contains("taken back by ann"), "{shown}");
    world.audit_is("w", &["posted", "answered", "taken_back"]);
    world.ok("ask-answer", &["w", "b"]);
    world.ok("relaunch", &["w"]);
    assert!(world.told("w", 1).contains("User chose: b (B)"));
}

#[test]
fn what_cannot_be_taken_back_is_said() {
    let world = World::at_home();
    world.make_mailbox();
    assert_eq!(world.run("ask-answer", &["undo", "w"]).code(), 3);
    world.ok("ask-post", &["-w", "w", "Merge?", "-o", "a=A", "-o", "b=B"]);
    refused(&world, "the question of w is not answered yet");
    world.ok("ask-answer", &["w", "a"]);
    let out = world.run("ask-answer", &["undo", "w", "--round", "01a20605-3431-7298-8d9f-05f18633a3ef"]);
    assert_eq!(out.code(), 4, "{out:?}");
    world.ok("relaunch", &["w"]);
    refused(&world, "the question of w is delivered: its answer cannot be taken back");
}

#[test]
fn a_default_that_applied_is_nobodys_answer_and_one_that_would_apply_at_once_is_not_let_in_by_an_undo() {
    let world = World::at_home();
    answered(&world, &["--timeout", "1s", "--default", "b"]);
    until("its time is over", || {
        world.run("ask-answer", &["undo", "w", "--round", "01a20605-3431-7298-8d9f-05f18633a3ef"]).code() == 4 && over(&world)
    });
    refused(&world, "its default would apply at once");
}

fn over(world: &World) -> bool {
    let at = world.document("answered/w.json")["expires_at"].as_str().map(str::to_owned).expect("a time");
    chrono::DateTime::parse_from_rfc3339(&at).expect("RFC 3339") <= chrono::Utc::now()
}

#[test]
fn a_watcher_sees_the_question_again_and_launches_nothing() {
    let world = World::at_home();
    answered(&world, &[]);
    world.ok("ask-answer", &["undo", "w"]);
    let watcher = world.watch();
    watcher.says("asked     w");
    watcher.stop();
    assert_eq!((world.launches_of("w").len(), world.state("w").as_str()), (0, "pending"));
}
