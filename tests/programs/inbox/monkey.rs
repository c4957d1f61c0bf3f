//! Lines for a shell, for vim and for lazygit, typed into the inbox at random moments while questions come and go.
//!
//! A line that comes at once decides nothing, whatever is on the screen. An enter that comes alone decides only what the screen named before.
//! A line that is typed by hand, key by key and with its enter, decides nothing either, unless it consists of keys of the question.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;

use crate::support::dice::{Dice, number};
use crate::support::{Terminal, World, needs};

const LINES: [&str; 46] = [
    "cd src",
    "docker ps",
    "drop table users",
    "git status",
    "git push -f",
    "git diff",
    "ls -la",
    "make",
    "make test",
    "go build ./...",
    "npm i",
    "npm install",
    "echo 1",
    "kill %1",
    "sudo rm -rf x",
    "y",
    "yes",
    "yarn",
    "uuidgen",
    "undo",
    "id",
    "ip a",
    "fg",
    "bundle",
    "b",
    "d",
    "n",
    "1",
    "2",
    "3",
    "i",
    "in the wrong window",
    "u",
    "jj",
    "jjk",
    "gg",
    "G",
    "dd",
    "yyp",
    ":wq",
    "ciw",
    "/main",
    "3j",
    " d",
    "  d y",
    "askbox tree -f",
];

/// Lines that choose an option: they are what a question asks for. On a busy machine, the second letter of `uuidgen` may come late enough to
/// take an answer back.
const KEYS_OF_A_QUESTION: [&str; 11] = ["y", "yes", "n", "1", "2", "3", "jj", "jjk", "gg", "G", "uuidgen"];

/// The decisions that were made in the inbox: the event and the round of each.
fn decided(world: &World) -> Vec<(String, String)> {
    let audited = world.audited();
    let ours = audited.iter().filter(|line| line["why"].as_str().is_some_and(|why| why.starts_with("inbox")));
    let word = |line: &Value, field: &str| line[field].as_str().unwrap_or_default().to_owned();
    ours.map(|line| (word(line, "event"), word(line, "workflow_id"))).collect()
}

/// Says at its end that it is over.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn lines_for_other_programs_decide_nothing_at_any_moment() {
    needs!("tmux");
    let bursts = number("ASKBOX_BURSTS", 400);
    let seed = u64::try_from(number("ASKBOX_SEED", std::process::id().try_into().unwrap())).unwrap();
    println!("ASKBOX_SEED={seed}");
    let mut dice = Dice::new(seed);
    let mut world = World::new();
    // On a busy machine, a line takes a fifth of a second.
    world.set_longest_life(Duration::from_secs(300 + u64::try_from(bursts / 5).unwrap()));
    let world = world;
    world.sh(
        "ask-post -w keep-1 'Drop it?' -o yes=Y -o no=N; ask-post -w keep-2 'Ship?' --type yes_no; ask-post -w keep-3 'How?' -o a=A -o b=B",
    );
    let terminal = Terminal::running(&world, (100, 30), &[], &["sh", "-c", "while sleep 0.05; do askbox inbox; done"]);
    terminal.see("? help");
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // The other thread ends with this one, also if it fails.
        let _ends = Ends(&over);
        scope.spawn(|| {
            let mut dice = Dice::new(seed + 1);
            while !over.load(Ordering::Relaxed) {
                let id = format!("row-{}", dice.roll(6));
                match dice.roll(3) {
                    0 => drop(world.run("ask-answer", &["decline", &id, "--by", "bob"])),
                    1 => drop(world.run("ask-post", &["-w", &id, "Which?", "-o", "x=X", "-o", "y=Y", "--priority", "1"])),
                    _ => drop(world.run("ask-post", &["-w", &id, "Ready?", "--type", "yes_no"])),
                }
                std::thread::sleep(Duration::from_millis(u64::try_from(dice.roll(120)).unwrap()));
            }
        });
        let (mut alone, mut known) = (0, 0);
        for n in 0..bursts {
            let line = match dice.roll(12) {
                0 | 1 => "\r".to_owned(),
                2 => "\x1b".to_owned(),
                3 | 4 => (*dice.one(&LINES)).to_owned(),
                5 => format!("{0}\r{0}\r", dice.one(&LINES)),
                _ => format!("{}\r", dice.one(&LINES)),
            };
            if line != "\r" {
                terminal.burst(&["-l", &line]);
                std::thread::sleep(Duration::from_millis(u64::try_from(dice.roll(70)).unwrap()));
                continue;
            }
            terminal.settle();
            if dice.roll(4) == 0 {
                let line = *dice.one(&LINES);
                terminal.type_slowly(&format!("{line}\r"));
                let ours = decided(&world).split_off(known);
                assert!(ours.is_empty() || KEYS_OF_A_QUESTION.contains(&line), "{n}: by hand, {line:?} decided {ours:?}");
                known += ours.len();
                continue;
            }
            let screen = terminal.screen();
            assert_eq!(decided(&world).len(), known, "a line decided, before {n}: {:?}\n{screen}", decided(&world));
            terminal.burst(&["-l", &line]);
            terminal.settle();
            for (event, workflow) in decided(&world).split_off(known) {
                assert!(screen.contains(&workflow), "{n}: {event} {workflow} without its name on\n{screen}");
                println!("{n}: enter alone: {event} {workflow}");
                known += 1;
            }
            alone += 1;
        }
        terminal.settle();
        assert_eq!(decided(&world).len(), known, "a line decided");
        println!("{bursts} bursts, {alone} of them enter alone; {known} decisions, each named before");
    });
}
