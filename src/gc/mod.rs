//! `askbox gc`: removes rounds that ended long ago. It may run beside every other program, other gcs included: each step happens under
//! its workflow's lock, and what could still be needed stays.
//!
//! A round is removed in this order:
//! 1. rename `closed/W.Q.json` to `closed/.tmpgone.W.Q.json`: **the commit point**. No program sees the round any more;
//! 2. remove its runs;
//! 3. remove the renamed document.
//!
//! The next gc completes what an interrupted one left. Nothing is synced: after a power cut a pruned round may be there again,
//! without its runs, until the next gc.
//!
//! | file | idea |
//! |---|---|
//! | `policy` | what a gc is to do, and what it reports |
//! | `pass` | the state of one gc, and the checks that its steps share |
//! | `collect` | the course of a gc |
//! | `open` | which workflows are not over |
//! | `select` | which rounds of a workflow may be removed |
//! | `remove_rounds` | the removal |
//! | `unfinished` | what an interrupted gc left |

mod collect;
mod open;
mod pass;
mod policy;
mod remove_rounds;
mod select;
mod unfinished;

pub use collect::run;
pub use pass::GONE;
pub use policy::{Left, Policy, Report};
