//! The process of a host, `askbox sync run`. It is the only one on its machine that speaks with the database for the host.
//!
//! ```text
//! start    the lock of this mailbox → connect → version → epoch (compare and set)
//! loop     look at the folders → the rounds that changed, in one transaction → offers for this host → decide each → verdicts, in one
//!          transaction with what they changed → sleep until a file changes or the interval is over
//! ```
//! If the process is killed at any point, the next one does the rest. A round that was projected is projected again, which changes
//! nothing. An offer that was already decided finds its own answer.
//!
//! | file | idea |
//! |---|---|
//! | [`epoch`] | which mailbox is this host: a mailbox and its copy exclude each other |
//! | [`look`] | which rounds are open here, and what changed since the last look |
//! | [`store`] | the statements of a host; a round as the database has it |
//! | [`service`] | the loop, which also decides offers for this host |
//! | [`requests`] | does what people ask of the sessions of this host |
//! | [`state`] | the figures for the doctor |

pub mod epoch;
pub mod look;
pub mod requests;
pub mod service;
pub mod state;
pub mod store;
