//! `askbox mcp`: the mailbox as tools, in both eras of the Model Context Protocol.
//!
//! | file | content |
//! |---|---|
//! | `client.rs` | a client that writes and reads single lines |
//! | `asking.rs` | clients that wait: ask_user and check_answer |
//! | `at_hand.rs` | the other tools, and what the operator permits |
//! | `hostile.rs` | what is no message, too long, or not permitted |
//! | `tasks.rs` | clients that know tasks: they wait for nothing |
//! | `given.rs` | answers that were given and not heard yet |
//! | `official.rs` | the client of the official SDK |

mod asking;
mod at_hand;
mod client;
mod given;
mod hostile;
mod official;
mod tasks;
