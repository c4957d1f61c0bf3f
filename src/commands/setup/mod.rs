//! `askbox setup`: writes the files that a person needs in addition to the programs. It shows them first, writes them once, and takes them
//! back with `--remove`.
//!
//! | file | idea |
//! |---|---|
//! | `plan` | the changes that a call would make, and the parts that it leaves alone |
//! | `mailbox` | the mailbox itself |
//! | `wanted` | the files of each part, with those of the plugin and a variable for the service |
//! | `live` | the keys of `[live]` in the configuration, and whether a person wants them |
//! | `other_plugins` | the plugins for opencode and Copilot |
//! | `news_hooks` | the hooks of Kimi and Gemini, which a person adds |
//! | `change` | a change to one file: creates it, or adds text to it; adds rules to a settings.json in place, and removes them |
//! | `record` | the record of everything written, so that it can be taken back |
//! | `take_back` | `--remove` |
//! | `lost` | the parts of earlier setups that are gone, for the doctor |
//! | `systemd` | the service manager of the user |

#[doc(hidden)]
pub mod change;
mod live;
pub(in crate::commands) mod lost;
mod mailbox;
pub(in crate::commands) mod news_hooks;
pub(in crate::commands) mod other_plugins;
mod plan;
mod record;
pub(in crate::commands) mod systemd;
mod take_back;
mod wanted;

use std::fs::File;

use inquire::{Confirm, InquireError};
use plan::Plan;
use record::Record;
use signal_hook::consts::SIGINT;
use signal_hook::low_level::emulate_default_handler;

use crate::commands::trial;
use askbox_cli::args::askbox_args::{Setup, Trial};
use askbox_cli::{Context, program};
use askbox_mailbox::{Error, IoContext, Result, disk, layout};

/// The exit status if some parts were left as they are.
const LEFT: u8 = 4;

/// Does what the flags ask for. Returns the exit status.
pub fn run(args: &Setup, context: &Context) -> Result<u8> {
    let alone = if args.dry_run { None } else { Some(alone()?) };
    let mut record = Record::read()?;
    if args.remove {
        return take_back::run(args, &mut record);
    }
    let args = &live::decided(args)?;
    let plan = Plan::make(args, &record)?;
    let (status, is_empty) = (if plan.left.is_empty() { 0 } else { LEFT }, plan.is_empty());
    program::print(&plan.words(args.contents))?;
    // They come last: the person is asked about the changes alone.
    let notes = plan.notes();
    if is_empty {
        program::print("Nothing is to do.\n")?;
    } else if !args.dry_run {
        if !is_agreed(args, "Do this?")? {
            return Ok(status);
        }
        plan.carry_out(&mut record)?;
        program::print("Done. To take all of it back: askbox setup --remove. To check everything: askbox doctor\n")?;
    }
    program::print(&notes)?;
    drop(alone);
    let asks = !(is_empty || args.dry_run || args.yes);
    if asks && confirmed_or("Try it now, with one question to you?", "add --yes", "")? {
        return trial::run(&Trial::default(), context).map(|tried| tried.max(status));
    }
    Ok(status)
}

/// Takes the lock that allows only one setup at a time. Two at once would each record the other's files as having been there before. The
/// home folder itself is locked, so that no lock file is left behind.
fn alone() -> Result<File> {
    let home = layout::home()?;
    let folder = File::open(&home).io("open", &home)?;
    if !disk::lock_open_file(&folder).io("lock", &home)? {
        let problem = format!("another `askbox setup` is at work in {}", home.display());
        return Err(Error::conflict(problem, "wait until it has ended, and repeat the command"));
    }
    Ok(folder)
}

/// True if the person agrees, with the flag or on a terminal.
fn is_agreed(args: &Setup, question: &str) -> Result<bool> {
    if args.yes {
        return Ok(true);
    }
    if !program::is_interactive() {
        return Err(Error::usage("nobody is here to agree to this, so nothing was written", "add --yes, or only look: --dry-run"));
    }
    let is_agreed = confirmed(question, "add --yes")?;
    if !is_agreed {
        program::print("Nothing was changed.\n")?;
    }
    Ok(is_agreed)
}

/// The person's choice at the terminal. Ctrl-C ends the program. Each question comes before the first change.
fn confirmed(question: &str, instead: &str) -> Result<bool> {
    confirmed_or(question, instead, "Nothing was changed.\n")
}

/// The same, with what Ctrl-C says.
fn confirmed_or(question: &str, instead: &str, interrupted: &str) -> Result<bool> {
    match Confirm::new(question).with_default(false).prompt_skippable() {
        Err(InquireError::OperationInterrupted) => {
            program::print(interrupted)?;
            emulate_default_handler(SIGINT).io("end at", "Ctrl-C").map(|()| false)
        }
        Err(e) => Err(Error::failed(format!("cannot ask on this terminal: {e}"), instead)),
        Ok(agreed) => Ok(agreed == Some(true)),
    }
}
