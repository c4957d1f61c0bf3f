//! Access to paths below an opened mailbox. It follows no symbolic link.
//!
//! | file | idea |
//! |---|---|
//! | `root` | an opened mailbox, and opening a path below it |
//! | `place` | a name in an opened folder, and the system calls on it |
//! | `look` | what lies at a path |

mod look;
mod place;
mod root;

pub use look::{Entry, entries, entries_if_there, exists, metadata};
pub(super) use place::{OpenFolder, Place, parent, sync_folder};
pub use root::{Purpose, Root, Subfolders, explain_missing};
pub(super) use root::{check_may_change, is_root, open_with};
