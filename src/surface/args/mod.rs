//! The arguments of the programs. Their help texts are documentation; completions and man pages are made from them.

pub mod ask_answer;
pub mod ask_post;
pub mod checkpoint;
pub mod quick;
