//! What every program does the same way: reads its arguments, prints, and ends with a documented exit status.
//!
//! Standard output carries what the user asked for, standard error everything else. An error is two lines: `error: …` and
//! `hint: …`, which says what to do next. A reader that goes away (`| head`) is not an error.
//!
//! - `start`: runs a program and turns its result into an exit status
//! - `output`: prints results, errors and warnings
//! - `input`: reads files and standard input
//! - `environment`: reads variables, the user's name, and whether a person sits at a terminal

mod environment;
mod input;
mod output;
mod start;

pub use environment::{current_workflow, env, is_interactive, user, workflow, workflow_from_env};
pub use input::{in_input, read_input, read_stdin_text};
pub use output::{complain, message, print, print_json, print_value, print_words, say, warn};
pub use start::{main, of_flag};
