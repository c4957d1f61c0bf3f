//! Keys that mean something else to a shell, to vim or to lazygit, typed into the inbox: nothing is decided without the name of its question.

use std::time::Duration;

use serde_json::json;

use super::{line_of, open, open_question};
use crate::support::{Terminal, World, approval_question, needs, until};

/// A call that a person may allow once, or to the whole workflow.
pub(super) fn asks_for_a_permission(world: &World) {
    let mut question = approval_question("ship", "May the agent call Bash?\n    command: git push\nIn the folder /work");
    question["approval"]["editable"] = json!({"field": "command", "text": "git push"});
    question["timestamp"] = "2026-11-22T10:00:00Z".into();
    std::fs::write(world.in_mailbox("pending/ship.json"), question.to_string()).unwrap();
}

/// Leaves the inbox, and removes the drafts.
pub(super) fn leave(world: &World, terminal: &Terminal<'_>) {
    terminal.press(&["C-c"]);
    terminal.see("left=130");
    let _none = std::fs::remove_dir_all(world.home().join(".local/state/askbox/drafts"));
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
            terminal.see(&format!("ok, then enter, allows \"Bash: git push\" to ship with `{key}`: allow exactly this call"));
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
    assert!(screen.contains(&format!("ok, then enter, allows \"Bash: git push\" to ship with `workflow`: {scope}")), "{screen}");
    leave(&world, &terminal);
    // A refusal says that it is for good.
    open_question(&terminal, "ship");
    terminal.press(&["d"]);
    terminal.see("Refuse this one call. Why?");
    terminal.press(&["Tab"]);
    terminal.see("whenever the workflow makes it. Why?");
    terminal.press(&["Enter"]);
    terminal.see("ok, then enter, always refuses this call of ship: \"Bash: git push\"");
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
        terminal.see("would not be sent");
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

mod promises {
    use super::*;

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
}
