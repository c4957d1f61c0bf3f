//! What happens beside the surface that looks at the peers.
//!
//! - `connected`: the thread of one peer, which connects again and again
//! - `again`: an offer that was not confirmed is made again
//! - `shared`: what all these threads share

mod again;
pub(in crate::peers) mod connected;
pub(in crate::peers) mod shared;
