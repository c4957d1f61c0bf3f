//! `awaits/`: who waits for whom.

use super::*;
use askbox::mailbox::Mailbox;
use askbox::mailbox::awaits::{self, Join};

/// A scene in which these workflows have been run.
fn with(ids: &[&str]) -> Scene {
    let scene = well();
    for id in ids {
        ran(&scene, id);
    }
    scene
}

fn ran(scene: &Scene, id: &str) {
    scene.ok(&format!("echo go > task && relaunch run task -w {id}"));
}

/// `parent` waits for `child`, for years.
fn wait(scene: &Scene, parent: &str, child: &str) -> String {
    let mailbox = Mailbox::open(scene.mailbox()).unwrap();
    let lock = mailbox.lock(&parent.parse().unwrap()).unwrap();
    awaits::create(&mailbox, &lock, &child.parse().unwrap(), Join::All, None).unwrap();
    let path = format!("m/awaits/{parent}/{child}.json");
    change(scene, &path, |wait| wait["created"] = "2020-01-01T00:00:00Z".into());
    path
}

fn change(scene: &Scene, path: &str, change: impl FnOnce(&mut Value)) {
    let mut document = scene.json(path);
    change(&mut document);
    std::fs::write(scene.file(path), document.to_string()).unwrap();
}

/// Its last round was closed years ago.
fn long_ago(scene: &Scene, id: &str) {
    let path = scene.ok(&format!("ls m/closed/{id}.*"));
    change(scene, &path, |round| round["closed"]["at"] = "2020-01-01T00:00:00Z".into());
}

#[track_caller]
fn all_is_well(scene: &Scene) {
    assert_eq!(findings(scene), [] as [Value; 0]);
}

#[test]
fn a_parent_that_waits_for_one_that_asks_or_has_just_ended_is_no_trouble() {
    let scene = with(&["p", "q", "done"]);
    scene.ok("ask-post -w asks 'When?'");
    wait(&scene, "p", "asks");
    wait(&scene, "q", "done");
    all_is_well(&scene);
}

#[test]
fn a_parent_whose_children_are_over_and_that_nobody_wakes() {
    let scene = with(&["p", "c"]);
    long_ago(&scene, "c");
    wait(&scene, "p", "c");
    // Whoever waits in the parent's own turn tells it.
    let mailbox = Mailbox::open(scene.mailbox()).unwrap();
    let lock = mailbox.lock(&"p".parse().unwrap()).unwrap();
    let held = awaits::hold(&mailbox, &lock, &"c".parse().unwrap()).unwrap();
    drop(lock);
    all_is_well(&scene);
    drop(held);
    scene.ok("ask-post -w asks 'When?'");
    let path = wait(&scene, "p", "asks");
    // One of two is not all.
    all_is_well(&scene);
    std::fs::remove_file(scene.file(&path)).unwrap();
    finds_and_mends(&scene, "unwoken", "p");
    let told = scene.ok("jq -r '.results[]?.workflow_id' m/closed/p.*");
    assert_eq!(told, "c");
}

#[test]
fn a_child_that_was_never_started() {
    let scene = with(&["p"]);
    wait(&scene, "p", "ghost");
    assert_eq!(findings(&scene)[0]["problem"].as_str().unwrap().split('(').nth(1), Some("ghost was never started), and nobody tells it"));
    finds_and_mends(&scene, "unwoken", "p");
}

#[test]
fn a_wait_of_a_workflow_that_nobody_knows_or_that_was_given_up() {
    let scene = with(&[]);
    scene.ok("ask-post -w asks 'When?'");
    wait(&scene, "nobody", "asks");
    finds_and_mends(&scene, "stale_wait", "awaits/nobody/asks.json");
    std::fs::write(scene.file("agent"), "#!/bin/sh\nexit 1\n").unwrap();
    answered(&scene, "w");
    assert_eq!(scene.run("relaunch w").status, 1);
    scene.ok("relaunch drop w --why 'never mind'");
    wait(&scene, "w", "asks");
    finds_and_mends(&scene, "stale_wait", "awaits/w/asks.json");
}

#[test]
fn a_wait_whose_parent_has_been_told() {
    let scene = with(&["p"]);
    scene.ok("ask-post -w asks 'When?'");
    let path = wait(&scene, "p", "asks");
    let round = scene.json(&scene.ok("ls m/closed/p.*"))["question_id"].clone();
    change(&scene, &path, |wait| wait["told_by"] = round);
    all_is_well(&scene);
    scene.ok(&format!("touch -d '1 minute ago' {path}"));
    finds_and_mends(&scene, "half_done", "awaits/p/asks.json");
}

#[test]
fn a_ring_of_waits_is_told_once() {
    let scene = with(&["c", "a", "b", "d"]);
    for (parent, child) in [("a", "b"), ("b", "c"), ("c", "a"), ("d", "a")] {
        wait(&scene, parent, child);
    }
    let mend = finds(&scene, "stale_wait", "awaits/a/b.json");
    scene.ok(&mend);
    // Now it hangs together again, and the first of it can be told nothing: its wait is gone.
    assert!(findings(&scene).iter().all(|f| f["kind"] != "stale_wait"));
}

#[test]
fn a_wait_that_cannot_be_read() {
    let scene = with(&["p"]);
    scene.ok("ask-post -w asks 'When?'");
    let path = wait(&scene, "p", "asks");
    let whole = std::fs::read_to_string(scene.file(&path)).unwrap();
    std::fs::write(scene.file(&path), whole.replace("\"asks\"", "\"other\"")).unwrap();
    scene.ok(&format!("sleep 3.1; touch -d '1 minute ago' {path}"));
    let mend = finds(&scene, "unreadable", "awaits/p/asks.json");
    let editor = editor(&scene, &whole);
    scene.ok(&(editor + &mend));
    all_is_well(&scene);
}

#[test]
fn what_does_not_belong_among_the_waits() {
    let scene = with(&["p"]);
    scene.ok("ask-post -w asks 'When?'");
    wait(&scene, "p", "asks");
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
        scene.ok(make);
        let mend = finds(&scene, kind, subject);
        scene.ok(&mend);
        scene.ok("rm -rf m/quarantine/*");
        all_is_well(&scene);
    }
}
