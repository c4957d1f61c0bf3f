//! `askbox sync`, with a real PostgreSQL.
//!
//! | file | content |
//! |---|---|
//! | `cluster.rs` | a PostgreSQL cluster, and a database with its roles |
//! | `host.rs` | a mailbox that is a host of a database |
//! | `hub.rs` | the questions of all hosts in one place, and offers to them |
//! | `offers.rs` | offers and their verdicts, and who wins |
//! | `projection.rs` | what the database knows of a mailbox |
//! | `twins.rs` | of a mailbox and its copy, one is the host |
//! | `roles.rs` | what a host's and a person's role may not do |
//! | `schema.rs` | migrations, versions, pruning, addresses |
//! | `partitions.rs` | host, database or person is cut off |
//! | `costs.rs` | what a round costs; it prints a table |
//! | `link.rs` | a link that a test cuts |
//! | `storm.rs` | rounds with two people racing, while everything is killed and cut off |
//! | `killed.rs` | the process of a host is killed at each of its system calls |

mod cluster;
mod costs;
mod host;
mod hub;
mod killed;
mod link;
mod offers;
mod partitions;
mod projection;
mod roles;
mod schema;
mod storm;
mod twins;
