//! A tool call that a person refuses to a workflow for good.

use serde_json::{Value, json};

use crate::support::{Terminal, World, approval_question, needs};

/// A mailbox in which `ship` asks whether `git push` may be run.
fn git_push() -> World {
    let world = World::new();
    world.make_mailbox();
    let mut question = approval_question("ship", "May the agent call Bash?\n    command: git push\nIn the folder /work");
    question["approval"]["editable"] = json!({"field": "command", "text": "git push"});
    std::fs::write(world.in_mailbox("pending/ship.json"), question.to_string()).unwrap();
    world
}

#[test]
fn a_record_without_room_is_told_before_the_decision() {
    let world = git_push();
    let standing = |n: usize| {
        json!({"tool": "Bash", "sha256": format!("{n:064x}"), "shown": "command: x\u{202e}y", "by": "eve", "at": "2026-01-01T00:00:00Z",
            "question_id": "019ab3c2-77aa-7c31-9b0e-5d2f6a1c8e44"})
    };
    let record = json!({"workflow_id": "ship", "refusals": (0..64).map(standing).collect::<Vec<_>>(), "grants": [standing(99)]});
    std::fs::create_dir_all(world.in_mailbox("workflows")).unwrap();
    std::fs::write(world.in_mailbox("workflows/ship.json"), record.to_string()).unwrap();
    let decline = format!("ask-answer decline ship --always --round {}", world.seen("ship"));
    let refused = world.refused(4, &decline);
    assert!(refused.contains("64 calls are refused to ship for good, and its record keeps no more"), "{refused}");
    assert!(refused.contains("hint: decide this call alone (`decline`), or take some back: relaunch approve --list ship"), "{refused}");
    let list = world.sh("relaunch approve --list ship");
    assert!(list.contains("command: x\\u{202e}y"), "nothing that was shown is hidden: {list}");
    world.sh("relaunch approve --revoke ship --call 0000000000000000000000000000000000000000000000000000000000000001");
    assert_eq!(world.sh(&decline), "ship: declined for good");
}

#[test]
fn a_standing_decision_that_does_not_count_is_listed_as_such() {
    let world = git_push();
    let workflow = world.sh("ask-answer show ship").lines().find(|line| line.contains(" workflow --round ")).unwrap().trim().to_owned();
    world.sh(&workflow);
    world.sh("relaunch prompt ship");
    let record = json!({"workflow_id": "ship", "grants": [{"tool": "Bash", "sha256": "ab".repeat(32), "shown": "command: git push", "by": "ann",
        "at": "2026-01-01T00:00:00Z", "question_id": "019ab3c2-77aa-7c31-9b0e-5d2f6a1c8e44"}]});
    std::fs::write(world.in_mailbox("workflows/ship.json"), record.to_string()).unwrap();
    assert!(!world.sh("relaunch approve --list").contains("does not count"), "every answer counts here");
    world.configure("[answers]\naccept = [\"web\"]\n");
    let list = world.sh("relaunch approve --list");
    assert!(list.contains("\n    does not count: the answer that decided is not there, or is not trusted"), "{list}");
    let listed: Value = serde_json::from_str(&world.sh("relaunch approve --list --json")).unwrap();
    assert_eq!(listed["counts"], json!(false));
}

#[test]
fn only_a_tool_call_is_refused_for_good() {
    let world = World::new();
    world.sh("ask-post Which? -w plain");
    let refused = world.refused(5, &format!("ask-answer decline plain --always --round {}", world.round("plain")));
    assert!(refused.contains("no call is asked about"), "{refused}");
}

#[test]
fn the_inbox_refuses_a_call_for_good_after_tab() {
    needs!("tmux");
    let world = git_push();
    let terminal = Terminal::running(&world, (110, 40), &[], &["sh", "-c", "ask-answer ship; echo left=$?; read wait"]);
    terminal.see("as a rule of [approvals]: Bash(git push)");
    terminal.press(&["d"]);
    terminal.see("Refuse this one call. Why?");
    terminal.press(&["Tab"]);
    terminal.see("Refuse \"Bash: git push\" whenever the workflow makes it. Why?");
    terminal.press(&["Tab"]);
    terminal.see("Refuse this one call. Why?");
    terminal.press(&["Tab"]);
    terminal.see("whenever the workflow makes it");
    terminal.press(&["Enter"]);
    terminal.see("ok, then enter, always refuses this call of ship: \"Bash: git push\"");
    terminal.confirm();
    terminal.see("declined for good");
    assert_eq!(world.document("answered/ship.json")["answer"]["always"], true);
}

mod promises {
    use super::*;

    #[test]
    fn a_call_is_refused_for_good_as_it_was_seen_and_listed() {
        let world = git_push();
        let shown = world.ok("ask-answer", &["show", "ship"]);
        assert!(shown.contains("as a rule of [approvals]: Bash(git push)"), "{shown}");
        let command = shown.lines().find(|line| line.contains("--always")).expect("the command to copy").trim().to_owned();
        assert!(world.refused(2, "ask-answer decline ship --always").contains("does not say which call you have seen"));
        let other = "ask-answer decline ship --always --round 019ab3c2-77aa-7c31-9b0e-5d2f6a1c8e44";
        world.refused(4, other);
        assert!(world.names("answered").is_empty());
        assert_eq!(world.sh(&format!("{command} --note 'never on main'")), "ship: declined for good");
        let answer = world.document("answered/ship.json")["answer"].clone();
        assert_eq!((&answer["outcome"], &answer["always"], &answer["note"]), (&json!("declined"), &json!(true), &json!("never on main")));
        assert_eq!(world.ok("relaunch", &["approve", "--list"]).lines().count(), 1, "until the round is claimed, it can be taken back");
        world.ok("ask-answer", &["undo", "ship"]);
        world.sh(&command);
        let told = world.ok("relaunch", &["prompt", "ship"]);
        assert!(told.contains("The user refuses this call whenever you make it."), "{told}");
        let list = world.ok("relaunch", &["approve", "--list"]);
        assert!(list.starts_with("ship  abababababab  refuse  Bash(git push)  command: git push In the folder /work  (by "), "{list}");
        let listed: Value = serde_json::from_str(&world.ok("relaunch", &["approve", "--list", "--json"])).unwrap();
        assert_eq!((&listed["always"], &listed["rule"]), (&json!("refuse"), &json!("Bash(git push)")));
        let refused = world.refused(4, "ASKBOX_RUN=v/01a20605-3431-7298-8d9f-05f18633a3ef/1 relaunch approve --revoke ship");
        assert!(refused.contains("an agent's run takes back no decision"), "{refused}");
        assert!(world.ok("relaunch", &["approve", "--revoke", "ship", "--call", "abab"]).starts_with("revoked    ship  "));
        assert_eq!(world.ok("relaunch", &["approve", "--list", "--json"]), "");
        assert_eq!(world.audit("ship"), ["declined", "taken_back", "declined", "always_refused", "claimed", "delivered", "revoked"]);
    }
}
