//! What happens to runs that fail, cost and wait: throttling, failure classes, the breaker, the limits on money and turns.
//! With a scripted agent; the figures of the real one are in `main_job/costs.rs`.

use crate::support::faults::{self, Place, Running, until};
use serde_json::Value;

/// Says a failed result with these fields.
const ERROR: &str = r#"error() { say "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":true,$1,\"session_id\":\"$session\"}"; }
overloaded() { error '"terminal_reason":"api_error","api_error_status":529,"api_error_type":"overloaded_error","result":"API Error: Repeated 529 Overloaded errors"'; }
paid() { say "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"terminal_reason\":\"completed\",\"session_id\":\"$session\",\"result\":\"done\",\"num_turns\":2,\"total_cost_usd\":9,\"model_usage_since_last_result\":{\"m\":{\"costUSD\":$1,\"inputTokens\":10},\"n\":{\"costUSD\":0.25}}}"; }
n=$(grep -c "^start $ASKBOX_WORKFLOW_ID/" "$AGENT_DIR/log")
"#;

fn place(agent: &str, relaunch: &str, more: &str) -> Place {
    let place = Place::with(&format!("{ERROR}{agent}"));
    place.configure(&format!("{relaunch}\n{more}"));
    place
}

fn answered(place: &Place, workflow: &str) {
    place.ok("ask-post", &["-w", workflow, "Merge?", "-o", "a=A"]);
    place.ok("ask-answer", &[workflow, "a"]);
}

#[track_caller]
fn reaches(place: &Place, workflow: &str, state: &str) -> Value {
    until(&format!("{workflow} is {state}"), || place.state(workflow) == state);
    status(place, workflow)
}

fn status(place: &Place, workflow: &str) -> Value {
    serde_json::from_str(&place.ok("relaunch", &["status", workflow, "--json"])).expect("JSON")
}

fn summary(place: &Place) -> Value {
    serde_json::from_str(&place.ok("relaunch", &["status", "--summary", "--json"])).expect("JSON")
}

/// The records of a workflow's attempts, in order.
fn records(place: &Place, workflow: &str) -> Vec<Value> {
    let mut records = Vec::new();
    let below = |folder: &std::path::Path| faults::names(folder).into_iter().map(|n| folder.join(n)).collect::<Vec<_>>();
    for attempt in below(&place.mailbox().join("runs").join(workflow)).iter().flat_map(|round| below(round)) {
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
fn bookings(place: &Place) -> Vec<Value> {
    let files = faults::files(&place.mailbox().join("costs"));
    let text: String = files.values().map(|bytes| String::from_utf8_lossy(bytes).into_owned()).collect();
    text.lines().map(|line| serde_json::from_str(line).expect("a booking is JSON")).collect()
}

fn audited(place: &Place, event: &str) -> usize {
    let text = std::fs::read_to_string(place.mailbox().join("audit.jsonl")).expect("audit.jsonl");
    text.lines().filter(|l| serde_json::from_str::<Value>(l).expect("JSON")["event"] == event).count()
}

fn watched(place: &Place) -> Running {
    place.watcher()
}

#[test]
fn throttled_runs_go_on_in_the_same_session_and_count_as_no_attempts() {
    let place = place("[ $n -gt 4 ] && work || overloaded", "attempts = 2\nsame_failure = 2", "");
    answered(&place, "docs");
    let _watcher = watched(&place);
    let status = reaches(&place, "docs", "delivered");
    let records = records(&place, "docs");
    assert_eq!((records.len(), &status["attempt"]), (5, &Value::from(5)));
    assert!(records.iter().all(|r| r["session_id"] == records[0]["session_id"]), "{records:#?}");
    assert!(records[..4].iter().all(|r| r["state"] == "failed" && r["failure"]["class"] == "throttled"), "{records:#?}");
    assert_eq!((place.logged("shown "), place.logged("violation")), (1, 0), "{:#?}", place.log());
    assert_eq!(audited(&place, "throttled"), 4);
}

#[test]
fn a_throttled_run_waits_at_least_as_long_as_the_stream_says_and_is_shown_as_throttled() {
    let retry = r#"say '{"type":"system","subtype":"api_retry","attempt":1,"max_retries":1,"retry_delay_ms":90000,"error_status":429,"error":"rate_limit"}'"#;
    let place = place(&format!("{retry}\noverloaded"), "", "");
    answered(&place, "docs");
    let _watcher = watched(&place);
    let status = reaches(&place, "docs", "throttled");
    assert_eq!(status["failure"], "throttled");
    let record = &records(&place, "docs")[0];
    let wait = when(record, "retry_at") - when(record, "ended_at");
    assert!((90..100).contains(&wait.num_seconds()), "{wait}");
    let events = place.ok("relaunch", &["events", "docs"]);
    let last: Value = serde_json::from_str(events.lines().last().expect("events")).expect("JSON");
    assert_eq!(last["type"], "throttled", "{events}");
    assert!(last["delay_ms"].as_u64().is_some_and(|ms| ms > 80_000), "{last}");
}

#[test]
fn a_run_that_stays_throttled_past_the_deadline_is_parked_and_a_retry_has_a_new_deadline() {
    let place = place("[ -e $AGENT_DIR/well ] && work || overloaded", "throttle_deadline = \"2s\"\nattempts = 1", "");
    answered(&place, "docs");
    let _watcher = watched(&place);
    let status = reaches(&place, "docs", "parked");
    assert!(status["why"].as_str().is_some_and(|w| w.contains("529") && w.contains("relaunch.throttle_deadline")), "{status}");
    let before = place.logged("start ");
    assert!(before >= 2, "it was parked without a second try");
    let out = place.run("relaunch", &["retry", "docs"]);
    assert!(!out.status.success() && faults::words(&out).contains("a watcher tries again"), "{}", faults::words(&out));
    std::fs::write(place.agent("well"), "").expect("a file");
    reaches(&place, "docs", "delivered");
}

#[test]
fn what_waiting_does_not_mend_is_parked_at_once_with_its_reason_and_what_to_do() {
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
    let place = place("error \"$(cat \"$AGENT_DIR/say.$ASKBOX_WORKFLOW_ID\")\"", "breaker_failures = 0", "");
    for (workflow, fields, ..) in &cases {
        std::fs::write(place.agent(&format!("say.{workflow}")), fields).expect("a file");
        answered(&place, workflow);
    }
    let _watcher = watched(&place);
    for (workflow, _, class, todo) in &cases {
        let status = reaches(&place, workflow, "parked");
        assert_eq!((&status["failure"], &status["attempt"]), (&Value::from(*class), &Value::from(1)), "{status}");
        assert!(status["todo"].as_str().is_some_and(|t| t.contains(todo)), "{status}");
        assert!(status["why"].as_str().is_some_and(|w| !w.is_empty()), "{status}");
    }
    assert_eq!(place.logged("start "), cases.len());
}

#[test]
fn the_same_failure_three_times_parks_although_attempts_remain() {
    let place = place("echo \"boom $$ at /tmp/x$$\" >&2; exit 3", "attempts = 50\nsame_failure = 3", "");
    answered(&place, "docs");
    let _watcher = watched(&place);
    let status = reaches(&place, "docs", "parked");
    assert_eq!(place.logged("start "), 3);
    assert!(status["why"].as_str().is_some_and(|w| w.contains("boom") && w.contains("the same failure 3 times in a row")), "{status}");
}

#[test]
fn attempts_that_were_stopped_are_none() {
    let place = place("[ -e $AGENT_DIR/well ] && { echo \"boom $n\" | tr 0-9 a-j >&2; exit 3; }\nstep tool\nwork", "attempts = 2", "");
    let fine = place.agent("pause.tool");
    std::fs::write(&fine, "").expect("a file");
    answered(&place, "docs");
    for stopped in 1..=3 {
        let run = std::thread::spawn({
            let mut command = place.command("relaunch");
            move || faults::output(command.arg("docs"))
        });
        until("it is at work", || place.logged("start ") == stopped && status(&place, "docs")["live"]["doing"] == "thinking");
        place.ok("relaunch", &["stop", "docs", "--now"]);
        assert!(!run.join().expect("no panic").status.success());
        assert_eq!(place.state("docs"), "interrupted");
    }
    std::fs::write(place.agent("well"), "").expect("a file");
    // Two attempts that fail: the first of them is no last one.
    let out = place.run("relaunch", &["docs"]);
    assert_eq!(place.state("docs"), "retrying", "{}", faults::words(&out));
    let _watcher = watched(&place);
    let status = reaches(&place, "docs", "parked");
    assert!(status["why"].as_str().is_some_and(|w| w.contains("attempt 2 of 2")), "{status}");
    assert_eq!(place.logged("start "), 5);
}

#[test]
fn failures_that_differ_use_all_attempts_up() {
    let words = "[ $((n % 2)) = 0 ] && echo even >&2 || echo odd >&2; exit 3";
    let place = place(words, "attempts = 5\nsame_failure = 2", "");
    answered(&place, "docs");
    let _watcher = watched(&place);
    let status = reaches(&place, "docs", "parked");
    assert_eq!(place.logged("start "), 5);
    assert!(status["why"].as_str().is_some_and(|w| w.contains("attempt 5 of 5")), "{status}");
}

#[test]
fn attempts_and_back_off_survive_a_watcher_that_is_killed() {
    let place = place("exit 3", "attempts = 2\nsame_failure = 0", "");
    let toml = std::fs::read_to_string(place.root.join("config.toml")).expect("it is there");
    std::fs::write(place.root.join("config.toml"), toml.replace("\"50ms\"", "\"2s\"").replace("\"500ms\"", "\"2s\"")).expect("a file");
    answered(&place, "docs");
    let watcher = watched(&place);
    reaches(&place, "docs", "retrying");
    watcher.kill();
    let _watcher = watched(&place);
    reaches(&place, "docs", "parked");
    let records = records(&place, "docs");
    assert_eq!(records.len(), 2, "{records:#?}");
    assert!(when(&records[1], "claimed_at") >= when(&records[0], "retry_at"), "{records:#?}");
}

#[test]
fn run_after_run_that_fails_pauses_the_queue_and_one_probe_opens_it_again() {
    let relaunch = "attempts = 1\nbreaker_failures = 3\nbreaker_pause = \"3s\"";
    let place = place("[ -e $AGENT_DIR/well ] && work || exit 3", "", "");
    place.configure(relaunch);
    let toml = std::fs::read_to_string(place.root.join("config.toml")).expect("it is there");
    std::fs::write(place.root.join("config.toml"), toml.replace("max_concurrent = 8", "max_concurrent = 1")).expect("a file");
    let workflows = ["a", "b", "c", "d", "e", "f"];
    workflows.iter().for_each(|w| answered(&place, w));
    let watcher = watched(&place);
    until("the queue is paused", || summary(&place)["queue"]["state"] == "paused");
    let paused = summary(&place);
    assert_eq!((place.logged("start "), &paused["rounds"]["parked"], &paused["rounds"]["answered"]), (3, &3.into(), &3.into()), "{paused}");
    let waiting = status(&place, "f");
    assert_eq!(waiting["state"], "answered");
    assert!(waiting["why"].as_str().is_some_and(|w| w.contains("paused") && w.contains("3 runs failed")), "{waiting}");
    assert_eq!(audited(&place, "queue_paused"), 1);
    // It is no secret of one watcher.
    watcher.kill();
    let watcher = watched(&place);
    until("the probe fails", || place.logged("start ") == 4);
    assert!(when(&records(&place, "d")[0], "claimed_at") >= when(&paused["queue"], "until"));
    until("the queue is paused again", || audited(&place, "queue_paused") == 2);
    std::fs::write(place.agent("well"), "").expect("a file");
    reaches(&place, "e", "delivered");
    reaches(&place, "f", "delivered");
    assert_eq!((summary(&place)["queue"]["state"].as_str(), audited(&place, "queue_resumed")), (Some("open"), 1));
    let log = std::fs::read_to_string(place.root.join("watcher.log")).expect("a log");
    for word in ["paused", "probing", "resumed"] {
        assert!(log.contains(word), "{word} is not in the log:\n{log}");
    }
    drop(watcher);
}

#[test]
fn turns_are_booked_one_by_one_with_their_own_figures() {
    let place = place("paid 0.5", "", "");
    answered(&place, "docs");
    answered(&place, "more");
    let _watcher = watched(&place);
    let status = reaches(&place, "docs", "delivered");
    reaches(&place, "more", "delivered");
    assert_eq!(status["cost_usd"], 0.75, "the total of 9 is not this turn's");
    let bookings = bookings(&place);
    assert_eq!(bookings.len(), 2, "{bookings:#?}");
    assert!(bookings.iter().all(|b| b["cost_usd"] == 0.75 && b["tokens"]["input"] == 10 && b["turn"] == 1), "{bookings:#?}");
    assert_eq!(summary(&place)["spent_today_usd"], 1.5);
}

#[test]
fn a_days_limit_holds_the_queue_until_the_next_day_and_keeps_the_answers() {
    let place = place("paid 0.5", "", "[limits]\nday_cost = 1.5");
    ["a", "b"].iter().for_each(|w| answered(&place, w));
    let _watcher = watched(&place);
    reaches(&place, "a", "delivered");
    reaches(&place, "b", "delivered");
    answered(&place, "c");
    until("it is said", || audited(&place, "queue_paused") == 1);
    let (summary, waiting) = (summary(&place), status(&place, "c"));
    assert_eq!((&summary["queue"]["state"], &waiting["state"]), (&"paused".into(), &"answered".into()));
    assert!(summary["queue"]["until"].as_str().is_some_and(|u| u.ends_with("T00:00:00Z")), "{summary}");
    assert!(waiting["why"].as_str().is_some_and(|w| w.contains("limits.day_cost = 1.5 USD is used up (1.50 spent)")), "{waiting}");
    assert_eq!(place.logged("start "), 2);
    // By hand it is parked instead, and brought back once there is room.
    let out = place.run("relaunch", &["c"]);
    assert!(!out.status.success() && faults::words(&out).contains("limits.day_cost"), "{out:?}");
    assert_eq!((place.state("c").as_str(), place.logged("start ")), ("parked", 2));
}

#[test]
fn a_workflow_that_has_used_its_budget_up_is_parked_before_it_is_launched() {
    let place = place("paid 0.5", "", "[limits]\nworkflow_cost = 0.7");
    answered(&place, "docs");
    let _watcher = watched(&place);
    reaches(&place, "docs", "delivered");
    answered(&place, "docs");
    let status = reaches(&place, "docs", "parked");
    assert_eq!((&status["failure"], place.logged("start ")), (&"budget".into(), 1));
    assert!(status["why"].as_str().is_some_and(|w| w.contains("limits.workflow_cost = 0.7")), "{status}");
    place.configure("[limits]\nworkflow_cost = 5");
    place.ok("relaunch", &["retry", "docs"]);
    assert_eq!(place.state("docs"), "delivered");
}

#[test]
fn the_agent_is_told_what_is_left_and_attempts_of_one_answer_share_it() {
    let place = place(
        "log \"args $*\"\n[ $n = 1 ] && error '\"terminal_reason\":\"odd\",\"result\":\"x\",\"model_usage_since_last_result\":{\"m\":{\"costUSD\":0.3}}' || paid 0.1",
        "",
        "[limits]\nturns = 7\nrun_cost = 1\nday_cost = 20",
    );
    answered(&place, "docs");
    let _watcher = watched(&place);
    reaches(&place, "docs", "delivered");
    let args: Vec<String> = place.log().into_iter().filter(|l| l.starts_with("args ")).collect();
    assert!(args.iter().all(|a| a.contains("--max-turns=7")), "{args:#?}");
    assert!(args[0].contains("--max-budget-usd=1.000000") && args[1].contains("--max-budget-usd=0.700000"), "{args:#?}");
    assert!((status(&place, "docs")["cost_usd"].as_f64().expect("a cost") - 0.65).abs() < 1e-9);
}

#[test]
fn a_killed_supervisors_turn_is_booked_once_also_where_the_booking_was_lost() {
    for lost in [false, true] {
        let place = place("paid 0.5; step paid", "", "");
        std::fs::write(place.agent("pause.paid"), "").expect("a file");
        answered(&place, "docs");
        let _watcher = watched(&place);
        until("the agent is paid", || place.agent("at.paid").exists() && bookings(&place).len() == 1);
        let pids = std::fs::read_to_string(place.agent("at.paid")).expect("pids");
        let supervisor: i32 = pids.split_whitespace().nth(1).and_then(|p| p.parse().ok()).expect("a pid");
        if lost {
            faults::files(&place.mailbox().join("costs")).keys().for_each(|path| std::fs::write(path, "{\"torn\n").expect("a file"));
        }
        faults::kill(supervisor);
        std::fs::remove_file(place.agent("pause.paid")).expect("a file");
        let status = reaches(&place, "docs", "delivered");
        assert_eq!((&status["cost_usd"], place.logged("start ")), (&Value::from(0.75), 1), "lost: {lost}");
        assert_eq!(summary(&place)["spent_today_usd"], 0.75, "lost: {lost}");
    }
}

#[test]
fn the_metrics_file_follows_what_happens_and_is_never_torn() {
    let place = place("work", "", "");
    let file = place.root.join("askbox.prom");
    place.configure(&format!("[metrics]\nfile = \"{}\"", file.display()));
    place.make_mailbox();
    let _watcher = watched(&place);
    let figure = |name: &str| {
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(text.is_empty() || text.ends_with('\n') && text.contains("askbox_day_limit_usd 0\n"), "torn: {text}");
        text.lines().find_map(|l| l.strip_prefix(name)?.strip_prefix(' ')?.parse::<f64>().ok())
    };
    until("it is there", || figure("askbox_rounds{state=\"pending\"}") == Some(0.0));
    place.ok("ask-post", &["-w", "docs", "Merge?"]);
    until("the question counts", || figure("askbox_rounds{state=\"pending\"}") == Some(1.0));
    assert!(figure("askbox_oldest_pending_timestamp_seconds").is_some_and(|at| at > 1.7e9));
    place.ok("ask-answer", &["docs", "yes"]);
    until("the run counts", || figure("askbox_runs_ended_total{state=\"delivered\"}") == Some(1.0));
    until("the question is gone", || figure("askbox_rounds{state=\"pending\"}") == Some(0.0));
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&file).expect("it is there").permissions());
    assert_eq!(mode & 0o777, 0o644, "a collector of another user could not read it");
}

#[test]
fn the_log_can_be_read_by_programs() {
    let place = place("work", "", "");
    place.configure("[log]\nformat = \"json\"");
    place.make_mailbox();
    let _watcher = watched(&place);
    answered(&place, "docs");
    reaches(&place, "docs", "delivered");
    let log = std::fs::read_to_string(place.root.join("watcher.log")).expect("a log");
    let lines: Vec<Value> = log.lines().map(|l| serde_json::from_str(l).unwrap_or_else(|e| panic!("{e}: {l}"))).collect();
    let launched = lines.iter().find(|l| l["event"] == "launched").unwrap_or_else(|| panic!("{log}"));
    assert_eq!((&launched["level"], &launched["workflow"], &launched["attempt"]), (&"info".into(), &"docs".into(), &1.into()));
    assert!(launched["at"].as_str().is_some_and(|at| askbox::time::parse_rfc3339(at).is_some()));
}
