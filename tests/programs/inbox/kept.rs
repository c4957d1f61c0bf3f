//! Nothing that a person typed is lost.

use super::{answer, open, open_question};
use crate::support::{Terminal, World, needs};

/// The file that a screen names behind these words.
#[track_caller]
fn file_behind(screen: &str, words: &str) -> String {
    let joined = screen.replace('\n', "");
    let path = joined.split(words).nth(1).unwrap_or_else(|| panic!("no {words:?} in\n{screen}")).trim();
    path[..path.find(".md").expect("a file") + 3].to_owned()
}

#[test]
fn what_was_typed_and_not_sent_is_in_a_file_when_the_inbox_is_left_and_the_person_is_told_which() {
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
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "half a thought");
        std::fs::remove_file(path).unwrap();
        if status.is_empty() {
            let path = file_behind(&screen, "second: what you typed was not sent; it is kept in ");
            let kept = std::fs::read_to_string(&path).unwrap();
            assert!(kept.contains("more") && kept.contains("a note"), "{kept:?}");
            std::fs::remove_file(path).unwrap();
        } else {
            assert!(screen.contains(status), "{screen}");
        }
        assert!(!screen.contains("third:"), "{screen}");
    }
}

#[test]
fn words_for_a_question_that_vanished_are_kept_even_if_nobody_asks_for_that() {
    needs!("tmux");
    let world = World::new();
    world.sh("ask-post Essay? -w essay");
    let terminal = Terminal::new(&world);
    open_question(&terminal, "essay");
    terminal.press(&["my long thoughts"]);
    terminal.see("│ my long thoughts");
    world.sh("ask-answer essay no --by eve");
    terminal.see("This question is over");
    terminal.press(&["Enter"]);
    terminal.see("No question is waiting");
    terminal.press(&["q"]);
    let screen = terminal.see("left=0");
    let path = file_behind(&screen, "essay: what you typed was not sent; it is kept in ");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "my long thoughts");
    std::fs::remove_file(path).unwrap();
    assert_eq!(answer(&world, "essay")["by"], "eve");
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
    terminal.press(&["all of my thouhgts", "Enter"]);
    terminal.see("essay: answered");
    terminal.press(&["u"]);
    terminal.see("taken back");
    terminal.press(&["Enter"]);
    terminal.see("│ all of my thouhgts");
    terminal.press(&["BSpace", "BSpace", "BSpace", "BSpace", "ghts", "Enter"]);
    terminal.see("essay: answered");
    assert_eq!(answer(&world, "essay")["value"], "all of my thoughts");
    terminal.press(&["q"]);
    let screen = terminal.see("left=0");
    assert!(!screen.contains("not sent"), "{screen}");
}
