//! `askbox setup`: what a person needs beside the programs, shown first, written once, and taken back by `--remove`.
//!
//! | file | idea |
//! |---|---|
//! | `plan` | what is missing: the changes that a call would make, and what it leaves alone |
//! | `wanted` | what each part puts into files |
//! | `plugin_files` | the files of the plugin, which this program brings along |
//! | `rules` | rules in the text of a settings.json: put in and taken out, with everything else as it was |
//! | `fuzzed` | the same rules for `fuzz/`, with the feature `fuzzing` |
//! | `change` | one file that is made or added to |
//! | `record` | what was written, so that it can be taken back |
//! | `take_back` | `--remove` |
//! | `systemd` | the service manager of the user |
//! | `credential` | a variable for the service, typed by the person |

mod change;
mod credential;
#[cfg(feature = "fuzzing")]
pub mod fuzzed;
mod plan;
mod plugin_files;
mod record;
mod rules;
mod systemd;
mod take_back;
mod wanted;

use inquire::{Confirm, InquireError};

use std::fs::{File, TryLockError};

use crate::error::{Error, IoContext, Result};
use crate::mailbox::layout;
use crate::surface::args::setup_args::Setup;
use crate::surface::program;
use plan::Plan;
use record::Record;

/// Some parts were left as they are.
const LEFT: u8 = 4;

/// Does what the flags say; returns the exit status.
pub fn run(args: &Setup) -> Result<u8> {
    let _alone = if args.dry_run { None } else { Some(alone()?) };
    let mut record = Record::read()?;
    if args.remove {
        return take_back::run(args, &mut record);
    }
    let plan = Plan::make(args, &record)?;
    let status = if plan.left.is_empty() { 0 } else { LEFT };
    program::print(&plan.words(args.contents))?;
    if plan.is_empty() {
        program::print("Nothing is to do.\n")?;
        return Ok(status);
    }
    if args.dry_run || !is_agreed(args, "Do this?")? {
        return Ok(status);
    }
    plan.carry_out(&mut record)?;
    program::print("Done. To take all of it back: askbox setup --remove. To check everything: askbox doctor\n")?;
    Ok(status)
}

/// Two setups at once would each put down the other's files as what had been there. The lock lies on the home folder itself, so that no file
/// is left behind.
fn alone() -> Result<File> {
    let home = layout::home()?;
    let folder = File::open(&home).io("open", &home)?;
    match folder.try_lock() {
        Ok(()) => Ok(folder),
        Err(TryLockError::WouldBlock) => {
            let problem = format!("another `askbox setup` is at work in {}", home.display());
            Err(Error::conflict(problem, "wait until it has ended, and repeat the command"))
        }
        Err(TryLockError::Error(e)) => Err(e).io("lock", &home),
    }
}

/// Whether the person agrees: by the flag, or on a terminal.
fn is_agreed(args: &Setup, question: &str) -> Result<bool> {
    if args.yes {
        return Ok(true);
    }
    if !program::is_interactive() {
        return Err(Error::usage("nobody is here to agree to this, so nothing was written", "add --yes, or only look: --dry-run"));
    }
    let agreed = Confirm::new(question).with_default(false).prompt_skippable();
    let agreed = match agreed {
        // Ctrl-C is a no.
        Err(InquireError::OperationInterrupted) => None,
        other => other.map_err(|e| Error::failed(format!("cannot ask on this terminal: {e}"), "add --yes"))?,
    };
    if agreed != Some(true) {
        program::print("Nothing was changed.\n")?;
    }
    Ok(agreed == Some(true))
}
