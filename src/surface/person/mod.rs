//! What the inbox of a terminal and the page have in common.
//!
//! - `decision`: what a person decides about one question
//! - `left_out`: texts that were typed and that a decision does not send
//! - `press_again`: the one question before a decision that loses something, or that the person may not mean

pub mod decision;
pub mod left_out;
pub mod press_again;
