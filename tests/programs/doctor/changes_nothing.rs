//! The doctor changes nothing: no file, no mode, no time.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::{answered, findings, well};
use crate::support::{World, needs, strace};

/// Everything below a folder: names, modes, times and contents.
fn tree(folder: &Path) -> String {
    let mut out = String::new();
    let mut all = vec![folder.to_path_buf()];
    while let Some(path) = all.pop() {
        let about = path.symlink_metadata().unwrap();
        let content = if about.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
        let when = (about.mtime(), about.mtime_nsec());
        writeln!(out, "{} {:o} {when:?} {}", path.display(), about.mode(), String::from_utf8_lossy(&content)).unwrap();
        if about.is_dir() {
            let mut below: Vec<_> = fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()).collect();
            below.sort();
            all.extend(below);
        }
    }
    out
}

/// A mailbox with rounds in every folder, and without all that a program would make anew.
fn used() -> World {
    let world = well();
    answered(&world, "given");
    world.sh("ask-post -w waits 'Go?'; ask-post -w over Go? -t yes_no; ask-answer over yes; relaunch over");
    world.sh("rm -rf m/locks/* m/recent m/looked m/runs/given/children; rmdir m/awaits m/timers m/parked");
    world
}

#[track_caller]
fn changes_nothing(world: &World) {
    let before = tree(world.mailbox());
    for call in ["askbox doctor", "askbox doctor --json", "askbox doctor waits", "askbox doctor given", "askbox doctor over"] {
        let ran = world.shell(call);
        assert!(ran.code() < 2, "{call}: {}", ran.words());
        assert_eq!(tree(world.mailbox()), before, "{call}");
    }
}

#[test]
fn the_system_is_asked_for_no_write_by_the_doctor() {
    needs!("strace");
    let world = used();
    let calls = "trace=open,openat,openat2,creat,mkdir,mkdirat,chmod,fchmod,fchmodat,rename,renameat,renameat2,link,linkat,symlink,symlinkat,\
                 unlink,unlinkat,rmdir,mknod,mknodat,truncate,ftruncate,utimensat,chown,fchown,fchownat,fsync,fdatasync,sync,syncfs";
    for (id, mode) in [("", "700"), ("given", "700"), ("waits", "775"), ("over", "700")] {
        world.sh(&format!("chmod {mode} m m/pending"));
        let log = world.path("trace");
        let words = strace(&["-f", "-qq", "-y", "-e", calls, "-e", "signal=none", "-o", log.to_str().unwrap()]);
        world.shell(&format!("{} askbox doctor {id}", words.join(" ")));
        let trace = fs::read_to_string(&log).unwrap();
        let mailbox = world.mailbox().display().to_string();
        let reads =
            |line: &&str| line.contains(" open") && !["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC"].iter().any(|flag| line.contains(flag));
        let writes: Vec<&str> = trace.lines().filter(|line| line.contains(&mailbox) && !reads(line)).collect();
        assert!(trace.contains(&mailbox) && writes.is_empty(), "{id}: {writes:#?}");
    }
}

mod promises {
    use super::*;

    #[test]
    fn the_doctor_leaves_every_mode_time_and_file_alone() {
        let world = used();
        changes_nothing(&world);
        for make in ["chmod 775 m", "chmod 775 m/pending", "chmod 777 m/running", "chmod 666 m/answered/given.json", "chmod 700 m m/*/"] {
            world.sh(make);
            changes_nothing(&world);
        }
        assert!(findings(&world).iter().all(|found| found["kind"] != "no_folder"), "a folder that no program made yet is no problem");
    }
}
