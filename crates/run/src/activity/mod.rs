//! What a run does now, from the events that its agent has shown.
//!
//! | file | idea |
//! |---|---|
//! | `live` | the current activity of a run, derived from its events |
//! | `so_far` | the activity of one attempt, kept beside its events |

pub mod live;
pub mod so_far;
