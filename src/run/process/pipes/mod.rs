//! The agent's three pipes. None of them can block another.
//!
//! | file | read or written by |
//! |---|---|
//! | `stdin` | the attending thread; a thread of its own while the agent does not read |
//! | `stdout` | a thread of its own |
//! | `stderr` | the poll thread |

pub(crate) mod stderr;
pub(crate) mod stdin;
pub(crate) mod stdout;
