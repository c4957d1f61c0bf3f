//! A program's own use of a mailbox: it asks, answers, looks, waits, and keeps checkpoints. Each method is one transition or one
//! look; the rules are those of the transitions.

use std::time::{Duration, Instant};

use crate::checkpoints::store;
use crate::documents::checks::check_draft;
use crate::overview::waiting;
use crate::transitions::post::IfPending;
use crate::transitions::withdraw;
use crate::{
    Accepted, Answer, AnswerValue, AttachedFile, Attachment, Caller, Checkpoint, Damage, Decision, Document, Error, Folder, FolderWatch,
    Mailbox, On, Question, Receipt, Result, RoundId, WorkflowId, accept, attachments, disk, document, list, post, round, settle,
};

/// The longest sleep between two looks: a file event may be lost.
const RECHECK_EVERY: Duration = Duration::from_secs(10);

impl Mailbox {
    /// Posts a question. Once this returns, the question survives a power cut, and the asker may exit.
    ///
    /// The same question again changes nothing and gets the first receipt.
    ///
    /// # Errors
    /// - [`Error::Invalid`] if the question is not valid, is longer than 1 MiB, or has a field that only askbox's own programs write,
    ///   such as `approval`.
    /// - [`Error::Conflict`] if another question of the workflow is pending.
    /// - [`Error::NotFound`] or [`Error::Failed`] if its checkpoint lies in a temporary folder and cannot be copied.
    /// - [`Error::Held`] if another process keeps the workflow's lock. [`Error::Io`] if the system refuses.
    pub fn post(&self, question: Question) -> Result<Receipt> {
        check_draft::of_client(&question)?;
        post::post(self, question, IfPending::Conflict)
    }

    /// Posts a question with files that the person is shown beside it, such as a diff or a screenshot. The mailbox keeps a copy of each
    /// file, and every answer is bound to its hash.
    ///
    /// # Errors
    /// Those of [`post`](Self::post). [`Error::Invalid`] also if there are more than 8 files, or more than 8 MiB.
    pub fn post_with_files(&self, question: Question, files: &[AttachedFile]) -> Result<Receipt> {
        check_draft::of_client(&question)?;
        post::post_with_files(self, Document::draft(question), files, IfPending::Conflict)
    }

    /// Returns the bytes of a file beside the question of a round. They are the bytes that were attached.
    ///
    /// # Errors
    /// [`Damage`] if the file is missing, or is not the one that was attached.
    pub fn attachment(&self, round: &RoundId, about: &Attachment) -> Result<Vec<u8>, Damage> {
        attachments::read(self, round, about)
    }

    /// Posts a question in place of the one that the workflow asks now, if there is one. That one is closed as superseded.
    ///
    /// # Errors
    /// Those of [`post`](Self::post), without the conflict.
    pub fn post_instead(&self, question: Question) -> Result<Receipt> {
        check_draft::of_client(&question)?;
        post::post(self, question, IfPending::Supersede)
    }

    /// Returns the questions that wait for an answer: larger `priority` first, then the oldest. A file that cannot be read is left
    /// out: `askbox doctor` names it.
    ///
    /// # Errors
    /// [`Error::Io`] if the folder cannot be read.
    pub fn pending(&self) -> Result<Vec<Question>> {
        let rows = waiting::pending(self, |row| row.document.ok().map(|document| document.typed))?;
        Ok(rows.into_iter().flatten().collect())
    }

    /// Reads the question that a workflow asks now, to answer it. The answer counts only for the question as it is here: if
    /// somebody changes or replaces the file in between, the answer is a conflict.
    ///
    /// # Errors
    /// - [`Error::NotFound`] if the workflow never asked. [`Error::Conflict`] if its last question is answered or over.
    /// - [`Error::Invalid`] if the question's file is refused. [`Error::Io`] if the system refuses.
    pub fn answer(&self, workflow: &WorkflowId) -> Result<PendingQuestion<'_>> {
        let Some(mut question) = disk::if_there(settle::waiting(self, workflow))?.map(|document| document.typed) else {
            return Err(nothing_waits(self, workflow));
        };
        let round = round::of_pending(self, &question)?;
        question.question_id = Some(round.question);
        Ok(PendingQuestion { mailbox: self, question, round })
    }

    /// Closes the question that a workflow asks now, without an answer. No agent is launched. `by` is the name of the one who
    /// withdraws it.
    ///
    /// # Errors
    /// - [`Error::NotFound`] if the workflow never asked. [`Error::Conflict`] if its question is answered or over.
    /// - [`Error::Held`] if another process keeps the workflow's lock. [`Error::Io`] if the system refuses.
    pub fn withdraw(&self, workflow: &WorkflowId, by: &str, why: Option<String>) -> Result<RoundId> {
        withdraw::withdraw(self, workflow, by, why)
    }

    /// Waits until the workflow's question is answered, and returns the answer. Without a pending question, the workflow's last
    /// round counts. Returns `None` if `patience` is over; zero is one look.
    ///
    /// This only looks. If a watcher serves the mailbox, it still relaunches the agent that asked. A process that takes the answer
    /// itself instead claims the round: see `askbox_run::claim::inline`, which `ask-post --wait` uses.
    ///
    /// # Errors
    /// - [`Error::NotFound`] if the workflow never asked.
    /// - [`Error::Conflict`] if the question was withdrawn, superseded or expired.
    /// - [`Error::Invalid`] if the question's file is refused. [`Error::Failed`] if the mailbox is gone. [`Error::Io`] if the system
    ///   refuses.
    pub fn wait(&self, workflow: &WorkflowId, patience: Duration) -> Result<Option<Answer>> {
        let deadline = Instant::now() + patience;
        // The events come before the first look, so that no answer falls between the two.
        let events = (!patience.is_zero()).then(|| FolderWatch::new(&self.folder(Folder::Pending)).ok()).flatten();
        let asked = match self.answer(workflow) {
            Ok(pending) => pending.round,
            Err(e @ (Error::NotFound { .. } | Error::Conflict { .. })) => round::latest(self, workflow).ok_or(e)?.id,
            Err(e) => return Err(e),
        };
        loop {
            let found = round::find(self, &asked);
            match found.map(|found| (found.folder, found.document.typed)) {
                Some((folder, Question { answer: Some(answer), .. })) if folder != Folder::Pending => return Ok(Some(answer)),
                Some((Folder::Closed, question)) => {
                    let how = question.closed.map_or("closed", |closing| closing.state.word());
                    return Err(Error::conflict(format!("the question of {workflow} was {how}, so it has no answer"), "ask again"));
                }
                _ => {}
            }
            self.check_in_place()?;
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            FolderWatch::wait_or_sleep(events.as_ref(), left.min(RECHECK_EVERY));
        }
    }

    /// Returns the checkpoint of a workflow, with the answer in `user_answer` once there is one.
    ///
    /// # Errors
    /// [`Error::NotFound`] if it has none. [`Error::Invalid`] if the file is refused. [`Error::Io`] if the system refuses.
    pub fn checkpoint(&self, workflow: &WorkflowId) -> Result<Checkpoint> {
        Ok(settle::settled_checkpoint(self, workflow)?.typed)
    }

    /// Replaces the checkpoint of a workflow, durably: the state from which a fresh process continues. An answer in the old one is
    /// kept.
    ///
    /// # Errors
    /// [`Error::Invalid`] if `files` holds anything but absolute paths, if it is longer than 16 MiB, or if it names another
    /// workflow. [`Error::Held`] if another process keeps the workflow's lock. [`Error::Io`] if the system refuses.
    pub fn save_checkpoint(&self, workflow: &WorkflowId, checkpoint: &Checkpoint) -> Result<()> {
        store::save(self, workflow, &document::to_json(checkpoint)?).map(drop)
    }
}

/// A question that waits, as it was read: see [`Mailbox::answer`].
#[derive(Debug)]
#[must_use = "nothing is answered yet: name the caller, then the value"]
pub struct PendingQuestion<'a> {
    mailbox: &'a Mailbox,
    question: Question,
    round: RoundId,
}

impl<'a> PendingQuestion<'a> {
    /// The question, to be shown to the person who decides.
    pub fn question(&self) -> &Question {
        &self.question
    }

    /// The round of the question.
    pub fn round(&self) -> &RoundId {
        &self.round
    }

    /// Names who decides.
    pub fn by(self, caller: &'a Caller) -> AnswerDraft<'a> {
        AnswerDraft { pending: self, caller, note: None }
    }
}

/// A reply that is about to be given: see [`PendingQuestion::by`].
#[derive(Debug)]
#[must_use = "nothing is answered yet: give the value"]
pub struct AnswerDraft<'a> {
    pending: PendingQuestion<'a>,
    caller: &'a Caller,
    note: Option<String>,
}

impl AnswerDraft<'_> {
    /// Adds a remark beside the value.
    pub fn note(self, note: impl Into<String>) -> Self {
        Self { note: Some(note.into()), ..self }
    }

    /// Answers with a value: the key of an option, `yes` or `no`, a number as text, free text; a list for `multi_choice`. The
    /// first answer counts. Once this returns, it survives a power cut.
    ///
    /// # Errors
    /// - [`Error::Invalid`] if the value does not fit the question.
    /// - [`Error::Conflict`] if somebody else was first, if the question has changed or is over, or if the caller may not decide it.
    /// - [`Error::Failed`] if the answer cannot be signed.
    /// - [`Error::Held`] if another process keeps the workflow's lock. [`Error::Io`] if the system refuses.
    pub fn value(self, value: impl Into<AnswerValue>) -> Result<Accepted> {
        let answer = Answer { note: self.note.clone(), ..self.caller.value(value.into()) };
        self.give(answer)
    }

    /// Declines to answer. The agent is told so, and not to guess.
    ///
    /// # Errors
    /// Those of [`value`](Self::value).
    pub fn decline(self) -> Result<Accepted> {
        let answer = self.caller.declined(self.note.clone());
        self.give(answer)
    }

    /// Asks the agent something before deciding. The agent is relaunched with this question instead of an answer.
    ///
    /// # Errors
    /// Those of [`value`](Self::value).
    pub fn ask_back(self, question: impl Into<String>) -> Result<Accepted> {
        let answer = self.caller.asking_back(question.into());
        self.give(answer)
    }

    fn give(self, answer: Answer) -> Result<Accepted> {
        let PendingQuestion { mailbox, question, round } = &self.pending;
        accept::answer(mailbox, &round.workflow, Decision::by(self.caller, On::question(round, question)?), answer)
    }
}

fn nothing_waits(mailbox: &Mailbox, workflow: &WorkflowId) -> Error {
    let Some(last) = round::latest(mailbox, workflow) else { return list::never_asked(mailbox, workflow) };
    let question = last.document.typed;
    let how = match (&question.answer, &question.closed) {
        (Some(answer), _) => format!("already {}", answer.who()),
        (None, closing) => closing.as_ref().map_or("already answered", |closing| closing.state.word()).to_owned(),
    };
    Error::conflict(format!("the question of {workflow} was {how}"), ("look at it", format!("ask-answer show {workflow}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documents::asked::Kind;

    fn mailbox() -> (tempfile::TempDir, Mailbox, WorkflowId, Caller) {
        let folder = tempfile::tempdir().unwrap();
        let mailbox = Mailbox::open_or_create(folder.path().join("questions")).unwrap();
        (folder, mailbox, "docs-42".parse().unwrap(), Caller::person("ann", "test").unwrap())
    }

    fn question() -> Question {
        Question::new("docs-42".parse().unwrap(), "Merge?").with_options([("merge", "One section"), ("keep", "Two sections")])
    }

    #[test]
    fn a_question_is_posted_listed_answered_and_waited_for() {
        let (_folder, mailbox, id, ann) = mailbox();
        let receipt = mailbox.post(question()).unwrap();
        assert!(mailbox.post(question()).unwrap().repeated);
        assert_eq!(mailbox.wait(&id, Duration::ZERO).unwrap(), None);
        assert_eq!(mailbox.pending().unwrap()[0].parts()[0].kind(), Kind::Choice);
        let pending = mailbox.answer(&id).unwrap();
        assert_eq!((pending.round(), pending.question().question.as_str()), (&receipt.round, "Merge?"));
        pending.by(&ann).note("the shorter one").value("merge").unwrap();
        let answer = mailbox.wait(&id, Duration::from_secs(60)).unwrap().unwrap();
        assert_eq!((answer.value, answer.note.as_deref()), (Some("merge".into()), Some("the shorter one")));
        assert!(mailbox.pending().unwrap().is_empty());
        assert_eq!(mailbox.answer(&id).unwrap_err().exit_code(), 4);
    }

    #[test]
    fn a_question_comes_with_the_files_that_it_is_about() {
        let (_folder, mailbox, id, _) = mailbox();
        let file = AttachedFile::new("a.txt", b"the two sections".to_vec()).unwrap();
        let receipt = mailbox.post_with_files(question(), std::slice::from_ref(&file)).unwrap();
        assert!(mailbox.post_with_files(question(), std::slice::from_ref(&file)).unwrap().repeated);
        assert_eq!(mailbox.post(question()).unwrap_err().exit_code(), 4, "the same question without its file");
        let asked = mailbox.answer(&id).unwrap().question().clone();
        assert_eq!(mailbox.attachment(&receipt.round, &asked.attachments[0]).unwrap(), b"the two sections");
        let mut with_a_name_only = question();
        with_a_name_only.attachments = asked.attachments;
        assert_eq!(mailbox.post_instead(with_a_name_only).unwrap_err().exit_code(), 5);
    }

    #[test]
    fn a_wait_ends_with_the_answer_of_another_thread() {
        let (_folder, mailbox, id, ann) = mailbox();
        mailbox.post(question()).unwrap();
        std::thread::scope(|scope| {
            let wait = scope.spawn(|| mailbox.wait(&id, Duration::from_secs(60)).unwrap());
            mailbox.answer(&id).unwrap().by(&ann).decline().unwrap();
            assert_eq!(wait.join().unwrap().unwrap().by, "ann");
        });
    }

    #[test]
    fn an_answer_counts_only_for_the_question_that_was_read() {
        let (_folder, mailbox, id, ann) = mailbox();
        mailbox.post(question()).unwrap();
        let read = mailbox.answer(&id).unwrap();
        let mut other = Question::new(id.clone(), "Delete both?").with_options([("merge", "Yes, delete both")]);
        other.free_text = Some(false);
        mailbox.post_instead(other).unwrap();
        assert_eq!(read.by(&ann).value("merge").unwrap_err().exit_code(), 4);
        assert_eq!(mailbox.answer(&id).unwrap().by(&ann).value("both").unwrap_err().exit_code(), 5);
        mailbox.withdraw(&id, "ann", None).unwrap();
        assert_eq!(mailbox.wait(&id, Duration::from_secs(60)).unwrap_err().exit_code(), 4);
    }

    #[test]
    fn a_checkpoint_is_saved_and_gets_the_answer() {
        let (_folder, mailbox, id, ann) = mailbox();
        assert_eq!(mailbox.checkpoint(&id).unwrap_err().exit_code(), 3);
        let state = Checkpoint { next_action: Some("merge as the answer says".into()), ..Checkpoint::default() };
        mailbox.save_checkpoint(&id, &state).unwrap();
        mailbox.post(question()).unwrap();
        mailbox.answer(&id).unwrap().by(&ann).value("keep").unwrap();
        let found = mailbox.checkpoint(&id).unwrap();
        assert_eq!((found.next_action, found.user_answer), (state.next_action, Some("keep".into())));
    }

    #[test]
    fn a_workflow_that_never_asked_is_not_found() {
        let (_folder, mailbox, id, _) = mailbox();
        assert_eq!(mailbox.answer(&id).unwrap_err().exit_code(), 3);
        assert_eq!(mailbox.wait(&id, Duration::from_secs(60)).unwrap_err().exit_code(), 3);
    }

    #[test]
    fn a_checkpoint_holds_no_answer_to_a_question_that_waits() {
        let folder = tempfile::tempdir().unwrap();
        let mailbox = Mailbox::open_or_create(folder.path().join("m")).unwrap();
        let workflow: WorkflowId = "w".parse().unwrap();
        store::save(&mailbox, &workflow, br#"{"current_step":"review"}"#).unwrap();
        let receipt = mailbox.post(Question::new(workflow.clone(), "Deploy?")).unwrap();
        let left = |round: &str| format!(r#"{{"current_step":"review","user_answer":"yes","user_answer_to":"{round}"}}"#);
        store::save(&mailbox, &workflow, left(&receipt.round.question.to_string()).as_bytes()).unwrap();
        assert_eq!(mailbox.checkpoint(&workflow).unwrap().user_answer, None);
        assert_eq!(store::load(&mailbox, &workflow).unwrap().typed.user_answer_to, None, "the file holds it no more");
        // The answer of an earlier round stays.
        store::save(&mailbox, &workflow, left("019ab3c2-77aa-7c31-9b0e-5d2f6a1c8e46").as_bytes()).unwrap();
        mailbox.withdraw(&workflow, "ann", None).unwrap();
        assert_eq!(mailbox.checkpoint(&workflow).unwrap().user_answer, Some("yes".into()));
    }
}
