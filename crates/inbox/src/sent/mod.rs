//! The answers that were sent.
//!
//! | file | idea |
//! |---|---|
//! | `from_here` | the answers sent from this screen, and other machines' decisions |
//! | `outcomes` | the second pane, with the answered questions and their state |

pub mod from_here;
pub mod outcomes;
