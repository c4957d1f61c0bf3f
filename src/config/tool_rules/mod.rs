//! Rules that name calls of tools, for `[approvals]`.
//!
//! | file | idea |
//! |---|---|
//! | `tool_rule` | one rule, and the calls that it means |
//! | `shell_commands` | which commands a line of shell could run |

pub(in crate::config) mod shell_commands;
pub(in crate::config) mod tool_rule;
