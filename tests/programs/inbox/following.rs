//! Changes while the inbox is on the screen, and the outcome of answers.

use super::{answer, drafts, open, open_question};
use crate::support::{Terminal, World, needs};

#[test]
fn the_list_follows_the_mailbox_and_one_key_undoes_an_answer() {
    needs!("tmux");
    let world = World::new();
    world.make_mailbox();
    let terminal = Terminal::new(&world);
    assert!(open(&terminal).contains("No question is waiting"));
    world.sh("ask-post How? -w second -o a=A -o b=B");
    terminal.see("1 question is waiting");
    terminal.press(&["Enter"]);
    terminal.see("esc later");
    terminal.press(&["1", "Enter"]);
    terminal.see("second: answered: a");
    terminal.take_back();
    terminal.see("second: taken back");
    terminal.see("1 question is waiting");
    assert!(world.path("m/pending/second.json").exists() && !world.path("m/answered/second.json").exists());
}

#[test]
fn the_second_pane_shows_what_became_of_answered_questions() {
    needs!("tmux");
    let world = World::new();
    world.sh("ask-post How? -w open -o a=A; ask-post 'Which one?' -w given -o a=A; ask-answer given a --note 'with care'");
    world.sh("ask-post Gone? -w gone; ask-answer cancel gone --why obsolete");
    let terminal = Terminal::new(&world);
    open(&terminal);
    terminal.press(&["Tab"]);
    let screen = terminal.see("What became of answered questions");
    assert!(screen.contains("answered") && screen.contains("Which one? → a") && screen.contains("withdrawn"), "{screen}");
    terminal.press(&["Down"]);
    terminal.see("with care");
    terminal.see("accepted ");
    terminal.take_back();
    terminal.see("given: taken back");
    terminal.press(&["Tab"]);
    terminal.see("2 questions are waiting");
}

#[test]
fn the_second_pane_tells_each_step_and_each_refused_call() {
    needs!("tmux");
    let world = World::new().with_scripted_agent();
    world.configure("[approvals]\nask_stopped = false");
    world.ask_and_answer("given");
    let request = r#"{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"git push"},"tool_use_id":"t1"}}"#;
    world.agent_does("given", &format!("printf '%s\\n' '{request}' >&3; sleep 1"));
    world.sh("relaunch given");
    let terminal = Terminal::new(&world);
    open(&terminal);
    terminal.press(&["Tab"]);
    let screen = terminal.see("1 tool call; see: relaunch status given");
    assert!(screen.contains("accepted ") && screen.contains("→ launched ") && screen.contains("→ delivered "), "{screen}");
}

#[test]
fn ctrl_c_and_sigterm_leave_a_clean_screen_and_the_status_130() {
    needs!("tmux");
    let world = World::new();
    world.sh("ask-post How? -w w");
    let terminal = Terminal::new(&world);
    open_question(&terminal, "w");
    terminal.press(&["half", "C-c"]);
    let screen = terminal.see("left=130");
    assert!(!screen.contains("How?"), "{screen}");
    terminal.press(&["clear; ask-answer & p=$!; fg; echo left=$?", "Enter"]);
    terminal.see("? help");
    world.sh("kill $(pgrep -x askbox -P $(tmux -S ./tmux list-panes -F '#{pane_pid}'))");
    terminal.see("left=130");
    // The terminal shows what is typed again.
    terminal.press(&["echo visible", "Enter"]);
    terminal.see("\nvisible");
}

mod promises {
    use super::*;

    #[test]
    fn a_question_answered_elsewhere_is_said_and_the_text_is_kept() {
        needs!("tmux");
        let world = World::new();
        world.sh("ask-post Essay? -w answered; ask-post How? -w changed");
        let terminal = Terminal::new(&world);
        open_question(&terminal, "answered");
        terminal.press(&["my long thoughts"]);
        terminal.see("my long thoughts");
        world.sh("ask-answer answered no --by eve");
        let screen = terminal.see("This question is over").split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(screen.contains("answered by eve") && screen.contains("my long thoughts"), "{screen}");
        assert!(screen.contains("with `no`") && screen.contains("your draft is kept in"), "{screen}");
        // The person was about to send it.
        for key in ["Enter", "o", "k", "Enter", "w", "Tab"] {
            terminal.press(&[key]);
        }
        terminal.settle();
        assert!(terminal.screen().contains("This question is over"), "{}", terminal.screen());
        let kept = drafts(&world);
        assert!(kept.len() == 1 && kept[0].contains("my long thoughts"), "{kept:?}");
        assert_eq!(answer(&world, "answered")["by"], "eve");
        // Replaced while it is on the screen: nothing typed goes to the new question unseen.
        terminal.press(&["Escape"]);
        terminal.see("1 question is waiting");
        terminal.press(&["Enter"]);
        terminal.see("esc later");
        terminal.press(&["as before"]);
        terminal.see("as before");
        world.sh("ask-post 'Shall I delete it all?' -w changed --supersede");
        // The inbox may look between the end of the one and the other.
        let screen = terminal.see("This question is over");
        assert!(screen.contains("asks another question by now") || screen.contains("superseded by "), "{screen}");
        // The person was typing: no letter of theirs opens the other question.
        terminal.press(&["o"]);
        terminal.press(&["f"]);
        assert!(terminal.screen().contains("This question is over"), "{}", terminal.screen());
        terminal.press(&["C-o"]);
        terminal.see("Shall I delete it all?");
        let screen = terminal.see("esc later");
        assert!(screen.contains("as before"), "{screen}");
        terminal.press(&["Escape"]);
        terminal.see("1 question is waiting");
        assert!(world.path("m/pending/changed.json").exists());
    }
}
