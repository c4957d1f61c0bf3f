//! `askbox doctor`: the configuration in force, and every problem found, each with a command that solves it.
//!
//! The checks read the mailbox with the same code as the programs, and change no documents.
//!
//! | file | idea |
//! |---|---|
//! | `report` | runs every check and prints the results |
//! | `checkup` | shared by the checks: the objects that they check, the problems found so far |
//! | `in_force` | the configuration in force, and where each value comes from |
//! | `progress` | how far the doctor has come |
//! | `installation` | everything outside the mailbox: programs, configuration, targets, the database |
//! | `mailbox_files` | the mailbox as files: owners, modes, names |
//! | `workflows` | questions, answers, runs |

mod checkup;
mod in_force;
mod installation;
mod mailbox_files;
mod progress;
mod report;
mod workflows;

pub use report::run;
