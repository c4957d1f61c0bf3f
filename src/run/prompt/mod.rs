//! The messages that askbox sends to the agent.
//!
//! | file | idea |
//! |---|---|
//! | `message` | the first message of an attempt |
//! | `answer` | how an answer is put in words |
//! | `templates` | the fixed texts, and how values get into them |
//! | `files` | the files that a prompt names, which the agent may read |

pub mod answer;
pub mod files;
pub mod message;
pub mod templates;
