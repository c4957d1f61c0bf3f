//! A line of the archive: one file of a round, or a part of one. It is a JSON object, and says of which round it is.
//!
//! A JSON document is in `json`, so that `jq` selects by its fields. If askbox would write it with other bytes, these are in `text` as
//! well, and count. Other files are in `text`. Bytes that are not UTF-8 are in `latin1`: each character, from U+0000 to U+00FF, is one
//! byte.

use std::io::Read;

use askbox_mailbox::{Document, Error, QuestionId, Result, RoundId, WorkflowId};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The largest part of a file in one line, in bytes.
const PART: usize = 64 << 10;
/// The largest JSON document in one line, in bytes. A larger one comes in parts, as text.
const JSON: usize = 1 << 20;
/// The longest line that is read, in bytes. One byte takes at most six in JSON, and a document may be there twice.
pub(super) const LONGEST: usize = 8 << 20;

/// One file of a round, or a part of one.
#[serde_with::skip_serializing_none]
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Line {
    workflow_id: WorkflowId,
    question_id: QuestionId,
    /// The path below the mailbox.
    pub(super) file: String,
    /// The number of the part, from 0.
    #[serde(default, skip_serializing_if = "is_first")]
    pub(super) part: u32,
    /// True if another part follows.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) more: bool,
    json: Option<Box<RawValue>>,
    text: Option<String>,
    latin1: Option<String>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_first(part: &u32) -> bool {
    *part == 0
}

/// Any JSON object. A document keeps the fields that its type does not know.
#[derive(Serialize, Deserialize)]
struct AnyObject {}

impl Line {
    pub(super) fn round(&self) -> RoundId {
        RoundId { workflow: self.workflow_id.clone(), question: self.question_id }
    }

    /// The bytes of the file, or of the part.
    pub(super) fn bytes(self) -> Result<Vec<u8>> {
        match (self.text, self.latin1, self.json) {
            (Some(text), _, _) => Ok(text.into_bytes()),
            (_, Some(text), _) => text.chars().map(|c| u8::try_from(u32::from(c)).map_err(|_| no_byte(c))).collect(),
            (_, _, Some(json)) => Ok(as_askbox_writes(json.get())?.into_bytes()),
            (None, None, None) => Err(Error::invalid("text", "is missing", "a line has `json`, `text` or `latin1`")),
        }
    }
}

fn no_byte(c: char) -> Error {
    Error::invalid("latin1", format!("has the character {c:?}, which is no byte"), "restore the archive from a backup")
}

/// The document as askbox writes it.
fn as_askbox_writes(json: &str) -> Result<String> {
    let bytes = Document::<AnyObject>::parse(json.as_bytes())?.to_bytes();
    String::from_utf8(bytes).map_err(|e| Error::failed(e.to_string(), "report this"))
}

/// The document on one line, and true if askbox would write it with exactly these bytes. `None` if it is not a JSON object.
fn on_one_line(text: &str) -> Option<(Box<RawValue>, bool)> {
    let document = Document::<AnyObject>::parse(text.as_bytes()).ok()?;
    let mut json = String::from("{");
    for name in document.names() {
        let comma = if json.len() == 1 { "" } else { "," };
        json.push_str(&format!("{comma}{}:{}", serde_json::to_string(name).ok()?, document.field(name)?));
    }
    json.push('}');
    if !json.contains('\n') && as_askbox_writes(&json).is_ok_and(|written| written == text) {
        return Some((RawValue::from_string(json).ok()?, true));
    }
    let value: serde_json::Value = serde_json::from_str(&json).ok()?;
    Some((serde_json::value::to_raw_value(&value).ok()?, false))
}

/// Hands over the lines of a file, each with its line feed. Returns the first error of the file or of `take`.
pub(super) fn of_file(
    round: &RoundId,
    name: &str,
    mut file: impl Read,
    mut take: impl FnMut(&[u8]) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let room = if name.ends_with(".json") { JSON } else { PART };
    let mut unread = Vec::new();
    for part in 0.. {
        file.by_ref().take((room - unread.len()) as u64).read_to_end(&mut unread)?;
        let is_last = unread.len() < room;
        let end = if is_last { unread.len() } else { end_of_part(&unread) };
        let bytes: Vec<u8> = unread.drain(..end).collect();
        let mut line = Line {
            workflow_id: round.workflow.clone(),
            question_id: round.question,
            file: name.to_owned(),
            part,
            more: !is_last,
            json: None,
            text: None,
            latin1: None,
        };
        match String::from_utf8(bytes) {
            Ok(text) => {
                let json = if is_last && part == 0 && room == JSON { on_one_line(&text) } else { None };
                let is_exact = json.as_ref().is_some_and(|(_, is_exact)| *is_exact);
                line.json = json.map(|(json, _)| json);
                line.text = (!is_exact).then_some(text);
            }
            Err(e) => line.latin1 = Some(e.as_bytes().iter().map(|byte| char::from(*byte)).collect()),
        }
        let mut json = serde_json::to_vec(&line)?;
        json.push(b'\n');
        take(&json)?;
        if is_last {
            break;
        }
    }
    Ok(())
}

/// The end of a full part: behind its last line, or else between two characters.
fn end_of_part(bytes: &[u8]) -> usize {
    if let Some(feed) = bytes.iter().rposition(|byte| *byte == b'\n') {
        return feed + 1;
    }
    match std::str::from_utf8(bytes) {
        Err(e) if e.error_len().is_none() && e.valid_up_to() > 0 => e.valid_up_to(),
        _ => bytes.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round() -> RoundId {
        RoundId { workflow: "docs".parse().unwrap(), question: QuestionId::generate() }
    }

    /// The lines of a file, and the bytes that they make again.
    fn there_and_back(name: &str, bytes: &[u8]) -> (Vec<serde_json::Value>, Vec<u8>) {
        let (mut lines, mut back) = (Vec::new(), Vec::new());
        of_file(&round(), name, bytes, |line| {
            assert!(line.len() <= LONGEST && line.iter().filter(|b| **b == b'\n').count() == 1, "{} bytes", line.len());
            lines.push(serde_json::from_slice(line).unwrap());
            back.extend(serde_json::from_slice::<Line>(line).unwrap().bytes().unwrap());
            Ok(())
        })
        .unwrap();
        (lines, back)
    }

    #[test]
    fn every_byte_of_every_file_comes_back() {
        let long = "ä😀x".repeat(40_000);
        let files: [(&str, Vec<u8>); 12] = [
            ("runs/x/events.jsonl", Vec::new()),
            ("runs/x/events.jsonl", b"{\"seq\":1}\n{\"seq\":2}\n".repeat(20_000)),
            ("runs/x/stderr.log", long.into_bytes()),
            ("runs/x/stderr.log", (0..=255).cycle().take(200_000).collect()),
            ("runs/x/stderr.log", vec![0x80; PART]),
            ("runs/x/stderr.log", vec![b'a'; 2 * PART]),
            ("a.json", b"{\n  \"a\": 1.50,\n  \"b\": \"\\u00e9\"\n}\n".to_vec()),
            ("a.json", b"\xef\xbb\xbf{ \"a\" :\n [1,\n 2.0e1 ] }".to_vec()),
            ("a.json", b"{\"a\":1,\"a\":2}".to_vec()),
            ("a.json", b"{\"a\": \xff}".to_vec()),
            ("a.json", b"[1]".to_vec()),
            ("a.json", format!("{{\"a\": \"{}\"}}", "y".repeat(3 * JSON)).into_bytes()),
        ];
        for (name, bytes) in files {
            let (lines, back) = there_and_back(name, &bytes);
            assert!(back == bytes, "{name} of {} bytes", bytes.len());
            assert!(lines.iter().enumerate().all(|(n, l)| l["part"].as_u64().unwrap_or(0) == n as u64));
        }
    }

    #[test]
    fn a_document_can_be_selected_by_its_fields() {
        let (lines, _) = there_and_back("a.json", b"{\n  \"question\": \"Merge?\"\n}\n");
        assert!(lines[0]["json"]["question"] == "Merge?" && lines[0]["text"].is_null(), "{lines:?}");
        let (lines, _) = there_and_back("a.json", b"{\"question\": \"Merge?\"}");
        assert!(lines[0]["json"]["question"] == "Merge?" && lines[0]["text"].is_string(), "{lines:?}");
    }

    #[test]
    fn a_character_that_is_no_byte_is_refused() {
        let line = r#"{"workflow_id":"w","question_id":"01a200d3-6403-73d0-b0a8-62f4627a962f","file":"f","latin1":"\u0100"}"#;
        assert!(serde_json::from_str::<Line>(line).unwrap().bytes().is_err());
        assert!(serde_json::from_str::<Line>(&line.replace("latin1", "other")).unwrap().bytes().is_err());
    }
}
