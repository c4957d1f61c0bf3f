//! Recovery: the next step for a claimed round whose lock is free. Either its supervisor died, the machine restarted, its back-off is
//! over, or an operator decides.
//!
//! Nothing is launched before all processes of the earlier attempt have ended: two agents in one session would corrupt it.
//!
//! | file | idea |
//! |---|---|
//! | `recover` | the next step for a round in `running/`, and its next attempt |
//! | `processes` | the end of all processes of the earlier attempts; the wait for an agent that this process cannot see |
//! | `of_asker` | an asker that comes back for an answer claimed earlier |
//! | `by_hand` | `relaunch retry`, `relaunch drop`, and `relaunch stop` without a live run |

mod by_hand;
pub mod of_asker;
mod processes;
mod recover;

pub use by_hand::{drop_parked, is_parked, retry, stop_waiting, take_from_quarantine, was_stopped};
pub use recover::{Recovered, recover, recover_at_once, recover_now, set_aside};
