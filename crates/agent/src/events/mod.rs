//! The normalized events of a run, the same for every agent program: one JSON object a line, `{"seq":N,"at":"…","type":…}`.
//!
//! `seq` counts from 1 over all attempts of a round and grows by at least 1 a line. `at` is RFC 3339, UTC, with milliseconds. Readers
//! ignore fields that they do not know. Texts are limited: a line is at most [`LINE_LIMIT`] bytes, and an event says how much was cut.
//!
//! | file | idea |
//! |---|---|
//! | `event` | the types, which are the JSON schema as well |
//! | `reader` | reads a file of events in bounded memory |
//! | `writer` | appends events to a file, and finds where an existing file ends |

mod event;
mod reader;
mod writer;

pub use event::{CallEnd, Event, EventKind, Generated, Tokens, ToolSummary};
pub use reader::{EventLine, Events, FILE_LIMIT, open, read};
pub use writer::{EventWriter, LINE_LIMIT, Tail, read_tail, write_line};
