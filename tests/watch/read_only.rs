//! A mailbox whose filesystem becomes read-only under a watcher, as after an error of the disk, and writable again.

use crate::support::{World, needs, strace, until};

mod promises {
    use super::*;

    #[test]
    fn a_watcher_waits_until_its_mailbox_can_be_written() {
        needs!("strace");
        let world = World::stepping("work");
        world.make_mailbox();
        // The claim is the first rename of a watcher. While the watcher has files open, nobody can remount their filesystem.
        let refused = strace(&["-qq", "-e", "trace=renameat2", "-e", "inject=renameat2:error=EROFS:when=1", "-o", "/dev/null"]);
        let watcher = world.start_as_watcher(world.wrapped(&refused, "relaunch").arg("watch"));
        watcher.says("watching");
        world.ask_and_answer("docs");
        let said = watcher.says("Read-only file system");
        assert!(said.contains("mount it writable"), "{said}");
        until("the answer is delivered", || world.rounds("closed", "docs").len() == 1);
        assert_eq!(world.logged("start "), 1);
    }
}
