//! What a question waits for without a person.
//!
//! | file | idea |
//! |---|---|
//! | `timers` | dates as file names |
//! | `event` | whether the event has come that a question waits for |

#[cfg(feature = "relaunch")]
pub mod event;
pub mod timers;
