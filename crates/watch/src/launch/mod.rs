//! The launches: the choice of the next run, and the care for runs that were started.
//!
//! | file | idea |
//! |---|---|
//! | `launches` | all launches of a watcher: its runs, answered workflows in the order of their answers, and the gate and the places that may hold them up |
//! | `gate` | the breaker and the day's budget together decide about the next launch |
//! | `next_run` | claims and launches the next run, if its gate and its places allow it |
//! | `unsupervised` | claimed rounds that have no supervisor |
//! | `places` | how many places of `relaunch.max_concurrent` are taken, by all watchers together |
//! | `supervisors` | starts supervisor processes and notices their end |

pub(super) mod gate;
pub(super) mod launches;
mod next_run;
mod places;
mod supervisors;
mod unsupervised;
