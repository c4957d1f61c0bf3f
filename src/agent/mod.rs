//! How an agent program is called and read.
pub mod claude;
#[cfg(feature = "askbox")]
pub mod definitions;
pub mod events;
pub mod lines;
mod shorten;
pub mod stream;
