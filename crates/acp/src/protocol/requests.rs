//! The requests of the agent that wait for a person: for a permission, and with a form.

use serde_json::Value;

use crate::protocol::envelope;
use crate::protocol::forms::WaitingForm;
use crate::protocol::permission::{self, Choice, WaitingCall};
use askbox_agent::stream::FormReply;

/// The most requests of each kind that wait at once. More are answered with `cancelled`.
const MOST: usize = 64;

/// The requests that wait.
#[derive(Debug, Default)]
pub(super) struct Requests {
    pub(super) calls: Vec<WaitingCall>,
    pub(super) forms: Vec<WaitingForm>,
}

impl Requests {
    /// True if one more request may wait. A reply names a request by its id alone, so two requests with one id must not wait at once.
    pub(super) fn has_room_for(&self, id: &str) -> bool {
        self.calls.len().max(self.forms.len()) < MOST && self.ids().all(|waiting| waiting != id)
    }

    fn ids(&self) -> impl Iterator<Item = &str> {
        self.calls.iter().map(|call| call.id.as_str()).chain(self.forms.iter().map(|form| form.id.as_str()))
    }

    /// Answers a request for a permission. Returns the line, and the choice that it makes. `None` if the request no longer waits.
    pub(super) fn decide(&mut self, id: &str, choice: Choice) -> Option<(String, Choice)> {
        let at = self.calls.iter().position(|call| call.id == id)?;
        Some(self.calls.remove(at).reply(choice, None))
    }

    /// Answers a form. Returns the line, and whether it says what it was to say. `None` if the form no longer waits.
    pub(super) fn reply_to_form(&mut self, id: &str, reply: &FormReply) -> Option<(String, bool)> {
        let at = self.forms.iter().position(|form| form.id == id)?;
        Some(self.forms.remove(at).reply(reply))
    }

    /// Answers all of them: nobody has decided.
    pub(super) fn cancel_all(&mut self) -> String {
        let calls = self.calls.drain(..).map(|call| permission::cancelled(&call.id));
        calls.chain(self.forms.drain(..).map(|form| form.reply(&FormReply::Cancel).0)).collect()
    }

    /// Drops the request that the agent takes back. Returns its id.
    pub(super) fn taken_back(&mut self, named: &Value) -> String {
        let id = self.ids().find(|id| envelope::names(named, id)).map_or_else(|| named.to_string(), str::to_owned);
        self.calls.retain(|call| call.id != id);
        self.forms.retain(|form| form.id != id);
        id
    }

    /// Drops all of them. Returns their ids.
    pub(super) fn drop_all(&mut self) -> Vec<String> {
        let ids = self.ids().map(str::to_owned).collect();
        *self = Self::default();
        ids
    }
}
