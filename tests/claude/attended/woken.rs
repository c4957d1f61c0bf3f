//! An idle session that is woken by the answer to a question of its own, and by the result of a run that it started.

use std::time::{Duration, Instant};

use serde_json::json;

use super::{Attended, world};
use crate::support::claude::bash;
use crate::support::{ClaudeWorld, needs, until};

/// How soon the model has a turn. The machine of the tests is busy; see `figures` for the promise.
const SOON: Duration = Duration::from_secs(30);

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

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

/// Begins a new conversation in the session, whose screen shows these words before. Waits until the hook of its start has ended.
#[track_caller]
fn clears(session: &Attended<'_>, shown: &str) {
    let world = session.world;
    let watched = || world.names("looked").iter().filter(|name| name.ends_with(".wake")).count();
    let before = watched();
    session.terminal.press(&["/clear", "Enter"]);
    session.terminal.see_no_more(shown);
    until("the new conversation has begun", || watched() > before && world.processes("askbox hook").is_empty());
}

/// A world whose runs may wait for `hold`, and may end without a second attempt.
fn world_of_runs() -> ClaudeWorld {
    let world = world();
    world.reconfigure("[live]", "[relaunch]\nattempts = 1\n[runner.claude]\nallowed_tools = ['Bash(hold:*)', 'Bash(ask-post:*)']\n[live]");
    world.add_hold("hold");
    world
}

const RUNS: [&str; 2] = ["--allowedTools", "Bash(relaunch:*)"];

/// Lets the session start the run `id` in the background, which waits for `hold` and then says its secret.
fn starts<'a>(world: &'a ClaudeWorld, session: &Attended<'a>, id: &str) {
    world.api.on(&format!("Work as {id}."), json!([bash("hold"), {"text": format!("the secret of {id}")}]));
    let command = format!("relaunch spawn --background -w {id} --prompt 'Work as {id}.'");
    world.api.on(&format!("Start {id}."), json!([bash(&command), {"text": format!("{id} has begun")}]));
    session.terminal.press(&[&format!("Start {id}."), "Enter"]);
    session.terminal.see(&format!("{id} has begun"));
    session.idles();
    world.wait_for_hold("hold");
    std::fs::remove_file(world.path("hold.fifo.waits")).expect("it was there");
}

/// Waits until the session is told these news, and has looked for the result of `id`. Returns the words that told it.
#[track_caller]
fn looks(world: &ClaudeWorld, session: &Attended<'_>, id: &str, news: &str) -> String {
    session.terminal.see(&format!("{id} is read"));
    session.idles();
    let turns = world.api.requests_with_text(news);
    let told = turns[0].model_text();
    assert_eq!(told.matches(news).count(), 1, "once: {told}");
    assert!(told.contains("NOT USER INPUT"), "it is no consent: {told}");
    assert!(!told.contains("the secret of"), "a notification has no words of an agent: {told}");
    turns.last().and_then(|turn| turn.tool_results().pop()).expect("it has looked")
}

/// The next time when the session is told these news, it looks for the result.
fn will_look(world: &ClaudeWorld, id: &str, news: &str) {
    world.api.on(news, json!([bash(&format!("relaunch resume {id}")), {"text": format!("{id} is read")}]));
}

#[test]
fn the_result_of_its_run_wakes_the_idle_session_once() {
    let world = world_of_runs();
    let session = Attended::begin_with(&world, "default", &RUNS);
    starts(&world, &session, "one");
    let news = "- one: its run finished (relaunch resume one)";
    will_look(&world, "one", news);
    world.release("hold");
    assert_eq!(looks(&world, &session, "one", news), "the secret of one");
    // Its result has been told. It wakes nobody again, and a prompt does not bring it once more.
    world.api.on("Anything new?", json!([{"text": "nothing new"}]));
    session.terminal.press(&["Anything new?", "Enter"]);
    session.terminal.see("nothing new");
    let last = world.api.turns().pop().expect("a turn");
    assert_eq!(last.model_text().matches(news).count(), 1);
    // The conversation after `/clear` has a file of its own.
    clears(&session, "nothing new");
    starts(&world, &session, "two");
    let news = "- two: its run finished (relaunch resume two)";
    will_look(&world, "two", news);
    world.release("hold");
    assert_eq!(looks(&world, &session, "two", news), "the secret of two");
}

#[test]
fn a_run_that_is_parked_wakes_the_session_that_started_it() {
    let world = world_of_runs();
    let session = Attended::begin_with(&world, "default", &RUNS);
    starts(&world, &session, "one");
    let news = "- one: its run failed or was stopped, and waits for a person (relaunch resume one)";
    will_look(&world, "one", news);
    world.ok("relaunch", &["stop", "one"]);
    let read = looks(&world, &session, "one", news);
    assert!(read.contains("interrupted (one)"), "{read}");
}

fn turns(world: &ClaudeWorld) -> usize {
    world.api.turns().len()
}

#[test]
fn an_answer_after_a_day_wakes_the_idle_session_once() {
    needs!("cc");
    let mut world = world();
    let clock = world.own_clock();
    let session = Attended::begin_with(&world, "default", &ALLOWED);
    asks(&session, "Ask one.", "one");
    let before = turns(&world);
    clock.set_ahead(DAY);
    assert!(wakes(&session, "one") < SOON);
    assert_eq!(turns(&world), before + 1, "one turn");
    let round = &world.rounds("answered", "one")[0];
    let [asked, answered] = [&round["timestamp"], &round["answer"]["at"]].map(super::figures::time_of);
    assert!(answered.duration_since(asked).is_ok_and(|between| between >= DAY), "{round}");
    // The session works on as before, and so does its next question.
    asks(&session, "Ask two.", "two");
    assert!(wakes(&session, "two") < SOON);
}

#[test]
fn a_session_that_ended_leaves_its_answer_to_an_agent() {
    let world = world();
    world.reconfigure("[live]", "[relaunch]\nattempts = 1\n[live]");
    let session = Attended::begin_with(&world, "default", &ALLOWED);
    asks(&session, "Ask one.", "one");
    drop(session);
    world.api.on("User chose: a", json!([{"text": "gone on with a"}]));
    let _watcher = world.watch();
    world.ok("ask-answer", &["one", "a"]);
    assert_eq!(world.wait_state("one", "delivered")["result"], "gone on with a");
    assert_eq!(world.launches().len(), 1);
}

#[test]
fn with_a_checkpoint_an_agent_goes_on_and_its_end_wakes() {
    let world = world();
    world.reconfigure("[live]", "[relaunch]\nattempts = 1\nmode = \"fresh\"\n[live]");
    let args = ["--allowedTools", "Bash(ask-post:*)", "Bash(checkpoint:*)"];
    let session = Attended::begin_with(&world, "default", &args);
    let command = "checkpoint save one --step asked --next-action 'Go on.'";
    world.api.on("Save one.", json!([bash(command), {"text": "one is saved"}]));
    session.terminal.press(&["Save one.", "Enter"]);
    session.terminal.see("one is saved");
    session.idles();
    asks(&session, "Ask one.", "one");
    assert_eq!(world.document("pending/one.json").get("continues_in"), None);
    world.api.on("User chose: a", json!([{"text": "the agent went on"}]));
    let news = "- one: its run finished (relaunch status one)";
    world.api.on(news, json!([{"text": "woken by the end"}]));
    let _watcher = world.watch();
    world.ok("ask-answer", &["one", "a"]);
    session.terminal.see("woken by the end");
    let told: String = world.api.turns().iter().map(|turn| turn.model_text()).collect();
    assert!(!told.contains("- one: was answered"), "the answer itself woke nobody");
    assert_eq!((world.wait_state("one", "delivered")["result"].as_str(), world.launches().len()), (Some("the agent went on"), 1));
}

#[test]
fn an_answer_wakes_no_session_that_nobody_attends() {
    let world = world();
    world.add_hold("hold");
    let steps = json!([bash("ask-post 'Which?' -w one -o a=A -o b=B"), bash("hold"), {"text": "done"}]);
    let plugin = super::plugin();
    let args = ["--plugin-dir", &plugin, "--allowedTools", "Bash(ask-post:*)", "Bash(hold:*)"];
    std::thread::scope(|scope| {
        let session = scope.spawn(|| world.prompt_stream(&format!("@@{steps}"), &args).ok());
        world.wait_for_hold("hold");
        world.ok("ask-answer", &["one", "a"]);
        world.release("hold");
        session.join().expect("it ends");
    });
    let turns = world.api.turns();
    assert_eq!(turns.len(), 3, "no turn but those of its prompt");
    assert!(turns.iter().all(|turn| !turn.model_text().contains("was answered")), "it was not told");
    assert!(world.names("looked").iter().all(|name| !name.ends_with(".wake")), "{:?}", world.names("looked"));
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

#[test]
fn the_first_answer_of_a_fresh_installation_wakes_its_session() {
    let world = world();
    std::fs::remove_dir_all(world.mailbox()).expect("a mailbox");
    let session = Attended::begin_with(&world, "default", &ALLOWED);
    asks(&session, "Ask one.", "one");
    assert!(wakes(&session, "one") < SOON);
}

mod promises {
    use super::*;

    #[test]
    fn an_answer_wakes_its_session_and_starts_no_agent() {
        let world = world();
        let session = Attended::begin_with(&world, "default", &["--allowedTools", "Bash(ask-post:*)", "Bash(relaunch:*)"]);
        asks(&session, "Ask one.", "one");
        assert_eq!(world.document("pending/one.json")["continues_in"], session.session);
        world.api.on("- one: was answered (relaunch prompt one)", json!([bash("relaunch prompt one"), {"text": "gone on with a"}]));
        let _watcher = world.watch();
        world.ok("ask-answer", &["one", "a"]);
        session.terminal.see("gone on with a");
        let took = world.api.turns().pop().expect("a turn").tool_results().pop().expect("the answer");
        assert!(took.contains("User chose: a"), "{took}");
        world.wait_state("one", "delivered");
        let before = turns(&world);
        // The session is not told of an answer that it has taken.
        world.api.on("Anything new?", json!([{"text": "nothing new"}]));
        session.idles();
        session.terminal.press(&["Anything new?", "Enter"]);
        session.terminal.see("nothing new");
        assert_eq!((turns(&world), world.launches().len()), (before + 1, 0));
        let last = world.api.turns().pop().expect("a turn").model_text();
        assert!(!last.contains("took its answer"), "{last}");
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
        clears(&session, "woken by one");
        asks(&session, "Ask two.", "two");
        assert!(wakes(&session, "two") < SOON);
    }
}
