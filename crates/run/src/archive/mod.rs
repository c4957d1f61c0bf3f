//! Closed rounds of long ago, each in one compressed file: `archive/YYYY-MM/W.Q.END.tar.gz`. The month and `END` are the end of the round
//! (UTC). `tar` reads it without askbox: it holds the round's files under their paths in the mailbox.
//!
//! `gc` alone writes here:
//! 1. write the whole file of a round under a temporary name, and give it its name. One sync makes many of them durable;
//! 2. remove the rounds from the mailbox, if they are still as they were archived.
//!
//! A process that is killed between the two leaves the round in both places, and readers show it once. The next `gc` does both steps again.
//! Step 1 then keeps the archived files that the mailbox has no longer. So no file is lost if step 2 was interrupted.
//!
//! The names are the index: they say which rounds there are, and when each ended.
//!
//! | file | idea |
//! |---|---|
//! | `name` | the names of archived rounds |
//! | `newest` | the archived rounds, the newest first |
//! | `packed` | writes and reads the file of a round; archives logs: the audit trail, bookings |
//! | `state` | the size of all archives, and whether they are whole |

mod name;
mod newest;
mod packed;
mod state;
#[cfg(test)]
mod tests;

pub use name::folder;
pub(crate) use name::{ArchivedRound, month_of, months, rounds_of};
pub(crate) use newest::NewestArchived;
pub(crate) use packed::{content, each_line, take_in, write};
pub use state::{ArchiveState, damage_of, state};
