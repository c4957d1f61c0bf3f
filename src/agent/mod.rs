//! How an agent program is called and read.
pub mod chain_signals;
pub mod claude;
#[cfg(feature = "askbox")]
pub mod definitions;
pub mod events;
pub mod stream;
pub mod transcript;
