//! `ask-post --batch`: many independent questions from one JSON array.

use std::path::Path;

use crate::error::{Error, Result};
use crate::mailbox::transitions::post::{self, IfPending};
use crate::mailbox::{Mailbox, Question, QuestionDocument};
use crate::surface::args::ask_post_args::AskPost;
use crate::surface::ask_post::{no_checkpoint, post_receipt, posting};
use crate::surface::program::{self, Context};

/// Posts each question of the array, or refuses it, independently of the others. Returns the exit status of the first failure.
pub fn post(args: &AskPost, context: &Context, if_pending: IfPending) -> Result<u8> {
    let file = args.file.as_deref().unwrap_or(Path::new("-"));
    let bytes = program::read_input(file, posting::MAX_BATCH)?;
    let items = posting::split(&bytes).map_err(|e| program::in_input(file, e))?;
    let mailbox = args.common.open_or_create()?;
    let documents: Vec<_> = items.iter().map(|raw| document(args, &mailbox, raw.get().as_bytes())).collect();
    let asked: Vec<Option<Question>> = documents.iter().map(|d| d.as_ref().ok().map(|d| d.typed.clone())).collect();
    let results = post::post_many(&mailbox, documents, if_pending)?;
    let posted: Vec<Question> =
        asked.into_iter().zip(&results).filter(|(_, result)| result.is_ok()).filter_map(|(asked, _)| asked).collect();
    no_checkpoint::warn(&mailbox, context, &posted);
    let mut status = 0;
    for (n, result) in results.iter().enumerate() {
        match result {
            Ok(receipt) => post_receipt::acknowledge(&args.common, receipt, "posted")?,
            Err(e) => {
                status = if status == 0 { e.exit_code() } else { status };
                post_receipt::refuse(&args.common, n, e)?;
            }
        }
    }
    Ok(status)
}

fn document(args: &AskPost, mailbox: &Mailbox, bytes: &[u8]) -> Result<QuestionDocument> {
    let mut document = posting::parse(bytes, None, || {
        Err(Error::invalid("workflow_id", "is missing", "give every question of the array its own workflow_id"))
    })?;
    document.typed.asked.asked_by = document.typed.asked.asked_by.take().or_else(|| args.asked_by.clone());
    posting::complete(mailbox, &mut document.typed)?;
    Ok(document)
}
