//! Lists for people: the questions that wait, and past rounds.
//!
//! | file | idea |
//! |---|---|
//! | `waiting` | the questions that wait, in the order of the inbox |
//! | `past_rounds` | rounds that are over, or whose answer is taken, the newest first |

pub mod past_rounds;
pub mod waiting;
