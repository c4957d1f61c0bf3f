//! The fate of runs that fail, cost and wait: throttling, failure classes, the breaker, the limits on money and turns. With a scripted
//! agent. The figures of the real one are in `main_job/costs.rs`.

mod breaker;
mod failures;
mod money;
mod told;

use std::process::Stdio;

use crate::support::{Running, World, files, kill, names, output, until, whole_lines};
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

/// The doctor's advice about a queue that is paused.
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
    whole_lines(&text).map(|line| serde_json::from_str(line).expect("a booking is JSON")).collect()
}

fn audited(world: &World, event: &str) -> usize {
    world.audited().iter().filter(|entry| entry["event"] == event).count()
}
