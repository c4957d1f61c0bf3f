//! Stopping for a program that uses the library: dropping the iterator stops the run.

use super::*;
use crate::support::ClaudeWorld;
use crate::support::claude::bash;
use askbox::config::{Config, Runner};
use askbox::mailbox::Mailbox;
use askbox::run::attempt::record::{self, Run, RunState};
use askbox::run::delegated::DelegatedRun;
use askbox::run::process::programs;
use askbox::run::task;
use serde_json::json;

/// A delegated run of a task with these steps. Everything that the tests' own environment must not decide is set in the runner.
#[track_caller]
fn stream(world: &ClaudeWorld, steps: &Value) -> (Mailbox, Run, DelegatedRun) {
    programs::relaunch_is(env!("CARGO_BIN_EXE_relaunch"));
    let mailbox = Mailbox::open_or_create(world.mailbox()).expect("a mailbox");
    let mut config = Config::default();
    let runner = Runner {
        program: world.path("bin/claude").display().to_string(),
        allowed_tools: vec!["Bash".into()],
        env: world.env().iter().cloned().chain([("PATH".into(), world.path_of_a_user())]).collect(),
        ..config.runner.find(None).expect("the built-in one").1
    };
    config.runner.named.insert("claude".into(), runner);
    let prompt = format!("The task of the walnut. @@{steps}");
    let task = task::Task { cwd: Some(world.work().to_owned()), ..task::Task::new("w".parse().expect("an id"), prompt) };
    let run = task::begin(&mailbox, &config, task).expect("a claim");
    let stream = DelegatedRun::start(mailbox.clone(), config, run.clone()).expect("a thread");
    (mailbox, run, stream)
}

#[test]
fn the_iterator_ends_with_the_run_and_has_every_event() {
    let world = world();
    let (_, _, mut stream) = stream(&world, &json!([bash("echo hello"), {"text": "all done"}]));
    let seen: Vec<u64> = stream.by_ref().map(|event| event.seq).collect();
    let run = stream.finish().expect("its record");
    assert_eq!((run.state, run.result.as_deref()), (RunState::Delivered, Some("all done")));
    let all: Vec<u64> = world.events("w").iter().filter_map(|e| e["seq"].as_u64()).collect();
    assert_eq!(seen, all);
}

mod promises {
    use super::*;

    #[test]
    fn dropping_the_iterator_stops_the_run_at_its_tool_boundary() {
        let world = world();
        add_writer(&world);
        let (mailbox, run, mut stream) = stream(&world, &json!([write_steps(), {"text": "never"}]));
        assert!(stream.any(|event| matches!(event.kind, askbox::agent::events::EventKind::ToolCall { .. })));
        wait_gate(&world, "begun");
        let groups = groups(&world);
        drop(stream);
        assert_eq!((written(&world), alive(&world, &groups)), (20, Vec::new()));
        let run = record::read(&mailbox, &run.round(), run.attempt).expect("its record");
        assert_eq!((run.state, run.why.as_deref()), (RunState::Interrupted, Some("its reader went away")));
        interrupted(&world.events("w"));
    }
}
