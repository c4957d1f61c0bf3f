//! What the commands share that supervise a run themselves, or let a tree go on while they wait.
//!
//! | file | idea |
//! |---|---|
//! | [`foreground`] | a run in the foreground: its first attempt |
//! | [`to_the_end`] | what it does after its first attempt |
//! | [`stop_signals`] | Unix signals that stop a run |
//! | [`refusals`] | what is said when nothing can be claimed |

pub mod foreground;
pub mod refusals;
pub mod stop_signals;
pub mod to_the_end;
