//! The documents of the mailbox as types, and checks that need only the document. Nothing here touches the disk.
//!
//! | file | idea |
//! |---|---|
//! | [`question`] | the question document, which carries a round through all its states, and its subject: a question, a task, or the ends of child workflows |
//! | [`asked`] | the kind of its answer, and the parts of a batch |
//! | [`answer`] | its field `answer` |
//! | [`shown`] | the parts of a question that all people see, and those that its machine keeps to itself |
//! | [`offer`] | an answer from another machine, and the verdict on it |
//! | [`fields`] | the fields of a question that have their own structure |
//! | [`closing`] | the fields `closed` and `taken_back` |
//! | [`until`] | the field `until`: an event that answers the question |
//! | [`programs`] | the programs whose dialogs are questions, and how they differ |
//! | [`checks`] | decides whether a question is valid, whether an answer fits it, and which option a person means |
//! | [`checkpoint`] | the checkpoint document |
//! | [`dotted_path`], [`shell_export`] | access to a checkpoint's fields by path, and by shell variables |
//! | [`awaited`] | a workflow that waits for another one; the record of a workflow |

pub mod answer;
pub mod asked;
pub mod awaited;
pub mod checkpoint;
pub mod checks;
pub mod closing;
pub mod dotted_path;
pub mod fields;
pub mod offer;
pub mod programs;
pub mod question;
pub mod shell_export;
pub mod shown;
pub mod until;
