//! A tool call of another machine is changed from here before it is allowed.

use serde_json::json;

use crate::support::machine::configure;
use crate::support::{Machine, Terminal, World, approval_question, needs, until};

/// The machine of a person, and one other machine that asks whether `git push` may be run.
fn two(knows_changes: bool) -> (World, Machine) {
    let here = World::new();
    let build = Machine::new(&here, "build");
    build.world.make_mailbox();
    let mut call = approval_question("ship", "May the agent call Bash?\n    command: git push\nIn the folder /work");
    if knows_changes {
        call["approval"]["editable"] = json!({"field": "command", "text": "git push"});
    }
    std::fs::write(build.world.in_mailbox("pending/ship.json"), call.to_string()).unwrap();
    configure(&here, &[&build]);
    until("build is seen", || here.ok("ask-answer", &["list", "--host", "build"]).contains("build:ship"));
    (here, build)
}

#[test]
fn a_machine_that_knows_no_changed_calls_is_told_apart() {
    needs!("sshd", "ssh");
    let (here, _build) = two(false);
    let refused = here.refused(2, &format!("echo x | ask-answer edit build:ship --input - --round {}", here.seen("build:ship")));
    assert!(refused.contains("has no text that you can change from here"), "{refused}");
    assert!(!here.ok("ask-answer", &["show", "build:ship"]).contains("ask-answer edit"));
}

#[test]
fn a_call_of_another_machine_is_refused_for_good_from_here() {
    needs!("sshd", "ssh");
    let (here, build) = two(true);
    assert!(here.refused(2, "ask-answer decline build:ship --always").contains("does not say which call you have seen"));
    let said = here.sh(&format!("ask-answer decline build:ship --always --round {}", here.seen("build:ship")));
    assert!(said.contains("declined for good; accepted by build"), "{said}");
    assert_eq!(build.world.document("answered/ship.json")["answer"]["always"], true);
}

#[test]
fn the_inbox_changes_a_call_of_another_machine() {
    needs!("sshd", "ssh", "tmux");
    let (here, build) = two(true);
    here.sh("printf '#!/bin/sh\\nsed -i \"s/^git push$/git push --dry-run/\" \"$1\"\\n' >editor; chmod +x editor");
    let terminal = Terminal::running(&here, (100, 40), &["EDITOR=./editor"], &["sh", "-c", "ask-answer build:ship; read wait"]);
    terminal.see("^e change the call");
    terminal.press(&["C-e"]);
    terminal.see("Make the call of Bash like this, one time? (y/N)");
    assert!(build.world.names("answered").is_empty());
    terminal.press(&["y", "Enter"]);
    terminal.see("Enter leads back to the inbox.");
    assert_eq!(build.world.document("answered/ship.json")["answer"]["edited"], "git push --dry-run");
}

mod promises {
    use super::*;

    #[test]
    fn a_call_of_another_machine_is_changed_as_it_was_seen() {
        needs!("sshd", "ssh");
        let (here, build) = two(true);
        let shown = here.ok("ask-answer", &["show", "build:ship"]);
        assert!(shown.contains("  ask-answer edit build:ship\n"), "{shown}");
        let edit = "printf 'git push --dry-run' | ask-answer edit build:ship --input -";
        assert!(here.refused(2, edit).contains("does not say which call you have seen"));
        here.refused(4, &format!("{edit} --round 019ab3c2-77aa-7c31-9b0e-5d2f6a1c8e44"));
        assert!(build.world.names("answered").is_empty());
        let said = here.sh(&format!("{edit} --note 'dry first' --round {}", here.seen("build:ship")));
        assert!(said.contains("which allows this in place of \"Bash: git push\": git push --dry-run; accepted by build"), "{said}");
        let answer = &build.world.document("answered/ship.json")["answer"];
        assert_eq!(json!([answer["value"], answer["edited"], answer["note"]]), json!(["edited", "git push --dry-run", "dry first"]));
    }
}
