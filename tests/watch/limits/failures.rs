//! Failures and attempts: throttling, classes of failures, back-off.

use super::*;

#[test]
fn a_run_throttled_past_its_deadline_is_parked() {
    let world = world("[ -e $AGENT_DIR/well ] && work || overloaded", "throttle_deadline = \"8s\"\nattempts = 1\nbreaker_failures = 0", "");
    world.ask_and_answer("docs");
    let _watcher = world.start_watcher();
    let status = world.reaches("docs", "parked");
    assert!(status["why"].as_str().is_some_and(|w| w.contains("529") && w.contains("relaunch.throttle_deadline")), "{status}");
    let before = world.logged("start ");
    assert!(before >= 2, "it was parked without a second try");
    world.reconfigure("throttle_deadline = \"8s\"", "throttle_deadline = \"1h\"");
    let mut retry = Running::start(world.command("relaunch").args(["retry", "docs"]).stdout(Stdio::null()));
    world.reaches("docs", "throttled");
    std::fs::write(world.agent("well"), "").expect("a file");
    assert!(retry.wait().success(), "the command waits until the watcher has tried again");
    assert_eq!(world.state("docs"), "delivered");
}

#[test]
fn a_failure_beyond_mending_parks_at_once_with_its_reason() {
    let api = |status: u16, kind: &str, text: &str| {
        format!("\"terminal_reason\":\"api_error\",\"api_error_status\":{status},\"api_error_type\":\"{kind}\",\"result\":\"{text}\"")
    };
    let cases = [
        ("key", api(401, "authentication_error", "invalid x-api-key"), "authentication", "log in"),
        ("money", api(400, "invalid_request_error", "Your credit balance is too low"), "billing", "settle"),
        ("wrong", api(400, "invalid_request_error", "messages: bad"), "invalid_request", "API's message"),
        ("long", "\"terminal_reason\":\"blocking_limit\",\"result\":\"Prompt is too long\"".into(), "too_long", "shorten"),
        ("turns", "\"terminal_reason\":\"max_turns\"".into(), "turns", "limits.turns"),
        ("budget", "\"terminal_reason\":\"budget_exhausted\"".into(), "budget", "raise the limit"),
    ];
    let world = world("error \"$(cat \"$AGENT_DIR/say.$ASKBOX_WORKFLOW_ID\")\"", "breaker_failures = 0", "");
    for (workflow, fields, ..) in &cases {
        std::fs::write(world.agent(&format!("say.{workflow}")), fields).expect("a file");
        world.ask_and_answer(workflow);
    }
    let _watcher = world.start_watcher();
    for (workflow, _, class, todo) in &cases {
        let status = world.reaches(workflow, "parked");
        assert_eq!((&status["failure"], &status["attempt"]), (&Value::from(*class), &Value::from(1)), "{status}");
        assert!(status["todo"].as_str().is_some_and(|t| t.contains(todo)), "{status}");
        assert!(status["why"].as_str().is_some_and(|w| !w.is_empty()), "{status}");
    }
    assert_eq!(world.logged("start "), cases.len());
}

#[test]
fn the_same_failure_three_times_parks_although_attempts_remain() {
    let world = world("echo \"boom $$ at /tmp/x$$\" >&2; exit 3", "attempts = 50\nsame_failure = 3", "");
    world.ask_and_answer("docs");
    let _watcher = world.start_watcher();
    let status = world.reaches("docs", "parked");
    assert_eq!(world.logged("start "), 3);
    assert!(status["why"].as_str().is_some_and(|w| w.contains("boom") && w.contains("the same failure 3 times in a row")), "{status}");
}

#[test]
fn stopped_attempts_do_not_count_as_attempts() {
    let world = world("[ -e $AGENT_DIR/well ] && { echo \"boom $n\" | tr 0-9 a-j >&2; exit 3; }\nstep tool\nwork", "attempts = 2", "");
    let fine = world.agent("pause.tool");
    std::fs::write(&fine, "").expect("a file");
    world.ask_and_answer("docs");
    for stopped in 1..=3 {
        let run = std::thread::spawn({
            let mut command = world.command("relaunch");
            move || output(command.arg("docs"))
        });
        until("it is at work", || world.logged("start ") == stopped && world.status("docs")["live"]["doing"] == "thinking");
        world.ok("relaunch", &["stop", "docs", "--now"]);
        assert!(!run.join().expect("no panic").status.success());
        assert_eq!(world.state("docs"), "interrupted");
    }
    std::fs::write(world.agent("well"), "").expect("a file");
    // Two attempts that fail: the first of them is not the last one.
    let out = world.run("relaunch", &["docs"]);
    assert_eq!(out.code(), 1, "{out:?}");
    let status = world.status("docs");
    assert!(status["why"].as_str().is_some_and(|w| w.contains("attempt 2 of 2")), "{status}");
    assert_eq!(world.logged("start "), 5);
}

#[test]
fn failures_that_differ_use_all_attempts_up() {
    let words = "[ $((n % 2)) = 0 ] && echo even >&2 || echo odd >&2; exit 3";
    let world = world(words, "attempts = 5\nsame_failure = 2", "");
    world.ask_and_answer("docs");
    let _watcher = world.start_watcher();
    let status = world.reaches("docs", "parked");
    assert_eq!(world.logged("start "), 5);
    assert!(status["why"].as_str().is_some_and(|w| w.contains("attempt 5 of 5")), "{status}");
}

#[test]
fn attempts_and_back_off_survive_a_watcher_that_is_killed() {
    let world = world("exit 3", "attempts = 2\nsame_failure = 0", "");
    world.reconfigure("\"50ms\"", "\"15s\"");
    world.reconfigure("\"500ms\"", "\"15s\"");
    world.ask_and_answer("docs");
    let watcher = world.start_watcher();
    world.reaches("docs", "retrying");
    watcher.kill();
    let _watcher = world.start_watcher();
    world.reaches("docs", "parked");
    let records = records(&world, "docs");
    assert_eq!(records.len(), 2, "{records:#?}");
    assert!(when(&records[1], "claimed_at") >= when(&records[0], "retry_at"), "{records:#?}");
}

mod promises {
    use super::*;

    #[test]
    fn throttled_runs_keep_their_session_and_count_no_attempts() {
        let world = world("[ $n -gt 4 ] && work || overloaded", "attempts = 2\nsame_failure = 2", "");
        world.ask_and_answer("docs");
        let _watcher = world.start_watcher();
        let status = world.reaches("docs", "delivered");
        let records = records(&world, "docs");
        assert_eq!((records.len(), &status["attempt"]), (5, &Value::from(5)));
        assert!(records.iter().all(|r| r["session_id"] == records[0]["session_id"]), "{records:#?}");
        assert!(records[..4].iter().all(|r| r["state"] == "failed" && r["failure"]["class"] == "throttled"), "{records:#?}");
        assert_eq!((world.logged("shown "), world.logged("violation")), (1, 0), "{:#?}", world.log());
        assert_eq!(audited(&world, "throttled"), 4);
    }

    #[test]
    fn a_throttled_run_waits_as_long_as_the_stream_says() {
        let retry = r#"say '{"type":"system","subtype":"api_retry","attempt":1,"max_retries":1,"retry_delay_ms":90000,"error_status":429,"error":"rate_limit"}'"#;
        let world = world(&format!("{retry}\noverloaded"), "", "");
        world.ask_and_answer("docs");
        let _watcher = world.start_watcher();
        let status = world.reaches("docs", "throttled");
        assert_eq!(status["failure"], "throttled");
        let record = &records(&world, "docs")[0];
        let wait = when(record, "retry_at") - when(record, "ended_at");
        assert!((90..100).contains(&wait.num_seconds()), "{wait}");
        let events = world.ok("relaunch", &["events", "docs"]);
        let last: Value = serde_json::from_str(events.lines().last().expect("events")).expect("JSON");
        assert_eq!(last["type"], "throttled", "{events}");
        assert!(last["delay_ms"].as_u64().is_some_and(|ms| ms > 80_000), "{last}");
    }
}
