//! Checks the mailbox as files, independent of their content.
//!
//! | file | checks |
//! |---|---|
//! | `files` | owners, modes, links and names, and temporary files of killed programs |
//! | `history` | the archives, and what history costs |

pub(super) mod files;
pub(super) mod history;
