//! How an agent program is called and read.
pub mod claude;
pub mod events;
pub mod lines;
mod shorten;
pub mod stream;
pub mod transcript;
