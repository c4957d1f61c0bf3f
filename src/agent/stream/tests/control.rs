//! Permission requests, control replies and receipts.

use crate::agent::stream::tests::*;

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
