//! The fields of a question document that have a structure of their own.
//!
//! | file | idea |
//! |---|---|
//! | `options` | `options`, in both spellings |
//! | `range` | `range`: the numbers that are an answer |
//! | `through` | `through`: the channel of the answer |
//! | `asked_in` | `asked_in`: the run of the asker, with the proof |
//! | `trace` | `trace`: the trace that the asker belongs to |
//! | `shown_hash` | `shown` of the answer: the hash of everything that was shown |
//! | `approval` | `approval`: the tool call that a person may allow |
//! | `approval_text` | the text of a question about a tool call, of which askbox writes every line |
//! | `live` | `live`: the attended session whose dialog shows the question |
//! | `tool_call` | `tool_call`: the suspended tool call that waits for the answer |
//! | `attachment` | `attachments`: the files that a person is shown beside the question |

pub mod approval;
pub mod approval_text;
pub mod asked_in;
pub mod attachment;
pub mod live;
pub mod options;
pub mod range;
pub mod shown_hash;
pub mod through;
pub mod tool_call;
pub mod trace;
