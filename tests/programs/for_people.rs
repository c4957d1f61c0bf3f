//! What a person at a terminal sees.

use crate::support::{Terminal, World, needs};

#[test]
fn a_dumb_terminal_gets_no_colours_and_another_one_does() {
    needs!("tmux");
    for (term, colours) in [("TERM=screen", true), ("TERM=dumb", false)] {
        let world = World::new();
        world.sh("ask-post How? -w w -o merge='Merge into one' -o keep='Keep both'");
        let terminal = Terminal::running(&world, (100, 40), &[term], &["ask-answer"]);
        terminal.see("quit]");
        assert_eq!(terminal.with_colours().contains("\x1b["), colours, "{term}: {:?}", terminal.with_colours());
    }
}

#[test]
fn a_hint_names_the_workflow_that_it_is_about() {
    let world = World::new();
    world.sh("ask-post How? -w w && checkpoint save w --step one");
    for (command, hint) in [
        ("relaunch status -f w", "for a program: relaunch status -f w --json, or relaunch events -f w"),
        ("checkpoint get w nothing", "see what it has: checkpoint show w"),
    ] {
        let refused = world.shell(command);
        assert!(refused.stderr.contains(&format!("hint: {hint}\n")), "{}", refused.words());
    }
}
