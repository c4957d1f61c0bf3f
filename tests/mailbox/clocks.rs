//! A clock that was ahead once, and was set back: no date that it left keeps anything from happening.

use std::process::Stdio;
use std::time::{Duration, SystemTime};

use crate::support::{Running, World, until};
use serde_json::{Value, json};

const IN_TEN_YEARS: &str = "2036-11-22T10:00:00.000Z";

fn change(world: &World, path: &std::path::Path, change: impl Fn(&mut Value)) {
    let mut document = world.json(path);
    change(&mut document);
    std::fs::write(path, document.to_string()).expect("it is written");
}

/// The first attempt of `docs` fails, and the command that would see to the next one is killed.
fn failed_once(world: &World) {
    let (short, long) = ("backoff = \"50ms\"\nbackoff_max = \"500ms\"", "backoff = \"1h\"\nbackoff_max = \"1h\"");
    world.reconfigure(short, long);
    let mut command = world.command("relaunch");
    let command = Running::start(command.arg("docs").stdout(Stdio::null()).stderr(Stdio::null()));
    until("the attempt has failed", || world.state("docs") == "retrying");
    command.kill();
    world.reconfigure(long, short);
}

#[test]
fn an_earlier_answer_from_a_clock_ahead_is_none() {
    let world = World::stepping("work");
    world.make_mailbox();
    let checkpoint = world.in_mailbox("checkpoints/docs.json");
    world.ok("checkpoint", &["save", "docs", "--next-action", "merge"]);
    change(&world, &checkpoint, |c| c["user_answer"] = json!("drop the table"));
    let dated = |at: SystemTime| std::fs::File::options().append(true).open(&checkpoint).and_then(|f| f.set_modified(at)).expect("a date");
    dated(SystemTime::now() + Duration::from_secs(10 * 365 * 86_400));
    world.ok("ask-post", &["Merge?", "-w", "docs"]);
    let hand_over = || {
        std::fs::rename(world.in_mailbox("pending/docs.json"), world.in_mailbox("answered/docs.json")).expect("it is moved");
    };
    let _watcher = world.watch();
    hand_over();
    until("the question is open again", || world.in_mailbox("pending/docs.json").exists());
    assert_eq!(world.logged("shown "), 0, "{:#?}", world.log());
    // The same words with a date that the clock reaches are an answer.
    dated(SystemTime::now() + Duration::from_secs(1));
    hand_over();
    world.closed("docs", "delivered", 1);
}

mod promises {
    use super::*;

    #[test]
    fn a_retry_that_lies_ten_years_ahead_is_made_at_once() {
        for ended_at in [None, Some(IN_TEN_YEARS)] {
            let world = World::stepping("[ -e $AGENT_DIR/well ] && work || exit 3");
            world.ask_and_answer("docs");
            let round = world.round("docs");
            failed_once(&world);
            let record = world.in_mailbox(format!("runs/docs/{round}/1/run.json"));
            change(&world, &record, |run| {
                run["retry_at"] = json!(IN_TEN_YEARS);
                run["ended_at"] = ended_at.map_or(run["ended_at"].clone(), |at| json!(at));
            });
            std::fs::write(world.agent("well"), "").expect("a file");
            let _watcher = world.watch();
            world.closed("docs", "delivered", 1);
        }
    }

    #[test]
    fn a_pause_of_the_queue_until_in_ten_years_is_over() {
        let world = World::stepping("work");
        world.make_mailbox();
        world.ask_and_answer("docs");
        let breaker = json!({ "schema_version": 1, "state": "open", "since": IN_TEN_YEARS, "until": IN_TEN_YEARS, "pause": 1,
        "why": "many runs failed", "failures": [{ "at": IN_TEN_YEARS, "run": "a/b/1" }], "delivered_at": IN_TEN_YEARS });
        std::fs::write(world.in_mailbox("breaker.json"), breaker.to_string()).expect("it is written");
        let _watcher = world.watch();
        world.closed("docs", "delivered", 1);
        until("the breaker is closed", || world.json(world.in_mailbox("breaker.json"))["state"] == "closed");
    }

    #[test]
    fn a_round_claimed_ten_years_ahead_is_launched() {
        let world = World::stepping("[ -e $AGENT_DIR/well ] && work || exit 3");
        world.ask_and_answer("docs");
        let round = world.round("docs");
        failed_once(&world);
        let record = world.in_mailbox(format!("runs/docs/{round}/1/run.json"));
        change(&world, &record, |run| {
            for field in ["started_at", "ended_at", "retry_at", "why", "failure"] {
                run.as_object_mut().expect("an object").remove(field);
            }
            (run["state"], run["claimed_at"]) = (json!("claimed"), json!(IN_TEN_YEARS));
        });
        std::fs::write(world.agent("well"), "").expect("a file");
        let _watcher = world.watch();
        world.closed("docs", "delivered", 1);
    }

    #[test]
    fn a_checkpoint_saved_after_a_clock_set_back_counts() {
        let world = World::at_home();
        let folder = tempfile::Builder::new().prefix("askbox-clock").tempdir_in("/tmp").expect("a folder");
        let checkpoint = folder.path().join("docs.json");
        let ask = |step: &str, at: SystemTime| {
            std::fs::write(&checkpoint, json!({ "workflow_id": "docs", "current_step": step }).to_string()).expect("it is written");
            std::fs::File::options().write(true).open(&checkpoint).and_then(|f| f.set_modified(at)).expect("its time");
            world.ok("ask-post", &["-w", "docs", &format!("after {step}?"), "-c", checkpoint.to_str().expect("a path")]);
            let copy = world.document("checkpoints/docs.json")["current_step"].clone();
            world.ok("ask-answer", &["cancel", "docs"]);
            copy
        };
        assert_eq!(ask("first", SystemTime::now() + Duration::from_secs(315_360_000)), "first");
        assert_eq!(ask("second", SystemTime::now()), "second");
    }
}
