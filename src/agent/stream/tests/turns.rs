//! What an agent says and does in a turn becomes events.

use crate::agent::events::Tokens;
use crate::agent::stream::tests::*;

#[test]
fn a_turn_with_tools_becomes_events_receipts_and_a_result() {
    let all = read(stream!("turns/tools"));
    assert_eq!(
        types(&all),
        [
            "started",
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
fn what_a_model_generates_is_told_piece_by_piece_without_the_noise_around_it() {
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
fn a_run_that_is_cut_in_the_middle_of_a_text_keeps_what_was_generated_of_it() {
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
    assert_eq!(session_id.as_ref(), agent.session_id());
    let mut agent = Interpreter::new();
    items(&mut agent, stream!("permissions/hook_stopped"));
    let EventKind::Interrupted { text, tool_calls, .. } = agent.interrupted("hook") else { panic!() };
    let [call] = &tool_calls[..] else { panic!() };
    assert_eq!((text.raw(), call.name.raw(), call.text.raw()), ("one", "Bash", "hi"));
    assert_eq!(call.is_error, Some(false));
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
