//! `askbox conformance`, which checks other implementations of the mailbox.
//!
//! | file | idea |
//! |---|---|
//! | `conformance` | drives another implementation of the protocol, and prints what it violates |

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

pub mod conformance;
