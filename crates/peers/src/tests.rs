//! A machine that a unit test plays.

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use crate::peer::{Change, Peer, Problem, Progress, Stop};
use crate::remote_question::RemoteQuestion;
use askbox_mailbox::QuestionId;
use askbox_mailbox::address::HostName;
use askbox_mailbox::documents::offer::Offer;

/// Reports what comes through the channel. Its connection ends with the channel's `None`.
struct Played<F> {
    host: HostName,
    changes: Mutex<Receiver<Option<Change>>>,
    offered: F,
}

impl<F: Fn(&Offer) -> Progress + Send + Sync> Peer for Played<F> {
    fn name(&self) -> &str {
        self.host.as_str()
    }

    fn hosts(&self) -> Vec<HostName> {
        vec![self.host.clone()]
    }

    fn watch(&self, report: &dyn Fn(Change), stop: &Stop) -> Problem {
        let changes = self.changes.lock().unwrap();
        while !stop.is_set() {
            match changes.recv_timeout(Duration::from_millis(20)) {
                Ok(Some(change)) => report(change),
                Ok(None) => return Problem::passing("cut off", "wait"),
                Err(_) => {}
            }
        }
        Problem::passing("stopped", "")
    }

    fn offer(&self, _: &HostName, offer: &Offer, _: Duration) -> Progress {
        (self.offered)(offer)
    }
}

/// The machine `host`, with this reaction to offers.
pub(super) fn played(host: &str, offered: impl Fn(&Offer) -> Progress + Send + Sync + 'static) -> (Box<dyn Peer>, Sender<Option<Change>>) {
    let (sender, changes) = channel();
    (Box::new(Played { host: host.parse().unwrap(), changes: Mutex::new(changes), offered }), sender)
}

/// The connection broke: it is not known if the offer arrived.
pub(super) fn cut() -> Progress {
    Progress::Unconfirmed(Problem::passing("cut off", "wait"))
}

fn question(host: &HostName, id: QuestionId) -> Change {
    let text = r#"{"workflow_id":"w","question":"Which?","options":{"a":"A","b":"B"}}"#;
    Change::Question(Box::new(RemoteQuestion::read(host.clone(), "w".parse().unwrap(), id, text.as_bytes())))
}

/// The machine reports a list with this one round.
pub(super) fn list(changes: &Sender<Option<Change>>, host: &HostName, id: QuestionId) {
    for change in [Change::Begins(host.clone(), "1".into()), question(host, id), Change::Listed(host.clone())] {
        changes.send(Some(change)).unwrap();
    }
}
