//! The seam: what every way to other machines does, and what it reports.

use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::address::HostName;
use crate::error::{IoContext, Result};
use crate::id::{QuestionId, WorkflowId};
use crate::mailbox::documents::offer::{Offer, Verdict};
use crate::peers::ended::Ended;
use crate::peers::remote_question::RemoteQuestion;
use crate::peers::undecided::Undecided;
use crate::time::Time;
use crate::untrusted::Untrusted;

/// A way to one or several other machines. Its methods are called from threads of their own, and may take their time; `offer` has a limit.
pub trait Peer: Send + Sync {
    /// Its name in messages and in the cache.
    fn name(&self) -> &str;

    /// The machines that it is known to lead to before it has reported anything. They are shown from the start. A peer without any
    /// reports [`Change::Complete`].
    fn hosts(&self) -> Vec<HostName>;

    /// Connects, and reports the whole list and then each change, until the connection ends or `stop` says so. Returns why it ended. It is
    /// called again later, with growing pauses.
    fn watch(&self, report: &dyn Fn(Change), stop: &Stop) -> Problem;

    /// Offers an answer to the machine that has the question. The same offer may be offered again: it counts once.
    ///
    /// # Errors
    /// [`NotOffered`] where there is no verdict within about `limit`.
    fn offer(&self, host: &HostName, offer: &Offer, limit: Duration) -> Result<Offered, NotOffered>;

    /// How the last question of a workflow ended there; `None` if it still waits, or nothing is known of it.
    ///
    /// # Errors
    /// [`Problem`] if that is not told within about `limit`.
    fn ended(&self, _host: &HostName, _workflow: &WorkflowId, _limit: Duration) -> Result<Option<Ended>, Problem> {
        Ok(None)
    }
}

/// What a peer reports.
#[derive(Debug)]
pub enum Change {
    /// The machine's list begins anew: what is not reported until [`Change::Listed`] waits no longer.
    Begins {
        /// The machine.
        host: HostName,
        /// The version of its askbox.
        version: String,
    },
    /// A question waits, or has changed.
    Question(Box<RemoteQuestion>),
    /// A question waits no longer.
    Gone {
        /// The machine.
        host: HostName,
        /// The workflow.
        workflow: WorkflowId,
        /// The round, where it is known.
        question: Option<QuestionId>,
        /// What became of it, in the machine's words.
        fate: Untrusted,
        /// The offer that was accepted for it.
        offer: Option<uuid::Uuid>,
    },
    /// The mailbox that is missing on the machine, though somebody has named it; `None` once it is there.
    Mailbox {
        /// The machine.
        host: HostName,
        /// Where it is looked for.
        missing: Option<Untrusted>,
    },
    /// The machine's list is complete.
    Listed {
        /// The machine.
        host: HostName,
    },
    /// The machine was there at this time, by this machine's clock.
    Heard {
        /// The machine.
        host: HostName,
        /// When.
        at: Time,
    },
    /// The machine is away, though the way to it is open: what is known of it may be old, and an offer waits for it on the way.
    Away {
        /// The machine.
        host: HostName,
        /// Since when.
        since: Time,
        /// What is known of it.
        problem: Problem,
    },
    /// The peer has told of all its machines. What is kept of others that it led to before is forgotten.
    Complete {
        /// The machines.
        hosts: Vec<HostName>,
        /// The version of what stands between, in words.
        version: String,
    },
    /// The answers about which the machines of the peer have not decided, the oldest first: these, and no others any more.
    Undecided(Vec<Undecided>),
    /// The verdict about an offer that was [`Offered::Sent`].
    Decided(Verdict),
}

/// What came of offering an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Offered {
    /// The machine has decided.
    Decided(Verdict),
    /// The offer is on its way, durably. The verdict is reported as [`Change::Decided`].
    Sent,
}

/// Why there is no verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotOffered {
    /// What is wrong.
    pub problem: Problem,
    /// Whether the machine may have received the offer all the same. Then nobody may say that it does not count.
    pub may_have_arrived: bool,
}

/// Why a machine cannot be reached, for people. It may quote the machine: it passes a filter before it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// What is wrong, in one line.
    pub said: String,
    /// What to do about it.
    pub hint: String,
    /// Whether trying again soon is in vain: a person has to do something.
    pub lasts: bool,
}

impl Problem {
    /// A problem that may pass by itself.
    pub fn passing(said: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { said: said.into(), hint: hint.into(), lasts: false }
    }

    /// A problem that a person has to solve.
    pub fn lasting(said: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { lasts: true, ..Self::passing(said, hint) }
    }
}

/// Says that the work is to end: to a thread that looks, waits, or polls descriptors together with this one.
#[derive(Debug, Clone)]
pub struct Stop(Arc<UnixStream>);

/// Ends the work of all who hold the [`Stop`], when it is dropped.
#[derive(Debug)]
pub struct StopsOnDrop(#[allow(dead_code, reason = "closing it is what it does")] UnixStream);

impl Stop {
    /// A stop, and what sets it.
    pub fn new() -> Result<(Self, StopsOnDrop)> {
        let (ours, theirs) = UnixStream::pair().io("make", "a pair of sockets")?;
        Ok((Self(Arc::new(theirs)), StopsOnDrop(ours)))
    }

    /// Waits for `limit`. `true` if the work is to end.
    #[must_use]
    pub fn wait(&self, limit: Duration) -> bool {
        let limit = Timespec { tv_sec: i64::try_from(limit.as_secs()).unwrap_or(i64::MAX), tv_nsec: limit.subsec_nanos().into() };
        let mut fds = [PollFd::new(self, PollFlags::IN)];
        rustix::io::retry_on_intr(|| poll(&mut fds, Some(&limit))).is_ok_and(|ready| ready > 0)
    }

    /// Whether the work is to end.
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.wait(Duration::ZERO)
    }
}

impl AsFd for Stop {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
