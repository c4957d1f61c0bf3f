//! Recovery: the next step for a claimed round whose lock is free. Either its supervisor died, the machine restarted, its back-off is
//! over, or an operator decides.
//!
//! Nothing is launched before all processes of the earlier attempt have ended: two agents in one session would corrupt it.
//!
//! - `recover`: finds the next step for a round in `running/`: whether an attempt whose supervisor died had been delivered, the end of its
//!   processes, and the record of the next attempt; and what becomes of a round that it cannot recover
//! - `processes`: the end of all processes of the earlier attempts
//! - `elsewhere`: the wait for an agent that this process cannot see, such as one in a container
//! - `of_asker`: an asker that waits and comes back for the answer that an earlier process of it had claimed
//! - `by_hand`: `relaunch retry`, `relaunch drop`, and `relaunch stop` for a run that is not live

mod by_hand;
mod elsewhere;
pub mod of_asker;
mod processes;
mod recover;

pub use by_hand::{drop_parked, is_parked, retry, stop_waiting, take_from_quarantine, was_stopped};
pub use recover::{Recovered, recover, recover_at_once, recover_now, set_aside};
