//! Posts and answers that meet another round: one that is over, one whose answer waits, one that was answered by hand.

use std::time::{Duration, SystemTime};

use askbox::time::{parse_rfc3339, to_the_millisecond};

use serde_json::json;

use crate::support::{World, until};

fn parsed(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn a_question_id_that_is_in_use_is_refused_at_the_post() {
    let world = World::new();
    let used = "0b0e4c6e-3c2f-4d4e-9d57-1f1f6a9a1c11";
    world.sh("ask-post -w other Hello?");
    for place in ["running/w.ID.json", "parked/w.ID.json", "closed/w.ID.json", "answered/w.json"] {
        let path = world.path(format!("m/{}", place.replace("ID", used)));
        let round = json!({"workflow_id": "w", "question": "How?", "question_id": used, "answer": "a"});
        std::fs::write(&path, round.to_string()).unwrap();
        let again = json!({"workflow_id": "w", "question": "How?", "question_id": used, "expires_at": "2099-01-01T00:00:00Z"});
        std::fs::write(world.path("q.json"), again.to_string()).unwrap();
        std::fs::write(world.path("many.json"), json!([again]).to_string()).unwrap();
        for post in ["ask-post --file q.json", "ask-post --file - < q.json", "ask-post --batch --file many.json"] {
            let ran = world.shell(post);
            assert_eq!(ran.code(), 4, "{place}: {post}: {}{}", ran.stdout, ran.stderr);
            assert!(!ran.stdout.contains("QUESTION_POSTED:w"), "{place}: {post}");
        }
        assert!(!world.path("m/pending/w.json").exists(), "{place}");
        assert_eq!(std::fs::read_dir(world.path("m/timers")).unwrap().count(), 0, "{place}: a timer was left behind");
        std::fs::remove_file(path).unwrap();
    }
    // A question that is still pending may be posted again, with its id.
    world.sh("ask-post -w w How?");
    let pending = std::fs::read(world.path("m/pending/w.json")).unwrap();
    assert_eq!(world.sh("ask-post --file m/pending/w.json"), "QUESTION_POSTED:w");
    assert_eq!(std::fs::read(world.path("m/pending/w.json")).unwrap(), pending);
}

mod promises {
    use super::*;

    #[test]
    fn an_answer_for_an_earlier_round_is_not_kept_with_the_last() {
        let world = World::new();
        let first = parsed(&world.sh("ask-post First? -w w --json"))["question_id"].as_str().unwrap().to_owned();
        world.sh("ask-answer cancel w");
        world.sh("ask-post Second? -w w");
        world.sh("ask-answer cancel w");
        let ran = world.shell(&format!("ask-answer w 'for the first' --round {first}"));
        assert_eq!(ran.code(), 4);
        assert!(ran.stderr.contains("is not its last one"), "{}", ran.stderr);
        let kept = std::fs::read_dir(world.path("m/closed")).unwrap().flatten().any(|f| world.json(f.path()).get("late_answers").is_some());
        assert!(!kept, "the answer was kept with another question");
    }

    #[test]
    fn the_same_question_made_by_hand_again_is_another_round() {
        let world = World::new();
        world.sh("ask-post -w other Hello?");
        let question = r#"{"workflow_id": "w", "question": "Again?"}"#;
        std::fs::write(world.path("m/pending/w.json"), question).unwrap();
        world.sh("ask-answer w one");
        let answered = world.json("m/answered/w.json");
        let at = parse_rfc3339(answered["answer"]["at"].as_str().unwrap()).unwrap();
        let pending = world.path("m/pending/w.json");
        // A file's time comes from a clock that moves in steps of some milliseconds.
        until("the question is younger than the answer", || {
            std::fs::write(&pending, question).unwrap();
            to_the_millisecond(pending.metadata().unwrap().modified().unwrap().into()) > at
        });
        assert_ne!(parsed(&world.sh("ask-answer show w --json"))["question_id"], answered["question_id"]);
        world.sh("ask-answer cancel w");
        assert_eq!(world.json("m/answered/w.json"), answered, "the waiting answer was touched");
        let closed = world.json(world.only("closed", "w.").unwrap());
        assert_ne!(closed["question_id"], answered["question_id"]);
    }

    #[test]
    fn a_cancel_that_names_its_round_withdraws_no_other_question() {
        let world = World::new();
        world.sh("ask-post -w w First?");
        let first = world.round("w");
        world.sh("ask-post -w w --supersede Second?");
        for command in [format!("ask-answer cancel w --round {first}"), format!("ask-answer --round {first} cancel w")] {
            let refused = world.refused(4, &command);
            assert!(refused.contains("w asks another question by now") && refused.contains("nothing was withdrawn"), "{refused}");
        }
        assert_eq!(world.state("w"), "pending");
        assert!(world.refused(2, &format!("ask-answer cancel w --tree --round {first}")).contains("--tree"));
        let second = world.round("w");
        world.sh(&format!("ask-answer cancel w --round {second}"));
        assert!(world.refused(4, &format!("ask-answer cancel w --round {second}")).contains("no longer pending"));
    }

    #[test]
    fn a_second_answer_does_not_undo_one_made_by_hand() {
        let world = World::new();
        world.sh("ask-post -w other Hello?");
        let moved = world.path("m/answered/w.json");
        std::fs::write(&moved, r#"{"workflow_id": "w", "question": "Which?"}"#).unwrap();
        let earlier = SystemTime::now() - Duration::from_secs(60);
        std::fs::File::options().write(true).open(&moved).unwrap().set_modified(earlier).unwrap();
        std::fs::write(world.path("m/checkpoints/w.json"), r#"{"workflow_id": "w", "user_answer": "by hand"}"#).unwrap();
        for _ in 0..2 {
            let ran = world.shell("ask-answer w other");
            assert_eq!(ran.code(), 4);
            assert!(ran.stderr.contains("answered by hand"), "{}", ran.stderr);
        }
        assert_eq!(world.json("m/checkpoints/w.json")["user_answer"], "by hand");
    }
}
