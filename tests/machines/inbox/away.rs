//! Machines that are not reached or say nothing, and configurations that are wrong: the inbox opens, does not wait for them, and says so.

use std::time::{Duration, Instant};

use super::{enter, open, two};
use crate::support::machine::configure;
use crate::support::{Machine, Terminal, World, needs, until};

#[test]
fn a_machine_that_is_cut_off_keeps_its_rows_with_their_age() {
    needs!("sshd", "ssh", "tmux");
    let (here, build) = two();
    here.ok("ask-post", &["-w", "local-1", "Here?", "-o", "a=A", "-o", "b=B"]);
    let terminal = Terminal::new(&here);
    let screen = open(&terminal, "2 questions are waiting");
    assert!(!screen.contains("(as of") && !screen.contains("not reached"), "{screen}");
    terminal.press(&["/build", "Enter"]);
    terminal.see("1 with \"build\"");
    enter(&terminal);
    terminal.press(&["i", "my long thoughts"]);
    terminal.see("│ my long thoughts");
    build.cut();
    // The open question says it, and its draft stays.
    let screen = terminal.see("nothing can be sent there now").replace('\n', " ");
    assert!(
        screen.contains("build is not reached") && screen.contains("its questions as of ") && screen.contains("│ my long thoughts"),
        "{screen}"
    );
    terminal.send_asked();
    let screen = terminal.see("(last seen ");
    assert!(screen.contains("│ my long thoughts") && screen.contains("build"), "nothing was sent, and nothing is lost: {screen}");
    terminal.press(&["Escape"]);
    terminal.see("? help");
    terminal.press(&["Escape"]);
    terminal.see_no_more("with \"");
    let screen = terminal.see("(as of ");
    assert!(screen.contains("build is not reached") && screen.contains("local-1"), "{screen}");
    let coloured = terminal.with_colours();
    let row = coloured.lines().find(|line| line.contains("build:docs-42")).unwrap();
    assert!(row.contains("\x1b[2m") || row.contains("[7m") || row.contains(";2m") || row.contains("[2;"), "it is dimmed: {row:?}");
    // This machine's own questions are answered as ever.
    terminal.press(&["/local", "Enter"]);
    terminal.see("1 with \"local\"");
    enter(&terminal);
    terminal.press(&["1", "Enter"]);
    terminal.see("local-1: answered: a");
    // The list with a filter says "1 question is waiting" as well, and has no row of that machine.
    terminal.press(&["Escape"]);
    terminal.see_no_more("with \"");
    terminal.see("(as of ");
    // It comes back by itself.
    build.set_down(false);
    terminal.see_no_more("as of ");
    enter(&terminal);
    terminal.see("│ my long thoughts");
    terminal.enter_again();
    terminal.see("this is your draft from before; ok, then enter, goes on with it");
    terminal.confirm();
    terminal.see("; accepted by build");
    assert_eq!(build.world.document("answered/docs-42.json")["answer"]["value"], "my long thoughts");
}

#[test]
fn what_was_known_of_an_absent_machine_is_shown_at_once() {
    needs!("sshd", "ssh", "tmux");
    let (here, build) = two();
    let quiet = Machine::new(&here, "quiet");
    configure(&here, &[&build, &quiet]);
    let terminal = Terminal::new(&here);
    open(&terminal, "build:docs-42");
    let known = here.home().join(".local/state/askbox/peers/build.json");
    until("its question is kept", || std::fs::read_to_string(&known).is_ok_and(|text| text.contains("docs-42")));
    terminal.press(&["q"]);
    terminal.see("left=0");
    build.cut();
    quiet.set_silent(true);
    here.ok("ask-post", &["-w", "local-1", "Here?"]);
    // A busy machine may be slow at first.
    until("the inbox opens at once and ends as quickly", || {
        let begun = Instant::now();
        open(&terminal, "local-1");
        let opened = begun.elapsed();
        terminal.see("build:docs-42");
        terminal.see("(as of ");
        terminal.see("quiet");
        terminal.press(&["q"]);
        let begun = Instant::now();
        terminal.see("left=0");
        opened.max(begun.elapsed()) < Duration::from_secs(5)
    });
}

#[test]
fn a_wrong_configuration_keeps_no_inbox_from_opening() {
    needs!("tmux");
    let here = World::new();
    here.ok("ask-post", &["-w", "local-1", "Here?", "-o", "a=A", "-o", "b=B"]);
    here.configure("[peers.build]\nssh = \"build.test\"\nshh = 1\n");
    let terminal = Terminal::new(&here);
    let screen = open(&terminal, "other machines are not shown: ");
    assert!(screen.contains("1 question is waiting") && screen.replace('\n', "").contains("shh"), "{screen}");
    enter(&terminal);
    terminal.press(&["1", "Enter"]);
    terminal.see("local-1: answered: a");
}

#[test]
fn a_machine_out_of_reach_for_ssh_is_said_and_has_no_rows() {
    needs!("ssh", "tmux");
    let here = World::new();
    here.ok("ask-post", &["-w", "local-1", "Here?"]);
    here.configure("[peers.build]\nssh = 'build.test'\nssh_options = ['-F', 'none', '-o', 'ProxyCommand=false']\n");
    let terminal = Terminal::new(&here);
    let screen = open(&terminal, "build is not reached");
    assert!(screen.replace('\n', " ").contains("nothing is known of it") && screen.contains("1 question is waiting"), "{screen}");
}
