//! Small screens, and groups that are longer than the screen: nothing is decided that the person could not see.

use super::{line_of, open, open_question};
use crate::support::{Terminal, World, approval_question, needs, until};

/// Gives the terminal another size, and waits until the inbox has drawn it.
fn shrink(terminal: &Terminal<'_>, columns: u32, rows: u32, sees: &str) -> String {
    shrink_until(terminal, columns, rows, &[sees])
}

/// Gives the terminal another size, and waits for texts. The terminal first shows a part of the screen before. So a test names every text
/// that it expects.
fn shrink_until(terminal: &Terminal<'_>, columns: u32, rows: u32, sees: &[&str]) -> String {
    terminal.resize(columns, rows);
    until(&format!("{sees:?} at {columns}×{rows}"), || {
        let screen = terminal.screen();
        (screen.lines().count() <= rows as usize && sees.iter().all(|sees| screen.contains(sees))).then_some(screen)
    })
}

/// Presses keys, each after the effect of the one before was drawn.
fn press_each(terminal: &Terminal<'_>, keys: &[&str]) {
    for key in keys {
        std::thread::sleep(std::time::Duration::from_millis(400));
        terminal.press(&[key]);
        terminal.settle();
    }
}

/// Leaves the inbox on a small screen. A busy inbox reads Escape and `q` at once, as one key that only leads back.
fn leave(terminal: &Terminal<'_>) {
    let mut looks = 0..;
    until("the inbox is left", || {
        let screen = terminal.screen();
        if screen.contains("too small") && looks.next().is_some_and(|n: usize| n.is_multiple_of(100)) {
            terminal.press(&["q"]);
        }
        screen.contains("left=0")
    });
}

/// Posts questions `w-01`, `w-02` and so on, and marks all of them in the list.
fn mark(world: &World, terminal: &Terminal<'_>, number: usize) {
    world.sh(&format!("for n in $(seq -w 1 {number}); do ask-post \"Stale $n?\" -w w-$n; done"));
    open(terminal);
    terminal.see(&format!("{number} questions are waiting"));
    (0..number).for_each(|_| terminal.press(&["Space"]));
    until("all are marked", || terminal.screen().contains("d decline the marked"));
    terminal.press(&["d"]);
    terminal.see(&format!("Decline {number} questions. Why?"));
    terminal.press(&["Enter"]);
    terminal.see(&format!("Decline these {number} questions?"));
}

#[test]
fn the_question_comes_before_its_deadlines_on_a_short_screen() {
    needs!("tmux");
    let world = World::new();
    world.sh("ask-post 'Shall the two sections be merged?' -w merge-the-sections -o a=A -o b=B --timeout 2h --asked-by reviewer");
    let terminal = Terminal::new(&world);
    open_question(&terminal, "merge-the-sections");
    shrink_until(&terminal, 40, 8, &["esc later", "Shall the two sections be merged?", "1 a  A"]);
    terminal.press(&["2"]);
    terminal.see("> 2 b  B");
    // With room for all, the address comes first again.
    let screen = shrink(&terminal, 80, 24, "b ask back");
    assert!(line_of(&screen, "merge-the-sections") < line_of(&screen, "Shall the two"), "{screen}");
}

#[test]
fn a_short_screen_skips_no_line_of_a_call() {
    needs!("tmux");
    let world = World::new();
    world.make_mailbox();
    let steps = (0..30).map(|n| format!("        step-{n:02} --force\n")).collect::<String>();
    let question = approval_question("deploy", &format!("May the agent call Bash?\n    command:\n{steps}The agent says: it deploys."));
    std::fs::write(world.path("m/pending/deploy.json"), question.to_string()).unwrap();
    let terminal = Terminal::new(&world);
    terminal.resize(80, 14);
    terminal.see("$");
    let mut seen = open_question(&terminal, "deploy");
    until("the end of the call", || {
        terminal.press(&["NPage"]);
        terminal.settle();
        seen += &terminal.screen();
        seen.contains("The agent says: it deploys.")
    });
    let missed: Vec<_> = (0..30).map(|n| format!("step-{n:02}")).filter(|step| !seen.contains(step)).collect();
    assert_eq!(missed, [] as [String; 0]);
}

#[test]
fn u_takes_back_all_that_were_declined_together() {
    needs!("tmux");
    let world = World::new();
    let terminal = Terminal::new(&world);
    mark(&world, &terminal, 3);
    terminal.confirm();
    terminal.see("3 questions declined · u takes them back");
    terminal.take_back();
    terminal.see("3 questions wait again");
    for id in ["w-1", "w-2", "w-3"] {
        assert_eq!(world.state(id), "pending", "{id}");
    }
    // The group is over: nothing is left to take back.
    terminal.press(&["u"]);
    terminal.see("nothing was answered from here");
}

mod promises {
    use super::*;

    #[test]
    fn no_key_decides_on_a_screen_that_shows_nothing() {
        needs!("tmux");
        let world = World::new();
        world.sh("ask-post Ship? -w w -o yes=Ship -o no=Wait");
        let terminal = Terminal::new(&world);
        for (columns, rows) in [(19, 24), (80, 5)] {
            open_question(&terminal, "w");
            shrink(&terminal, columns, rows, "too small");
            press_each(&terminal, &["2", "Enter", "d", "Enter"]);
            terminal.paste("words");
            assert_eq!(world.state("w"), "pending");
            // The keys have not chosen anything either.
            shrink_until(&terminal, 80, 24, &["esc later", "  1 yes  Ship", "  2 no   Wait"]);
            // Leaving works on a small screen.
            shrink(&terminal, columns, rows, "too small");
            press_each(&terminal, &["Escape"]);
            leave(&terminal);
            terminal.resize(100, 40);
            terminal.press(&["clear", "Enter"]);
            terminal.see_no_more("left=0");
        }
    }

    #[test]
    fn an_approval_seen_before_the_screen_shrank_is_not_given() {
        needs!("tmux");
        let world = World::new();
        world.make_mailbox();
        let question = approval_question("tidy", "May the agent call Bash?\n    command: ls");
        std::fs::write(world.path("m/pending/tidy.json"), question.to_string()).unwrap();
        let terminal = Terminal::new(&world);
        open_question(&terminal, "tidy");
        shrink(&terminal, 20, 5, "too small");
        press_each(&terminal, &["1", "Enter", "o", "k", "Enter"]);
        assert_eq!(world.state("tidy"), "pending");
        // What was asked on the larger screen is not confirmed on the small one.
        shrink(&terminal, 80, 24, "esc later");
        press_each(&terminal, &["1", "Enter"]);
        terminal.see("ok, then enter, allows \"Bash");
        shrink(&terminal, 20, 8, "too small");
        press_each(&terminal, &["o", "k", "Enter"]);
        assert_eq!(world.state("tidy"), "pending");
    }

    #[test]
    fn twenty_marked_are_declined_once_all_their_names_were_shown() {
        needs!("tmux");
        let world = World::new();
        let terminal = Terminal::new(&world);
        terminal.resize(80, 24);
        mark(&world, &terminal, 20);
        press_each(&terminal, &["o", "k", "Enter"]);
        let screen = terminal.see("page down shows the other names");
        assert!(!screen.contains("│w-20"), "{screen}");
        assert_eq!(world.state("w-01"), "pending");
        let mut seen = screen;
        until("the last name", || {
            terminal.press(&["NPage"]);
            terminal.settle();
            seen += &terminal.screen();
            seen.contains("│w-20")
        });
        assert!((1..=20).all(|n| seen.contains(&format!("│w-{n:02}"))), "{seen}");
        terminal.confirm();
        terminal.see("20 questions declined");
    }
}
