//! Chains: workflows that start workflows. A child that asks lets every ancestor end its turn; when it is answered it alone is
//! relaunched, and its end wakes its parent, whose end wakes the next one: bottom-up, and nobody is asked meanwhile.
//!
//! ```text
//! spawn    awaits/P/C.json, then a round of C       P's turn waits, or ends with SGN_PEND_STARTED (C)
//! settle   C has ended: how, durably, in awaits/P/C.json
//! wake     P has no round of its own: one round of P that tells it of all that ended; then the awaits go
//! ```

pub mod bounds;
pub mod tree;

#[cfg(feature = "relaunch")]
pub mod forest;
#[cfg(feature = "relaunch")]
pub mod in_turn;
#[cfg(feature = "relaunch")]
pub mod outcome;
#[cfg(feature = "relaunch")]
pub mod wake;
