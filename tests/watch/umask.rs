//! A watcher whose mailbox is too open.

use std::os::unix::fs::PermissionsExt;

use crate::support::{World, until};

#[test]
fn a_waiting_watcher_makes_a_mailbox_of_umask_002_private() {
    let world = World::stepping("work");
    let watcher = world.start_as_watcher(world.command("relaunch").args(["watch", "--poll", "1s"]));
    watcher.says("waiting for the mailbox");
    world.sh("umask 002; mkdir -p \"$ASKBOX_DIR/pending\" \"$ASKBOX_DIR/answered\"; \
         echo '{\"question\": \"Merge?\", \"workflow_id\": \"docs-44\"}' > \"$ASKBOX_DIR/pending/docs-44.json\"");
    watcher.says("private now (mode 0700)");
    watcher.says("watching");
    world.sh("jq '.answer = \"keep\"' \"$ASKBOX_DIR/pending/docs-44.json\" > \"$ASKBOX_DIR/answered/.new\"; \
              rm \"$ASKBOX_DIR/pending/docs-44.json\"; mv \"$ASKBOX_DIR/answered/.new\" \"$ASKBOX_DIR/answered/docs-44.json\"");
    until("the answer is delivered", || world.rounds("closed", "docs-44").len() == 1);
    watcher.stop();
}

#[test]
fn a_watcher_waits_for_a_mailbox_it_cannot_trust() {
    let world = World::stepping("work");
    world.make_mailbox();
    let open = |mode| std::fs::set_permissions(world.mailbox(), std::fs::Permissions::from_mode(mode)).unwrap();
    open(0o777);
    let watcher = world.start_as_watcher(world.command("relaunch").args(["watch", "--poll", "1s"]));
    let said = watcher.says("waiting for a usable mailbox");
    assert!(said.contains("mode 0777") && said.contains("chmod go-w"), "{said}");
    open(0o700);
    watcher.says("watching");
    world.ask_and_answer("docs");
    until("the answer is delivered", || world.rounds("closed", "docs").len() == 1);
    watcher.stop();
}

mod promises {
    use super::*;

    #[test]
    fn a_watcher_stops_at_an_open_mailbox_until_it_is_private() {
        for folder in ["", "answered"] {
            let world = World::stepping("work");
            world.make_mailbox();
            let watcher = world.start_as_watcher(world.command("relaunch").args(["watch", "--poll", "1s"]));
            watcher.says("watching");
            let path = world.in_mailbox(folder);
            let open = |mode| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            open(0o777);
            let said = watcher.says("waiting for a usable mailbox");
            assert!(said.contains("mode 0777") && said.contains("chmod go-w"), "{said}");
            // An answer that another user may put there while the mailbox is open.
            std::fs::write(world.in_mailbox("answered/docs.json"), r#"{"workflow_id":"docs","question":"Merge?","answer":"yes"}"#).unwrap();
            std::thread::sleep(std::time::Duration::from_secs(3));
            assert_eq!(world.logged("start "), 0, "an answer that anybody could have given was launched");
            open(0o700);
            until("the answer is delivered", || world.rounds("closed", "docs").len() == 1);
            watcher.stop();
        }
    }
}
