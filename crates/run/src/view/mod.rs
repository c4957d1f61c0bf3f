//! Views of runs. They read the mailbox and change nothing.
//!
//! | file | idea |
//! |---|---|
//! | `tail` | the events and the text of a run, while they are written |
//! | `workflow_events` | the events of a workflow's later runs, one after the other |
//! | `session_news` | the ends of rounds as news for a session of a user |
//! | `history` | a round that was answered or is over; the rounds of the mailbox and of the archive together |
//! | `archived` | rounds that are read from the archive |

pub mod archived;
pub mod history;
pub mod session_news;

pub mod tail;
pub mod workflow_events;
