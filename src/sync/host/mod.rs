//! The process of a host, `askbox sync run`. It is the only one on its machine that speaks with the database for the host.
//!
//! ```text
//! start    the lock of this mailbox → connect → version → epoch (compare and set)
//! loop     look at the folders → the rounds that changed, in one transaction → offers for this host → decide each → verdicts, in one
//!          transaction with what they changed → sleep until a file changes or the interval is over
//! ```
//! Killed at any point, the next process does the rest: what was projected is projected again and changes nothing, and an offer that was
//! decided finds its own answer.
//!
//! | file | idea |
//! |---|---|
//! | [`epoch`] | which mailbox is this host: twins of a copied mailbox exclude each other |
//! | [`look`] | which rounds are open here, and what changed since the last look |
//! | [`row`] | a round as the database has it |
//! | [`store`] | the statements of a host |
//! | [`offers`] | an offer for this host is decided |
//! | [`service`] | the loop |
//! | [`state`] | what the doctor is told |

pub mod epoch;
pub mod look;
pub mod offers;
pub mod row;
pub mod service;
pub mod state;
pub mod store;
