//! What strangers leave in `pending/` that is no question, or not yet: it settles or goes to quarantine, and stops nobody.

use std::fs;
use std::io::Write;
use std::time::{Duration, Instant};

use crate::support::home::Home;
use serde_json::json;

/// A hand-written question.
fn question(id: &str, text: &str) -> String {
    json!({"question": text, "options": {"a": "This", "b": "That"}, "workflow_id": id}).to_string()
}

/// Writes a file as `cat >` does.
fn cat(home: &Home, below: &str, text: &str) {
    fs::write(home.mailbox(below), text).unwrap();
}

#[test]
fn what_is_no_plain_readable_file_goes_to_quarantine_and_stops_nobody() {
    let home = Home::new();
    let watcher = home.watch();
    fs::write(home.path("secret.json"), question("link", "Read me?")).unwrap();
    home.sh("cd ~/.claude/questions/pending && ln -s ~/secret.json link.json && mkdir folder.json && touch folder.json/inside && mkfifo pipe.json");
    let socket = std::os::unix::net::UnixListener::bind(home.mailbox("pending/socket.json")).unwrap();
    fs::write(home.mailbox("pending/huge.json"), format!(r#"{{"workflow_id": "huge", "question": "{}"}}"#, "x".repeat(3 << 20))).unwrap();
    cat(&home, "pending/no id.json", &question("x", "?"));
    cat(&home, "pending/-rf.json", &question("x", "?"));
    cat(&home, "pending/one.json", &question("another", "?"));
    cat(&home, "pending/good.json", &question("good", "Still there?"));
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
        let text = home.reason(name);
        assert!(text.contains(reason), "{name}: {text}");
        home.vanishes(&format!("pending/{name}"));
    }
    assert!(home.mailbox("quarantine/folder.json/inside").exists(), "a folder's content was lost");
    assert!(home.path("secret.json").exists());
    drop(socket);
    home.ok("ask-answer", &["good", "yes"]);
    home.closed("good", "delivered", 1);
}

#[test]
fn a_device_and_somebody_elses_file_go_to_quarantine() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("not root: nobody else's files can be made");
        return;
    }
    let home = Home::new();
    let _watcher = home.watch();
    cat(&home, "pending/theirs.json", &question("theirs", "?"));
    std::os::unix::fs::chown(home.mailbox("pending/theirs.json"), Some(12345), None).unwrap();
    assert!(home.reason("theirs.json").contains("belongs to user 12345"));
    if home.command("mknod").arg(home.mailbox("pending/zero.json")).args(["c", "1", "5"]).status().unwrap().success() {
        let reason = home.reason("zero.json");
        assert!(reason.contains("not a regular file") || reason.contains("cannot open"), "{reason}");
    }
}

#[test]
fn what_editors_drop_is_passed_over() {
    let home = Home::new();
    let watcher = home.watch();
    let names = [".kept.json.swp", "kept.json~", "kept.json.tmp", "kept.tmp", "#kept.json#", "4913", ".tmpAbCdEf", ".kept.json"];
    names.iter().for_each(|name| cat(&home, &format!("pending/{name}"), "{"));
    cat(&home, "pending/torn.json", "{");
    // When that one is judged, the others would have been.
    watcher.says("quarantined pending/torn.json");
    for name in names {
        assert!(home.mailbox(&format!("pending/{name}")).exists(), "{name} was touched");
    }
    assert_eq!(watcher.said("quarantined").len(), 1);
    assert!(watcher.said("error").is_empty());
}

#[test]
fn a_question_written_in_two_halves_settles() {
    let home = Home::new();
    let watcher = home.watch();
    let text = question("slow", "Which one?");
    let (first, second) = text.split_at(text.len() / 2);
    let mut file = fs::File::create(home.mailbox("pending/slow.json")).unwrap();
    file.write_all(first.as_bytes()).unwrap();
    // The watcher looks at other files meanwhile, and surely at this one.
    cat(&home, "pending/other.json", &question("other", "Meanwhile?"));
    watcher.says("asked     other");
    file.write_all(second.as_bytes()).unwrap();
    drop(file);
    watcher.says("asked     slow  Which one?");
    assert!(watcher.said("quarantined").is_empty());
    assert_eq!(home.json(home.mailbox("pending/slow.json"))["question"], "Which one?");
}

#[test]
fn a_torn_question_goes_to_quarantine_with_its_reason_once_it_has_settled() {
    let home = Home::new();
    let watcher = home.watch();
    let begun = Instant::now();
    cat(&home, "pending/torn.json", r#"{"question": "Which"#);
    watcher.says("quarantined pending/torn.json");
    assert!(begun.elapsed() > Duration::from_secs(2), "it was given no time to settle");
    assert!(home.reason("torn.json").contains("ends in the middle of the JSON"));
    assert_eq!(fs::read_to_string(home.mailbox("quarantine/torn.json")).unwrap(), r#"{"question": "Which"#);
    // Mended and moved back, it is a question.
    home.sh("cd ~/.claude/questions && printf ' one?\", \"workflow_id\": \"torn\"}' >> quarantine/torn.json && mv quarantine/torn.json pending/");
    watcher.says("asked     torn  Which one?");
    // The next torn one does not replace the first one's reason.
    cat(&home, "pending/torn.json", "{");
    watcher.says_times("quarantined pending/torn.json", 2);
    home.appears("quarantine/torn.json.reason");
    let names = home.sh("ls ~/.claude/questions/quarantine");
    assert!(names.lines().count() >= 3, "{names}");
}
