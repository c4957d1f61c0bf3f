//! `askbox mcp` is killed right before each of the calls that tell an answer to a session. The session's next server tells it, and no
//! agent is started with it.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::{Running, World, in_parallel, needs, strace};

const CALLS: [&str; 8] = ["renameat2", "linkat", "fsync", "fdatasync", "unlinkat", "mkdirat", "flock", "write"];

/// The reply of the server behind `before` to this request, unless the server dies first.
fn reply(world: &World, before: &[String], method: &str, params: &Value) -> Option<Value> {
    let capabilities = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    let begin = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": {"name": "raw", "version": "1"}});
    let lines = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": begin}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": method, "params": params}),
    ];
    let mut server = Running::start(world.wrapped(before, "askbox").arg("mcp").stdin(Stdio::piped()).stdout(Stdio::piped()));
    let mut stdin = server.0.stdin.take().expect("piped");
    let stdout = server.0.stdout.take().expect("piped");
    // A server that has died reads nothing.
    let _written = lines.iter().try_for_each(|line| writeln!(stdin, "{line}"));
    let replies = BufReader::new(stdout).lines().map_while(Result::ok).filter_map(|line| serde_json::from_str::<Value>(&line).ok());
    let reply = replies.into_iter().find(|reply| reply["id"] == 2);
    drop(stdin);
    server.wait();
    reply
}

/// A world with an answered question, which the session asked with its task.
fn answered() -> (World, Value) {
    let world = World::new().with_scripted_agent();
    let arguments = json!({"question": "Which?", "workflow_id": "w"});
    let asked = reply(&world, &[], "tools/call", &json!({"name": "ask_user", "arguments": arguments})).expect("a task");
    world.sh("ask-answer w this");
    (world, json!({"taskId": asked["result"]["taskId"]}))
}

#[test]
fn a_server_killed_while_it_tells_an_answer_loses_nothing() {
    needs!("strace");
    in_parallel(2, &CALLS, |call| {
        for n in 1.. {
            let (world, task) = answered();
            let (trace, inject) = (format!("trace={call}"), format!("inject={call}:signal=KILL:when={n}"));
            let before = strace(&["-f", "-qq", "-e", &trace, "-e", &inject, "-e", "signal=none", "-o", "/dev/null"]);
            let survived = reply(&world, &before, "tasks/get", &task).is_some();
            let watcher = world.watch();
            world.sh("ask-post -w later Now? 2>/dev/null && ask-answer later yes");
            world.reaches("later", "delivered");
            let told = reply(&world, &[], "tasks/get", &task).expect("a reply");
            let words = told["result"]["result"]["content"][0]["text"].as_str().unwrap_or_default();
            assert!(words.contains("User chose: this"), "{call} {n}: {told}");
            assert_eq!(world.closed("w", "delivered", 1).len(), 1, "{call} {n}");
            assert_eq!((world.launches_of("w").len(), world.names("running").len()), (0, 0), "{call} {n}");
            drop(watcher);
            if survived {
                break;
            }
        }
    });
}
