//! Other machines: their questions beside those of this one, and the answers that this page has offered to them. Nothing here waits for a
//! machine, and no offer is called an answer before its machine has accepted it.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use uuid::Uuid;

use crate::address::HostName;
use crate::config::Config;
use crate::error::Result;
use crate::id::RoundId;
use crate::mailbox::Answer;
use crate::mailbox::documents::checks::check_answer::{self, Given};
use crate::mailbox::who::caller::Caller;
use crate::peers::collection::no_peer;
use crate::peers::known::HostView;
use crate::peers::{Peers, Progress, RemoteQuestion};
use crate::surface::askbox::machines::{self, answer, undecided};
use crate::surface::askbox::web::changes::Changes;
use crate::surface::askbox::web::index::{self, Row};
use crate::surface::person::decision::Decision;
use crate::{text, thread};

/// How long the reports of machines are gathered before pages are told.
const GATHERED: Duration = Duration::from_millis(150);
/// How many offers are remembered.
const REMEMBERED: usize = 500;

type Rows = Arc<Vec<Arc<Row>>>;

/// The other machines.
#[derive(Debug)]
pub struct Elsewhere {
    peers: Arc<Peers>,
    offered: Arc<Mutex<VecDeque<Offered>>>,
    /// The rows, and of which state of the machines they are.
    rows: Mutex<Option<(u64, Rows)>>,
}

/// An answer that was offered from this page.
#[derive(Debug, Clone)]
pub struct Offered {
    /// Its offer.
    pub id: Uuid,
    /// The machine.
    pub host: HostName,
    /// The round there.
    pub round: RoundId,
    /// The question in one line.
    pub title: String,
    /// The answer.
    pub answer: Answer,
    /// What was chosen and what was written, for a person whose answer was not accepted.
    pub chosen: String,
    /// See above.
    pub written: String,
}

impl Offered {
    /// What was answered.
    pub fn said(&self) -> String {
        match &self.answer.value {
            Some(value) => text::printable(&value.to_text()),
            None => self.answer.word().to_owned(),
        }
    }
}

impl Elsewhere {
    /// The machines of the configuration. The pages are told of their changes.
    ///
    /// # Errors
    /// If the system refuses a thread or a descriptor.
    pub fn start(config: &Config, changes: Changes) -> Result<Self> {
        let (wake, woken) = sync_channel(1);
        let peers = Arc::new(Peers::of_configuration(config, move || {
            // One that waits to be taken says the same.
            let _ = wake.try_send(());
        })?);
        let offered = Arc::<Mutex<VecDeque<Offered>>>::default();
        if !peers.is_empty() {
            let (peers, offered) = (Arc::downgrade(&peers), Arc::clone(&offered));
            thread::start(move || {
                let mut told = 0;
                while woken.recv().is_ok() {
                    std::thread::sleep(GATHERED);
                    let Some(peers) = peers.upgrade() else { return };
                    // A machine says every few seconds that it is there. That alone is nothing to tell.
                    let now = fingerprint(&peers, &locked(&offered));
                    if now != told {
                        changes.tell_all();
                        told = now;
                    }
                }
            })?;
        }
        Ok(Self { peers, offered, rows: Mutex::default() })
    }

    /// Whether there is no other machine.
    pub fn is_nobody(&self) -> bool {
        self.peers.is_empty()
    }

    /// The questions that wait there.
    pub fn rows(&self) -> Rows {
        if self.peers.is_empty() {
            return Arc::default();
        }
        let mut rows = locked(&self.rows);
        let now = self.peers.revision();
        // What was known before this page is shown before any machine has reported.
        if let Some((_, known)) = rows.as_ref().filter(|(of, _)| *of == now) {
            return Arc::clone(known);
        }
        let views = self.peers.view();
        let all = views.iter().flat_map(|view| {
            let there = Arc::new(index::Elsewhere { host: view.host.clone(), is_away: view.is_stale(), as_of: view.as_of });
            view.questions.iter().map(move |question| Arc::new(row(&there, view, question)))
        });
        let all = Arc::new(all.collect());
        *rows = Some((now, Arc::clone(&all)));
        all
    }

    /// What is to be known of machines that are not reached, or have more questions than are kept here.
    pub fn notes(&self) -> Vec<String> {
        let ways = self.peers.ways().into_iter().filter_map(|view| machines::silence(&view.name, &view.way.reach));
        let hosts = self.peers.view().into_iter().flat_map(|view| {
            let more = (view.left_out > 0).then(|| format!("{} has {} more questions than are shown here", view.host, view.left_out));
            [machines::staleness(&view), machines::no_mailbox(&view), more].into_iter().flatten()
        });
        ways.chain(hosts).collect()
    }

    /// The machine with this name.
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::error::Error::NotFound) if no peer leads to it.
    pub fn machine(&self, host: &HostName) -> Result<HostView> {
        self.peers.view().into_iter().find(|view| view.host == *host).ok_or_else(|| no_peer(host))
    }

    /// The question that waits there for a workflow, as far as it is known.
    pub fn question(&self, host: &HostName, round: &RoundId) -> Option<Arc<RemoteQuestion>> {
        self.peers.question(host, &round.workflow)
    }

    /// What became of a round there, in its machine's words, if that was heard.
    pub fn fate(&self, host: &HostName, round: &RoundId) -> Option<String> {
        self.peers.fate(host, &round.workflow, round.question).map(|fate| fate.said.excerpt(300))
    }

    /// The last answer that this page has offered for a round, and what came of it.
    pub fn offered(&self, host: &HostName, round: &RoundId) -> Option<(Offered, Progress)> {
        let last = locked(&self.offered).iter().rev().find(|offered| offered.host == *host && offered.round == *round).cloned()?;
        let progress = self.peers.progress(last.id).unwrap_or(Progress::UnderWay);
        Some((last, progress))
    }

    /// The answers that this page has offered, the newest first, and what came of them.
    pub fn all_offered(&self) -> Vec<(Offered, Progress)> {
        let all: Vec<_> = locked(&self.offered).iter().rev().cloned().collect();
        let progress = |id| self.peers.progress(id).unwrap_or(Progress::UnderWay);
        all.into_iter().map(|offered| (offered.clone(), progress(offered.id))).collect()
    }

    /// Offers what a device decided about a question of another machine. What was filled in is kept until its machine has decided.
    ///
    /// # Errors
    /// [`Error::Failed`](crate::error::Error::Failed) if the machine takes no offers now; [`Error::Invalid`](crate::error::Error::Invalid) if the value does not fit.
    pub fn offer(&self, question: &RemoteQuestion, decision: Decision, person: &Caller, draft: (String, String)) -> Result<()> {
        let host = &question.host;
        let view = self.machine(host)?;
        machines::may_take_offers(&view)?;
        let (round, asked) = (answer::as_round(question)?, answer::asked(question)?);
        let typed = &round.document.typed;
        person.may_decide(typed)?;
        // Words that are close to an option were asked back already.
        let given = check_answer::check(typed, decision.given_by(person), Given::InOwnWords)?;
        let same =
            |offered: &Offered| offered.answer.value == given.value && offered.answer.note == given.note && offered.answer.by == given.by;
        if let Some((offered, progress)) = self.offered(host, &round.id)
            && same(&offered)
            && progress.is_open()
        {
            // A browser that heard no reply sends its form once more.
            return Ok(());
        }
        let offer = asked.offer(person, given.clone(), true)?;
        let title = text::excerpt(&typed.title(), 300);
        let (chosen, written) = draft;
        {
            let mut all = locked(&self.offered);
            all.push_back(Offered {
                id: offer.offer_id,
                host: host.clone(),
                round: round.id.clone(),
                title,
                answer: given,
                chosen,
                written,
            });
            if all.len() > REMEMBERED {
                all.pop_front();
            }
        }
        self.peers.offer(host, offer)
    }
}

fn row(there: &Arc<index::Elsewhere>, view: &HostView, question: &RemoteQuestion) -> Row {
    let id = question.address().to_string();
    let row = match &question.asked {
        Ok(asked) => Row::of(id, &asked.document.typed, Some(asked.question)),
        Err(why) => Row::unreadable(id, format!("unreadable: {}", why.excerpt(200))),
    };
    let sent_by = row.question.and_then(|round| undecided::first_sender(view, round));
    Row { elsewhere: Some(Arc::clone(there)), sent_by, ..row }
}

/// Changes when there is something to show.
fn fingerprint(peers: &Peers, offered: &VecDeque<Offered>) -> u64 {
    let mut hasher = DefaultHasher::new();
    for view in peers.view() {
        (view.host.as_str(), format!("{:?} {:?}", view.reach, view.no_mailbox), view.left_out).hash(&mut hasher);
        view.undecided.iter().for_each(|sent| sent.offer.hash(&mut hasher));
        for question in &view.questions {
            question.workflow.as_str().hash(&mut hasher);
            question.asked.as_ref().ok().map(|asked| (asked.question.to_string(), asked.hash)).hash(&mut hasher);
        }
    }
    for offered in offered {
        format!("{:?}", peers.progress(offered.id)).hash(&mut hasher);
    }
    hasher.finish()
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
