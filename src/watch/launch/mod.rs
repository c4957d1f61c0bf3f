//! Which run is started next, and what happens to runs that were started.
//!
//! | file | idea |
//! |---|---|
//! | `queue` | answered workflows in the order of their answers |
//! | `next_run` | claims and launches what may be launched, up to `relaunch.max_concurrent` |
//! | `free_place` | how many places of `relaunch.max_concurrent` are taken, by whichever watcher |
//! | `places` | when to look for a free place again |
//! | `supervisors` | starts supervisor processes and notices their end |
//! | `unsupervised` | claimed rounds that have no supervisor |

mod free_place;
pub(super) mod next_run;
pub(super) mod places;
pub(super) mod queue;
pub(super) mod supervisors;
pub(super) mod unsupervised;
