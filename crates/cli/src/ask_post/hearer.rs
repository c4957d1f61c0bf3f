//! The one who hears the answer of a waiting `ask-post`: the agent whose command it is, and the reader of its output. A command outlives
//! its agent if that is killed, for its output goes to a file then.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex};

use crate::hangup;
use askbox_mailbox::disk::file_events::Waker;
use askbox_mailbox::platform::ancestry::NearestAgent;
use askbox_run::claim::heard;
use askbox_run::claim::inline::Hearer;
use askbox_run::process::poll_thread::{PollSource, PollThread};

/// The hearer of this process's output.
#[derive(Debug)]
pub(super) struct OutputHearer {
    agent: Arc<NearestAgent>,
    /// Wakes the wait. Dropped with this.
    thread: Mutex<Option<PollThread>>,
}

impl OutputHearer {
    /// Finds it. Call this before the question is posted, so that an agent that ends from then on is noticed.
    pub(super) fn find() -> Self {
        Self { agent: Arc::new(NearestAgent::of_this_process()), thread: Mutex::default() }
    }

    /// The agent, if it is known.
    pub(super) fn agent(&self) -> Option<heard::Agent> {
        heard::Agent::of(&self.agent)
    }

    /// True if the agent has ended. Its end counts even behind the answer's print: it may not have read it.
    pub(super) fn has_no_agent_any_more(&self) -> bool {
        self.agent.is_gone()
    }
}

impl Hearer for OutputHearer {
    fn is_gone(&self) -> bool {
        self.agent.is_gone() || hangup::is_gone()
    }

    fn wake_at_end(&self, waker: Waker) {
        // Without the thread, the wait looks again every few seconds.
        let Ok(mut thread) = PollThread::new() else { return };
        let by_hangup = waker.clone();
        let mut sources = vec![hangup::source(move || by_hangup.wake())];
        if matches!(*self.agent, NearestAgent::Is(_)) {
            sources.push(Box::new(AgentEnd(Arc::clone(&self.agent), waker)));
        }
        thread.start(sources);
        if let Ok(mut kept) = self.thread.lock() {
            *kept = Some(thread);
        }
    }
}

/// The end of an agent.
struct AgentEnd(Arc<NearestAgent>, Waker);

impl PollSource for AgentEnd {
    fn fds(&self) -> Vec<BorrowedFd<'_>> {
        match &*self.0 {
            NearestAgent::Is(process) => vec![process.as_fd()],
            NearestAgent::Unknown | NearestAgent::HasEnded => Vec::new(),
        }
    }

    fn ready(&mut self) -> bool {
        self.1.wake();
        false
    }
}
