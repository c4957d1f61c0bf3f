//! Attends to a live agent: takes one `RunMessage` after the other, watches the deadlines, and
//! stops the agent if it must. All of it happens on one thread.
//!
//! | file | idea |
//! |---|---|
//! | `attendance` | the parts of a run that is attended to, and the loop: what each message leads to |
//! | `live_run` | the run, its agent and its log |
//! | `session` | whether the session has begun, is on record, and has its message |
//! | `stream_items` | what happens for each item of the agent's output |
//! | `hold_requests` | requests become questions, one after the other, each held until the answer comes |
//! | `held_requests` | a request that waits |
//! | `elicitations` | the forms of the agent's MCP servers, and of an agent that speaks ACP |
//! | `stopped_calls` | tool calls that the agent program's own rules stop |
//! | `limits` | the limits on time and on how many answers the model gives, and reports of silence |
//! | `stopping` | the interrupt ladder, the tool calls in flight, and the agent's exit |
//! | `conclusion` | the outcome of the turns, and how the attempt ended |

pub(crate) mod attendance;
pub(crate) mod conclusion;
mod elicitations;
mod held_requests;
mod hold_requests;
mod limits;
mod live_run;
mod session;
mod stopped_calls;
mod stopping;
mod stream_items;
