//! Four implementations on one mailbox: askbox's programs, the two clients, and the shell script. They race for the same questions, and are
//! killed in the middle. Nothing is lost, doubled or torn. `ASKBOX_CROSSING=RACES` and `ASKBOX_CROSSING_KILLS=N` set the numbers,
//! `ASKBOX_CROSSING_SEED=N` the choices.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};

use crate::clients::client::{interpreter, project};
use crate::support::dice::{Dice, number};
use crate::support::process::{LIMIT, is_alive, pids, stat_field, until};
use crate::support::{Running, World, needs};

/// The implementations, and which operations each has.
const ALL: [(&[&str], &[&str]); 4] = [
    (&["python3", "programs.py"], &["post", "answer", "withdraw", "save"]),
    (&["python3", "client_python.py"], &["post", "withdraw", "save"]),
    (&["node", "client_node.mjs"], &["post", "withdraw", "save"]),
    (&["python3", "shell.py"], &["post", "save"]),
];

/// A harness of one implementation, as `docs/dev/conformance.md` describes it. It is killed with its children when it is dropped.
struct Harness {
    process: Running,
    stdin: ChildStdin,
    replies: Receiver<Value>,
}

impl Harness {
    fn start(world: &World, (words, _): (&[&str], &[&str])) -> Self {
        let mut command = world.any_command(interpreter(words[0]));
        command.arg(project().join("tests/conformance").join(words[1])).stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        command.env("PATH", world.path_with_programs()).env("PYTHONDONTWRITEBYTECODE", "1");
        let mut process = Running::start(&mut command);
        let stdin = process.0.stdin.take().unwrap();
        let lines = BufReader::new(process.0.stdout.take().unwrap()).lines();
        let (sender, replies) = channel();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let _gone = sender.send(serde_json::from_str(&line).expect("a reply"));
            }
        });
        Self { process, stdin, replies }
    }

    /// A harness that has replied once, so that the next reply does not wait for its start.
    fn ready(world: &World, implementation: (&[&str], &[&str])) -> Self {
        let mut harness = Self::start(world, implementation);
        harness.ask(world, "round", json!({"workflow_id": "nothing"}));
        harness
    }

    fn send(&mut self, world: &World, operation: &str, more: Value) {
        let mut request = json!({"do": operation, "mailbox": world.mailbox()});
        request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        writeln!(self.stdin, "{request}").expect("the harness reads");
    }

    #[track_caller]
    fn reply(&self) -> Value {
        self.replies.recv_timeout(LIMIT).expect("a reply")
    }

    #[track_caller]
    fn ask(&mut self, world: &World, operation: &str, more: Value) -> Value {
        self.send(world, operation, more);
        self.reply()
    }
}

impl Drop for Harness {
    fn drop(&mut self) {
        if let Some(group) = Pid::from_raw(self.process.pid()) {
            let _gone = kill_process_group(group, Signal::KILL);
        }
        // A killed child first ends the system call that it is in: until then the mailbox may still change.
        let group = self.process.pid().to_string();
        let is_of_group = |pid: &i32| stat_field(*pid, 2).is_some_and(|of| of == group);
        until("the killed harness and its children are gone", || !pids().filter(is_of_group).any(is_alive));
    }
}

fn took_place(reply: &Value) -> bool {
    assert_ne!(reply["unsupported"], true);
    assert!(!["failed", "usage"].contains(&reply["error"].as_str().unwrap_or_default()), "{reply}");
    reply["error"].is_null()
}

fn asked(workflow: &str, words: &str) -> Value {
    json!({"question": {"workflow_id": workflow, "question": words, "options": {"a": "This"}}})
}

/// How often a round lies in each of pending, answered and closed.
fn places(world: &World, workflow: &str) -> [usize; 3] {
    let count = |folder: &str, begins: &str| world.names(folder).iter().filter(|name| name.starts_with(begins)).count();
    [count("pending", &format!("{workflow}.")), count("answered", &format!("{workflow}.")), count("closed", &format!("{workflow}."))]
}

#[test]
fn what_one_implementation_leaves_killed_another_completes() {
    needs!("python3", "node");
    let world = World::new();
    world.make_mailbox();
    let mut dice = Dice::new(number("ASKBOX_CROSSING_SEED", 20_261_126) as u64 + 1);
    let kills = number("ASKBOX_CROSSING_KILLS", 40);
    let mut others: Vec<_> = ALL.into_iter().map(|one| Harness::ready(&world, one)).collect();
    let (mut replied, mut done) = (0, 0);
    // How long an operation of each takes here and now. On a busy machine a fixed time would end before the operation begins.
    let mut lengths = [15_000, 15_000, 15_000, 60_000];
    for n in 0..kills {
        let (at, workflow) = (n % 4, format!("kill-{n}"));
        let operation = *dice.one(ALL[at].1);
        if operation != "post" {
            assert!(took_place(&others[dice.roll(4)].ask(&world, "post", asked(&workflow, "Which?"))));
            let state = json!({"workflow_id": workflow, "checkpoint": {"workflow_id": workflow, "current_step": "old"}});
            assert!(took_place(&others[dice.roll(4)].ask(&world, "save", state)));
        }
        let more = match operation {
            "post" => asked(&workflow, &"Which? ".repeat(2_000)),
            "save" => json!({"workflow_id": workflow, "checkpoint": {"current_step": "new", "context": "x".repeat(50_000)}}),
            "answer" => json!({"workflow_id": workflow, "value": "a"}),
            _ => json!({"workflow_id": workflow}),
        };
        let mut killed = Harness::ready(&world, ALL[at]);
        killed.send(&world, operation, more.clone());
        let moment = Duration::from_micros(500 + dice.roll(lengths[at]) as u64);
        let has_replied = killed.replies.recv_timeout(moment).is_ok_and(|reply| took_place(&reply));
        drop(killed);
        replied += usize::from(has_replied);
        lengths[at] = if has_replied { lengths[at] * 3 / 4 } else { lengths[at] * 9 / 8 }.clamp(5_000, 2_000_000);
        // A look of the programs does not stumble over what is half done.
        let why = format!(
            "{workflow}: {operation} by {}, killed after {moment:?}, {}",
            ALL[at].0[1],
            if has_replied { "replied" } else { "unheard" }
        );
        world.ok("ask-answer", &["list"]);
        let shown = others[0].ask(&world, "round", json!({"workflow_id": workflow}));
        let state = shown["state"].as_str().unwrap_or_else(|| panic!("{why}: {shown}")).to_owned();
        let happened = match operation {
            "post" => state == "pending",
            "answer" => state == "answered",
            "withdraw" => state == "closed",
            _ => world.document(&format!("checkpoints/{workflow}.json"))["current_step"] == "new",
        };
        assert!(happened || !has_replied, "{why}: it is lost: {shown}");
        done += usize::from(happened);
        if !happened {
            // Every implementation that has the operation can do it now.
            let next = (at + 1..at + 5).map(|other| other % 4).find(|other| ALL[*other].1.contains(&operation)).unwrap();
            let again = others[next].ask(&world, operation, more);
            assert!(took_place(&again), "{why}: again by {}: {again}", ALL[next].0[1]);
        } else if operation == "withdraw" {
            // The next move completes it, and is told that it came second.
            let again = others[dice.roll(3)].ask(&world, operation, more);
            assert!(!took_place(&again), "{why}: twice: {again}");
        }
        let [pending, answered, closed] = places(&world, &workflow);
        let expected = match operation {
            "answer" => [0, 1, 0],
            "withdraw" => [0, 0, 1],
            _ => [1, 0, 0],
        };
        assert_eq!([pending, answered, closed], expected, "{why}");
        if operation == "answer" {
            assert_eq!(world.document(&format!("checkpoints/{workflow}.json"))["user_answer"], "a", "{why}");
        }
    }
    // Every file that counts is whole.
    for folder in ["pending", "answered", "closed", "checkpoints"] {
        for name in world.names(folder).iter().filter(|name| !name.starts_with('.')) {
            assert!(world.document(&format!("{folder}/{name}")).is_object(), "{folder}/{name}");
        }
    }
    println!("{kills} kills ({replied} after the reply, {done} had taken place): 0 lost, 0 doubled, 0 torn");
}

#[test]
fn four_implementations_race_on_one_mailbox_and_one_wins() {
    needs!("python3", "node");
    let world = World::new();
    world.make_mailbox();
    let mut dice = Dice::new(number("ASKBOX_CROSSING_SEED", 20_261_126) as u64);
    let races = number("ASKBOX_CROSSING", 60);
    let mut all: Vec<_> = ALL.into_iter().map(|one| Harness::ready(&world, one)).collect();
    let mut person = Harness::ready(&world, ALL[0]);
    let mut ends = [0, 0];
    for n in 0..races {
        let workflow = format!("race-{n}");
        let pause = Duration::from_micros(dice.roll(12_000) as u64);
        // Two post another question each, in either order.
        let first = dice.roll(4);
        let second = (first + 1 + dice.roll(3)) % 4;
        for (at, words) in [(first, "First?"), (second, "Second?")] {
            all[at].send(&world, "post", asked(&workflow, words));
            std::thread::sleep(pause / 4);
        }
        let won = [first, second].map(|at| took_place(&all[at].reply()));
        assert_ne!(won[0], won[1], "{workflow}: posts of {first} and {second}: {won:?}");
        let there = world.document(&format!("pending/{workflow}.json"));
        assert_eq!(there["question"], if won[0] { "First?" } else { "Second?" }, "{workflow}");
        // One of three withdraws while a person answers, and two save a checkpoint of another workflow.
        let withdraws = dice.roll(3);
        let saves = if withdraws == 1 { 2 } else { 1 };
        let state = |words: &str| json!({"current_step": words, "context": words.repeat(20_000)});
        let saved = |words: &str| json!({"workflow_id": format!("state-{n}"), "checkpoint": state(words)});
        all[saves].send(&world, "save", saved("one"));
        all[3].send(&world, "save", saved("two"));
        let answer = json!({"workflow_id": workflow, "value": "a"});
        if dice.roll(2) == 0 {
            person.send(&world, "answer", answer);
            std::thread::sleep(pause);
            all[withdraws].send(&world, "withdraw", json!({"workflow_id": workflow}));
        } else {
            all[withdraws].send(&world, "withdraw", json!({"workflow_id": workflow}));
            std::thread::sleep(pause);
            person.send(&world, "answer", answer);
        }
        let (withdrawn, answered) = (took_place(&all[withdraws].reply()), took_place(&person.reply()));
        assert_ne!(withdrawn, answered, "{workflow}: withdrawn by {withdraws}: {withdrawn}, answered: {answered}");
        assert_eq!(places(&world, &workflow), [0, usize::from(answered), usize::from(withdrawn)], "{workflow}");
        ends[usize::from(answered)] += 1;
        assert!(took_place(&all[saves].reply()) && took_place(&all[3].reply()), "{workflow}: both save");
        let state = world.document(&format!("checkpoints/state-{n}.json"));
        assert_eq!(state["context"].as_str().unwrap(), state["current_step"].as_str().unwrap().repeat(20_000), "{workflow}: it is torn");
    }
    let [withdrawn, answered] = ends;
    println!(
        "{races} races of posts, {races} of an answer ({answered} first) and a withdrawal ({withdrawn} first), {races} of saves: none lost"
    );
}
