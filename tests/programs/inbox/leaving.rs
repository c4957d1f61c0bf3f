//! Leaving the inbox: a `q` within a word does not leave, because the rest of the word would go to the shell.

use super::{open, open_question};
use crate::support::{Terminal, World, needs};

#[test]
fn a_q_within_a_word_does_not_leave_a_question() {
    needs!("tmux");
    let world = World::new();
    world.sh("ask-post Which? -w w -o one=A; ask-post Ship? -w ship -t yes_no");
    let terminal = Terminal::new(&world);
    for id in ["w", "ship"] {
        open_question(&terminal, id);
        terminal.burst(&["-l", "jq"]);
        terminal.see("q is part of a word here: esc leads back");
        terminal.press(&["Escape"]);
        terminal.see("2 questions are waiting");
        terminal.press(&["q"]);
        terminal.see("left=0");
    }
}

mod promises {
    use super::*;

    #[test]
    fn a_q_within_a_word_does_not_leave_the_inbox() {
        needs!("tmux");
        let world = World::new();
        world.sh("ask-post Which? -w w -o one=A; ask-post 'Go?' -w done -o a=A; ask-answer done a");
        let terminal = Terminal::new(&world);
        open(&terminal);
        terminal.burst(&["-l", "jq ."]);
        terminal.press(&["Enter"]);
        terminal.see("was \"jq .\" meant for another window?");
        terminal.press(&["Escape"]);
        for place in ["1 question is waiting", "What became of"] {
            terminal.see(place);
            terminal.burst(&["-l", ":wq"]);
            terminal.see("q is part of a word here: esc, then q leaves the inbox");
            terminal.press(&["Escape"]);
            terminal.see_no_more("q is part of a word");
            terminal.see("1 question is waiting");
            terminal.press(&["Tab"]);
        }
        terminal.see("What became of");
        terminal.press(&["q"]);
        terminal.see("left=0");
    }
}
