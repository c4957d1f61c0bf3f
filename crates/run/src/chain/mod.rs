//! Chains: workflows that start workflows.
//!
//! A parent spawns a child. A child that asks the user a question ends its turn, and so does every ancestor. Once the question is
//! answered, only the child is relaunched. When the child ends, askbox relaunches its parent with the child's result, then the
//! parent's parent, and so on: bottom-up. No model is called in between.
//!
//! ```text
//! spawn      awaits/PARENT/CHILD.json, then running/CHILD.QID.json     the parent's turn waits, or ends with SGN_PEND_STARTED (CHILD)
//! ask        pending/CHILD.json                                        the child ends its turn
//! answer     answered/CHILD.json → running/ → closed/                  the child is relaunched and ends
//! note ends  `ended` in awaits/PARENT/CHILD.json                       how the child ended is durable
//! wake       running/PARENT.QID.json, once the parent has no open round; then its awaits are removed
//! ```
//!
//! | file | idea |
//! |---|---|
//! | `bounds` | how deep and how wide a tree may grow |
//! | [`spawn`] | start a child, or take over a spawn that was cut off |
//! | [`in_turn`] | the await of a parent that waits in its own turn |
//! | [`progress`] | wait until a workflow ends, asks, or the time is over; look for its result |
//! | [`outcome`] | decides if a workflow has ended, and how |
//! | [`archived_end`] | how a workflow ended whose rounds are all archived |
//! | [`wake`] | tell parents that their children have ended |
//! | [`whole_tree`] | cancel or stop a whole tree |
//! | [`forest`] | all workflows as trees, for display |

pub mod archived_end;
mod bounds;
pub mod forest;
pub mod in_turn;
pub mod outcome;
pub mod progress;
pub mod spawn;
pub mod wake;
pub mod whole_tree;
