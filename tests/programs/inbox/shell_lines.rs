//! Whole lines that are meant for a shell, typed or pasted into the inbox: none of them decides anything.

use std::time::Duration;

use super::habits::leave;
use super::{answer, open, open_question};
use crate::support::{Terminal, World, needs};

#[test]
fn a_shell_line_in_the_list_decides_nothing() {
    needs!("tmux");
    let world = World::new();
    world.sh("ask-post 'Drop the table?' -w docs-42 -o yes=Y -o no=N; ask-post 'How many?' -w other");
    let terminal = Terminal::new(&world);
    for (line, does) in [("cd src", "declines"), ("docker ps", "declines"), ("drop", "declines"), ("b", "asks back")] {
        open(&terminal);
        let typed: &[&str] = if line == "b" { &["b", "which one?", "Enter"] } else { &[line, "Enter"] };
        terminal.press(typed);
        terminal.see(&format!("ok, then enter, {does} docs-42: \"Drop the table?\""));
        // What is typed next does not confirm it.
        terminal.press(&["ls"]);
        terminal.see_no_more("ok, then enter,");
        terminal.press(&["Enter"]);
        terminal.see("ok, then enter,");
        assert_eq!((world.state("docs-42"), world.state("other")), ("pending".into(), "pending".into()), "{line}");
        leave(&world, &terminal);
    }
    open(&terminal);
    terminal.press(&["d", "not mine", "Enter"]);
    terminal.see("ok, then enter, declines docs-42");
    terminal.confirm();
    terminal.see("docs-42: declined");
    assert_eq!(answer(&world, "docs-42")["note"], "not mine");
}

#[test]
fn two_enters_behind_a_shell_line_decline_nothing() {
    needs!("tmux");
    let world = World::new();
    world.sh("ask-post 'Drop the table?' -w docs-42 -o yes=Y -o no=N");
    let terminal = Terminal::new(&world);
    open(&terminal);
    terminal.type_slowly("docker ps");
    terminal.press(&["Enter"]);
    terminal.see("ok, then enter, declines docs-42: \"Drop the table?\"");
    terminal.see("ok, enter confirm");
    for _ in 0..3 {
        terminal.enter_again();
        terminal.settle();
    }
    terminal.see("ok, then enter, declines docs-42");
    // A word that begins with the same letters is a word, and no letter of it is lost. Nor does a shell's `y` confirm.
    terminal.type_slowly("y");
    terminal.press(&["Enter"]);
    terminal.see("ok, then enter, declines docs-42");
    terminal.type_slowly("okay");
    terminal.see("ocker psyokay");
    terminal.press(&["Enter"]);
    terminal.see("ok, then enter, declines docs-42");
    assert_eq!(world.state("docs-42"), "pending");
    terminal.confirm();
    terminal.see("docs-42: declined");
    assert_eq!(answer(&world, "docs-42")["note"], "ocker psyokay");
}

#[test]
fn a_shells_yes_and_its_last_command_decide_nothing() {
    needs!("tmux");
    let world = World::new();
    world.sh("ask-post 'Deploy tonight?' -w ship --type yes_no");
    let terminal = Terminal::new(&world);
    let types = |lines: &[&str]| {
        for line in lines {
            if *line == "up" {
                terminal.press(&["Up"]);
            } else {
                terminal.type_slowly(line);
            }
            terminal.press(&["Enter"]);
            terminal.settle();
            assert_eq!(world.state("ship"), "pending", "{lines:?}: {}", terminal.screen());
        }
    };
    for lines in [
        &["y", "y", "y"][..],
        &["apt install foo", "y", "y"],
        &["docker ps", "y"],
        &["rm -ri build", "y"],
        &["ls", "up", "up"],
        &["", "up", "up"],
    ] {
        open(&terminal);
        types(lines);
        leave(&world, &terminal);
    }
    for lines in [&["make", "up"][..], &["docker ps", "y", "y"], &["make", "y", "up"]] {
        open_question(&terminal, "ship");
        types(lines);
        leave(&world, &terminal);
    }
}

#[test]
fn a_pause_within_a_line_does_not_make_it_an_answer() {
    needs!("tmux");
    let world = World::new();
    world.sh("ask-post 'Which?' -w w -o one=A -o two=B; ask-post 'Ship?' -w ship --type yes_no");
    let terminal = Terminal::new(&world);
    for (id, begun, rest, word) in [("w", "sleep ", "2", "sleep 2"), ("ship", "sleep ", "2", "sleep 2"), ("w", "x", "jj", "xjj")] {
        open_question(&terminal, id);
        terminal.type_slowly(begun);
        std::thread::sleep(Duration::from_millis(1200));
        terminal.type_slowly(rest);
        for _ in 0..2 {
            terminal.enter_again();
            terminal.see(&format!("was \"{word}\" meant for this question?"));
        }
        assert_eq!(world.state(id), "pending", "{id}");
        leave(&world, &terminal);
    }
    // Nor does an enter between, which asks for a choice.
    open_question(&terminal, "w");
    terminal.type_slowly("sleep");
    terminal.press(&["Enter"]);
    terminal.see("choose first");
    terminal.press(&["2", "Enter"]);
    terminal.see("was \"sleep2\" meant for this question?");
    // Nor does an arrow key, which repeats a command of a shell.
    terminal.press(&["Up"]);
    terminal.see("> 1 one");
    terminal.press(&["Enter"]);
    terminal.see("was \"sleep2\" meant for this question? ok, then enter, sends w `one`");
    terminal.confirm();
    terminal.see("w: answered: one");
    // In the list, strange letters are remembered as well.
    terminal.type_slowly("ls");
    std::thread::sleep(Duration::from_millis(1200));
    for _ in 0..2 {
        terminal.enter_again();
        terminal.see("\"l\" and \"s\" are not keys here: was \"ls\" meant for another window?");
    }
    terminal.confirm();
    terminal.see("esc later");
}

#[test]
fn a_shell_line_typed_into_a_review_does_not_send_it() {
    needs!("tmux");
    let world = World::new();
    world.sh(r#"echo '{"questions":[{"question":"A?","type":"yes_no"},{"question":"B?","type":"yes_no"}]}' | ask-post -w w --file -"#);
    let terminal = Terminal::new(&world);
    open_question(&terminal, "w");
    terminal.press(&["y", "Enter"]);
    terminal.see("2 of 2: B?");
    terminal.press(&["y", "Enter"]);
    terminal.see("Enter asks, and then sends this");
    terminal.type_slowly("ls");
    for _ in 0..2 {
        terminal.enter_again();
        terminal.see("was \"ls\" meant for this question?");
    }
    assert_eq!(world.state("w"), "pending");
    terminal.confirm();
    terminal.see("w: answered");
}

#[test]
fn shell_lines_typed_by_hand_open_and_answer_nothing() {
    needs!("tmux");
    let world = World::new();
    world.sh("ask-post 'How many?' -w text; ask-post 'Which?' -w which -o one=A -o two=B");
    let terminal = Terminal::new(&world);
    open(&terminal);
    terminal.type_slowly("ls");
    terminal.press(&["Enter"]);
    let screen = terminal.see("\"l\" and \"s\" are not keys here: was \"ls\" meant for another window? ok, then enter,");
    assert!(screen.contains("2 questions are waiting"), "{screen}");
    terminal.confirm();
    terminal.see("esc later");
    for line in ["make test", "ls -la"] {
        terminal.type_slowly(line);
        terminal.press(&["Enter"]);
        terminal.see("ok, then enter, sends your words to text: \"How many?\"");
        assert_eq!(world.state("text"), "pending");
    }
    terminal.press(&["C-c"]);
    terminal.see("left=130");
    // `i` begins own words, and `d` a reason.
    for (line, told) in [("ip a", "sends your words to which"), ("cd src", "declines which"), ("docker ps", "declines which")] {
        open_question(&terminal, "which");
        terminal.type_slowly(line);
        terminal.press(&["Enter"]);
        terminal.see(&format!("ok, then enter, {told}"));
        assert_eq!(world.state("which"), "pending", "{line}");
        terminal.press(&["C-c"]);
        terminal.see("left=130");
        let _none = std::fs::remove_dir_all(world.home().join(".local/state/askbox/drafts"));
    }
}

#[test]
fn a_line_that_comes_at_once_decides_nothing_whatever_is_shown() {
    needs!("tmux");
    let world = World::new();
    world.sh("ask-post 'Which?' -w w -o one=A -o two=B; ask-post 'Ship?' -w ship --type yes_no; ask-post 'How many?' -w text");
    let terminal = Terminal::new(&world);
    for (id, line) in [("w", "1\r"), ("ship", "y\r"), ("text", "ls\r")] {
        open_question(&terminal, id);
        terminal.burst(&["-l", line]);
        terminal.see("came together with others");
        assert_eq!(world.state(id), "pending");
        // What it chose or wrote is on the screen now, and one enter sends an option. Words and a typed yes are confirmed by name first.
        terminal.enter_again();
        if id != "w" {
            let what = if id == "text" { "your words" } else { "`yes`" };
            terminal.see(&format!("ok, then enter, sends {what} to {id}"));
            terminal.confirm();
        }
        terminal.see(&format!("{id}: answered"));
        terminal.press(&["q"]);
        terminal.see("left=0");
    }
    // A paste is no key, and the enter that came with it decides nothing.
    world.sh("ask-post 'And?' -w more");
    open_question(&terminal, "more");
    terminal.burst(&["-l", "\x1b[200~pasted\x1b[201~\r"]);
    terminal.see("came together with others");
    terminal.see("│ pasted");
    assert_eq!(world.state("more"), "pending");
}

#[test]
fn a_shell_line_typed_into_a_question_asks_before_it_sends() {
    needs!("tmux");
    let world = World::new();
    world.sh("ask-post 'Which?' -w w -o one=A -o two=B");
    let terminal = Terminal::new(&world);
    for (line, shown) in [("go", "\"go\""), ("major", "\"major\""), ("git status", "\"git status\"")] {
        open_question(&terminal, "w");
        for letter in line.chars() {
            terminal.burst(&["-l", &letter.to_string()]);
            terminal.settle();
        }
        terminal.press(&["Enter"]);
        let screen = terminal.see("meant for this question?");
        assert!(screen.contains(&format!("was {shown} meant")) && world.state("w") == "pending", "{screen}");
        terminal.press(&["C-c"]);
        terminal.see("left=130");
        let _none = std::fs::remove_dir_all(world.home().join(".local/state/askbox/drafts"));
    }
    // Movements and own words are what they were.
    open_question(&terminal, "w");
    terminal.press(&["j", "j", "Enter"]);
    terminal.see("w: answered: two");
}
