//! One attempt to deliver a round: its record, and how it ends.
//!
//! - `record`: the record of an attempt: its plan and its progress, and the file that keeps them
//! - `acp_session`: the session that an attempt opened with an agent that speaks ACP
//! - `auto_choice`: why `relaunch.mode = "auto"` chose a new or a resumed session
//! - `failure`: the classes of failures: some pass with waiting, some may be gone at another attempt, some only a person can mend
//! - `earlier`: the outcomes of the round's earlier attempts, for the limits on attempts
//! - `earlier_calls`: the tool calls of the round's earlier attempts, for a session that does not have them
//! - `stop_request`: a request to stop a live run
//! - `suspended_call`: a tool call of the agent that waits in its session for the answer, until an attempt of a later round brings it
//! - `unasked`: the MCP servers that could not ask, because another question waited
//! - `used_answer`: the mark of a round whose answer may be used once
//! - `fetched`: the receipt of an answer that the agent has fetched
//! - `ending`: delivered, tried again later, or parked
//! - `once`: the marks of calls that are made at most once in a round
//! - `trace`: the ids of the spans of a round, and the trace that a run is given
//! - `turn_ending`: what the outcome of an agent's turn means
//! - `no_result`: the final texts that are not a result, because they only say that the agent waits

pub mod acp_session;
pub mod auto_choice;
pub mod earlier;
pub mod earlier_calls;
pub mod ending;
pub mod failure;
pub mod fetched;
mod no_result;
pub mod once;
pub mod record;
pub mod stop_request;
pub mod suspended_call;
pub mod trace;
pub mod turn_ending;
pub mod unasked;
pub mod used_answer;
