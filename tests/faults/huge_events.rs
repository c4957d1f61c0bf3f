//! A run makes its own files below `runs/` huge: no other workflow waits for it, and its round says which file is at fault.

use std::fs::OpenOptions;
use std::time::{Duration, Instant};

use crate::support::{Signal, World, signal, until};

mod promises {
    use super::*;

    #[test]
    fn events_with_a_hole_of_gigabytes_hold_up_no_other_workflow() {
        let world = World::stepping("step work; work");
        world.hold("huge.work");
        world.ask_and_answer("huge");
        let mut watcher = world.watch();
        let [agent, supervisor] = until("the agent is held", || {
            let at = std::fs::read_to_string(world.agent("at.huge.work")).ok()?;
            let pids: Vec<i32> = at.split_whitespace().filter_map(|pid| pid.parse().ok()).collect();
            <[i32; 2]>::try_from(pids).ok()
        });
        let round = world.names("runs/huge").into_iter().find(|name| name.len() == 36).expect("a round");
        let events = world.in_mailbox(format!("runs/huge/{round}/1/events.jsonl"));
        // The agent may be held before its supervisor has written the first event.
        until("its events", || events.exists());
        OpenOptions::new().write(true).open(&events).and_then(|file| file.set_len(3 << 30)).expect("a file with a hole");
        [supervisor, agent].into_iter().for_each(|pid| signal(pid, Signal::KILL));
        let begun = Instant::now();
        world.ask_and_answer("other");
        world.reaches("other", "delivered");
        let status = world.reaches("huge", "parked");
        assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
        let why = status["why"].as_str().expect("a reason");
        assert!(why.contains("events.jsonl") && why.contains("3221225472 bytes"), "{why}");
        assert!(!watcher.process.has_ended(), "the watcher goes on");
        // A person goes on with it.
        world.let_go("huge.work");
        world.ok("relaunch", &["retry", "huge"]);
        world.reaches("huge", "delivered");
    }

    #[test]
    fn a_claimed_round_with_an_unreadable_record_is_set_aside() {
        let world = World::stepping("[ \"$ASKBOX_WORKFLOW_ID\" = torn ] && exit 3\nwork");
        world.configure("backoff = \"3s\"\nbackoff_max = \"3s\"");
        world.reconfigure("backoff = \"50ms\"\nbackoff_max = \"500ms\"\n", "");
        world.ask_and_answer("torn");
        let watcher = world.watch();
        until("it waits for its next attempt", || world.status("torn")["state"] == "retrying" || world.status("torn")["attempt"] == 1);
        let record = world.sh(&format!("ls {}/runs/torn/*/1/run.json", world.mailbox().display()));
        until("its first attempt has ended", || std::fs::read_to_string(&record).is_ok_and(|json| json.contains("\"failed\"")));
        std::fs::write(&record, "{").expect("a record");
        drop(watcher);
        let _next = world.watch();
        world.ask_and_answer("other");
        world.reaches("other", "delivered");
        let name = until("it is set aside", || world.names("quarantine").into_iter().find(|name| name.ends_with(".reason")));
        let reason = std::fs::read_to_string(world.in_mailbox("quarantine").join(name)).expect("a reason");
        assert!(reason.contains("run.json"), "{reason}");
    }
}
