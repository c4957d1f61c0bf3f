//! Looking at runs: where they stand, what they do, what they said.

pub mod live;
pub mod status;
pub mod stream;
pub mod tail;
