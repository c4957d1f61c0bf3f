//! Reading the stream-json output of `claude`: lines in, [`StreamItem`]s out.
//!
//! What the reader must cope with: `init` is neither the first line nor the only one, several results come, `type` is not the
//! first key, subagents speak in between, and there are types that this version does not know. The stream is not trusted:
//! everything that is kept or passed on is bounded, and the true sizes are stated.
//!
//! In the order in which a line passes through them:
//! - [`lines`]: reads lines in bounded memory; `shorten` cuts long JSON strings while they are read.
//! - `wire`: the JSON shapes of the lines; `repair` mends what is not quite JSON.
//! - `interpreter`: what a line means. It uses `round_trip` (answers of the model), `tool` (calls and results of tools), `verdict` (how
//!   a turn ended), `consumption` (what the turn cost), `bounded` (limits on values) and `ledger` (what the run has done so far).
//! - `item`: what the interpreter returns.

mod bounded;
mod consumption;
mod interpreter;
mod item;
mod ledger;
pub mod lines;
mod repair;
mod round_trip;
mod shorten;
mod tool;
mod verdict;
mod wire;

pub use interpreter::Interpreter;
pub use item::{Elicitation, Generating, PermissionRequest, ReceiptState, StreamItem};
pub use verdict::{Interruption, TurnOutcome, Verdict, waiting_mends};

#[cfg(test)]
mod tests;
