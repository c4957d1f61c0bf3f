//! The helpers for SDKs, with the real SDKs and scripted APIs. The hosts are the examples of the clients, as they stand.
//!
//! | file | content |
//! |---|---|
//! | `host.rs` | one host in a world of its own |
//! | `answers.rs` | a call awaits a person, and is made after the answer |
//! | `crashes.rs` | kills, two starts at once: a call is made at most once |
//! | `states.rs` | states that a host cannot read |
//! | `claude.rs` | sessions, and the questions of the model |
//! | `openai.rs` | several calls at once, and calls of nested agents |
//! | `langgraph.rs` | interrupts beside and behind one another |
//!
//! `requirements.txt` is made with `uv pip compile --generate-hashes --python-version 3.11 --python-platform linux --no-annotate --no-header
//! requirements.in`, and `build-requirements.txt` is the same for `hatchling`.

mod answers;
mod claude;
mod crashes;
mod host;
mod langgraph;
mod openai;
mod states;

pub use host::Sdk;
