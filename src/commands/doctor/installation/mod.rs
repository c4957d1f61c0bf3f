//! Checks of everything outside the mailbox.
//!
//! | file | checks |
//! |---|---|
//! | `setup` | programs, configuration, folders, limits on money that nothing can enforce |
//! | `acp_agents` | whether the agents that speak ACP answer |
//! | `agent` | the version of `claude`, what keeps it from starting, and the PATH that its settings give to an agent |
//! | `codex` | Codex's daemon, and what keeps the dialogs of its sessions out of the mailbox |
//! | `dialogs` | what keeps the dialogs of attended sessions out of the mailbox |
//! | `plugins` | the programs whose dialogs can wait in the mailbox, and their plugins |
//! | `page` | the devices that may answer on the web page |
//! | `asked` | a program that is started to ask it something |
//! | `promises` | what `askbox setup` made, and rules of Claude Code's settings that forbid agents to ask |
//! | `targets` | the places where people are notified, and when that last worked; the spans of rounds: how many were sent and lost |
//! | `claude_files` | the folder, hooks, transcripts and login of `claude` |
//! | `login` | agents without a login |
//! | `peers` | other machines whose questions are seen from here |
//! | `sync` | the process that copies the questions into a database |

pub(super) mod acp_agents;
pub(super) mod agent;
mod asked;
pub(super) mod claude_files;
pub(super) mod codex;
pub(super) mod dialogs;
pub(super) mod login;
#[cfg(feature = "web")]
pub(super) mod page;
pub(super) mod peers;
mod plugins;
pub(super) mod promises;
pub(super) mod setup;
#[cfg(feature = "sync")]
pub(super) mod sync;
pub(super) mod targets;
