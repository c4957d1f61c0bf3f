//! An inbox that is open costs nothing while nothing changes, and reads only what has changed. Wake-ups and bytes are counted, because
//! times say little on a busy machine.

use std::time::Duration;

use super::{open, process};
use crate::support::{Terminal, World, asleep, bytes_read, needs, sleeps, until};

/// Writes questions that were asked two days ago, so that the age on the screen is the same for hours.
fn ask(world: &World, numbers: std::ops::Range<usize>) {
    for n in numbers {
        let at = askbox::time::rfc3339(askbox::time::now() - chrono::TimeDelta::hours(50));
        let json =
            format!(r#"{{"workflow_id":"w-{n:03}","question":"Number {n}?","context":"{}","timestamp":"{at}"}}"#, "words ".repeat(200));
        std::fs::write(world.path(format!("m/pending/w-{n:03}.json")), json).unwrap();
    }
}

#[test]
fn an_open_inbox_sleeps_while_nothing_changes() {
    needs!("tmux");
    let world = World::new();
    world.make_mailbox();
    ask(&world, 0..50);
    let terminal = Terminal::new(&world);
    open(&terminal);
    terminal.see("50 questions are waiting");
    let pid = process(&world);
    // The first row is under the cursor already, and would not show that a key was taken.
    terminal.press(&["End"]);
    terminal.see("> w-049");
    for (key, words) in [("Home", "> w-000"), ("Enter", "esc later"), ("Escape", "? help"), ("Tab", "What became of")] {
        terminal.press(&[key]);
        terminal.see(words);
        let before = asleep(pid);
        std::thread::sleep(Duration::from_secs(4));
        assert_eq!(sleeps(pid), before, "it woke up behind {key}, and nothing had happened");
    }
    terminal.press(&["Tab"]);
    world.sh("ask-post -w another 'Something else?'");
    terminal.see("51 questions are waiting");
}

mod promises {
    use super::*;

    #[test]
    fn one_change_among_many_questions_has_one_question_read() {
        needs!("tmux");
        let world = World::new();
        world.make_mailbox();
        ask(&world, 0..300);
        let terminal = Terminal::new(&world);
        open(&terminal);
        terminal.see("300 questions are waiting");
        let (pid, all) = (process(&world), 300 * 1300);
        until("all were read once", || bytes_read(pid) > all);
        let before = bytes_read(pid);
        for n in 0..5 {
            world.sh(&format!("ask-post -w new-{n} 'Something else?'"));
            terminal.see(&format!("{} questions are waiting", 301 + n));
        }
        world.sh("ask-answer w-007 yes; ask-answer cancel new-0");
        terminal.see("303 questions are waiting");
        let read = bytes_read(pid) - before;
        assert!(read < all / 10, "{read} bytes were read for seven changes");
    }
}
