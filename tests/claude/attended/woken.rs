//! An idle session that is woken by the answer to a question of its own.

use std::time::{Duration, Instant};

use serde_json::json;

use super::{Attended, world};
use crate::support::claude::bash;
use crate::support::{ClaudeWorld, until};

/// How soon the model has a turn. The machine of the tests is busy; see `figures` for the promise.
const SOON: Duration = Duration::from_secs(10);

const ALLOWED: [&str; 2] = ["--allowedTools", "Bash(ask-post:*)"];

/// Lets the session ask, and waits until its turn is over.
fn asks(session: &Attended<'_>, prompt: &str, id: &str) {
    let command = format!("ask-post 'Which?' -w {id} -o a=A -o b=B");
    session.world.api.on(prompt, json!([bash(&command), {"text": format!("{id} is asked")}]));
    session.terminal.press(&[prompt, "Enter"]);
    session.terminal.see(&format!("{id} is asked"));
    session.idles();
}

/// Answers the question, and returns how long it took until the model had a turn with the news.
fn wakes(session: &Attended<'_>, id: &str) -> Duration {
    session.world.api.on(&format!("{id}: was answered"), json!([{"text": format!("woken by {id}")}]));
    let begun = Instant::now();
    session.world.ok("ask-answer", &[id, "a"]);
    let told = until("the session is told", || {
        session.world.api.turns().into_iter().map(|turn| turn.model_text()).find(|text| text.contains(&format!("{id}: was answered")))
    });
    let took = begun.elapsed();
    assert!(told.contains("NOT USER INPUT"), "it is no consent: {told}");
    session.terminal.see(&format!("woken by {id}"));
    session.idles();
    println!("woken after {took:?}");
    took
}

fn turns(world: &ClaudeWorld) -> usize {
    world.api.turns().len()
}

#[test]
fn an_answer_wakes_the_idle_session_that_asked() {
    let world = world();
    let session = Attended::begin_with(&world, "default", &ALLOWED);
    asks(&session, "Ask one.", "one");
    // A question of somebody else is no reason for a turn.
    world.ok("ask-post", &["-w", "other", "Which?", "-o", "a"]);
    world.ok("ask-answer", &["other", "a"]);
    let before = turns(&world);
    assert!(wakes(&session, "one") < SOON);
    let told = world.api.turns().split_off(before);
    assert_eq!(told.len(), 1, "one turn, without a request before");
    assert!(told[0].model_text().contains("other: was answered"), "what is new besides is told with it");
    session.terminal.press(&["/clear", "Enter"]);
    session.terminal.see_no_more("woken by one");
    asks(&session, "Ask two.", "two");
    assert!(wakes(&session, "two") < SOON);
}

#[test]
fn without_live_sessions_nothing_wakes_a_session() {
    let world = world();
    world.configure("");
    let session = Attended::begin_with(&world, "default", &ALLOWED);
    asks(&session, "Ask one.", "one");
    let before = turns(&world);
    world.ok("ask-answer", &["one", "a"]);
    assert!(world.names("looked").iter().all(|name| !name.ends_with(".wake")), "{:?}", world.names("looked"));
    assert_eq!(turns(&world), before);
}
