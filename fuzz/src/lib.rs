//! Fuzzing of every parser: bytes from anybody go in, and what comes out is checked.
//!
//! A target is a plain function of bytes. It panics where a promise is broken: not only where the parser crashes, but also where a
//! document that is read, written and read again is another one, where an unknown field is lost, where a bound does not hold, or where
//! text for people holds characters that control a terminal.
//!
//! The same targets run in two ways:
//! - in the test suite (`tests/fuzz`): every input of the corpus, and a fixed number of mutations of each, always the same;
//! - as long as one likes, with `fuzz/run`: guided by coverage with libFuzzer, or without a C++ compiler by the same mutations.
//!
//! `corpus/TARGET/` holds the inputs that a run begins with. An input that has found something stays there as `found-…`.
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
