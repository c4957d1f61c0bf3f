//! A filesystem on a disk that is recorded.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::cut::Record;
use crate::support::{end_process, until};

/// How a filesystem is made and mounted.
pub struct Filesystem {
    pub name: &'static str,
    megabytes: u64,
    mkfs: &'static [&'static str],
    options: &'static str,
    /// The program that a boot runs before the mount, if the filesystem has no journal.
    repair: &'static [&'static str],
    /// The size that the disk writes whole. btrfs expects that of its superblock of 4 KiB. The others get along with sectors.
    pub sector: usize,
}

const EXT: [&str; 6] = ["mkfs.ext4", "-q", "-b", "4096", "-E", "nodiscard,lazy_itable_init=0"];

pub const EXT4: Filesystem = Filesystem { name: "ext4", megabytes: 64, mkfs: &EXT, options: "nodiscard", repair: &[], sector: 512 };
pub const XFS: Filesystem =
    Filesystem { name: "xfs", megabytes: 300, mkfs: &["mkfs.xfs", "-q", "-K"], options: "nouuid,nodiscard", repair: &[], sector: 512 };
pub const BTRFS: Filesystem = Filesystem {
    name: "btrfs",
    megabytes: 128,
    mkfs: &["mkfs.btrfs", "-q", "-K", "-m", "single", "-d", "single"],
    options: "nodiscard",
    repair: &[],
    sector: 4096,
};
pub const WITHOUT_JOURNAL: Filesystem = Filesystem {
    name: "ext4 without a journal",
    megabytes: 64,
    mkfs: &["mkfs.ext4", "-q", "-b", "4096", "-E", "nodiscard,lazy_itable_init=0", "-O", "^has_journal"],
    options: "nodiscard",
    repair: &["e2fsck", "-f", "-y"],
    sector: 512,
};

impl Filesystem {
    /// Makes an empty filesystem in a new file.
    pub fn make(&self, image: &Path) {
        let file = std::fs::File::create(image).expect("an image");
        file.set_len(self.megabytes << 20).expect("its size");
        drop(file);
        let (program, args) = self.mkfs.split_first().expect("a command");
        run(Command::new(program).args(args).arg(image)).expect("a filesystem");
    }

    /// Mounts an image, or the recording disk.
    pub fn mount(&self, image: &Path, on: &Path) -> Result<Mounted, String> {
        run(Command::new("mount").args(["-o", &format!("loop,{}", self.options)]).args([image, on]))?;
        Ok(Mounted { on: on.to_owned(), btrfs: self.name == "btrfs" })
    }

    /// The steps of a boot before the mount.
    pub fn repair(&self, image: &Path) -> Result<(), String> {
        let Some((program, args)) = self.repair.split_first() else { return Ok(()) };
        let out = Command::new(program).args(args).arg(image).output().expect("fsck");
        // 1: errors were there, and are mended.
        if matches!(out.status.code(), Some(0 | 1)) { Ok(()) } else { Err(format!("{program}: {}", String::from_utf8_lossy(&out.stdout))) }
    }
}

fn run(command: &mut Command) -> Result<(), String> {
    let out = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    if out.status.success() { Ok(()) } else { Err(format!("{command:?}: {}", String::from_utf8_lossy(&out.stderr))) }
}

/// A mounted filesystem; unmounted when it is dropped.
pub struct Mounted {
    on: PathBuf,
    btrfs: bool,
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // A process that was killed may hold it for a moment.
        until("it is unmounted", || run(Command::new("umount").arg(&self.on)).is_ok());
        if self.btrfs {
            // The next image is the same filesystem on another device, which btrfs would refuse while it knows of this one.
            let _ = run(Command::new("btrfs").args(["device", "scan", "--forget"]));
        }
    }
}

/// The recording disk, `crates/testkit/disk/recording_disk.py`. It ends when it is dropped.
pub struct Recorder {
    server: Child,
    pub disk: PathBuf,
    log: PathBuf,
}

impl Recorder {
    /// A disk in `folder` whose content is `image`.
    pub fn start(folder: &Path, image: &Path) -> Self {
        let (disk, log) = (folder.join("disk"), folder.join("log"));
        std::fs::write(&disk, "").expect("the file to mount over");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/testkit/disk/recording_disk.py");
        let mut command = Command::new("python3");
        command.arg(script).args([&disk, image, &log]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut server = command.spawn().expect("python3");
        let mut said = String::new();
        BufReader::new(server.stdout.take().expect("piped")).read_line(&mut said).expect("its word");
        assert_eq!(said, "ready\n", "the recording disk did not start");
        Self { server, disk, log }
    }

    /// How far the record is.
    pub fn position(&self) -> u64 {
        self.log.metadata().expect("the log").len()
    }

    /// The writes that the disk was told up to this position.
    pub fn record(&self, end: u64) -> Record {
        Record::read(&self.log, end)
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        // The server ends with its mount.
        let _ = run(Command::new("umount").arg(&self.disk));
        end_process(&mut self.server);
    }
}
