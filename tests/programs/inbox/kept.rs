//! Nothing that a person typed is lost.

use std::os::unix::fs::PermissionsExt;

use super::{answer, drafts, kill_inbox, open, open_question};
use crate::support::{Terminal, World, needs, until};

/// The file that a screen names behind these words.
#[track_caller]
fn file_behind(screen: &str, words: &str) -> String {
    // The screen breaks lines between words, and a long path anywhere.
    let joined = |text: &str| text.split_whitespace().collect::<String>();
    let (screen, words) = (joined(screen), joined(words));
    let path = screen.split(&words).nth(1).unwrap_or_else(|| panic!("no {words:?} in\n{screen}")).trim();
    path[..path.find(".toml").expect("a file") + 5].to_owned()
}

#[test]
fn an_answer_that_is_taken_back_is_the_draft_again() {
    needs!("tmux");
    let world = World::new();
    world.sh("ask-post Essay? -w essay");
    let terminal = Terminal::new(&world);
    open(&terminal);
    terminal.press(&["Enter"]);
    terminal.see("esc later");
    terminal.press(&["all of my thouhgts"]);
    terminal.send_asked();
    terminal.see("essay: answered");
    terminal.take_back();
    terminal.see("taken back");
    terminal.press(&["Enter"]);
    terminal.see("│ all of my thouhgts");
    terminal.press(&["BSpace", "BSpace", "BSpace", "BSpace", "ghts"]);
    terminal.send_asked();
    terminal.see("essay: answered");
    assert_eq!(answer(&world, "essay")["value"], "all of my thoughts");
    terminal.press(&["q"]);
    let screen = terminal.see("left=0");
    assert!(!screen.contains("not sent"), "{screen}");
}

#[test]
fn typed_words_return_after_the_inbox_was_killed() {
    needs!("tmux");
    let world = World::new();
    world.sh("ask-post Essay? -w essay; ask-post Other? -w other");
    let terminal = Terminal::new(&world);
    open_question(&terminal, "essay");
    terminal.press(&["half a thought"]);
    until("the draft is kept when typing pauses", || drafts(&world).iter().any(|draft| draft.contains("half a thought")));
    // A text that is asked for is part of it.
    terminal.press(&["C-b"]);
    terminal.see("Your question to the agent");
    terminal.press(&["which essay"]);
    until("the question back is kept", || drafts(&world).iter().any(|draft| draft.contains("which essay")));
    // What is left is kept at once.
    terminal.press(&["Escape"]);
    terminal.see_no_more("Your question to the agent");
    terminal.press(&["Escape"]);
    terminal.see("? help");
    terminal.press(&["/other", "Enter", "Enter"]);
    terminal.see("Other?");
    terminal.press(&["something else", "Escape"]);
    terminal.see("? help");
    until("both drafts are kept", || drafts(&world).len() == 2);
    kill_inbox(&world, &terminal);
    open_question(&terminal, "essay");
    let screen = terminal.see("│ half a thought");
    assert!(screen.contains("your draft is here again"), "{screen}");
    terminal.press(&["C-b"]);
    terminal.see("│which essay");
    terminal.press(&["C-u", "Escape"]);
    // Keys that come with an escape would be one key with Alt.
    terminal.see_no_more("Your question to the agent");
    terminal.press(&["C-w", "C-w", "C-w"]);
    until("the emptied draft is removed", || drafts(&world).len() == 1);
    kill_inbox(&world, &terminal);
    open_question(&terminal, "other");
    terminal.see("│ something else");
    terminal.press(&["Enter"]);
    terminal.see("this is your draft from before; ok, then enter, goes on with it");
    terminal.confirm();
    terminal.see("other: answered");
    until("the draft that was sent is removed", || drafts(&world).is_empty());
}

#[test]
fn a_text_beside_the_answer_outlives_its_window_and_an_undo() {
    needs!("tmux");
    let world = World::new();
    world.sh("ask-post Essay? -w essay -o a=A -o b=B; ask-post Other? -w other");
    let terminal = Terminal::new(&world);
    open_question(&terminal, "essay");
    for (key, title, text) in [
        ("n", "A note beside your answer", "my long note"),
        ("b", "Your question to the agent", "my long question"),
        ("d", "Decline. Why?", "my long reason"),
    ] {
        terminal.press(&[key]);
        terminal.see(title);
        terminal.press(&[text]);
        terminal.see(&format!("│{text}"));
        terminal.press(&["Escape"]);
        terminal.see_no_more(title);
        terminal.press(&[key]);
        terminal.see(&format!("│{text}"));
        terminal.press(&["Escape"]);
        terminal.see_no_more(title);
    }
    // Nothing of it was decided. What was asked back and is taken back is the text again.
    assert!(world.in_mailbox("pending/essay.json").exists());
    terminal.press(&["b"]);
    terminal.see("│my long question");
    terminal.press(&["Enter"]);
    terminal.see("a note that you typed (\"my long note\"), why you decline (\"my long reason\") would not be sent");
    terminal.confirm();
    terminal.see("essay: asked back");
    assert_eq!(world.document("answered/essay.json")["answer"]["note"], "my long question");
    terminal.take_back();
    terminal.see("essay: taken back");
    terminal.press(&["Enter"]);
    terminal.see("esc later");
    terminal.press(&["b"]);
    terminal.see("│my long question");
    terminal.press(&["Escape"]);
    terminal.see_no_more("Your question to the agent");
    terminal.press(&["d"]);
    terminal.see("│my long reason");
    terminal.press(&["Escape"]);
    terminal.see_no_more("Decline. Why?");
    terminal.press(&["Escape"]);
    terminal.see("? help");
    // The reason for several is there again as well.
    terminal.press(&["Home", "Space", "Space", "d"]);
    terminal.see("Decline 2 questions");
    terminal.press(&["none of these", "Enter"]);
    terminal.see("Decline these 2 questions?");
    terminal.press(&["Escape"]);
    terminal.see("nothing was declined");
    terminal.press(&["d"]);
    terminal.see("│none of these");
}

#[test]
fn a_text_of_a_window_that_was_left_is_not_dropped_silently() {
    needs!("tmux");
    let world = World::new();
    world.sh("for w in note back why words; do ask-post Merge? -w $w -o merge=Yes -o keep=No; done");
    let terminal = Terminal::new(&world);
    // The key of the window, and how its text is named.
    for (id, key, text, named) in [
        ("note", "n", "Important words", "a note that you typed (\"Important words\")"),
        ("back", "b", "Which section?", "your question to the agent (\"Which section?\")"),
        ("why", "d", "Never this", "why you decline (\"Never this\")"),
    ] {
        open_question(&terminal, id);
        terminal.press(&[key]);
        terminal.see("esc back");
        terminal.press(&[text]);
        terminal.see(text);
        terminal.press(&["Escape"]);
        terminal.see("esc later");
        terminal.press(&["1", "Enter"]);
        let screen = terminal.see("would not be sent; ok, then enter, sends");
        assert!(screen.contains(named), "{screen}");
        assert_eq!(world.state(id), "pending");
        // Any other key asks once more.
        terminal.press(&["Down"]);
        terminal.see_no_more("would not be sent");
        terminal.press(&["Enter"]);
        terminal.see("would not be sent");
        terminal.confirm();
        terminal.see(&format!("{id}: answered: keep"));
        terminal.press(&["q"]);
        terminal.see("left=0");
        assert!(answer(&world, id).get("note").is_none());
    }
    // Own words and a note, and then a refusal.
    open_question(&terminal, "words");
    terminal.press(&["i", "my own words", "C-d"]);
    terminal.see("Decline. Why?");
    terminal.press(&["Because", "Enter"]);
    let screen = terminal.see("would not be sent; ok, then enter, declines");
    assert!(screen.contains("your own words (\"my own words\")") && screen.contains("Because"), "{screen}");
    terminal.confirm();
    terminal.see("words: declined");
    assert_eq!(answer(&world, "words")["note"], "Because");
}

#[test]
fn a_group_that_is_declined_names_the_drafts_it_leaves() {
    needs!("tmux");
    let world = World::new();
    world.sh("ask-post Essay? -w one; ask-post Essay? -w two; ask-post Essay? -w three");
    let terminal = Terminal::new(&world);
    // One draft is in this inbox, and one only on disk.
    open_question(&terminal, "two");
    terminal.press(&["kept by an earlier inbox", "C-c"]);
    terminal.see("left=130");
    open_question(&terminal, "one");
    terminal.press(&["half a thought"]);
    terminal.see("│ half a thought");
    terminal.press(&["Escape"]);
    terminal.see("? help");
    terminal.press(&["Home", "Space", "Space", "Space", "d"]);
    terminal.see("Decline 3 questions");
    terminal.press(&["no longer asked", "Enter"]);
    let screen = terminal.see("Decline these 3 questions?");
    for words in ["with the reason \"no longer asked\"", "not sent: your draft \"half a thought\"", "\"kept by an earlier inbox\""] {
        assert!(screen.contains(words), "{words}: {screen}");
    }
    assert_eq!(screen.matches("not sent: your draft").count(), 2, "{screen}");
    terminal.confirm();
    terminal.see("3 questions declined");
    assert!(drafts(&world).iter().any(|draft| draft.contains("kept by an earlier inbox")));
}

#[test]
fn words_beside_an_option_become_the_note() {
    needs!("tmux");
    let world = World::new();
    world.sh("for w in one two; do ask-post Merge? -w $w -o merge=Yes -o later=No; done");
    let terminal = Terminal::new(&world);
    open_question(&terminal, "one");
    terminal.press(&["i", "xyz quite own", "Up", "Enter"]);
    terminal.see("your own words (\"xyz quite own\") would not be sent; ok, then enter, sends `later`");
    terminal.press(&["n"]);
    let screen = terminal.see("A note beside your answer");
    assert!(screen.contains("xyz quite own"), "{screen}");
    terminal.press(&["Enter"]);
    terminal.see("enter send");
    terminal.enter_again();
    terminal.confirm();
    terminal.see("one: answered: later");
    assert_eq!(answer(&world, "one")["note"], "xyz quite own");
    terminal.press(&["q"]);
    terminal.see("left=0");
    open_question(&terminal, "two");
    terminal.press(&["none of these", "Enter"]);
    terminal.see("did you mean \"none of these\" as your answer?");
    terminal.press(&["Tab"]);
    terminal.send_asked();
    terminal.see("two: answered in your own words: none of these");
}

#[test]
fn an_enter_that_is_held_down_answers_no_question_that_it_opens() {
    needs!("tmux");
    let world = World::new();
    world.sh("ask-post First? -w first; ask-post Second? -w second -o keep=K -o drop=D");
    let terminal = Terminal::new(&world);
    // The second one has a draft that would be sent.
    open_question(&terminal, "second");
    terminal.press(&["i", "something else"]);
    terminal.see("│ something else");
    terminal.press(&["Escape"]);
    terminal.see("? help");
    terminal.press(&["Home", "Enter"]);
    terminal.see("First?");
    terminal.press(&["mine"]);
    terminal.see("│ mine");
    terminal.press(&["Enter"]);
    terminal.see("ok, then enter, sends your words to first");
    terminal.type_ok();
    terminal.see("enter sends your words to first: ");
    // As the keyboard sends it: one press, and then again and again.
    terminal.settle();
    terminal.burst(&["Enter"; 6]);
    terminal.see("enter is held down");
    assert_eq!((answer(&world, "first")["value"].as_str(), world.state("second").as_str()), (Some("mine"), "pending"));
    // What was asked while the key was held down was asked of nobody.
    terminal.enter_again();
    terminal.see("this is your draft from before; ok, then enter, goes on with it");
    terminal.confirm();
    terminal.see("second: answered in your own words: something else");
}

#[test]
fn news_does_not_hide_the_question_that_y_confirms() {
    needs!("tmux");
    let world = World::new();
    world.sh("ask-post Essay? -w essay; mkdir -p .local/state/askbox; echo no folder >.local/state/askbox/drafts");
    let terminal = Terminal::new(&world);
    open_question(&terminal, "essay");
    terminal.press(&["half a thought", "Enter"]);
    terminal.see("ok, then enter, sends your words to essay");
    // Typing has paused, and the draft is to be kept.
    let screen = terminal.see("your draft cannot be kept");
    assert!(screen.contains("ok, then enter, sends your words to essay: \"Essay?\""), "{screen}");
    terminal.confirm();
    terminal.see("essay: answered");
}

#[test]
fn a_draft_goes_a_day_after_its_question_was_answered_elsewhere() {
    needs!("tmux");
    let world = World::new();
    world.sh("ask-post Essay? -w first; ask-post Essay? -w second; ask-post Essay? -w open");
    let terminal = Terminal::new(&world);
    for id in ["first", "second", "open"] {
        open_question(&terminal, id);
        terminal.press(&["half a thought"]);
        terminal.see("│ half a thought");
        terminal.press(&["C-c"]);
        terminal.see("left=");
    }
    assert_eq!(drafts(&world).len(), 3);
    world.sh(
        "ask-answer cancel first; ask-answer cancel second; d=$HOME/.local/state/askbox/drafts; touch -d '2 days ago' $d/first.* $d/open.*",
    );
    open(&terminal);
    // The one that was answered today can still be read, and the one of the open question is offered.
    until("the old one is removed", || drafts(&world).len() == 2);
    terminal.press(&["C-c"]);
}

#[test]
fn a_key_that_moves_nothing_is_no_look_at_a_kept_draft() {
    needs!("tmux");
    let world = World::new();
    world.sh("ask-post 'Which?' -w w -o one=A -o two=B --no-free-text");
    let terminal = Terminal::new(&world);
    open_question(&terminal, "w");
    terminal.press(&["2"]);
    terminal.see("> 2 two");
    terminal.press(&["N"]);
    terminal.see("A note beside your answer");
    terminal.press(&["but slowly"]);
    terminal.see("│but slowly");
    terminal.press(&["C-c"]);
    terminal.see("left=130");
    open_question(&terminal, "w");
    terminal.see("> 2 two");
    for key in ["j", "Down", "x", "NPage"] {
        terminal.press(&[key]);
        terminal.press(&["Enter"]);
        terminal.see("this is your draft from before");
        terminal.press(&["Left"]);
        terminal.see_no_more("this is your draft from before");
    }
    // The note that was not taken is there, too.
    terminal.press(&["N"]);
    terminal.see("│but slowly");
    assert_eq!(world.state("w"), "pending");
}

mod promises {
    use super::*;

    #[test]
    fn unsent_words_are_in_a_file_that_the_person_is_told_of() {
        needs!("tmux");
        let world = World::new();
        world.sh("ask-post Essay? -w first; ask-post Essay? -w second; ask-post Essay? -w third");
        let terminal = Terminal::new(&world);
        for (keys, status) in [(&["C-c"][..], "left=130"), (&["Escape"], "")] {
            open_question(&terminal, "first");
            terminal.press(&["half a thought"]);
            terminal.see("│ half a thought");
            terminal.press(keys);
            if status.is_empty() {
                // It waits in the list, and is left with the list; what another question was given is told as well.
                terminal.see("? help");
                terminal.press(&["/second", "Enter", "Enter"]);
                terminal.see("esc later");
                terminal.press(&["more", "C-n"]);
                terminal.see("A note beside");
                terminal.press(&["a note", "C-c"]);
            }
            let screen = terminal.see("left=");
            let path = file_behind(&screen, "first: what you typed was not sent; it is kept in ");
            assert!(std::fs::read_to_string(&path).unwrap().contains("half a thought"));
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
            std::fs::remove_file(path).unwrap();
            if status.is_empty() {
                let path = file_behind(&screen, "second: what you typed was not sent; it is kept in ");
                let kept = std::fs::read_to_string(&path).unwrap();
                assert!(kept.contains("more") && kept.contains("a note"), "{kept:?}");
                std::fs::remove_file(path).unwrap();
            } else {
                assert!(screen.contains(status), "{screen}");
            }
            assert!(!screen.contains("third:") && screen.contains("to go on with it: ask-answer first"), "{screen}");
        }
    }

    #[test]
    fn words_for_a_vanished_question_are_kept_unasked() {
        needs!("tmux");
        let world = World::new();
        world.sh("ask-post Essay? -w essay");
        let terminal = Terminal::new(&world);
        open_question(&terminal, "essay");
        terminal.press(&["my long thoughts"]);
        terminal.see("│ my long thoughts");
        world.sh("ask-answer essay no --by eve");
        terminal.see("This question is over");
        terminal.press(&["Escape"]);
        terminal.see("No question is waiting");
        terminal.press(&["q"]);
        let screen = terminal.see("left=0");
        let path = file_behind(&screen, "essay: what you typed was not sent; it is kept in ");
        assert!(std::fs::read_to_string(&path).unwrap().contains("my long thoughts"));
        let words = screen.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("its question does not wait any more; to read it: less "), "{screen}");
        assert_eq!(answer(&world, "essay")["by"], "eve");
    }

    #[test]
    fn a_draft_returns_with_its_question_until_it_is_sent() {
        needs!("tmux");
        let world = World::new();
        world.sh("ask-post 'Which tests?' -w w -t multi_choice -o unit=U -o e2e=E; ask-post Other? -w other");
        let terminal = Terminal::new(&world);
        open_question(&terminal, "w");
        terminal.press(&["2", "i", "and fuzz", "C-n"]);
        terminal.see("A note beside");
        terminal.press(&["but slowly", "Enter"]);
        terminal.see("note: but slowly");
        terminal.press(&["C-c"]);
        terminal.see("left=130");
        assert_eq!(drafts(&world).len(), 1, "nothing was given to the other question");
        open_question(&terminal, "w");
        let screen = terminal.see("your draft is here again");
        for words in ["[x] e2e", "│ and fuzz", "note: but slowly"] {
            assert!(screen.contains(words), "{words}: {screen}");
        }
        // A second press of the key that opened it sends only what was looked at.
        terminal.press(&["Enter"]);
        terminal.see("this is your draft from before; ok, then enter, goes on with it");
        until("what is sent is named", || terminal.screen().replace('\n', " ").contains("with the note \"but slowly\")"));
        terminal.confirm();
        terminal.see("w: answered");
        let sent = answer(&world, "w");
        assert_eq!((&sent["value"], &sent["note"]), (&serde_json::json!(["e2e", "and fuzz"]), &serde_json::json!("but slowly")));
        terminal.press(&["q"]);
        terminal.see("left=0");
        assert!(drafts(&world).is_empty());
    }

    #[test]
    fn a_draft_outlives_the_terminal() {
        needs!("tmux");
        let world = World::new();
        world.sh("ask-post Essay? -w essay");
        let terminal = Terminal::new(&world);
        open_question(&terminal, "essay");
        terminal.press(&["half a thought"]);
        terminal.see("│ half a thought");
        world.sh("tmux -S ./tmux kill-server");
        until("the draft is kept", || drafts(&world).iter().any(|draft| draft.contains("half a thought")));
    }
}
