//! The commands of `askbox` that no crate of their own holds.
//!
//! | file | idea |
//! |---|---|
//! | `args` | the arguments of the commands |
//! | `claude_md` | the section of a CLAUDE.md that teaches agents to ask |
//! | `complete` | completions for a shell, from the mailbox |
//! | `count` | `askbox count`: the number of questions that wait |
//! | `demo` | `askbox demo`: the whole job in a temporary mailbox |
//! | `doctor` | `askbox doctor`: every problem found, with a command that solves it |
//! | `fence` | `askbox fence`: a person's session behind a fence |
//! | `gc` | `askbox gc`: archives and removes old history |
//! | `history` | `askbox history`: the rounds that were answered or are over |
//! | `hook` | `askbox hook`: the program that Claude Code calls as a hook |
//! | `init` | `askbox init`: the configuration file, completions and man pages |
//! | `keygen` | `askbox keygen`: the key that signs a person's answers |
//! | `notify` | `askbox notify test`: sends a code to each target |
//! | `once` | `askbox once`: marks a call that no later attempt makes again |
//! | `service` | the service that keeps the watcher running |
//! | `sessions` | `askbox sessions`: the sessions of agents on this machine |
//! | `setup` | `askbox setup`: the files that a person needs beside the programs |
//! | `surfaces` | programs of their own, such as `askbox-web`, and how they are found |
//! | `tree` | `askbox tree`: every workflow under its parent |
//! | `trial` | `askbox trial`: asks the person one question as an agent would |

pub mod args;
pub mod claude_md;
pub mod complete;
pub mod count;
pub mod demo;
pub mod doctor;
pub mod fence;
pub mod gc;
pub mod history;
pub mod hook;
pub mod init;
pub mod keygen;
pub mod notify;
pub mod once;
pub mod service;
pub mod sessions;
pub mod setup;
pub mod surfaces;
pub mod tree;
pub mod trial;
