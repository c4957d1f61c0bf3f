//! Attends to a live agent: takes one `RunMessage` after the other, watches the deadlines, and
//! stops the agent if it must. All of it happens on one thread.
//!
//! | file | idea |
//! |---|---|
//! | `message_loop` | the loop: what each message leads to |
//! | `attendance` | the parts of a run that is attended to |
//! | `live` | the run, its agent and its log |
//! | `session` | whether the session has begun, is on record, and has its message |
//! | `model_answers` | the limit on how many answers the model gives |
//! | `open_calls` | the tool calls in flight |
//! | `stream_items` | what happens for each item of the agent's output |
//! | `hold_requests` | requests become questions, one after the other, each held until the answer comes |
//! | `held_requests` | a request that waits |
//! | `elicitations` | what MCP servers of the agent ask |
//! | `stopped_calls` | tool calls that the agent program's own rules stop |
//! | `elicited_form` | a server's form as a question, and an answer as the form's content |
//! | `fuzzed` | that form for `fuzz/`, with the feature `fuzzing` |
//! | `deadlines` | the limits on time, and reports of silence |
//! | `stopping` | the interrupt ladder, and the agent's exit |
//! | `conclusion` | the outcome of the turns, and how the attempt ended |

mod attendance;
pub(crate) mod conclusion;
mod deadlines;
mod elicitations;
mod elicited_form;
#[cfg(feature = "fuzzing")]
pub mod fuzzed;
mod held_requests;
mod hold_requests;
mod live;
pub(crate) mod message_loop;
mod model_answers;
mod open_calls;
mod session;
mod stopped_calls;
mod stopping;
mod stream_items;
