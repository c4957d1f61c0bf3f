//! What is done on the recorded disk: posters, answerers and agents work, and each acknowledgement is noted with its place in the record.

use std::io::Read;
use std::process::Stdio;
use std::sync::Mutex;

use super::disk::Recorder;
use crate::support::{Dice, Running, World};

/// Each works on workflows of its own; together they keep the disk busy.
const WORKERS: usize = 3;
const WORKFLOWS_EACH: usize = 2;

/// The state that an acknowledged round must have.
#[derive(Clone, Debug)]
pub struct Round {
    pub question: String,
    pub context: String,
    /// The value of its answer; empty if it was declined.
    pub answer: Option<String>,
    /// The state that it was closed in.
    pub end: Option<&'static str>,
}

impl Round {
    /// The state that `relaunch status` tells.
    pub fn state(&self) -> &'static str {
        self.end.unwrap_or(if self.answer.is_some() { "answered" } else { "pending" })
    }
}

/// The state that a workflow must have.
#[derive(Clone, Debug, Default)]
pub struct Expected {
    pub rounds: Vec<Round>,
    /// The step in its checkpoint.
    pub step: Option<String>,
}

/// One command that ended with status 0.
#[derive(Debug)]
pub struct Step {
    /// How far the record was when it was called, and when it had ended.
    pub begun: u64,
    pub acknowledged: u64,
    pub then: Expected,
}

/// A workflow and all that was acknowledged about it, in order.
#[derive(Debug)]
pub struct History {
    pub workflow: String,
    pub steps: Vec<Step>,
}

impl History {
    /// The state that a power cut at this position must leave, and the state that the interrupted command would have made of it.
    pub fn at(&self, cut: u64) -> (Expected, Option<&Expected>) {
        let known = self.steps.iter().take_while(|step| step.acknowledged <= cut).count();
        let now = known.checked_sub(1).map(|last| self.steps[last].then.clone()).unwrap_or_default();
        (now, self.steps.get(known).filter(|step| step.begun < cut).map(|step| &step.then))
    }
}

/// A workflow at work.
struct Worker<'a> {
    world: &'a World,
    recorder: &'a Recorder,
    /// The program that runs askbox's programs, such as strace.
    before: &'a [String],
    history: History,
    now: Expected,
}

impl Worker<'_> {
    fn call(&self, program: &str, args: &[&str]) {
        let out = crate::support::output(self.world.wrapped(self.before, program).args(args));
        assert!(out.status.success(), "{program} {args:?}: {}", out.words());
    }

    /// Notes that a command which was called at `begun` has ended, and what holds from now on.
    fn acknowledge(&mut self, begun: u64, change: impl FnOnce(&mut Expected)) {
        change(&mut self.now);
        self.history.steps.push(Step { begun, acknowledged: self.recorder.position(), then: self.now.clone() });
    }

    /// Calls a command, and notes it.
    fn does(&mut self, program: &str, args: &[&str], change: impl FnOnce(&mut Expected)) {
        let begun = self.recorder.position();
        self.call(program, args);
        self.acknowledge(begun, change);
    }

    /// The next command of this workflow.
    fn goes_on(&mut self, dice: &mut Dice) {
        let id = self.history.workflow.clone();
        let last = self.now.rounds.last().map_or("none", Round::state);
        if dice.roll(4) == 0 {
            let step = format!("step-{}", self.history.steps.len());
            let context = "s".repeat(dice.roll(20_000));
            let args = ["save", &id, "--step", &step, "--context", &context];
            self.does("checkpoint", &args, |now| now.step = Some(step.clone()));
            return;
        }
        match (last, dice.roll(8)) {
            ("pending", 0) => self.does("ask-answer", &["cancel", &id], |now| last_of(now).end = Some("withdrawn")),
            ("pending", 1) => self.does("ask-answer", &["decline", &id], |now| last_of(now).answer = Some(String::new())),
            ("pending", _) => {
                let value = *dice.one(&["a", "b"]);
                self.does("ask-answer", &[&id, value], |now| last_of(now).answer = Some(value.into()));
            }
            ("answered", 0..3) => self.does("relaunch", &["prompt", &id], |now| last_of(now).end = Some("delivered")),
            ("answered", _) => self.does("relaunch", &[&id], |now| last_of(now).end = Some("delivered")),
            (_, what) => {
                let question = format!("{id}: question {}?", self.now.rounds.len() + 1);
                let context = "c".repeat(if dice.roll(2) == 0 { 0 } else { dice.roll(50_000) });
                let round = Round { question: question.clone(), context: context.clone(), answer: None, end: None };
                let args = ["-w", &id, &question, "-o", "a=A", "-o", "b=B", "--context", &context];
                if what == 0 { self.waits(&args, round) } else { self.does("ask-post", &args, |now| now.rounds.push(round)) }
            }
        }
    }

    /// Asks, and takes the answer itself.
    fn waits(&mut self, post: &[&str], round: Round) {
        let id = self.history.workflow.clone();
        let begun = self.recorder.position();
        let mut command = self.world.wrapped(self.before, "ask-post");
        let mut waiter = Running::start(command.args(post).args(["--wait", "60s"]).stdout(Stdio::piped()));
        self.world.appears(&format!("pending/{id}.json"));
        self.call("ask-answer", &[&id, "a"]);
        self.acknowledge(begun, |now| now.rounds.push(Round { answer: Some("a".into()), ..round }));
        let mut said = String::new();
        waiter.0.stdout.take().expect("piped").read_to_string(&mut said).expect("its words");
        assert!(waiter.wait().success(), "ask-post --wait");
        assert_eq!(said, "a\n", "the waiter did not take the answer itself");
        self.acknowledge(begun, |now| last_of(now).end = Some("delivered"));
    }
}

fn last_of(now: &mut Expected) -> &mut Round {
    now.rounds.last_mut().expect("a round")
}

/// Does `commands` commands in each of some workflows, all at the same time.
pub fn work(world: &World, recorder: &Recorder, before: &[String], commands: usize, seed: u64) -> Vec<History> {
    let histories = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for n in 0..WORKERS {
            let histories = &histories;
            scope.spawn(move || {
                let mut dice = Dice::new(seed.wrapping_add(n as u64 * 1000));
                let worker = |m| Worker {
                    world,
                    recorder,
                    before,
                    history: History { workflow: format!("w{n}{m}"), steps: Vec::new() },
                    now: Expected::default(),
                };
                let mut workers: Vec<_> = (0..WORKFLOWS_EACH).map(worker).collect();
                for _ in 0..commands * WORKFLOWS_EACH {
                    workers[dice.roll(WORKFLOWS_EACH)].goes_on(&mut dice);
                }
                histories.lock().expect("histories").extend(workers.into_iter().map(|w| w.history));
            });
        }
    });
    histories.into_inner().expect("histories")
}
