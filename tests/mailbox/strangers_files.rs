//! Entries in `pending/` that are not questions, or not yet complete: each is read later or goes to quarantine, and delays no other.

use std::fs;
use std::io::Write;
use std::time::{Duration, Instant, SystemTime};

use crate::support::{World, needs, output, until};
use serde_json::json;

/// A hand-written question.
fn question(id: &str, text: &str) -> String {
    json!({"question": text, "options": {"a": "This", "b": "That"}, "workflow_id": id}).to_string()
}

#[test]
fn what_is_not_a_readable_file_goes_to_quarantine() {
    let world = World::at_home();
    let watcher = world.watch();
    fs::write(world.path("secret.json"), question("link", "Read me?")).unwrap();
    world.bash("cd ~/.claude/questions/pending && ln -s ~/secret.json link.json && mkdir folder.json && touch folder.json/inside && mkfifo pipe.json");
    let socket = std::os::unix::net::UnixListener::bind(world.in_mailbox("pending/socket.json")).unwrap();
    world.put("pending/huge.json", format!(r#"{{"workflow_id": "huge", "question": "{}"}}"#, "x".repeat(3 << 20)));
    world.put("pending/no id.json", question("x", "?"));
    world.put("pending/-rf.json", question("x", "?"));
    world.put("pending/one.json", question("another", "?"));
    world.put("pending/good.json", question("good", "Still there?"));
    watcher.says("asked     good");
    for (name, reason) in [
        ("link.json", "symbolic link"),
        ("folder.json", "not a regular file"),
        ("pipe.json", "not a regular file"),
        ("socket.json", "not a regular file"),
        ("huge.json", "the limit is"),
        ("no id.json", "WORKFLOW_ID.json"),
        ("-rf.json", "WORKFLOW_ID.json"),
        ("one.json", "another"),
    ] {
        let text = world.reason(name);
        assert!(text.contains(reason), "{name}: {text}");
        world.vanishes(&format!("pending/{name}"));
    }
    assert!(world.in_mailbox("quarantine/folder.json/inside").exists(), "a folder's content was lost");
    assert!(world.path("secret.json").exists());
    drop(socket);
    world.ok("ask-answer", &["good", "yes"]);
    world.closed("good", "delivered", 1);
}

#[test]
fn a_device_and_somebody_elses_file_go_to_quarantine() {
    needs!("root");
    let world = World::at_home();
    let _watcher = world.watch();
    let hidden = world.in_mailbox("pending/.theirs");
    fs::write(&hidden, question("theirs", "?")).unwrap();
    std::os::unix::fs::chown(&hidden, Some(12345), None).unwrap();
    fs::rename(&hidden, world.in_mailbox("pending/theirs.json")).unwrap();
    assert!(world.reason("theirs.json").contains("belongs to user 12345"));
    output(world.any_command("mknod").arg(world.in_mailbox("pending/zero.json")).args(["c", "1", "5"])).ok();
    let reason = world.reason("zero.json");
    assert!(reason.contains("not a regular file") || reason.contains("cannot open"), "{reason}");
}

/// One try of it. False if this thread paused for so long that the file seemed to be complete.
fn is_written_in_two_halves() -> bool {
    let world = World::at_home();
    let watcher = world.watch();
    let text = question("slow", "Which one?");
    let (first, second) = text.split_at(text.len() / 2);
    let (mut touched, mut longest) = (Instant::now(), Duration::ZERO);
    let mut file = fs::File::create(world.in_mailbox("pending/slow.json")).unwrap();
    file.write_all(first.as_bytes()).unwrap();
    // The watcher looks at other files meanwhile, and surely at this one.
    world.put("pending/other.json", question("other", "Meanwhile?"));
    // A file that does not change for a while is no longer being written.
    until("the other one is asked", || {
        file.set_modified(SystemTime::now()).unwrap();
        longest = longest.max(touched.elapsed());
        touched = Instant::now();
        !watcher.said("asked     other").is_empty()
    });
    file.write_all(second.as_bytes()).unwrap();
    drop(file);
    if longest.max(touched.elapsed()) > Duration::from_secs(2) {
        return false;
    }
    watcher.says("asked     slow  Which one?");
    assert!(watcher.said("quarantined").is_empty());
    assert_eq!(world.json(world.in_mailbox("pending/slow.json"))["question"], "Which one?");
    true
}

#[test]
fn a_torn_question_goes_to_quarantine_once_it_has_settled() {
    let world = World::at_home();
    let watcher = world.watch();
    let begun = Instant::now();
    world.put("pending/torn.json", r#"{"question": "Which"#);
    watcher.says("quarantined pending/torn.json");
    assert!(begun.elapsed() > Duration::from_secs(2), "it was given no time to settle");
    assert!(world.reason("torn.json").contains("ends in the middle of the JSON"));
    assert_eq!(fs::read_to_string(world.in_mailbox("quarantine/torn.json")).unwrap(), r#"{"question": "Which"#);
    // Mended and moved back, it is a question.
    world.bash("cd ~/.claude/questions && printf ' one?\", \"workflow_id\": \"torn\"}' >> quarantine/torn.json && mv quarantine/torn.json pending/");
    watcher.says("asked     torn  Which one?");
    // The next torn one does not replace the first one's reason.
    world.put("pending/torn.json", "{");
    watcher.says_times("quarantined pending/torn.json", 2);
    world.appears("quarantine/torn.json.reason");
    let names = world.bash("ls ~/.claude/questions/quarantine");
    assert!(names.lines().count() >= 3, "{names}");
}

mod promises {
    use super::*;

    #[test]
    fn files_that_editors_leave_are_ignored() {
        let world = World::at_home();
        let watcher = world.watch();
        let names = [".kept.json.swp", "kept.json~", "kept.json.tmp", "kept.tmp", "#kept.json#", "4913", ".tmpAbCdEf", ".kept.json"];
        names.iter().for_each(|name| world.put(format!("pending/{name}"), "{"));
        world.put("pending/torn.json", "{");
        // When that one is judged, the others would have been.
        watcher.says("quarantined pending/torn.json");
        for name in names {
            assert!(world.in_mailbox(format!("pending/{name}")).exists(), "{name} was touched");
        }
        assert_eq!(watcher.said("quarantined").len(), 1);
        assert!(watcher.said("error").is_empty());
    }

    #[test]
    fn a_question_written_in_two_halves_settles() {
        until("a question written without a long pause", is_written_in_two_halves);
    }

    #[test]
    fn an_answer_by_hand_outside_the_bounds_is_none() {
        let world = World::at_home();
        let watcher = world.watch();
        let asked = json!({"question": "How much?", "type": "number", "range": {"min": 1, "max": 4}, "workflow_id": "w", "answer": 9});
        world.put("answered/w.json", asked.to_string());
        watcher.says("asked     w  How much?");
        assert!(world.in_mailbox("pending/w.json").exists() && !world.in_mailbox("answered/w.json").exists());
        assert!(watcher.said("launched").is_empty());
    }
}
