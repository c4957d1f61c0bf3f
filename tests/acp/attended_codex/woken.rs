//! An idle session of codex that is woken by the answer to its question, and by the result of a run that it started.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Attended;
use crate::support::{needs, until};

/// How soon the model has a turn. The machine of the tests is busy.
const SOON: Duration = Duration::from_secs(25);

fn shell(command: &str) -> Value {
    json!({"tool": "exec_command", "input": {"cmd": command}})
}

impl Attended {
    /// A session whose commands need no approval, and a watcher that has seen it.
    fn begin_watched() -> (Self, crate::support::Watcher) {
        let codex = Self::begin_in("danger-full-access", "");
        let watcher = codex.world.watch();
        until("the watcher has seen it", || codex.world.in_mailbox(format!("looked/codex/{}", codex.thread)).exists());
        (codex, watcher)
    }

    /// The turn ends, and the session has nothing to do.
    fn idles(&mut self) {
        self.terminal.awaits("turn/completed");
    }

    /// All that the model was told in its newest request.
    fn told(&self) -> String {
        self.api.told().pop().unwrap_or_default().join("\n")
    }
}

#[test]
fn a_killed_watcher_wakes_the_session_of_codex_once() {
    needs!("acp-agents");
    let (mut codex, watcher) = Attended::begin_watched();
    codex.says("ask me", json!([shell("ask-post -w docs 'Merge or keep?' -o merge -o keep"), {"text": "I have asked."}]));
    codex.idles();
    codex.api.on("docs: was answered", json!([{"text": "Merged."}]));
    let telling = codex.world.in_mailbox(format!("looked/{}.telling.json", codex.thread));
    codex.world.ok("ask-answer", &["docs", "merge"]);
    until("the turn is on record", || telling.exists() || codex.world.names("closed").iter().any(|name| name.starts_with("docs.")));
    watcher.kill();
    let _watcher = codex.world.watch();
    codex.world.closed("docs", "delivered", 1);
    until("the model has a turn", || codex.told().contains("- docs: was answered"));
    until("nothing is on record", || !telling.exists());
    assert_eq!(codex.told().matches("was answered (relaunch status docs)").count(), 1);
}

#[test]
fn a_session_of_codex_is_woken_without_its_terminal() {
    needs!("acp-agents");
    let (mut codex, watcher) = Attended::begin_watched();
    codex.says("ask me", json!([shell("ask-post -w docs 'Merge or keep?' -o merge -o keep"), {"text": "I have asked."}]));
    codex.idles();
    codex.terminal.leave();
    watcher.stop();
    codex.world.ok("ask-answer", &["decline", "docs"]);
    codex.api.on("docs: was declined", json!([{"text": "I leave it."}]));
    let _watcher = codex.world.watch();
    codex.world.closed("docs", "delivered", 1);
    until("the model has a turn", || codex.told().contains("- docs: was declined"));
}

#[test]
fn the_result_of_its_run_wakes_the_idle_session_of_codex() {
    needs!("acp-agents");
    let (mut codex, _watcher) = Attended::begin_watched();
    codex.world.reconfigure("[live]", "[runner]\ndefault = \"sh\"\n[runner.sh]\nkind = \"program\"\nprogram = \"/bin/true\"\n[live]");
    codex.says("start it", json!([shell("relaunch spawn --background -w one --prompt Work."), {"text": "It runs."}]));
    codex.api.on("one: its run finished", json!([{"text": "Good."}]));
    until("the model has a turn", || codex.told().contains("- one: its run finished (relaunch resume one)"));
}

mod promises {
    use super::*;

    #[test]
    fn an_answer_wakes_the_idle_session_of_codex() {
        needs!("acp-agents");
        let (mut codex, _watcher) = Attended::begin_watched();
        codex.says("ask me", json!([shell("ask-post -w docs 'Merge or keep?' -o merge -o keep"), {"text": "I have asked."}]));
        codex.idles();
        assert_eq!(codex.world.document("pending/docs.json")["continues_in"], codex.thread);
        codex.api.on("docs: was answered", json!([shell("relaunch status docs"), {"text": "Merged."}]));
        let begun = Instant::now();
        codex.world.ok("ask-answer", &["docs", "merge"]);
        until("the model has a turn", || codex.told().contains("- docs: was answered (relaunch status docs)"));
        println!("woken after {:?}", begun.elapsed());
        assert!(begun.elapsed() < SOON);
        codex.idles();
        let told = codex.told();
        assert!(told.contains("\nanswer     merge\n"), "it has read the answer: {told}");
        assert_eq!(told.matches("was answered (relaunch status docs)").count(), 1, "once: {told}");
        codex.world.closed("docs", "delivered", 1);
        let audited = codex.world.audited();
        assert!(
            audited.iter().all(|entry| entry["event"] != "launched" && entry["event"] != "queue_paused"),
            "no agent is started: {audited:?}"
        );
    }
}
