//! The parts that all programs share: they read their arguments, print, and end with a documented exit status.
//!
//! Standard output carries what the user asked for, standard error everything else. An error is two lines: `error: …` and `hint: …`, which
//! says what to do next. If the reader goes away (`| head`), that is not an error.
//!
//! | file | idea |
//! |---|---|
//! | `start` | runs a program and turns its result into an exit status |
//! | `output` | prints results, errors and warnings |
//! | `read_input` | reads standard input, and files or pipes that a person names |
//! | `context` | the caller and the operator's configuration, read once |
//! | `behind_fence` | a program behind the fence of a run, whose supervisor makes the call |
//! | `live_session` | the live session whose shell runs the program |
//! | `wrong_words` | arguments that make no sense, and misspelt commands |
//! | `variables` | the user's name, other variables, and whether a terminal is there |

mod behind_fence;
mod context;
mod live_session;
mod output;
mod read_input;
mod start;
mod variables;
mod wrong_words;

pub use behind_fence::{check_own, is_for_fenced_run};
pub use context::{Context, has_peers};
pub use live_session::{continues_in, live_session};
pub use output::{
    ErrorReport, Tint, complain, complaint, confirms, message, print, print_bytes, print_exactly, print_json, print_json_text,
    print_result, print_tinted, print_value, say, warn, write, write_exactly, write_json,
};
pub use read_input::{check_readable, in_input, read_input, read_stdin_text};
pub use start::{main, main_of, main_with, of_flag};
pub use variables::{
    current_workflow, env, in_a_document, is_interactive, prints_to_terminal, run_and_nonce, says_to_terminal, this_run, user,
    workflow_from_env, working_folder,
};
pub use wrong_words::{is_near_command, maybe_command};
