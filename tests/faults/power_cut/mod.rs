//! Promise 4 under power cuts. The programs work on a disk that records every write and every flush. Then the record is cut at many
//! places, and each disk that a power cut may have left is mounted. Everything that a program had acknowledged with status 0 is there,
//! whole and in its state, and a watcher delivers every answer once. A control run, whose fsync does nothing, must be flagged.
//!
//! `ASKBOX_POWERCUT=N` sets the number of cuts for each filesystem, `ASKBOX_POWERCUT_SEED=N` the choices. The choices repeat; the
//! timing of the programs does not.
//!
//! | file | content |
//! |---|---|
//! | `mod.rs` | the tests: for each filesystem, and the control |
//! | `disk.rs` | filesystems, and the disk that records |
//! | `cut.rs` | the record, and what a cut leaves of it |
//! | `work.rs` | what is done on the recorded disk, and what was acknowledged when |
//! | `verdict.rs` | what is left, compared with what was acknowledged |

mod cut;
mod disk;
mod verdict;
mod work;

use std::collections::BTreeMap;
use std::process::Command;
use std::time::Instant;

use cut::Kind;
use disk::{BTRFS, EXT4, Filesystem, Recorder, WITHOUT_JOURNAL, XFS};
use verdict::{Fault, Faults};
use work::work;

use crate::support::{Dice, World, needs, number, strace};

/// Cuts of one recording.
const CUTS_EACH: usize = 24;

/// The result of some cuts.
#[derive(Default)]
struct Tally {
    cuts: BTreeMap<Kind, usize>,
    /// Cuts that lost, doubled, tore or stuck something.
    lost: usize,
    doubled: usize,
    torn: usize,
    stuck: usize,
    faults: Vec<String>,
}

impl Tally {
    fn add(&mut self, kind: Kind, when: &str, faults: Faults) {
        *self.cuts.entry(kind).or_default() += 1;
        let has = |fault| usize::from(faults.iter().any(|(f, _)| *f == fault));
        self.lost += has(Fault::Lost);
        self.doubled += has(Fault::Doubled);
        self.torn += has(Fault::Torn);
        self.stuck += has(Fault::Stuck);
        self.faults.extend(faults.into_iter().map(|(fault, what)| format!("{when}: {fault:?}: {what}")));
    }

    fn count(&self) -> usize {
        self.cuts.values().sum()
    }

    /// A row of the table in `tests/faults/attacks.md`.
    fn row(&self, class: &str) -> String {
        let of = |kind| self.cuts.get(&kind).copied().unwrap_or_default();
        format!(
            "| power cut, {class}: {} prefixes, {} subsets, {} tears | {} | {} | {} | {} | {} | `tests/run powercut` |",
            of(Kind::Prefix),
            of(Kind::Subset),
            of(Kind::Tear),
            self.count(),
            self.lost,
            self.doubled,
            self.torn,
            self.stuck
        )
    }
}

/// Records programs at work, behind `before`, and looks at what each of `cuts` power cuts leaves.
fn cut_power(filesystem: &Filesystem, before: &[String], cuts: usize, seed: u64, tally: &mut Tally) {
    let world = World::with_home_apart();
    let [base, image] = ["base", "image"].map(|name| world.path(name));
    filesystem.make(&base);
    let mounted = filesystem.mount(&base, world.home()).expect("an empty filesystem");
    let world = world.with_stepping_agent("work");
    drop(mounted);
    let mut dice = Dice::new(seed);

    copy(&base, &image);
    let recorder = Recorder::start(world.root(), &image);
    let mounted = filesystem.mount(&recorder.disk, world.home()).expect("the recording disk");
    let histories = work(&world, &recorder, before, 12, seed);
    let record = recorder.record(recorder.position());
    drop(mounted);
    drop(recorder);

    let acknowledged: Vec<u64> = histories.iter().flat_map(|h| h.steps.iter().map(|s| s.acknowledged)).collect();
    for n in 0..cuts {
        // Every other cut follows an acknowledgement at once.
        let at = (n % 2 == 0).then(|| *dice.one(&acknowledged));
        let cut = record.cut(at, [Kind::Prefix, Kind::Subset, Kind::Tear][n % 3], filesystem.sector, &mut dice);
        copy(&base, &image);
        record.apply(&cut, &image);
        let mut faults = Faults::new();
        match filesystem.repair(&image).and_then(|()| filesystem.mount(&image, world.home())) {
            Ok(_mounted) => {
                faults.extend(verdict::at_once(&world, &histories, cut.at));
                faults.extend(verdict::in_the_end(&world, &histories, cut.at));
            }
            Err(error) => faults.push((Fault::Lost, format!("the filesystem is broken: {error}"))),
        }
        tally.add(cut.kind, &format!("seed {seed}, {cut}"), faults);
    }
}

/// Copies an image, without filling its holes.
fn copy(from: &std::path::Path, to: &std::path::Path) {
    let copied = Command::new("cp").arg("--sparse=always").args([from, to]).status();
    assert!(copied.is_ok_and(|status| status.success()), "the image was not copied");
}

/// Runs the test of this name again, in a mount namespace of its own, where its disks are mounted: they are gone with the last
/// process in it. Returns whether this is that second run.
fn in_a_mount_namespace() -> bool {
    const SECOND: &str = "ASKBOX_TEST_MOUNT_NAMESPACE";
    if std::env::var_os(SECOND).is_some() {
        return true;
    }
    let test = std::thread::current().name().expect("the name of the test").to_owned();
    let program = std::env::current_exe().expect("this program");
    let mut again = Command::new("unshare");
    again.args(["--mount", "--propagation", "private"]).arg(program).args(["--exact", &test, "--include-ignored", "--nocapture"]);
    let out = again.env(SECOND, "1").output().expect("unshare");
    eprintln!("{}", String::from_utf8_lossy(&out.stderr));
    let said = String::from_utf8_lossy(&out.stdout);
    assert!(out.status.success() && said.contains("1 passed"), "{said}");
    false
}

/// Cuts the power of programs at work on a filesystem.
fn attack(filesystem: &Filesystem, before: &[String], default: usize) -> Tally {
    let (cuts, seed) = (number("ASKBOX_POWERCUT", default), number("ASKBOX_POWERCUT_SEED", 20_261_122) as u64);
    let (mut tally, started) = (Tally::default(), Instant::now());
    while tally.count() < cuts {
        let now = CUTS_EACH.min(cuts - tally.count());
        let seed = seed + tally.count() as u64;
        cut_power(filesystem, before, now, seed, &mut tally);
    }
    eprintln!("{}\nseed {seed}, {:.1?}", tally.row(filesystem.name), started.elapsed());
    tally
}

fn survives(filesystem: &Filesystem) {
    if in_a_mount_namespace() {
        let tally = attack(filesystem, &[], 12);
        assert!(tally.faults.is_empty(), "{}", tally.faults.join("\n"));
    }
}

#[test]
fn a_power_cut_on_xfs_loses_doubles_and_tears_nothing() {
    needs!("python3", "xfs");
    survives(&XFS);
}

#[test]
fn a_power_cut_on_btrfs_loses_doubles_and_tears_nothing() {
    needs!("python3", "btrfs");
    survives(&BTRFS);
}

/// Less is promised there, so that nothing is expected: what happens is counted.
#[test]
#[ignore = "tests/run powercut counts what happens there"]
fn what_a_power_cut_does_without_a_journal_is_counted() {
    needs!("python3", "ext4");
    if in_a_mount_namespace() {
        let tally = attack(&WITHOUT_JOURNAL, &[], 12);
        eprintln!("{}", tally.faults.join("\n"));
    }
}

/// The control: the same test must see what is lost where fsync does nothing.
#[test]
fn programs_without_fsync_are_seen_to_lose_what_they_said() {
    needs!("python3", "ext4", "strace");
    if in_a_mount_namespace() {
        let calls = "fsync,fdatasync";
        let inject = format!("inject={calls}:retval=0");
        let before = strace(&["-qq", "-f", "-e", &format!("trace={calls}"), "-e", &inject, "-e", "signal=none", "-o", "/dev/null"]);
        // What is lost depends on what was under way, so that a few cuts may lose nothing.
        let is_lost = (0..3).any(|_| attack(&EXT4, &before, 4).lost > 0);
        assert!(is_lost, "nothing was lost without fsync: the test sees nothing");
    }
}

mod promises {
    use super::*;

    #[test]
    fn a_power_cut_on_ext4_loses_doubles_and_tears_nothing() {
        needs!("python3", "ext4");
        survives(&EXT4);
    }
}
