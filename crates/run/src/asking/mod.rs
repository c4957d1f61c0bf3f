//! What a program asks its user becomes a question of the mailbox, and the answer becomes the program's reply.
//!
//! ```text
//!  read ──► Grace ──ended──► over                      nothing on disk
//!             │ the waiter's lock runs/W/waiter
//!             ▼
//!  ASKED     pending/W.json ──ended──► closed/, withdrawn
//!             │ a person answers, under the workflow's lock
//!             ▼
//!  ANSWERED  answered/W.json
//!             │ rename
//!             ▼
//!  CLAIMED   running/W.Q.json ── ended, changed, or does not count ──► closed/, superseded
//!             │ runs/W/Q/approved, synced (calls)
//!             ▼
//!  SENT      bytes to the program
//!             │ the program shows that it took them
//!             ▼
//!  OVER      closed/W.Q.json, delivered
//! ```
//!
//! How the programs differ stands in [`askbox_mailbox::programs`].
//!
//! | file | idea |
//! |---|---|
//! | `request` | a request of a program, as the question that a person is shown |
//! | `questions` | AskUserQuestion's form as a question, and its answers |
//! | `form` | a form as a question, and an answer as the form's content, for runs and sessions |
//! | `reply` | a person's answer, as the reply that a program is sent |
//! | `beside` | the driver for a dialog that stays open at its terminal |
//! | `hold` | the driver for an asker that waits while its process lives |
//! | `defer` | the driver for a call that waits in its session while no process runs |
//! | `posted` | the question beside a dialog, held by the process that takes its answer; the project and the branch of a dialog, and the workflow of its question |
//! | `receipt` | the receipt in a session's transcript says whether an answer reached its dialog; the three ends of an answer that was sent, and their words |
//! | `orphans` | questions and answers whose process is gone |
//! | `next_prompt` | a late answer as the next prompt of its session |

pub mod beside;
pub mod defer;
pub mod form;
pub mod hold;
pub mod next_prompt;
pub mod orphans;
pub mod posted;
pub mod questions;
pub mod receipt;
pub mod reply;
pub mod request;

#[cfg(test)]
mod tests;
