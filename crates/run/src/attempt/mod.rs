//! One attempt to deliver a round: its record, and how it ends.
//!
//! | file | idea |
//! |---|---|
//! | `record` | the plan and the progress of an attempt, and their file |
//! | `acp_session` | the session that an attempt opened with an agent that speaks ACP |
//! | `auto_choice` | why `relaunch.mode = "auto"` chose a new or a resumed session |
//! | `failure` | the classes of failures, by what may mend them |
//! | `earlier` | the outcomes of the round's earlier attempts, for the limits on attempts; the tool calls of earlier attempts, for a session without them |
//! | `stop_request` | a request to stop a live run |
//! | `suspended_call` | a tool call that waits in its session for the answer |
//! | `unasked` | the MCP servers that could not ask, because another question waited |
//! | `used_answer` | the mark of a round whose answer may be used once; the receipt of an answer that the agent has fetched |
//! | `ending` | delivered, tried again later, or parked |
//! | `once` | the marks of calls that a round makes at most once |
//! | `trace` | the ids of a round's spans, and the trace of a run |
//! | `turn_ending` | what the outcome of an agent's turn means |
//! | `no_result` | final texts that only say that the agent waits |

pub mod acp_session;
pub mod auto_choice;
pub mod earlier;
pub mod ending;
pub mod failure;
mod no_result;
pub mod once;
pub mod record;
pub mod stop_request;
pub mod suspended_call;
pub mod trace;
pub mod turn_ending;
pub mod unasked;
pub mod used_answer;
