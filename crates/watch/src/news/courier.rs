//! The thread that looks for events, notifies the targets, and listens for replies.
//!
//! Answers that people give through a channel.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::news::arrivals::{self, Kind};
use crate::news::channel::Note;
use crate::news::channel::{Channel, Hear, Said};
use crate::news::desk::Desk;
use crate::news::lines::{ChannelAnswer, FromChannel};
use crate::news::post::Present;
use crate::news::post::{self, Place};
use crate::news::record::{EntryState, Ledger, NEWS_FOLDER};
use crate::news::sessions::{self, Sessions};
use crate::news::wanted;
use askbox_config::{Config, Live, Means, Notify, Target, targets};
use askbox_mailbox::{
    Accepted, AnswerValue, Below, Caller, Decision, Error, Folder, Lock, Mailbox, On, Result, RoundId, Through, WorkflowId, accept, disk,
    list, round, text, thread, time,
};
use askbox_run::log;

/// How long the end of the watcher waits for notifications that are being sent.
const LEAVE_WITHIN: Duration = Duration::from_secs(2);
/// How often to check if another watcher still notifies.
const ASK_EVERY: Duration = Duration::from_secs(5);
/// The longest time between two passes.
const LONGEST_SLEEP: Duration = Duration::from_secs(60);

/// The courier as the watcher sees it.
#[derive(Debug, Default)]
pub struct Courier {
    thread: Option<(Sender<Note>, JoinHandle<()>)>,
    /// The values to start with, as long as the system has no thread for the courier.
    waiting: Option<Work>,
    pub(crate) retry_at: Option<Instant>,
}

impl Courier {
    /// Notifies the targets of the configuration, once [`Self::keep_at_work`] has started the thread.
    pub fn new(mailbox: &Mailbox, config: &Config) -> Self {
        let targets = targets(&config.target);
        let takes_replies = config.answers.takes_replies();
        let waiting = (!targets.is_empty()).then(|| Work {
            mailbox: mailbox.clone(),
            notify: config.notify.clone(),
            live: config.live.clone(),
            targets,
            takes_replies,
        });
        Self { thread: None, waiting, retry_at: None }
    }

    /// Starts the thread, if there is a target. If the system has no thread to spare, it is tried again later.
    pub fn keep_at_work(&mut self) {
        let Some(work) = &self.waiting else { return };
        if self.retry_at.is_some_and(|at| at > Instant::now()) {
            return;
        }
        let (sender, notes) = mpsc::channel();
        let office = Office::new(work.clone(), sender.clone());
        match thread::start(move || office.run(&notes)) {
            Ok(thread) => (self.thread, self.waiting, self.retry_at) = (Some((sender, thread)), None, None),
            Err(e) => {
                log::error(&e);
                self.retry_at = Some(Instant::now() + ASK_EVERY);
            }
        }
    }

    /// Reports that something may have happened to this workflow.
    pub fn look(&self, workflow: &WorkflowId) {
        self.send(|| Note::Look(workflow.clone()));
    }

    /// Reports that anything may have happened.
    pub fn look_at_all(&self) {
        self.send(|| Note::LookAtAll);
    }

    /// Reports that a prompt may have come further.
    pub fn look_at_prompts(&self) {
        self.send(|| Note::Sessions);
    }

    fn send(&self, note: impl FnOnce() -> Note) {
        if let Some((sender, _)) = &self.thread {
            let _ = sender.send(note());
        }
    }
}

impl Drop for Courier {
    fn drop(&mut self) {
        if let Some((sender, thread)) = self.thread.take() {
            let _ = sender.send(Note::Leave);
            let _ = thread.join();
        }
    }
}

/// The values for a courier.
#[derive(Debug, Clone)]
struct Work {
    mailbox: Mailbox,
    notify: Notify,
    live: Live,
    targets: BTreeMap<String, Target>,
    /// True if replies to messages count.
    takes_replies: bool,
}

struct Office {
    work: Work,
    sessions: Sessions,
    sender: Sender<Note>,
    desks: BTreeMap<String, Desk>,
    /// When to look at a workflow again.
    dates: HashMap<WorkflowId, time::Time>,
    /// Held by the watcher that notifies.
    lock: Option<Lock>,
}

impl Office {
    fn new(work: Work, sender: Sender<Note>) -> Self {
        let (desks, dates, sessions) = (BTreeMap::new(), HashMap::new(), Sessions::new(work.live.clone(), &work.notify, &work.targets));
        Self { work, sessions, sender, desks, dates, lock: None }
    }

    fn run(mut self, notes: &Receiver<Note>) {
        let mut wait = Duration::ZERO;
        let mut leave_at: Option<Instant> = None;
        // If a pass fails, on a full disk for example, it has not seen everything.
        let mut look_again = false;
        loop {
            let first = match notes.recv_timeout(wait) {
                Ok(note) => Some(note),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            let (mut look, mut look_at_all) = (BTreeSet::new(), false);
            for note in first.into_iter().chain(notes.try_iter()) {
                match note {
                    Note::Look(workflow) => drop(look.insert(workflow)),
                    Note::LookAtAll => look_at_all = true,
                    // Each pass looks at them.
                    Note::Sessions => {}
                    Note::Said(target, said) => look.extend(self.hear(&target, said)),
                    Note::Leave => leave_at = Some(Instant::now() + LEAVE_WITHIN),
                }
            }
            if let Some(end) = leave_at {
                let left = end.saturating_duration_since(Instant::now());
                if left.is_zero() || self.desks.values().all(|desk| desk.channel.busy().next().is_none()) {
                    return;
                }
                wait = left;
                continue;
            }
            let passed = self.pass(look, look_at_all || look_again);
            look_again = passed.is_err();
            wait = passed.unwrap_or_else(|e| {
                log::error(&e);
                ASK_EVERY
            });
        }
    }

    /// Looks, notifies, listens. Returns how long the thread can sleep.
    fn pass(&mut self, mut look: BTreeSet<WorkflowId>, mut look_at_all: bool) -> Result<Duration> {
        if self.lock.is_none() {
            self.lock = Lock::try_acquire(&self.work.mailbox.lock_file("news"))?;
            if self.lock.is_none() {
                return Ok(ASK_EVERY);
            }
            if let Err(e) = self.open() {
                // The next pass tries again.
                self.lock = None;
                return Err(e);
            }
            look_at_all = true;
        }
        if look_at_all {
            look = self.workflows()?;
        }
        let now = time::now();
        look.extend(self.dates.iter().filter(|(_, at)| **at <= now).map(|(workflow, _)| workflow.clone()));
        for workflow in look {
            self.look(&workflow)?;
        }
        self.sessions.look(&self.work.mailbox, self.desks.values_mut())?;
        let told = self.tell(time::now());
        for (name, desk) in &mut self.desks {
            log::ok(desk.channel.keep(desk.waiting(), hear(&self.sender, name)));
        }
        let until = |at: time::Time| (at - time::now()).to_std().unwrap_or_default();
        let dates = self.dates.values().copied().chain(told).map(until);
        let channels = self.desks.values().filter_map(|desk| desk.channel.deadline(desk.waiting()));
        let channels = channels.map(|at| at.saturating_duration_since(Instant::now()));
        let longest = if self.sessions.polls() { ASK_EVERY } else { LONGEST_SLEEP };
        Ok(dates.chain(channels).fold(longest, Duration::min))
    }

    /// Reads the records of an earlier watcher.
    fn open(&mut self) -> Result<()> {
        disk::create_folder(&self.work.mailbox.root().join(NEWS_FOLDER))?;
        for (name, target) in &self.work.targets {
            let ledger = Ledger::open(&self.work.mailbox, name)?;
            let channel = Channel::new(&self.work.mailbox, &self.work.notify, name, target);
            let (name, target, takes_replies) = (name.clone(), target.clone(), self.work.takes_replies);
            self.desks.insert(name.clone(), Desk { name, target, ledger, channel, takes_replies });
        }
        self.sessions.begin(&self.work.mailbox, &self.sender)
    }

    /// Every workflow that may have news for somebody.
    fn workflows(&self) -> Result<BTreeSet<WorkflowId>> {
        let mut all = BTreeSet::new();
        for folder in [Folder::Pending, Folder::Answered] {
            all.extend(list::workflows(&self.work.mailbox, folder)?);
        }
        for folder in [Folder::Running, Folder::Parked] {
            all.extend(list::round_names(&self.work.mailbox, folder).map(|round| round.workflow));
        }
        all.extend(self.desks.values().flat_map(|desk| desk.ledger.records.keys().map(|round| round.workflow.clone())));
        Ok(all)
    }

    /// Brings the records of a workflow's rounds up to date.
    fn look(&mut self, workflow: &WorkflowId) -> Result<()> {
        let rounds_of = |desk: &Desk| {
            let rounds = desk.ledger.rounds_of(workflow).filter(|round| !sessions::is_one(&desk.ledger, round));
            rounds.cloned().collect::<Vec<_>>()
        };
        let known: BTreeSet<RoundId> = self.desks.values().flat_map(rounds_of).collect();
        let known: Vec<RoundId> = known.into_iter().collect();
        let found = wanted::facts_of_workflow(&self.work.mailbox, workflow, &known);
        let now = time::now();
        let mut next: Option<time::Time> = None;
        for desk in self.desks.values_mut() {
            for facts in &found {
                let mut date = None;
                desk.ledger.change(&facts.round, |record| {
                    let changed;
                    (changed, date) = wanted::apply_wanted(record, facts, &desk.target, &self.work.notify, now);
                    changed
                })?;
                next = [next, date].into_iter().flatten().min();
                if facts.is_over() && desk.ledger.records.get(&facts.round).is_some_and(|record| !record.is_open()) {
                    desk.ledger.forget(&facts.round)?;
                }
            }
            // A round that is not in any folder was pruned, or its files were taken away.
            let gone: Vec<_> = known.iter().filter(|round| found.iter().all(|facts| facts.round != **round)).collect();
            for round in gone {
                desk.ledger.forget(round)?;
            }
        }
        match next {
            Some(at) => self.dates.insert(workflow.clone(), at),
            None => self.dates.remove(workflow),
        };
        Ok(())
    }

    /// Sends what is due. Returns when something else will be.
    fn tell(&mut self, now: time::Time) -> Option<time::Time> {
        let present = Present::look(&self.work.mailbox);
        let is_seen = |round: &RoundId| present.sees(&round.workflow);
        let (mut next, mut untold): (Option<time::Time>, Vec<_>) = (None, Vec::new());
        for (name, desk) in &mut self.desks {
            desk.channel.end_overdue();
            let busy = |round: &RoundId| desk.channel.busy().any(|(of, ..)| of == round);
            let (parcels, later) = post::due(&desk.ledger, &self.work.notify, &busy, &is_seen, desk.channel.free(), now);
            next = [next, later].into_iter().flatten().min();
            for parcel in parcels {
                match desk.send(&self.work.mailbox, parcel, hear(&self.sender, name)) {
                    Ok(None) => {}
                    Ok(Some((places, problem))) => untold.push((name.clone(), places, problem)),
                    Err(e) => {
                        log::error(&e);
                        let again = now + chrono::TimeDelta::seconds(5);
                        next = Some(next.map_or(again, |next| next.min(again)));
                    }
                }
            }
        }
        untold.into_iter().for_each(|(name, places, problem)| self.told(&name, &places, Some(&problem)));
        next
    }

    /// Records what became of these events.
    fn told(&mut self, name: &str, places: &[Place], problem: Option<&str>) {
        let Some(desk) = self.desks.get_mut(name) else { return };
        let noted = note(&self.work.mailbox, name, problem);
        let now = time::now();
        let changed = places.iter().try_for_each(|place| {
            desk.change(place, |entry| match problem {
                None => entry.state = EntryState::Sent,
                Some(problem) => entry.failed(problem, now),
            })
        });
        log::ok(noted.and(changed));
        // Its round may be over, or another event may follow.
        places.iter().for_each(|(round, ..)| drop(self.sender.send(Note::Look(round.workflow.clone()))));
    }

    /// Takes what came from a channel. Returns the workflow that was answered.
    fn hear(&mut self, name: &str, said: Said) -> Option<WorkflowId> {
        let desk = self.desks.get_mut(name)?;
        match said {
            Said::Ended(number, status) => {
                let (places, problem) = desk.channel.ended(number, &status)?;
                self.told(name, &places, Some(&problem));
            }
            Said::Line(FromChannel::Receipt(receipt), _) => {
                let places = desk.channel.take(&receipt)?;
                self.told(name, &places, receipt.problem.as_deref());
            }
            Said::Line(FromChannel::Problem(problem), _) => {
                note(&self.work.mailbox, name, Some(&problem)).unwrap_or_else(|e| log::error(&e))
            }
            Said::Line(FromChannel::Answer(answer), _ticket) => return Some(self.answer(name, answer)),
        }
        None
    }

    /// Gives a person's answer, and tells the channel what became of it.
    fn answer(&mut self, name: &str, answer: ChannelAnswer) -> WorkflowId {
        if let Some(desk) = self.desks.get_mut(name) {
            let problem = match apply(&self.work.mailbox, name, &desk.target, &answer) {
                Ok(accepted) => {
                    tracing::info!(event = "answered", workflow = %accepted.round.workflow, "through target {name}");
                    None
                }
                Err(e) => {
                    tracing::warn!("target {name}: a reply changed nothing: {e}");
                    Some(refusal(&self.work.mailbox, &answer, &e))
                }
            };
            desk.channel.receipt(answer.id, problem).unwrap_or_else(|e| log::error(&e));
        }
        answer.workflow_id
    }
}

/// Records for people who look whether a target was reached.
fn note(mailbox: &Mailbox, name: &str, problem: Option<&str>) -> Result<()> {
    if let Some(problem) = problem {
        tracing::warn!("target {name}: {problem}");
    }
    arrivals::note(mailbox, name, if problem.is_some() { Kind::Failed } else { Kind::Sent }, problem)
}

/// What to do with everything that comes from a target's channel.
fn hear(sender: &Sender<Note>, name: &str) -> impl Hear {
    let (sender, name) = (sender.clone(), name.to_owned());
    move |said| drop(sender.send(Note::Said(name.clone(), said)))
}

/// Answers the round that a notice showed, in the name of the target's person. Its hash proves that the person saw this question.
///
/// # Errors
/// [`Error::Invalid`] if the value does not fit. [`Error::Conflict`] and [`Error::NotFound`] if it came too late, if the question is another
/// one now, or if it asks for a permission.
fn apply(mailbox: &Mailbox, name: &str, target: &Target, answer: &ChannelAnswer) -> Result<Accepted> {
    let person = if target.person.is_empty() { name } else { target.person.as_str() };
    let channel = if matches!(target.means(), Some(Means::Ntfy(_))) { "ntfy" } else { "channel" };
    let caller = Caller::new(person, channel, Through::Message, Below::NoAgent)?;
    let on = On::Shown(answer.question_id, answer.shown.parse()?);
    let answered = accept::answer_pending(mailbox, &answer.workflow_id, Decision::by(&caller, on), |_| {
        Ok(caller.value(AnswerValue::Text(answer.value.clone())))
    })?;
    answered.ok_or_else(|| Error::not_found(format!("{} waits for no answer", answer.workflow_id), "see: ask-answer list"))
}

/// The reason why an answer changed nothing, for its person.
fn refusal(mailbox: &Mailbox, answer: &ChannelAnswer, error: &Error) -> String {
    let id = RoundId { workflow: answer.workflow_id.clone(), question: answer.question_id };
    let question = round::find(mailbox, &id).map(|found| found.document.typed);
    let before = question.and_then(|question| question.answer.map(|answer| format!("It was {} before.", answer.said_by())));
    before.unwrap_or_else(|| text::excerpt(&error.to_string(), 200))
}
