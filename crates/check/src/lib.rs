//! `askbox conformance`, which checks other implementations of the mailbox, and the schemas of its documents.
//!
//! | file | idea |
//! |---|---|
//! | `conformance` | drives another implementation of the protocol, and prints what it violates |
//! | `schema` | the JSON Schemas of all documents |

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

pub mod conformance;
pub mod schema;
