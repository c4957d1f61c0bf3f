//! A session of codex that is sent its next prompt from the page, and stopped there.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Attended, outside};
use crate::support::{Browser, Dice, Page, Reply, Watcher, needs, number, until};

struct Elsewhere {
    codex: Attended,
    page: Page,
    browser: Browser,
    watcher: Watcher,
}

impl Elsewhere {
    /// A session that has said hello and is idle, and a person at another place.
    fn begin(sandbox: &str) -> Self {
        let mut codex = Attended::begin_in(sandbox, "");
        let (watcher, page) = (codex.world.watch(), codex.world.serve_page());
        let browser = page.signed_in(&codex.world, "ann's phone");
        codex.says("say hello", json!([{"text": "hello there"}]));
        codex.terminal.awaits("turn/completed");
        codex.api.on("Go on now.", json!([{"text": "went on"}]));
        let elsewhere = Self { codex, page, browser, watcher };
        elsewhere.shows("hello there");
        elsewhere.shows("idle");
        elsewhere
    }

    fn place(&self) -> String {
        format!("/session/{}", self.codex.thread)
    }

    /// Waits until the session's page shows these words.
    #[track_caller]
    fn shows(&self, words: &str) -> String {
        until(words, || Some(self.browser.see(&self.place()).text()).filter(|text| text.contains(words)))
    }

    /// Presses the button of the form with this class.
    #[track_caller]
    fn presses(&self, class: &str, more: &[(&str, &str)], to: &str) -> Reply {
        let page = until("the form", || Some(self.browser.see(&self.place())).filter(|page| page.body.contains(class)));
        let form = page.body.split(class).nth(1).expect("a form");
        let id = form.split("name=\"prompt\" value=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("an id");
        let token = page.hidden("form").expect("a token");
        self.browser.post(&format!("{}{to}", self.place()), &[&[("form", token.as_str()), ("prompt", id)], more].concat())
    }

    #[track_caller]
    fn sends(&self, words: &str) {
        assert_eq!(self.presses("class=\"answer prompt\"", &[("words", words)], "").status, 303);
    }

    #[track_caller]
    fn stops(&self) {
        assert_eq!(self.presses("class=\"prompt stop\"", &[], "/stop").status, 303);
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
    elsewhere.shows("waits at its terminal");
    elsewhere.sends("Go on now. First.");
    elsewhere.shows("kept until the session is idle");
    assert!(elsewhere.codex.effects().is_empty() && elsewhere.told("First.") == 0);
    elsewhere.codex.allow(&id);
    let text = elsewhere.shows(" answered ");
    assert!(text.contains("It is done.") && text.contains("went on"), "{text}");
    assert_eq!((elsewhere.told("First."), elsewhere.codex.effects()), (1, vec!["ran".to_owned()]));
    // Watchers are killed in between.
    let (mut dice, count) = (Dice::new(53), number("PROMPTS", 8));
    for n in 0..count {
        elsewhere.sends(&format!("Go on now. Step {n}."));
        std::thread::sleep(Duration::from_millis(dice.roll(1500) as u64));
        let Elsewhere { codex, page, browser, watcher } = elsewhere;
        watcher.kill();
        let watcher = codex.world.watch();
        elsewhere = Elsewhere { codex, page, browser, watcher };
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
    elsewhere.sends("Go on now.");
    elsewhere.shows("kept until the session is idle");
    elsewhere.stops();
    let text = elsewhere.shows(" answered ");
    assert!(text.contains("stopped") && text.contains("interrupted") && text.contains("went on"), "{text}");
    assert!(elsewhere.codex.effects().is_empty() && elsewhere.told("Go on now.") == 1);
    until("no dialog asks", || elsewhere.codex.world.names("pending").is_empty().then_some(()));
    let events: Vec<_> = elsewhere.codex.world.audited().iter().map(|entry| entry["event"].clone()).collect();
    for event in ["prompt_kept", "stop_kept", "stop_sent", "prompt_sent"] {
        assert_eq!(events.iter().filter(|is| **is == event).count(), 1, "{event} in {events:?}");
    }
    drop((elsewhere.page, elsewhere.watcher));
}

#[test]
fn background_terminal_after_interrupt_is_told() {
    needs!("acp-agents");
    let mut elsewhere = Elsewhere::begin("danger-full-access");
    assert!(!elsewhere.browser.see(&elsewhere.place()).body.contains("class=\"prompt stop\""), "an idle session has nothing to stop");
    let slow = json!({"tool": "exec_command", "input": {"cmd": "sleep 6; echo late >> $HOME/effects"}});
    elsewhere.codex.says("work", json!([slow, {"text": "It is done."}]));
    until("the command runs", || {
        let started = elsewhere.codex.terminal.awaits("item/started");
        (started["params"]["item"]["type"] == "commandExecution").then_some(())
    });
    elsewhere.shows("busy");
    elsewhere.stops();
    let text = elsewhere.shows("runs on in the background");
    assert!(text.contains("stopped runs on in the background: ") && text.contains("sleep 6"), "{text}");
    let ended = until("the turn ends", || {
        let ended = elsewhere.codex.terminal.awaits("turn/completed");
        (ended["params"]["turn"]["status"] == "interrupted").then_some(ended)
    });
    assert!(ended["params"]["turn"]["error"].is_null(), "{ended}");
    // It is true.
    until("it has run on", || (elsewhere.codex.effects() == ["late"]).then_some(()));
}
