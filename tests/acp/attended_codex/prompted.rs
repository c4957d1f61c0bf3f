//! A session of codex that is sent its next prompt from the page, and stopped there.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Attended, outside};
use crate::support::{Dice, Page, SessionPage, Watcher, needs, number, until};

struct Elsewhere {
    codex: Attended,
    served: Page,
    page: SessionPage,
    watcher: Watcher,
}

impl Elsewhere {
    /// A session that has said hello and is idle, and a person at another place.
    fn begin(sandbox: &str) -> Self {
        let mut codex = Attended::begin_in(sandbox, "");
        let (watcher, served) = (codex.world.watch(), codex.world.serve_page());
        let page = SessionPage { browser: served.signed_in(&codex.world, "ann's phone"), session: codex.thread.clone() };
        codex.says("say hello", json!([{"text": "hello there"}]));
        codex.terminal.awaits("turn/completed");
        codex.api.on("Go on now.", json!([{"text": "went on"}]));
        let elsewhere = Self { codex, served, page, watcher };
        elsewhere.page.shows("hello there");
        elsewhere.page.shows("idle");
        elsewhere
    }

    /// How often the model has these words in its newest request.
    fn told(&self, words: &str) -> usize {
        self.codex.api.told().pop().unwrap_or_default().iter().filter(|text| text.contains(words)).count()
    }
}

#[test]
fn same_client_id_is_sent_once() {
    needs!("acp-agents");
    let mut elsewhere = Elsewhere::begin("workspace-write");
    // At a dialog, the words are kept, and answer nothing.
    elsewhere.codex.says("do it", json!([outside("echo ran >> $HOME/effects"), {"text": "It is done."}]));
    let id = elsewhere.codex.waiting();
    elsewhere.page.shows("waits at its terminal");
    elsewhere.page.sends("Go on now. First.");
    elsewhere.page.shows("kept until the session is idle");
    assert!(elsewhere.codex.effects().is_empty() && elsewhere.told("First.") == 0);
    elsewhere.codex.allow(&id);
    let text = elsewhere.page.shows(" answered ");
    assert!(text.contains("It is done.") && text.contains("went on"), "{text}");
    assert_eq!((elsewhere.told("First."), elsewhere.codex.effects()), (1, vec!["ran".to_owned()]));
    // Watchers are killed in between.
    let (mut dice, count) = (Dice::new(53), number("PROMPTS", 8));
    for n in 0..count {
        elsewhere.page.sends(&format!("Go on now. Step {n}."));
        std::thread::sleep(Duration::from_millis(dice.roll(1500) as u64));
        let Elsewhere { codex, served, page, watcher } = elsewhere;
        watcher.kill();
        let watcher = codex.world.watch();
        elsewhere = Elsewhere { codex, served, page, watcher };
    }
    let world = &elsewhere.codex.world;
    let all: Vec<Value> = until("each is over", || {
        let names = world.names("prompts");
        let all: Vec<_> = names.iter().map(|name| world.document(&format!("prompts/{name}"))).collect();
        all.iter().all(|prompt| ["answered", "not_arrived"].iter().any(|end| prompt["reached"] == *end)).then_some(all)
    });
    assert_eq!(all.len(), count + 1);
    for prompt in &all {
        let times = elsewhere.told(prompt["words"].as_str().expect("words"));
        assert_eq!(times, usize::from(prompt["reached"] == "answered"), "{prompt}");
    }
    println!("{} of {count} arrived", all.iter().filter(|prompt| prompt["reached"] == "answered").count() - 1);
}

#[test]
fn words_queued_then_stopped_are_told() {
    needs!("acp-agents");
    let mut elsewhere = Elsewhere::begin("workspace-write");
    elsewhere.codex.says("do it", json!([outside("echo ran >> $HOME/effects"), {"text": "It is done."}]));
    elsewhere.codex.waiting();
    elsewhere.page.sends("Go on now.");
    elsewhere.page.shows("kept until the session is idle");
    elsewhere.page.stops();
    let text = elsewhere.page.shows(" answered ");
    assert!(text.contains("stopped") && text.contains("interrupted") && text.contains("went on"), "{text}");
    assert!(elsewhere.codex.effects().is_empty() && elsewhere.told("Go on now.") == 1);
    until("no dialog asks", || elsewhere.codex.world.names("pending").is_empty().then_some(()));
    let events: Vec<_> = elsewhere.codex.world.audited().iter().map(|entry| entry["event"].clone()).collect();
    for event in ["prompt_kept", "stop_kept", "stop_sent", "prompt_sent"] {
        assert_eq!(events.iter().filter(|is| **is == event).count(), 1, "{event} in {events:?}");
    }
    drop((elsewhere.served, elsewhere.watcher));
}

#[test]
fn background_terminal_after_interrupt_is_told() {
    needs!("acp-agents");
    let mut elsewhere = Elsewhere::begin("danger-full-access");
    assert!(!elsewhere.page.see().body.contains("class=\"prompt stop\""), "an idle session has nothing to stop");
    let slow = json!({"tool": "exec_command", "input": {"cmd": "sleep 6; echo late >> $HOME/effects"}});
    elsewhere.codex.says("work", json!([slow, {"text": "It is done."}]));
    until("the command runs", || {
        let started = elsewhere.codex.terminal.awaits("item/started");
        (started["params"]["item"]["type"] == "commandExecution").then_some(())
    });
    elsewhere.page.shows("busy");
    elsewhere.page.stops();
    let text = elsewhere.page.shows("runs on in the background");
    assert!(text.contains("stopped runs on in the background: ") && text.contains("sleep 6"), "{text}");
    let ended = until("the turn ends", || {
        let ended = elsewhere.codex.terminal.awaits("turn/completed");
        (ended["params"]["turn"]["status"] == "interrupted").then_some(ended)
    });
    assert!(ended["params"]["turn"]["error"].is_null(), "{ended}");
    // It is true.
    until("it has run on", || (elsewhere.codex.effects() == ["late"]).then_some(()));
}
