//! An answer that this process took counts as delivered once the reply that carries it is written. If the process dies before that, the
//! round stays claimed by a process that is gone, and a watcher starts an agent with the answer.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::RoleServer;
use rmcp::model::{JsonRpcMessage, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;

use askbox_mailbox::Mailbox;
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
    /// Marks the answer as delivered to its asker. If that fails, the round stays claimed, and the next look completes it.
    pub(super) fn delivered(self) {
        let _ = self.claim.delivered(&self.mailbox, BY);
    }
}

/// The answers on their way, by the requests whose replies carry them.
#[derive(Debug, Clone, Default)]
pub(super) struct Receipts(Arc<Mutex<HashMap<RequestId, Taken>>>);

impl Receipts {
    /// Notes that the reply to this request carries the answer.
    pub(super) fn expect(&self, request: RequestId, taken: Taken) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(request, taken);
    }

    /// Notes that the request gets no reply, because the client has given it up. Returns its answer.
    pub(super) fn give_up(&self, request: &RequestId) -> Option<Taken> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(request)
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
        let request = match &item {
            JsonRpcMessage::Response(response) => Some(response.id.clone()),
            _ => None,
        };
        let taken = request.and_then(|id| self.receipts.give_up(&id));
        let written = self.inner.send(item);
        async move {
            written.await?;
            if let Some(taken) = taken {
                let _ = tokio::task::spawn_blocking(|| taken.delivered()).await;
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
