//! A stopped process keeps the lock of one workflow for ever: that workflow waits, and no other one does.

use std::time::{Duration, Instant};

use crate::support::{Running, Signal, World, needs, signal, until};

/// The stripe of a workflow, as `docs/dev/protocol.md` has it.
fn stripe(workflow: &str) -> String {
    let hash = workflow.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
    format!("{:02x}", (hash ^ (hash >> 32)) & 0xff)
}

/// A stopped process that holds these locks of the mailbox `m`.
fn stopped_holder(world: &World, locks: &[&str]) -> Running {
    let script = format!("for n in {}; do exec {{fd}}<>m/locks/$n; flock $fd; done; touch held; exec sleep 1000", locks.join(" "));
    let mut holder = world.any_command("bash");
    let holder = Running::start(holder.args(["-c", &script]));
    until("the locks are held", || world.path("held").exists());
    signal(holder.pid(), Signal::STOP);
    holder
}

mod promises {
    use super::*;

    #[test]
    fn a_held_workflow_waits_and_all_others_are_launched() {
        needs!("flock");
        let world = World::new().with_scripted_agent();
        world.make_mailbox();
        world.ask_and_answer("held");
        // Each look at it needs the lock, too: a question put there by hand.
        std::fs::write(world.in_mailbox("pending/held.json"), r#"{"workflow_id":"held","question":"And then?"}"#).unwrap();
        let held = stripe("held");
        let others = ["one", "two", "three", "four"];
        assert!(others.iter().all(|other| stripe(other) != held));
        let holder = stopped_holder(&world, &[&held, "breaker"]);
        let started = Instant::now();
        let watcher = world.watch();
        for other in others {
            world.ask_and_answer(other);
            world.told(other, 1);
            world.closed(other, "delivered", 1);
        }
        // Without a bound, each look at the held workflow and each of the four ends of a run takes 20 s.
        assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
        assert_eq!(world.launches_of("held").len(), 0);
        let named = format!("by process {} (", holder.pid());
        until("the watcher names the holder", || watcher.said(&named).iter().any(|line| line.contains(&held)));
        signal(holder.pid(), Signal::CONT);
        holder.kill();
        world.told("held", 1);
        assert_eq!(
            watcher.said(&named).iter().filter(|line| line.contains(&format!("/{held} "))).count(),
            1,
            "one line, not one for each look"
        );
        watcher.says("is free again");
    }
}
