//! What is shorter and friendlier where a person sits at a terminal: parts of ids, a filter, views that scroll.

use crate::support::{Terminal, World, needs, until};

#[test]
fn part_of_an_id_stands_for_it_at_a_terminal_only() {
    needs!("tmux");
    let world = World::new();
    world.sh("for w in docs-42 docs-43 ship; do ask-post How? -w $w -o a=A -o b=B; done");
    world.refused(3, "ask-answer 42 a");
    let terminal = Terminal::new(&world);
    terminal.press(&["clear; ask-answer docs a; echo left=$?", "Enter"]);
    let screen = terminal.see("left=2");
    assert!(screen.contains("`docs` is a part of 2 ids: docs-42, docs-43"), "{screen}");
    // What is decided is seen first, and only a yes decides it.
    for (command, no, does) in [
        ("42 b", "", "answer: b"),
        ("decline 42", "x", "decline it"),
        ("42 b", "n", "answer: b"),
        ("ask-back 42 What?", "", "ask back: What?"),
        ("cancel 42", "n", "withdraw it"),
    ] {
        terminal.press(&[&format!("clear; ask-answer {command}; echo left=$?"), "Enter"]);
        // The screen of the last command may still be there.
        terminal.see(&format!("docs-42: How?\n  {does}"));
        terminal.see("Do you mean docs-42? (y/N)");
        terminal.press(&[no, "Enter"]);
        let screen = terminal.see("left=4");
        assert!(screen.contains("nothing was decided: `42` is only a part of docs-42"), "{screen}");
    }
    assert!(world.path("m/pending/docs-42.json").exists());
    let agrees = |command: &str, said: &str| {
        terminal.press(&["clear", "Enter"]);
        terminal.see_no_more("Do you mean docs-42?");
        terminal.press(&[&format!("ask-answer {command}; echo left=$?"), "Enter"]);
        terminal.see("Do you mean docs-42? (y/N)");
        terminal.press(&["y", "Enter"]);
        terminal.see(said);
    };
    agrees("42 b", "docs-42: answered: b");
    // A question that waits comes before one that is answered.
    terminal.press(&["clear; ask-answer show docs; echo shown=$?", "Enter"]);
    assert!(terminal.see("shown=0").contains("docs-43: asked"));
    agrees("undo 42", "docs-42: taken back");
    for command in ["ask-answer hip", "askbox inbox shi"] {
        terminal.press(&[&format!("clear; {command}; echo left=$?"), "Enter"]);
        assert!(terminal.see("esc later").contains("ship · "));
        terminal.press(&["C-c"]);
        terminal.see("left=130");
    }
    assert!(world.path("m/pending/docs-42.json").exists() && world.path("m/pending/docs-43.json").exists());
}

#[test]
fn what_fills_the_screen_ends_with_its_terminal() {
    needs!("tmux");
    for (command, shown) in [("askbox inbox", "1 question is waiting"), ("relaunch status -f", "wf-1"), ("askbox tree -f", "wf-1")] {
        let world = World::new();
        world.sh("ask-post How? -w wf-1");
        let terminal = Terminal::new(&world);
        // Also where the shell's own children ignore the end of the terminal.
        terminal.press(&[&format!("trap '' HUP; clear; {command}"), "Enter"]);
        terminal.see(shown);
        assert_eq!(world.processes(command).len(), 1, "{command}");
        drop(terminal);
        until(&format!("{command} has ended"), || world.processes(command).is_empty());
    }
}

#[test]
fn views_that_stay_up_to_date_scroll_and_q_leaves_them() {
    needs!("tmux");
    for command in ["relaunch status -f", "askbox tree -f"] {
        let world = World::new();
        world.sh("for n in $(seq 10 59); do ask-post How? -w wf-$n; done");
        let terminal = Terminal::running(
            &world,
            (100, 20),
            &[],
            &["sh", "-c", &format!("{command} > /dev/tty; stty -a | grep -o -- '-*icanon'; echo left=$?; read wait")],
        );
        let screen = terminal.see("more lines");
        assert!(!screen.contains("wf-59"), "{screen}");
        terminal.press(&["End"]);
        terminal.see("wf-59");
        terminal.press(&["Up"]);
        terminal.see("more lines");
        terminal.press(&["Home"]);
        terminal.see("wf-10");
        terminal.press(&["q"]);
        let screen = terminal.see("left=0");
        assert!(screen.contains("icanon") && !screen.contains("-icanon"), "{screen}");
    }
}

#[test]
fn a_wait_at_a_terminal_says_what_for_and_leaves_with_a_word() {
    needs!("tmux");
    let world = World::new();
    let terminal = Terminal::new(&world);
    terminal.press(&["clear; ask-post Which? -w k1 -o red=Red -o blue=Blue --wait 5m; echo left=$?", "Enter"]);
    let screen = terminal.see("where KEY is one of: red, blue");
    assert!(screen.contains("k1 is asked, and this waits until ") && screen.contains("ask-answer k1 KEY"), "{screen}");
    terminal.press(&["C-c"]);
    let screen = terminal.see("ask-answer cancel k1");
    assert!(screen.contains("k1 still waits for its answer"), "{screen}");
    assert!(world.path("m/pending/k1.json").exists());
    // The same command goes on with the same question. The answer is all that it prints.
    terminal.press(&["", "Enter", "clear; ask-post Which? -w k1 -o red=Red -o blue=Blue --wait 5m | sed s/^/got:/", "Enter"]);
    terminal.see("k1 is asked");
    world.sh("ask-answer k1 red");
    terminal.see("got:red");
}

mod promises {
    use super::*;

    #[test]
    fn an_exact_id_is_never_taken_for_a_part_of_another_one() {
        needs!("tmux");
        let world = World::new();
        world.sh("ask-post How? -w docs -o a=A; ask-answer docs a; ask-post How? -w docs-42 -o a=A");
        let terminal = Terminal::new(&world);
        terminal.press(&["clear; ask-answer docs a; echo left=$?", "Enter"]);
        terminal.see("left=4");
        assert!(world.path("m/pending/docs-42.json").exists());
    }

    #[test]
    fn the_list_has_a_project_column_and_a_filter() {
        let world = World::new();
        world.sh(
            "mkdir site app; (cd site && ask-post Merge? -w a --asked-by ann --priority 2); (cd app && ask-post Ship? -w b --asked-by bob)",
        );
        let all = world.sh("ask-answer list");
        assert!(all.contains("PROJECT") && all.contains("site") && all.contains("app"), "{all}");
        for (filter, only) in [("project:site", "a"), ("ship", "b"), ("by:bob project:app", "b"), ("priority:1", "a")] {
            let listed = world.shell(&format!("ask-answer list --filter '{filter}' --json")).events();
            assert_eq!((listed.len(), listed[0]["workflow_id"].as_str()), (1, Some(only)), "{filter}: {listed:?}");
            let cwd = listed[0]["cwd"].as_str().unwrap();
            assert!(cwd.ends_with("/site") || cwd.ends_with("/app"), "{cwd}");
        }
        let none = world.shell("ask-answer list --filter nothing");
        assert!(none.code() == 0 && none.stderr.contains("no pending question has these words"), "{}", none.words());
    }
}
