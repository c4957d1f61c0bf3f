//! `relaunch status`: a table ([`table`]), the same kept up to date ([`follow`]), every workflow that is known
//! ([`all`]), and the numbers at a glance ([`queue_state`]).

pub mod all;
pub mod follow;
pub mod queue_state;
pub mod table;
