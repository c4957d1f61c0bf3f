//! `askbox gc` is killed before each of its system calls while it archives. Every round is then in the mailbox, in the archive, or for a
//! moment in both. It is shown once, as before, and the next gc leaves it in one place.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::faults::syscalls::at_every_point;
use crate::support::{World, files, names, needs};
use serde_json::Value;

/// A workflow that is over, with its record, its checkpoint and the files of its runs, and one that goes on.
fn world() -> World {
    let world = World::stepping("work");
    world.make_mailbox();
    world.past_rounds("docs", 0..3);
    world.past_rounds("lives", 2000..2004);
    world.ok("ask-post", &["-w", "lives", "Next?"]);
    world.ok("checkpoint", &["save", "docs", "--step", "review"]);
    for n in 0..3 {
        let attempt = world.in_mailbox(format!("runs/docs/01900000-0000-7000-8000-{n:012x}/1"));
        std::fs::write(attempt.join("events.jsonl"), "{\"seq\":1}\n".repeat(20_000)).expect("events");
        std::fs::write(attempt.join("stderr.log"), [0xff, n as u8]).expect("a log");
    }
    world.sh("touch -d 2026-02-01T00:00:00Z m/checkpoints/docs.json; chmod -R go-w m");
    std::fs::write(world.in_mailbox("workflows/docs.json"), r#"{"schema_version":1,"workflow_id":"docs"}"#).expect("a record");
    std::fs::write(world.path("before"), world.ok("askbox", &["history", "--json"])).expect("writable");
    std::fs::write(world.path("content"), serde_json::to_vec(&content(&world)).expect("JSON")).expect("writable");
    world
}

/// The history, without the place of each document.
fn without_places(lines: &str) -> Vec<Value> {
    let without_place = |line: &str| {
        let mut entry: Value = serde_json::from_str(line).expect("JSON");
        entry.as_object_mut().expect("an object").remove("file");
        entry
    };
    lines.lines().map(without_place).collect()
}

/// The length of each file of the rounds that may be archived, with a sum of its bytes.
fn content(world: &World) -> BTreeMap<String, (usize, u64)> {
    ["closed", "runs", "checkpoints", "workflows"].into_iter().flat_map(|folder| sums(&world.in_mailbox(folder), folder)).collect()
}

/// The length of each file in a folder, with a sum of its bytes.
fn sums(folder: &Path, name: &str) -> BTreeMap<String, (usize, u64)> {
    let sum = |bytes: &[u8]| bytes.iter().fold(0_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(*byte)));
    let of_file = |(path, bytes): (PathBuf, Vec<u8>)| {
        let path = Path::new(name).join(path.strip_prefix(folder).expect("below the folder")).display().to_string();
        let is_ours = !path.contains("/.") && !path.ends_with("/lock") && !bytes.is_empty();
        is_ours.then(|| (path, (bytes.len(), sum(&bytes))))
    };
    files(folder).into_iter().filter_map(of_file).collect()
}

/// The same for the files in the archive. No file is in it twice.
fn archived(world: &World) -> BTreeMap<String, (usize, u64)> {
    world.sh(
        "rm -rf unpacked; mkdir unpacked; for archive in m/archive/*/*.tar.gz; do tar -xzf $archive -C unpacked --keep-old-files; done",
    );
    sums(&world.path("unpacked"), "")
}

#[test]
fn a_killed_archiving_loses_no_round_and_doubles_none() {
    needs!("strace");
    at_every_point(&world, "askbox", &["gc"], |world, when, _| {
        let before = without_places(&std::fs::read_to_string(world.path("before")).expect("noted"));
        let content_before: BTreeMap<String, (usize, u64)> =
            serde_json::from_slice(&std::fs::read(world.path("content")).expect("noted")).expect("noted");
        let shown = || without_places(&world.ok("askbox", &["history", "--json"]));
        assert_eq!(shown(), before, "{when}: the history is another one");
        world.ok("ask-answer", &["show", "docs"]);
        for n in 0..2 {
            world.ok("askbox", &["gc"]);
            assert_eq!(shown(), before, "{when}: the history is another one after gc {n}");
            // Each file is in one place, as it was.
            let (here, archived) = (content(world), archived(world));
            for (name, state) in &content_before {
                let places = [here.get(name), archived.get(name)];
                assert!(places.iter().flatten().count() == 1 && places.contains(&Some(state)), "{when}: {name}: {places:?} of {state:?}");
            }
            assert_eq!(archived.keys().filter(|name| name.starts_with("closed/")).count(), 6, "{when}: {archived:?}");
            let left = names(&world.in_mailbox("closed"));
            assert!(left.len() == 2 && left.iter().any(|name| name.starts_with("lives.")), "{when}: {left:?}");
        }
    });
}
