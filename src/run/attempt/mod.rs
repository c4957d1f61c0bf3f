//! One attempt to deliver a round: its record, and how it ends.
//!
//! - `record`: the record of an attempt: its plan and its progress, and the file that keeps them
//! - `run_json`: how `run.json` spells a record
//! - `failure`: the classes of failures: what waiting mends, what another attempt may mend, what only a person can
//! - `earlier`: what the earlier attempts of the round came to, for the limits on attempts
//! - `suspended_call`: a tool call of the agent that waits for the answer, from one attempt to a later round's
//! - `used_answer`: the mark of a round whose answer may be used once
//! - `no_result`: a final text that only says that the agent waits, where it waits for nothing
//! - `ending`: delivered, tried again later, or parked

pub mod earlier;
pub mod ending;
pub mod failure;
mod no_result;
pub mod record;
pub mod run_json;
pub mod suspended_call;
pub mod used_answer;
