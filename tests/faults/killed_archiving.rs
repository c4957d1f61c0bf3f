//! `askbox gc` is killed before each of its system calls while it archives. Every round is then in the mailbox, in the archive, or for a
//! moment in both. It is shown once, as before, and the next gc leaves it in one place.

use std::collections::BTreeMap;

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
    let sum = |bytes: &[u8]| bytes.iter().fold(0_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(*byte)));
    let mut found: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for folder in ["closed", "runs", "checkpoints", "workflows"] {
        for (path, bytes) in files(&world.in_mailbox(folder)) {
            let name = path.strip_prefix(world.mailbox()).expect("below the mailbox").to_string_lossy().into_owned();
            let is_ours = !name.contains("/.") && !name.ends_with("/lock") && !bytes.is_empty();
            if is_ours {
                assert_eq!(found.insert(name, bytes), None);
            }
        }
    }
    found.into_iter().map(|(name, bytes)| (name, (bytes.len(), sum(&bytes)))).collect()
}

/// The same for the files in the archive. No file is in it twice.
fn archived(world: &World, when: &str) -> BTreeMap<String, (usize, u64)> {
    let mut found: BTreeMap<String, (usize, u64)> = BTreeMap::new();
    let lines = world.sh("cat m/archive/*.jsonl.gz 2>/dev/null | zcat 2>/dev/null || true");
    for line in lines.lines() {
        let line: Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{when}: {e}: {line}"));
        let bytes: Vec<u8> = match (&line["text"], &line["latin1"]) {
            (Value::String(text), _) => text.clone().into_bytes(),
            (_, Value::String(text)) => text.chars().map(|c| u8::try_from(u32::from(c)).expect("a byte")).collect(),
            _ => {
                let fields = line["json"].as_object().expect("a document").iter().map(|(name, value)| format!("  \"{name}\": {value}"));
                format!("{{\n{}\n}}\n", fields.collect::<Vec<_>>().join(",\n")).into_bytes()
            }
        };
        let name = line["file"].as_str().expect("a path").to_owned();
        let is_first = line["part"].as_u64().unwrap_or_default() == 0;
        assert_eq!(found.contains_key(&name), !is_first, "{when}: {name} is archived twice");
        let (length, sum) = found.entry(name).or_default();
        *length += bytes.len();
        *sum = bytes.iter().fold(*sum, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(*byte)));
    }
    found.retain(|_, (length, _)| *length > 0);
    found
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
            let (here, archived) = (content(world), archived(world, when));
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
