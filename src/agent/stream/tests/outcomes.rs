//! How a turn ended, and what it cost.

use crate::agent::stream::tests::*;

#[test]
fn api_errors_are_classed_by_status_and_type_though_they_claim_success() {
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
        assert_eq!(outcome.terminal_reason, Some("tool_deferred".into()));
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
