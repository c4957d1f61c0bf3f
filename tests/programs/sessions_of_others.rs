//! `askbox sessions`: the sessions of Copilot, Kimi and Qwen, from files as these programs write them. `tests/acp/listed.rs` does the same with
//! the real programs.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::support::{Running, World, needs, until};

/// All sessions, by their ids.
fn listed(world: &World) -> Vec<Value> {
    let all = world.ok("askbox", &["sessions", "--json"]);
    all.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn of(world: &World, id: &str) -> Value {
    listed(world).into_iter().find(|session| session["session_id"] == id).unwrap_or_default()
}

fn write(path: PathBuf, lines: &[Value]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, lines.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
}

fn copilot(world: &World, id: &str) -> PathBuf {
    world.home().join(".copilot/session-state").join(id)
}

/// A process that holds the lock of a session of Copilot, as Copilot does.
fn holds(world: &World, id: &str) -> Running {
    let folder = copilot(world, id);
    fs::create_dir_all(&folder).unwrap();
    let script = "echo $$ > inuse.$$.lock; exec flock inuse.$$.hold sleep 600";
    let holder = Running::start(world.any_command("sh").args(["-c", script]).current_dir(&folder));
    let lock = folder.join(format!("inuse.{}.hold", holder.pid()));
    until("the lock is held", || askbox::disk::Lock::is_held(&lock).unwrap_or(false));
    holder
}

/// An event of Copilot.
fn event(kind: &str, data: Value) -> Value {
    json!({"type": kind, "data": data, "id": "ccd0f5b7", "timestamp": "2026-11-27T14:26:43.059Z", "parentId": null})
}

fn requested(request: &str, call: &str) -> Value {
    let about = json!({"kind": "shell", "toolCallId": call, "fullCommandText": "touch f1", "commands": [{"identifier": "touch"}]});
    event("permission.requested", json!({"requestId": request, "permissionRequest": about}))
}

fn begun() -> Vec<Value> {
    vec![
        event("session.start", json!({"sessionId": "c1", "copilotVersion": "1.0.102", "context": {"cwd": "/work/shop"}})),
        event("user.message", json!({"content": "go"})),
        event("assistant.turn_start", json!({"turnId": "0"})),
    ]
}

fn kimi(world: &World, id: &str) -> PathBuf {
    world.home().join(".kimi-code/sessions/wd_shop_0683d6be19c0").join(id)
}

fn kimi_says(world: &World, agent: &str, lines: &[Value]) {
    let folder = kimi(world, "session_1");
    write(folder.join("state.json"), &[json!({"id": "session_1", "version": 2, "cwd": "/work/shop", "title": "go", "agents": {}})]);
    write(folder.join("agents").join(agent).join("wire.jsonl"), lines);
}

fn turn(event: &str) -> Value {
    json!({"turnId": 0, "type": event, "time": 1_795_789_604_105_i64, "kind": "event"})
}

fn asks(id: &str, kind: &str) -> Value {
    let request =
        json!({"id": id, "toolName": "Bash", "action": "Running: touch f1", "display": {"kind": "command", "command": "touch f1"}});
    json!({"type": "interaction.request", "agentId": "main", "id": id, "kind": kind, "request": request, "time": 1_795_789_605_275_i64})
}

fn resolved(id: &str) -> Value {
    json!({"type": "interaction.resolved", "agentId": "main", "id": id, "response": {"decision": "approved"}, "time": 1_795_789_615_027_i64})
}

#[test]
fn a_kimi_session_is_listed_as_long_as_it_is_fresh() {
    let world = World::new();
    let status = || {
        let session = of(&world, "session_1");
        (session["status"].clone(), session["waiting_for"].clone())
    };
    let begun = turn("agent.turn.started");
    kimi_says(&world, "main", &[begun.clone(), asks("approval_1", "approval")]);
    assert_eq!(status(), (json!("waiting"), json!("permission")));
    let session = of(&world, "session_1");
    assert_eq!((&session["pid"], &session["may_have_ended"], &session["cwd"]), (&Value::Null, &json!(true), &json!("/work/shop")));
    let shown = world.ok("askbox", &["sessions"]);
    assert!(shown.contains("waits at its terminal: permission, or has ended"), "{shown}");
    kimi_says(&world, "main", &[begun.clone(), asks("question_1", "question")]);
    assert_eq!(status(), (json!("waiting"), json!("an answer")));
    // The dialog of a turn that was killed, and then another turn.
    kimi_says(&world, "main", &[begun.clone(), asks("approval_1", "approval"), begun.clone()]);
    assert_eq!(status(), (json!("busy"), Value::Null));
    kimi_says(&world, "agent-0", &[begun.clone(), asks("approval_2", "approval")]);
    assert_eq!(status(), (json!("waiting"), json!("permission")), "a subagent asks");
    kimi_says(&world, "agent-0", &[begun.clone(), asks("approval_2", "approval"), resolved("approval_2")]);
    assert_eq!(status(), (json!("busy"), Value::Null));
    let is_old = |hours: u64| {
        let file = fs::File::options().append(true).open(kimi(&world, "session_1").join("agents/main/wire.jsonl")).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(hours * 3600)).unwrap();
    };
    kimi_says(&world, "main", &[begun.clone(), asks("approval_1", "approval"), resolved("approval_1"), turn("turn.ended")]);
    assert_eq!(status(), (json!("idle"), Value::Null));
    is_old(2);
    assert!(listed(&world).is_empty(), "nobody knows whether it goes on");
    kimi_says(&world, "main", &[begun, asks("approval_1", "approval")]);
    is_old(2);
    assert_eq!(status().0, "waiting");
    is_old(25);
    assert!(listed(&world).is_empty());
}

/// The tick when this process began, as `/proc` says.
fn began() -> String {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    stat.rsplit(')').next().unwrap().split_whitespace().nth(19).unwrap().to_owned()
}

#[test]
fn a_qwen_session_is_listed_while_its_process_lives() {
    let world = World::new();
    let pid = std::process::id();
    let registers = |began: &str, pid_inside: u32| {
        let about = json!({"schemaVersion": 1, "pid": pid_inside, "procStart": format!("7f294d93-1952-4cb1-94b2-96ed4602155b:{began}"),
            "pidNs": 4_026_531_836_u64, "sessionId": "q1", "cwd": "/work/shop", "name": "qwen-7f", "startedAt": 1_795_789_575_441_i64,
            "kind": "tui", "ipcPath": "/tmp/s.sock", "ipcToken": "secret-of-qwen"});
        write(world.home().join(format!(".qwen/sessions/{pid}.json")), &[about]);
    };
    registers(&began(), pid);
    let session = of(&world, "q1");
    assert_eq!((&session["status"], &session["name"], &session["pid"]), (&Value::Null, &json!("qwen-7f"), &json!(pid)));
    assert!(!world.ok("askbox", &["sessions", "--json"]).contains("secret-of-qwen"));
    registers("1", pid);
    assert!(listed(&world).is_empty(), "the process id is that of another one now");
    registers(&began(), pid + 1);
    assert!(listed(&world).is_empty(), "its name and its content differ");
}

#[test]
fn hostile_files_of_sessions_are_refused_and_counted() {
    needs!("flock");
    let world = World::new();
    let unread = |program: &str| {
        let outcome = world.run("askbox", &["sessions", "--json"]).ok();
        let words = format!("sessions of {program} that cannot be read: 1");
        assert!(outcome.stderr.contains(&words), "{}", outcome.words());
        outcome.stdout
    };
    // Qwen: deeply nested, too long, a link, a pipe.
    let own = world.home().join(format!(".qwen/sessions/{}.json", std::process::id()));
    fs::create_dir_all(own.parent().unwrap()).unwrap();
    fs::write(&own, format!("{}{}", "[".repeat(10_000), "]".repeat(10_000))).unwrap();
    assert_eq!(unread("Qwen"), "");
    fs::write(&own, format!("{{\"pid\":{},\"sessionId\":\"q\",\"name\":\"{}\"}}", std::process::id(), "x".repeat(100_000))).unwrap();
    assert_eq!(unread("Qwen"), "");
    fs::remove_file(&own).unwrap();
    std::os::unix::fs::symlink("/dev/zero", &own).unwrap();
    assert_eq!(unread("Qwen"), "");
    fs::remove_file(&own).unwrap();
    assert!(world.any_command("mkfifo").arg(&own).status().unwrap().success());
    assert_eq!(unread("Qwen"), "");
    fs::remove_file(&own).unwrap();
    // Copilot: the events of a session are a link, no JSON, or one endless line behind a dialog.
    let _process = holds(&world, "c1");
    let events = copilot(&world, "c1").join("events.jsonl");
    std::os::unix::fs::symlink("/dev/zero", &events).unwrap();
    assert_eq!(unread("Copilot"), "");
    fs::remove_file(&events).unwrap();
    fs::write(&events, [0xff, 0xfe, b'\n']).unwrap();
    assert_eq!(unread("Copilot"), "");
    write(events.clone(), &[&begun()[..], &[requested("r1", "k1")]].concat());
    let mut bytes = fs::read(&events).unwrap();
    bytes.extend("x".repeat(5 << 20).bytes());
    bytes.extend(b"\n{\"type\": [[[[\nnull\n\"text\"\n{}\n");
    fs::write(&events, bytes).unwrap();
    assert_eq!(of(&world, "c1")["status"], Value::Null, "what it does is not known");
    // Kimi: escapes of a terminal in the title and the folder.
    kimi_says(&world, "main", &[turn("agent.turn.started")]);
    let state = json!({"cwd": "/w/\u{1b}]0;x\u{7}shop", "title": "go\u{1b}[2J\u{202e}on\nnext"});
    write(kimi(&world, "session_1").join("state.json"), &[state]);
    let shown = world.ok("askbox", &["sessions"]);
    assert!(shown.contains("go[2Jon next") && !shown.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{shown:?}");
    assert!(!world.ok("askbox", &["sessions", "--json"]).contains(['\u{1b}', '\u{7}', '\u{202e}']));
    // A folder that is a link is no session.
    let outside = world.path("outside");
    fs::rename(kimi(&world, "session_1"), &outside).unwrap();
    std::os::unix::fs::symlink(&outside, kimi(&world, "session_1")).unwrap();
    assert_eq!(of(&world, "session_1"), Value::Null);
}

mod promises {
    use super::*;

    #[test]
    fn a_copilot_session_is_listed_until_its_process_dies() {
        needs!("flock");
        let world = World::new();
        let process = holds(&world, "c1");
        assert_eq!(of(&world, "c1")["status"], "idle", "nothing was said yet");
        let says = |more: &[Value]| {
            write(copilot(&world, "c1").join("events.jsonl"), &[&begun()[..], more].concat());
            let session = of(&world, "c1");
            (session["status"].clone(), session["waiting_for"].clone())
        };
        assert_eq!(says(&[]), (json!("busy"), Value::Null));
        let begins = |tool: &str| event("tool.execution_start", json!({"toolCallId": "k1", "toolName": tool}));
        let completed = event("permission.completed", json!({"requestId": "r1", "toolCallId": "k1", "result": {"kind": "approved"}}));
        assert_eq!(says(&[begins("bash"), requested("r1", "k1")]), (json!("waiting"), json!("permission")));
        let other = requested("r2", "k2");
        assert_eq!(
            says(&[requested("r1", "k1"), other, completed.clone()]),
            (json!("waiting"), json!("permission")),
            "one of two has ended"
        );
        assert_eq!(says(&[begins("bash"), requested("r1", "k1"), completed]), (json!("busy"), Value::Null));
        let ended = event("tool.execution_complete", json!({"toolCallId": "k1", "success": true}));
        assert_eq!(says(&[requested("r1", "k1"), ended.clone()]), (json!("busy"), Value::Null), "its call has its result");
        assert_eq!(says(&[begins("ask_user")]), (json!("waiting"), json!("an answer")));
        let turn_end = event("assistant.turn_end", json!({"turnId": "0"}));
        assert_eq!(says(&[begins("ask_user"), ended, turn_end]), (json!("idle"), Value::Null));
        let earlier = [requested("r1", "k1"), event("session.resume", json!({}))];
        assert_eq!(says(&earlier), (json!("idle"), Value::Null), "the dialog of a process that was killed");
        says(&[requested("r1", "k1")]);
        let session = of(&world, "c1");
        assert_eq!(
            (&session["pid"], &session["cwd"], &session["program"]),
            (&json!(process.pid()), &json!("/work/shop"), &json!("copilot"))
        );
        let shown = world.ok("askbox", &["sessions"]);
        assert!(shown.contains("waits at its terminal: permission") && shown.contains("shop"), "{shown}");
        process.kill();
        assert!(listed(&world).is_empty(), "its lock is free");
        // Another process has the id by now.
        let file = format!("inuse.{}.hold", std::process::id());
        fs::write(copilot(&world, "c1").join(file), "").unwrap();
        assert!(listed(&world).is_empty(), "no lock is held");
    }
}
