//! The causes why workflows stand still, derived from the files on disk, once for every view.
//!
//! | file | idea |
//! |---|---|
//! | [`cause`] | the things that keep answers from starting agents, with the command that changes each |
//! | `kind` | the kinds of causes |
//! | [`queue`] | the queue of launches: open, paused, or trying one run |

pub mod cause;
mod kind;
pub mod queue;
