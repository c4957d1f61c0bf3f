//! The words behind an answer that was sent: the reason why its agent is not started yet, and the key that takes it back.

use super::{open, open_question};
use crate::support::{Terminal, World, needs, until};

#[test]
fn an_answer_of_an_earlier_inbox_names_the_key_that_undoes_it() {
    needs!("tmux");
    let world = World::new();
    world.sh("ask-post Which? -w w -o one=A; ask-answer w one");
    let terminal = Terminal::new(&world);
    open(&terminal);
    terminal.press(&["u"]);
    terminal.see("nothing was answered from here that could be taken back; tab shows earlier answers");
    terminal.press(&["Tab"]);
    terminal.see("What became of answered questions · u takes an answer back before it is");
    terminal.see("u take back");
    // The workflow asks its next question, so the earlier one cannot wait again.
    world.sh("ask-post 'Next?' -w w -o two=B");
    terminal.press(&["Tab", "Tab"]);
    terminal.see("What became of");
    until("nothing can be taken back", || {
        let screen = terminal.screen();
        !screen.contains("u take back") && !screen.contains("u takes an answer back")
    });
}

mod promises {
    use super::*;

    #[test]
    fn a_missing_watcher_is_told_once_and_then_in_a_word() {
        needs!("tmux");
        let world = World::new();
        world.sh("for w in a b c d; do ask-post Which? -w $w -o one=A; done");
        let terminal = Terminal::new(&world);
        open_question(&terminal, "a");
        terminal.press(&["1", "Enter"]);
        terminal.see("a: answered: one · no watcher runs: relaunch watch");
        let answers = |says: &str| {
            terminal.open_chosen();
            terminal.press(&["1", "Enter"]);
            terminal.see(says)
        };
        let screen = answers("b: answered: one · not launched yet");
        assert!(!screen.contains("relaunch watch"), "{screen}");
        world.sh("relaunch pause");
        answers("c: answered: one · the queue is ");
        let screen = answers("d: answered: one · not launched yet");
        assert!(!screen.contains("relaunch go") && screen.contains("the queue is paused"), "{screen}");
    }
}
