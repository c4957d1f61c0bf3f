//! Mailboxes that earlier versions left. Each is kept as `tests/fixtures/mailboxes/VERSION`, and every later version reads it, answers
//! what waits in it, delivers what was answered, and prunes what is over.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use askbox::mailbox::read_question;
use serde_json::{Value, json};

use crate::support::{World, files, names, until};

mod make;

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/mailboxes");

/// The fixtures' files have this in place of the folder of the mailbox that they come from.
const ROOT: &str = "/ROOT";

/// The work of the workflows' agents, for those that do more than say `done`.
const WORK: [(&str, &str); 4] = [
    ("parked", "[ -e $AGENT_DIR/mended ] || echo HOPELESS"),
    ("claimed", "[ -e $AGENT_DIR/mended ] || sleep 600"),
    ("root", "if [ $n = 1 ]; then relaunch spawn -w leaf --prompt go; else echo \"passed on: $(news)\"; fi"),
    ("leaf", "if [ $n = 1 ]; then ask-post 'When?'; else echo \"it is over\"; fi"),
];

/// The fixtures, the oldest first.
fn fixtures() -> Vec<PathBuf> {
    names(Path::new(FIXTURES)).iter().map(|version| Path::new(FIXTURES).join(version)).collect()
}

/// A home with the mailbox of a fixture.
fn restored(fixture: &Path) -> World {
    let world = World::at_home();
    world.configure("[relaunch]\nattempts = 2\nbackoff = \"50ms\"");
    for (path, bytes) in files(fixture) {
        let target = world.in_mailbox(path.strip_prefix(fixture).unwrap());
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        let text = String::from_utf8(bytes).unwrap().replace(ROOT, world.root().to_str().unwrap());
        fs::write(&target, text).unwrap();
        fs::set_permissions(&target, fs::Permissions::from_mode(0o600)).unwrap();
        // A checkpoint that is younger than the end of its round would be at work still.
        let made = SystemTime::UNIX_EPOCH + Duration::from_secs(1_790_000_000);
        fs::File::options().write(true).open(&target).unwrap().set_modified(made).unwrap();
    }
    for (workflow, script) in WORK {
        world.agent_does(workflow, script);
        fs::write(world.agent("launches"), "root/x/1\nleaf/x/1\nclaimed/x/1\nparked/x/1\n").unwrap();
    }
    fs::write(world.agent("mended"), "").unwrap();
    world
}

mod promises {
    use super::*;

    #[test]
    fn every_document_of_an_older_mailbox_is_read_as_it_was() {
        for fixture in fixtures() {
            let world = restored(&fixture);
            let stands: Vec<Value> = world.sh("askbox tree --all --json").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            let stands: BTreeMap<_, _> = stands.iter().map(|s| (s["workflow_id"].as_str().unwrap(), &s["state"])).collect();
            let expected = [
                ("answered", "answered"),
                ("asked-back", "delivered"),
                ("bare", "pending"),
                ("batch", "pending"),
                ("by-default", "delivered"),
                ("by-hand", "answered"),
                ("claimed", "orphaned"),
                ("declined", "delivered"),
                ("delivered", "delivered"),
                ("leaf", "pending"),
                ("number", "pending"),
                ("one", "pending"),
                ("parked", "parked"),
                ("root", "awaiting"),
                ("several", "pending"),
                ("until-file", "waiting"),
                ("until-time", "waiting"),
                ("words", "pending"),
            ];
            for (workflow, state) in expected {
                assert_eq!(stands.get(workflow), Some(&&json!(state)), "{workflow} in {}", fixture.display());
                world.sh(&format!("ask-answer show {workflow}; relaunch status {workflow}"));
            }
            // The tree also has those whose rounds are all archived.
            let known = stands.values().filter(|state| **state != "unknown").count();
            assert_eq!(known, expected.len(), "{stands:?}");
            let tree = world.sh("askbox tree");
            assert!(tree.contains("awaiting") && tree.contains("leaf"), "{tree}");
            let past: Vec<Value> = world.sh("askbox history --json").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            let ended = |workflow: &str| {
                past.iter().filter(|round| round["workflow_id"] == workflow).map(|round| &round["state"]).collect::<Vec<_>>()
            };
            for workflow in ["by-default", "declined", "asked-back", "root", "leaf"] {
                assert_eq!(ended(workflow), ["delivered"], "{workflow}: {past:#?}");
            }
            assert_eq!((ended("expired"), ended("superseded")), (vec![&json!("expired")], vec![&json!("withdrawn"), &json!("superseded")]));
            assert!(world.sh("checkpoint show delivered").contains("apply the choice"));
            let doctor = world.shell("askbox doctor").stdout;
            assert!(!doctor.contains("unreadable") && doctor.contains("quarantine/torn.json"), "{doctor}");
            for closed in world.names("closed") {
                let question = read_question::document(&world.in_mailbox("closed").join(&closed)).unwrap().typed;
                let hash = question.answer.as_ref().and_then(|answer| answer.question_hash);
                assert!(hash.is_none_or(|hash| hash == question.hash().unwrap()), "{closed}: an answer is to the same question as before");
            }
        }
    }

    #[test]
    fn what_waits_in_an_older_mailbox_is_answered_and_pruned() {
        for fixture in fixtures() {
            let world = restored(&fixture);
            world.sh("relaunch go");
            let watcher = world.watch();
            let answers = ["one b", "several a c", "number 5", "words 'my name'", "bare yes", "batch db=pg name=x", "leaf soon"];
            answers.iter().for_each(|answer| drop(world.sh(&format!("ask-answer {answer}"))));
            world.sh("relaunch retry parked; touch there; ask-answer cancel until-time");
            for workflow in ["answered", "by-hand", "claimed", "one", "several", "number", "words", "bare", "batch", "parked", "until-file"]
            {
                world.reaches(workflow, "delivered");
            }
            assert_eq!(world.reaches("leaf", "delivered")["result"], "it is over");
            assert_eq!(world.reaches("root", "delivered")["result"], "passed on: it is over");
            assert!(world.told("claimed", 2).contains("Merge?"), "the round of a killed supervisor goes on");
            let kept = &world.rounds("closed", "batch")[0];
            assert_eq!((&kept["x_mine"], &kept["answer"]["value"]["db"]), (&json!({"kept": [1, 2.50, "ü"]}), &json!("pg")));
            watcher.stop();
            until("the last supervisor is gone", || world.processes(" supervise ").is_empty());
            world.sh("askbox gc --keep 0s");
            for folder in ["pending", "answered", "running", "parked", "closed", "runs", "workflows", "timers", "awaits"] {
                assert_eq!(world.names(folder), [] as [&str; 0], "{folder}");
            }
            world.assert_whole("after it was pruned");
        }
    }
}
