//! A person allows a tool call, and `askbox hook` asks about it and lets it through. Each program is killed right before each of its system
//! calls that changes or opens anything. The call is never let through twice, and never without the person.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use askbox::disk::Lock;
use askbox::mailbox::documents::fields::asked_in::Nonce;
use askbox::run::approval::ask::{self, Shown};
use askbox::run::approval::call::Call;
use serde_json::{Value, json};

use crate::faults::killed_at_every_syscall::assert_delivered_once;
use crate::faults::syscalls::{at_every_point, at_every_point_of};
use crate::support::{World, approval_question, needs, output};

const NONCE: &str = "0b0c5a1e-2d3f-4a5b-8c7d-9e0f1a2b3c4d";
const CALL: &str = "toolu_1";
const FOLDER: &str = "/work";

/// The records of a run that was delivered: the attempt, and its round.
fn delivered() -> &'static (Value, Value) {
    static RECORDS: OnceLock<(Value, Value)> = OnceLock::new();
    RECORDS.get_or_init(|| {
        let world = World::stepping("work");
        world.sh("ask-post -w docs 'Begin?' -o a=A; ask-answer docs a; relaunch docs");
        let round = world.closed("docs", "delivered", 1).remove(0);
        let run = world.document(&format!("runs/docs/{}/1/run.json", round["question_id"].as_str().expect("an id")));
        (run, round)
    })
}

/// A live run of `docs`: its round in `running/`, its record, and its lock, which this process holds to its end.
fn live_run(change: impl Fn(&mut Value)) -> World {
    let world = World::stepping("work");
    world.make_mailbox();
    let (mut run, mut round) = delivered().clone();
    round.as_object_mut().expect("a document").remove("closed");
    change(&mut round);
    run["state"] = "running".into();
    run["nonce_hash"] = serde_json::to_value(Nonce::parse(NONCE).expect("a nonce").proof().hash()).expect("JSON");
    let (id, session) = (run["question_id"].as_str().expect("an id"), run["session_id"].as_str().expect("a session"));
    let folder = world.in_mailbox(format!("runs/docs/{id}"));
    fs::create_dir_all(folder.join("1")).expect("a folder");
    fs::create_dir_all(world.in_mailbox("running")).expect("a folder");
    fs::write(world.in_mailbox(format!("running/docs.{id}.json")), round.to_string()).expect("a round");
    fs::write(folder.join("1/run.json"), run.to_string()).expect("a record");
    std::mem::forget(Lock::acquire(&folder.join("lock")).expect("a lock"));
    let event = json!({"hook_event_name": "PreToolUse", "session_id": session, "cwd": FOLDER, "tool_name": "Bash", "tool_use_id": CALL,
        "tool_input": {"command": "note one"}});
    fs::write(world.path("event.json"), event.to_string()).expect("an event");
    fs::write(world.path("run"), format!("docs/{id}/1")).expect("a file");
    world
}

/// The hook as Claude Code calls it, for the run of [`live_run`].
fn hook(world: &World, before: &[String]) -> Command {
    let mut hook = world.wrapped(before, "askbox");
    hook.args(["hook", "--ask", "Bash(note:*)"]).env("ASKBOX_DIR", world.mailbox()).env("ASKBOX_NONCE", NONCE);
    hook.env("ASKBOX_WORKFLOW_ID", "docs").env("ASKBOX_RUN", fs::read_to_string(world.path("run")).expect("a run"));
    hook.stdin(fs::File::open(world.path("event.json")).expect("an event"));
    hook
}

/// The hook's decision in its output: empty if it was killed before.
fn decision(said: &str) -> String {
    let said: Value = serde_json::from_str(said).unwrap_or_default();
    said["hookSpecificOutput"]["permissionDecision"].as_str().unwrap_or_default().to_owned()
}

#[track_caller]
fn decided(world: &World) -> String {
    let out = output(&mut hook(world, &[]));
    assert!(out.status.success(), "{}", out.words());
    decision(&out.stdout)
}

#[test]
fn a_hook_killed_while_it_asks_has_asked_once_or_not() {
    needs!("strace");
    at_every_point_of(&|| live_run(|_| {}), "the hook that asks", &hook, |world, when, out| {
        let said = decision(&out.stdout);
        assert!(["", "defer"].contains(&said.as_str()), "{when}: {said}");
        let asked = || world.in_mailbox("pending/docs.json").exists().then(|| world.document("pending/docs.json"));
        let before = asked();
        assert!(before.is_some() || said.is_empty(), "{when}: the call waits, and nobody is asked");
        // Claude Code, or its user, makes the call again.
        assert_eq!(decided(world), "defer", "{when}");
        let after = asked().expect("the question");
        assert!(before.is_none_or(|before| before["question_id"] == after["question_id"]), "{when}: it was asked twice");
        assert_eq!((&after["tool_call"]["id"], after["approval"].is_object()), (&json!(CALL), true), "{when}");
    });
}

#[test]
fn a_hook_killed_while_it_allows_allows_at_most_once() {
    needs!("strace");
    let allowed = |round: &mut Value| {
        let input = json!({"command": "note one"});
        let call = Call { tool: "Bash", input: input.as_object().expect("an object"), cwd: Path::new(FOLDER) };
        let question = ask::question(&"docs".parse().expect("an id"), &call, Shown::First).expect("a question");
        let mut question = serde_json::to_value(question).expect("JSON");
        for name in ["question_id", "session_id", "timestamp"] {
            question[name] = round[name].clone();
        }
        question["tool_call"] = json!({"name": "Bash", "id": CALL});
        question["answer"] = json!({"outcome": "answered", "value": "once", "by": "ann", "channel": "ask-answer", "through": "terminal",
            "at": "2026-11-24T08:00:00.000Z"});
        *round = question;
    };
    at_every_point_of(&|| live_run(allowed), "the hook that allows", &hook, |world, when, out| {
        let first = decision(&out.stdout);
        assert!(["", "allow"].contains(&first.as_str()), "{when}: {first}");
        let second = decided(world);
        let third = decided(world);
        let times = [&first, &second, &third].into_iter().filter(|said| said.as_str() == "allow").count();
        assert!(times <= 1, "{when}: it was let through {times} times");
        // Without a way to know whether the call was made, the person is asked once more.
        assert_eq!(third, "defer", "{when}: {first} {second}");
        let asked = world.document("pending/docs.json");
        assert!(
            asked["question"].as_str().is_some_and(|text| text.contains("once more? Allowed at ") && text.contains("; it may have run.")),
            "{when}: {asked}"
        );
    });
}

mod promises {
    use super::*;

    #[test]
    fn a_killed_approval_counts_or_not_and_never_twice() {
        needs!("strace");
        const ROUND: &str = "019ab3c2-77aa-7c31-9b0e-5d2f6a1c8e46";
        let setup = || {
            let world = World::stepping("work");
            world.ok("checkpoint", &["save", "docs", "--step", "review"]);
            let mut question = approval_question("docs", "May the agent call Bash?\n    command: note one\nIn the folder /work");
            question["question_id"] = ROUND.into();
            fs::write(world.in_mailbox("pending/docs.json"), question.to_string()).expect("a question");
            world
        };
        let seen = setup().seen("docs");
        at_every_point(&setup, "ask-answer", &["docs", "once", "--round", &seen], |world, when, out| {
            let acknowledged = out.stdout.contains("docs: answered");
            let second = world.run("ask-answer", &["decline", "docs"]);
            let is_allowed = match second.status.code() {
                Some(0) => false,
                Some(4) => true,
                other => panic!("{when}: the second answer ends with {other:?}: {}", second.words()),
            };
            assert!(is_allowed || !acknowledged, "{when}: an acknowledged approval was replaced");
            let value = if is_allowed { json!("once") } else { Value::Null };
            assert_eq!(world.document("checkpoints/docs.json")["user_answer"], value, "{when}: the checkpoint says another");
            world.ok("relaunch", &["docs"]);
            assert_delivered_once(world, when);
            let closed = world.json(world.only("closed", "docs.").expect("asserted above"));
            assert_eq!((&closed["answer"]["value"], closed["answer"]["outcome"] == "declined"), (&value, !is_allowed), "{when}");
        });
    }

    #[test]
    fn a_killed_once_marks_or_not_and_never_twice() {
        needs!("strace");
        let once = |world: &World, before: &[String]| {
            let mut once = world.wrapped(before, "askbox");
            once.args(["once", "charge"]).env("ASKBOX_DIR", world.mailbox()).env("ASKBOX_NONCE", NONCE);
            once.env("ASKBOX_RUN", fs::read_to_string(world.path("run")).expect("a run"));
            once
        };
        at_every_point_of(&|| live_run(|_| {}), "askbox once", &once, |world, when, out| {
            let again = || output(&mut once(world, &[])).status.code();
            let second = again();
            // The one that was killed told nobody that the call may be made.
            assert!(second == Some(4) || (second == Some(0) && !out.status.success()), "{when}: {second:?}");
            assert_eq!(again(), Some(4), "{when}");
        });
    }
}
