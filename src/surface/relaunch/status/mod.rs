//! `relaunch status`: a table ([`table`]), the same kept up to date ([`follow`]), and the numbers at a glance ([`queue_state`]).

pub mod follow;
pub mod queue_state;
pub mod table;
