//! A question that waits for an event says so everywhere, and is not counted among the questions that wait for a person.

use serde_json::json;

use crate::support::{Terminal, World, needs};

#[test]
fn the_inbox_counts_only_what_waits_for_a_person() {
    needs!("tmux");
    let world = World::new();
    world.sh("ask-post How? -w person; ask-post -w file --until-file built");
    let terminal = Terminal::new(&world);
    terminal.press(&["clear; ask-answer", "Enter"]);
    let screen = terminal.see("? help");
    assert!(screen.contains("1 question is waiting · 1 waits for an event, not for you"), "{screen}");
    terminal.press(&["Escape"]);
}

#[test]
fn the_doctor_tells_of_a_wait_whose_event_no_watcher_sees() {
    let world = World::new();
    world.sh("ask-post -w w --until-file built");
    let said = world.shell("askbox doctor").words();
    assert!(said.contains("built, but no watcher is running to see it"), "{said}");
}

#[test]
fn a_wait_that_makes_no_sense_is_refused_before_it_is_posted() {
    let world = World::new();
    let json = |until: &str| format!("echo '{{\"until\": {until}}}' | ask-post -w w --file -");
    for (status, script, says) in [
        (2, "ask-post -w w --until-file a --until 2h", "--until"),
        (2, "ask-post -w w --until-file a -o a=A", "--option"),
        (2, "ask-post -w w --until-file a -t number", "--type"),
        (2, "ask-post -w w --until-file a --remind-every 1h", "--remind-every"),
        (2, "ask-post -w w --until-file ''", "--until-file"),
        (2, "ask-post -w w --until-file \"$(printf 'caf\\351')\"", "UTF-8"),
        (2, "ask-post -w w --until noon", "`noon` is not a time"),
        (2, "ask-post -w w --until 99999y", "is not a time"),
        (2, "ask-post -w w --until 2020-01-01T00:00:00Z", "`2020-01-01T00:00:00Z` has passed"),
        (5, "ask-post -w w --until-file /", "`/` names no file"),
        (5, "ask-post -w w --until-file \"$(printf 'a\\nb')\"", "control characters"),
        (5, &json(r#"{"file": "built"}"#), "`built` is not an absolute path"),
        (5, &json(r#"{"file": "/a", "at": "2100-01-01T00:00:00Z"}"#), "until"),
        (5, &json(r#"{"command": "make"}"#), "until"),
        (5, r#"echo '{"question": "?", "untill": {"file": "/a"}}' | ask-post -w w --file -"#, "did you mean `until`?"),
        (5, r#"echo '{"options": ["a"], "until": {"file": "/a"}}' | ask-post -w w --file -"#, "the answer is an event"),
        (5, r#"echo '{"remind_every": "2h", "until": {"file": "/a"}}' | ask-post -w w --file -"#, "nobody is asked"),
    ] {
        let words = world.refused(status, script);
        assert!(words.contains(says) && words.contains("hint: "), "{script}: {words}");
    }
    assert!(world.names("pending").is_empty());
}

#[test]
fn the_same_wait_is_the_same_and_another_file_is_another() {
    let world = World::new();
    assert_eq!(world.sh("ask-post Built? -w w --until-file a"), "QUESTION_POSTED:w");
    assert_eq!(world.run("ask-post", &["Built?", "-w", "w", "--until-file", "a", "--json"]).json()["repeated"], true);
    for other in ["--until-file b", "--until 2h", ""] {
        world.refused(4, &format!("ask-post Built? -w w {other}"));
    }
    // A document needs no text, and its time limit means that the agent hears of it.
    let file = r#"[{"workflow_id": "v", "until": {"file": "/never"}, "expires_at": "2100-01-01T00:00:00Z"}]"#;
    world.run_with("ask-post", &["--batch", "--file", "-"], file.as_bytes()).ok();
    let posted = world.document("pending/v.json");
    assert_eq!(
        (&posted["question"], &posted["default"]),
        (&json!("waits for the file /never"), &json!("the file /never did not come in time"))
    );
}

mod promises {
    use super::*;

    #[test]
    fn lists_say_what_is_waited_for_and_that_it_is_not_for_a_person() {
        let world = World::new();
        world.sh(
            "ask-post -w file --until-file out/built; ask-post 'Look again' -w time --until 2100-01-01T00:00:00Z; ask-post How? -w person",
        );
        let file = world.work().join("out/built").display().to_string();
        let list = world.sh("ask-answer list");
        let lines: Vec<&str> = list.lines().skip(1).collect();
        assert!(lines[0].starts_with("person "), "those that wait for a person come first: {list}");
        assert!(lines[1].ends_with(&format!("(not for you) waits for the file {file}")), "{list}");
        assert!(lines[2].ends_with("(not for you: waits until 2100-01-01T00:00:00.000Z) Look again"), "{list}");
        let listed = world.run("ask-answer", &["list", "--json"]).events();
        assert_eq!((&listed[0]["until"], &listed[0]["overdue"]), (&json!(null), &json!(false)));
        assert_eq!((&listed[1]["until"], &listed[2]["until"]), (&json!({"file": file}), &json!({"at": "2100-01-01T00:00:00Z"})));
        let shown = world.sh("ask-answer show file");
        assert!(shown.contains(&format!("waits for the file {file}, not for you: that answers it, and you may answer first")), "{shown}");
        assert!(shown.contains(": waiting for its event"), "{shown}");
        for command in ["relaunch status", "askbox tree"] {
            let shown = world.sh(command);
            assert!(
                shown.contains("waiting") && shown.contains("(not for you: waits until 2100-01-01T00:00:00.000Z"),
                "{command}: {shown}"
            );
        }
        let status = world.status("time");
        assert_eq!((&status["state"], &status["question"]), (&json!("waiting"), &json!("Look again")));
        assert!(world.refused(6, "relaunch file").contains("file still waits (not for you; no watcher runs)"));
        let counts = world.run("relaunch", &["status", "--summary", "--json"]).json();
        assert_eq!((&counts["rounds"]["pending"], &counts["rounds"]["waiting"]), (&json!(1), &json!(2)), "{counts}");
    }
}
