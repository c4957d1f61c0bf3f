//! The news of a run for people and programs: its status, its events in words, the last event, and hints that fit. With a scripted agent.

use crate::support::{Terminal, World, needs, until};
use serde_json::{Value, json};

/// An agent whose API refuses with this status.
fn refused(status: u16) -> String {
    let result = json!({"type": "result", "subtype": "success", "is_error": true, "terminal_reason": "api_error",
        "api_error_status": status, "result": format!("API Error: {status} refused")});
    format!("say '{result}'\n")
}

/// The agent's word that it tries a request again, `null` without a response.
fn api_retry(status: &Value, error: &str) -> String {
    let line = json!({"type": "system", "subtype": "api_retry", "attempt": 1, "max_retries": 10, "retry_delay_ms": 600,
        "error_status": status, "error": error});
    format!("say '{line}'\n")
}

/// A world with an answered question of `docs`, whose agent does this. A failed attempt is tried again after an hour.
fn world(body: &str) -> World {
    let world = World::stepping(body);
    world.reconfigure("backoff = \"50ms\"\nbackoff_max = \"500ms\"", "backoff = \"1h\"\nbackoff_max = \"1h\"");
    world.ask_and_answer("docs");
    world
}

fn events(world: &World) -> Vec<Value> {
    world.ok("relaunch", &["events", "docs"]).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn a_refused_key_is_no_throttling() {
    let world = world(&format!("{}step retry\n{}", api_retry(&json!(401), "authentication_failed"), refused(401)));
    world.hold("retry");
    let _watcher = world.start_watcher();
    world.held("retry");
    let doing = until("it tries again", || Some(world.status("docs")["live"].clone()).filter(|l| l["doing"] == "retrying"));
    assert_eq!(doing["words"], "retrying(401, retry 1, 0.6s)");
    world.let_go("retry");
    let status = world.reaches("docs", "parked");
    assert_eq!(status["failure"], "authentication");
    let events = events(&world);
    assert!(events.iter().any(|e| e["type"] == "retrying" && e["status"] == 401 && e["max_retries"] == 10), "{events:#?}");
    assert!(!events.iter().any(|e| e["type"] == "throttled"), "{events:#?}");
    assert!(world.ok("relaunch", &["logs", "docs"]).contains("retrying  401 authentication_failed, retry 1 in 0.6s"));
}

#[test]
fn a_retry_by_hand_of_a_run_without_a_process_is_told() {
    let world = world("exit 3");
    let _watcher = world.start_watcher();
    let status = world.reaches("docs", "retrying");
    assert_eq!(status["live"]["doing"], "ended", "{status:#}");
    let words = world.ok("relaunch", &["status", "docs"]);
    assert!(!words.contains("doing"), "{words}");
    let refused = world.run("relaunch", &["retry", "docs"]);
    assert_eq!(refused.status.code(), Some(4), "{}", refused.words());
    assert!(refused.words().contains("a watcher runs it again by itself; to run it now: relaunch docs"), "{}", refused.words());
}

#[test]
fn an_answer_of_a_main_agent_is_not_thought_about() {
    let world = world("work");
    world.ok("relaunch", &["prompt", "docs"]);
    let status = world.status("docs");
    assert_eq!((&status["state"], &status["live"]["doing"]), (&json!("delivered"), &json!("ended")), "{status:#}");
    assert!(!world.ok("relaunch", &["status", "docs"]).contains("thinking"));
}

#[test]
fn attempts_add_up_in_words_after_a_retry_by_hand() {
    let world = world("exit 3");
    world.reconfigure("max_concurrent = 8", "max_concurrent = 8\nattempts = 1");
    world.run("relaunch", &["docs"]);
    world.reaches("docs", "parked");
    world.run("relaunch", &["retry", "docs"]);
    let why = until("the second attempt", || Some(world.status("docs")).filter(|s| s["attempt"] == 2 && s["state"] == "parked"));
    let why = why["why"].as_str().expect("a reason");
    assert!(why.ends_with("(2 attempts have failed; relaunch.attempts = 1)"), "{why}");
}

#[test]
fn a_retry_waits_for_the_process_that_parked_the_round() {
    let world = world("exit 3");
    world.reconfigure("max_concurrent = 8", "max_concurrent = 8\nattempts = 1");
    world.run("relaunch", &["docs"]);
    let status = world.reaches("docs", "parked");
    let question = status["question_id"].as_str().expect("an id");
    // A supervisor holds this lock until its log is complete.
    let lock = std::fs::File::open(world.in_mailbox(format!("runs/docs/{question}/lock"))).expect("the lock");
    lock.lock().expect("it is free");
    let retried = std::thread::scope(|scope| {
        let retried = scope.spawn(|| world.run("relaunch", &["retry", "docs"]));
        std::thread::sleep(std::time::Duration::from_millis(500));
        lock.unlock().expect("it is ours");
        retried.join().expect("it ends")
    });
    assert!(!retried.stderr.contains("live run"), "{retried:?}");
    assert_eq!((&world.status("docs")["attempt"], world.state("docs").as_str()), (&2.into(), "parked"));
}

#[test]
fn events_have_utc_in_a_pipe_and_local_time_on_a_terminal() {
    needs!("tmux");
    let world = world("work");
    world.ok("relaunch", &["docs"]);
    let at = events(&world).into_iter().find(|e| e["type"] == "tool_result").expect("it")["at"].as_str().expect("a time").to_owned();
    let words = world.ok("relaunch", &["logs", "docs"]);
    assert!(words.contains(&format!("{at}  output    done (4 bytes)\n")), "{words}");
    assert!(words.lines().last().is_some_and(|l| l.ends_with("  result    done (1 turn, $0.0000)")), "{words}");
    // Five and a half hours ahead of UTC, without a table of zones.
    let terminal = Terminal::running(&world, (100, 40), &["TZ=XST-5:30"], &["sh", "-c", "relaunch logs docs; read wait"]);
    let utc = askbox::time::parse_rfc3339(&at).expect("a time");
    let local = (utc + chrono::TimeDelta::minutes(330)).format("%H:%M:%S").to_string();
    terminal.see(&format!("{local}  output    done (4 bytes)"));
}

#[test]
fn the_watchers_log_says_how_each_attempt_ended_and_why() {
    let world = world("if [ $ASKBOX_WORKFLOW_ID = good ]; then work; else exit 3; fi");
    world.reconfigure("max_concurrent = 8", "max_concurrent = 8\nattempts = 2");
    world.reconfigure("backoff = \"1h\"\nbackoff_max = \"1h\"", "backoff = \"50ms\"\nbackoff_max = \"50ms\"");
    world.ask_and_answer("good");
    let watcher = world.watch();
    watcher.says("delivered  good  attempt 1");
    let failed = watcher.says("failed    docs  attempt 1: ");
    assert!(failed.contains("warning: "), "{failed}");
    let parked = watcher.says("parked    docs  attempt 2: ");
    assert!(parked.contains("warning: ") && parked.ends_with("; see: relaunch status docs"), "{parked}");
    watcher.stop();
}

mod promises {
    use super::*;

    #[test]
    fn the_last_event_of_a_throttled_attempt_has_the_api_status() {
        let world = world(&refused(529));
        let _watcher = world.start_watcher();
        let status = world.reaches("docs", "throttled");
        assert!(status["live"]["words"].as_str().is_some_and(|w| w.starts_with("throttled(529, retry 1, ")), "{status:#}");
        let last = events(&world).pop().expect("an event");
        assert_eq!((&last["type"], &last["status"]), (&json!("throttled"), &json!(529)), "{last}");
        let words = world.ok("relaunch", &["logs", "docs"]);
        assert!(
            words.lines().last().is_some_and(|l| l.contains("throttled API error 529: API Error: 529 refused, retry 1 in ")),
            "{words}"
        );
    }

    #[test]
    fn no_response_is_told_as_a_failed_connection() {
        let world = world(&format!("{}step retry\n{}", api_retry(&Value::Null, "unknown"), refused(429)));
        world.hold("retry");
        let _watcher = world.start_watcher();
        world.held("retry");
        let doing = until("it is throttled", || Some(world.status("docs")["live"].clone()).filter(|l| l["doing"] == "throttled"));
        assert_eq!(doing["words"], "throttled(connection failed, retry 1, 0.6s)");
        assert!(world.ok("relaunch", &["logs", "docs"]).contains("throttled connection failed, retry 1 in 0.6s"));
        world.let_go("retry");
        world.reaches("docs", "throttled");
    }
}
