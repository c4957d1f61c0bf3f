//! `askbox count`: the number of questions that wait for a person.

use serde_json::json;

use askbox_cli::args::askbox_args::Count;
use askbox_cli::program;
use askbox_mailbox::due::timers;
use askbox_mailbox::error::{Error, Result};
use askbox_mailbox::listing::list;
use askbox_mailbox::{Folder, Mailbox, read_question};

/// Prints the number. A missing mailbox counts as empty.
pub fn run(args: &Count) -> Result<u8> {
    let path = Mailbox::locate(args.common.mailbox.as_deref())?;
    let count = match Mailbox::open(path) {
        Err(Error::NotFound { .. }) => 0,
        mailbox => waiting_for_a_person(&mailbox?)?,
    };
    if args.common.json {
        program::print_json(&json!({ "pending": count }))?
    } else {
        program::print(&format!("{count}\n"))?
    }
    Ok(0)
}

/// Counts by file names. A document is read only if a timer says that its question waits for an event, because a timer may be left over.
fn waiting_for_a_person(mailbox: &Mailbox) -> Result<u64> {
    let events = timers::waiting_for_events(mailbox)?;
    list::each_workflow(mailbox, Folder::Pending)?.try_fold(0, |n, id| {
        let id = id?;
        let waits_for_an_event = events.contains(&id) && read_question::pending(mailbox, &id).is_ok_and(|d| d.typed.asked.until.is_some());
        Ok(n + u64::from(!waits_for_an_event))
    })
}
