//! The mailbox as files, whatever they hold.
//!
//! | file | checks |
//! |---|---|
//! | `files` | owners, modes, links and names |
//! | `leftovers` | temporary files of killed programs |
//! | `quarantined` | files that were put aside |

pub(super) mod files;
pub(super) mod leftovers;
pub(super) mod quarantined;
