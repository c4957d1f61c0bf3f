//! What runs cost, and what they may cost.

pub mod budget;
pub mod costs;
pub mod day;
pub mod used;
