//! Checks the workflows of the mailbox, document by document.
//!
//! | file | checks |
//! |---|---|
//! | `documents` | every document, or those of one workflow, each by one of the files below |
//! | `open_questions` | waiting questions, and answers that nobody acts on |
//! | `runs` | claimed and parked rounds |
//! | `waits` | workflows that wait for others |
//! | `road` | the road of one workflow's newest round, and where it stands |
//! | `hold_ups` | causes that hold everything up |

pub(super) mod documents;
pub(super) mod hold_ups;
pub(super) mod open_questions;
pub(super) mod road;
pub(super) mod runs;
pub(super) mod waits;
