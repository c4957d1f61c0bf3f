//! The programs whose dialogs stay open at their terminals: opencode's plugin and Copilot's extension, which `askbox live` waits beside, and
//! Codex's daemon, whose client is the watcher.

use std::cell::{Cell, RefCell};

use serde_json::{Value, json};

use crate::programs::beside_copilot;
use crate::programs::beside_opencode::{self, Talk, asked, command, replied};
use crate::programs::replies::claude::questions;
use crate::programs::replies::decisions::{Decision, cells};
use crate::support::codex::Daemon;
use crate::watch::codex::{THREAD, scene};

fn opencode(decisions: &[Decision], request: impl Fn(&str, bool) -> Value) -> Vec<String> {
    let world = beside_opencode::world();
    let live = RefCell::new(Talk::live(&world));
    let id = |n: usize| format!("r-{n}");
    let asks = |n, is_several| live.borrow_mut().tell(&asked(&world, request(&id(n), is_several)));
    let heard = |n| {
        let said = live.borrow().heard();
        said.iter().for_each(|_| live.borrow_mut().tell(&replied(&id(n), 200)));
        said
    };
    cells(&world, decisions, asks, heard)
}

pub(super) fn opencode_call(decisions: &[Decision]) -> Vec<String> {
    opencode(decisions, |id, _| command(id, "echo one"))
}

pub(super) fn opencode_question(decisions: &[Decision]) -> Vec<String> {
    let request = |id: &str, is_several| {
        let mut questions = questions(is_several);
        questions.as_array_mut().unwrap().iter_mut().for_each(|question| question["multiple"] = question["multiSelect"].take());
        json!({"event": "question.asked", "request": {"id": id, "sessionID": "ses_1", "questions": questions}})
    };
    opencode(decisions, request)
}

pub(super) fn copilot(decisions: &[Decision]) -> Vec<String> {
    let world = beside_copilot::world();
    let copilot = RefCell::new(beside_copilot::loaded(&world));
    let asks = |n: usize, _| beside_copilot::asks(&mut copilot.borrow_mut(), &format!("r-{n}"), "shell", "echo one");
    cells(&world, decisions, asks, |_| copilot.borrow().heard())
}

fn codex(decisions: &[Decision], request: impl Fn(&Daemon, u64, bool)) -> Vec<String> {
    let (world, daemon, _watcher) = scene();
    let known = Cell::new([0; 3]);
    let told = || {
        let calls = |method: &str| {
            let calls = daemon.calls(method).into_iter();
            calls.map(|params| json!({"method": method, "params": params})).collect()
        };
        [daemon.replies(), calls("turn/steer"), calls("turn/interrupt")]
    };
    let over = RefCell::new(Vec::new());
    let heard = |_| {
        let all = told();
        let now = world.names("closed");
        let newest = now.iter().find(|name| !over.borrow().contains(*name)).map(|name| world.document(&format!("closed/{name}")));
        let Some(newest) = newest.filter(|_| all.each_ref().map(Vec::len) != known.get() && world.names("running").is_empty()) else {
            return Vec::new();
        };
        // Words follow a refusal with a reason. The daemon may not have read them yet.
        let has_reason = newest["answer"]["note"].is_string() && newest["answer"]["outcome"] == "declined";
        let is_told = newest["approval"].is_null() || newest["answer"]["stops"] == true || !has_reason;
        if !is_told && all[1].len() == known.get()[1] {
            return Vec::new();
        }
        over.replace(now);
        let earlier = known.replace(all.each_ref().map(Vec::len));
        all.iter().zip(earlier).flat_map(|(all, earlier)| all[earlier..].iter().map(Value::to_string)).collect()
    };
    cells(&world, decisions, |n, is_several| request(&daemon, n as u64, is_several), heard)
}

pub(super) fn codex_command(decisions: &[Decision]) -> Vec<String> {
    codex(decisions, |daemon, n, _| daemon.asks_to_run(n, THREAD, "echo one"))
}

pub(super) fn codex_change(decisions: &[Decision]) -> Vec<String> {
    let asks = |daemon: &Daemon, n: u64, _| {
        let change = json!({"path": "/opt/x", "kind": {"type": "add"}, "diff": "one\n"});
        daemon.begins(THREAD, json!({"type": "fileChange", "id": format!("call_{n}"), "changes": [change], "status": "inProgress"}));
        daemon.asks(n, THREAD, "item/fileChange/requestApproval", json!({"reason": null, "grantRoot": null}));
    };
    codex(decisions, asks)
}

pub(super) fn codex_question(decisions: &[Decision]) -> Vec<String> {
    let asks = |daemon: &Daemon, n: u64, is_several| {
        let mut all = questions(is_several);
        for (n, question) in all.as_array_mut().unwrap().iter_mut().enumerate() {
            (question["id"], question["isOther"], question["isSecret"]) = (format!("q{n}").into(), true.into(), false.into());
        }
        daemon.asks(n, THREAD, "item/tool/requestUserInput", json!({"questions": all, "isBlocking": false, "autoResolutionMs": null}));
    };
    codex(decisions, asks)
}
