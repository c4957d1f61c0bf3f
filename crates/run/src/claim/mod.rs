//! The claim: one process takes an answered round for itself. Exactly one claimant succeeds, because the claim is one rename that
//! refuses to replace.
//!
//! ```text
//! stage      on disk                                   locks held        after a crash here
//!
//! Chosen     answered/ID.json                          workflow's        Nothing has happened: the next look claims the round.
//!   │
//!   │  rename answered/ID.json → running/ID.QID.json; its new name is synced
//!   ▼
//! Taken      running/ID.QID.json, durable;             workflow's        Recovery ends what was launched, writes a first attempt
//!   │        no run.json                               (and round's)     with a new session id, and launches it.
//!   │
//!   │  run.json, whose content is synced, gets its name
//!   ▼
//! OnRecord   runs/ID/QID/1/run.json, state "claimed"   round's           A supervisor's attempt: recovery launches it, with its
//!                                                                        session id. Another claimant's: the next attempt.
//! ```
//!
//! From `Chosen` on, one of the two locks is always held. So recovery never mistakes the round of a living claimant for an abandoned
//! one. A power cut can take the name of `run.json` away until [`make_durable`](crate::attempt::record::make_durable) has synced
//! it, and the round is then back at `Taken`. The name is durable before the agent receives any input.
//!
//! The watcher, `ask-post --wait` and `relaunch prompt` lock the round and write its record under a temporary name before the rename,
//! so that both syncs overlap. `relaunch ID`, which supervises in its own process, does so while its agent starts.
//!
//! | file | idea |
//! |---|---|
//! | `choose` | the rounds that can be claimed, and the refusals |
//! | `stages` | the three stages, and the steps between them |
//! | `plan` | the first attempt: fresh session or fork, folder, runner |
//! | `moved_folder` | finds a working folder that was renamed |
//! | `heard` | whether the agent has heard the answer that it was given |
//! | `waiting_sessions` | keeps the transcripts that an answer will continue |
//! | `inline` | `ask-post --wait`, which claims the answer for the asker itself |

mod choose;
pub mod heard;
pub mod inline;
pub mod moved_folder;
pub mod plan;
mod stages;
pub mod waiting_sessions;

pub use choose::{ClaimAttempt, Refusal, for_asker, for_main_agent, look, take, take_to_launch};
pub(crate) use stages::make_durable;
pub use stages::{Claim, OnRecord, Taken};
