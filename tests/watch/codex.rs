//! The dialogs of Codex's sessions. A scripted daemon asks, and the watcher is its client. `tests/acp` does the same with the real one.

use std::os::unix::net::UnixListener;
use std::time::Instant;

use serde_json::{Value, json};

use crate::support::codex::{Daemon, Terminal, socket};
use crate::support::{Outcome, Watcher, World, until, was_told};

pub(crate) const THREAD: &str = "01a21ac8-b92a-7de2-b387-e540b49d4ef1";
const SUBAGENT: &str = "01a21ac8-b98b-7571-8971-dd381192f9d1";
const OTHER: &str = "01a21ac9-0c11-7b40-9d0f-2f6a51c0a7be";

fn world() -> World {
    let world = World::with_home_apart();
    world.configure("[live]\ncodex = true\ngrace = \"0s\"\n");
    world.make_mailbox();
    world
}

/// A world whose daemon has one session, and a watcher.
pub(crate) fn scene() -> (World, Daemon, Watcher) {
    let world = world();
    let daemon = Daemon::start(world.home());
    daemon.has(THREAD, world.work());
    let watcher = world.watch();
    until("the watcher is a client", || !daemon.calls("thread/read").is_empty());
    (world, daemon, watcher)
}

fn waiting(world: &World) -> String {
    let name = until("a question waits", || world.names("pending").first().cloned());
    name.trim_end_matches(".json").to_owned()
}

/// Allows the call, and returns the outcome of the command.
fn allows(world: &World, id: &str) -> Outcome {
    let shown = world.ok("ask-answer", &["show", id]);
    let begin = format!("ask-answer {id} once --round ");
    let command = shown.lines().map(str::trim).find(|line| line.starts_with(&begin)).expect("the command to copy");
    world.run("ask-answer", &command.split(' ').skip(1).collect::<Vec<_>>())
}

fn allow(world: &World, id: &str) {
    let outcome = allows(world, id);
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
}

fn closed(world: &World, id: &str, state: &str) -> Value {
    let end = until("the round is closed", || world.rounds("closed", id).pop());
    assert_eq!(end["closed"]["state"], state, "{end}");
    end
}

fn why(end: &Value) -> &str {
    end["closed"]["why"].as_str().unwrap_or_default()
}

#[test]
fn a_request_that_ends_at_its_terminal_is_withdrawn() {
    let (world, daemon, _watcher) = scene();
    daemon.asks_to_run(1, THREAD, "ls");
    let id = waiting(&world);
    daemon.terminal(1, "accept");
    let end = closed(&world, &id, "withdrawn");
    assert!(why(&end).contains("answered at its terminal"), "{end}");
    assert!(daemon.replies().is_empty());
}

#[test]
fn a_reply_behind_another_one_came_too_late() {
    let (world, daemon, _watcher) = scene();
    daemon.asks_to_run(1, THREAD, "ls");
    let id = waiting(&world);
    daemon.terminal_is_first(1, "decline");
    let sent_at = Instant::now();
    let told = allows(&world, &id);
    assert!(was_told(told.code(), sent_at), "{}", told.words());
    assert!(told.code() != 4 || told.stderr.contains("too late"), "{}", told.stderr);
    let end = closed(&world, &id, "superseded");
    assert!(why(&end).contains("too late"), "{end}");
    assert_eq!(daemon.replies().len(), 1);
}

#[test]
fn a_request_that_is_not_known_gets_no_reply_at_all() {
    let (world, daemon, _watcher) = scene();
    daemon.asks(1, THREAD, "mcpServer/elicitation/request", json!({"message": "?"}));
    daemon.asks(2, THREAD, "item/commandExecution/requestApproval", json!({"kind": "writeStdin", "command": "y"}));
    let secret = json!({"id": "k", "header": "Key", "question": "The key?", "isSecret": true, "options": null});
    daemon.asks(3, THREAD, "item/tool/requestUserInput", json!({"questions": [secret], "isBlocking": true}));
    daemon.asks(4, THREAD, "item/brandNew/request", json!({}));
    // This one comes behind them, so the others were read when it is asked.
    daemon.asks_to_run(5, THREAD, "ls");
    let id = waiting(&world);
    assert_eq!(world.names("pending").len(), 1);
    allow(&world, &id);
    closed(&world, &id, "delivered");
    assert_eq!(daemon.replies().len(), 1, "{:?}", daemon.replies());
}

#[test]
fn the_questions_of_a_daemon_that_is_killed_are_withdrawn() {
    let (world, daemon, watcher) = scene();
    daemon.asks_to_run(1, THREAD, "ls");
    let id = waiting(&world);
    drop(daemon);
    let end = closed(&world, &id, "withdrawn");
    assert!(why(&end).contains("codex's daemon"), "{end}");
    let refused = world.run("ask-answer", &[&id, "once"]);
    assert_ne!(refused.code(), 0, "nobody could take the answer");
    // A new daemon is served without a restart.
    let daemon = Daemon::start(world.home());
    daemon.has(THREAD, world.work());
    daemon.asks_to_run(1, THREAD, "ls -l");
    let id = waiting(&world);
    allow(&world, &id);
    until("it is delivered", || world.rounds("closed", &id).iter().any(|end| end["closed"]["state"] == "delivered"));
    watcher.stop();
}

#[test]
fn a_connection_that_is_cut_asks_the_same_again() {
    let (world, daemon, _watcher) = scene();
    daemon.asks_to_run(1, THREAD, "ls");
    let id = waiting(&world);
    daemon.cut();
    closed(&world, &id, "withdrawn");
    assert_eq!(waiting(&world), id, "it is the same call");
    allow(&world, &id);
    until("it is delivered", || world.rounds("closed", &id).iter().any(|end| end["closed"]["state"] == "delivered"));
    assert_eq!(daemon.replies().len(), 1);
}

#[test]
fn a_watcher_that_is_killed_leaves_codexs_dialog_open() {
    let (world, daemon, watcher) = scene();
    daemon.asks_to_run(1, THREAD, "ls");
    let id = waiting(&world);
    watcher.kill();
    let refused = world.run("ask-answer", &[&id, "once"]);
    assert_ne!(refused.code(), 0, "nobody waits for it");
    assert!(daemon.replies().is_empty());
    let watcher = world.watch();
    until("the question of the dead one is withdrawn", || !world.rounds("closed", &id).is_empty());
    assert_eq!(waiting(&world), id);
    watcher.stop();
    until("a stopped watcher withdraws it", || world.names("pending").is_empty());
    assert!(daemon.replies().is_empty());
}

#[test]
fn what_codex_does_not_confirm_is_not_known_yet() {
    let (world, daemon, watcher) = scene();
    daemon.is_deaf();
    daemon.asks_to_run(1, THREAD, "ls");
    let id = waiting(&world);
    allow(&world, &id);
    until("the reply is sent", || !daemon.replies().is_empty());
    watcher.stop();
    assert_eq!(world.status(&id)["state"], "sent");
    // The daemon still waits for a reply, so it has not taken this one.
    let watcher = world.watch();
    let end = closed(&world, &id, "superseded");
    assert!(why(&end).contains("asks the same again"), "{end}");
    watcher.stop();
}

#[test]
fn another_client_of_codex_is_first_or_second() {
    let (world, daemon, _watcher) = scene();
    let mut terminal = Terminal::connect(&socket(world.home()));
    terminal.request("thread/resume", json!({"threadId": THREAD}));
    daemon.asks_to_run(1, THREAD, "ls");
    let request = terminal.awaits("item/commandExecution/requestApproval");
    let id = waiting(&world);
    terminal.send(&json!({"id": request["id"], "result": {"decision": "decline"}}));
    closed(&world, &id, "withdrawn");
    daemon.asks_to_run(2, THREAD, "pwd");
    let id = waiting(&world);
    allow(&world, &id);
    closed(&world, &id, "delivered");
    terminal.awaits("serverRequest/resolved");
    terminal.send(&json!({"id": 2, "result": {"decision": "decline"}}));
    assert_eq!(terminal.request("thread/read", json!({"threadId": THREAD}))["thread"]["id"], THREAD);
}

#[test]
fn a_dialog_of_codex_is_left_to_its_terminal_for_the_grace() {
    let world = world();
    world.reconfigure("grace = \"0s\"", "grace = \"1h\"");
    let daemon = Daemon::start(world.home());
    daemon.has(THREAD, world.work());
    let watcher = world.watch();
    daemon.asks_to_run(1, THREAD, "ls");
    daemon.is_asked_for(THREAD);
    daemon.terminal(1, "accept");
    // The next request of the same session comes behind that end.
    daemon.asks_to_run(2, THREAD, "pwd");
    watcher.stop();
    assert!(world.names("pending").is_empty() && world.audited().iter().all(|entry| entry["workflow_id"] == "first"));
}

#[test]
fn sessions_of_codexs_daemon_are_listed() {
    let (world, daemon, _watcher) = scene();
    daemon.has(OTHER, world.work());
    daemon.rests(OTHER);
    daemon.asks_to_run(1, THREAD, "ls");
    let id = waiting(&world);
    let of = |session: &str| -> Value {
        // On a busy machine, the daemon may not answer in time.
        until("its line", || {
            let all = world.ok("askbox", &["sessions", "--json"]);
            all.lines().find(|line| line.contains(session)).map(|line| serde_json::from_str(line).expect("JSON"))
        })
    };
    let asks = of(THREAD);
    assert_eq!((&asks["program"], &asks["status"], &asks["questions"]), (&json!("codex"), &json!("waiting"), &json!([id])));
    assert_eq!((&asks["cwd"], &asks["name"]), (&json!(world.work()), &json!("x")));
    assert_eq!((&of(OTHER)["status"], &of(OTHER)["questions"]), (&json!("idle"), &json!([])));
    let shown = until("both", || Some(world.ok("askbox", &["sessions"])).filter(|shown| shown.lines().count() == 3));
    let lines: Vec<_> = shown.lines().collect();
    assert!(lines[1].contains(THREAD) && lines[1].contains("waits at its terminal") && lines[1].contains(&id), "{shown}");
    allow(&world, &id);
    closed(&world, &id, "delivered");
    assert_eq!(of(THREAD)["status"], "busy");
    assert!(daemon.calls("turn/start").is_empty() && daemon.replies().len() == 1);
}

#[test]
fn a_daemon_of_codex_that_hangs_holds_no_list_up() {
    let world = world();
    let lists = |says: &str| {
        let then = Instant::now();
        let outcome = world.run("askbox", &["sessions"]);
        assert!(outcome.code() == 0 && outcome.stderr.contains(says), "{}", outcome.words());
        assert!(then.elapsed().as_secs() < 20, "{:?}", then.elapsed());
    };
    lists("no session of Claude Code, Codex, opencode, Copilot, Kimi or Qwen runs here");
    assert!(!world.home().join(".codex").exists(), "no daemon was started");
    let silent = "the sessions of Codex are not listed: codex's daemon has not answered within 2 s";
    // It answers no request.
    let daemon = Daemon::start(world.home());
    daemon.is_mute();
    lists(silent);
    drop(daemon);
    // The system accepts for it, and it reads nothing.
    std::fs::remove_file(socket(world.home())).unwrap();
    let listener = UnixListener::bind(socket(world.home())).unwrap();
    lists(silent);
    // It accepts, and reads nothing.
    std::thread::spawn(move || {
        let mut connections = Vec::new();
        // `collect` would ask for room for as many connections as there can be numbers.
        for connection in listener.incoming() {
            connections.push(connection);
        }
    });
    lists(silent);
}

mod promises {
    use super::*;

    #[test]
    fn a_command_of_codex_is_allowed_in_the_mailbox() {
        let (world, daemon, _watcher) = scene();
        daemon.asks_to_run(7, THREAD, "/bin/bash -lc 'touch qa'");
        let id = waiting(&world);
        let question = world.document(&format!("pending/{id}.json"));
        assert_eq!((&question["live"]["program"], &question["live"]["session"]), (&json!("codex"), &json!(THREAD)));
        assert!(question["question"].as_str().unwrap().contains("command: /bin/bash -lc 'touch qa'"), "{question}");
        assert!(world.ok("ask-answer", &["list", "--filter", "is:live"]).contains(&id));
        allow(&world, &id);
        closed(&world, &id, "delivered");
        assert_eq!(daemon.replies(), [json!({"id": 7, "result": {"decision": "accept"}})]);
    }

    #[test]
    fn a_refusal_with_words_reaches_the_turn_of_codex() {
        let (world, daemon, _watcher) = scene();
        daemon.asks_to_run(1, THREAD, "rm x");
        let id = waiting(&world);
        world.ok("ask-answer", &["decline", &id, "--note", "use another name"]);
        closed(&world, &id, "delivered");
        assert_eq!(daemon.replies(), [json!({"id": 1, "result": {"decision": "decline"}})]);
        let told = until("the words are sent", || daemon.calls("turn/steer").pop());
        assert_eq!(told["expectedTurnId"], "turn");
        assert!(told["input"][0]["text"].as_str().unwrap().contains("use another name"), "{told}");

        daemon.asks_to_run(2, THREAD, "rm y");
        let second = until("it asks again", || world.names("pending").first().cloned());
        let second = second.trim_end_matches(".json");
        world.ok("ask-answer", &["decline", second, "--stop"]);
        closed(&world, second, "delivered");
        assert_eq!(daemon.replies()[1], json!({"id": 2, "result": {"decision": "cancel"}}));
        assert_eq!(daemon.calls("turn/steer").len(), 1);
    }

    #[test]
    fn questions_of_codex_are_answered_by_their_ids() {
        let (world, daemon, _watcher) = scene();
        let option = |label: &str| json!({"label": label, "description": format!("{label} it")});
        let one = json!({"id": "a", "header": "How", "question": "Merge or keep?", "isOther": true, "isSecret": false, "options": [option("merge"), option("keep")]});
        daemon.asks(3, THREAD, "item/tool/requestUserInput", json!({"questions": [one], "isBlocking": false, "autoResolutionMs": null}));
        let id = waiting(&world);
        world.ok("ask-answer", &[&id, "merge", "--note", "today"]);
        closed(&world, &id, "delivered");
        assert_eq!(daemon.replies(), [json!({"id": 3, "result": {"answers": {"a": {"answers": ["merge", "user_note: today"]}}}})]);
    }

    #[test]
    fn a_patch_of_a_subagent_is_shown_with_its_files() {
        let world = world();
        let daemon = Daemon::start(world.home());
        daemon.has(THREAD, world.work());
        daemon.has_subagent(SUBAGENT, THREAD);
        let change = json!({"path": "/opt/x", "kind": {"type": "add"}, "diff": "one\n"});
        daemon.begins(SUBAGENT, json!({"type": "fileChange", "id": "call_4", "changes": [change], "status": "inProgress"}));
        daemon.asks(4, SUBAGENT, "item/fileChange/requestApproval", json!({"reason": null, "grantRoot": null}));
        // The request was there before the watcher.
        let _watcher = world.watch();
        let id = waiting(&world);
        let question = world.document(&format!("pending/{id}.json"));
        let text = question["question"].as_str().unwrap();
        assert!(text.contains("add \"/opt/x\"\n          +one"), "{text}");
        assert_eq!((&question["live"]["session"], &question["live"]["agent"]), (&json!(THREAD), &json!("Ada")));
        allow(&world, &id);
        closed(&world, &id, "delivered");
    }
}
