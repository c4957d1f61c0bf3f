//! Damage in the folder `awaits/`. Each of its files says that a parent waits for a child.

use super::*;

use crate::support::{Running, Signal, World, asleep, needs, signal, until};
use askbox::mailbox::Mailbox;
use askbox::mailbox::documents::awaited::Join;
use askbox::mailbox::family::awaits;

/// A scene with these workflows, which have been run.
fn with(ids: &[&str]) -> World {
    let world = well();
    for id in ids {
        ran(&world, id);
    }
    world
}

fn ran(world: &World, id: &str) {
    world.sh(&format!("echo go > task && relaunch run task -w {id}"));
}

/// `parent` waits for `child`, for years.
fn wait(world: &World, parent: &str, child: &str) -> String {
    let mailbox = Mailbox::open(world.mailbox()).unwrap();
    let lock = mailbox.lock(&parent.parse().unwrap()).unwrap();
    awaits::create(&mailbox, &lock, &child.parse().unwrap(), Join::All, None).unwrap();
    let path = format!("m/awaits/{parent}/{child}.json");
    change(world, &path, |wait| wait["created"] = "2020-01-01T00:00:00Z".into());
    path
}

fn change(world: &World, path: &str, change: impl FnOnce(&mut Value)) {
    let mut document = world.json(path);
    change(&mut document);
    std::fs::write(world.path(path), document.to_string()).unwrap();
}

/// Its last round was closed years ago.
fn long_ago(world: &World, id: &str) {
    let path = world.sh(&format!("ls m/closed/{id}.*"));
    change(world, &path, |round| round["closed"]["at"] = "2020-01-01T00:00:00Z".into());
}

/// Its last round is closed at a time that is still to come. So it has just ended, however slow the machine is.
fn just_now(world: &World, id: &str) {
    let path = world.sh(&format!("ls m/closed/{id}.*"));
    change(world, &path, |round| round["closed"]["at"] = soon().into());
}

#[track_caller]
fn all_is_well(world: &World) {
    assert_eq!(findings(world), [] as [Value; 0]);
}

#[test]
fn doctor_reports_a_child_that_was_never_started() {
    let world = with(&["p"]);
    wait(&world, "p", "ghost");
    assert_eq!(
        findings(&world)[0]["problem"].as_str().unwrap().split('(').nth(1),
        Some("ghost was never started), but it was not resumed")
    );
    finds_and_mends(&world, "unwoken", "p");
}

#[test]
fn doctor_reports_a_wait_for_an_unknown_or_dropped_workflow() {
    let world = with(&[]);
    world.sh("ask-post -w asks 'When?'");
    wait(&world, "nobody", "asks");
    finds_and_mends(&world, "stale_wait", "awaits/nobody/asks.json");
    write_program(&world.path("agent"), "#!/bin/sh\nexit 1\n");
    answered(&world, "w");
    assert_eq!(world.shell("relaunch w").code(), 1);
    world.sh("relaunch drop w --why 'never mind'");
    wait(&world, "w", "asks");
    finds_and_mends(&world, "stale_wait", "awaits/w/asks.json");
}

#[test]
fn doctor_reports_a_wait_whose_parent_has_been_told() {
    let world = with(&["p"]);
    world.sh("ask-post -w asks 'When?'");
    let path = wait(&world, "p", "asks");
    let round = world.json(world.sh("ls m/closed/p.*"))["question_id"].clone();
    change(&world, &path, |wait| wait["told_by"] = round);
    // The file counts as new, however slow the machine is.
    world.sh(&format!("touch -d '1 hour' {path}"));
    all_is_well(&world);
    world.sh(&format!("touch -d '1 minute ago' {path}"));
    finds_and_mends(&world, "half_done", "awaits/p/asks.json");
}

#[test]
fn a_ring_of_waits_is_told_once() {
    let world = with(&["c", "a", "b", "d"]);
    for (parent, child) in [("a", "b"), ("b", "c"), ("c", "a"), ("d", "a")] {
        wait(&world, parent, child);
    }
    let mend = finds(&world, "stale_wait", "awaits/a/b.json");
    world.sh(&mend);
    // Now it hangs together again, and the first of it can be told nothing: its wait is gone.
    assert!(findings(&world).iter().all(|f| f["kind"] != "stale_wait"));
}

#[test]
fn doctor_reports_a_wait_that_cannot_be_read() {
    let world = with(&["p"]);
    world.sh("ask-post -w asks 'When?'");
    let path = wait(&world, "p", "asks");
    let whole = std::fs::read_to_string(world.path(&path)).unwrap();
    std::fs::write(world.path(&path), whole.replace("\"asks\"", "\"other\"")).unwrap();
    world.sh(&format!("sleep 3.1; touch -d '1 minute ago' {path}"));
    let mend = finds(&world, "unreadable", "awaits/p/asks.json");
    let editor = editor(&world, &whole);
    world.sh(&(editor + &mend));
    all_is_well(&world);
}

#[test]
fn doctor_reports_foreign_files_among_the_waits() {
    let world = with(&["p"]);
    world.sh("ask-post -w asks 'When?'");
    wait(&world, "p", "asks");
    for (make, kind, subject) in [
        ("echo x > m/awaits/p/notes && touch -d '1 day ago' m/awaits/p/notes", "stray", "awaits/p/notes"),
        ("echo x > m/awaits/README", "stray", "awaits/README"),
        ("mkdir m/awaits/-x", "stray", "awaits/-x"),
        ("ln -s ../p m/awaits/linked", "link", "awaits/linked"),
        ("ln -s asks.json m/awaits/p/linked.json", "link", "awaits/p/linked.json"),
        ("mkfifo m/awaits/p/fifo.json", "no_file", "awaits/p/fifo.json"),
        ("chmod g+w m/awaits/p", "mode", "awaits/p"),
        ("echo x > m/awaits/p/.tmpx && touch -d '1 day ago' m/awaits/p/.tmpx", "leftover", "awaits/p/.tmpx"),
    ] {
        world.sh(make);
        let mend = finds(&world, kind, subject);
        world.sh(&mend);
        world.sh("rm -rf m/quarantine/*");
        all_is_well(&world);
    }
}

#[test]
fn doctor_reports_a_stopped_asker_that_waits_for_its_answer() {
    let world = well();
    let mut command = world.command("ask-post");
    let asker = Running::start(command.args(["-w", "w", "How?", "--wait", "5m"]).stdout(std::process::Stdio::null()));
    until("it waits", || world.path("m/pending/w.json").exists() && world.path("m/runs/w/waiter").exists());
    // It has let go of the workflow's lock.
    asleep(asker.pid());
    signal(asker.pid(), Signal::STOP);
    until("it is stopped", || world.sh(&format!("cat /proc/{}/stat", asker.pid())).contains(") T "));
    world.sh("ask-answer w soon");
    all_is_well(&world);
    let mut document = world.json("m/answered/w.json");
    document["answer"]["at"] = "2026-01-01T00:00:00Z".into();
    std::fs::write(world.path("m/answered/w.json"), document.to_string()).unwrap();
    assert_eq!(finds(&world, "unclaimed", "w"), format!("kill -CONT {}", asker.pid()));
    assert!(findings(&world)[0]["problem"].as_str().unwrap().contains("which a signal has stopped"));
    signal(asker.pid(), Signal::CONT);
    until("it takes the answer", || world.state("w") == "delivered");
}

mod promises {
    use super::*;

    #[test]
    fn a_parent_of_one_that_asks_or_just_ended_is_no_trouble() {
        let world = with(&["p", "q", "done"]);
        world.sh("ask-post -w asks 'When?'");
        wait(&world, "p", "asks");
        wait(&world, "q", "done");
        just_now(&world, "done");
        all_is_well(&world);
    }

    #[test]
    fn a_parent_whose_children_are_over_and_that_nobody_wakes() {
        needs!("jq");
        let world = with(&["p", "c"]);
        long_ago(&world, "c");
        wait(&world, "p", "c");
        // A process that waits in the parent's own turn will tell the parent.
        let mailbox = Mailbox::open(world.mailbox()).unwrap();
        let lock = mailbox.lock(&"p".parse().unwrap()).unwrap();
        let held = awaits::hold(&mailbox, &lock, &"c".parse().unwrap()).unwrap();
        drop(lock);
        all_is_well(&world);
        drop(held);
        world.sh("ask-post -w asks 'When?'");
        let path = wait(&world, "p", "asks");
        // One of two is not all.
        all_is_well(&world);
        std::fs::remove_file(world.path(&path)).unwrap();
        finds_and_mends(&world, "unwoken", "p");
        let told = world.sh("jq -r '.results[]?.workflow_id' m/closed/p.*");
        assert_eq!(told, "c");
    }
}
