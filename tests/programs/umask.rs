//! Mailboxes that were made by hand under umask 002, the default of common distributions.

use std::os::unix::fs::PermissionsExt;

use crate::support::{World, needs};

fn mode(world: &World, below: &str) -> u32 {
    world.in_mailbox(below).metadata().unwrap().permissions().mode() & 0o7777
}

/// A mailbox and a question as the guide's block with `cat` makes them.
fn by_hand(world: &World) {
    world.sh("umask 002; mkdir -p \"$ASKBOX_DIR/pending\"; \
         echo '{\"question\": \"Merge?\", \"workflow_id\": \"docs-44\"}' > \"$ASKBOX_DIR/pending/docs-44.json\"");
    assert_eq!((mode(world, ""), mode(world, "pending")), (0o775, 0o775));
}

#[test]
fn every_program_uses_a_mailbox_that_was_made_under_umask_002() {
    for command in
        ["ask-post 'Which?' -w other", "checkpoint save c --step one", "relaunch status", "askbox tree", "ask-answer docs-44 yes"]
    {
        let world = World::new();
        by_hand(&world);
        let ran = world.shell(command);
        assert!(ran.status.success() && ran.stderr.contains("private now"), "{command}: {}", ran.words());
    }
}

#[test]
fn a_folder_with_a_file_of_another_user_is_refused_as_it_is() {
    needs!("root");
    let world = World::new();
    by_hand(&world);
    std::os::unix::fs::chown(world.in_mailbox("pending/docs-44.json"), Some(4242), None).unwrap();
    let refused = world.run("ask-answer", &["list"]);
    assert_eq!(refused.code(), 1, "{refused:?}");
    assert!(refused.stderr.contains("docs-44.json in it belongs to user 4242"), "{refused:?}");
    assert!(refused.stderr.contains("hint: look at it (ls -la "), "{refused:?}");
    assert_eq!(mode(&world, "pending"), 0o775);
    // The command in the hint helps.
    world.sh("rm \"$ASKBOX_DIR/pending/docs-44.json\"");
    world.run("ask-answer", &["list"]).ok();
    assert_eq!(mode(&world, "pending"), 0o700);
}

#[test]
fn a_folder_that_everybody_may_write_to_is_refused_as_it_is() {
    let world = World::new();
    by_hand(&world);
    world.sh("chmod 777 \"$ASKBOX_DIR/pending\"");
    let refused = world.run("ask-answer", &["list"]);
    assert!(refused.code() == 1 && refused.stderr.contains("hint: chmod go-w"), "{refused:?}");
    assert_eq!(mode(&world, "pending"), 0o777);
}

#[test]
fn the_doctor_reports_a_group_writable_folder_and_keeps_it() {
    let world = World::new();
    by_hand(&world);
    let ran = world.shell("askbox doctor");
    assert_eq!(ran.code(), 1, "{}", ran.words());
    assert!(ran.stdout.contains("not checked: questions, answers, runs"), "{}", ran.words());
    assert_eq!((mode(&world, ""), mode(&world, "pending")), (0o775, 0o775));
    assert!(!world.in_mailbox("locks").exists());
    // Its commands help.
    for mend in ran.stdout.lines().filter_map(|l| l.strip_prefix("  $ chmod ")) {
        world.sh(&format!("chmod {mend}"));
    }
    let after = world.shell("askbox doctor");
    assert!(!after.stdout.contains("not checked"), "{}", after.words());
}

mod promises {
    use super::*;

    #[test]
    fn a_mailbox_made_under_umask_002_becomes_private_and_says_so() {
        let world = World::new();
        by_hand(&world);
        let first = world.run("ask-answer", &["list"]).ok();
        assert!(first.stdout.contains("Merge?"), "{first:?}");
        assert!(first.stderr.contains("private now (mode 0700)") && first.stderr.contains("/pending"), "{first:?}");
        assert_eq!((mode(&world, ""), mode(&world, "pending")), (0o700, 0o700));
        let again = world.run("ask-answer", &["list"]).ok();
        assert_eq!(again.stderr, "", "{again:?}");
    }
}
