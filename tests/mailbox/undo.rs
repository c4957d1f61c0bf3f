//! An answer can be taken back until something has taken it. After that, the person is told why not.

use std::process::Stdio;

use crate::support::{World, needs, until};

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

fn over(world: &World) -> bool {
    let at = world.document("answered/w.json")["expires_at"].as_str().map(str::to_owned).expect("a time");
    chrono::DateTime::parse_from_rfc3339(&at).expect("RFC 3339") <= chrono::Utc::now()
}

/// An undo whose process died behind its commit point.
fn half_done(world: &World) -> String {
    answered(world, &[]);
    let round = world.round("w");
    let mut document = world.document("answered/w.json");
    let fields = document.as_object_mut().expect("an object");
    fields.remove("answer");
    fields.insert(
        "taken_back".into(),
        serde_json::json!({"at": "2026-11-22T10:00:00Z", "by": "ann", "answer": "answered by ann through ask-answer"}),
    );
    std::fs::write(world.in_mailbox("answered/w.json"), document.to_string()).expect("it is written");
    round
}

#[test]
fn a_signed_answer_that_was_taken_back_never_counts_again() {
    let world = World::new();
    world.configure(&world.only_signed_answers());
    world.sh("ask-post -w w 'Merge?' -o a=A -o b=B; ask-answer w a; cp m/answered/w.json kept.json");
    world.sh("cp m/answered/w.json moved.json; ask-answer undo w");
    let noted = world.document("pending/w.json")["taken_back"]["withdrawn"].clone();
    assert_eq!(noted.as_array().map(Vec::len), Some(1), "{noted}");
    // A copy of the old file, and the old answer in the question's own file.
    let replays = [
        "cp kept.json copy; mv copy m/answered/w.json",
        "jq --slurpfile old kept.json '.answer = $old[0].answer' m/pending/w.json >copy; rm m/pending/w.json; mv copy m/answered/w.json",
    ];
    for (replay, command) in replays.iter().flat_map(|replay| [(replay, "relaunch w"), (replay, "relaunch prompt w")]) {
        world.sh(replay);
        world.shell(command);
        assert_eq!(world.state("w"), "pending", "{replay}: {command}");
        let kept = world.names("quarantine").into_iter().filter(|name| name.ends_with(".reason"));
        let reasons: Vec<_> = kept.map(|name| std::fs::read_to_string(world.in_mailbox("quarantine").join(name)).unwrap()).collect();
        assert!(reasons.iter().all(|reason| reason.contains("was taken back, and does not count again")), "{reasons:?}");
        assert!(!reasons.is_empty());
    }
    // A copy beside the question's own file, as if it had been claimed, or closed to allow a tool call for good: the question waits on.
    for folder in ["running", "parked", "closed"] {
        world.sh(&format!("cp kept.json m/{folder}/w.$(jq -r .question_id kept.json).json"));
        for command in ["relaunch w", "relaunch retry w", "relaunch prompt w", "ask-answer show w"] {
            world.shell(command);
        }
        world.sh("checkpoint show w 2>/dev/null || true; ask-answer list");
        assert_eq!(world.document("pending/w.json")["taken_back"]["withdrawn"], noted, "{folder}");
        assert!(world.names("closed").iter().all(|name| !name.starts_with("w.")), "{folder}");
    }
    // A refused answer without the note does not take the note along.
    world.sh("jq 'del(.taken_back) | .answer.note = \"forged\"' kept.json >copy; mv copy m/answered/w.json");
    world.shell("relaunch w");
    assert_eq!(world.document("pending/w.json")["taken_back"]["withdrawn"], noted, "the note of a forged answer");
    world.sh(replays[0]);
    world.shell("relaunch w");
    assert_eq!(world.state("w"), "pending");
    // Other answers come and go; the first one stays refused, and a new one counts.
    world.sh("ask-answer w b; ask-answer undo w");
    assert_eq!(world.document("pending/w.json")["taken_back"]["withdrawn"].as_array().map(Vec::len), Some(2));
    world.sh(replays[0]);
    world.sh("ask-answer w a; relaunch prompt w");
    let answer = world.closed("w", "delivered", 1)[0]["answer"].clone();
    assert_ne!(answer["signature"], world.json("kept.json")["answer"]["signature"]);
}

mod promises {
    use super::*;

    #[test]
    fn an_undone_answer_leaves_the_question_as_it_was() {
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
    fn an_answer_is_taken_back_after_the_questions_time_too() {
        let world = World::at_home();
        answered(&world, &["--timeout", "1s", "--default", "b"]);
        until("its time is over", || over(&world));
        world.ok("ask-answer", &["undo", "w"]);
        let watcher = world.watch();
        watcher.says("asked     w");
        watcher.stop();
        let question = world.document("pending/w.json");
        assert_eq!((&question["on_expiry"], &question["answer"]), (&"keep".into(), &serde_json::Value::Null), "{question:#}");
        world.ok("ask-answer", &["w", "a"]);
        assert_eq!(world.document("answered/w.json")["answer"]["value"], "a");
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

    #[test]
    fn an_interrupted_undo_is_shown_and_completed_by_the_next() {
        let world = World::at_home();
        let round = half_done(&world);
        assert!(world.ok("ask-answer", &["show", "w"]).contains("its answer was being taken back; to complete that: ask-answer undo w"));
        assert!(world.run("askbox", &["doctor"]).stdout.contains("taking its answer back was interrupted"));
        assert_eq!(
            world.ok("ask-answer", &["undo", "w"]),
            "w: taken back (answered by ann through ask-answer); the question waits again\n"
        );
        assert_eq!(world.document("pending/w.json")["question_id"], round.as_str());
        assert!(world.document("checkpoints/w.json")["user_answer"].is_null());
    }

    #[test]
    fn the_question_posted_after_an_interrupted_undo_waits() {
        let world = World::at_home();
        let round = half_done(&world);
        let posted = world.run("ask-post", &["--json", "-w", "w", "Merge?", "-o", "a=A", "-o", "b=B"]).ok().json();
        assert_eq!((&posted["repeated"], &posted["question_id"]), (&true.into(), &round.into()));
        assert_eq!((world.names("answered").len(), world.names("quarantine").len()), (0, 0));
    }

    #[test]
    fn an_asker_cannot_say_what_its_person_took_back_or_asked_back() {
        let world = World::at_home();
        let forged = r#"{"workflow_id":"w","question":"?","taken_back":{"at":"2026-11-22T10:00:00Z","by":"ann","answer":"yes"}}"#;
        std::fs::write(world.path("q.json"), forged).expect("a file");
        let file = world.path("q.json").display().to_string();
        let refused = world.run("ask-post", &["--file", &file]);
        assert!(refused.code() == 5 && refused.stderr.contains("taken_back"), "{refused:?}");
        std::fs::write(world.path("q.json"), r#"{"workflow_id":"w","question":"?","in_reply_to":"01a20605-3431-7298-8d9f-05f18633a3ef"}"#)
            .expect("a file");
        world.ok("ask-post", &["--file", &file]);
        assert_eq!(world.document("pending/w.json").get("in_reply_to"), None);
        assert!(!world.ok("ask-answer", &["list"]).contains("reply to you"));
    }
}

/// Another program writes `pending/w.json` without a lock while an answer is taken back: before the question is moved there, or after.
#[test]
fn an_undo_beside_a_post_by_hand_tells_what_waits() {
    needs!("strace");
    for (when, delay) in [("before", "delay_enter"), ("after", "delay_exit")] {
        let world = World::new();
        answered(&world, &[]);
        let round = world.round("w");
        let inject = format!("inject=renameat2:{delay}=2s");
        let slow = ["strace", "-qq", "-o", "/dev/null", "-e", "trace=renameat2", "-e", &inject].map(str::to_owned);
        let mut undo = world.wrapped(&slow, "ask-answer");
        let undo = undo.args(["--json", "undo", "w"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("strace");
        let is_moved = || world.in_mailbox("pending/w.json").exists();
        let is_taken_back = || world.document("answered/w.json").get("taken_back").is_some();
        until("the question is on its way", || if when == "after" { is_moved() } else { is_taken_back() });
        world.sh(r#"echo '{"workflow_id":"w","question":"By hand?"}' >new; mv new m/pending/w.json"#);
        let out = undo.wait_with_output().expect("wait");
        let said = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.code(), Some(4), "{when}: {said}");
        assert!(said.contains("was taken back, but its question does not wait"), "{when}: {said}");
        assert_eq!(world.document("pending/w.json")["question"], "By hand?", "{when}");
        let told = world.audit("w");
        assert_eq!(
            (told.len(), told.last().map(String::as_str)),
            (if when == "before" { 4 } else { 3 }, Some("taken_back")),
            "{when}: {told:?}"
        );
        if when == "before" {
            let kept = world.names("quarantine").into_iter().find(|name| !name.ends_with(".reason")).expect("the question is kept");
            assert_eq!(world.document(&format!("quarantine/{kept}"))["question_id"], round.as_str());
        }
    }
}
