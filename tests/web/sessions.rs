//! The sessions of Claude Code: their list, and the conversation of one as it grows. `tests/claude/attended/read_along` uses the real one.

use std::fs::OpenOptions;
use std::io::Write;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Page, Running, World, needs, quickly};
use crate::web::browsers;

const ID: &str = "5a1e0c5e-0000-4000-8000-000000000001";

/// A session that never was: a process, its record, and its transcript.
struct Fake<'a> {
    world: &'a World,
    process: Running,
    entries: usize,
}

impl<'a> Fake<'a> {
    fn new(world: &'a World) -> Self {
        std::fs::create_dir_all(world.home().join(".claude/sessions")).unwrap();
        let session = Self { world, process: Running::start(Command::new("sleep").arg("600")), entries: 0 };
        session.records(&json!({"status": "busy"}));
        session
    }

    /// Writes the record of the session, with these fields.
    fn records(&self, more: &Value) {
        let pid = self.process.pid();
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let start = stat.split(") ").nth(1).unwrap().split(' ').nth(19).unwrap();
        let mut record =
            json!({"pid": pid, "sessionId": ID, "cwd": "/work/shop", "kind": "interactive", "procStart": start, "name": "shop-7f"});
        for (field, value) in more.as_object().unwrap() {
            record[field] = value.clone();
        }
        self.world.put(self.world.home().join(format!(".claude/sessions/{pid}.json")), record.to_string());
    }

    fn transcript(&self) -> std::path::PathBuf {
        let folder = self.world.home().join(".claude/projects/-work-shop");
        std::fs::create_dir_all(&folder).unwrap();
        folder.join(format!("{ID}.jsonl"))
    }

    /// Appends an entry to the transcript.
    fn says(&mut self, kind: &str, content: &Value) {
        let (n, at) = (self.entries, self.transcript());
        let entry = json!({
            "parentUuid": n.checked_sub(1).map(|n| n.to_string()), "uuid": n.to_string(), "type": kind, "gitBranch": "fix/prices",
            "timestamp": "2026-11-30T06:29:07.118Z", "message": {"id": format!("m{n}"), "model": "m", "content": content},
        });
        self.entries += 1;
        writeln!(OpenOptions::new().create(true).append(true).open(at).unwrap(), "{entry}").unwrap();
    }

    fn hour(&mut self) {
        self.says("user", &json!("Fix the prices.<script>alert(1)</script>\u{202e}"));
        self.says("assistant", &json!([{"type": "text", "text": "I look at **prices** first. <img src=x onerror=alert(1)>"}]));
        let edit = json!({"file_path": "/work/shop/src/prices.rs", "old_string": "let tax = 19;\nsum", "new_string": "let tax = 7;\nsum"});
        for (id, name, input, result) in [
            (
                "toolu_1",
                "Bash",
                json!({"command": "cargo test prices -- --nocapture a_price_with_a_long_name_that_does_not_fit"}),
                "1 failed",
            ),
            ("toolu_2", "Edit", edit, "The file was updated."),
        ] {
            self.says("assistant", &json!([{"type": "tool_use", "id": id, "name": name, "input": input}]));
            self.says("user", &json!([{"type": "tool_result", "tool_use_id": id, "content": result, "is_error": id == "toolu_1"}]));
        }
        self.says("assistant", &json!([{"type": "text", "text": "The tax was wrong."}]));
    }
}

#[test]
fn a_session_is_listed_and_its_conversation_grows() {
    let world = World::at_home();
    let mut session = Fake::new(&world);
    session.hour();
    let page = world.serve_page();
    let browser = page.signed_in(&world, "ann's phone");
    let list = browser.see("/sessions");
    assert!(list.text().contains("busy shop") && list.body.contains(&format!("/session/{ID}\"")), "{}", list.text());
    let mut stream = browser.follow();
    stream.hears("text/event-stream");
    let shown = browser.see(&format!("/session/{ID}"));
    let text = shown.text();
    for words in [
        "shop-7f",
        "busy",
        "fix/prices",
        "You",
        "Fix the prices.",
        "Bash cargo test prices",
        "failed",
        "-let tax = 19;",
        "+let tax = 7;",
        "The tax was wrong.",
    ] {
        assert!(text.contains(words), "no {words} in {text}");
    }
    for hostile in ["<script>alert", "<img src=x", "\u{202e}"] {
        assert!(!shown.body.contains(hostile), "{hostile} in {}", shown.body);
    }
    // The first look also tells the page once, because the file may have grown before it was watched.
    stream.hears(ID);
    session.says("user", &json!("And the discounts?"));
    stream.hears(ID);
    assert!(browser.see(&format!("/session/{ID}")).text().contains("And the discounts?"));
    session.records(&json!({"status": "waiting", "waitingFor": "permission prompt"}));
    stream.hears(ID);
    let text = browser.see(&format!("/session/{ID}")).text();
    assert!(text.contains("waits at its terminal: permission prompt"), "{text}");
    // Nothing of it lies in the mailbox.
    let found = world.sh("grep -rlE 'discounts|prices' ~/.claude/questions || true");
    assert_eq!(found, "");
    assert_eq!(browser.get("/session/..%2Fsecret").status, 404);
}

#[test]
fn reused_pid_gets_nothing() {
    let world = World::at_home();
    let mut session = Fake::new(&world);
    session.hour();
    session.records(&json!({"procStart": "1", "status": "idle"}));
    let page = world.serve_page();
    let browser = page.signed_in(&world, "ann's phone");
    assert!(browser.see("/sessions").text().contains("No session runs on this machine."));
    let text = browser.see(&format!("/session/{ID}")).text();
    assert!(text.contains("ended") && !text.contains("idle") && text.contains("The tax was wrong."), "{text}");
}

fn peak(page: &Page) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", page.process.pid())).unwrap();
    status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse().ok()).unwrap()
}

#[test]
fn a_transcript_of_300_mb_is_shown_at_once() {
    let world = World::at_home();
    let mut session = Fake::new(&world);
    let (mut size, step) = (0, "words of a long story ".repeat(2000));
    let mut file = std::io::BufWriter::new(std::fs::File::create(session.transcript()).unwrap());
    while size < 300 << 20 {
        let n = session.entries;
        let line = json!({
            "parentUuid": n.checked_sub(1).map(|n| n.to_string()), "uuid": n.to_string(),
            "type": if n.is_multiple_of(2) { "user" } else { "attachment" }, "message": {"content": step},
        });
        let line = format!("{line}\n");
        file.write_all(line.as_bytes()).unwrap();
        (size, session.entries) = (size + line.len(), n + 1);
    }
    drop(file);
    session.hour();
    let page = world.serve_page();
    let browser = page.signed_in(&world, "ann's phone");
    browser.see("/sessions");
    let before = peak(&page);
    let path = format!("/session/{ID}");
    // The text of each turn is bounded too.
    let mut took = Duration::MAX;
    let limit = Duration::from_millis(if cfg!(debug_assertions) { 400 } else { 100 });
    let text = quickly("the page is made", limit, || {
        let begun = Instant::now();
        let text = browser.see(&path).text();
        took = took.min(begun.elapsed());
        text
    });
    let grown = peak(&page) - before;
    println!("{took:?}, {grown} KiB more");
    assert!(text.contains("The tax was wrong.") && text.contains("What was said before is not shown here."), "{text}");
    assert!(grown < 20 << 10, "{grown} KiB");
}

#[test]
fn a_session_is_read_on_a_phone() {
    needs!("chromium", "node");
    let world = World::at_home();
    let mut session = Fake::new(&world);
    session.hour();
    let page = world.serve_page();
    let given = json!({
        "base": page.browser().origin(), "link": world.link_to_page(None), "place": format!("/session/{ID}"),
        "transcript": session.transcript(), "next": session.entries, "see": std::env::var("ASKBOX_SEE").ok(),
    });
    browsers::run(&world, "session.js", &given);
}
