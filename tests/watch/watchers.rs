//! Several watchers on one mailbox, and events that must not delay a watcher.

use std::time::Duration;

use crate::support::process::asleep;
use crate::support::{Watcher, World, files, kill, quickly, until};
use askbox::time::{Time, parse_rfc3339};
use serde_json::{Value, json};

fn breaker(world: &World) -> Value {
    let bytes = std::fs::read(world.in_mailbox("breaker.json")).unwrap_or_default();
    if bytes.is_empty() { Value::Null } else { serde_json::from_slice(&bytes).expect("breaker.json is JSON") }
}

/// The lines of the audit trail about this.
fn audited(world: &World, event: &str) -> Vec<Value> {
    world.audited().into_iter().filter(|entry| entry["event"] == event).collect()
}

/// When each attempt was launched and when it ended, in order.
fn launches(world: &World) -> Vec<(Time, Time)> {
    let records = files(&world.in_mailbox("runs")).into_iter().filter(|(path, _)| path.ends_with("run.json"));
    let records = records.map(|(_, bytes)| serde_json::from_slice::<Value>(&bytes).expect("a record is JSON"));
    let time = |record: &Value, field: &str| parse_rfc3339(record[field].as_str()?);
    let mut times: Vec<_> = records.filter_map(|r| Some((time(&r, "started_at")?, time(&r, "ended_at")?))).collect();
    times.sort();
    times
}

/// The most runs that were live at the same time.
fn most_at_once(runs: &[(Time, Time)]) -> usize {
    runs.iter().map(|(at, _)| runs.iter().filter(|(started, ended)| started <= at && at < ended).count()).max().unwrap_or_default()
}

#[test]
fn all_but_two_watchers_sleep_and_one_wakes_when_one_is_killed() {
    let world = World::stepping("work");
    world.make_mailbox();
    let mut watchers: Vec<Watcher> = Vec::new();
    for _ in 0..6 {
        watchers.push(world.start_watcher());
        watchers.last().expect("one").says("watching ");
    }
    let deliver = |workflow: &str| {
        world.ask_and_answer(workflow);
        world.reaches(workflow, "delivered");
    };
    deliver("before");
    let before: Vec<_> = watchers.iter().map(|watcher| asleep(watcher.process.pid())).collect();
    (0..5).for_each(|n| deliver(&format!("w{n}")));
    let woken: Vec<_> = watchers.iter().zip(&before).map(|(watcher, before)| asleep(watcher.process.pid()) - before).collect();
    // One minute's look around may fall into this time.
    assert!(woken[0] > 0 && woken[2..].iter().all(|woken| *woken < 10), "woken by five rounds: {woken:?}");
    // Whoever is killed, an answer is launched long before the next look around.
    let mut left = watchers;
    for n in 0..5 {
        let (one, other) = (n % left.len(), (n + 1) % left.len());
        let with_next = n == 2;
        let killed = if with_next { vec![one.max(other), one.min(other)] } else { vec![if n % 2 == 0 { 0 } else { left.len() - 1 }] };
        if left.len() <= killed.len() {
            break;
        }
        // The answer may come before, while and after the killed one reacts.
        let workflow = format!("killed{n}");
        world.ask_and_answer(&workflow);
        killed.into_iter().for_each(|n| left.remove(n).kill());
        quickly("an answer beside a killed watcher", Duration::from_secs(25), || world.reaches(&workflow, "delivered"));
        let workflow = format!("after{n}");
        world.ask_and_answer(&workflow);
        quickly("an answer after that", Duration::from_secs(25), || world.reaches(&workflow, "delivered"));
    }
    assert!(left[0].said("takes its place").len() <= 1);
    let starts: Vec<String> =
        world.log().into_iter().filter(|line| line.starts_with("start killed") || line.starts_with("start after")).collect();
    let mut once = starts.clone();
    once.sort();
    once.dedup();
    assert_eq!(once.len(), starts.len(), "each answer is launched once: {starts:#?}");
}

#[test]
fn a_watcher_stopped_while_it_takes_a_place_blocks_nobody() {
    let world = World::stepping("work");
    world.make_mailbox();
    let lock = world.in_mailbox("locks/launch");
    let holder = crate::support::Running::start(world.any_command("flock").arg(&lock).args(["sleep", "600"]));
    until("it is held", || askbox::disk::Lock::is_held(&lock).unwrap_or(false));
    world.ask_and_answer("docs");
    let _watcher = world.start_watcher();
    until("the answer is delivered", || world.only("closed", "docs.").is_some());
    holder.kill();
}

#[test]
fn a_storm_of_failures_opens_the_breaker_once_for_all() {
    // The third probe finds the third pause on record, and goes well, as all behind it do.
    let recovers = "grep -qs '\"pause\": *3' $HOME/m/breaker.json && touch $AGENT_DIR/well";
    let world = World::stepping(&format!("{recovers}\n[ -e $AGENT_DIR/well ] && {{ sleep 1; work; }} || exit 3"));
    world.configure("attempts = 1\nbreaker_failures = 6\nbreaker_pause = \"1s\"");
    world.reconfigure("max_concurrent = 8", "max_concurrent = 2");
    let workflows: Vec<String> = (0..20).map(|n| format!("w{n}")).collect();
    workflows.iter().for_each(|w| world.ask_and_answer(w));
    let _watchers: [Watcher; 2] = [world.start_watcher(), world.start_watcher()];
    let parked = |w: &String| world.only("parked", &format!("{w}.")).is_some();
    let delivered = |w: &String| world.only("closed", &format!("{w}.")).is_some();
    until("the rest is delivered", || workflows.iter().all(|w| parked(w) || delivered(w)));
    let opened = audited(&world, "queue_paused");
    assert_eq!(opened.len(), 3, "two probes have failed, and each opening is told once: {opened:#?}");
    let [first, third] = [&opened[0], &opened[2]].map(|entry| entry["at"].as_str().and_then(parse_rfc3339).expect("a time"));
    let before = launches(&world).iter().filter(|(started, _)| *started <= first).count();
    // What was live when the sixth failed, and what took the places of those whose failure was being counted.
    assert!((6..6 + 4).contains(&before), "{before} runs were launched before it opened");
    let probes: Vec<_> = launches(&world).into_iter().filter(|(started, _)| *started > first && *started <= third).collect();
    assert!(probes.len() <= 2 + 3, "{probes:#?}");
    assert_eq!(audited(&world, "queue_resumed").len(), 1);
    assert_eq!(breaker(&world)["state"], "closed");
    // Both launch again, and together no more at once than the operator permits.
    let closed = audited(&world, "queue_resumed")[0]["at"].as_str().and_then(parse_rfc3339).expect("a time");
    let after: Vec<_> = launches(&world).into_iter().filter(|(started, _)| *started >= closed).collect();
    assert_eq!(most_at_once(&after), 2, "{after:#?}");
    assert_eq!(world.logged("violation"), 0);
}

#[test]
fn an_orphaned_agent_that_ignores_sigterm_delays_no_other_run() {
    // The orphan is killed after ten seconds. On a very busy machine the other run may take longer.
    until("the other run was first", another_run_is_first);
}

fn another_run_is_first() -> bool {
    let stuck = "case $ASKBOX_WORKFLOW_ID in stuck) trap '' TERM INT; log stuck $PPID; while :; do sleep 0.1; done ;; esac\nwork";
    let world = World::stepping(&format!("[ -e $AGENT_DIR/well ] && work && finish\n{stuck}"));
    world.ask_and_answer("stuck");
    let _watcher = world.start_watcher();
    until("it is stuck", || world.logged("stuck ") == 1);
    let agent = |world: &World| world.of_runs().into_iter().filter(|(_, env)| env.contains("ASKBOX_RUN=stuck/")).collect::<Vec<_>>();
    let supervisor = world.log().into_iter().find_map(|l| l.strip_prefix("stuck ")?.parse::<i32>().ok()).expect("a pid");
    std::fs::write(world.agent("well"), "").expect("a file");
    kill(supervisor);
    world.ask_and_answer("other");
    until("the other one is delivered", || world.only("closed", "other.").is_some());
    let is_first = !agent(&world).is_empty();
    until("the stuck one is delivered", || world.only("closed", "stuck.").is_some());
    assert_eq!((world.logged("start stuck/"), world.logged("shown stuck/"), world.logged("violation")), (2, 1, 0), "{:#?}", world.log());
    until("nothing of it lives", || world.of_runs().is_empty());
    is_first
}

#[test]
fn a_question_by_hand_is_recorded_once_by_many_watchers() {
    let world = World::stepping("work");
    world.make_mailbox();
    let watchers = [world.start_watcher(), world.start_watcher(), world.start_watcher()];
    let log = || world.watchers_said();
    until("all watch", || log().matches("watching").count() == watchers.len());
    for n in 0..10 {
        let workflow = format!("hand{n}");
        world.forge_question(&workflow, &json!({"workflow_id": workflow, "question": "?"}));
    }
    // The third one sleeps, until its next look around at the latest.
    until("two have seen them", || log().matches("asked").count() >= 20);
    let posted = audited(&world, "posted").into_iter().filter(|l| l["by"] == "hand").collect::<Vec<_>>();
    assert_eq!(posted.len(), 10, "{posted:#?}");
    // The same question again, once it is over, is another one.
    world.ok("ask-answer", &["cancel", "hand0"]);
    world.forge_question("hand0", &json!({"workflow_id": "hand0", "question": "?"}));
    until("it is recorded as well", || audited(&world, "posted").iter().filter(|l| l["workflow_id"] == "hand0").count() == 2);
}

#[test]
fn what_killed_writers_left_is_swept_an_hour_later() {
    let world = World::stepping("work");
    world.ask_and_answer("docs");
    world.ok("relaunch", &["docs"]);
    let attempt = format!("runs/docs/{}/1", world.names("runs/docs").iter().find(|n| n.len() == 36).expect("a round"));
    let hour = std::time::SystemTime::now() - Duration::from_secs(3700);
    let put = |name: &str, at: std::time::SystemTime| {
        let path = world.in_mailbox(name);
        std::fs::write(&path, "{").expect("a file");
        std::fs::File::options().write(true).open(&path).and_then(|f| f.set_modified(at)).expect("its time");
        path
    };
    let left = ["pending/.tmp0a1b2c3d4e5f", "closed/.tmp000000000000", ".tmpffffffffffff", &format!("{attempt}/.tmp0123456789ab")]
        .map(|name| put(name, hour));
    let mut kept = ["pending/.tmp-notes", "pending/.tmp0a1b2c3d4e5f6", "pending/tmp0a1b2c3d4e5f", "checkpoints/.swp"]
        .map(|name| put(name, hour))
        .to_vec();
    kept.push(put("pending/.tmp0a1b2c3d0000", std::time::SystemTime::now() - Duration::from_secs(3000)));
    kept.push(put("answered/.tmp0a1b2c3d0001", hour));
    let _writer = std::fs::File::open(kept.last().expect("it is there")).expect("it opens");
    let outside = world.path("outside");
    std::fs::write(&outside, "x").expect("a file");
    let link = world.in_mailbox("closed/.tmp0a1b2c3d0002");
    std::os::unix::fs::symlink(&outside, &link).expect("a link");
    kept.extend([outside, link]);
    // Also the names have to be still for a while.
    std::thread::sleep(Duration::from_secs(12));
    let _watcher = world.start_watcher();
    until("it is swept", || left.iter().all(|path| !path.exists()));
    until("the log tells", || left.iter().all(|path| world.watchers_said().contains(&path.display().to_string())));
    // It is done: the runs come behind the pending.
    for path in kept {
        assert!(path.symlink_metadata().is_ok(), "{} was swept", path.display());
    }
}

mod promises {
    use super::*;

    #[test]
    fn three_watchers_together_launch_as_many_runs_as_one_may() {
        // Some ends come at the same moment, and some attempts are retried.
        let world = World::stepping(
            "n=$(grep -c \"^start $ASKBOX_WORKFLOW_ID/\" \"$AGENT_DIR/log\"); [ $n = 2 ] || case $ASKBOX_WORKFLOW_ID in *0) exit 3 ;; esac; sleep 0.2; work",
        );
        world.configure("breaker_failures = 0");
        world.reconfigure("max_concurrent = 8", "max_concurrent = 3");
        let workflows: Vec<String> = (0..30).map(|n| format!("w{n}")).collect();
        workflows.iter().for_each(|w| world.ask_and_answer(w));
        let _watchers = [world.start_watcher(), world.start_watcher(), world.start_watcher()];
        until("all are delivered", || workflows.iter().all(|w| world.only("closed", &format!("{w}.")).is_some()));
        assert_eq!(most_at_once(&launches(&world)), 3, "{:#?}", launches(&world));
        assert_eq!((world.logged("start "), world.logged("violation")), (33, 0));
    }

    #[test]
    fn the_first_of_two_watchers_works_and_the_other_takes_over() {
        let world = World::stepping("work");
        world.make_mailbox();
        let first = world.start_watcher();
        let deliver = |workflow: &str| {
            world.ask_and_answer(workflow);
            world.reaches(workflow, "delivered");
        };
        deliver("before");
        let second = world.start_watcher();
        second.says("watching ");
        (0..10).for_each(|n| deliver(&format!("w{n}")));
        // A busy machine may hold up the first one, or a supervisor, for longer than the other waits. A launch is logged behind its start.
        let launched = || [&first, &second].map(|watcher| watcher.said("launched ").len());
        let [by_first, by_second] = until("all launches are logged", || Some(launched()).filter(|[one, other]| one + other >= 11));
        assert!(by_first > by_second, "{by_first} and {by_second}");
        first.kill();
        deliver("after");
        until("its launch is logged", || second.said("launched ").len() > by_second);
        assert_eq!(world.logged("start "), 12, "each answer is launched once: {:#?}", world.log());
    }
}
