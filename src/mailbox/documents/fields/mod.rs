//! The fields of a question document that are documents of their own.
//!
//! | file | idea |
//! |---|---|
//! | `options` | `options`, in both spellings |
//! | `range` | `range`: which numbers answer it |
//! | `through` | `through`: through what the answer came |
//! | `closing` | `closed`: how it ended without an answer |
//! | `until` | `until`: an event that answers it |
//! | `asked_in` | `asked_in`: the run that it was asked in, with the proof |
//! | `shown_hash` | `shown` of its answer: the hash of everything that was shown |
//! | `approval` | `approval`: the tool call that a person may allow |
//! | `tool_call` | `tool_call`: the suspended call of a tool that waits for the answer |

pub mod approval;
pub mod asked_in;
pub mod closing;
pub mod options;
pub mod range;
pub mod shown_hash;
pub mod through;
pub mod tool_call;
pub mod until;
