//! Dates and events that continue a question without a person.
//!
//! | file | idea |
//! |---|---|
//! | `timers` | dates as file names |
//! | `event` | whether the event has come that a question waits for |

pub mod event;
pub mod timers;
