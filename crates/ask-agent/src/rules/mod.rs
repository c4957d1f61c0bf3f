//! What hooks and rules say about a tool call.

pub(crate) mod hooks;
mod pattern;
pub(crate) mod permission;
mod protected;
