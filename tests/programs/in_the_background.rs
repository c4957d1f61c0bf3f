//! Programs that need a terminal and run as a background job of a shell. The shell stops them, `fg` continues them, and SIGTERM ends
//! them, also while they are stopped.

use crate::support::process::is_alive;
use crate::support::{Signal, Terminal, World, needs, signal, until};

const PROGRAMS: [&str; 4] = ["ask-answer", "askbox inbox", "askbox tree -f", "relaunch status -f"];

/// A shell with job control.
fn shell(world: &World) -> Terminal<'_> {
    let terminal = Terminal::running(world, (100, 40), &["PS1=$ "], &["bash", "--norc", "--noprofile", "-i"]);
    terminal.see("$");
    terminal
}

fn state(pid: i32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

/// The process of a program that the shell has started. `ask-answer` becomes `askbox`.
fn process_of(world: &World, program: &str) -> i32 {
    let is_ours = |name: String| ["ask-answer", "askbox", "relaunch"].contains(&name.trim());
    let is_program = |pid: &i32| std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(is_ours);
    until(&format!("{program} runs"), || world.processes("").into_iter().find(is_program))
}

#[test]
fn a_job_that_comes_to_the_foreground_goes_on() {
    needs!("tmux", "bash");
    let world = World::new();
    world.sh("ask-post Merge? -w docs -o a=A");
    let terminal = shell(&world);
    for program in PROGRAMS {
        terminal.press(&[&format!("clear; {program} &"), "Enter"]);
        let pid = process_of(&world, program);
        until(&format!("{program} is stopped"), || state(pid) == Some('T'));
        terminal.press(&["clear; fg", "Enter"]);
        terminal.see("Merge?");
        terminal.press(&["C-c"]);
        until(&format!("{program} has ended"), || !is_alive(pid));
    }
}

#[test]
fn a_view_in_the_background_leaves_the_terminal_alone() {
    needs!("tmux", "bash");
    let world = World::new();
    world.sh("ask-post Merge? -w docs -o a=A");
    let terminal = shell(&world);
    for program in PROGRAMS {
        terminal.press(&[&format!("clear; {program}"), "Enter"]);
        terminal.see("Merge?");
        // The picture is complete, and the program waits for a key.
        terminal.settle();
        let pid = process_of(&world, program);
        signal(pid, Signal::STOP);
        terminal.see("Stopped");
        terminal.press(&["bg; stty sane tostop; printf '\\033[?1049l'; clear; echo now $((40+2))", "Enter"]);
        terminal.see("now 42");
        // The keys are the shell's, and a change of the mailbox draws nothing.
        world.ok("ask-post", &["-w", &program.replace(' ', "-"), "Another?", "-o", "a=A"]);
        terminal.press(&["echo then $((40+3))", "Enter"]);
        terminal.see("then 43");
        assert_ne!(state(pid), Some('T'), "{program} was stopped");
        signal(pid, Signal::TERM);
        until(&format!("{program} has ended"), || !is_alive(pid));
        terminal.press(&["stty -tostop; clear; echo still $((40+4))", "Enter"]);
        terminal.see("still 44");
    }
}

mod promises {
    use super::*;

    #[test]
    fn a_job_in_the_background_is_stopped_and_sigterm_ends_it() {
        needs!("tmux", "bash");
        let world = World::new();
        world.sh("ask-post Merge? -w docs -o a=A");
        let terminal = shell(&world);
        for program in PROGRAMS {
            terminal.press(&[&format!("clear; {program} &"), "Enter"]);
            let pid = process_of(&world, program);
            until(&format!("{program} is stopped"), || state(pid) == Some('T'));
            signal(pid, Signal::TERM);
            signal(pid, Signal::CONT);
            until(&format!("{program} has ended"), || !is_alive(pid));
            terminal.press(&["clear; echo still $((40+2))", "Enter"]);
            terminal.see("still 42");
        }
    }
}
