//! A folder that is not a mailbox is named as the mailbox by mistake. It stays as it is, and people are not told to change its mode or
//! owner.

use std::os::unix::fs::PermissionsExt;

use crate::support::World;

mod promises {
    use super::*;

    #[test]
    fn a_folder_that_is_no_mailbox_keeps_its_mode() {
        let world = World::without_mailbox();
        // Like /tmp, like /var/local, and like a folder that is shared by mistake.
        for mode in [0o1777, 0o2775, 0o777] {
            let folder = world.work().join(format!("{mode:o}"));
            world.sh(&format!("mkdir {0} && echo other > {0}/file && chmod {mode:o} {0}", folder.display()));
            for command in ["ask-answer list", "ask-post 'Which?' -w w", "checkpoint save w --step one", "relaunch status", "askbox doctor"]
            {
                let ran = world.shell(&format!("{command} --mailbox {}", folder.display()));
                assert!(!ran.status.success(), "{mode:o} {command}: {}", ran.words());
                assert!(!ran.words().contains("chmod") && !ran.words().contains("chown"), "{mode:o} {command}: {}", ran.words());
                assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o7777, mode, "{command}");
            }
            let hint = world.run("ask-answer", &["list", "--mailbox", folder.to_str().unwrap()]).stderr;
            assert!(hint.contains("hint: this folder is no mailbox") && hint.contains("--mailbox DIR or $ASKBOX_DIR"), "{hint}");
        }
    }
}
