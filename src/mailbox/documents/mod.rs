//! The documents of the mailbox as types, and the checks that need nothing but the document. Nothing here touches the disk.
//!
//! | file | idea |
//! |---|---|
//! | [`question`] | the question document, which carries a round through all its states |
//! | [`asked`] | what it asks: the question's form, its dates, and who takes the answer |
//! | [`content`] | what it is about: a question, a task, or how child workflows ended |
//! | `question_spelling` | how it is read and written |
//! | [`answer`] | its field `answer` |
//! | [`shown`] | what of a question is for people everywhere, and what belongs to its machine alone |
//! | [`offer`] | an answer from another machine, and what became of it |
//! | [`fields`] | the fields of a question that are documents of their own: options, range, through, closed, until, asked_in, approval, tool_call |
//! | [`checks`] | what makes a question valid, which answers fit it, and which option a person means |
//! | [`checkpoint`] | the checkpoint document |
//! | [`dotted_path`], [`shell_export`] | access to a checkpoint's fields by path, and by shell variables |
//! | [`workflow`] | the record of a workflow |
//! | [`awaited`] | a workflow that waits for another one |

pub mod answer;
pub mod asked;
pub mod awaited;
pub mod checkpoint;
pub mod checks;
pub mod content;
pub mod dotted_path;
pub mod fields;
pub mod offer;
pub mod question;
mod question_spelling;
pub mod shell_export;
pub mod shown;
pub mod workflow;
