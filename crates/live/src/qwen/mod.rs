//! Qwen's sessions, an experiment. Qwen has no plugin that could start a process. So a person starts it as `askbox live qwen -- ARGS`.
//!
//! The start makes a private folder with two files, starts `askbox live qwen --beside FOLDER --of PID`, and then becomes `qwen`, with
//! the two files in front of ARGS. Qwen writes its events to the one, and reads replies from the other. The process beside it
//! (`beside_qwen`) lives as long as Qwen.
//!
//! | file | idea |
//! |---|---|
//! | `arguments` | whether Qwen's arguments begin a session that a person attends |
//! | `start` | becomes `qwen` |
//! | `folder` | the private folder and its two files |
//! | `files` | Qwen's events, and the replies |
//! | `lines` | the lines of Qwen that matter; a request, as the call that a person is shown |
//!
//! Measured with Qwen 0.24.4: its protocol says that an allowed call was taken. It is silent about a refused call. So a refusal is sent
//! again until Qwen says that the call has ended.

mod arguments;
pub(super) mod files;
pub(super) mod folder;
pub(super) mod lines;
pub(super) mod start;
