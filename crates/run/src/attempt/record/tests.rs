use super::*;
use askbox_mailbox::document::Document;

const EVERY_FIELD: &str = r#"{
  "schema_version": 1,
  "workflow_id": "w",
  "question_id": "15c96f27-091a-5dc1-bcce-0d2e49721bc0",
  "attempt": 2,
  "claimant": "supervisor",
  "session_id": "25c96f27-091a-4dc1-bcce-0d2e49721bc0",
  "begin": {"how":"fork","from":"35c96f27-091a-4dc1-bcce-0d2e49721bc0"},
  "begin_why": "b",
  "auto": {"why":"a","resume_tokens":2,"cache":"warm","cache_seconds":3,"fresh_tokens":1},
  "nonce_hash": "45c96f27-091a-5dc1-bcce-0d2e49721bc0",
  "message_id": "55c96f27-091a-5dc1-bcce-0d2e49721bc0",
  "runner": "claude",
  "role": "r",
  "model": "m",
  "cwd": "/c",
  "config_dir": "/d",
  "state": "failed",
  "claimed_at": "2026-01-01T00:00:00Z",
  "started_at": "2026-01-01T00:00:01Z",
  "ended_at": "2026-01-01T00:00:02Z",
  "retry_at": "2026-01-01T00:00:03Z",
  "why": "y",
  "failure": {"class":"agent","signature":"s"},
  "asks": "65c96f27-091a-5dc1-bcce-0d2e49721bc0",
  "result": "t",
  "reserved_usd": 0.5,
  "cost_usd": 0.25,
  "agent_version": "2"
}
"#;

fn parse(text: &str) -> askbox_mailbox::error::Result<Document<Run>> {
    Document::parse(text.as_bytes())
}

#[test]
fn a_record_is_written_as_it_was_read_field_by_field() {
    let read = parse(EVERY_FIELD).unwrap();
    let written = Document::new(read.typed).unwrap().to_file().unwrap();
    assert_eq!(String::from_utf8(written).unwrap(), EVERY_FIELD);
}

#[test]
fn a_new_attempt_spells_out_nothing_that_it_does_not_have() {
    let read = parse(EVERY_FIELD).unwrap().typed;
    let first = Run::first(&read.round(), Claimant::Inline);
    let names = Document::new(first).unwrap();
    let expected = "schema_version workflow_id question_id attempt claimant session_id begin message_id state claimed_at";
    assert_eq!(names.names().collect::<Vec<_>>().join(" "), expected);
}

#[test]
fn an_unknown_field_of_a_record_survives_whatever_it_holds() {
    let theirs = r#""theirs": [1e999, "\ud800"]"#;
    let mut document = parse(&EVERY_FIELD.replacen('{', &format!("{{\n  {theirs},"), 1)).unwrap();
    document.typed.state = RunState::Parked;
    document.update().unwrap();
    let text = String::from_utf8(document.to_file().unwrap()).unwrap();
    assert!(text.contains(theirs) && text.contains(r#""state": "parked""#), "{text}");
}

#[test]
fn a_wrong_value_of_a_record_is_named_by_its_field() {
    let wrong = [(r#""/c""#, "7", "cwd: invalid type"), (r#""failed""#, r#""lost""#, "state: unknown variant")];
    for (right, wrong, expected) in wrong {
        let error = parse(&EVERY_FIELD.replace(right, wrong)).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}
