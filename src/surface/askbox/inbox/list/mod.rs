//! The list of questions.
//!
//! - `rows`: one question of it
//! - `waiting`: which there are, which are shown, which is chosen; only what has changed is read again

pub mod rows;
pub mod waiting;
