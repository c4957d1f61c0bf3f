//! Reads the stream-json output of `claude`: lines in, [`StreamItem`]s out.
//!
//! The reader must cope with a lot. `init` is neither the first line nor the only one. Several results come. `type` is not the first
//! key. Subagents speak in between, and there are types that this version does not know. The stream is not trusted: everything that is
//! kept or passed on is limited, and the true sizes are recorded.
//!
//! A line passes through these files in this order:
//!
//! | file | idea |
//! |---|---|
//! | [`lines`] | reads lines in limited memory |
//! | `shorten` | cuts long JSON strings while a line is read |
//! | `wire` | the JSON shapes of the lines, and mending almost valid JSON |
//! | `dirty_line` | finds the message in a line that holds other bytes too |
//! | `interpreter` | finds the meaning of a line |
//! | `verdict` | the end and the cost of a turn |
//! | `ledger` | the work of the run so far |
//! | `bounded` | limits on values |
//! | `item` | what the interpreter returns |

pub mod bounded;
pub mod dirty_line;
mod interpreter;
mod item;
pub mod ledger;
pub mod lines;
mod shorten;
mod verdict;
pub mod wire;

pub use interpreter::{Interpreter, note_of_dirt, raw};
pub use item::{Asker, Elicitation, FormReply, Generating, PermissionRequest, ReceiptState, StreamItem};
pub use verdict::{Interruption, TurnOutcome, Verdict, waiting_mends};

#[cfg(test)]
mod tests;
