//! The messages that askbox sends to the agent.
//!
//! | file | idea |
//! |---|---|
//! | `message` | the first message of an attempt |
//! | `answer_text` | how an answer is put in words |
//! | `templates` | the fixed texts, and how values get into them |
//! | `readable_files` | the files that a prompt names, which the agent may read |

pub mod answer_text;
pub mod message;
pub mod readable_files;
pub mod templates;
