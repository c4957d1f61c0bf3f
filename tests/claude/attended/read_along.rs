//! A session whose conversation somebody reads along on the page.

use serde_json::json;

use super::{Attended, touch, world};

#[test]
fn a_real_session_is_read_along_on_the_page() {
    let world = world();
    let page = world.serve_page();
    let browser = page.signed_in(&world, "ann's phone");
    let calls = json!([{"tool": "Bash", "input": {"command": "echo one; sleep 1"}}, {"tool": "Bash", "input": {"command": "echo two"}}]);
    world.api.on("Say hello.", json!([{"text": "I look", "tools": calls}, {"delay_ms": 1000}, touch("made"), {"text": "hello *there*"}]));
    let session = Attended::begin_with(&world, "default", &["--allowedTools", "Bash(echo:*)", "Bash(sleep:*)"]);
    let list = browser.see("/sessions");
    assert!(list.body.contains(&format!("/session/{}\"", session.session)), "{}", list.text());
    let path = format!("/session/{}", session.session);
    assert!(browser.see(&path).text().contains("Nothing has been said."));
    let mut stream = browser.follow();
    stream.hears("text/event-stream");
    session.terminal.press(&["Say hello.", "Enter"]);
    let id = session.asks();
    // The status of a session tells that its dialog waits.
    let text = shows(&mut stream, &session, || browser.see(&path), "waits at its terminal: permission prompt");
    for words in
        ["You", "Say hello.", "I look", "Bash echo one; sleep 1", "one", "Bash echo two", "two", "Bash touch made", "no result yet"]
    {
        assert!(text.contains(words), "no {words} in {text}");
    }
    assert!(browser.see(&path).body.contains(&format!("/q/{id}/")), "the question of its dialog");
    browser.answer(&world, &id, &[("a0", "0"), ("scope", "once")]);
    let text = shows(&mut stream, &session, || browser.see(&path), "hello there");
    assert!(!text.contains("no result yet") && !text.contains("system-reminder"), "{text}");
    session.idles();
    assert!(shows(&mut stream, &session, || browser.see(&path), "idle").contains("hello there"));
}

/// Follows the page until it shows these words.
fn shows(stream: &mut crate::support::Stream, session: &Attended<'_>, see: impl Fn() -> crate::support::Reply, words: &str) -> String {
    loop {
        let text = see().text();
        if text.contains(words) {
            return text;
        }
        stream.hears(&session.session);
    }
}
