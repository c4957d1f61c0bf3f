//! Which run is started next, and what happens to runs that were started.
//!
//! | file | idea |
//! |---|---|
//! | `launches` | all launches of a watcher: its runs, and the gate and the places that may hold them up |
//! | `next_run` | claims and launches what may be launched, up to `relaunch.max_concurrent` |
//! | `unsupervised` | claimed rounds that have no supervisor |
//! | `queue` | answered workflows in the order of their answers |
//! | `places` | how many places of `relaunch.max_concurrent` are taken, by whichever watcher |
//! | `supervisors` | starts supervisor processes and notices their end |
//! | `orphans` | ends the processes of an earlier attempt |

pub(super) mod launches;
mod next_run;
mod orphans;
mod places;
mod queue;
mod supervisors;
mod unsupervised;
