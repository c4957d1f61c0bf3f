//! `ask-answer edit` of a question whether a tool call may be made.

use serde_json::{Value, json};

use askbox::mailbox::text;

use crate::support::{Terminal, World, approval_question, needs, until};

/// A mailbox in which `ship` asks whether this command may be run.
fn asks(command: &str, editable: Option<Value>) -> World {
    let world = World::new();
    world.make_mailbox();
    let mut question = approval_question("ship", &format!("May the agent call Bash?\n    command: {command}\nIn the folder /work"));
    if let Some(editable) = editable {
        question["approval"]["editable"] = editable;
    }
    std::fs::write(world.in_mailbox("pending/ship.json"), question.to_string()).unwrap();
    world
}

fn git_push() -> World {
    asks("git push", Some(json!({"field": "command", "text": "git push"})))
}

/// A mailbox in which `ship` asks about this command of several lines.
fn asks_about_lines(call: &str) -> World {
    let world = World::new();
    world.make_mailbox();
    let text = text::visible(call).replace('\n', "\n        ");
    let mut question = approval_question("ship", &format!("May the agent call Bash?\n    command:\n        {text}\nIn the folder /work"));
    question["approval"]["editable"] = json!({"field": "command", "text": call});
    std::fs::write(world.in_mailbox("pending/ship.json"), question.to_string()).unwrap();
    world
}

#[test]
fn the_whole_changed_call_is_shown_before_it_is_confirmed() {
    needs!("tmux");
    let far: String = (0..60).map(|n| format!("step {n}\n")).collect();
    let world = asks_about_lines(&format!("rm -rf /data\n{far}rm x"));
    world.sh("printf '#!/bin/sh\nsed -i \"s/^rm x$/ls x/\" \"$1\"\n' >editor; chmod +x editor");
    let command = ["sh", "-c", "EDITOR=./editor ask-answer edit ship; echo left=$?; read wait"];
    let terminal = Terminal::running(&world, (100, 90), &[], &command);
    let screen = terminal.see("Make the call of Bash like this, one time? (y/N)");
    for line in ["May the agent call Bash?", "    command:", " rm -rf /data", " step 30", "-rm x", "+ls x", "In the folder /work"] {
        assert!(screen.lines().any(|shown| shown == line), "{line}: {screen}");
    }
    assert!(!screen.contains("scroll up"), "{screen}");
    drop(terminal);
    let small = Terminal::running(&world, (100, 20), &[], &command);
    let screen = small.see("Make the call of Bash like this, one time? (y/N)");
    assert!(screen.contains("These are 66 lines, and the terminal shows 20: scroll up to see the whole call."), "{screen}");
}

#[test]
fn what_cannot_be_seen_is_written_out_in_the_editor_and_stays() {
    needs!("tmux");
    let call = "echo a\u{200b}b\u{202e}\n\techo \\u{41}\r\nrm x";
    let world = asks_about_lines(call);
    world.sh("printf '#!/bin/sh\ncat \"$1\" >seen; sed -i \"s/^rm x$/ls x/\" \"$1\"\n' >editor; chmod +x editor");
    let command = ["sh", "-c", "EDITOR=./editor ask-answer edit ship; echo left=$?; read wait"];
    let terminal = Terminal::running(&world, (100, 40), &[], &command);
    terminal.see("Make the call of Bash like this, one time? (y/N)");
    let seen = std::fs::read_to_string(world.path("seen")).unwrap();
    assert!(seen.starts_with("echo a\\u{200b}b\\u{202e}\n\techo \\u{5c}u{41}\\u{d}\nrm x\n"), "{seen}");
    assert!(seen.contains("stands for a character that cannot be seen"), "{seen}");
    terminal.press(&["y", "Enter"]);
    terminal.see("left=0");
    assert_eq!(world.document("answered/ship.json")["answer"]["edited"], call.replace("rm x", "ls x"));
}

#[test]
fn keys_pressed_before_the_call_was_shown_confirm_nothing() {
    needs!("tmux");
    let world = git_push();
    // The next line of a pasted text is there before the editor ends.
    world.sh("printf '#!/bin/sh\nuntil test -e pasted; do sleep 0.05; done; sed -i \"s/^git push$/git push -n/\" \"$1\"\n' >editor; chmod +x editor");
    let command = ["sh", "-c", "EDITOR=./editor ask-answer edit ship; echo left=$?; read wait"];
    let terminal = Terminal::running(&world, (100, 40), &[], &command);
    terminal.burst(&["y", "Enter"]);
    terminal.see("y");
    world.sh("touch pasted");
    terminal.see("Make the call of Bash like this, one time? (y/N)");
    terminal.press(&["Enter"]);
    terminal.see("ship: nothing was decided");
    assert!(world.names("answered").is_empty());
}

#[test]
fn a_changed_call_names_the_call_that_was_seen() {
    let world = git_push();
    let shown = world.ok("ask-answer", &["show", "ship"]);
    assert!(shown.contains("To change its command first") && shown.contains("  ask-answer edit ship\n"), "{shown}");
    let refused = world.refused(2, "printf 'git push --dry-run' | ask-answer edit ship --input -");
    assert!(refused.contains("does not say which call you have seen"), "{refused}");
    assert!(world.refused(2, "ask-answer edit ship").contains("is confirmed at a terminal"));
    for (text, says) in [("git push", "is the text of the call itself"), (" ", "is empty")] {
        let refused = world.refused(5, &format!("printf '{text}' | ask-answer edit ship --input - --round {}", world.seen("ship")));
        assert!(refused.contains(says), "{refused}");
    }
    assert!(world.refused(5, "ask-answer ship edited").contains("edited"));
    let other = "--round 019ab3c2-77aa-7c31-9b0e-5d2f6a1c8e44";
    world.refused(4, &format!("printf 'git push --dry-run' | ask-answer edit ship --input - {other}"));
    assert!(world.names("answered").is_empty());
    let said = world.sh(&format!("printf 'git push --dry-run' | ask-answer edit ship --input - --round {}", world.seen("ship")));
    assert!(said.contains("ship: answered: edited"), "{said}");
}

#[test]
fn a_call_that_was_not_changed_leads_to_the_one_as_it_is() {
    needs!("tmux");
    let world = git_push();
    let terminal = Terminal::running(&world, (100, 40), &["EDITOR=true"], &["sh", "-c", "ask-answer edit ship; echo left=$?; read wait"]);
    let screen = terminal.see("left=5");
    assert!(screen.contains("is unchanged, so nothing was decided") && screen.contains("ask-answer show ship"), "{screen}");
    let shown = world.ok("ask-answer", &["show", "ship"]);
    assert!(shown.contains("until you revoke it: relaunch approve --revoke ship\n"), "{shown}");
    let once = shown.lines().find(|line| line.contains("ship once --round")).expect("the command");
    assert!(world.sh(once).contains("ship: answered: once"));
}

#[test]
fn a_call_without_such_a_text_is_not_changed() {
    let world = asks("git push", None);
    let refused = world.refused(2, &format!("echo x | ask-answer edit ship --input - --round {}", world.seen("ship")));
    assert!(refused.contains("no text that you can change") && refused.contains("ask-answer decline ship --note TEXT"), "{refused}");
    world.sh("ask-post Which? -w plain");
    assert!(world.refused(2, "echo x | ask-answer edit plain --input -").contains("no call is asked about"));
}

#[test]
fn the_inbox_changes_a_call_and_leads_back() {
    needs!("tmux");
    let world = git_push();
    world.sh("printf '#!/bin/sh\\nsed -i \"s/^git push$/git push --dry-run/\" \"$1\"\\n' >editor; chmod +x editor");
    let terminal = Terminal::running(&world, (100, 40), &["EDITOR=./editor"], &["sh", "-c", "ask-answer ship; echo left=$?; read wait"]);
    terminal.see("^e change the call");
    terminal.press(&["n"]);
    terminal.see("A note beside your answer");
    terminal.press(&["only a dry run", "Enter"]);
    terminal.see("note: only a dry run");
    // A reason that was left is named before the editor opens.
    terminal.press(&["d"]);
    terminal.see("Refuse this one call");
    terminal.press(&["Too early", "Escape"]);
    terminal.see("^e change the call");
    terminal.press(&["C-e"]);
    terminal.see("why you deny it (\"Too early\") would not be sent with a changed call; ctrl-e again opens the editor");
    terminal.press(&["C-e"]);
    terminal.see("Make the call of Bash like this, one time? (y/N)");
    assert!(world.names("answered").is_empty());
    terminal.press(&["y", "Enter"]);
    terminal.see("Enter leads back to the inbox.");
    let answer = world.document("answered/ship.json")["answer"].clone();
    assert_eq!((&answer["edited"], &answer["note"]), (&json!("git push --dry-run"), &json!("only a dry run")));
    terminal.press(&["Enter"]);
    terminal.see("back");
}

mod promises {
    use super::*;

    #[test]
    fn a_call_that_was_not_seen_is_not_changed() {
        let world = git_push();
        let round = world.round("ship");
        for (seen, words) in [
            ("01900000-0000-7000-8000-000000000000".to_owned(), "ship asks another question now; nothing was answered"),
            (format!("{round}:0123456789abcdef0123456789abcdef"), "was changed after it was shown to you; nothing was answered"),
        ] {
            let refused = world.refused(4, &format!("EDITOR=true ask-answer edit ship --round {seen}"));
            assert!(refused.contains(words), "{refused}");
        }
        assert!(world.in_mailbox("pending/ship.json").exists());
    }

    #[test]
    fn a_call_is_changed_in_the_editor_and_confirmed() {
        needs!("tmux");
        let world = git_push();
        world.sh("printf '#!/bin/sh\\nsed -i \"s/^git push$/git push --dry-run/\" \"$1\"\\n' >editor; chmod +x editor");
        let command = ["sh", "-c", "EDITOR=./editor ask-answer edit ship; EDITOR=true ask-answer edit ship; echo left=$?; read wait"];
        let terminal = Terminal::running(&world, (100, 40), &[], &command);
        terminal.see("Make the call of Bash like this, one time? (y/N)");
        let screen = terminal.with_colours();
        assert!(screen.contains("\x1b[31m-git push") && screen.contains("\x1b[32m+git push --dry-run"), "{screen:?}");
        terminal.press(&["Enter"]);
        // What was not confirmed is a draft: the editor begins with it.
        let screen = terminal.see("ship: nothing was decided");
        assert!(screen.contains("your change is kept; go on with it: ask-answer edit ship"), "{screen}");
        assert!(world.names("answered").is_empty());
        let drafts = || std::fs::read_dir(world.home().join(".local/state/askbox/drafts")).unwrap().count();
        // The next editor may be writing its own.
        until("one draft is kept", || drafts() == 1);
        // Keys that come before the second question are discarded.
        until("it is asked again", || terminal.screen().matches("like this, one time? (y/N)").count() == 2);
        terminal.press(&["y", "Enter"]);
        terminal.see("which allows this in place of \"Bash: git push\": git push --dry-run");
        terminal.see("left=0");
        let answer = &world.document("answered/ship.json")["answer"];
        assert_eq!((&answer["value"], &answer["edited"]), (&json!("edited"), &json!("git push --dry-run")));
        assert!(answer["shown"].is_string());
        assert_eq!(drafts(), 0);
        let shown = world.ok("ask-answer", &["show", "ship"]);
        assert!(shown.contains("the call was changed to:\n    git push --dry-run\n"), "{shown}");
    }

    #[test]
    fn a_separating_line_in_the_call_cuts_nothing_off() {
        needs!("tmux");
        let call = "cat <<E\n------------------------ >8 ------------------------\nE\nrm x";
        let world = World::new();
        world.make_mailbox();
        let shown = format!("May the agent call Bash?\n    command:\n        {}\nIn the folder /work", call.replace('\n', "\n        "));
        let mut question = approval_question("ship", &shown);
        question["approval"]["editable"] = json!({"field": "command", "text": call});
        std::fs::write(world.in_mailbox("pending/ship.json"), question.to_string()).unwrap();
        world.sh("printf '#!/bin/sh\\nsed -i \"s/^rm x$/ls x/\" \"$1\"\\n' >editor; chmod +x editor");
        let command = ["sh", "-c", "EDITOR=./editor ask-answer edit ship; echo left=$?; read wait"];
        let terminal = Terminal::running(&world, (100, 40), &[], &command);
        terminal.see("Make the call of Bash like this, one time? (y/N)");
        terminal.press(&["y", "Enter"]);
        terminal.see("left=0");
        assert_eq!(world.document("answered/ship.json")["answer"]["edited"], call.replace("rm x", "ls x"));
    }
}
