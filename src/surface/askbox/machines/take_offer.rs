//! `ask-answer --offer FILE --json`: another machine offers an answer. The first line greets, before the offer is read; the second is the
//! verdict. See `docs/protocol.md`.

use std::path::Path;

use crate::document;
use crate::error::{Error, Result};
use crate::mailbox::Mailbox;
use crate::mailbox::documents::offer::{Decided, MAX_OFFER, Offer, Verdict};
use crate::mailbox::transitions::offered;
use crate::peers::lines::Line;
use crate::surface::program::{self, Context};

/// Takes the offer; returns the exit status: 0 if it was accepted, 4 if not, 5 if it is invalid.
pub(super) fn run(mailbox: &Mailbox, context: &Context, file: &Path) -> Result<u8> {
    program::print_json_text(&Line::hello().to_json()?)?;
    match take(mailbox, context, file) {
        Ok(verdict) => {
            let status = match verdict.decided {
                Decided::Accepted => 0,
                Decided::Invalid => 5,
                Decided::Lost | Decided::Closed | Decided::Changed => 4,
            };
            program::print_json_text(&Line::Verdict(verdict).to_json()?)?;
            Ok(status)
        }
        Err(e) => {
            program::print_json_text(&Line::Failed { error: program::message(&e), hint: e.hint() }.to_json()?)?;
            Err(e)
        }
    }
}

fn take(mailbox: &Mailbox, context: &Context, file: &Path) -> Result<Verdict> {
    let bytes = program::read_input(file, MAX_OFFER)?;
    document::check_depth(document::utf8(&bytes)?)?;
    let offer: Offer = serde_json::from_slice(&bytes).map_err(|e| {
        let problem = format!("is no offer: {}", document::in_plain_words(&e.to_string()));
        program::in_input(file, Error::invalid("offer", problem, "send one object as docs/schema/offer.schema.json describes it"))
    })?;
    offered::apply(mailbox, &context.loaded()?.config.answers.policy(), &offer, context.below())
}
