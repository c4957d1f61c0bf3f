//! Fuzzing of every parser: arbitrary bytes go in, and the output is checked.
//!
//! A target is a plain function of bytes. It panics if a promise is broken, not only if the parser crashes. For example, a document
//! must not change when it is read, written and read again. Unknown fields must not be lost. Bounds must hold. And text for people must
//! not hold characters that control a terminal.
//!
//! The same targets run in two ways:
//! - The test suite (`tests/fuzz`) runs every input of the corpus, and a fixed number of mutations of each, always the same.
//! - `fuzz/run` runs for any length of time. It is guided by coverage with libFuzzer, or uses the same mutations without a C++ compiler.
//!
//! `corpus/TARGET/` holds the first inputs of a run. An input that has found something stays there as `found-…`.
//!
//! | file | idea |
//! |---|---|
//! | `targets` | the targets, by name |
//! | `corpus` | reads the inputs of a target |
//! | `mutate` | changes an input, by a seed |
//! | `main` | the long run |

pub mod corpus;
pub mod mutate;
pub mod targets;
