//! What hooks and rules say about a tool call.
//!
//! - `hooks`: the operator's programs that run before and after calls
//! - `permission`: whether a call needs a person
//! - `pattern`: which calls one rule names

pub(crate) mod hooks;
mod pattern;
pub(crate) mod permission;
