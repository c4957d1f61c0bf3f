//! The questions of many machines through PostgreSQL. A host projects its questions into a database, and people on other machines make
//! offers there. **The host decides**, by the same transition as for every other answer. Only this module of askbox knows the database.
//! A host whose database is down works on without it.
//!
//! | file | idea |
//! |---|---|
//! | [`connection`] | the connection to the database: its address, TLS, errors in words |
//! | [`migrate`] | the schema as numbered files, in the folder `migrations`. Brings a database up to date, and refuses one of another version; the statements that make a host's or a person's role |
//! | [`partitions`] | one partition for each week: makes them ahead, and removes old ones |
//! | [`host`] | the process of a host: projects questions, decides offers |

pub mod connection;
pub mod host;
pub mod migrate;
pub mod partitions;
