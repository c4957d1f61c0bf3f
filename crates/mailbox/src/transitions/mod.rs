//! The transitions of a round: each takes one workflow's documents from one state to the next.
//!
//! Every transition has one commit point, a single rename or link. Before it, nothing has happened. After it, [`settle`]
//! completes the rest if the program dies. All of them except the first post run under the workflow's lock.
//!
//! | file | transition |
//! |---|---|
//! | [`post`] | a new question → `pending/` |
//! | [`intake`] | a file that another program put into `pending/` is checked and registered |
//! | [`accept`] | `pending/` → `answered/`, by an answer |
//! | `offered` | `pending/` → `answered/`, by an answer from another machine |
//! | [`answered_by_hand`] | a file that another program moved into `answered/` is completed, or moved back |
//! | [`undo`] | `answered/` → `pending/`: an answer is taken back, or refused because the operator does not trust it |
//! | `expire` | the event comes that a question waits for, or its time ends |
//! | [`withdraw`] | `pending/` → `closed/`, by the asker or the user |
//! | [`close`] | `pending/`, `running/` or `parked/` → `closed/` |
//! | `too_late` | the errors for an answer that comes too late; a step of [`accept`] |
//! | [`settle`] | completes a transition that another process left half done; removes the pending copy of an answered question, also as a step of [`accept`] |
//! | [`replayed`] | copies of answers that were taken back, beside the question's own file |
//! | [`quarantined_round`] | finds answered and claimed rounds whose file lies in `quarantine/` |
//!
//! `answered/` → `running/` is the claim: see `run::claim`.

pub mod accept;
pub mod answered_by_hand;
pub mod close;
pub mod expire;
pub mod intake;
pub mod offered;
pub mod post;
pub mod quarantined_round;
pub mod replayed;
pub mod settle;
mod too_late;
pub mod undo;
pub mod withdraw;
