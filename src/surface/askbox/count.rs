//! `askbox count`: how many questions wait for a person.

use serde_json::json;

use crate::error::{Error, Result};
use crate::mailbox::{Folder, Mailbox, list};
use crate::surface::args::askbox_args::Count;
use crate::surface::program;

/// Prints the number; a missing mailbox has no questions.
pub fn run(args: &Count) -> Result<u8> {
    let path = Mailbox::locate(args.common.mailbox.as_deref())?;
    let count = match Mailbox::open(path) {
        Err(Error::NotFound { .. }) => 0,
        mailbox => list::each_workflow(&mailbox?, Folder::Pending)?.try_fold(0_u64, |n, id| id.map(|_| n + 1))?,
    };
    if args.common.json {
        program::print_json(&json!({ "pending": count }))?
    } else {
        program::print(&format!("{count}\n"))?
    }
    Ok(0)
}
