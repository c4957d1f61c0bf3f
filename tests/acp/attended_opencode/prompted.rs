//! A session of opencode that is sent its next prompt from the page, and stopped there.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Attended, DIALOG, shell};
use crate::support::{Dice, Page, SessionPage, Terminal, Watcher, number, until};

impl Attended {
    /// A session that has said hello in the mode that only plans, and a person at another place.
    fn begin_elsewhere(&self) -> (Terminal<'_>, Watcher, Page, SessionPage) {
        let (watcher, served) = (self.world.watch(), self.world.serve_page());
        let browser = served.signed_in(&self.world, "ann's phone");
        let terminal = self.terminal();
        terminal.burst(&["Tab"]);
        terminal.see("Plan ·");
        self.says(&terminal, "say hello", json!([{"text": "hello there"}]));
        let link = until("the session is listed", || {
            let list = browser.see("/sessions").body;
            Some(list.split("/session/").nth(1)?.split(['"', '?']).next()?.to_owned())
        });
        let page = SessionPage { browser, session: link };
        page.shows("hello there");
        page.shows("idle");
        let listed = self.world.ok("askbox", &["sessions"]);
        assert!(listed.contains("opencode") && listed.contains("idle"), "{listed}");
        self.api.on("Go on now.", json!([{"text": "went on"}]));
        (terminal, watcher, served, page)
    }

    /// How often the model has these words in its newest request.
    fn has_told(&self, words: &str) -> usize {
        self.api.told().pop().unwrap_or_default().iter().filter(|text| text.contains(words)).count()
    }

    fn prompts(&self) -> Vec<Value> {
        self.world.names("prompts").iter().map(|name| self.world.document(&format!("prompts/{name}"))).collect()
    }
}

#[test]
#[ignore = "tests/run agents runs it"]
fn opencode_id_sorts_last() {
    let opencode = Attended::begin();
    let (terminal, mut watcher, served, page) = opencode.begin_elsewhere();
    // At a dialog, the words are kept, and answer nothing. A draft stays one.
    opencode.says(&terminal, "do it", json!([shell("echo ran >> $HOME/effects"), {"text": "It is done."}]));
    let id = opencode.waiting();
    page.shows("waits at its terminal");
    page.sends("Go on now. First.");
    page.shows("kept until the session is idle");
    assert!(opencode.effects().is_empty() && opencode.has_told("First.") == 0);
    opencode.allow(&id);
    let text = page.shows(" answered ");
    assert!(text.contains("It is done.") && text.contains("went on"), "{text}");
    assert_eq!((opencode.has_told("First."), opencode.effects()), (1, vec!["ran".to_owned()]));
    terminal.burst(&["half a draft"]);
    terminal.see("half a draft");
    // Watchers are killed in between.
    let (mut dice, count) = (Dice::new(53), number("PROMPTS", 8));
    for n in 0..count {
        page.sends(&format!("Go on now. Step {n}."));
        std::thread::sleep(Duration::from_millis(dice.roll(1500) as u64));
        watcher.kill();
        watcher = opencode.world.watch();
    }
    let all = until("each is over", || {
        let all = opencode.prompts();
        all.iter().all(|prompt| ["answered", "not_arrived"].iter().any(|end| prompt["reached"] == *end)).then_some(all)
    });
    assert_eq!(all.len(), count + 1);
    for prompt in &all {
        let times = opencode.has_told(prompt["words"].as_str().expect("words"));
        assert_eq!(times, usize::from(prompt["reached"] == "answered"), "{prompt}");
    }
    println!("{} of {count} arrived", all.iter().filter(|prompt| prompt["reached"] == "answered").count() - 1);
    // The mode that the person has chosen is left by nobody else, and the draft is there.
    let screen = terminal.screen();
    assert!(screen.contains("Plan ·") && !screen.contains("Build ·") && screen.contains("half a draft"), "{screen}");
    drop((served, watcher));
}

#[test]
#[ignore = "tests/run agents runs it"]
fn left_over_permission_is_withdrawn() {
    let opencode = Attended::begin();
    let (terminal, watcher, served, page) = opencode.begin_elsewhere();
    assert!(!page.see().body.contains("class=\"prompt stop\""), "an idle session has nothing to stop");
    opencode.says(&terminal, "do it", json!([shell("echo ran >> $HOME/effects"), {"text": "It is done."}]));
    terminal.see(DIALOG);
    let id = opencode.waiting();
    page.sends("Go on now.");
    page.shows("kept until the session is idle");
    page.stops();
    let text = page.shows(" answered ");
    assert!(text.contains("stopped") && text.contains("interrupted") && text.contains("went on"), "{text}");
    opencode.world.closed(&id, "withdrawn", 1);
    terminal.see("went on");
    assert!(!terminal.screen().contains(DIALOG), "{}", terminal.screen());
    assert!(opencode.effects().is_empty() && opencode.has_told("Go on now.") == 1);
    let events: Vec<_> = opencode.world.audited().iter().map(|entry| entry["event"].clone()).collect();
    for event in ["prompt_kept", "stop_kept", "stop_sent", "prompt_sent"] {
        assert_eq!(events.iter().filter(|is| **is == event).count(), 1, "{event} in {events:?}");
    }
    drop((served, watcher));
}
