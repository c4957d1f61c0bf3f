//! What hooks and rules say about a tool call.
//!
//! | file | idea |
//! |---|---|
//! | `hooks` | the operator's programs, which may decide about a call |
//! | `permission` | whether the settings and the permission mode allow a call |
//! | `pattern` | the calls that a rule names |

pub(crate) mod hooks;
mod pattern;
pub(crate) mod permission;
