//! The events of runs, for people and programs.
//!
//! | file | idea |
//! |---|---|
//! | [`logs`] | `logs`, `events` |
//! | [`event_words`] | one event in words |
//! | `printed_events` | events on standard output, whose reader may be slow |

pub mod event_words;
pub mod logs;
pub(super) mod printed_events;
