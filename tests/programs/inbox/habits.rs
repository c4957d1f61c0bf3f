//! Keys that mean something else to a shell, to vim or to lazygit, typed into the inbox: nothing is decided without the name of its question.

use std::time::Duration;

use serde_json::json;

use super::{answer, line_of, open, open_question};
use crate::support::{Terminal, World, approval_question, needs, until};

/// A call that a person may allow once, or to the whole workflow.
fn asks_for_a_permission(world: &World) {
    let mut question = approval_question("ship", "May the agent call Bash?\n    command: git push\nIn the folder /work");
    question["approval"]["editable"] = json!({"field": "command", "text": "git push"});
    question["timestamp"] = "2026-11-22T10:00:00Z".into();
    std::fs::write(world.in_mailbox("pending/ship.json"), question.to_string()).unwrap();
}

/// Leaves the inbox, and removes the drafts.
fn leave(world: &World, terminal: &Terminal<'_>) {
    terminal.press(&["C-c"]);
    terminal.see("left=130");
    let _none = std::fs::remove_dir_all(world.home().join(".local/state/askbox/drafts"));
}

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
fn a_yes_typed_at_its_question_is_confirmed_by_name() {
    needs!("tmux");
    let world = World::new();
    world.sh("for w in ship cursor; do ask-post 'Deploy tonight?' -w $w --type yes_no; done");
    let terminal = Terminal::new(&world);
    for (lines, answer) in [(&["y"][..], "yes"), (&["y", "y", "y"], "yes"), (&["yes"], "yes"), (&["n"], "no")] {
        open_question(&terminal, "ship");
        for line in lines {
            terminal.type_slowly(line);
            terminal.enter_again();
            terminal.settle();
        }
        terminal.see(&format!("ok, then enter, sends `{answer}` to ship: \"Deploy tonight?\""));
        assert_eq!(world.state("ship"), "pending", "{lines:?}");
        leave(&world, &terminal);
    }
    open_question(&terminal, "ship");
    terminal.press(&["y"]);
    terminal.send_asked();
    terminal.see("ship: answered: yes");
    terminal.press(&["q"]);
    terminal.see("left=0");
    // A line that the cursor stands on is sent by enter.
    open_question(&terminal, "cursor");
    terminal.press(&["Down", "Down", "Enter"]);
    terminal.see("cursor: answered: no");
}

#[test]
fn an_answer_to_an_mcp_server_is_confirmed_by_name() {
    needs!("tmux");
    let world = World::new();
    world.make_mailbox();
    let question = json!({
        "workflow_id": "pay", "question": "The MCP server `bank` asks: Send the money?", "options": {"accept": "yes, go on"},
        "free_text": false, "elicited_by": "bank", "timestamp": "2026-11-22T10:00:00Z",
    });
    std::fs::write(world.in_mailbox("pending/pay.json"), question.to_string()).unwrap();
    let terminal = Terminal::new(&world);
    open_question(&terminal, "pay");
    terminal.press(&["1"]);
    for _ in 0..3 {
        terminal.enter_again();
        terminal.see("ok, then enter, sends `accept` to `bank` for pay: \"The MCP server `bank` asks:");
    }
    assert_eq!(world.state("pay"), "pending");
    terminal.confirm();
    terminal.see("pay: answered: accept");
}

#[test]
fn a_key_that_takes_back_says_what() {
    needs!("tmux");
    let world = World::new();
    world.sh("for w in a b c; do ask-post 'Go?' -w $w -o one=A; done");
    let terminal = Terminal::new(&world);
    let leads_back = |what: &str| {
        terminal.see("u takes it back");
        terminal.press(&["u"]);
        terminal.see(&format!("u again takes back {what}"));
    };
    open_question(&terminal, "a");
    terminal.press(&["d"]);
    terminal.see("Decline. Why?");
    terminal.send_asked();
    leads_back("the refusal of a");
    terminal.press(&["/b", "Enter", "Enter"]);
    terminal.see("esc later");
    terminal.press(&["b"]);
    terminal.see("Your question to the agent");
    terminal.press(&["Which one?"]);
    terminal.send_asked();
    leads_back("the question back to b");
    std::thread::sleep(Duration::from_millis(400));
    terminal.press(&["u"]);
    terminal.see("b: taken back");
}

#[test]
fn keys_of_a_shell_or_vim_allow_no_call() {
    needs!("tmux");
    let world = World::new();
    world.make_mailbox();
    asks_for_a_permission(&world);
    let terminal = Terminal::new(&world);
    // Movements choose an option, here the one whose permission stays.
    for (line, key) in [("jj", "workflow"), ("ls -1", "once"), ("sleep 2", "workflow"), ("1", "once")] {
        open_question(&terminal, "ship");
        terminal.type_slowly(line);
        for _ in 0..3 {
            terminal.enter_again();
            terminal.see(&format!("ok, then enter, allows Bash(git push) to ship with `{key}`: allow exactly this call"));
        }
        assert_eq!(world.state("ship"), "pending", "{line}");
        leave(&world, &terminal);
    }
    // The sentence is whole, also where it takes several lines.
    terminal.resize(80, 24);
    open_question(&terminal, "ship");
    terminal.press(&["2", "Enter"]);
    terminal.see("ok, then enter, allows");
    let screen = terminal.screen().split_whitespace().collect::<Vec<_>>().join(" ");
    let scope = "allow exactly this call whenever this workflow makes it, until you revoke it: relaunch approve --revoke ship";
    assert!(screen.contains(&format!("ok, then enter, allows Bash(git push) to ship with `workflow`: {scope}")), "{screen}");
    leave(&world, &terminal);
    // A refusal says that it is for good.
    open_question(&terminal, "ship");
    terminal.press(&["d"]);
    terminal.see("Refuse this one call. Why?");
    terminal.press(&["Tab"]);
    terminal.see("whenever the workflow makes it. Why?");
    terminal.press(&["Enter"]);
    terminal.see("ok, then enter, always refuses this call of ship: \"Bash(git push)\"");
    leave(&world, &terminal);
    // The letters and one enter give it, also if the person has looked at it before.
    open_question(&terminal, "ship");
    terminal.press(&["2", "Escape"]);
    terminal.see("? help");
    terminal.open_chosen();
    terminal.enter_again();
    terminal.confirm();
    terminal.see("ship: answered: workflow, which allows Bash");
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
fn y_confirms_a_no_that_the_sentence_names() {
    needs!("tmux");
    let world = World::new();
    world.sh("for w in one two; do ask-post Ship? -w $w --type yes_no; done");
    let terminal = Terminal::new(&world);
    let asked = |id: &str| {
        open_question(&terminal, id);
        terminal.press(&["d"]);
        terminal.see("Decline. Why?");
        terminal.press(&["Too early", "Escape"]);
        terminal.see_no_more("Decline. Why?");
        terminal.press(&["n", "Enter"]);
        until("the answer is named", || terminal.screen().replace('\n', " ").contains("(your answer is no)"));
    };
    asked("one");
    // Letters that go on behind it are a word: the person changes the answer.
    terminal.type_slowly("yes");
    terminal.see("> 1 yes");
    terminal.press(&["Enter"]);
    let screen = terminal.see("ok, then enter, sends your answer without it");
    assert!(!screen.contains("your answer is no") && world.state("one") == "pending", "{screen}");
    terminal.confirm();
    terminal.see("one: answered: yes");
    terminal.press(&["q"]);
    terminal.see("left=0");
    asked("two");
    terminal.confirm();
    terminal.see("two: answered: no");
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
fn a_word_with_two_u_takes_no_answer_back() {
    needs!("tmux");
    let world = World::new();
    world.sh("ask-post Which? -w w -o one=A; ask-post Which? -w v -o one=A");
    let terminal = Terminal::new(&world);
    open_question(&terminal, "w");
    terminal.press(&["1", "Enter"]);
    terminal.see("w: answered: one");
    terminal.see("u takes it back");
    // On a busy machine, two letters that are sent one after the other may be half a second apart.
    terminal.burst(&["-l", "uu"]);
    terminal.see("u again takes back the answer to w (one)");
    assert_eq!(world.state("w"), "answered");
    // Once the answer is claimed, nothing says that it can be taken back.
    terminal.press(&["Enter"]);
    terminal.see("esc later");
    terminal.press(&["1", "Enter"]);
    terminal.see("v: answered: one");
    terminal.see("u takes it back");
    world.sh("relaunch prompt v");
    terminal.see_no_more("u takes it back");
}

#[test]
fn letters_in_a_question_move_as_in_the_list_and_are_no_answer() {
    needs!("tmux");
    let world = World::new();
    world.sh("ask-post 'Which?' -w w -o one=A -o two=B -o three=C; ask-post 'Ship?' -w ship --type yes_no");
    let terminal = Terminal::new(&world);
    open_question(&terminal, "w");
    terminal.press(&["?"]);
    terminal.see("i        begin words of your own");
    terminal.press(&["Escape"]);
    terminal.see_no_more("begin words of your own");
    terminal.press(&["Enter"]);
    terminal.see("choose first");
    for (key, line) in [("j", "> 1 one"), ("j", "> 2 two"), ("k", "> 1 one"), ("G", "> 4 your own words")] {
        terminal.press(&[key]);
        terminal.see(line);
    }
    // There, letters are words. Above, they are none.
    terminal.press(&["Up", "g", "x"]);
    terminal.see("i begins words of your own");
    terminal.see("> 1 one");
    // In less and vim this scrolls. It opened the window that declines.
    terminal.press(&["C-d", "C-u", "C-b", "C-f"]);
    terminal.press(&["C-n"]);
    terminal.see("> 2 two");
    terminal.press(&["q"]);
    terminal.see("2 questions are waiting");
    terminal.press(&["q"]);
    terminal.see("left=0");
    open_question(&terminal, "ship");
    terminal.press(&["j", "j", "?"]);
    terminal.see("i        begin words of your own");
    terminal.press(&["Escape"]);
    terminal.see("> 2 no");
    assert_eq!((world.state("w"), world.state("ship")), ("pending".into(), "pending".into()));
}

#[test]
fn a_row_that_came_under_the_cursor_is_not_chosen_at_once() {
    needs!("tmux");
    let world = World::new();
    world.sh("for w in a b c d e f; do ask-post \"Question $w?\" -w $w -o x=X; done");
    let terminal = Terminal::new(&world);
    open(&terminal);
    // Each time, the question under the cursor is answered elsewhere, and a key comes right behind that.
    for (gone, next) in [("a", "b"), ("b", "c"), ("c", "d")] {
        terminal.see(&format!("> {gone} "));
        world.sh(&format!("ask-answer {gone} x"));
        terminal.see(&format!("> {next} "));
        terminal.press(&["d"]);
        terminal.press(&["Enter"]);
        // On a busy machine a key may come late enough. Then the question is opened, or named.
        let seen = ["has just come under the cursor", "ok, then enter, declines", "esc later"];
        until("the keys are taken", || seen.iter().any(|words| terminal.screen().contains(words)).then_some(()));
        assert_eq!(world.state(next), "pending");
        terminal.press(&["Escape"]);
        terminal.press(&["Escape"]);
        terminal.see("? help");
    }
}

#[test]
fn a_kept_question_to_the_agent_is_not_sent_by_the_first_enter() {
    needs!("tmux");
    let world = World::new();
    world.sh("ask-post 'Which?' -w w -o one=A -o two=B");
    let terminal = Terminal::new(&world);
    open_question(&terminal, "w");
    terminal.press(&["b"]);
    terminal.see("Your question to the agent");
    terminal.press(&["Which two?", "C-c"]);
    terminal.see("left=130");
    open_question(&terminal, "w");
    terminal.press(&["b"]);
    terminal.see("│Which two?");
    terminal.press(&["Enter"]);
    terminal.see("ok, then enter, asks back w: \"Which?\"");
    assert_eq!(world.state("w"), "pending");
    terminal.confirm();
    terminal.see("w: asked back");
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
fn ctrl_z_stops_the_inbox_and_fg_goes_on_where_it_was() {
    needs!("tmux");
    let world = World::new();
    world.sh("ask-post 'Which?' -w w -o one=A -o two=B; ask-post 'And?' -w second");
    let terminal = Terminal::running(&world, (100, 30), &["PS1=$ "], &["bash", "--norc", "-i"]);
    terminal.see("$");
    terminal.press(&["clear; askbox inbox; echo left=$?", "Enter"]);
    let screen = terminal.see("? help");
    assert!(screen.contains("2 questions are waiting · 1/2"), "{screen}");
    terminal.press(&["j"]);
    terminal.see("waiting · 2/2");
    terminal.press(&["k"]);
    terminal.open_chosen();
    terminal.press(&["i", "half a thought", "C-z"]);
    terminal.see("Stopped");
    terminal.press(&["echo in the shell; fg", "Enter"]);
    terminal.see("│ half a thought");
    terminal.press(&[" and the rest"]);
    terminal.send_asked();
    terminal.see("answered in your own words: half a thought and the rest");
}

#[test]
fn a_click_chooses_the_wheel_scrolls_and_neither_decides() {
    needs!("tmux");
    let world = World::new();
    world.sh("for n in 1 2 3 4 5; do ask-post \"Which $n?\" -w w-$n -o one=A -o two=B; done");
    let terminal = Terminal::new(&world);
    let screen = open(&terminal);
    let click = |column: usize, line: usize| terminal.burst(&["-l", &format!("\x1b[<0;{column};{line}M\x1b[<0;{column};{line}m")]);
    // Lines of the terminal are counted from 1.
    let line = |screen: &str, text: &str| line_of(screen, text) + 1;
    click(5, line(&screen, "w-3"));
    let screen = terminal.see("> w-3");
    terminal.burst(&["-l", "\x1b[<65;5;5M"]);
    terminal.see("> w-5");
    terminal.burst(&["-l", "\x1b[<64;5;5M"]);
    terminal.see("> w-2");
    click(5, line(&screen, "w-3"));
    terminal.see("> w-3");
    click(5, line(&screen, "w-3"));
    let screen = terminal.see("1 one");
    click(7, line(&screen, "2 two"));
    let screen = terminal.see("> 2 two");
    for _ in 0..3 {
        click(7, line(&screen, "2 two"));
    }
    terminal.settle();
    assert_eq!(world.names("pending").len(), 5, "a click decides nothing");
    // The terminal has the mouse back.
    terminal.press(&["m"]);
    terminal.see("the mouse is the terminal's now");
    terminal.press(&["m"]);
    terminal.see("clicks choose again");
    // A click forgets what enter has asked. It shows that the person means this window, so the letter before it is not asked about again.
    terminal.press(&["x", "Enter"]);
    terminal.see("x\" meant for this question?");
    click(7, line(&screen, "1 one"));
    terminal.see_no_more("meant for this question?");
    terminal.see("> 1 one");
    terminal.press(&["Enter"]);
    terminal.see("w-3: answered: one");
    terminal.press(&["q"]);
    terminal.see("left=0");
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
