//! Claude Code's own AskUserQuestion in runs of askbox: the call waits in the session, and no process and no request while it waits.

pub mod asking;
mod beside;
mod chains;
mod forged;
mod killed;
mod kinds;
mod without;
