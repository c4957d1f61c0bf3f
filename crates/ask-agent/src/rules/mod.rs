//! What hooks and rules say about a tool call.
//!
//! | file | idea |
//! |---|---|
//! | `hooks` | the operator's programs, which may decide about a call |
//! | `permission` | whether the settings and the permission mode allow a call |

pub(crate) mod hooks;
pub(crate) mod permission;
