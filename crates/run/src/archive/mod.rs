//! Closed rounds of long ago, in one compressed file a month: `archive/YYYY-MM.jsonl.gz`. `zcat` and `jq` read it without askbox.
//!
//! The month is that of the round's last change (UTC). The file is a sequence of gzip members, each with the lines of some rounds. Beside
//! it lies `YYYY-MM.index`, with one line for each member. **A member counts once its line in the index is complete.** What lies behind the
//! last such member, or behind the last line feed of the index, was left by a killed process. Readers pass over it, and the next writer
//! cuts it off.
//!
//! A round is archived in this order:
//! 1. append the member to the month's file, and sync it;
//! 2. append its line to the index, and sync it: the commit point;
//! 3. remove the round from the mailbox, by the steps of `gc`.
//!
//! A process that is killed between 2 and 3 leaves the round in both places. The next one compares the two, and does step 3. Readers show
//! such a round once.
//!
//! Memory is bounded: a file is archived and read in portions, and an index is read line by line, from its end.
//!
//! | file | idea |
//! |---|---|
//! | `month` | the name of a month |
//! | `line` | a line of the archive: a file of a round, or a part of one |
//! | `index` | the lines of an index |
//! | `writer` | appends members. It knows no rule about which rounds may go |
//! | `lost_index` | makes an index again whose file was lost |
//! | `logs` | appends whole files with lines of their own: the audit trail, bookings |
//! | `reader` | the content of a member |
//! | `state` | the size of all archives, and whether they are whole |
//! | `newest` | the archived rounds, the newest first |

mod index;
mod line;
mod logs;
mod lost_index;
mod month;
mod newest;
mod reader;
mod state;
#[cfg(test)]
mod tests;
mod writer;

use std::path::PathBuf;

use askbox_mailbox::Mailbox;

pub use index::{Located, located, months};
pub use logs::Kind;
pub use month::Month;
pub use newest::{ArchivedRound, NewestArchived, newest_of};
pub use reader::{Content, content, digests, file_parts};
pub use state::{ArchiveState, Damaged, damage_of, state};
pub use writer::{Source, Writer};

/// The folder of the archives.
pub fn folder(mailbox: &Mailbox) -> PathBuf {
    mailbox.root().join("archive")
}

/// The compressed file of a month.
pub fn file(mailbox: &Mailbox, month: Month) -> PathBuf {
    folder(mailbox).join(format!("{month}.jsonl.gz"))
}

/// The index of a month.
pub fn index_file(mailbox: &Mailbox, month: Month) -> PathBuf {
    folder(mailbox).join(format!("{month}.index"))
}
