//! What happens to runs that fail, cost and wait: throttling, failure classes, the breaker, the limits on money and turns.
//! With a scripted agent; the figures of the real one are in `main_job/costs.rs`.

use std::process::Stdio;

use crate::support::{Running, World, files, kill, names, output, until};
use serde_json::Value;

/// Says a failed result with these fields.
const ERROR: &str = r#"error() { say "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":true,$1,\"session_id\":\"$session\"}"; }
overloaded() { error '"terminal_reason":"api_error","api_error_status":529,"api_error_type":"overloaded_error","result":"API Error: Repeated 529 Overloaded errors"'; }
paid() { say "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"terminal_reason\":\"completed\",\"session_id\":\"$session\",\"result\":\"done\",\"num_turns\":2,\"total_cost_usd\":9,\"model_usage_since_last_result\":{\"m\":{\"costUSD\":$1,\"inputTokens\":10},\"n\":{\"costUSD\":0.25}}}"; }
n=$(grep -c "^start $ASKBOX_WORKFLOW_ID/" "$AGENT_DIR/log")
"#;

fn world(agent: &str, relaunch: &str, more: &str) -> World {
    let world = World::stepping(&format!("{ERROR}{agent}"));
    world.configure(&format!("{relaunch}\n{more}"));
    world
}

fn summary(world: &World) -> Value {
    serde_json::from_str(&world.ok("relaunch", &["status", "--summary", "--json"])).expect("JSON")
}

/// What the doctor says to do about a queue that is paused.
fn held_up(world: &World) -> String {
    let found: Value = serde_json::from_str(&world.run("askbox", &["doctor", "--json"]).stdout).expect("JSON");
    let paused = found["findings"].as_array().expect("findings").iter().find(|f| f["kind"] == "paused");
    paused.unwrap_or_else(|| panic!("{found:#}"))["mend"].as_str().expect("a command").to_owned()
}

/// The records of a workflow's attempts, in order.
fn records(world: &World, workflow: &str) -> Vec<Value> {
    let mut records = Vec::new();
    let below = |folder: &std::path::Path| names(folder).into_iter().map(|n| folder.join(n)).collect::<Vec<_>>();
    for attempt in below(&world.in_mailbox("runs").join(workflow)).iter().flat_map(|round| below(round)) {
        // Not everything there is a file that can be read to its end.
        if let Ok(bytes) = std::fs::read(attempt.join("run.json")) {
            records.push(serde_json::from_slice::<Value>(&bytes).expect("JSON"));
        }
    }
    records.sort_by_key(|r| (r["question_id"].to_string(), r["attempt"].as_u64()));
    records
}

fn when(record: &Value, field: &str) -> askbox::time::Time {
    askbox::time::parse_rfc3339(record[field].as_str().unwrap_or_else(|| panic!("no {field}: {record}"))).expect("a time")
}

/// Everything that was booked.
fn bookings(world: &World) -> Vec<Value> {
    let files = files(&world.in_mailbox("costs"));
    let text: String = files.values().map(|bytes| String::from_utf8_lossy(bytes).into_owned()).collect();
    text.lines().map(|line| serde_json::from_str(line).expect("a booking is JSON")).collect()
}

fn audited(world: &World, event: &str) -> usize {
    world.audited().iter().filter(|entry| entry["event"] == event).count()
}

#[test]
fn throttled_runs_go_on_in_the_same_session_and_count_as_no_attempts() {
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
fn a_throttled_run_waits_at_least_as_long_as_the_stream_says_and_is_shown_as_throttled() {
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

#[test]
fn a_run_that_stays_throttled_past_the_deadline_is_parked_and_a_retry_has_a_new_deadline() {
    let world = world("[ -e $AGENT_DIR/well ] && work || overloaded", "throttle_deadline = \"2s\"\nattempts = 1", "");
    world.ask_and_answer("docs");
    let _watcher = world.start_watcher();
    let status = world.reaches("docs", "parked");
    assert!(status["why"].as_str().is_some_and(|w| w.contains("529") && w.contains("relaunch.throttle_deadline")), "{status}");
    let before = world.logged("start ");
    assert!(before >= 2, "it was parked without a second try");
    let mut retry = Running::start(world.command("relaunch").args(["retry", "docs"]).stdout(Stdio::null()));
    world.reaches("docs", "throttled");
    std::fs::write(world.agent("well"), "").expect("a file");
    assert!(retry.wait().success(), "the command waits until the watcher has tried again");
    assert_eq!(world.state("docs"), "delivered");
}

#[test]
fn a_failure_that_a_retry_cannot_mend_parks_at_once_with_its_reason_and_what_to_do() {
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
    // Two attempts that fail: the first of them is no last one.
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
    world.reconfigure("\"50ms\"", "\"2s\"");
    world.reconfigure("\"500ms\"", "\"2s\"");
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

#[test]
fn run_after_run_that_fails_pauses_the_queue_and_one_probe_opens_it_again() {
    let relaunch = "attempts = 1\nbreaker_failures = 3\nbreaker_pause = \"3s\"";
    let world = world("[ -e $AGENT_DIR/well ] && work || exit 3", "", "");
    world.configure(relaunch);
    world.reconfigure("max_concurrent = 8", "max_concurrent = 1");
    let workflows = ["a", "b", "c", "d", "e", "f"];
    workflows.iter().for_each(|w| world.ask_and_answer(w));
    let watcher = world.start_watcher();
    until("the queue is paused", || summary(&world)["queue"]["state"] == "paused");
    let paused = summary(&world);
    assert_eq!(held_up(&world), "relaunch go");
    assert_eq!((world.logged("start "), &paused["rounds"]["parked"], &paused["rounds"]["answered"]), (3, &3.into(), &3.into()), "{paused}");
    let waiting = world.status("f");
    assert_eq!(waiting["state"], "answered");
    assert!(waiting["why"].as_str().is_some_and(|w| w.contains("paused") && w.contains("3 runs failed")), "{waiting}");
    assert_eq!(audited(&world, "queue_paused"), 1);
    // It is no secret of one watcher.
    watcher.kill();
    let watcher = world.start_watcher();
    until("the probe fails", || world.logged("start ") == 4);
    assert!(when(&records(&world, "d")[0], "claimed_at") >= when(&paused["queue"], "until"));
    until("the queue is paused again", || audited(&world, "queue_paused") == 2);
    std::fs::write(world.agent("well"), "").expect("a file");
    world.reaches("e", "delivered");
    world.reaches("f", "delivered");
    assert_eq!((summary(&world)["queue"]["state"].as_str(), audited(&world, "queue_resumed")), (Some("open"), 1));
    let log = world.watchers_said();
    for word in ["paused", "probing", "resumed"] {
        assert!(log.contains(word), "{word} is not in the log:\n{log}");
    }
    drop(watcher);
}

#[test]
fn the_pause_after_failures_ends_when_the_operator_says_go() {
    let world = world("[ -e $AGENT_DIR/well ] && work || exit 3", "", "");
    world.configure("attempts = 1\nbreaker_failures = 2\nbreaker_pause = \"2h\"");
    world.reconfigure("max_concurrent = 8", "max_concurrent = 1");
    ["a", "b", "c", "d"].iter().for_each(|w| world.ask_and_answer(w));
    let _watcher = world.start_watcher();
    until("the queue is paused", || summary(&world)["queue"]["state"] == "paused");
    std::fs::write(world.agent("well"), "").expect("a file");
    let said = world.ok("relaunch", &["go"]);
    assert!(said.contains("one run is tried now") && said.contains("2 runs failed"), "{said}");
    world.reaches("c", "delivered");
    world.reaches("d", "delivered");
    assert_eq!(summary(&world)["queue"]["state"], "open");
    assert_eq!(world.ok("relaunch", &["go"]), "the queue was not paused\n");
}

#[test]
fn where_the_days_money_is_used_up_go_says_that_nothing_is_launched_today() {
    let world = world("paid 0.5", "", "[limits]\nday_cost = 0.5\n");
    world.ask_and_answer("docs");
    let _watcher = world.start_watcher();
    world.reaches("docs", "delivered");
    let said = world.run("relaunch", &["go"]).ok();
    assert!(said.stderr.contains("nothing is launched today: limits.day_cost"), "{said:?}");
}

#[test]
fn turns_are_booked_one_by_one_with_their_own_figures() {
    let world = world("paid 0.5", "", "");
    world.ask_and_answer("docs");
    world.ask_and_answer("more");
    let _watcher = world.start_watcher();
    let status = world.reaches("docs", "delivered");
    world.reaches("more", "delivered");
    assert_eq!(status["cost_usd"], 0.75, "the total of 9 is not this turn's");
    let bookings = bookings(&world);
    assert_eq!(bookings.len(), 2, "{bookings:#?}");
    assert!(bookings.iter().all(|b| b["cost_usd"] == 0.75 && b["tokens"]["input"] == 10 && b["turn"] == 1), "{bookings:#?}");
    assert_eq!(summary(&world)["spent_today_usd"], 1.5);
}

#[test]
fn a_days_limit_holds_the_queue_until_the_next_day_and_keeps_the_answers() {
    let world = world("paid 0.5", "", "[limits]\nday_cost = 1.5");
    ["a", "b"].iter().for_each(|w| world.ask_and_answer(w));
    let _watcher = world.start_watcher();
    world.reaches("a", "delivered");
    world.reaches("b", "delivered");
    world.ask_and_answer("c");
    until("it is said", || audited(&world, "queue_paused") == 1);
    let (summary, waiting) = (summary(&world), world.status("c"));
    assert_eq!((&summary["queue"]["state"], &waiting["state"]), (&"paused".into(), &"answered".into()));
    assert!(summary["queue"]["until"].as_str().is_some_and(|u| u.ends_with("T00:00:00Z")), "{summary}");
    assert!(waiting["why"].as_str().is_some_and(|w| w.contains("limits.day_cost = 1.5 USD is used up (1.50 spent)")), "{waiting}");
    assert_eq!(world.logged("start "), 2);
    assert!(held_up(&world).ends_with("config.toml"), "{}", held_up(&world));
    // By hand it is not launched either, and what the next day would start is not parked.
    for by_hand in [&["c"][..], &["run", "--prompt", "do it"]] {
        let out = world.run("relaunch", by_hand);
        assert_eq!(out.status.code(), Some(4), "{out:?}");
        assert!(out.words().contains("limits.day_cost = 1.5 USD is used up") && out.words().contains("T00:00:00"), "{out:?}");
    }
    assert_eq!((world.state("c").as_str(), world.logged("start ")), ("answered", 2));
    assert_eq!(files(&world.in_mailbox("running")).len() + files(&world.in_mailbox("parked")).len(), 0);
    world.reconfigure("day_cost = 1.5", "day_cost = 9");
    world.ok("relaunch", &["c"]);
    assert_eq!(world.state("c"), "delivered");
}

#[test]
fn a_workflow_that_has_used_its_budget_up_is_parked_before_it_is_launched() {
    let world = world("paid 0.5", "", "[limits]\nworkflow_cost = 0.7");
    world.ask_and_answer("docs");
    let _watcher = world.start_watcher();
    world.reaches("docs", "delivered");
    world.ask_and_answer("docs");
    let status = world.reaches("docs", "parked");
    assert_eq!((&status["failure"], world.logged("start ")), (&"budget".into(), 1));
    assert!(status["why"].as_str().is_some_and(|w| w.contains("limits.workflow_cost = 0.7")), "{status}");
    world.configure("[limits]\nworkflow_cost = 5");
    world.ok("relaunch", &["retry", "docs"]);
    assert_eq!(world.state("docs"), "delivered");
}

#[test]
fn the_agent_is_told_what_is_left_and_attempts_of_one_answer_share_it() {
    let world = world(
        "log \"args $*\"\n[ $n = 1 ] && error '\"terminal_reason\":\"odd\",\"result\":\"x\",\"model_usage_since_last_result\":{\"m\":{\"costUSD\":0.3}}' || paid 0.1",
        "",
        "[limits]\nturns = 7\nrun_cost = 1\nday_cost = 20",
    );
    world.ask_and_answer("docs");
    let _watcher = world.start_watcher();
    world.reaches("docs", "delivered");
    let args: Vec<String> = world.log().into_iter().filter(|l| l.starts_with("args ")).collect();
    assert!(args.iter().all(|a| a.contains("--max-turns=7")), "{args:#?}");
    assert!(args[0].contains("--max-budget-usd=1.000000") && args[1].contains("--max-budget-usd=0.700000"), "{args:#?}");
    assert!((world.status("docs")["cost_usd"].as_f64().expect("a cost") - 0.65).abs() < 1e-9);
}

#[test]
fn a_killed_supervisors_turn_is_booked_once_also_where_the_booking_was_lost() {
    for lost in [false, true] {
        let world = world("paid 0.5; step paid", "", "");
        world.hold("paid");
        world.ask_and_answer("docs");
        let _watcher = world.start_watcher();
        until("the agent is paid", || world.is_held("paid") && bookings(&world).len() == 1);
        let [_, supervisor] = world.held("paid");
        if lost {
            files(&world.in_mailbox("costs")).keys().for_each(|path| std::fs::write(path, "{\"torn\n").expect("a file"));
        }
        kill(supervisor);
        world.let_go("paid");
        let status = world.reaches("docs", "delivered");
        assert_eq!((&status["cost_usd"], world.logged("start ")), (&Value::from(0.75), 1), "lost: {lost}");
        assert_eq!(summary(&world)["spent_today_usd"], 0.75, "lost: {lost}");
    }
}

#[test]
fn the_metrics_file_follows_what_happens_and_is_never_torn() {
    let world = world("work", "", "");
    let file = world.path("askbox.prom");
    world.configure(&format!("[metrics]\nfile = \"{}\"", file.display()));
    world.make_mailbox();
    let _watcher = world.start_watcher();
    let figure = |name: &str| {
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(text.is_empty() || text.ends_with('\n') && text.contains("askbox_day_limit_usd 0\n"), "torn: {text}");
        text.lines().find_map(|l| l.strip_prefix(name)?.strip_prefix(' ')?.parse::<f64>().ok())
    };
    until("it is there", || figure("askbox_rounds{state=\"pending\"}") == Some(0.0));
    world.ok("ask-post", &["-w", "docs", "Merge?"]);
    until("the question counts", || figure("askbox_rounds{state=\"pending\"}") == Some(1.0));
    assert!(figure("askbox_oldest_pending_timestamp_seconds").is_some_and(|at| at > 1.7e9));
    world.ok("ask-answer", &["docs", "yes"]);
    until("the run counts", || figure("askbox_runs_ended_total{state=\"delivered\"}") == Some(1.0));
    until("the question is gone", || figure("askbox_rounds{state=\"pending\"}") == Some(0.0));
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&file).expect("it is there").permissions());
    assert_eq!(mode & 0o777, 0o644, "a collector of another user could not read it");
}

#[test]
fn the_log_can_be_read_by_programs() {
    let world = world("work", "", "");
    world.configure("[log]\nformat = \"json\"");
    world.make_mailbox();
    let _watcher = world.start_watcher();
    world.ask_and_answer("docs");
    world.reaches("docs", "delivered");
    let log = world.watchers_said();
    let lines: Vec<Value> = log.lines().map(|l| serde_json::from_str(l).unwrap_or_else(|e| panic!("{e}: {l}"))).collect();
    let launched = lines.iter().find(|l| l["event"] == "launched").unwrap_or_else(|| panic!("{log}"));
    assert_eq!((&launched["level"], &launched["workflow"], &launched["attempt"]), (&"info".into(), &"docs".into(), &1.into()));
    assert!(launched["at"].as_str().is_some_and(|at| askbox::time::parse_rfc3339(at).is_some()));
}
