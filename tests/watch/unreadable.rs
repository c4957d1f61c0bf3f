//! One record that cannot be read says nothing about the others.

use serde_json::Value;

use crate::support::{World, until};

fn summary(world: &World) -> Value {
    serde_json::from_str(&world.ok("relaunch", &["status", "--summary", "--json"])).expect("JSON")
}

/// The record of a workflow's only attempt.
fn record(world: &World, workflow: &str) -> std::path::PathBuf {
    let found = world.sh(&format!("ls {}/runs/{workflow}/*/1/run.json", world.mailbox().display()));
    found.trim().into()
}

mod promises {
    use super::*;

    #[test]
    fn an_unreadable_record_hides_no_other_round() {
        let world = World::stepping("[ \"$ASKBOX_WORKFLOW_ID\" = done ] && work || exit 3");
        let file = world.path("askbox.prom");
        world.configure(&format!("[metrics]\nfile = \"{}\"", file.display()));
        world.reconfigure("max_concurrent = 8", "max_concurrent = 8\nattempts = 1");
        world.make_mailbox();
        let _watcher = world.start_watcher();
        for (workflow, end) in [("one", "parked"), ("two", "parked"), ("done", "delivered")] {
            world.ask_and_answer(workflow);
            until(end, || world.state(workflow) == end);
        }
        for workflow in ["one", "done"] {
            std::fs::write(record(&world, workflow), "{").expect("a record");
        }
        let numbers = summary(&world);
        assert_eq!((&numbers["rounds"]["parked"], &numbers["rounds"]["unreadable"]), (&1.into(), &1.into()), "{numbers}");
        // Something happens, so that the metrics are written again.
        world.ok("ask-post", &["-w", "more", "Merge?"]);
        until("the metrics go on", || {
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            ["pending\"} 1\n", "parked\"} 1\n", "unreadable\"} 1\n"].iter().all(|figure| text.contains(figure))
        });
        let found: Value = serde_json::from_str(&world.run("askbox", &["doctor", "--json"]).stdout).expect("JSON");
        let unreadable = |id: &str| {
            let findings = found["findings"].as_array().expect("findings").iter();
            findings
                .filter(|f| f["kind"] == "unreadable" && f["subject"].as_str().is_some_and(|s| s.starts_with(&format!("runs/{id}/"))))
                .count()
        };
        assert_eq!((unreadable("one"), unreadable("done"), unreadable("two")), (1, 1, 0), "{found:#}");
    }

    #[test]
    fn a_run_with_an_unreadable_record_holds_up_no_other_run() {
        let world = World::stepping("step spend; work");
        world.configure("[limits]\nday_cost = 5\nrun_cost = 1");
        world.hold("spend");
        world.ask_and_answer("one");
        let _watcher = world.start_watcher();
        until("it runs", || world.state("one") == "running" && world.logged("start ") == 1);
        let kept = std::fs::read(record(&world, "one")).expect("a record");
        std::fs::write(record(&world, "one"), "{").expect("a record");
        world.ask_and_answer("two");
        until("the other one is launched", || world.logged("start ") == 2);
        std::fs::write(record(&world, "one"), kept).expect("a record");
        world.let_go("spend");
        until("both are delivered", || ["one", "two"].iter().all(|w| world.state(w) == "delivered"));
    }
}
