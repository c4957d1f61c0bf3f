//! An answer that this process took is given once the reply that carries it is written. The round stays claimed until the client's agent has
//! heard the answer, if that can be found out later. Else the answer counts as delivered now. If this process dies before the reply is
//! written, the round stays claimed by a process that is gone, and a watcher starts an agent with the answer, unless the call has its result.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use rmcp::RoleServer;
use rmcp::model::{JsonRpcMessage, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;

use askbox_mailbox::platform::ancestry::NearestAgent;
use askbox_mailbox::{Mailbox, thread};
use askbox_run::claim::heard::{self, Sign};
use askbox_run::claim::{Claim, OnRecord};

/// `closed.by` of a round whose answer was delivered here.
const BY: &str = "askbox mcp";

/// An answer on its way to its asker.
#[derive(Debug)]
pub(super) struct Taken {
    pub(super) mailbox: Mailbox,
    pub(super) claim: Box<Claim<OnRecord>>,
}

impl Taken {
    /// Notes that the answer is about to be given to this agent.
    fn giving(self, agent: Option<heard::Agent>, sign: Sign) -> (Self, Sign) {
        agent.iter().for_each(|agent| heard::note_giving(&self.mailbox, &self.claim.document.typed, &self.claim.run, *agent, sign.clone()));
        (self, sign)
    }

    /// Notes that the answer was given to this agent, or else that it is delivered. If that fails, the round stays claimed, and the next
    /// look completes it.
    fn given(self, agent: Option<heard::Agent>, sign: Sign) {
        let Self { mailbox, claim } = self;
        let noted = agent.map_or(Ok(false), |agent| heard::note_given(&mailbox, &claim.document.typed, &claim.run, agent, sign));
        if matches!(noted, Ok(false)) {
            let _ = claim.delivered(&mailbox, BY);
        }
    }
}

/// The answers on their way, by the requests whose replies carry them.
#[derive(Debug, Clone)]
pub(super) struct Receipts {
    /// The client's agent. It is found at the start, because its end may leave no trace of it.
    agent: Option<heard::Agent>,
    on_their_way: Arc<Mutex<HashMap<RequestId, (Taken, Sign)>>>,
}

impl Receipts {
    /// Finds the agent of this process. No answer is on its way yet.
    pub(super) fn begin() -> Self {
        Self { agent: heard::Agent::of(&NearestAgent::of_this_process()), on_their_way: Arc::default() }
    }

    /// Notes that the reply to this request carries the answer, and that its agent's transcript shows it by this sign.
    pub(super) fn expect(&self, request: RequestId, taken: Taken, sign: Sign) {
        thread::locked(&self.on_their_way).insert(request, (taken, sign));
    }
}

/// A transport that records which replies were written.
pub(super) struct Receipted<T> {
    inner: T,
    receipts: Receipts,
}

impl<T> Receipted<T> {
    pub(super) fn new(inner: T, receipts: Receipts) -> Self {
        Self { inner, receipts }
    }
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for Receipted<T> {
    type Error = T::Error;

    fn send(&mut self, item: TxJsonRpcMessage<RoleServer>) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let request = if let JsonRpcMessage::Response(response) = &item { Some(response.id.clone()) } else { None };
        let taken = request.and_then(|id| thread::locked(&self.receipts.on_their_way).remove(&id));
        let agent = self.receipts.agent;
        let written = self.inner.send(item);
        async move {
            let Some((taken, sign)) = taken else { return written.await };
            let taken = tokio::task::spawn_blocking(move || taken.giving(agent, sign)).await;
            written.await?;
            if let Ok((taken, sign)) = taken {
                let _ = tokio::task::spawn_blocking(move || taken.given(agent, sign)).await;
            }
            Ok(())
        }
    }

    fn receive(&mut self) -> impl Future<Output = Option<RxJsonRpcMessage<RoleServer>>> + Send {
        self.inner.receive()
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.inner.close()
    }
}
