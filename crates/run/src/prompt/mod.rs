//! The messages that askbox sends to the agent.
//!
//! | file | idea |
//! |---|---|
//! | `message` | the first message of an attempt, and the files that it names, which the agent may read |
//! | `earlier_attempt` | the words about what earlier attempts did, for a session that does not have it |
//! | `so_far` | the task, and the earlier questions with their answers, for a new session |
//! | `answer_text` | how an answer is put in words |
//! | `unasked_servers` | MCP servers that could not ask, because another question waited |
//! | `templates` | the fixed texts, and how values get into them |
//! | `round_input` | the round as a plain program gets it: as JSON |

pub mod answer_text;
pub mod earlier_attempt;
pub mod message;
pub mod round_input;
mod so_far;
pub mod templates;
pub mod unasked_servers;
