//! The questions of many machines through PostgreSQL. A host projects its questions into a database; people elsewhere make offers there;
//! **the host decides**, by the same transition as every other answer. Nothing of askbox but this room knows the database, and a host
//! whose database is down works on as if it had none.
//!
//! | file | idea |
//! |---|---|
//! | [`connection`] | how the database is reached: its address, TLS, errors in words |
//! | [`password`] | the password, from the environment or the file of passwords |
//! | `variable` | the environment variables that both read |
//! | [`migrations`], [`migrate`] | the schema as numbered files; bringing a database up to date, and refusing one of another version |
//! | [`roles`] | the statements that make a host's or a person's role |
//! | [`partitions`] | a week is a partition: making them ahead, and removing old ones |
//! | [`host`] | the process of a host: projects questions, decides offers |

pub mod connection;
pub mod host;
pub mod migrate;
pub mod migrations;
pub mod partitions;
pub mod password;
pub mod roles;
mod variable;
