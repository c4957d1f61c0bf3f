//! Lines for a shell, for vim and for lazygit, typed into the inbox at random moments while questions come and go.
//!
//! A line that comes at once decides nothing, whatever is on the screen, also if two enters end it. An enter that comes alone decides only
//! what the screen asked about, once `ok` has confirmed it, or an option that was chosen there. A line that is typed by hand, key by key and
//! with its enters, decides nothing either, unless it consists of keys of the question or confirms what is asked.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::dice::{Dice, number};
use crate::support::{Terminal, World, approval_question, needs, until};

const LINES: [&str; 50] = [
    "cd src", "docker ps", "drop table users", "git status", "git push -f", "git diff", "ls -la", "make", "make test", "go build ./...",
    "npm i", "npm install", "echo 1", "kill %1", "sudo rm -rf x", "y", "yes", "yarn", "uuidgen", "undo", "id", "ip a", "fg", "bundle", "b",
    "d", "n", "1", "2", "3", "i", "in the wrong window", "u", "jj", "jjk", "gg", "G", "dd", "yyp", ":wq", "ciw", "/main", "3j", " d",
    "  d y", "askbox tree -f", "apt install -y foo", "ls -1", "sleep 2", "echo y",
];

/// The ends of lines that are typed by hand. A shell's programs ask for `y` and `yes`, and `ok` is what the inbox asks for.
const ENDS: [&str; 7] = ["\r", "\r\r", "\ry\r", "\ryes\r", "\r\ry\r\r", "\rok\r", "\rok\r"];

/// Lines that choose an option: they are what a question asks for.
const KEYS_OF_A_QUESTION: [&str; 10] = ["y", "yes", "n", "1", "2", "3", "jj", "jjk", "gg", "G"];

/// The decisions that were made in the inbox: the event and the workflow of each. Taking an answer back is not a decision.
fn decided(world: &World) -> Vec<(String, String)> {
    let audited = world.audited();
    let ours = audited.iter().filter(|line| line["why"].as_str().is_some_and(|why| why.starts_with("inbox")));
    let word = |line: &Value, field: &str| line[field].as_str().unwrap_or_default().to_owned();
    ours.map(|line| (word(line, "event"), word(line, "workflow_id"))).filter(|(event, _)| event != "taken_back").collect()
}

/// How a decision was allowed by the screen that stood there before its enter.
#[derive(Debug, PartialEq)]
enum Shown {
    /// The screen asked about it, and the person had typed `ok`.
    Confirmed,
    /// The screen showed the chosen option.
    Option,
}

/// Checks that a screen showed what its enter then decided.
#[track_caller]
fn shown(screen: &str, event: &str, workflow: &str) -> Shown {
    let lines: Vec<_> = screen.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    let keys = *lines.last().unwrap_or(&"");
    let is_option = |line: &&str| line.strip_prefix("> ").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    assert!(screen.contains(workflow), "{event} {workflow} without its name on\n{screen}");
    if keys.starts_with("enter confirm") || keys.starts_with("enter decline them") {
        let does = match event {
            "answered" if workflow.starts_with("call") => &["enter allows"][..],
            "answered" => &["enter sends", "enter goes on with it"],
            "asked_back" => &["enter asks", "enter goes on with it"],
            _ => &["enter declines", "enter goes on with it"],
        };
        let words = lines.join(" ");
        assert!(does.iter().any(|does| words.contains(does)), "{event} {workflow} was not named on\n{screen}");
        return Shown::Confirmed;
    }
    let is_sent = event == "answered" && !workflow.starts_with("call") && lines.iter().any(is_option);
    assert!(is_sent && (keys.contains("enter send") || keys.contains("enter that")), "{event} {workflow} was not confirmed on\n{screen}");
    Shown::Option
}

/// The questions that are asked again once they were decided.
struct Asked<'a>(&'a World, usize);

impl Asked<'_> {
    /// Asks a question like the one that was decided, or like each of them.
    fn again(&mut self, decided: &str) {
        self.1 += 1;
        let id = format!("{}-{}", decided.split('-').next().unwrap(), self.1);
        match decided {
            _ if decided.starts_with("row") => {}
            _ if decided.starts_with("call") => {
                let mut call = approval_question(&id, "May the agent call Bash?\n    command: git push\nIn the folder /work");
                call["approval"]["editable"] = json!({"field": "command", "text": "git push"});
                std::fs::write(self.0.path("call"), call.to_string()).unwrap();
                std::fs::rename(self.0.path("call"), self.0.in_mailbox(format!("pending/{id}.json"))).unwrap();
            }
            _ if decided.starts_with("ship") => drop(self.0.ok("ask-post", &["-w", &id, "Ship?", "--type", "yes_no"])),
            _ if decided.starts_with("text") => drop(self.0.ok("ask-post", &["-w", &id, "How many?"])),
            _ => drop(self.0.ok("ask-post", &["-w", &id, "Drop it?", "-o", "yes=Y", "-o", "no=N"])),
        }
    }
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
    world.make_mailbox();
    let mut asked = Asked(&world, 0);
    for id in ["drop-", "ship-", "text-", "call-", "call-"] {
        asked.again(id);
    }
    let terminal = Terminal::running(&world, (100, 30), &[], &["sh", "-c", "while sleep 0.05; do askbox inbox; done"]);
    terminal.see("? help");
    let over = AtomicBool::new(false);
    // The inbox may wait for a lock that a command of Bob holds. It looks idle then, and decides later. So Bob rests during an enter.
    let turn = Mutex::new(());
    std::thread::scope(|scope| {
        // The other thread ends with this one, also if it fails.
        let _ends = Ends(&over);
        scope.spawn(|| {
            let mut dice = Dice::new(seed + 1);
            while !over.load(Ordering::Relaxed) {
                let id = format!("row-{}", dice.roll(6));
                let Ok(bobs) = turn.lock() else { return };
                match dice.roll(3) {
                    0 => drop(world.run("ask-answer", &["decline", &id, "--by", "bob"])),
                    1 => drop(world.run("ask-post", &["-w", &id, "Which?", "-o", "x=X", "-o", "y=Y", "--priority", "1"])),
                    _ => drop(world.run("ask-post", &["-w", &id, "Ready?", "--type", "yes_no"])),
                }
                drop(bobs);
                std::thread::sleep(Duration::from_millis(u64::try_from(dice.roll(120)).unwrap()));
            }
        });
        let (mut alone, mut known, mut confirmed) = (0, 0, 0);
        // Presses enter. Whatever it decides was on the screen before.
        let mut enter = |n: usize, typed: &str, by_hand: bool| {
            let ours = turn.lock().unwrap();
            let screen = terminal.screen();
            assert_eq!(decided(&world).len(), known, "a line decided, before {n}: {:?}\n{screen}", decided(&world));
            terminal.burst(&["-l", "\r"]);
            terminal.settle();
            let new = decided(&world).split_off(known);
            drop(ours);
            for (event, workflow) in new {
                let shown = shown(&screen, &event, &workflow);
                println!("{n}: {typed:?}: {event} {workflow}: {shown:?}");
                let is_confirmed = shown == Shown::Confirmed && typed == "ok";
                let is_meant = !by_hand || is_confirmed || typed.is_empty() || KEYS_OF_A_QUESTION.contains(&typed);
                assert!(is_meant, "{n}: by hand, {typed:?} decided {event} {workflow} on\n{screen}");
                (known, confirmed) = (known + 1, confirmed + usize::from(shown == Shown::Confirmed));
                asked.again(&workflow);
            }
        };
        for n in 0..bursts {
            let line = *dice.one(&LINES);
            let burst = match dice.roll(12) {
                0 | 1 => "\r".to_owned(),
                2 => "\x1b".to_owned(),
                3 | 4 => line.to_owned(),
                5 => format!("{line}\r{}\r", dice.one(&LINES)),
                6 => format!("{line}\r\r"),
                _ => format!("{line}\r"),
            };
            if burst != "\r" {
                terminal.burst(&["-l", &burst]);
                std::thread::sleep(Duration::from_millis(u64::try_from(dice.roll(70)).unwrap()));
                continue;
            }
            terminal.settle();
            if dice.roll(3) > 0 {
                enter(n, "", false);
                alone += 1;
                continue;
            }
            for typed in format!("{line}{}", dice.one(&ENDS)).split_inclusive('\r') {
                let typed = typed.trim_end_matches('\r');
                if typed == "ok" {
                    // Whoever confirms has read the sentence.
                    std::thread::sleep(Duration::from_millis(300));
                }
                terminal.type_slowly(typed);
                if typed == "ok" {
                    std::thread::sleep(Duration::from_millis(100));
                }
                enter(n, typed, true);
            }
        }
        terminal.settle();
        assert_eq!(decided(&world).len(), known, "a line decided");
        println!("{bursts} bursts, {alone} of them enter alone; {known} decisions, {confirmed} of them asked about and confirmed");
    });
    drop(terminal);
    // The lines may have confirmed nothing. The same checks see what a person does confirm: a new call, without a draft of theirs.
    let known = decided(&world).len();
    asked.again("call-");
    let id = format!("call-{}", asked.1);
    let terminal = Terminal::running(&world, (100, 30), &[], &["sh", "-c", &format!("ask-answer {id}; sleep 600")]);
    terminal.see("esc later");
    terminal.press(&["1", "Enter"]);
    terminal.type_ok();
    // As `confirm` does: an enter that comes at once confirms nothing.
    std::thread::sleep(Duration::from_millis(400));
    let screen = terminal.screen();
    terminal.press(&["Enter"]);
    terminal.see(&format!("{id}: answered"));
    until("the decision", || decided(&world).len() > known);
    let [(event, workflow)] = &decided(&world).split_off(known)[..] else { panic!("{:?}", decided(&world)) };
    assert_eq!((event.as_str(), workflow), ("answered", &id));
    assert_eq!(shown(&screen, event, workflow), Shown::Confirmed);
}
