//! Files of a workflow that cannot be used are named by everybody who looks, before a watcher puts them away.

use crate::support::World;

#[test]
fn a_damaged_answer_is_not_hidden_by_an_older_round() {
    let world = World::new().with_scripted_agent();
    world.ask_and_answer("w");
    world.sh("relaunch w");
    world.sh(r#"echo '{"workflow_id": "other", "question": "Which?", "answer": "a"}' >m/answered/w.json"#);
    for command in ["ask-answer show w", "relaunch status w"] {
        let said = world.refused(5, command);
        assert!(said.contains("says `other`, but the file is named for `w`"), "{command}: {said}");
    }
    // A question that waits is newer.
    world.sh("ask-post -w w 'And now?' 2>/dev/null");
    assert!(world.sh("ask-answer show w").contains("And now?") && world.state("w") == "pending");
}

#[test]
fn reordering_characters_are_shown_in_an_awaited_path() {
    let world = World::new();
    world.sh("ask-post -w w --until-file \"/tmp/a$(printf '\\342\\200\\256')bc\" 2>/dev/null");
    for command in ["ask-answer list", "ask-answer show w", "relaunch status", "relaunch status w"] {
        let shown = world.sh(command);
        assert!(shown.contains(r"waits for the file /tmp/a\342\200\256bc"), "{command}: {shown}");
    }
    assert_eq!(world.document("pending/w.json")["until"]["file"], "/tmp/a\u{202e}bc");
}

#[test]
fn a_wait_until_a_time_without_a_timer_is_refused() {
    let world = World::new();
    world.make_mailbox();
    let said = world.refused(5, r#"echo '{"workflow_id": "w", "until": {"at": "9999-12-31T23:59:60Z"}}' | ask-post --file -"#);
    assert!(said.contains("until.at") && said.contains("year 9999"), "{said}");
    world.sh("ask-post -w leap --until 2026-12-31T23:59:60Z 2>/dev/null");
    assert!(world.only("timers", "20270101T000000.000Z~until~leap~").is_some());
}

#[test]
fn a_withdrawal_that_was_cut_off_is_shown_as_one() {
    let world = World::new();
    world.ok("ask-post", &["-w", "docs", "Merge?"]);
    // A program died behind the commit point: the file has its end, and still lies in pending/.
    let path = world.in_mailbox("pending/docs.json");
    let mut question = world.json(&path);
    question["closed"] = serde_json::json!({"state": "withdrawn", "at": "2026-01-01T00:00:00Z", "by": "ann"});
    std::fs::write(&path, question.to_string()).unwrap();
    let shown: serde_json::Value = serde_json::from_str(&world.ok("ask-answer", &["show", "docs", "--json"])).unwrap();
    assert_eq!((&shown["state"], world.state("docs").as_str()), (&"closed".into(), "withdrawn"), "{shown}");
    assert_eq!(world.ok("ask-answer", &["list", "--json"]), "");
    // The next move completes it.
    assert!(world.refused(4, "ask-answer cancel docs").contains("it is withdrawn"));
    assert_eq!((world.names("pending").len(), world.state("docs").as_str()), (0, "withdrawn"));
    assert_eq!(world.names("closed").len(), 1);
}

mod promises {
    use super::*;

    #[test]
    fn a_damaged_answer_is_named_and_not_no_question() {
        let world = World::new();
        world.make_mailbox();
        world.sh("printf '{torn' >m/answered/w.json");
        for command in ["ask-answer show w", "ask-answer w yes", "relaunch status w", "relaunch w"] {
            let said = world.refused(5, command);
            assert!(said.contains("answered/w.json") && said.contains("jq . "), "{command}: {said}");
        }
        assert!(world.sh("relaunch status").contains("w         unreadable"));
        world.sh("touch -d '1 hour ago' m/answered/w.json");
        let doctor = world.shell("askbox doctor").stdout;
        assert!(doctor.contains("unreadable: answered/w.json"), "{doctor}");
    }
}
