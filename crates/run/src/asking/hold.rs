//! The driver for an asker that waits while its process lives: `ask-post --wait`, a call of `askbox mcp`, a request of a run's agent. It
//! holds the waiter's lock from before the post, so that nobody launches an agent with the answer. It claims the answer before it hands it
//! over. If the process dies, its lock ends with it: the question stays, and its answer is an ordinary round.

use std::time::Duration;

use crate::claim::inline::{Asked, Hearer, Waited, Waiter};
use crate::claim::{Claim, OnRecord};
use askbox_mailbox::transitions::post::{IfPending, Posted};
use askbox_mailbox::transitions::withdraw;
use askbox_mailbox::{
    AttachedFile, Document, Folder, Mailbox, Policy, Question, QuestionDocument, Receipt, Result, RoundId, post, read_question,
};

/// How often a post is tried while other processes take the answers to the same question.
const TRIES: u32 = 3;

/// A posted question whose asker waits.
pub struct Held {
    waiter: Waiter,
    document: QuestionDocument,
    files: Vec<AttachedFile>,
    /// The proof that the question was posted.
    pub receipt: Receipt,
    asked: Asked,
}

/// The outcome of a post by an asker that waits.
pub enum Begun {
    /// The question is pending.
    Held(Box<Held>),
    /// The same question was answered before, and its answer is claimed.
    Answered(Waiter, Box<Claim<OnRecord>>),
}

/// The state of a held question.
pub enum Look {
    /// Nobody has answered, or the answer is another process's.
    Waits,
    /// The answer, claimed. It has to be handed over.
    Answered(Box<Claim<OnRecord>>),
    /// Somebody has changed the question after it was posted, and its round is closed.
    Changed,
    /// The round has ended without this process.
    Ended(Box<Question>),
}

impl Waiter {
    /// Posts the question.
    ///
    /// # Errors
    /// Those of [`post::post_with_files`].
    pub fn post(self, mailbox: &Mailbox, document: QuestionDocument, files: &[AttachedFile], if_pending: IfPending) -> Result<Held> {
        let receipt = post::post_with_files(mailbox, document.clone(), files, if_pending)?;
        self.hold(document, files, receipt)
    }

    /// Posts the question, unless an earlier process has asked the same and has not lived to hear the answer. `left` is the claim that
    /// such a process has left.
    ///
    /// # Errors
    /// Those of [`post::post_unless_answered`].
    pub fn post_unless_answered(
        self,
        mailbox: &Mailbox,
        policy: &Policy,
        left: Option<Claim<OnRecord>>,
        (document, files): (QuestionDocument, &[AttachedFile]),
        if_pending: IfPending,
    ) -> Result<Begun> {
        if let Some(claim) = left {
            return Ok(Begun::Answered(self, Box::new(claim)));
        }
        for _ in 0..TRIES {
            match post::post_unless_answered(mailbox, document.clone(), files, if_pending)? {
                Posted::Pending(receipt) => return Ok(Begun::Held(Box::new(self.hold(document, files, *receipt)?))),
                // If the answer does not count, its question waits again.
                Posted::Answered(round) => {
                    if let Some(claim) = self.take(mailbox, policy, &round)? {
                        return Ok(Begun::Answered(self, Box::new(claim)));
                    }
                }
            }
        }
        Ok(Begun::Held(Box::new(self.post(mailbox, document, files, if_pending)?)))
    }

    fn hold(self, document: QuestionDocument, files: &[AttachedFile], receipt: Receipt) -> Result<Held> {
        let asked = Asked::of_receipt(&receipt)?;
        Ok(Held { waiter: self, document, files: files.to_vec(), receipt, asked })
    }
}

impl Held {
    /// The question's round.
    pub fn round(&self) -> &RoundId {
        &self.receipt.round
    }

    /// Waits at most this long for the answer that counts, and claims it.
    ///
    /// # Errors
    /// If the answer is there and cannot be claimed now.
    pub fn look(&self, mailbox: &Mailbox, policy: &Policy, patience: Duration, hearer: &impl Hearer) -> Result<Look> {
        Ok(match self.waiter.wait(mailbox, policy, &self.asked, patience, hearer)? {
            Waited::Answered(claim) => Look::Answered(claim),
            Waited::Changed => Look::Changed,
            Waited::Nothing => match read_question::document(&mailbox.round(Folder::Closed, self.round())) {
                Ok(over) => Look::Ended(Box::new(over.typed)),
                Err(_) => Look::Waits,
            },
        })
    }

    /// Posts the question anew, because it was changed. The lock is kept, so that nobody else waits for the answer in between.
    ///
    /// # Errors
    /// Those of a post.
    pub fn ask_anew(self, mailbox: &Mailbox) -> Result<Self> {
        self.waiter.post(mailbox, self.document, &self.files, IfPending::Conflict)
    }

    /// Posts another question in its place, because the answer did not fit.
    ///
    /// # Errors
    /// Those of a post.
    pub fn ask_instead(self, mailbox: &Mailbox, question: Question) -> Result<Self> {
        self.waiter.post(mailbox, Document::draft(question), &[], IfPending::Conflict)
    }

    /// Withdraws the question.
    ///
    /// # Errors
    /// If it was answered just now.
    pub fn withdraw(&self, mailbox: &Mailbox, by: &str, why: &str) -> Result<()> {
        withdraw::withdraw_round(mailbox, self.round(), by, Some(why.to_owned())).map(drop)
    }
}
