use crate::agent::events::{EventWriter, LINE_LIMIT, Tokens};
use crate::agent::stream::lines::{BoundedLines, Limits};
use crate::agent::stream::*;

macro_rules! stream {
    ($name:literal) => {
        include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/streams/", $name, ".jsonl"))
    };
}

/// All items of a stream.
fn items(agent: &mut Interpreter, bytes: &[u8]) -> Vec<StreamItem> {
    let mut lines = BoundedLines::new(bytes);
    let mut all = Vec::new();
    while let Some(line) = lines.next_line().unwrap() {
        all.extend(agent.feed(&line));
    }
    all
}

fn read(bytes: &[u8]) -> Vec<StreamItem> {
    items(&mut Interpreter::new(), bytes)
}

fn events(all: &[StreamItem]) -> Vec<&EventKind> {
    all.iter()
        .filter_map(|item| match item {
            StreamItem::Event(event) => Some(event),
            _ => None,
        })
        .collect()
}

fn outcomes(all: &[StreamItem]) -> Vec<&TurnOutcome> {
    all.iter()
        .filter_map(|item| match item {
            StreamItem::TurnEnded(outcome) => Some(&**outcome),
            _ => None,
        })
        .collect()
}

fn verdict(bytes: &[u8]) -> Verdict {
    let all = read(bytes);
    let [outcome] = outcomes(&all)[..] else { panic!("not one outcome: {all:?}") };
    outcome.verdict.clone()
}

fn types(all: &[StreamItem]) -> Vec<String> {
    let name = |event| serde_json::to_value(event).unwrap()["type"].as_str().unwrap().to_owned();
    events(all).into_iter().map(name).collect()
}

#[test]
fn a_turn_with_tools_becomes_events_receipts_and_a_result() {
    let all = read(stream!("turns/tools"));
    assert_eq!(
        types(&all),
        [
            "started",
            "raw",
            "thinking",
            "text",
            "tool_call",
            "tool_result",
            "tool_call",
            "tool_call",
            "tool_result",
            "tool_result",
            "tool_call",
            "tool_result",
            "text",
            "result"
        ]
    );
    let receipts = all.iter().filter_map(|s| match s {
        StreamItem::Receipt { state, .. } => Some(*state),
        _ => None,
    });
    let receipts: Vec<_> = receipts.collect();
    assert_eq!(receipts, [ReceiptState::Queued, ReceiptState::Started, ReceiptState::Completed]);
    let [outcome] = outcomes(&all)[..] else { panic!() };
    assert_eq!(outcome.verdict, Verdict::Completed { text: "all done".into() });
    let tokens = Tokens { input: 4000, output: 400, cache_read: 28, cache_creation: 20 };
    assert_eq!((outcome.tokens, outcome.turns), (tokens, 5));
    assert!((outcome.cost_usd.unwrap() - 0.0241056).abs() < 1e-9);
}

#[test]
fn only_files_whose_write_succeeded_count_as_touched() {
    let mut agent = Interpreter::new();
    items(&mut agent, stream!("turns/tools"));
    assert_eq!(agent.files_touched(), ["/home/agent/work/a.txt"]);
    let failed = br#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"x","name":"Write","input":{"file_path":"/no"}},{"type":"tool_use","id":"y","name":"NotebookEdit","input":{"notebook_path":"/n.ipynb"}}]}}
{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"x","is_error":true,"content":"no"},{"type":"tool_result","tool_use_id":"y"}]}}"#;
    items(&mut agent, failed);
    assert_eq!(agent.files_touched(), ["/home/agent/work/a.txt", "/n.ipynb"]);
}

#[test]
fn a_permission_request_carries_all_that_a_decision_needs() {
    let all = read(stream!("permissions/permission_allow"));
    let request = all.iter().find_map(|s| match s {
        StreamItem::Permission(request) => Some(request),
        _ => None,
    });
    let request = request.unwrap();
    assert_eq!((request.tool_name.as_str(), request.complete), ("Bash", true));
    assert_eq!(request.input["command"], "touch q1");
    assert!(!request.request_id.is_empty() && !request.tool_use_id.is_empty());
    assert!(!request.requires_user_interaction);
    let asked = read(stream!("permissions/ask_user_question"));
    assert!(asked.iter().any(|s| matches!(s, StreamItem::Permission(r) if r.requires_user_interaction)));
}

#[test]
fn a_permission_request_with_a_shortened_input_says_that_it_is_not_complete() {
    let line = format!(
        r#"{{"type":"control_request","request_id":"r","request":{{"subtype":"can_use_tool","tool_name":"Bash","input":{{"command":"{}; rm -rf /"}}}}}}"#,
        "x".repeat(100_000)
    );
    let all = read(line.as_bytes());
    let [StreamItem::Permission(request)] = &all[..] else { panic!("{all:?}") };
    assert!(!request.complete && request.input.is_null());
}

#[test]
fn an_interrupt_during_a_permission_request_withdraws_it() {
    let all = read(stream!("permissions/permission_cancelled"));
    assert!(all.iter().any(|s| matches!(s, StreamItem::PermissionCancelled { .. })));
    assert!(all.iter().any(|s| matches!(s, StreamItem::ControlReply { request_id, ok: true, .. } if request_id == "int1")));
    assert!(all.iter().any(|s| matches!(s, StreamItem::Receipt { state: ReceiptState::Cancelled, .. })));
    let tools = Verdict::Interrupted { during: Interruption::Tools, is_error: true };
    assert_eq!(verdict(stream!("permissions/permission_cancelled")), tools);
}

#[test]
fn throttling_is_told_apart_from_work() {
    let all = read(stream!("errors/throttled_then_ok"));
    assert_eq!(types(&all), ["started", "throttled", "throttled", "text", "result"]);
    let EventKind::Throttled { status, retry, max_retries, error, .. } = events(&all)[2] else { panic!() };
    assert_eq!((*status, *retry, *max_retries, error.as_str()), (Some(529), 2, Some(10), "overloaded"));
    let refused = read(stream!("errors/connection_refused"));
    let EventKind::Throttled { status, .. } = events(&refused)[1] else { panic!() };
    assert_eq!(*status, None);
}

#[test]
fn api_errors_are_classed_by_status_and_type_though_they_claim_success() {
    let class = |bytes| match verdict(bytes) {
        Verdict::ApiError { status, error_type, message } => {
            assert!(message.contains("API Error"), "{message}");
            (status, error_type)
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(class(stream!("errors/overloaded")), (Some(529), "overloaded_error".into()));
    assert_eq!(class(stream!("errors/invalid_request")), (Some(400), "invalid_request_error".into()));
    assert_eq!(class(stream!("errors/authentication")), (Some(401), "authentication_error".into()));
    assert_eq!(class(stream!("errors/connection_refused")), (None, "connection_failed".into()));
}

#[test]
fn limits_and_stops_have_their_own_verdicts() {
    assert_eq!(verdict(stream!("errors/max_turns")), Verdict::MaxTurns);
    assert_eq!(verdict(stream!("errors/budget")), Verdict::Budget);
    assert_eq!(verdict(stream!("errors/too_long")), Verdict::TooLong);
    assert_eq!(verdict(stream!("sessions/resume_unknown")), Verdict::ResumeUnknown);
    assert_eq!(verdict(stream!("permissions/hook_stopped")), Verdict::HookStopped);
}

#[test]
fn a_deferred_call_is_recognised_also_when_the_resume_gives_no_terminal_reason() {
    for bytes in [&stream!("sessions/deferred")[..], stream!("sessions/deferred_again")] {
        let all = read(bytes);
        let [outcome] = outcomes(&all)[..] else { panic!() };
        let Verdict::Deferred { tool_name, input, .. } = &outcome.verdict else { panic!("{outcome:?}") };
        assert_eq!(tool_name, "AskUserQuestion");
        assert_eq!(input["questions"][0]["question"], "Which DB?");
        assert_eq!(outcome.terminal_reason.as_deref(), Some("tool_deferred"));
        assert!(outcome.turns <= 1);
    }
    let again = read(stream!("sessions/deferred_again"));
    assert!(!again.iter().any(|s| matches!(s, StreamItem::Began { .. })));
}

#[test]
fn on_a_resumed_deferred_call_the_tool_result_may_come_before_init() {
    let mut agent = Interpreter::resuming("old");
    let all = items(&mut agent, stream!("sessions/deferred_answered"));
    assert_eq!(types(&all), ["raw", "tool_result", "started", "text", "result"]);
    let EventKind::Started { resumed, .. } = events(&all)[2] else { panic!() };
    assert_eq!(resumed.as_deref(), Some("old"));
    assert!((outcomes(&all)[0].cost_usd.unwrap() - 0.0060264).abs() < 1e-9);
}

#[test]
fn several_turns_give_several_results_each_with_its_own_cost() {
    let all = read(stream!("turns/two_turns"));
    let firsts = all.iter().filter_map(|s| match s {
        StreamItem::Began { first, .. } => Some(*first),
        _ => None,
    });
    let firsts: Vec<_> = firsts.collect();
    assert_eq!(firsts, [true, false]);
    let costs: Vec<_> = outcomes(&all).iter().map(|o| o.cost_usd.unwrap()).collect();
    assert_eq!(costs.len(), 2);
    assert!(costs.iter().all(|cost| (cost - 0.0060264).abs() < 1e-9));
}

#[test]
fn without_figures_per_turn_the_cost_is_the_growth_of_the_total_and_unknown_after_a_resume() {
    let line = |total| format!("{{\"type\":\"result\",\"total_cost_usd\":{total},\"usage\":{{\"input_tokens\":5}}}}\n");
    let both = line(0.5) + &line(0.75);
    let costs = |mut agent| -> Vec<_> {
        let all = items(&mut agent, both.as_bytes());
        outcomes(&all).iter().map(|o| (o.cost_usd, o.tokens.input)).collect()
    };
    assert_eq!(costs(Interpreter::new()), [(Some(0.5), 5), (Some(0.25), 5)]);
    assert_eq!(costs(Interpreter::resuming("s")), [(None, 5), (Some(0.25), 5)]);
}

#[test]
fn a_message_that_the_session_already_had_gives_a_lone_receipt() {
    let all = read(stream!("sessions/same_uuid_on_resume"));
    assert!(matches!(all[..], [StreamItem::Receipt { state: ReceiptState::Completed, .. }]));
}

#[test]
fn what_a_subagent_does_carries_its_parent() {
    let all = read(stream!("turns/subagent"));
    let parent = events(&all).into_iter().find_map(|e| match e {
        EventKind::ToolCall { id, name, parent: None, .. } if name == "Agent" => Some(id.clone()),
        _ => None,
    });
    let of_subagent = events(&all).into_iter().filter_map(|e| match e {
        EventKind::ToolCall { name, parent: Some(p), .. } => Some((name.clone(), p.clone())),
        EventKind::ToolResult { name, parent: Some(p), .. } => Some((name.clone()?, p.clone())),
        _ => None,
    });
    let of_subagent: Vec<_> = of_subagent.collect();
    let bash = ("Bash".to_owned(), parent.unwrap());
    assert_eq!(of_subagent, [bash.clone(), bash]);
}

#[test]
fn an_interrupted_run_returns_its_words_calls_and_session() {
    let mut agent = Interpreter::new();
    let all = items(&mut agent, stream!("turns/interrupt_text"));
    let streaming = Verdict::Interrupted { during: Interruption::Streaming, is_error: true };
    assert_eq!(outcomes(&all)[0].verdict, streaming);
    let EventKind::Interrupted { text, session_id, .. } = agent.interrupted("in-band") else { panic!() };
    assert_eq!(text, "a long story about n");
    assert_eq!(session_id.as_deref(), agent.session_id());
    let mut agent = Interpreter::new();
    items(&mut agent, stream!("permissions/hook_stopped"));
    let EventKind::Interrupted { text, tool_calls, .. } = agent.interrupted("hook") else { panic!() };
    let [call] = &tool_calls[..] else { panic!() };
    assert_eq!((text.as_str(), call.name.as_str(), call.text.as_str()), ("one", "Bash", "hi"));
    assert_eq!(call.is_error, Some(false));
}

#[test]
fn a_huge_tool_result_is_cut_and_its_true_size_stated() {
    let line = format!(
        r#"{{"message":{{"content":[{{"type":"tool_result","tool_use_id":"t","content":[{{"type":"text","text":"{}"}},{{"type":"text","text":"ab"}}]}}]}},"tool_use_result":{{"stdout":"{}"}},"type":"user"}}"#,
        "é\\n".repeat(1_000_000),
        "y".repeat(1_000_000)
    );
    let all = read(line.as_bytes());
    let [StreamItem::Event(EventKind::ToolResult { text, bytes, .. })] = &all[..] else { panic!() };
    assert_eq!(*bytes, 3_000_002);
    assert!(text.len() <= RESULT_TEXT && text.starts_with("é\né"));
}

#[test]
fn control_replies_tell_success_from_failure() {
    let all = read(stream!("turns/initialize"));
    let [StreamItem::ControlReply { ok: true, response, .. }, StreamItem::ControlReply { ok: false, error, .. }] = &all[..] else {
        panic!("{all:?}")
    };
    assert_eq!(response["claude_code_version"], "2.1.330");
    assert!(error.starts_with("Unsupported control request"));
}

#[test]
fn what_is_unknown_broken_too_deep_or_no_json_passes_through_as_raw() {
    let deep = format!("{{\"type\":\"assistant\",\"message\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let cases: [(&str, &str); 15] = [
        (r#"{"a":1,"type":"telepathy","subtype":"new"}"#, "telepathy/new"),
        (r#"{"type":"attachment"}"#, "attachment"),
        ("warning: something", "not_json"),
        ("[1,2]", "not_json"),
        (r#"["assistant",null]"#, "not_json"),
        ("{}", ""),
        (r#"{"type":"user","message":{"content":"[Request interrupted by user]"}}"#, "user"),
        (r#"{"type":"assistant","message":42}"#, "assistant"),
        (r#"{"type":"assistant","message":{"content":[1,null,"x",{}]}}"#, "assistant"),
        (&deep, "assistant"),
        (r#"{"type":"user","type":"user"}"#, "not_json"),
        (r#"{"type":"user","message":{},"message":{}}"#, "not_json"),
        (r#"{"type":"user","message":{"content":[],"content":[]}}"#, "not_json"),
        (r#"{"type":"user","unknown":{},"unknown":{}}"#, "user"),
        (r#"{"type":"user","message":{}} {}"#, "not_json"),
    ];
    for (line, expected) in cases {
        let all = Interpreter::new().feed(&Line::whole(line));
        let [StreamItem::Event(EventKind::Raw { what, bytes, head })] = &all[..] else { panic!("{all:?}") };
        assert_eq!((what.as_str(), *bytes), (expected, line.len() as u64));
        assert!(head.len() <= RAW_HEAD);
    }
    let torn = read(br#"{"type":"assistant","mess"#);
    assert!(matches!(&torn[..], [StreamItem::Event(EventKind::Raw { what, .. })] if what == "torn"));
}

#[test]
fn each_answer_of_the_main_agents_model_is_one_round_trip_however_many_lines_it_has() {
    let count = |bytes: &[u8]| read(bytes).iter().filter(|s| **s == StreamItem::RoundTrip).count();
    let recorded: [(&[u8], usize); 6] = [
        (stream!("turns/tools"), 4),
        (stream!("turns/subagent"), 2),
        (stream!("turns/two_turns"), 2),
        (stream!("turns/interrupt_tool"), 1),
        (stream!("errors/max_turns"), 1),
        (stream!("errors/overloaded"), 0),
    ];
    for (bytes, expected) in recorded {
        assert_eq!(count(bytes), expected, "{:.200}", String::from_utf8_lossy(bytes));
    }
    // Another agent may not name its answers: then they end with the results of their calls.
    let text = r#"{"type":"assistant","message":{"content":[{"type":"text","text":"x"}]}}"#;
    let result = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"x"}]}}"#;
    let synthetic = r#"{"type":"assistant","message":{"model":"<synthetic>","content":[{"type":"text","text":"No response requested."}]}}"#;
    assert_eq!(count([text, text, result, text, synthetic, text, result, result, text].join("\n").as_bytes()), 3);
}

#[test]
fn a_tool_input_that_is_too_deep_is_kept_as_text() {
    let line = format!(
        r#"{{"type":"assistant","message":{{"content":[{{"type":"tool_use","id":"i","name":"T","input":{}{}}}]}}}}"#,
        "[".repeat(5000),
        "]".repeat(5000)
    );
    let all = read(line.as_bytes());
    let [StreamItem::RoundTrip, StreamItem::Event(EventKind::ToolCall { input, .. })] = &all[..] else { panic!("{all:?}") };
    assert!(input.as_str().unwrap().starts_with("[[[["));
}

#[test]
fn half_a_surrogate_pair_as_javascript_cuts_them_costs_one_character() {
    let line = r#"{"type":"assistant","message":{"content":[{"type":"text","text":"cut \ud83d"}]}}"#;
    let all = read(line.as_bytes());
    assert!(matches!(&all[..], [StreamItem::RoundTrip, StreamItem::Event(EventKind::Text { text, .. })] if text == "cut \u{fffd}"));
}

/// A small generator of pseudo-random numbers (xorshift64*).
struct Dice(u64);
impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % limit.max(1)
    }
}

#[test]
fn whatever_happens_to_real_lines_nothing_panics_and_what_comes_out_is_bounded() {
    let corpus: [&[u8]; 8] = [
        stream!("turns/tools"),
        stream!("permissions/permission_cancelled"),
        stream!("errors/overloaded"),
        stream!("sessions/deferred_answered"),
        stream!("turns/subagent"),
        stream!("turns/two_turns"),
        stream!("turns/initialize"),
        stream!("turns/interrupt_tool"),
    ];
    let spice: [&[u8]; 14] =
        [b"\"", b"\\", b"\\u", b"\\ud83d", b"\n", b"\0", b"\xff", b"\xf0\x9f", b"{", b"[[[[[[[[", b"null", b"1e999", b"-1", b","];
    let limits = Limits { string: 300, line: 4000, head: 100 };
    let mut dice = Dice(0x1234_5678_9ABC_DEF1);
    for round in 0..1500 {
        let mut bytes = corpus[dice.below(corpus.len())].to_vec();
        for _ in 0..1 + dice.below(30) {
            let at = dice.below(bytes.len());
            let end = at + dice.below((bytes.len() - at).min(400));
            match dice.below(5) {
                0 => bytes[at] = dice.below(256) as u8,
                1 => drop(bytes.drain(at..end)),
                2 => drop(bytes.splice(at..at, spice[dice.below(spice.len())].iter().copied())),
                3 => {
                    let part = bytes[at..end].repeat(1 + dice.below(20));
                    drop(bytes.splice(at..at, part));
                }
                _ => bytes.truncate(bytes.len() - dice.below(50)),
            }
        }
        let limits = if round % 2 == 0 { limits } else { Limits::default() };
        let mut lines = BoundedLines::with_limits(&bytes[..], limits);
        let mut agent = Interpreter::new();
        let mut writer = EventWriter::new(Vec::new());
        let mut seen = 0;
        while let Some(line) = lines.next_line().unwrap() {
            assert!(line.text().len() <= 3 * (limits.line + limits.string));
            assert!(line.size() <= bytes.len() as u64);
            seen += line.size();
            for item in agent.feed(&line) {
                if let StreamItem::Event(event) = item {
                    let before = writer.get_ref().len();
                    writer.append(chrono::DateTime::default(), &event).unwrap();
                    let written = &writer.get_ref()[before..];
                    assert!(written.len() <= LINE_LIMIT);
                    let read: crate::agent::events::Event = serde_json::from_slice(written).unwrap();
                    assert_eq!(read.seq, writer.last_seq());
                }
            }
        }
        assert!(seen <= bytes.len() as u64);
        writer.append(chrono::DateTime::default(), &agent.interrupted("test")).unwrap();
    }
}
