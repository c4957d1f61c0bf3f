//! The bytes that are signed: everything in an answer that a reader acts on, and the whole question. The question counts both as
//! the person saw it and as its agent goes on from it.

use crate::documents::shown;
use crate::{Answer, Error, Question, Result, document, time};

/// The first line. It names the content and the version of its form.
pub const FIRST_LINE: &str = "askbox answer v1\n";

/// Returns the bytes to sign for a complete answer to this question: [`FIRST_LINE`], then one JSON array.
///
/// # Errors
/// [`Error::Invalid`] if the question has no `question_id`, or the answer has no `question_hash` or no `at`.
pub fn of_answer(question: &Question, answer: &Answer) -> Result<Vec<u8>> {
    with(question, &shown::for_its_machine(question)?, answer)
}

/// [`of_answer`] for a question of another machine. `question` is only the part that is shown to people on other machines, and
/// `of_its_machine` is the hash of the rest, as the question's machine told it.
///
/// # Errors
/// Those of [`of_answer`].
pub fn with(question: &Question, of_its_machine: &str, answer: &Answer) -> Result<Vec<u8>> {
    let incomplete = |field: &str| Error::invalid(field, "is missing", "only a complete answer is signed");
    let round = question.question_id.ok_or_else(|| incomplete("question_id"))?;
    let hash = answer.question_hash.ok_or_else(|| incomplete("answer.question_hash"))?;
    let at = time::rfc3339(answer.at.ok_or_else(|| incomplete("answer.at"))?);
    let of = (&question.workflow_id, round, hash, shown::for_everybody(question)?, of_its_machine);
    let said = (answer.outcome, &answer.value, &answer.note, answer.asks_back);
    let content = (of.0, of.1, of.2, of.3, of.4, said.0, said.1, said.2, said.3, &answer.by, &answer.channel, &answer.through, at);
    let mut bytes = FIRST_LINE.as_bytes().to_vec();
    bytes.extend(answer.with_later_fields(document::to_json(&content)?)?);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sha2::{Digest, Sha256};

    const DOCUMENT: &str = r#"{"workflow_id": "wf8", "question": "Q8?", "question_id": "15c96f27-091a-5dc1-bcce-0d2e49721bc0", "context": "why",
        "answer": {"value": "yes", "by": "ann", "channel": "ask-answer", "through": "terminal", "at": "2026-11-24T08:00:00+01:00",
        "question_hash": "20f2cba4-940b-5b05-aa8f-e8f823ba86c7", "note": "soon"}}"#;

    fn signed(document: &str) -> String {
        let question: Question = serde_json::from_str(document).unwrap();
        String::from_utf8(of_answer(&question, question.answer.as_ref().unwrap()).unwrap()).unwrap()
    }

    #[test]
    fn the_signed_bytes_are_those_of_the_protocol() {
        let hash = |text: &str| Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let seen = hash(r#"{"question":"Q8?","workflow_id":"wf8","context":"why"}"#);
        let of_its_machine = hash("[null,null,null,null,null,null,[],[]]");
        assert_eq!(
            signed(DOCUMENT),
            format!(
                "askbox answer v1\n[\"wf8\",\"15c96f27-091a-5dc1-bcce-0d2e49721bc0\",\"20f2cba4-940b-5b05-aa8f-e8f823ba86c7\",\"{seen}\",\"{of_its_machine}\",\
                 \"answered\",\"yes\",\"soon\",false,\"ann\",\"ask-answer\",\"terminal\",\"2026-11-24T07:00:00.000Z\"]"
            )
        );
    }

    #[test]
    fn whatever_a_reader_acts_on_changes_them() {
        for (field, other) in [
            ("\"wf8\"", "\"wf9\""),
            ("Q8?", "Q9?"),
            ("15c9", "15ca"),
            ("\"why\"", "\"else\""),
            ("\"yes\"", "\"no\""),
            ("\"yes\"", "[\"yes\"]"),
            ("\"ann\"", "\"bob\""),
            ("\"ask-answer\"", "\"inbox\""),
            ("\"terminal\"", "\"web\""),
            ("08:00:00", "08:00:01"),
            ("20f2", "20f3"),
            ("\"soon\"", "\"later\""),
            ("\"value\": \"yes\"", "\"outcome\": \"declined\""),
            ("\"by\": \"ann\"", "\"by\": \"ann\", \"edited\": \"\""),
        ] {
            assert_ne!(signed(&DOCUMENT.replacen(field, other, 1)), signed(DOCUMENT), "{field} → {other}");
        }
        let declined = DOCUMENT.replacen("\"value\": \"yes\"", "\"outcome\": \"declined\"", 1);
        assert_ne!(signed(&declined.replacen("\"by\"", "\"always\": true, \"by\"", 1)), signed(&declined));
        // Every field of the question that matters to a person or to its agent.
        for more in [
            r#""type":"text""#,
            r#""options":["a"]"#,
            r#""free_text":false"#,
            r#""range":{"max":3}"#,
            r#""questions":[{"question":"?"}]"#,
            r#""timestamp":"x""#,
            r#""asked_by":"x""#,
            r#""expires_at":"2026-01-01T00:00:00Z""#,
            r#""on_expiry":"cancel""#,
            r#""default":"no""#,
            r#""until":{"file":"/x"}"#,
            r#""remind_every":"4h""#,
            r#""priority":1"#,
            r#""cwd":"/x""#,
            r#""parent":"x""#,
            r#""in_reply_to":"15c96f27-091a-5dc1-bcce-0d2e49721bc0""#,
            r#""approval":{"tool":"Bash","sha256":"x"}"#,
            r#""elicited_by":"x""#,
            r#""to_session":true"#,
            r#""attachments":[{"name":"x","type":"text/plain","size":1,"sha256":"x"}]"#,
            r#""checkpoint":"/x""#,
            r#""session_id":"15c96f27-091a-5dc1-bcce-0d2e49721bc0""#,
            r#""config_dir":"/x""#,
            r#""tool_call":{"name":"x","id":"x"}"#,
            r#""prompt":"x""#,
            r#""reads":["/x"]"#,
            r#""results":[{"workflow_id":"c","end":"delivered"}]"#,
            r#""asked_in":{"run":"p/15c96f27-091a-5dc1-bcce-0d2e49721bc0/1","proof":"15c96f27-091a-5dc1-bcce-0d2e49721bc0"}"#,
        ] {
            assert_ne!(signed(&DOCUMENT.replacen('{', &format!("{{{more},"), 1)), signed(DOCUMENT), "{more}");
        }
        // The fields that the transitions write are not part of the question.
        let again =
            format!(r#"{{"schema_version":1,"closed":{{"state":"delivered","at":"2026-01-01T00:00:00Z","by":"x"}},{}"#, &DOCUMENT[1..]);
        assert_eq!(signed(&again), signed(DOCUMENT));
        let question: Question = serde_json::from_str(&DOCUMENT.replace("\"question_hash\"", "\"other\"")).unwrap();
        assert!(of_answer(&question, question.answer.as_ref().unwrap()).is_err());
    }

    #[test]
    fn a_document_of_several_kinds_is_signed_whole() {
        let mixed = DOCUMENT.replacen(
            '{',
            r#"{"type":"choice","options":["a"],"free_text":false,"range":{"max":3},"questions":[{"question":"?"}],"timestamp":"x","asked_by":"x",
            "expires_at":"2026-01-01T00:00:00Z","on_expiry":"cancel","default":"no","until":{"file":"/x"},"remind_every":"4h","priority":1,
            "cwd":"/x","parent":"x","in_reply_to":"15c96f27-091a-5dc1-bcce-0d2e49721bc0","approval":{"tool":"Bash","sha256":"x"},
            "elicited_by":"x","to_session":true,"checkpoint":"/x","session_id":"15c96f27-091a-5dc1-bcce-0d2e49721bc0","config_dir":"/x",
            "tool_call":{"name":"x","id":"x"},"prompt":"x","reads":["/x"],"results":[{"workflow_id":"c","end":"delivered"}],"#,
            1,
        );
        let without = |field: &str, value: &str| mixed.replacen(&format!("\"{field}\":{value},"), "", 1);
        let of_a_task = without("results", r#"[{"workflow_id":"c","end":"delivered"}]"#);
        let hashes = |document: &str| {
            let signed = signed(document);
            let mut texts = signed.split('"').skip(7).step_by(2);
            [texts.next().unwrap().to_owned(), texts.next().unwrap().to_owned()]
        };
        let seen = "edd9c83b63e9e3c8fc3240708d9629276cc37d1e1708ab0af186f8fbd0007d29";
        for (document, of_its_machine) in [
            (&mixed, "472e09e1e841d4fe3a2a2ef25da0f57c483cfda3b929c6b176945a6ad07df1c8"),
            (&without("prompt", r#""x""#), "2e068b7a69f3a862d198510f821260494951484320bc52fcf692ba6c92e19a05"),
            (&of_a_task, "1babe0622774d05e9c3374df59af2695b9e64141a7c45c1fbed15b2e2b8f14ce"),
        ] {
            assert_eq!(hashes(document), [seen, of_its_machine]);
        }
        let question: Question = serde_json::from_str(&mixed).unwrap();
        assert_eq!(question.hash().unwrap().to_string(), "8ddcd2b4-522c-5784-832a-560718a932c2");
    }
}
