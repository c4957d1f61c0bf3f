//! `askbox doctor`: the configuration in force, and every problem found, each with a command that solves it.
//!
//! The checks read the mailbox with the same code as the programs, and change no documents.
//!
//! | file | idea |
//! |---|---|
//! | `checks` | the table of the checks |
//! | `report` | runs them and prints the results |
//! | `checkup` | shared by the checks: the objects that they check, the problems found so far |
//! | `findings` | the problems found so far, many equal ones as one line, and what is no problem |
//! | `progress` | how far the doctor has come |
//! | `installation` | everything outside the mailbox: programs, configuration, targets, the database |
//! | `mailbox_files` | the mailbox as files: owners, modes, names |
//! | `workflows` | questions, answers, runs |

mod checks;
mod checkup;
mod findings;
mod installation;
mod mailbox_files;
mod progress;
mod report;
mod workflows;

pub use report::run;
