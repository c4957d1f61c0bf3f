//! A mailbox that is moved, replaced or unmounted while programs use it.

use crate::support::{World, until};

/// Every path below a folder.
fn tree(folder: &std::path::Path) -> Vec<String> {
    let out = std::process::Command::new("find").arg(folder).output().unwrap();
    String::from_utf8(out.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn a_program_inside_of_a_run_never_makes_a_mailbox() {
    let mut world = World::new();
    world.set_env(&[("ASKBOX_RUN", "docs/01a20535-7c1c-70f4-93d9-68b4a24a55aa/1")]);
    for (program, args) in [("ask-post", &["-w", "docs", "Merge?"] as &[&str]), ("checkpoint", &["save", "docs", "--step", "x"])] {
        let out = world.run(program, args);
        assert_eq!(out.status.code(), Some(3), "{}", out.words());
        assert!(out.words().contains("it was there when this run began"), "{}", out.words());
    }
    assert!(!world.mailbox().exists());
}

#[test]
fn a_watcher_takes_no_empty_folder_for_its_mailbox() {
    let world = World::stepping("work");
    world.make_mailbox();
    let watcher = world.watch();
    std::fs::rename(world.mailbox(), world.path("moved")).unwrap();
    watcher.says("the mailbox is gone");
    // As an unmounted mount point is, and as a supervisor of an earlier version left it.
    std::fs::create_dir_all(world.in_mailbox("costs")).unwrap();
    let out = world.run("ask-answer", &["list"]);
    assert_eq!(out.status.code(), Some(3), "{}", out.words());
    std::fs::remove_dir(world.in_mailbox("costs")).unwrap();
    std::fs::remove_dir(world.mailbox()).unwrap();
    std::fs::rename(world.path("moved"), world.mailbox()).unwrap();
    world.ask_and_answer("docs");
    world.closed("docs", "delivered", 1);
    watcher.kill();
}

#[test]
fn an_asker_stops_when_another_mailbox_takes_the_place() {
    let world = World::new();
    world.make_mailbox();
    let mut waiting = world.command("ask-post");
    waiting.args(["-w", "docs", "Merge?", "-o", "a=A", "--wait", "2m"]);
    let (stdout, stderr) = (std::process::Stdio::piped(), std::process::Stdio::piped());
    let child = waiting.stdout(stdout).stderr(stderr).spawn().unwrap();
    until("it is posted", || world.in_mailbox("pending/docs.json").exists());
    let moved = world.path("moved");
    let other = moved.to_str().unwrap();
    world.ok("ask-post", &["--mailbox", other, "-w", "first", "?"]);
    world.ok("ask-answer", &["--mailbox", other, "cancel", "first"]);
    // In one step: a program that finds no folder at all says something else.
    rustix::fs::renameat_with(rustix::fs::CWD, world.mailbox(), rustix::fs::CWD, &moved, rustix::fs::RenameFlags::EXCHANGE).unwrap();
    // The kernel tells the asker of a change in the folder that it watches.
    std::fs::write(moved.join("answered/hint.json"), "{}").unwrap();
    let out = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!(out.status.code(), Some(4), "{said}");
    assert!(said.contains("another folder took the place of the mailbox"), "{said}");
    assert!(moved.join("pending/docs.json").exists(), "the question is safe");
}

mod promises {
    use super::*;

    #[test]
    fn a_run_whose_mailbox_is_moved_ends_in_the_moved_one() {
        let world = World::stepping("ask-post -w child 'Now?' > \"$HOME/posted\" 2>&1; echo $? >> \"$HOME/posted\"; work");
        world.ask_and_answer("docs");
        world.hold("tool");
        let watcher = world.watch();
        until("it is at work", || world.is_held("tool"));
        let moved = world.path("moved");
        std::fs::rename(world.mailbox(), &moved).unwrap();
        watcher.says("the mailbox is gone");
        world.let_go("tool");
        let closed =
            || std::fs::read_dir(moved.join("closed")).unwrap().flatten().any(|e| e.file_name().to_string_lossy().starts_with("docs."));
        until("the run is closed where the mailbox is now", closed);
        assert!(moved.join("costs").is_dir(), "{:#?}", tree(&moved));
        assert!(!world.mailbox().exists(), "something made the mailbox anew: {:#?}", tree(world.mailbox()));
        // It comes back, and the watcher goes on with it.
        std::fs::rename(&moved, world.mailbox()).unwrap();
        world.ask_and_answer("docs");
        until("the next round is delivered", || world.rounds("closed", "docs").len() == 2);
        assert_eq!(world.logged("start "), 2, "{:#?}", world.log());
        watcher.kill();
    }
}
