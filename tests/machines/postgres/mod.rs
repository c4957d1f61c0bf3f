//! `askbox sync`, with a real PostgreSQL.
//!
//! | file | content |
//! |---|---|
//! | `cluster.rs` | a PostgreSQL cluster, and a database with its roles |
//! | `certificate.rs` | the certificate of a server, by an authority of the test's own |
//! | `host.rs` | a mailbox that is a host of a database |
//! | `hub.rs` | the questions of all hosts in one place, and offers to them |
//! | `offers.rs` | offers and their verdicts, and who wins |
//! | `projection.rs` | what the database knows of a mailbox |
//! | `twins.rs` | of a mailbox and its copy, one is the host |
//! | `links.rs` | three network namespaces, whose links are cut |
//! | `roles.rs` | what a host's and a person's role may not do |
//! | `doctor.rs` | what the doctor says of a host |
//! | `schema.rs` | migrations, versions, pruning, addresses |
//! | `partitions.rs` | host, database or person is cut off |
//! | `costs.rs` | what a round costs; it prints a table |
//! | `sessions.rs` | the sessions of a host, for the people of its database |
//! | `listed.rs` | what a person's programs show of the machines in a database |
//! | `link.rs` | a link that a test cuts |
//! | `storm.rs` | rounds with two people racing, while everything is killed and cut off |
//! | `killed.rs` | the process of a host is killed at each of its system calls |

mod certificate;
pub mod cluster;
mod costs;
mod doctor;
pub mod host;
mod hub;
mod killed;
mod link;
mod links;
mod listed;
mod offers;
mod partitions;
mod projection;
mod roles;
mod schema;
mod sessions;
mod storm;
mod twins;
