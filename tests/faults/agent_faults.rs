//! Promise 3 with agents that misbehave: whatever they do, the round is delivered or parked, nothing of them stays behind,
//! and the supervisor stays small.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::support::{Running, Watcher, World, needs, output, strace, until};
use serde_json::{Value, json};

/// More memory than a supervisor may ever take, in KiB, without the pages of its program file.
const SMALL: u64 = 12 << 10;

/// A workflow that was answered and relaunched by a watcher.
struct Case {
    world: World,
    round: String,
    _watcher: Watcher,
}

impl Case {
    fn new(agent: &str, relaunch: &str, limits: &str) -> Self {
        Self::paused(agent, relaunch, limits, None)
    }

    fn paused(agent: &str, relaunch: &str, limits: &str, pause: Option<&str>) -> Self {
        let world = World::stepping(agent);
        world.configure(&format!("{relaunch}\n[limits]\n{limits}\n"));
        if let Some(step) = pause {
            world.hold(step);
        }
        world.ok("ask-post", &["-w", "docs", "Merge?", "-o", "a=A"]);
        world.ok("ask-answer", &["docs", "a"]);
        let round = world.round("docs");
        Self { _watcher: world.start_watcher(), world, round }
    }

    /// Waits until the round is over and nothing of it lives.
    #[track_caller]
    fn ends(&self, state: &str) {
        until("the round ends", || ["delivered", "parked", "interrupted"].contains(&self.world.state("docs").as_str()));
        assert_eq!(self.world.state("docs"), state, "{:#?}", self.events(1).last());
        until("nothing of the run lives", || self.world.of_runs().is_empty());
        assert_eq!(self.world.logged("violation"), 0);
        self.world.assert_whole(state);
    }

    fn run_file(&self, attempt: u32, name: &str) -> PathBuf {
        self.world.in_mailbox(format!("runs/docs/{}/{attempt}/{name}", self.round))
    }

    fn record(&self, attempt: u32) -> Value {
        serde_json::from_slice(&std::fs::read(self.run_file(attempt, "run.json")).expect("a record")).expect("JSON")
    }

    fn events(&self, attempt: u32) -> Vec<Value> {
        let bytes = std::fs::read(self.run_file(attempt, "events.jsonl")).unwrap_or_default();
        let text = String::from_utf8(bytes).expect("events are UTF-8");
        text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line:.200}"))).collect()
    }

    /// Waits for the agent at a step. Returns its supervisor's largest size so far, in KiB, without the pages of its program file. Lets the
    /// agent go on.
    #[track_caller]
    fn size_at(&self, step: &str) -> u64 {
        let [_, supervisor] = self.world.held(step);
        let status = std::fs::read_to_string(format!("/proc/{supervisor}/status")).expect("it lives");
        self.world.let_go(step);
        let of = |name: &str| -> u64 {
            let line = status.lines().find_map(|l| l.strip_prefix(name)).expect("the line");
            line.trim().trim_end_matches(" kB").parse().expect("a number")
        };
        // A debug build has many pages of its program file.
        of("VmHWM:") - of("RssFile:")
    }
}

#[test]
fn a_silent_agent_that_ignores_signals_is_parked_at_its_limit() {
    let started = Instant::now();
    let case = Case::new("trap '' INT TERM\nwhile :; do sleep 1; done", "", "silence = \"1s\"\ngrace = \"200ms\"");
    case.ends("interrupted");
    assert!(case.events(1).iter().any(|e| e["type"] == "interrupted"), "{:#?}", case.events(1));
    assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
}

#[test]
fn an_agent_that_closes_its_output_and_stays_is_ended() {
    let case = Case::new("exec >&-\nwhile :; do sleep 1; done", "attempts = 1", "");
    case.ends("parked");
}

#[test]
fn a_line_of_two_hundred_megabytes_keeps_the_supervisor_small() {
    let line = "printf '{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"t\",\"content\":\"'\n\
                head -c 200000000 /dev/zero | tr '\\0' x\nprintf '\"}]}}\\n'";
    let garbage = "head -c 50000000 /dev/zero | tr '\\0' y\necho";
    let case = Case::paused(&format!("{line}\n{garbage}\nwork"), "", "", Some("before_result"));
    let size = case.size_at("before_result");
    case.ends("delivered");
    let events = case.events(1);
    let result = events.iter().find(|e| e["type"] == "tool_result").expect("the result");
    assert_eq!(result["bytes"], 200_000_000, "the true size is not told");
    eprintln!("250 MB on two lines: the supervisor took {size} KiB at most");
    assert!(size < SMALL, "{size} KiB");
}

#[test]
fn a_hundred_thousand_events_at_once_are_recorded_in_order() {
    let flood = "awk 'BEGIN { for (i = 0; i < 100000; i++) print \"{\\\"type\\\":\\\"assistant\\\",\\\"message\\\":{\\\"content\\\":\
                 [{\\\"type\\\":\\\"text\\\",\\\"text\\\":\\\"\" i \"\\\"}]}}\" }'";
    let case = Case::paused(&format!("{flood}\nwork"), "", "", Some("before_result"));
    let started = Instant::now();
    let size = case.size_at("before_result");
    let took = started.elapsed();
    case.ends("delivered");
    let events = case.events(1);
    let said: Vec<_> = events.iter().filter(|e| e["type"] == "text").map(|e| e["text"].as_str().expect("text").to_owned()).collect();
    let expected: Vec<_> = (0..100_000).map(|n| n.to_string()).collect();
    assert!(said == expected, "{} events of 100000, the last is {:?}", said.len(), said.last());
    let in_order = events.iter().zip(1..).all(|(e, n)| e["seq"] == n);
    assert!(in_order, "events are not numbered in order");
    eprintln!("100000 events: read within {took:.1?}, the supervisor took {size} KiB at most");
    assert!(size < SMALL, "{size} KiB");
}

#[test]
fn large_events_faster_than_the_record_are_held_back() {
    // 400 MB of texts that are each kept whole: a queue of them would show.
    let flood = "text=$(head -c 60000 /dev/zero | tr '\\0' z)\nawk -v t=\"$text\" 'BEGIN { for (i = 0; i < 7000; i++) print \"{\\\"type\\\":\
                 \\\"assistant\\\",\\\"message\\\":{\\\"content\\\":[{\\\"type\\\":\\\"text\\\",\\\"text\\\":\\\"\" t \"\\\"}]}}\" }'";
    let case = Case::paused(&format!("{flood}\nwork"), "", "", Some("before_result"));
    let size = case.size_at("before_result");
    case.ends("delivered");
    // Some 64 MiB of them are recorded: see `agent_growth`.
    assert!((1000..1200).contains(&case.events(1).iter().filter(|e| e["type"] == "text").count()));
    eprintln!("400 MB of texts: the supervisor took {size} KiB at most");
    assert!(size < SMALL, "{size} KiB");
}

#[test]
fn a_flood_on_standard_error_blocks_nobody_and_fills_no_disk() {
    let case = Case::paused("head -c 100000000 /dev/zero | tr '\\0' e >&2\nwork", "", "", Some("before_result"));
    let size = case.size_at("before_result");
    case.ends("delivered");
    let kept = std::fs::metadata(case.run_file(1, "stderr.log")).expect("stderr.log").len();
    assert!((1..=4 << 20).contains(&kept), "{kept} bytes of standard error were kept");
    assert!(size < SMALL, "{size} KiB");
}

#[test]
fn a_grandchild_that_holds_standard_error_open_holds_nothing_up() {
    let started = Instant::now();
    let case = Case::new("exec >&-\nsetsid sleep 1000 2>&2 &\necho 'out of walnuts' >&2\nexit 3", "attempts = 1", "");
    case.ends("parked");
    assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
}

#[test]
fn the_last_lines_on_standard_error_are_the_reason_of_a_failure() {
    let case = Case::new("echo 'all is well' >&2\necho 'out of walnuts' >&2\necho >&2\nexit 3", "attempts = 1", "");
    case.ends("parked");
    assert!(
        case.record(1)["why"].as_str().is_some_and(|w| w.contains("exit status: 3") && w.contains("out of walnuts")),
        "{}",
        case.record(1)
    );
}

#[test]
fn what_tools_leave_behind_does_not_stay_a_zombie() {
    // A subshell that ends at once makes an orphan of what it started.
    let orphans = "for n in 1 2 3; do (sh -c 'echo $$ >>\"$AGENT_DIR/orphans\"; exec sleep 0.1' &); done\nwork";
    let case = Case::paused(orphans, "", "", Some("before_result"));
    let at = case.world.agent("at.before_result");
    let pids = || std::fs::read_to_string(case.world.agent("orphans")).unwrap_or_default();
    until("they have started", || at.exists() && pids().lines().count() == 3);
    until("they are waited for", || pids().lines().all(|pid| !PathBuf::from(format!("/proc/{pid}")).exists()));
    assert_eq!(case.world.state("docs"), "running", "they were waited for because it ended");
    case.size_at("before_result");
    case.ends("delivered");
}

/// Larger than what a pipe takes.
const LARGE: usize = 500_000;

/// A run in the foreground with a large prompt, of an agent that does not read yet.
fn unread() -> (World, Running) {
    let world = World::stepping("work");
    world.hold("spawned");
    std::fs::write(world.path("prompt.md"), "walnut ".repeat(LARGE / 7)).expect("prompt");
    let mut command = world.command("relaunch");
    let run = command.args(["run", "-w", "docs", "prompt.md"]).stdout(std::process::Stdio::null()).spawn().expect("relaunch");
    until("the agent lives", || world.is_held("spawned"));
    (world, Running(run))
}

#[test]
fn a_large_message_comes_whole_to_an_agent_that_reads_late() {
    let (world, mut run) = unread();
    world.let_go("spawned");
    assert!(run.0.wait().expect("its status").success());
    let told = world.only_told();
    assert_eq!(told.matches("walnut ").count(), LARGE / 7, "{} bytes", told.len());
    assert_eq!((world.state("docs").as_str(), world.logged("done ")), ("delivered", 1));
}

#[test]
fn an_agent_that_never_reads_can_be_stopped() {
    let (world, mut run) = unread();
    world.ok("relaunch", &["stop", "docs", "--now"]);
    assert_eq!(run.0.wait().expect("its status").code(), Some(1));
    assert_eq!((world.state("docs").as_str(), world.of_runs().len()), ("interrupted", 0));
}

/// Tools without end, whatever it was told; a second launch is done at once.
const UNSTOPPABLE: &str = r#"
call() {
  say "{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"tool_use\",\"id\":\"t$1\",\"name\":\"Bash\",\"input\":{}}]}}"
  say "{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"t$1\",\"is_error\":false,\"content\":\"done $1\"}]}}"
}
[ -e "$AGENT_DIR/well" ] && { work; finish; }
trap '' INT TERM
i=0
while :; do i=$((i+1)); call $i; sleep 0.05; done"#;

#[test]
fn an_agent_that_ignores_its_limit_of_turns_is_parked() {
    let case = Case::new(UNSTOPPABLE, "attempts = 2", "turns = 5\ngrace = \"200ms\"");
    case.ends("parked");
    let status: Value = serde_json::from_str(&case.world.ok("relaunch", &["status", "docs", "--json"])).expect("JSON");
    assert_eq!((&status["failure"], case.world.logged("start ")), (&"turns".into(), 1), "{status}");
    assert!(status["why"].as_str().is_some_and(|w| w.contains("limits.turns = 5")), "{status}");
    let events =
        until("its log is complete", || Some(case.events(1)).filter(|events| events.last().is_some_and(|e| e["type"] == "parked")));
    let kept = events.iter().find(|e| e["type"] == "interrupted").expect("what it had");
    let calls = kept["tool_calls"].as_array().expect("its calls");
    // The kill may have come between a call and its result.
    let (_, done) = calls.split_last().expect("its calls");
    assert!(!done.is_empty() && done.iter().all(|c| c["text"].as_str().is_some_and(|t| t.starts_with("done "))), "{kept:#}");
    // Reaching a limit used no attempt up, and the session goes on.
    std::fs::write(case.world.agent("well"), "").expect("a file");
    case.world.configure("[limits]\nturns = 50");
    case.world.ok("relaunch", &["docs"]);
    assert_eq!(case.world.state("docs"), "delivered");
    assert_eq!((case.record(1)["session_id"].clone(), case.world.logged("continued ")), (case.record(2)["session_id"].clone(), 1));
}

#[test]
fn an_agent_over_budget_that_fails_is_parked() {
    let spend = r#"[ -e "$AGENT_DIR/well" ] && { work; finish; }
say "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":true,\"terminal_reason\":\"odd\",\"session_id\":\"$session\",\"result\":\"x\",\"model_usage_since_last_result\":{\"m\":{\"costUSD\":3}}}""#;
    let case = Case::new(spend, "", "run_cost = 1");
    case.ends("parked");
    let status: Value = serde_json::from_str(&case.world.ok("relaunch", &["status", "docs", "--json"])).expect("JSON");
    assert_eq!((&status["failure"], &status["cost_usd"], case.world.logged("start ")), (&"budget".into(), &3.0.into(), 1), "{status}");
    std::fs::write(case.world.agent("well"), "").expect("a file");
    let refused = case.world.run("relaunch", &["docs"]);
    assert!(refused.stderr.contains("nothing is left of limits.run_cost = 1 USD"), "{refused:?}");
    case.world.configure("[limits]\nrun_cost = 50");
    case.world.ok("relaunch", &["docs"]);
    assert_eq!(case.world.state("docs"), "delivered");
}

#[test]
fn a_run_at_its_plans_limit_waits_for_the_known_reset() {
    // Only an account with a plan gets this line, so a script says it as `claude` does.
    let limited = r#"[ -e "$AGENT_DIR/well" ] && { work; finish; }
say "{\"type\":\"rate_limit_event\",\"rate_limit_info\":{\"status\":\"rejected\",\"resetsAt\":$(cat "$AGENT_DIR/resets"),\"rateLimitType\":\"five_hour\"}}"
say "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":true,\"terminal_reason\":\"api_error\",\"api_error_status\":429,\"session_id\":\"$session\",\"result\":\"limit reached\"}""#;
    let world = World::stepping(limited);
    world.configure("throttle_deadline = '1h'");
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().expect("a time").as_secs();
    // Later than the deadline: the run is not given up, because the end of the limit is known.
    std::fs::write(world.agent("resets"), (now + 5 * 3600).to_string()).expect("a file");
    world.ask_and_answer("docs");
    let _watcher = world.start_watcher();
    until("it waits", || world.state("docs") == "throttled");
    let status: Value = serde_json::from_str(&world.ok("relaunch", &["status", "docs", "--json"])).expect("JSON");
    assert!(status["why"].as_str().is_some_and(|why| why.starts_with("the plan's limit (five hour) resets at 20")), "{status}");
    let retry_at: chrono::DateTime<chrono::Utc> = status["retry_at"].as_str().expect("a time").parse().expect("a time");
    assert_eq!(retry_at.timestamp(), i64::try_from(now + 5 * 3600 + 5).expect("a time"), "{status}");
    assert_eq!(world.logged("start "), 1);
    // A reset of another year is not believed.
    std::fs::write(world.agent("resets"), (now + 400 * 24 * 3600).to_string()).expect("a file");
    world.ask_and_answer("later");
    // As usual is not long, so its state and its reason are read together.
    let status = || world.ok("relaunch", &["status", "later", "--json"]);
    let words = until("it waits as usual", || Some(status()).filter(|words| words.contains("API error 429")));
    assert!(!words.contains("resets at"), "{words}");
}

/// An old kernel, or a sandbox that lends none.
#[test]
fn without_pidfds_a_run_is_delivered_all_the_same() {
    needs!("strace");
    let world = World::stepping("work");
    world.ask_and_answer("docs");
    let without = strace(&["-qq", "-f", "-e", "trace=pidfd_open", "-e", "inject=pidfd_open:error=ENOSYS", "-o", "/dev/null"]);
    let out = output(world.wrapped(&without, "relaunch").arg("docs"));
    assert!(out.status.success(), "{}", out.words());
    assert_eq!((world.state("docs").as_str(), world.logged("done ")), ("delivered", 1));
}

mod promises {
    use super::*;

    #[test]
    fn an_exit_status_of_zero_is_no_receipt() {
        let case = Case::new("exit 0", "attempts = 3", "");
        case.ends("parked");
        assert_eq!(case.world.logged("start "), 3);
        assert!(case.record(3)["why"].as_str().is_some_and(|w| w.contains("without a result")), "{}", case.record(3));
        let out = case.world.run("relaunch", &["docs"]);
        assert!(out.stderr.contains("relaunch retry docs"), "the way on is not told: {out:?}");
    }

    #[test]
    fn an_agent_that_hangs_after_its_result_has_delivered() {
        let case = Case::new("result done\nwhile :; do sleep 1; done", "", "");
        case.ends("delivered");
        assert_eq!(case.world.logged("start "), 1);
    }

    #[test]
    fn an_agent_that_hangs_and_ignores_sigterm_is_killed() {
        let case = Case::new("trap '' INT TERM\nresult done\nwhile :; do sleep 1; done", "", "");
        case.ends("delivered");
        let notes: Vec<_> = case.events(1).into_iter().filter(|e| e["type"] == "note").map(|e| e["text"].to_string()).collect();
        assert!(notes.iter().any(|n| n.contains("SIGTERM")) && notes.iter().any(|n| n.contains("killed")), "{notes:?}");
    }

    #[test]
    fn a_grandchild_that_holds_the_output_open_holds_nothing_up() {
        let case = Case::new("setsid sleep 1000 &\nwork", "", "");
        case.ends("delivered");
        assert_eq!(case.world.logged("start "), 1);
    }

    #[test]
    fn an_agent_that_dies_within_a_line_is_retried_in_its_session() {
        let case =
            Case::new("[ -e \"$AGENT_DIR/died\" ] || { : >\"$AGENT_DIR/died\"; printf '{\"type\":\"assist'; kill -9 $$; }\nwork", "", "");
        case.ends("delivered");
        assert_eq!(case.world.logged("start "), 2);
        assert_eq!((case.world.logged("shown "), case.world.logged("continued ")), (1, 1), "{:#?}", case.world.log());
        assert_eq!(case.record(1)["session_id"], case.record(2)["session_id"]);
        assert!(case.events(1).iter().any(|e| e["type"] == "raw" && e["what"] == "torn"), "{:#?}", case.events(1));
    }

    #[test]
    fn invalid_utf8_is_replaced_and_the_rest_of_the_line_is_kept() {
        let text = "printf '{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"caf\\351 \\377\\376\\300!\"}]}}\\n\\377\\377\\n'";
        let case = Case::new(&format!("{text}\nwork"), "", "");
        case.ends("delivered");
        let said = case.events(1).into_iter().find(|e| e["type"] == "text").expect("the text");
        assert!(said["text"].as_str().is_some_and(|t| t.starts_with("caf\u{fffd}") && t.ends_with('!')), "{said}");
    }

    #[test]
    fn an_unknown_request_is_answered_at_once_with_an_error() {
        let asks = r#"say '{"type":"control_request","request_id":"r 1","request":{"subtype":"request_user_dialog","dialog":"?"}}'
IFS= read -r reply; printf '%s\n' "$reply" >"$AGENT_DIR/reply"
work"#;
        let case = Case::new(asks, "", "");
        case.ends("delivered");
        let reply: Value = serde_json::from_slice(&std::fs::read(case.world.agent("reply")).expect("a reply")).expect("JSON");
        let error = json!({"subtype": "error", "request_id": "r 1", "error": "askbox does not know this kind of request"});
        assert_eq!(reply, json!({"type": "control_response", "response": error}));
        assert!(case.events(1).iter().any(|event| event["what"] == "control_request/request_user_dialog"), "{:#?}", case.events(1));
    }

    #[test]
    fn an_answer_too_long_for_a_prompt_lies_in_its_file() {
        let world = World::stepping("work");
        world.ok("ask-post", &["-w", "docs", "Tell me everything"]);
        let answer = "0123456789 ".repeat(60 << 10);
        std::fs::write(world.agent("answer"), &answer).expect("a file");
        let given = std::fs::File::open(world.agent("answer")).expect("the file");
        let out = output(world.command("ask-answer").args(["docs", "-"]).stdin(given));
        assert!(out.status.success(), "{}", out.words());
        world.ok("relaunch", &["docs"]);
        assert_eq!((world.state("docs").as_str(), world.logged("start ")), ("delivered", 1));
        let round = world.only("closed", "docs.").expect("closed").file_stem().expect("a name").to_string_lossy().into_owned();
        let file = world.in_mailbox("runs/docs").join(round.trim_start_matches("docs.")).join("1/answer.txt");
        assert!(std::fs::read_to_string(&file).expect("the file") == answer, "{}", file.display());
    }
}
