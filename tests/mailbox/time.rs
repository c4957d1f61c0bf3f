//! Expiry, defaults, reminders and other events that come with time, under a real watcher.

use std::fs;

use crate::support::{World, until};
use serde_json::json;

#[test]
fn a_hand_written_date_between_two_milliseconds_is_not_missed() {
    let world = World::at_home();
    let watcher = world.watch();
    let ids: Vec<String> = (0..20).map(|n| format!("odd{n}")).collect();
    let soon = world.bash("date -u -d '+1 second' +%Y-%m-%dT%H:%M:%S").trim().to_owned();
    for (n, id) in ids.iter().enumerate() {
        let at = format!("{soon}.{:09}Z", 1_000_000 * n + 999_999);
        let question = json!({"question": "?", "workflow_id": id, "expires_at": at, "default": "d"});
        world.put(format!("pending/{id}.json"), question.to_string());
    }
    for id in &ids {
        watcher.says(&format!("default   {id}"));
        world.closed(id, "delivered", 1);
    }
}

#[test]
fn reminders_go_through_the_operators_program_and_go_on() {
    let world = World::at_home();
    fs::write(world.path("notify.sh"), "#!/bin/sh\necho \"$1 $ASKBOX_WORKFLOW_ID $(grep -c question)\" >> \"$AGENT_DIR/notified\"\n")
        .unwrap();
    world.bash("chmod +x notify.sh");
    world.configure(&format!("[notify]\ngrace = \"0s\"\n[target.command]\nexec = [\"{}\"]", world.path("notify.sh").display()));
    let watcher = world.watch();
    world.ok("ask-post", &["-w", "nag", "Q?", "--remind-every", "1s"]);
    // One by hand, which does not say when it was asked.
    world.put("pending/hand.json", r#"{"question": "?", "workflow_id": "hand", "remind_every": "1s"}"#);
    watcher.says_times("reminder  nag", 3);
    watcher.says_times("reminder  hand", 2);
    let notified = until("the notifications", || {
        let text = fs::read_to_string(world.agent("notified")).unwrap_or_default();
        (text.matches("reminder nag").count() >= 3).then_some(text)
    });
    assert_eq!(notified.matches("asked nag").count(), 1);
    world.ok("ask-answer", &["nag", "stop"]);
    world.closed("nag", "delivered", 1);
    let so_far = watcher.said("reminder  nag").len();
    watcher.says_times("reminder  hand", watcher.said("reminder  hand").len() + 2);
    assert_eq!(watcher.said("reminder  nag").len(), so_far, "an answered question is still reminded of");
    // Once a second, not twice.
    let audit = world.audit("hand");
    let span = fs::metadata(world.in_mailbox("pending/hand.json")).unwrap().modified().unwrap().elapsed().unwrap();
    assert!(audit.len() as u64 <= span.as_secs() + 2, "{audit:?} in {span:?}");
}

#[test]
fn a_superseded_question_is_closed_and_never_expires() {
    let world = World::at_home();
    let watcher = world.watch();
    let mut tries = 0;
    // The default may come before the second question, on a busy machine.
    let id = until("a question is superseded in time", || {
        tries += 1;
        let id = format!("super{tries}");
        world.ok("ask-post", &["-w", &id, "Old?", "--timeout", "5s", "--default", "old"]);
        world.run("ask-post", &["-w", &id, "New?", "--supersede"]);
        world.audit(&id).contains(&"superseded".to_owned()).then_some(id)
    });
    world.ok("ask-post", &["-w", "clock", "Q?", "--timeout", "5500ms"]);
    watcher.says("overdue   clock");
    assert_eq!(world.closed(&id, "superseded", 1)[0]["question"], "Old?");
    assert_eq!(world.json(world.in_mailbox(format!("pending/{id}.json")))["question"], "New?");
    world.ok("ask-answer", &[&id, "yes"]);
    assert!(world.told(&id, 1).contains("New?"));
    world.audit_is(&id, &["posted", "superseded", "posted", "answered", "claimed", "delivered"]);
}

#[test]
fn polling_every_second_replaces_file_events() {
    let world = World::at_home();
    let watcher = world.start_as_watcher(world.command("relaunch").arg("watch").args(["--poll", "1s"]));
    watcher.says("watching ");
    world.put("pending/polled.json", r#"{"question": "First?", "workflow_id": "polled"}"#);
    watcher.says("asked     polled  First?");
    fs::write(world.in_mailbox("pending/.next"), r#"{"question": "Instead?", "workflow_id": "polled"}"#).unwrap();
    world.bash("cd ~/.claude/questions/pending && mv .next polled.json");
    watcher.says("asked     polled  Instead?");
    world.ok("ask-answer", &["polled", "a"]);
    world.closed("polled", "delivered", 1);
    world.ok("ask-post", &["-w", "dated", "Q?", "--timeout", "1s", "--default", "d"]);
    world.closed("dated", "delivered", 1);
}

mod promises {
    use super::*;

    #[test]
    fn a_question_nobody_answers_stays_open_and_is_told_once() {
        let world = World::at_home();
        let watcher = world.watch();
        world.ok("ask-post", &["-w", "kept", "Q?", "--timeout", "1s"]);
        watcher.says("overdue   kept");
        assert!(world.in_mailbox("pending/kept.json").exists());
        watcher.stop();
        // The next watcher knows that the human was told.
        let watcher = world.watch();
        world.ok("ask-post", &["-w", "other", "Q?", "--timeout", "1s"]);
        watcher.says("overdue   other");
        assert_eq!(watcher.said("overdue   kept").len(), 0);
        world.audit_is("kept", &["posted", "overdue"]);
        world.ok("ask-answer", &["kept", "still in time"]);
        assert!(world.told("kept", 1).contains("User chose: still in time"));
    }

    #[test]
    fn the_askers_default_applies_and_is_recorded_as_such() {
        let world = World::at_home();
        let watcher = world.watch();
        world.ok("ask-post", &["-w", "silent", "Deploy?", "-o", "yes", "-o", "no", "--timeout", "1s", "--default", "no"]);
        watcher.says("default   silent");
        assert!(world.told("silent", 1).contains("Nobody answered in time, so the default that was set applies: no"));
        let round = world.closed("silent", "delivered", 1).remove(0);
        assert_eq!((&round["answer"]["by"], &round["answer"]["value"]), (&json!("default"), &json!("no")));
        let late = world.run("ask-answer", &["silent", "yes"]);
        assert_eq!(late.status.code(), Some(4), "{late:?}");
        assert!(late.stderr.contains("kept"), "{late:?}");
        let shown = world.ok("ask-answer", &["show", "silent"]);
        assert!(shown.contains("late: answered by") && shown.contains("    yes"), "{shown}");
        world.audit_is("silent", &["posted", "answered", "claimed", "delivered", "late_answer"]);
        assert_eq!(world.launches_of("silent").len(), 1);
    }

    #[test]
    fn a_cancelled_expiry_closes_the_round_and_launches_nothing() {
        let world = World::at_home();
        let watcher = world.watch();
        world.ok("ask-post", &["-w", "gone", "Q?", "--timeout", "1s", "--on-expiry", "cancel"]);
        world.closed("gone", "expired", 1);
        world.vanishes("pending/gone.json");
        assert_eq!(world.run("ask-answer", &["gone", "yes"]).status.code(), Some(4));
        assert!(world.ok("ask-answer", &["show", "gone"]).contains("late: answered"));
        // The next answer is served, so the late answer was not waiting behind it.
        world.ok("ask-post", &["-w", "next", "Q?"]);
        world.ok("ask-answer", &["next", "go"]);
        world.closed("next", "delivered", 1);
        assert_eq!(world.launches_of("gone").len(), 0);
        world.audit_is("gone", &["posted", "expired", "late_answer"]);
        // It is said after the start of the supervisor, which may be quicker.
        assert_eq!(watcher.says_times("launched", 1).len(), 1);
    }

    #[test]
    fn a_refusal_reaches_the_agent_and_a_withdrawal_starts_none() {
        let world = World::at_home();
        let watcher = world.watch();
        world.ok("ask-post", &["-w", "back", "Q?"]);
        world.ok("ask-answer", &["cancel", "back"]);
        world.closed("back", "withdrawn", 1);
        world.ok("ask-post", &["-w", "no", "Q?"]);
        world.ok("ask-answer", &["decline", "no", "--note", "not my call"]);
        let told = world.told("no", 1);
        assert!(told.contains("declined to answer") && told.contains("not my call"), "{told}");
        world.closed("no", "delivered", 1);
        assert_eq!(watcher.says_times("launched", 1).len(), 1);
        world.audit_is("no", &["posted", "declined", "claimed", "delivered"]);
        world.audit_is("back", &["posted", "withdrawn"]);
    }

    #[test]
    fn lost_timers_are_found_again_by_the_next_watcher() {
        let world = World::at_home();
        world.ok("ask-post", &["-w", "lost", "Q?", "--timeout", "1s", "--default", "d"]);
        world.ok("ask-post", &["-w", "nag", "Q?", "--remind-every", "1s"]);
        world.bash("rm ~/.claude/questions/timers/*");
        let watcher = world.watch();
        watcher.says("default   lost");
        watcher.says_times("reminder  nag", 2);
        world.closed("lost", "delivered", 1);
    }

    #[test]
    fn the_audit_trail_rotates_at_its_limit_and_loses_nothing() {
        let world = World::at_home();
        world.ok("ask-post", &["-w", "first", "Q?"]);
        let audit = world.in_mailbox("audit.jsonl");
        let line = fs::read_to_string(&audit).unwrap();
        let limit = usize::try_from(askbox::mailbox::audit::ROTATE_AT).unwrap();
        let count = limit / line.len();
        fs::write(&audit, line.repeat(count)).unwrap();
        fs::write(world.in_mailbox("audit.jsonl.1"), "older\n").unwrap();
        std::thread::scope(|scope| {
            for n in 0..16 {
                let world = &world;
                scope.spawn(move || world.ok("ask-post", &["-w", &format!("w{n}"), "Q?"]));
            }
        });
        let read = |name: &str| fs::read_to_string(world.in_mailbox(name)).unwrap();
        // All of them may have been written before the file was rotated. Then the new file does not exist yet.
        let now = fs::read_to_string(world.in_mailbox("audit.jsonl")).unwrap_or_default();
        let (one, two) = (read("audit.jsonl.1"), read("audit.jsonl.2"));
        assert_eq!(two, "older\n");
        assert!(!now.is_empty() || one.len() >= limit);
        assert_eq!(now.lines().count() + one.lines().count(), count + 16);
        for n in 0..16 {
            assert!(one.contains(&format!("\"w{n}\"")) || now.contains(&format!("\"w{n}\"")), "w{n} was lost");
        }
    }

    #[test]
    fn a_mailbox_that_comes_goes_and_comes_back_is_watched() {
        let world = World::without_mailbox();
        let watcher = world.start_watcher();
        watcher.says("waiting for the mailbox");
        assert!(!world.path(".claude").exists(), "the watcher made the mailbox itself");
        world.ok("ask-post", &["-w", "one", "Q?"]);
        watcher.says("watching ");
        world.ok("ask-answer", &["one", "a"]);
        world.closed("one", "delivered", 1);
        world.bash("mv .claude/questions away");
        watcher.says("the mailbox is gone");
        assert!(!world.path(".claude/questions").exists(), "the watcher made another mailbox");
        world.bash("mv away .claude/questions");
        watcher.says_times("watching ", 2);
        world.ok("ask-post", &["-w", "two", "Q?"]);
        world.ok("ask-answer", &["two", "b"]);
        world.closed("two", "delivered", 1);
        // A stranger clears a folder away and makes it anew: no event comes from the new one.
        world.bash("cd ~/.claude/questions && mv answered old && mkdir -p -m 700 answered");
        watcher.says_times("watching ", 3);
        world.ok("ask-post", &["-w", "three", "Q?"]);
        world.ok("ask-answer", &["three", "c"]);
        world.closed("three", "delivered", 1);
    }

    #[test]
    fn a_watcher_ends_cleanly_while_a_run_goes_on() {
        let world = World::at_home();
        let watcher = world.watch();
        world.agent_does("long", "until [ -e \"$AGENT_DIR/go\" ]; do sleep 0.05; done");
        world.ok("ask-post", &["-w", "long", "Q?"]);
        world.ok("ask-answer", &["long", "a"]);
        world.told("long", 1);
        watcher.stop();
        // The next round of the same workflow is answered meanwhile: it comes after the first, never beside it.
        world.ok("ask-post", &["-w", "long", "Second?"]);
        world.ok("ask-answer", &["long", "b"]);
        let watcher = world.watch();
        world.ok("ask-post", &["-w", "short", "Q?"]);
        world.ok("ask-answer", &["short", "a"]);
        world.closed("short", "delivered", 1);
        assert_eq!(world.launches_of("long").len(), 1);
        assert_eq!(world.rounds("running", "long").len(), 1);
        fs::write(world.agent("go"), "").unwrap();
        let rounds = world.closed("long", "delivered", 2);
        assert_eq!(rounds.len(), 2);
        assert_eq!(world.launches_of("long").len(), 2);
        assert!(world.told("long", 2).contains("Second?"));
        watcher.stop();
    }

    #[test]
    fn a_question_that_came_unwatched_is_told_of_once() {
        let world = World::at_home();
        world.ok("ask-post", &["-w", "first", "Q?"]);
        let watcher = world.watch();
        watcher.says("asked     first");
        watcher.stop();
        world.ok("ask-post", &["-w", "second", "Q?"]);
        let watcher = world.watch();
        watcher.says("asked     second");
        world.ok("ask-post", &["-w", "third", "Q?"]);
        watcher.says("asked     third");
        assert!(watcher.said("asked     first").is_empty(), "told twice");
        watcher.stop();
        let watcher = world.watch();
        world.ok("ask-post", &["-w", "fourth", "Q?"]);
        watcher.says("asked     fourth");
        assert!(watcher.said("asked     second").is_empty() && watcher.said("asked     third").is_empty(), "told twice");
    }
}
