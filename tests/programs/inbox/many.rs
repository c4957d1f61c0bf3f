//! Sizes of screens and numbers of questions.

use super::{line_of, open};
use crate::support::{Terminal, World, needs, until};

#[test]
fn the_inbox_lists_the_urgent_first_and_shows_who_asks_and_since_when() {
    needs!("tmux");
    let world = World::new();
    world.sh("ask-post \"$(printf 'Usual\\033[31m?')\" -w usual --asked-by reviewer; ask-post Late? -w late --timeout 1s; ask-post Urgent? -w urgent --priority 5");
    world.sh("echo '{' > m/pending/torn.json; sleep 1.1");
    let terminal = Terminal::new(&world);
    let screen = open(&terminal);
    assert!(screen.contains("4 questions are waiting"), "{screen}");
    assert!(line_of(&screen, "> urgent") < line_of(&screen, "usual"), "{screen}");
    for text in ["[+5] Urgent?", "(overdue) Late?", "reviewer  Usual[31m?", "unreadable:"] {
        assert!(screen.contains(text), "{screen}");
    }
    terminal.press(&["Escape"]);
    terminal.see("left=0");
}

#[test]
fn words_filter_the_list_and_marked_questions_are_declined_together() {
    needs!("tmux");
    let world = World::new();
    world.sh("for n in 1 2 3; do ask-post Stale? -w old-$n --asked-by bot; done; ask-post Real? -w real --asked-by ann");
    let terminal = Terminal::new(&world);
    open(&terminal);
    terminal.press(&["/by:bot", "Enter"]);
    let screen = terminal.see("3 with \"by:bot\"");
    assert!(!screen.contains("Real?"), "{screen}");
    terminal.press(&["Space", "Space", "Space", "d"]);
    terminal.see("Decline 3 questions. Why?");
    assert!(world.path("m/pending/old-1.json").exists(), "nothing is declined before it is confirmed");
    terminal.press(&["no longer asked", "Enter"]);
    terminal.see("3 questions declined");
    for n in 1..4 {
        assert_eq!(super::answer(&world, &format!("old-{n}"))["note"], "no longer asked");
    }
    terminal.press(&["Escape"]);
    terminal.see("Real?");
    assert!(world.path("m/pending/real.json").exists());
}

/// Waits for a screen with these words, of which no row is wider than the terminal: tmux tells a program of a new size a moment later, and
/// until then breaks what the program drew for the earlier size.
fn see_fitting(terminal: &Terminal<'_>, words: &[&str], columns: u32, rows: u32) {
    let fits =
        |screen: &str| screen.lines().count() <= rows as usize && screen.lines().all(|line| line.chars().count() <= columns as usize);
    until(&format!("{words:?} on a screen of {columns}×{rows}"), || {
        let screen = terminal.screen();
        fits(&screen) && words.iter().all(|word| screen.contains(word))
    });
}

#[test]
fn the_screen_fits_every_size_and_follows_a_resize_and_each_question_can_be_reached() {
    needs!("tmux");
    let world = World::new();
    world.make_mailbox();
    let terminal = Terminal::new(&world);
    let mut posted = 0;
    for number in [0, 1, 15, 300] {
        for n in posted..number {
            let json = format!(
                "{{\"schema_version\":1,\"workflow_id\":\"plan-{n:03}\",\"question\":\"質問 {n} of a plan that is long enough to be cut 👩‍👩‍👧 שלום\",\"options\":{{\"merge\":\"Merge all of it into one section\",\"keep\":\"Keep\"}},\"context\":\"# Why\\n\\nBecause *{n}*.\",\"timestamp\":\"2026-11-22T10:{:02}:{:02}Z\"}}",
                n / 60,
                n % 60
            );
            std::fs::write(world.path(format!("m/pending/plan-{n:03}.json")), json).unwrap();
        }
        posted = number;
        for (columns, rows) in [(40, 20), (80, 24), (150, 50), (300, 80)] {
            terminal.resize(columns, rows);
            terminal.press(&["clear; ask-answer; echo left=$?", "Enter"]);
            let title = ["No question is waiting", "1 question is waiting", "15 questions are waiting", "300 questions are waiting"];
            let title = title[[0, 1, 15, 300].iter().position(|n| *n == number).unwrap()];
            see_fitting(&terminal, &[title], columns, rows);
            if number > 0 {
                terminal.press(&["End"]);
                let last = format!("> plan-{:03}", number - 1);
                see_fitting(&terminal, &[&last], columns, rows);
                terminal.press(&["Enter"]);
                let because = format!("Because {}.", number - 1);
                see_fitting(&terminal, &["enter send", "1 merge", "2 keep", &because], columns, rows);
                terminal.resize(60, 18);
                terminal.press(&["Escape"]);
                // A key right behind Escape would be another key.
                terminal.see_no_more("enter send");
                see_fitting(&terminal, &[&last], 60, 18);
            }
            terminal.press(&["q"]);
            terminal.see("left=0");
        }
    }
}

#[test]
fn ten_thousand_questions_open_and_the_last_one_is_answered() {
    needs!("tmux");
    let world = World::new();
    world.make_mailbox();
    for n in 0..10_000 {
        let json = format!(
            "{{\"schema_version\":1,\"workflow_id\":\"w-{n:04}\",\"question\":\"How {n}?\",\"type\":\"yes_no\",\"timestamp\":\"2026-11-22T{:02}:{:02}:{:02}Z\"}}",
            n / 3600,
            n / 60 % 60,
            n % 60
        );
        std::fs::write(world.path(format!("m/pending/w-{n:04}.json")), json).unwrap();
    }
    let terminal = Terminal::running(&world, (100, 30), &[], &["sh", "-c", "ask-answer; echo left=$?; read wait"]);
    terminal.see("10000 questions are waiting");
    terminal.press(&["End"]);
    terminal.see("> w-9999");
    terminal.press(&["Enter"]);
    terminal.see("esc later");
    terminal.press(&["y", "Enter"]);
    terminal.see("9999 questions are waiting");
    assert_eq!(super::answer(&world, "w-9999")["value"], "yes");
}
