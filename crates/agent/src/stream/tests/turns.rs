//! The words, actions and requests of an agent in a turn become events. The turn's end has a verdict and a cost.

use crate::events::Tokens;
use crate::stream::tests::*;

#[test]
fn a_turn_with_tools_becomes_events_receipts_and_a_result() {
    let all = read(stream!("turns/tools"));
    assert_eq!(
        types(&all),
        [
            "started", "thinking", "text", "tool_call", "tool_result", "tool_call", "tool_call", "tool_result", "tool_result", "tool_call",
            "tool_result", "text", "result"
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
fn generated_text_is_told_piece_by_piece_without_the_noise() {
    let all = read(stream!("turns/partial"));
    let pieces: Vec<_> = all
        .iter()
        .filter_map(|item| match item {
            StreamItem::Generating(what) => Some(what.clone()),
            _ => None,
        })
        .collect();
    let text = |words: &str| Generating::Text(words.into());
    let (answer, input) = (Generating::Answer, Generating::ToolInput);
    assert_eq!(pieces, [answer.clone(), text("look"), input, answer, text("z")]);
    assert_eq!(types(&all), ["started", "text", "tool_call", "tool_result", "text", "result"]);
    let thinking = read(br#"{"type":"system","subtype":"thinking_tokens","estimated_tokens":40,"estimated_tokens_delta":20}"#);
    assert_eq!(thinking, [StreamItem::Generating(Generating::Thinking)]);
    let subagent = br#"{"type":"stream_event","parent_tool_use_id":"t1","event":{"type":"content_block_delta","delta":{"type":"text_delta","text":"x"}}}"#;
    assert_eq!(read(subagent), []);
}

#[test]
fn a_run_cut_in_the_middle_of_a_text_keeps_what_was_generated() {
    let piece = |words: &str| {
        format!(r#"{{"type":"stream_event","event":{{"type":"content_block_delta","delta":{{"type":"text_delta","text":"{words}"}}}}}}"#)
            + "\n"
    };
    let words = |agent: &Interpreter| match agent.interrupted("") {
        EventKind::Interrupted { text, .. } => text.raw().to_owned(),
        other => panic!("{other:?}"),
    };
    let mut agent = Interpreter::new();
    items(&mut agent, br#"{"type":"assistant","message":{"content":[{"type":"text","text":"First."}]}}"#);
    items(&mut agent, (piece("Then ") + &piece("hal")).as_bytes());
    assert_eq!(words(&agent), "First.\n\nThen hal");
    items(&mut agent, br#"{"type":"stream_event","event":{"type":"message_start","message":{}}}"#);
    assert_eq!(words(&agent), "First.");
    items(&mut agent, piece("Then half").as_bytes());
    items(&mut agent, br#"{"type":"assistant","message":{"content":[{"type":"text","text":"Then half."}]}}"#);
    assert_eq!(words(&agent), "First.\n\nThen half.");
    items(&mut agent, piece(&"long ".repeat(1000)).repeat(50).as_bytes());
    assert!(words(&agent).len() <= 32 << 10 && words(&agent).ends_with("long long "));
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
fn throttling_is_told_apart_from_work() {
    let all = read(stream!("errors/throttled_then_ok"));
    assert_eq!(types(&all), ["started", "throttled", "throttled", "text", "result"]);
    let EventKind::Throttled { status, retry, max_retries, error, .. } = events(&all)[2] else { panic!() };
    assert_eq!((*status, *retry, *max_retries, error.raw()), (Some(529), 2, Some(10), "overloaded"));
    let refused = read(stream!("errors/connection_refused"));
    let EventKind::Throttled { status, .. } = events(&refused)[1] else { panic!() };
    assert_eq!(*status, None);
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
    let bash = ("Bash".into(), parent.unwrap());
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
    assert_eq!(session_id, agent.session_id);
    let mut agent = Interpreter::new();
    items(&mut agent, stream!("permissions/hook_stopped"));
    let EventKind::Interrupted { text, tool_calls, .. } = agent.interrupted("hook") else { panic!() };
    let [call] = &tool_calls[..] else { panic!() };
    assert_eq!((text.raw(), call.name.raw(), call.text.raw()), ("one", "Bash", "hi"));
    assert_eq!(call.is_error, Some(false));
}

#[test]
fn an_answer_of_the_model_is_one_round_trip_with_any_lines() {
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
    // Another agent program may not name its answers. Then they end with the results of their calls.
    let text = r#"{"type":"assistant","message":{"content":[{"type":"text","text":"x"}]}}"#;
    let result = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"x"}]}}"#;
    let synthetic = r#"{"type":"assistant","message":{"model":"<synthetic>","content":[{"type":"text","text":"No response requested."}]}}"#;
    assert_eq!(count([text, text, result, text, synthetic, text, result, result, text].join("\n").as_bytes()), 3);
}

#[test]
fn a_permission_request_carries_all_that_a_decision_needs() {
    let all = read(stream!("permissions/permission_allow"));
    let request = all.iter().find_map(|s| match s {
        StreamItem::Permission(request) => Some(request),
        _ => None,
    });
    let request = request.unwrap();
    assert_eq!((request.tool_name.raw(), request.complete), ("Bash", true));
    assert_eq!(request.input["command"], "touch q1");
    assert!(!request.request_id.is_empty() && !request.tool_use_id.is_empty());
    assert!(!request.requires_user_interaction);
    let asked = read(stream!("permissions/ask_user_question"));
    assert!(asked.iter().any(|s| matches!(s, StreamItem::Permission(r) if r.requires_user_interaction)));
}

#[test]
fn a_shortened_permission_request_says_it_is_not_complete() {
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
    assert!(all.iter().any(|s| matches!(s, StreamItem::RequestCancelled { .. })));
    assert!(all.iter().any(|s| matches!(s, StreamItem::ControlReply { request_id, ok: true, .. } if request_id == "int1")));
    assert!(all.iter().any(|s| matches!(s, StreamItem::Receipt { state: ReceiptState::Cancelled, .. })));
    let tools = Verdict::Interrupted { during: Interruption::Tools, is_error: true };
    assert_eq!(verdict(stream!("permissions/permission_cancelled")), tools);
}

#[test]
fn a_message_that_the_session_already_had_gives_a_lone_receipt() {
    let all = read(stream!("sessions/same_uuid_on_resume"));
    assert!(matches!(all[..], [StreamItem::Receipt { state: ReceiptState::Completed, .. }]));
}

#[test]
fn control_replies_tell_success_from_failure() {
    let all = read(stream!("turns/initialize"));
    let [StreamItem::ControlReply { ok: true, response, .. }, StreamItem::ControlReply { ok: false, error, .. }] = &all[..] else {
        panic!("{all:?}")
    };
    assert_eq!(response["claude_code_version"], "2.1.330");
    assert!(error.raw().starts_with("Unsupported control request"));
}

#[test]
fn api_errors_are_classed_by_status_though_they_claim_success() {
    let class = |bytes| match verdict(bytes) {
        Verdict::ApiError { status, error_type, message } => {
            assert!(message.raw().contains("API Error"), "{message:?}");
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
    assert_eq!(outcomes(&read(stream!("errors/max_turns")))[0].turns, 1, "the refused turn was not made");
    assert_eq!(verdict(stream!("errors/budget")), Verdict::Budget);
    assert_eq!(verdict(stream!("errors/too_long")), Verdict::TooLong);
    assert_eq!(verdict(stream!("sessions/resume_unknown")), Verdict::ResumeUnknown);
    assert_eq!(verdict(stream!("permissions/hook_stopped")), Verdict::HookStopped);
}

#[test]
fn a_deferred_call_is_recognised_without_a_terminal_reason() {
    for bytes in [&stream!("sessions/deferred")[..], stream!("sessions/deferred_again")] {
        let all = read(bytes);
        let [outcome] = outcomes(&all)[..] else { panic!() };
        let Verdict::Deferred { tool_name, input, .. } = &outcome.verdict else { panic!("{outcome:?}") };
        assert_eq!(tool_name, "AskUserQuestion");
        assert_eq!(input["questions"][0]["question"], "Which DB?");
        assert_eq!(outcome.terminal_reason, Some("tool_deferred".into()));
        assert!(outcome.turns <= 1);
    }
    let again = read(stream!("sessions/deferred_again"));
    assert!(!again.iter().any(|s| matches!(s, StreamItem::Began { .. })));
}

#[test]
fn a_resumed_deferred_call_may_have_its_result_before_init() {
    let mut agent = Interpreter::resuming("old");
    let all = items(&mut agent, stream!("sessions/deferred_answered"));
    assert_eq!(types(&all), ["raw", "tool_result", "started", "text", "result"]);
    let EventKind::Started { resumed, .. } = events(&all)[2] else { panic!() };
    assert_eq!(*resumed, Some("old".into()));
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
fn without_figures_per_turn_the_cost_is_the_growth_of_the_total() {
    let line = |total| format!("{{\"type\":\"result\",\"total_cost_usd\":{total},\"usage\":{{\"input_tokens\":5}}}}\n");
    let both = line(0.5) + &line(0.75);
    let costs = |mut agent| -> Vec<_> {
        let all = items(&mut agent, both.as_bytes());
        outcomes(&all).iter().map(|o| (o.cost_usd, o.tokens.input)).collect()
    };
    assert_eq!(costs(Interpreter::new()), [(Some(0.5), 5), (Some(0.25), 5)]);
    assert_eq!(costs(Interpreter::resuming("s")), [(None, 5), (Some(0.25), 5)]);
}
