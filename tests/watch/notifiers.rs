//! The operator's notification program: how many run at once, how long, and that nothing is forgotten.

use crate::support::{World, files, until};
use serde_json::json;

/// A notifier that notes what it is told, and waits for as long as the file `hold` is there.
const NOTIFIER: &str = r#"#!/bin/sh
echo "$1 $ASKBOX_WORKFLOW_ID $(cat)" >>"$AGENT_DIR/notified"
while [ -e "$AGENT_DIR/hold" ]; do sleep 0.1; done
"#;

fn with_notifier(script: &str, more: &str) -> World {
    let world = World::stepping("work");
    files::write_program(&world.path("notify.sh"), script);
    world.configure(&format!("[target.command]\nexec = [\"{}\"]\n[notify]\ngrace = \"0s\"\n{more}", world.path("notify.sh").display()));
    world.make_mailbox();
    world
}

fn ask(world: &World, questions: std::ops::Range<usize>) {
    for n in questions {
        let workflow = format!("w{n}");
        world.forge_question(&workflow, &json!({"workflow_id": workflow, "question": format!("number {n}?")}));
    }
}

fn notified(world: &World) -> Vec<String> {
    std::fs::read_to_string(world.agent("notified")).unwrap_or_default().lines().map(str::to_owned).collect()
}

#[test]
fn news_of_a_killed_watcher_are_told_by_the_next_one() {
    let world = with_notifier(NOTIFIER, "");
    std::fs::write(world.agent("hold"), "").expect("a file");
    let watcher = world.watch();
    ask(&world, 0..10);
    watcher.says_times("asked ", 10);
    watcher.kill();
    std::fs::remove_file(world.agent("hold")).expect("it is there");
    let _next = world.watch();
    for n in 0..10 {
        until("every question is told", || notified(&world).iter().any(|l| l.starts_with(&format!("asked w{n} "))));
    }
}

#[test]
fn a_notifier_that_fails_is_told_with_its_exit_status() {
    let world = with_notifier("#!/bin/sh\nexit 7\n", "");
    let watcher = world.watch();
    ask(&world, 0..1);
    watcher.says("notify.sh failed: exit status: 7");
}

mod promises {
    use super::*;

    #[test]
    fn many_questions_start_four_notifiers_and_then_one_for_all() {
        let world = with_notifier(NOTIFIER, "time_limit = \"10m\"");
        std::fs::write(world.agent("hold"), "").expect("a file");
        let watcher = world.watch();
        // A slow watcher sees many questions in one look, and tells those as one. So the first four come alone.
        ask(&world, 0..4);
        until("four are running", || notified(&world).len() == 4);
        ask(&world, 4..200);
        watcher.says_times("asked ", 200);
        let to_be_told = || world.names("news/command").len();
        until("all are noted", || to_be_told() == 200);
        // While its shell starts a program, a notifier is two processes for a moment.
        until("four processes are running", || world.processes("notify.sh").len() == 4);
        // A question that is answered before its turn is not told.
        world.ok("ask-answer", &["cancel", "w100"]);
        until("it is no more to be told", || to_be_told() == 199);
        std::fs::remove_file(world.agent("hold")).expect("it is there");
        let several = until("the others are told as one", || notified(&world).into_iter().find(|l| l.starts_with("several ")));
        assert!(several.contains("199 questions wait") && several.contains("\"several\":195"), "{several}");
        let alone = notified(&world).into_iter().filter(|l| l.starts_with("asked w")).collect::<std::collections::BTreeSet<_>>();
        assert_eq!(alone.len(), 4, "{alone:#?}");
        assert!(!notified(&world).iter().any(|l| l.starts_with("asked w100 ")), "{:#?}", notified(&world));
        // Afterwards each question is told by itself again.
        ask(&world, 500..501);
        until("the next one is told", || notified(&world).iter().any(|l| l.starts_with("asked w500 ")));
    }

    #[test]
    fn a_slow_notifier_is_killed_with_all_that_it_started() {
        let world = with_notifier("#!/bin/sh\nsleep 612 & \nsleep 612\n", "time_limit = \"10s\"");
        let watcher = world.watch();
        ask(&world, 0..1);
        // Within its time limit, also on a busy machine.
        until("both are there", || world.processes("sleep 612").len() == 2);
        watcher.says("was killed after notify.time_limit");
        until("both are gone", || world.processes("sleep 612").is_empty());
    }
}
