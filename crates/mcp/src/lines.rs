//! The client's lines, so that each request has a reply. The SDK says nothing about a line that it cannot read, and its client would wait
//! for ever. Such a line becomes a request of a method that no server has, with the id of the line, and so gets an error.

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream};

/// The method of a line that cannot be read.
pub(super) const UNREADABLE: &str = "askbox/unreadable";
/// The longest line that is looked at, in bytes. The SDK reads on by itself in a longer one.
const LONGEST: u64 = 16 << 20;
/// The bytes that are read ahead of the SDK.
const AHEAD: usize = 64 << 10;

/// What the SDK reads in place of the input. It ends with the input. The second value does the work.
pub(super) fn readable(input: impl AsyncRead + Unpin + Send + 'static) -> (DuplexStream, impl Future<Output = ()> + Send) {
    let (mut to_server, from_client) = tokio::io::duplex(AHEAD);
    let work = async move {
        let (mut input, mut line) = (BufReader::new(input), Vec::new());
        let mut is_within = false;
        while (&mut input).take(LONGEST).read_until(b'\n', &mut line).await.is_ok_and(|read| read > 0) {
            let (was_within, ends) = (is_within, line.ends_with(b"\n"));
            is_within = !ends;
            let piece = std::mem::take(&mut line);
            if to_server.write_all(&if was_within || !ends { piece } else { as_request(piece) }).await.is_err() {
                return;
            }
        }
    };
    (from_client, work)
}

/// The line as it is, if the SDK can read it. A line without an id that can be found stays too: there is nothing to reply to.
fn as_request(line: Vec<u8>) -> Vec<u8> {
    let read = serde_json::from_slice::<Value>(&line);
    if line.trim_ascii().is_empty() || read.as_ref().is_ok_and(is_message) {
        return line;
    }
    let id = match &read {
        Ok(message) => message.get("id").cloned(),
        Err(_) => id_in(&line),
    };
    match id.filter(|id| id.is_string() || id.is_i64()) {
        Some(id) => format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "method": UNREADABLE })).into_bytes(),
        None => line,
    }
}

fn is_message(message: &Value) -> bool {
    let is_request = message["method"].is_string();
    message["jsonrpc"] == "2.0" && (is_request || message.get("result").or(message.get("error")).is_some())
}

/// The id of a line that is not JSON, or is nested too deep: the value behind the first key `"id"` that is not inside of a list or another
/// object.
fn id_in(line: &[u8]) -> Option<Value> {
    let (mut depth, mut at) = (0, 0);
    while at < line.len() {
        match line[at] {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            b'"' => {
                let mut strings = serde_json::Deserializer::from_slice(&line[at..]).into_iter::<String>();
                let text = strings.next()?.ok()?;
                at += strings.byte_offset();
                if depth == 1
                    && text == "id"
                    && let Some(value) = line[at..].trim_ascii_start().strip_prefix(b":")
                {
                    return serde_json::Deserializer::from_slice(value).into_iter().next()?.ok();
                }
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn becomes(line: &str) -> String {
        String::from_utf8(as_request(format!("{line}\n").into_bytes())).unwrap().trim_end().to_owned()
    }

    #[test]
    fn a_line_that_cannot_be_read_keeps_its_id() {
        let deep = format!(r#"{{"jsonrpc":"2.0","params":{{"id":1,"a":{}1{}}},"id":7,"method":"m"}}"#, "[".repeat(500), "]".repeat(500));
        for (line, id) in [
            (r#"{"jsonrpc":"2.0","id":7,"method":"tools/list""#, "7"),
            (r#"{"jsonrpc":"2.0","id":7,"method":7}"#, "7"),
            (r#"{"jsonrpc":"1.0","method":"ping","id":"a\"b"}"#, r#""a\"b""#),
            (r#"{"id" : "x","method":"ping"}"#, r#""x""#),
            (&deep, "7"),
        ] {
            assert_eq!(becomes(line), format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"askbox/unreadable"}}"#), "{line}");
        }
    }

    #[test]
    fn all_else_stays_as_it_is() {
        for line in [
            "",
            "hello",
            "{",
            r#"{"jsonrpc":"2.0","method":"notifications/x"}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
            r#"{"params":{"id":1}"#,
            r#"{"id":1.5,"x""#,
            r#"{"id":{"a":1}"#,
        ] {
            assert_eq!(becomes(line), line);
        }
    }
}
