//! The common interface of all ways to other machines, and their reports.

use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use uuid::Uuid;

use crate::remote_question::{Last, RemoteQuestion};
use askbox_mailbox::{Decided, HostName, IoContext, Offer, QuestionId, Result, Time, Untrusted, Verdict, WorkflowId, text};
use askbox_sessions::{Asked, Reply};

/// A way to one or several other machines. Its methods are called from threads of their own and may be slow. Only `offer` has a limit.
pub trait Peer: Send + Sync {
    /// Its name in messages and in the cache.
    fn name(&self) -> &str;

    /// The machines that the peer is known to lead to before it has reported anything. They are shown from the start. A peer that knows
    /// none reports [`Change::Complete`].
    fn hosts(&self) -> Vec<HostName> {
        Vec::new()
    }

    /// Connects, and reports the whole list and then each change, until the connection ends or `stop` is set. Returns the reason for
    /// the end. It is called again later, with growing pauses.
    fn watch(&self, report: &dyn Fn(Change), stop: &Stop) -> Problem;

    /// Offers an answer to the machine that has the question, and returns what is known of it after about `limit`. The same offer may be
    /// offered again: it counts once. Where it may have arrived without a verdict, no surface may say that it does not count.
    fn offer(&self, host: &HostName, offer: &Offer, limit: Duration) -> Progress;

    /// Asks how the last question of a workflow stands there. `None` if the machine knows nothing about it.
    ///
    /// # Errors
    /// [`Problem`] if there is no answer within about `limit`.
    fn last(&self, _host: &HostName, _workflow: &WorkflowId, _limit: Duration) -> Result<Option<Last>, Problem> {
        Ok(None)
    }

    /// Asks the machine about its sessions, or for something that is to be done with one.
    ///
    /// # Errors
    /// [`Unanswered`] if the machine refuses, or does not reply within about `limit`.
    fn sessions(&self, host: &HostName, _asked: &Asked, _limit: Duration) -> Result<Reply, Unanswered> {
        Err(Unanswered::unsent(Problem::lasting(format!("{host} tells nothing of its sessions"), "look at them there: askbox sessions")))
    }
}

/// A report of a peer.
#[derive(Debug)]
pub enum Change {
    /// The machine's list begins anew, told by this version of its askbox. Questions that are not reported before [`Change::Listed`] no
    /// longer wait.
    Begins(HostName, String),
    /// A question waits, or has changed.
    Question(Box<RemoteQuestion>),
    /// A question no longer waits.
    Gone {
        /// The machine.
        host: HostName,
        /// The workflow.
        workflow: WorkflowId,
        /// The round, if it is known.
        question: Option<QuestionId>,
        /// The end of the question, in the machine's words.
        fate: Untrusted,
        /// The offer that was accepted for it.
        offer: Option<Uuid>,
    },
    /// A mailbox was named for the machine and is missing there, where it is looked for at this path. `None` once it is there.
    Mailbox(HostName, Option<Untrusted>),
    /// The machine's list is complete.
    Listed(HostName),
    /// The machine was there at this time, by this machine's clock.
    Heard(HostName, Time),
    /// The machine is away, though the way to it is open. Its known state may be old, and an offer waits for it on the way.
    Away {
        /// The machine.
        host: HostName,
        /// When that began.
        since: Time,
        /// The reason, as far as it is known.
        problem: Problem,
    },
    /// The peer has reported all its machines. Other machines that it led to before are forgotten.
    Complete {
        /// The machines.
        hosts: Vec<HostName>,
        /// The version of the program in between, in words.
        version: String,
    },
    /// All answers that the machines of the peer have not decided about, the oldest first. They replace the earlier list.
    Undecided(Vec<Undecided>),
    /// What the machine has decided about an offer that was [`Progress::Sent`] before.
    Decided(Verdict),
}

/// An answer that waits for its machine's decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undecided {
    /// The offer.
    pub offer: Uuid,
    /// The machine that decides.
    pub host: HostName,
    /// The question that it answers.
    pub question: QuestionId,
    /// The sender, by the name that they have in the program in between.
    pub by: Untrusted,
    /// When, by this machine's clock.
    pub at: Time,
}

/// The state of an offer, as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// It is being offered.
    UnderWay,
    /// It is on its way, durably; its machine has not decided yet.
    Sent,
    /// Its machine has decided.
    Decided(Verdict),
    /// It never reached its machine, and counts nowhere.
    NotSent(Problem),
    /// It may have reached its machine, but the machine did not confirm it. It is not known if the offer counts, so no surface may say
    /// that it does or does not. It is made again by itself once the machine is reached.
    Unconfirmed(Problem),
}

impl Progress {
    /// True if the offer is under way.
    pub fn is_open(&self) -> bool {
        matches!(self, Self::UnderWay | Self::Sent)
    }

    /// Ended without a verdict.
    pub(super) fn failed(problem: Problem, may_have_arrived: bool) -> Self {
        if may_have_arrived { Self::Unconfirmed(problem) } else { Self::NotSent(problem) }
    }

    /// True if no other answer can count for the round any more.
    pub(super) fn ends_round(&self) -> bool {
        matches!(self, Self::Decided(verdict) if matches!(verdict.decided, Decided::Accepted | Decided::Lost | Decided::Closed))
    }
}

/// The reason why a request has no reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unanswered {
    /// What is wrong.
    pub problem: Problem,
    /// True if the machine may have done it.
    pub may_have_arrived: bool,
}

impl Unanswered {
    /// The machine did nothing.
    pub(super) fn unsent(problem: Problem) -> Self {
        Self { problem, may_have_arrived: false }
    }

    /// The machine may have done it.
    pub(super) fn unknown(problem: Problem) -> Self {
        Self { problem, may_have_arrived: true }
    }
}

/// The reason why a machine cannot be reached, for people. It may quote the machine, so it passes a filter before it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// What is wrong, in one line.
    pub said: String,
    /// What to do about it.
    pub hint: String,
    /// True if another attempt would be in vain until a person has done something.
    pub lasts: bool,
}

impl Problem {
    /// A problem that may pass by itself.
    pub fn passing(said: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { said: said.into(), hint: hint.into(), lasts: false }
    }

    /// A problem in the words of the machine.
    pub(super) fn of_machine(host: &HostName, error: &str, hint: &str) -> Self {
        Self::lasting(format!("{host}: {}", text::excerpt(error, 300)), text::excerpt(hint, 300))
    }

    /// A problem that a person has to solve.
    pub fn lasting(said: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { lasts: true, ..Self::passing(said, hint) }
    }
}

/// The signal to end the work. A thread can check it, wait for it, or poll it together with other descriptors.
#[derive(Debug, Clone)]
pub struct Stop(Arc<UnixStream>);

/// Ends the work of all holders of the [`Stop`], when it is dropped.
#[derive(Debug)]
pub struct StopsOnDrop(#[allow(dead_code, reason = "closing it is what it does")] UnixStream);

impl Stop {
    /// A stop, and the value that sets it when dropped.
    pub fn new() -> Result<(Self, StopsOnDrop)> {
        let (ours, theirs) = UnixStream::pair().io("make", "a pair of sockets")?;
        Ok((Self(Arc::new(theirs)), StopsOnDrop(ours)))
    }

    /// Waits for `limit`. Returns true if the work is to end.
    pub fn wait(&self, limit: Duration) -> bool {
        let mut fds = [PollFd::new(self, PollFlags::IN)];
        rustix::io::retry_on_intr(|| poll(&mut fds, Timespec::try_from(limit).ok().as_ref())).is_ok_and(|ready| ready > 0)
    }

    /// True if the work is to end.
    pub fn is_set(&self) -> bool {
        self.wait(Duration::ZERO)
    }
}

impl AsFd for Stop {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
