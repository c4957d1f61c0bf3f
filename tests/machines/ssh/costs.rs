//! How long it takes from a person's click, on a surface that is open, until the agent starts on the other machine: a figure of
//! `docs/guide-sync.md`, by `tests/run costs`.

use std::time::{Duration, Instant};

use uuid::Uuid;

use askbox::mailbox::AnswerValue;
use askbox::mailbox::documents::offer::Offer;
use askbox::mailbox::who::caller::Caller;

use askbox::peers::Progress;

use super::{Kept, surface};
use crate::support::{Machine, World, needs, until};

#[test]
#[ignore = "it measures for a minute: tests/run costs"]
fn from_a_click_to_the_agents_start_by_ssh() {
    needs!("sshd", "ssh");
    for kept in [Kept::Yes, Kept::No] {
        let here = World::new();
        let build = Machine::of(World::stepping("work"), &here, "build");
        build.world.make_mailbox();
        let _watcher = build.world.watch();
        let peers = surface(&here, &build, kept);
        let name = build.name.parse().unwrap();
        let ann = Caller::person("ann", "inbox").unwrap();
        let mut times: Vec<u128> = (0..20)
            .map(|n| {
                let workflow = format!("docs-{n}");
                build.world.ok("ask-post", &["-w", &workflow, "Merge?", "-o", "a=A", "-o", "b=B"]);
                let question = until("the question is seen", || peers.question(&name, &workflow.parse().unwrap()));
                std::thread::sleep(Duration::from_millis(u64::from(Uuid::new_v4().as_bytes()[0])));
                let begun = Instant::now();
                let hash = question.asked.as_ref().unwrap().hash;
                let offer = Offer::new(&question.round().unwrap(), hash, None, ann.value(AnswerValue::Text("b".into())), false);
                let id = offer.offer_id;
                peers.offer(&name, offer).unwrap();
                until("the agent has started", || {
                    let progress = peers.progress(id);
                    assert!(!matches!(progress, Some(Progress::NotSent(_) | Progress::Unconfirmed(_))), "{progress:?}");
                    build.world.logged(&format!("start {workflow}/")) > 0
                });
                let took = begun.elapsed().as_millis();
                build.world.closed(&workflow, "delivered", 1);
                took
            })
            .collect();
        times.sort_unstable();
        let how = if kept == Kept::Yes { "a kept connection" } else { "a new connection each time" };
        println!("a click → the agent's start, ssh, {how}: p50 {} ms, p90 {} ms, longest {} ms", times[10], times[18], times[19]);
    }
}
