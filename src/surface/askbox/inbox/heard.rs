//! The news of other machines, and the question that is opened once its machine is heard.

use std::sync::Arc;

use crate::address::Address;
use crate::surface::askbox::inbox::sender::Others;
use crate::surface::askbox::inbox::sender::elsewhere::Elsewhere;

/// The news of other machines.
#[derive(Debug)]
pub struct Heard {
    /// What is known of other machines, as it is on the screen.
    pub now: Arc<Elsewhere>,
    /// The question that is to be open first.
    wanted: Option<Address>,
}

/// How the question stands that is to be open first.
#[derive(Debug)]
pub enum Wanted {
    /// Its machine is known to have it, or was asked in vain.
    Opens(Address),
    /// Its machine is being asked.
    Waits(Address),
}

impl Heard {
    pub fn new(others: &Others) -> Self {
        Self { now: others.latest(), wanted: None }
    }

    /// Returns the questions that came, went or changed; `None` if there is nothing else to see.
    pub fn follow(&mut self, others: &Others) -> Option<Vec<Address>> {
        let latest = others.latest();
        if Arc::ptr_eq(&latest, &self.now) {
            return None;
        }
        let before = std::mem::replace(&mut self.now, latest);
        Some(self.now.changes_since(&before))
    }

    /// A question of another machine is to be opened once that machine is heard.
    pub fn want(&mut self, address: &Address) {
        self.wanted = Some(address.clone());
    }

    /// The person does something else: no question opens by itself any more.
    pub fn want_nothing(&mut self) {
        self.wanted = None;
    }

    /// How the wanted question stands. It is no longer wanted once it can be opened.
    pub fn wanted(&mut self) -> Option<Wanted> {
        let address = self.wanted.take()?;
        let host = address.host.as_ref()?;
        if self.now.question(host, &address.workflow).is_some() || !self.now.is_asked(host) {
            return Some(Wanted::Opens(address));
        }
        self.wanted = Some(address.clone());
        Some(Wanted::Waits(address))
    }
}
