//! What a stream says about a tool: the input of a call, and the text and the size of a result.

use crate::agent::stream::bounded::head;
use crate::agent::stream::lines::Line;
use crate::agent::stream::wire::{self, Raw};
use crate::untrusted::Untrusted;

/// Kept of a tool result's text in an event, in bytes.
pub(super) const RESULT_TEXT: usize = 4 << 10;

/// The file that a call writes, for the tools that write one.
pub(super) fn written_file(tool: &str, input: Raw<'_>) -> Option<Untrusted> {
    if !matches!(tool, "Write" | "Edit" | "MultiEdit" | "NotebookEdit") {
        return None;
    }
    let paths: wire::Paths = wire::object(input).unwrap_or_default();
    wire::text(paths.notebook_path.or(paths.file_path)).ok()?
}

/// The head of a tool result's text, and the result's true size in bytes.
pub(super) fn result_text(line: &Line<'_>, content: Raw<'_>) -> serde_json::Result<(String, u64)> {
    let mut bytes = content.map_or(0, |content| line.dropped_in(content.get()));
    if let Some(whole) = wire::text(content)? {
        return Ok((head(whole.raw(), RESULT_TEXT).to_owned(), bytes + whole.raw().len() as u64));
    }
    let mut text = String::new();
    for block in wire::blocks(content)? {
        match wire::text(block.text)? {
            Some(part) => {
                let part = part.raw();
                bytes += part.len() as u64;
                if !text.is_empty() && text.len() < RESULT_TEXT {
                    text.push('\n');
                }
                text.push_str(head(part, RESULT_TEXT.saturating_sub(text.len())));
            }
            // Of pictures and the like, only the kind and the size.
            None => {
                bytes += block.source.map_or(0, |source| source.get().len() as u64);
                text.push_str(&format!("[{}]", head(wire::word(block.kind), 64)));
            }
        }
    }
    Ok((text, bytes))
}
