//! Claude Code in the trace of the asker, with the telemetry that the operator sets.

use crate::support::claude::bash;
use crate::support::{ClaudeWorld, until};
use serde_json::json;

const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/// The lines that the script `tell` has written: the environments of the agent's shell and of the agent.
const TELL: &str = "printenv | sed 's/^/shell /' > ~/told.new
pid=$PPID
until grep -q stream-json /proc/$pid/cmdline; do pid=$(sed -n 's/^PPid:[^0-9]*//p' /proc/$pid/status); done
tr '\\0' '\\n' < /proc/$pid/environ | sed 's/^/agent /' >> ~/told.new
mv ~/told.new ~/told";

#[test]
fn claude_and_its_shell_are_in_the_trace_of_the_asker() {
    let mut world = ClaudeWorld::new();
    world.set_env(&[("TRACEPARENT", PARENT), ("TRACESTATE", "rojo=1"), ("CLAUDE_CODE_ENABLE_TELEMETRY", "0"), ("CLAUDE_CODE_X", "1")]);
    world.configure(
        "[runner.claude]\nallowed_tools = ['Bash(tell:*)', 'Bash(ask-post:*)']\n[runner.claude.env]\nOTEL_METRICS_EXPORTER = \"none\"\n\
         [traces]\nurl = \"http://127.0.0.1:9/\"\n",
    );
    world.add_script("tell", TELL);
    world.keep_watching_from_the_start();
    world.ask("docs", &["Go on?"]);
    world.api.on("User chose: yes", json!([bash("tell"), bash("ask-post -w child 'And now?'"), {"text": "looked"}]));
    world.answer("docs", "yes");
    world.wait_state("docs", "delivered");
    let told = until("the script has told", || std::fs::read_to_string(world.home().join("told")).ok());
    let of =
        |who: &str, name: &str| told.lines().find_map(|line| Some(line.strip_prefix(who)?.strip_prefix(&format!(" {name}="))?.to_owned()));
    let given = of("agent", "TRACEPARENT").unwrap_or_else(|| panic!("{told}"));
    assert!(given.starts_with(&PARENT[..36]) && given != PARENT, "the span of its launch lies between: {given}");
    assert_eq!(of("agent", "TRACESTATE").as_deref(), Some("rojo=1"));
    assert_eq!(of("shell", "TRACEPARENT"), Some(given.clone()));
    assert_eq!((of("agent", "CLAUDE_CODE_ENABLE_TELEMETRY").as_deref(), of("agent", "CLAUDE_CODE_X")), (Some("0"), None));
    assert_eq!(of("agent", "OTEL_METRICS_EXPORTER").as_deref(), Some("none"));
    // A question of the agent is in the same trace.
    assert_eq!(world.document("pending/child.json")["trace"]["traceparent"], given.as_str());
}
