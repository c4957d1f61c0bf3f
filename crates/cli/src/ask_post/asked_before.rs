//! A question that the same run has asked before, and that is answered: an earlier attempt asked it and was killed. The person is not asked
//! again, and the answer goes its way.

use crate::program;
use askbox_mailbox::transitions::post;
use askbox_mailbox::{Folder, Mailbox, Question, Receipt, round};

/// The receipt of the earlier question, if there is one.
pub fn find(mailbox: &Mailbox, question: &Question) -> Option<Receipt> {
    let run = program::this_run()?.run;
    let earlier = round::latest(mailbox, &question.workflow_id).filter(|earlier| earlier.folder != Folder::Pending)?;
    let asked_in = |question: &Question| question.asked_in.as_ref().map(|asked| asked.run.clone());
    let is_of_run = match asked_in(&earlier.document.typed) {
        // The run's own answer waits until the run has ended.
        None => earlier.folder == Folder::Answered && run.round.workflow == question.workflow_id,
        Some(asked) => asked.round == run.round && asked.attempt < run.attempt,
    };
    let is_it = is_of_run && post::asks_the_same(&earlier.document.typed, question);
    is_it.then(|| repeated(Receipt { round: earlier.id, question: earlier.document.typed, repeated: true }))
}

/// Says where the answer goes.
pub fn repeated(receipt: Receipt) -> Receipt {
    let id = &receipt.round.workflow;
    let way = match program::this_run().is_some_and(|asked| asked.run.round.workflow == *id) {
        true => "end this run, and the next one gets the answer".to_owned(),
        false => format!("see where the answer went: relaunch status {id}"),
    };
    program::say(&format!("{id}: this was asked before in this run, and is answered; {way}\n"));
    receipt
}
