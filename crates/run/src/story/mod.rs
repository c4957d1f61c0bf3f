//! What stands still, and why: derived from what lies on disk, once for every view.
//!
//! | file | idea |
//! |---|---|
//! | [`cause`] | the things that keep answers from starting agents, with the command that changes each |
//! | [`queue`] | the queue of launches: open, paused, or trying one run |

pub mod cause;
pub mod queue;
