//! The only module that reads and writes the mailbox. Clippy refuses such calls in all others (`clippy.toml`).
//!
//! No symbolic link is followed below an opened mailbox, even if a process puts it there while a command runs: see `below`.
//!
//! The order of every write:
//! 1. Write the new content under a temporary name in the folder of the target, and sync it.
//! 2. Give the file its name with one link or rename. Only the functions named `replace…` replace a file.
//! 3. Sync the folder, and only then report success.
//!
//! So no reader ever sees half a file under its final name. If step 3 fails, the name is taken back: an error leaves the old state.
//! A function named `…_ahead` leaves step 3 to a later sync. The functions of the file `unsynced` need no sync at all.
//!
//! | file | idea |
//! |---|---|
//! | `write` | creates and replaces files; a file between steps 1 and 2 |
//! | `temporary` | temporary names, and their sweep |
//! | `unchanged` | changes a file that its owner may save at the same moment |
//! | `rename`, `remove`, `unsynced` | the other changes of files |
//! | `read` | reads files that any program may have put there |
//! | `lines_from_end` | reads a file backwards |
//! | `folder` | makes and opens folders |
//! | `trust` | who may write to a folder |
//! | `lock` | `flock`, who holds it, and how long to wait |
//! | `below` | access to paths below an opened mailbox |
//! | [`fifo`] | named pipes |
//! | [`file_events`] | changes as the kernel reports them |
//!
//! # Limitations
//! A crash can leave a file whose name starts with `.tmp`. Every reader skips it, and `askbox doctor` names it. A watcher that
//! starts removes it if it is an hour old.
//!
//! `flock` and no-replace renames must work on the filesystem. NFS older than version 4 has neither.

#![allow(clippy::disallowed_methods, reason = "this is the room that writes files")]

mod below;
pub mod fifo;
pub mod file_events;
mod folder;
mod lines_from_end;
mod lock;
mod read;
mod remove;
mod rename;
mod temporary;
mod trust;
mod unchanged;
mod unsynced;
mod write;

pub use below::{Entry, Purpose, Root, Subfolders, entries, entries_if_there, exists, explain_missing, metadata};
pub use folder::{
    create_folder, create_folder_in, open_folder, private_folder, sync_filesystem, sync_names, sync_names_up_to, touch_folder,
};
pub use lines_from_end::{LinesFromEnd, Part};
pub use lock::{Lock, LockHolder, Patience, is_locked_by, lock_holder, lock_open_file, shared_lock_holder};
pub use read::{if_there, is_regular, open_of_another_program, open_to_read, read, too_long};
pub use remove::{Removed, remove, remove_folder_if_empty, remove_known};
pub use rename::{Placed, Renamed, begin_rename, rename, rename_ahead, replace_by_rename, set_aside};
pub use temporary::{TEMPORARY_PREFIX, is_temporary_name, sweep};
pub use trust::{MAKES_A_MAILBOX, check_folder, is_of_a_mailbox};
pub use unchanged::{remove_if, replace_if};
pub use unsynced::{append, empty, open_append, replace_unsynced, touch, untouch};
pub use write::{Staged, create, create_all, replace, replace_ahead, replace_dated, stage};
