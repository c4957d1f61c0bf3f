//! All peers. One thread for each keeps its connection, and what the threads report can be read without waiting for any of them.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use uuid::Uuid;

use crate::known::{Fate, HostView, KnownMachine};
use crate::peer::{Peer, Problem, Progress, Stop, StopsOnDrop, Unanswered};
use crate::remote_question::{Last, RemoteQuestion};
use crate::state::{PeersState, Way};
use crate::threads::{self, OFFERED_WITHIN, Shared};
use crate::{cache, ssh};
use askbox_config::Config;
use askbox_mailbox::{Caller, Error, HostName, Offer, QuestionId, Result, WorkflowId, thread};
use askbox_sessions::{Asked, Reply, Request};

/// How long to wait for a machine if an attempt to reach it failed a moment ago.
const SECOND_CHANCE: Duration = Duration::from_secs(1);
/// How long a machine may take to reply about its sessions.
const SESSIONS_WITHIN: Duration = Duration::from_secs(10);
/// How long the end waits for the threads, so that their last cache is written and their children are gone.
const ENDS_WITHIN: Duration = Duration::from_secs(1);

/// All peers. Dropping it ends their connections.
#[derive(Debug)]
pub struct Peers {
    shared: Arc<Shared>,
    stop: Option<StopsOnDrop>,
}

impl Peers {
    /// The peers of the configuration: see [`open`](Self::open).
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    pub fn of_configuration(config: &Config, wake: impl Fn() + Send + Sync + 'static) -> Result<Self> {
        let is_wanted = config.peers.values().any(|peer| !peer.ssh.is_empty() || !peer.postgres.is_empty());
        // Without the folder, the last known state is not shown, and each command opens its own connection.
        let folder = is_wanted.then(|| cache::folder().ok()).flatten();
        let mut peers = ssh::configured(&config.peers, folder.as_deref());
        #[cfg(feature = "sync")]
        peers.extend(crate::database::configured(config));
        #[cfg(not(feature = "sync"))]
        peers.extend(crate::without_database::configured(config));
        Self::open(peers, folder, wake)
    }

    /// Connects to all peers, each in a thread of its own. Until a machine answers, its last known state (in `folder`) is shown. `wake`
    /// is called, from any thread, after each change.
    ///
    /// # Errors
    /// If the system refuses a thread or a descriptor.
    pub fn open(peers: Vec<Box<dyn Peer>>, folder: Option<PathBuf>, wake: impl Fn() + Send + Sync + 'static) -> Result<Self> {
        let (stop, stops) = Stop::new()?;
        let mut state = PeersState::default();
        for (n, peer) in peers.iter().enumerate() {
            state.begin(n, peer.as_ref());
        }
        folder.iter().for_each(|folder| recall(&peers, folder, &mut state));
        let shared = Arc::new(Shared { peers, folder, state: Mutex::new(state), changed: Condvar::new(), wake: Box::new(wake) });
        for n in 0..shared.peers.len() {
            shared.lock().at_work += 1;
            let (theirs, stop) = (Arc::clone(&shared), stop.clone());
            let started = thread::start(move || {
                threads::keep_connected(&theirs, n, &stop);
                theirs.change(|state| state.at_work -= 1);
            });
            if let Err(e) = started {
                shared.lock().at_work -= 1;
                return Err(e);
            }
        }
        Ok(Self { shared, stop: Some(stops) })
    }

    /// True if there are no peers.
    pub fn is_empty(&self) -> bool {
        self.shared.peers.is_empty()
    }

    /// Every machine, by name, with what is known about it now.
    pub fn view(&self) -> Vec<HostView> {
        let state = self.shared.lock();
        state.hosts.iter().map(|(host, known)| known.view(host, self.shared.peers[known.peer].name())).collect()
    }

    /// The peers that report by themselves which machines they lead to, by name, and how each is reached.
    pub fn ways(&self) -> Vec<Way> {
        self.shared.lock().ways.values().cloned().collect()
    }

    /// The number of changes so far. As long as it stays the same, nothing has changed.
    pub fn revision(&self) -> u64 {
        self.shared.lock().revision
    }

    /// The question that waits for a workflow of a machine, as far as it is known.
    pub fn question(&self, host: &HostName, workflow: &WorkflowId) -> Option<Arc<RemoteQuestion>> {
        self.shared.lock().hosts.get(host)?.question(workflow)
    }

    /// The question of a workflow that was known to wait before the machine's last list, if that list no longer has it.
    pub fn earlier(&self, host: &HostName, workflow: &WorkflowId) -> Option<Arc<RemoteQuestion>> {
        self.shared.lock().hosts.get(host)?.earlier(workflow)
    }

    /// The end of a question that waited on a machine, if the machine has reported it.
    pub fn fate(&self, host: &HostName, workflow: &WorkflowId, round: QuestionId) -> Option<Fate> {
        self.shared.lock().hosts.get(host)?.fate(workflow, round)
    }

    /// Asks a machine how the last question of a workflow ended, for at most about `limit`.
    ///
    /// # Errors
    /// [`Problem`] if no peer leads to the machine, or if the machine does not answer.
    pub fn last(&self, host: &HostName, workflow: &WorkflowId, limit: Duration) -> Result<Option<Last>, Problem> {
        let peer = self.peer_of(host).map_err(|e| Problem::passing(e.to_string(), e.hint()))?;
        self.shared.peers[peer].last(host, workflow, limit)
    }

    /// Asks a machine about its sessions, or for something that is to be done with one. It may take ten seconds.
    ///
    /// # Errors
    /// [`Error::Conflict`] if this person may not. Another one if the machine refuses or does not reply.
    pub fn sessions(&self, host: &HostName, person: &Caller, request: Request) -> Result<Reply> {
        let (acts, asked) = (request.acts(), Asked::by(person, request)?);
        self.shared.peers[self.peer_of(host)?].sessions(host, &asked, SESSIONS_WITHIN).map_err(
            |Unanswered { problem, may_have_arrived }| {
                let but = if acts && may_have_arrived { ": it may have been done all the same" } else { "" };
                Error::failed(format!("{}{but}", problem.said), problem.hint)
            },
        )
    }

    fn peer_of(&self, host: &HostName) -> Result<usize> {
        self.shared.lock().hosts.get(host).map(|known| known.peer).ok_or_else(|| no_peer(host))
    }

    /// Waits until every machine was either heard or found unreachable, at most for `limit`. Machines that an attempt failed to reach a
    /// moment ago are hardly waited for.
    pub fn settle(&self, limit: Duration) {
        self.wait_until(SECOND_CHANCE.min(limit), |state| state.is_settled(KnownMachine::is_settled).then_some(()));
        let is_settled = |known: &KnownMachine| known.before.is_some() || known.is_settled();
        self.wait_until(limit.saturating_sub(SECOND_CHANCE), |state| state.is_settled(is_settled).then_some(()));
    }

    /// Waits until this process has reached each machine or has failed to reach it, at most for `limit`.
    pub fn settle_all(&self, limit: Duration) {
        self.wait_until(limit, |state| state.is_settled(KnownMachine::is_settled).then_some(()));
    }

    /// Waits until this machine was either heard or found unreachable, at most for `limit`.
    pub fn settle_with(&self, host: &HostName, limit: Duration) {
        let is_settled = |state: &PeersState| match state.hosts.get(host) {
            Some(known) => known.is_settled(),
            None => state.is_settled(|_| true),
        };
        self.wait_until(limit, |state| is_settled(state).then_some(()));
    }

    /// Offers an answer to a machine, in a thread of its own. [`progress`](Self::progress) then returns the result.
    ///
    /// # Errors
    /// [`Error::NotFound`] if no peer leads to the machine. Another error if the system refuses a thread.
    pub fn offer(&self, host: &HostName, offer: Offer) -> Result<()> {
        let peer = self.peer_of(host)?;
        let (shared, host) = (Arc::clone(&self.shared), host.clone());
        self.shared.lock().offers.begin(&host, &offer);
        let started = thread::start(move || {
            let progress = shared.peers[peer].offer(&host, &offer, OFFERED_WITHIN);
            shared.change(|state| state.offered(&host, offer, progress));
        });
        started.map(drop)
    }

    /// The state of an offer of this process, as far as it is known.
    pub fn progress(&self, offer: Uuid) -> Option<Progress> {
        self.shared.lock().offers.get(offer)
    }

    /// [`progress`](Self::progress), once the offer was sent or has failed, or after `limit`.
    pub fn sent(&self, offer: Uuid, limit: Duration) -> Progress {
        let sent = |state: &PeersState| state.offers.get(offer).filter(|progress| *progress != Progress::UnderWay);
        self.wait_until(limit, sent).unwrap_or(Progress::UnderWay)
    }

    /// [`progress`](Self::progress), once the offer is no longer under way, or after `limit`.
    pub fn outcome(&self, offer: Uuid, limit: Duration) -> Progress {
        let decided = |state: &PeersState| state.offers.get(offer).filter(|progress| !progress.is_open());
        self.wait_until(limit, decided).or_else(|| self.progress(offer)).unwrap_or(Progress::UnderWay)
    }

    /// The verdict about an offer, if it comes within `limit`. Offers that are made again count too.
    #[cfg(test)]
    pub(super) fn resolved(&self, offer: Uuid, limit: Duration) -> Option<Progress> {
        self.wait_until(limit, |state| state.offers.get(offer).filter(|progress| matches!(progress, Progress::Decided(_))))
    }

    fn wait_until<T>(&self, limit: Duration, found: impl Fn(&PeersState) -> Option<T>) -> Option<T> {
        let end = Instant::now() + limit;
        let mut state = self.shared.lock();
        loop {
            if let Some(found) = found(&state) {
                return Some(found);
            }
            let left = end.checked_duration_since(Instant::now())?;
            state = self.shared.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for Peers {
    fn drop(&mut self) {
        drop(self.stop.take());
        self.wait_until(ENDS_WITHIN, |state| (state.at_work == 0).then_some(()));
    }
}

/// The error for a machine's name that no peer leads to.
pub fn no_peer(host: &HostName) -> Error {
    Error::not_found(
        format!("no machine `{host}` is configured"),
        format!("write [peers.{host}] with ssh = \"HOST\" into the configuration, or see the machines with: askbox doctor"),
    )
}

/// Shows the state that the last process knew.
fn recall(peers: &[Box<dyn Peer>], folder: &Path, state: &mut PeersState) {
    for cached in cache::all(folder) {
        let Some(n) = peers.iter().position(|peer| peer.name() == cached.peer) else { continue };
        let hosts = peers[n].hosts();
        if !hosts.is_empty() && !hosts.contains(&cached.host) {
            continue;
        }
        let known = state.hosts.entry(cached.host.clone()).or_insert_with(|| KnownMachine::new(n));
        if known.peer == n {
            known.before = cached.unreached().cloned();
            known.recall(cached.as_of, cached.version.as_deref(), cached.left_out, cached.questions());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::known::Reach;
    use crate::peer::Change;
    use crate::tests::{cut, list, played};
    use askbox_mailbox::{Answer, AnswerValue, RoundId};

    #[test]
    fn an_unreached_machine_stays_seen_also_by_the_next_process() {
        let folder = tempfile::tempdir().unwrap();
        let (host, id) = ("build".parse::<HostName>().unwrap(), QuestionId::from_uuid(Uuid::now_v7()));
        let kept = Some(folder.path().to_path_buf());
        {
            let ((build, changes), (slow, _silent)) = (played("build", |_| cut()), played("slow", |_| cut()));
            let peers = Peers::open(vec![build, slow], kept.clone(), || {}).unwrap();
            list(&changes, &host, id);
            peers.wait_until(Duration::from_secs(20), |state| (state.hosts[&host].reach == Reach::Reachable).then_some(())).unwrap();
            let views = peers.view();
            assert_eq!((views[0].questions.len(), views[1].reach.clone()), (1, Reach::Connecting), "the slow one holds up nothing");
            changes.send(None).unwrap();
            let lost = |state: &PeersState| matches!(state.hosts[&host].reach, Reach::Unreachable { .. }).then_some(());
            peers.wait_until(Duration::from_secs(20), lost).unwrap();
            assert!(peers.question(&host, &"w".parse().unwrap()).is_some());
        }
        let (build, _changes) = played("build", |_| cut());
        let peers = Peers::open(vec![build], kept, || {}).unwrap();
        let view = peers.view().remove(0);
        assert!(view.is_stale() && view.as_of.is_some() && view.questions[0].round().unwrap().question == id, "{view:?}");
    }

    #[test]
    fn an_offer_whose_reply_was_lost_is_found_in_the_list() {
        let (host, id) = ("build".parse::<HostName>().unwrap(), QuestionId::from_uuid(Uuid::now_v7()));
        let (build, changes) = played("build", |_| cut());
        let peers = Peers::open(vec![build], None, || {}).unwrap();
        list(&changes, &host, id);
        let answer = Answer::value(AnswerValue::Text("a".into()), "ann", "inbox");
        let round = RoundId { workflow: "w".parse().unwrap(), question: id };
        let offer = Offer::new(&round, Uuid::nil(), None, answer, true);
        peers.offer(&host, offer.clone()).unwrap();
        assert!(matches!(peers.outcome(offer.offer_id, Duration::from_secs(20)), Progress::Unconfirmed(_)));
        let gone =
            |offer| Change::Gone { host: host.clone(), workflow: "w".parse().unwrap(), question: Some(id), fate: "answered".into(), offer };
        changes.send(Some(gone(Some(offer.offer_id)))).unwrap();
        let accepted = |state: &PeersState| matches!(state.offers.get(offer.offer_id), Some(Progress::Decided(_))).then_some(());
        peers.wait_until(Duration::from_secs(20), accepted).unwrap();
        assert_eq!(peers.fate(&host, &round.workflow, id).unwrap().offer, Some(offer.offer_id));
        assert!(peers.question(&host, &round.workflow).is_none());
    }
}
