//! The documents of the mailbox as types, and the checks that need nothing but the document. Nothing here touches the disk.
//!
//! | file | idea |
//! |---|---|
//! | [`question`] | the question document, which carries a round through all its states |
//! | [`options`] | its options, in both spellings |
//! | [`range`] | its field `range`: which numbers answer it |
//! | [`answer`] | its field `answer` |
//! | [`through`] | its field `through`: through what it came |
//! | [`offer`] | an answer from another machine, and what became of it |
//! | [`closing`] | its field `closed` |
//! | [`until`] | its field `until`: an event that answers it |
//! | [`asked_in`] | its field `asked_in`: the run that it was asked in, with the proof |
//! | [`approval`] | its field `approval`: the tool call that a person may allow |
//! | `check_approval` | the rules of a question with that field |
//! | [`tool_call`] | its field `tool_call`: the suspended call of a tool that waits for the answer |
//! | [`check_question`], [`check_answer`] | what makes a question valid, and which answers fit it |
//! | [`check_draft`] | what a poster refuses although a reader takes it |
//! | [`match_option`] | which option a person's words mean |
//! | [`checkpoint`] | the checkpoint document |
//! | [`dotted_path`], [`shell_export`] | access to a checkpoint's fields by path, and by shell variables |
//! | [`workflow`] | the record of a workflow |
//! | [`awaited`] | a workflow that waits for another one |

pub mod answer;
pub mod approval;
pub mod asked_in;
pub mod awaited;
pub mod check_answer;
mod check_approval;
pub mod check_draft;
pub mod check_question;
pub mod checkpoint;
pub mod closing;
pub mod dotted_path;
pub mod match_option;
pub mod offer;
pub mod options;
pub mod question;
pub mod range;
pub mod shell_export;
pub mod through;
pub mod tool_call;
pub mod until;
pub mod workflow;
