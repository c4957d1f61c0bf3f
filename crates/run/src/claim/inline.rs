//! The claim of `ask-post --wait`: the asker waits for a while and takes the answer itself if it comes in time. While it waits it holds
//! a lock, so that no watcher launches an agent for the same answer. A session that takes its answers itself (`to_session`) holds no
//! lock: it claims in the same way whenever it runs.

use std::time::{Duration, Instant};

use crate::attempt::record::{self, Claimant, RunState};
use crate::claim::{self, Claim, ClaimAttempt, OnRecord, heard};
use crate::delivery::Delivery;
use askbox_mailbox::due::event;
use askbox_mailbox::transitions::expire::{self, Expiry};
use askbox_mailbox::{
    Error, Folder, FolderWatch, Lock, Mailbox, Policy, Question, Receipt, Result, RoundId, Shown, Until, Waker, WorkflowId, disk,
    read_question, time,
};

/// The longest sleep between two looks: a file event may be lost.
const RECHECK_EVERY: Duration = Duration::from_secs(10);

/// How long a watcher may take to look at a round.
const LOOKED_AT: Duration = Duration::from_secs(1);

/// The lock of an asker that waits. Dropping it leaves the answer to the watcher.
#[must_use = "dropping it ends the wait"]
pub struct Waiter {
    _lock: Lock,
}

/// Begins to wait. Call this before the post, because the answer may come right after it.
///
/// # Errors
/// [`Error::Conflict`] if another process waits for the workflow's answer.
pub fn begin(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<Waiter> {
    let path = mailbox.waiter(workflow);
    // `askbox gc` may remove the folder and the file at any moment. Then the next try creates them again.
    for _ in 0..100 {
        disk::create_folder(&mailbox.runs_of_workflow(workflow))?;
        match Lock::try_acquire(&path) {
            Ok(Some(lock)) if lock.is_named() => return Ok(Waiter { _lock: lock }),
            Ok(None) if disk::exists(&path) => break,
            Err(e) if !e.is_missing_file() => return Err(e),
            _ => {}
        }
    }
    Err(Error::conflict(format!("another process already waits for the answer of {workflow}"), "let that process take it"))
}

/// The claim of a process that died before it had handed the answer over, or whose agent has not heard the answer. `None` if there is no
/// such claim, or if its process lives. An answer that its agent has heard is none either: that agent asks on, and the round is closed.
pub fn left_behind(mailbox: &Mailbox, round: &RoundId) -> Result<Option<Claim<OnRecord>>> {
    let Some(lock) = lock_of_inline_claim(mailbox, round)? else { return Ok(None) };
    let Some(run) = record::latest(mailbox, round)? else { return Ok(None) };
    let Some(document) = disk::if_there(read_question::of_round(&mailbox.round(Folder::Running, round), round))? else { return Ok(None) };
    let is_left = match Delivery::of_claimed(&document.typed, &run) {
        Delivery::Waiter | Delivery::Session | Delivery::Dialog => run.state == RunState::Claimed,
        Delivery::Launch | Delivery::MainAgent => false,
    };
    if is_left && heard::goes_on(mailbox, &run) == Some(true) {
        return Claim::with_lock(document, run, lock).delivered(mailbox, "its asker").map(|()| None);
    }
    Ok(is_left.then(|| Claim::with_lock(document, run, lock)))
}

/// The lock of a round that an asker has claimed. A watcher that looks whether the answer was heard holds it for a moment.
fn lock_of_inline_claim(mailbox: &Mailbox, round: &RoundId) -> Result<Option<Lock>> {
    let end = Instant::now() + LOOKED_AT;
    loop {
        let is_inline = record::latest(mailbox, round)?.is_some_and(|run| run.claimant == Claimant::Inline);
        if !is_inline {
            return Ok(None);
        }
        match Lock::try_acquire(&record::lock_path(mailbox, round))? {
            None if Instant::now() < end => std::thread::sleep(LOOKED_AT / 50),
            lock => return Ok(lock),
        }
    }
}

/// The question that an asker waits for. Only the answer to exactly this question counts.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The round.
    pub round: RoundId,
    shown: Shown,
    /// True if the dialog of a live session asks it. A changed question is then not asked anew.
    is_of_dialog: bool,
}

impl Asked {
    /// The question that was posted.
    ///
    /// # Errors
    /// If it cannot be written as JSON.
    pub fn of_receipt(receipt: &Receipt) -> Result<Self> {
        let is_of_dialog = receipt.question.live.is_some();
        Ok(Self { round: receipt.round.clone(), shown: Shown::of_question(&receipt.question)?, is_of_dialog })
    }

    /// Whether this is the question that was posted.
    pub fn is(&self, question: &Question) -> bool {
        self.shown.is_of(question)
    }
}

/// The one who hears an answer from the process that waits for it. A closure that tells whether it is gone is one.
pub trait Hearer {
    /// True if nobody would hear the answer any more. It is asked before each claim: who is gone takes nothing.
    fn is_gone(&self) -> bool;

    /// Ends the current sleep with `waker` once the hearer is gone. Without it, a wait sees that at its next look.
    fn wake_at_end(&self, _waker: Waker) {}
}

impl<F: Fn() -> bool> Hearer for F {
    fn is_gone(&self) -> bool {
        self()
    }
}

/// The outcome of a wait.
pub enum Waited {
    /// The answer, claimed. Deliver it, then call [`Claim::delivered`].
    Answered(Box<Claim<OnRecord>>),
    /// The answer is to another question, because somebody changed the file after it was posted. The round is closed as superseded; ask
    /// anew.
    Changed,
    /// The time is over, the hearer is gone, or the round ended in another way.
    Nothing,
}

/// The claim of the awaited answer, if it came.
type Taken = Option<Claim<OnRecord>>;

impl Waiter {
    /// Waits for the answer that counts, and claims it. It can be called again, because the lock is held until the waiter is dropped.
    pub fn wait(&self, mailbox: &Mailbox, policy: &Policy, asked: &Asked, patience: Duration, hearer: &impl Hearer) -> Result<Waited> {
        match self.claim(mailbox, policy, &asked.round, patience, hearer)? {
            None => Ok(Waited::Nothing),
            Some(claim) if asked.is(&claim.document.typed) => Ok(Waited::Answered(Box::new(claim))),
            Some(claim) => {
                let then = if asked.is_of_dialog { "this answer is not used: its session decides by itself" } else { "it is asked anew" };
                claim.superseded(mailbox, "askbox", &format!("its question was changed after it was asked, so {then}"))?;
                Ok(Waited::Changed)
            }
        }
    }

    /// Claims the answer of this round, which has come already. `None` if it does not count, or if another process was faster.
    ///
    /// # Errors
    /// Those of [`claim::for_asker`].
    pub fn take(&self, mailbox: &Mailbox, policy: &Policy, round: &RoundId) -> Result<Taken> {
        Ok(match claim::for_asker(mailbox, round, policy)? {
            ClaimAttempt::Claimed(claim) => Some(*claim),
            ClaimAttempt::Refused(_) => None,
        })
    }

    /// Waits for an answer of the round, and claims it. `None` if the time is over or the round ended in another way.
    fn claim(&self, mailbox: &Mailbox, policy: &Policy, round: &RoundId, patience: Duration, hearer: &impl Hearer) -> Result<Taken> {
        let deadline = Instant::now() + patience;
        // Without file events the folder is polled. A single look does without file events: it takes milliseconds to set them up and
        // take them down.
        let mut folder_watch = (!patience.is_zero()).then(|| FolderWatch::new(&mailbox.folder(Folder::Answered)).ok()).flatten();
        if let Some(watch) = &folder_watch {
            hearer.wake_at_end(watch.waker());
        }
        let asked = read_question::pending(mailbox, &round.workflow).ok().map(|document| document.typed);
        let (mut until, mut expires_at) = asked.map_or((None, None), |asked| (asked.until, asked.expires_at));
        let mut has_looked = false;
        loop {
            // This process can see the event itself, so it needs no watcher for it. The answer then lies in the folder.
            match until.as_ref().map(|until| (until, event::has_come_if_told(until))) {
                Some((until, Some(true))) => {
                    // The answer is found below, whether this call or an earlier one wrote it.
                    let _ = expire::come(mailbox, round, until)?;
                }
                Some((Until::File(path), Some(false))) if !has_looked => {
                    has_looked = true;
                    // The folder may be missing. Then the file is only looked for now and then.
                    let _ = folder_watch.as_mut().zip(path.parent()).map(|(watch, folder)| watch.add(folder));
                    continue;
                }
                // The filesystem does not respond, but a person still may.
                Some((_, None)) => until = None,
                _ => {}
            }
            // Nor does it need a watcher for its own date. A default then lies in the folder as well.
            if expires_at.is_some_and(|at| at <= time::now()) {
                match expire::expire(mailbox, policy, round, time::now())? {
                    // An earlier answer is in the way until it is claimed.
                    Expiry::Later => {}
                    _ => expires_at = None,
                }
            }
            if hearer.is_gone() {
                return Ok(None);
            }
            if disk::exists(mailbox.document(Folder::Answered, &round.workflow))
                && let Some(claim) = self.take(mailbox, policy, round)?
            {
                return Ok(Some(claim));
            }
            if record::latest(mailbox, round)?.is_some() || disk::exists(mailbox.round(Folder::Closed, round)) {
                return Ok(None);
            }
            mailbox.check_in_place()?;
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            let left = match &until {
                Some(Until::At(at)) => (*at - time::now()).to_std().ok().filter(|wait| !wait.is_zero()).map_or(left, |wait| left.min(wait)),
                _ => left,
            };
            let left = expires_at.map_or(left, |at| left.min((at - time::now()).to_std().unwrap_or(LOOKED_AT / 2)));
            FolderWatch::wait_or_sleep(folder_watch.as_ref(), left.min(RECHECK_EVERY));
        }
    }
}
