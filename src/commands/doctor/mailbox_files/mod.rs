//! Checks the mailbox as files, independent of their content.
//!
//! | file | checks |
//! |---|---|
//! | `files` | owners, modes, links and names, and temporary files of killed programs |
//! | `quarantined` | files that were put aside |

pub(super) mod files;
pub(super) mod quarantined;
