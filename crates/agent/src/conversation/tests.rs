//! What a person sees of a conversation, and what not.

use super::*;
use serde_json::json;
use std::io::{Cursor, SeekFrom};

fn conversation(entries: &[Value]) -> Conversation {
    read(Cursor::new(entries.iter().map(|entry| format!("{entry}\n")).collect::<String>())).unwrap()
}

fn said(entries: &[Value]) -> Vec<What> {
    conversation(entries).turns.into_iter().map(|turn| turn.what).collect()
}

/// As Claude Code writes it: the parent comes first.
fn long(uuid: &str, parent: Option<&str>, length: usize) -> String {
    let parent = json!(parent);
    let text = "x".repeat(length);
    format!(r#"{{"parentUuid":{parent},"isSidechain":false,"type":"user","message":{{"content":"{text}"}},"uuid":"{uuid}"}}"#)
}

fn user(uuid: &str, parent: Option<&str>, content: &str) -> Value {
    json!({"parentUuid": parent, "isSidechain": false, "type": "user", "uuid": uuid, "origin": {"kind": "human"}, "message": {"content": content}})
}

fn agent(uuid: &str, parent: &str, message: &str, block: &Value) -> Value {
    json!({"parentUuid": parent, "type": "assistant", "uuid": uuid, "message": {"id": message, "model": "m", "content": [block]}})
}

fn text(words: &str) -> Value {
    json!({"type": "text", "text": words})
}

fn person(words: &str) -> What {
    What::Person(words.into())
}

fn model(words: &str) -> What {
    What::Agent(words.into())
}

#[test]
fn words_that_reach_a_turn_at_work_are_shown() {
    let queued = |uuid: &str, parent: &str, kind: &str, content: Value| {
        let attachment = json!({"type": "queued_command", "prompt": content, "commandMode": "prompt", "origin": {"kind": kind}});
        json!({"parentUuid": parent, "type": "attachment", "uuid": uuid, "attachment": attachment, "renderedRole": "system"})
    };
    let entries = [
        user("a", None, "first"),
        queued("b", "a", "human", json!([{"type": "text", "text": "mind the tests"}])),
        queued("c", "b", "task-notification", json!("<task-notification>over</task-notification>")),
        json!({"parentUuid": "c", "type": "attachment", "uuid": "d", "attachment": {"type": "skill_listing", "prompt": "secret"}}),
        queued("e", "d", "peer", json!("and the docs")),
    ];
    assert_eq!(said(&entries), [person("first"), person("mind the tests"), What::Peer("and the docs".into())]);
}

#[test]
fn two_branches_show_one_tail() {
    let entries = [
        user("a", None, "first"),
        agent("b", "a", "m1", &text("hello")),
        user("here", Some("b"), "at the terminal"),
        user("c", Some("b"), "from outside"),
        agent("d", "here", "m2", &text("to the terminal")),
        agent("e", "c", "m3", &text("to the outside")),
    ];
    assert_eq!(said(&entries), [person("first"), model("hello"), person("from outside"), model("to the outside")]);
    let there = [person("first"), model("hello"), person("at the terminal"), model("to the terminal")];
    assert_eq!(said(&entries[..5]), there);
    assert!(!conversation(&entries).is_cut);
}

#[test]
fn calls_side_by_side_keep_their_results() {
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "Bash", "input": {"command": id}});
    let result = |uuid: &str, parent: &str, id: &str| {
        let block = json!({"type": "tool_result", "tool_use_id": id, "content": [{"type": "text", "text": format!("did {id}<system-reminder>x</system-reminder>.")}]});
        json!({"parentUuid": parent, "type": "user", "uuid": uuid, "message": {"content": [block]}})
    };
    let entries = [
        user("a", None, "go"),
        agent("b", "a", "m", &call("one")),
        agent("c", "b", "m", &call("two")),
        result("r2", "c", "two"),
        result("r1", "b", "one"),
        agent("d", "r1", "n", &text("done")),
    ];
    let results = |said: &[What]| {
        let result = |what: &What| if let What::Call(call) = what { Some((call.about.clone(), call.result.clone()?.text)) } else { None };
        said.iter().filter_map(result).collect::<Vec<_>>()
    };
    let all = said(&entries);
    assert_eq!(results(&all), [("one".into(), "did one.".into()), ("two".into(), "did two.".into())], "{all:?}");
    assert_eq!((all.len(), results(&said(&entries[..4])).len()), (4, 1));
}

#[test]
fn line_larger_than_the_bound() {
    let after = user("c", Some("big"), "after");
    for length in [LONGEST + 1, 3 * LONGEST, MOST_PASSED / 2] {
        let lines = [user("a", None, "before").to_string(), long("big", Some("a"), length), user("x", Some("a"), "beside").to_string()];
        let read = read(Cursor::new([&lines[..], &[after.to_string(), String::new()]].concat().join("\n"))).unwrap();
        let [before, cut, last] = &read.turns[..] else { panic!("{length}") };
        assert_eq!((&before.what, &last.what), (&person("before"), &person("after")));
        assert!(matches!(&cut.what, What::Event(words) if words.starts_with("cut")), "{cut:?}");
    }
    // A long line of another branch is not a turn.
    let lines = [user("a", None, "before").to_string(), long("big", Some("a"), 2 * LONGEST), user("c", Some("a"), "after").to_string()];
    assert_eq!(read(Cursor::new(lines.join("\n"))).unwrap().turns.len(), 2);
    let all_too_long = [long("a", None, MOST_PASSED), long("b", Some("a"), MOST_PASSED)].join("\n");
    assert!(read(Cursor::new(all_too_long)).unwrap().is_cut);
}

#[test]
fn compaction_summary_is_not_the_persons_words() {
    let mut summary = user("s", Some("k"), "This session is being continued");
    summary["isCompactSummary"] = true.into();
    let boundary = json!({"type": "system", "subtype": "compact_boundary", "uuid": "k", "parentUuid": null});
    let entries = [user("a", None, "first"), boundary, summary, user("b", Some("s"), "second")];
    assert_eq!(said(&entries), [person("first"), What::Event("the conversation was compacted".into()), person("second")]);
}

#[test]
fn thinking_and_reminders_never_shown() {
    let mut entries = vec![user("0", None, "shown")];
    let mut add = |mut entry: Value| {
        (entry["parentUuid"], entry["uuid"]) = ((entries.len() - 1).to_string().into(), entries.len().to_string().into());
        entries.push(entry);
    };
    for begin in NOT_TYPED {
        add(user("", None, &format!("{begin}secret")));
    }
    let with = |field: &str, value: Value| {
        let mut entry = user("", None, "secret");
        entry[field] = value;
        entry
    };
    add(with("isMeta", true.into()));
    add(with("origin", json!({"kind": "task-notification"})));
    add(with("type", "attachment".into()));
    add(with("type", "queue-operation".into()));
    add(with("type", "system".into()));
    add(agent("", "", "m", &json!({"type": "thinking", "thinking": "secret"})));
    add(agent("", "", "m", &json!({"type": "redacted_thinking", "data": "secret"})));
    let mut subagents = with("isSidechain", true.into());
    subagents["uuid"] = "beside".into();
    entries.push(subagents);
    assert_eq!(said(&entries), [person("shown")]);
}

#[test]
fn the_words_of_another_session_are_not_the_persons() {
    let mut peer = user("a", None, &format!("{}go on{} — not typed by your user…", OF_PEER[0], OF_PEER[1]));
    (peer["origin"], peer["isMeta"]) = (json!({"kind": "peer"}), true.into());
    assert_eq!(said(&[peer]), [What::Peer("go on".into())]);
    assert_eq!(said(&[user("a", None, "\u{1b}[2J\u{202e}evil")]), [person("[2Jevil")]);
}

#[test]
fn the_change_of_an_edit_keeps_what_stays() {
    let edit = change("Edit", &json!({"old_string": "a\nb\nc", "new_string": "a\nx\ny\nc"}));
    assert_eq!(edit, [" a", "-b", "+x", "+y", " c"]);
    assert_eq!(change("Write", &json!({"content": "new\n"})), ["+new"]);
    assert_eq!(change("Edit", &json!({"old_string": "a\na", "new_string": "a"})), [" a", "-a"]);
    assert!(change("Write", &json!({"content": "line\n".repeat(100_000)})).len() < 4000);
}

/// Counts what is read.
struct Counted<F>(F, u64);

impl<F: Read> Read for Counted<F> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.0.read(into)?;
        self.1 += read as u64;
        Ok(read)
    }
}

impl<F: Seek> Seek for Counted<F> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.0.seek(to)
    }
}

#[test]
fn a_long_transcript_is_read_from_its_end() {
    let line = |n: usize| user(&n.to_string(), Some(&(n - 1).to_string()), &"words ".repeat(1000)).to_string() + "\n";
    let mut file = Counted(Cursor::new((1..4000).map(line).collect::<String>()), 0);
    let read = read(&mut file).unwrap();
    assert!(read.is_cut && read.turns.len() == MOST && file.1 < 600_000, "{} bytes", file.1);
}
