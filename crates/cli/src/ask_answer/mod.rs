//! `ask-answer`.
//!
//! | file | idea |
//! |---|---|
//! | `answer_commands` | runs each command |
//! | `give` | gives one answer, and says what became of it |
//! | `answering` | turns words or JSON into an answer that fits the question |
//! | `ag_ui` | questions as interrupts of AG-UI, and answers from its resume entries |
//! | `ask_user_question` | Claude Code's AskUserQuestion, its input and its result |
//! | `question_text`, `listing` | questions as people read them |
//! | `shown_files` | the files beside a question |
//! | `filter` | finds the questions that contain given words |
//! | `other_machines` | runs `askbox` instead if a command is about other machines |
//! | `short_id` | accepts a part of an id for the whole id |
//! | `edit_command` | runs `ask-answer edit`, for a question of this machine or of another one |
//! | `edit_call` | changes a tool call before it is allowed |
//! | `editor` | a long answer, written in the user's editor |

pub mod ag_ui;
mod answer_commands;
pub mod answering;
pub mod ask_user_question;
pub mod edit_call;
pub mod edit_command;
pub mod editor;
pub mod filter;
mod give;
pub mod listing;
pub mod other_machines;
pub mod question_text;
pub mod short_id;
pub mod shown_files;

pub use answer_commands::{opens, run};
