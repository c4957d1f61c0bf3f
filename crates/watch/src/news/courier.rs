//! The thread that looks for events, notifies the targets, and listens for replies.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::news::arrivals::{self, Kind};
use crate::news::buttons::{self, Cursor, Heard, Listener, Reply, ReplyKey};
use crate::news::desk::Desk;
use crate::news::message::Message;
use crate::news::note::Note;
use crate::news::post::{self, Place};
use crate::news::present::Present;
use crate::news::record::{EntryState, Ledger, NEWS_FOLDER};
use crate::news::terminals::{self, Terminals};
use crate::news::{means, wanted};
use crate::outgoing::call;
use askbox_config::{Config, Live, Notify, Target, targets};
use askbox_mailbox::disk::{self, Lock};
use askbox_mailbox::error::Result;
use askbox_mailbox::id::{RoundId, WorkflowId};
use askbox_mailbox::listing::list;
use askbox_mailbox::{Folder, Mailbox, thread, time};
use askbox_run::log;

/// The most programs that notify one target at the same time.
const AT_ONCE: usize = 4;
/// How long the end of the watcher waits for notifications that are being sent.
const LEAVE_WITHIN: Duration = Duration::from_secs(2);
/// How often to check if another watcher still notifies.
const ASK_EVERY: Duration = Duration::from_secs(5);
/// How long to listen for replies after the last card is gone. A person who presses a button twice, or too late, gets a message about it.
const FOLLOW_ON: Duration = Duration::from_secs(30);
/// The shortest time between two messages that say that a person's buttons of one question changed nothing.
const TOLD_LATE_EVERY: Duration = Duration::from_secs(60);
/// The most of these messages that wait until a program is free.
const UNTOLD: usize = 100;
/// The longest time between two passes.
const LONGEST_SLEEP: Duration = Duration::from_secs(60);

/// The courier as the watcher sees it.
#[derive(Debug, Default)]
pub struct Courier {
    thread: Option<(Sender<Note>, JoinHandle<()>)>,
    /// The values to start with, as long as the system has no thread for the courier.
    waiting: Option<Work>,
    retry_at: Option<Instant>,
}

impl Courier {
    /// Notifies the targets of the configuration, once [`Self::keep_at_work`] has started the thread.
    pub fn new(mailbox: &Mailbox, config: &Config) -> Self {
        let targets = targets(&config.notify, &config.target);
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

    /// When to call [`Self::keep_at_work`] again.
    pub fn deadline(&self) -> Option<Instant> {
        self.retry_at
    }

    /// Reports that something may have happened to this workflow.
    pub fn look(&self, workflow: &WorkflowId) {
        self.send(|| Note::Look(workflow.clone()));
    }

    /// Reports that anything may have happened.
    pub fn look_at_all(&self) {
        self.send(|| Note::LookAtAll);
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
    takes_replies: bool,
}

struct Office {
    mailbox: Mailbox,
    notify: Notify,
    terminals: Terminals,
    targets: BTreeMap<String, Target>,
    /// True if replies to messages count.
    takes_replies: bool,
    sender: Sender<Note>,
    desks: BTreeMap<String, Desk>,
    key: Option<ReplyKey>,
    /// When to look at a workflow again.
    dates: HashMap<WorkflowId, time::Time>,
    /// Held by the watcher that notifies.
    lock: Option<Lock>,
}

impl Office {
    fn new(work: Work, sender: Sender<Note>) -> Self {
        let Work { mailbox, notify, live, targets, takes_replies } = work;
        let (desks, dates, terminals) = (BTreeMap::new(), HashMap::new(), Terminals::new(live));
        Self { mailbox, notify, terminals, targets, takes_replies, sender, desks, key: None, dates, lock: None }
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
                    Note::Dialogs => {}
                    Note::Told(target, places, result) => self.told(&target, &places, result),
                    Note::Heard(target, heard, _ticket) => look.extend(self.hear(&target, heard)),
                    Note::Silent(target, why) => self.silent(&target, &why),
                    Note::Leave => leave_at = Some(Instant::now() + LEAVE_WITHIN),
                }
            }
            if let Some(end) = leave_at {
                let left = end.saturating_duration_since(Instant::now());
                if left.is_zero() || self.desks.values().all(|desk| desk.programs == 0) {
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
            self.lock = Lock::try_acquire(&self.mailbox.lock_file("news"))?;
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
        self.terminals.look(&self.mailbox, self.desks.values_mut())?;
        self.say_untold();
        let told = self.tell(time::now());
        self.listen();
        let until = |at: time::Time| (at - time::now()).to_std().unwrap_or_default();
        let dates = self.dates.values().copied().chain(told).map(until);
        let streams = self.desks.values().flat_map(|desk| [desk.listener.deadline(), desk.follow_until]).flatten();
        let streams = streams.map(|at| at.saturating_duration_since(Instant::now()));
        let longest = if self.terminals.polls() { ASK_EVERY } else { LONGEST_SLEEP };
        Ok(dates.chain(streams).fold(longest, Duration::min))
    }

    /// Reads the records of an earlier watcher.
    fn open(&mut self) -> Result<()> {
        disk::create_folder(&self.mailbox.root().join(NEWS_FOLDER))?;
        if self.takes_replies && self.targets.values().any(|target| !target.ntfy_replies.is_empty()) {
            self.key = Some(ReplyKey::of_mailbox(&self.mailbox)?);
        }
        for (name, target) in &self.targets {
            let ledger = Ledger::open(&self.mailbox, name)?;
            let mut target = target.clone();
            let has_no_buttons = !self.takes_replies && !target.ntfy_replies.is_empty();
            if has_no_buttons {
                target.ntfy_replies.clear();
            }
            let desk = Desk {
                target,
                has_no_buttons,
                ledger,
                busy: HashSet::new(),
                programs: 0,
                listener: Listener::default(),
                told_late: HashMap::new(),
                untold: Vec::new(),
                follow_until: None,
            };
            self.desks.insert(name.clone(), desk);
        }
        self.terminals.begin(&self.mailbox, &self.sender)
    }

    /// Every workflow that may have news for somebody.
    fn workflows(&self) -> Result<BTreeSet<WorkflowId>> {
        let mut all = BTreeSet::new();
        for folder in [Folder::Pending, Folder::Answered] {
            all.extend(list::workflows(&self.mailbox, folder)?);
        }
        for folder in [Folder::Running, Folder::Parked] {
            all.extend(list::round_names(&self.mailbox, folder).map(|round| round.workflow));
        }
        all.extend(self.desks.values().flat_map(|desk| desk.ledger.rounds().map(|round| round.workflow.clone())));
        Ok(all)
    }

    /// Brings the records of a workflow's rounds up to date.
    fn look(&mut self, workflow: &WorkflowId) -> Result<()> {
        let rounds_of = |desk: &Desk| {
            let rounds = desk.ledger.rounds_of(workflow).filter(|round| !terminals::is_one(&desk.ledger, round));
            rounds.cloned().collect::<Vec<_>>()
        };
        let known: BTreeSet<RoundId> = self.desks.values().flat_map(rounds_of).collect();
        let known: Vec<RoundId> = known.into_iter().collect();
        let found = wanted::facts_of_workflow(&self.mailbox, workflow, &known);
        let now = time::now();
        let mut next: Option<time::Time> = None;
        for desk in self.desks.values_mut() {
            for facts in &found {
                let mut date = None;
                desk.ledger.change(&facts.round, |record| {
                    let changed;
                    (changed, date) = wanted::apply_wanted(record, facts, &desk.target, &self.notify, now);
                    changed
                })?;
                next = [next, date].into_iter().flatten().min();
                if facts.is_over() && desk.ledger.get(&facts.round).is_some_and(|record| !record.is_open()) {
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
        let present = Present::look(&self.mailbox);
        let is_seen = |round: &RoundId| present.sees(&round.workflow);
        let mut next: Option<time::Time> = None;
        for (name, desk) in &mut self.desks {
            let free = AT_ONCE.saturating_sub(desk.programs);
            let busy = |round: &RoundId| desk.busy.iter().any(|(of, ..)| of == round);
            let (parcels, later) = post::due(&desk.ledger, &self.notify, &busy, &is_seen, free, now);
            next = [next, later].into_iter().flatten().min();
            for parcel in parcels {
                let sent = desk.send(&self.mailbox, &self.notify, name, self.key.as_ref(), parcel, &self.sender);
                if let Err(e) = sent {
                    log::error(&e);
                    let again = now + chrono::TimeDelta::seconds(5);
                    next = Some(next.map_or(again, |next| next.min(again)));
                }
            }
        }
        next
    }

    /// Records the result of the program that sent these events.
    fn told(&mut self, name: &str, places: &[Place], result: Result<(), String>) {
        let Some(desk) = self.desks.get_mut(name) else { return };
        desk.programs = desk.programs.saturating_sub(1);
        let noted = match &result {
            Ok(()) => arrivals::note(&self.mailbox, name, Kind::Sent, None),
            Err(problem) => {
                tracing::warn!("target {name}: {problem}");
                arrivals::note(&self.mailbox, name, Kind::Failed, Some(problem))
            }
        };
        let now = time::now();
        let changed = places.iter().try_for_each(|place| {
            desk.busy.remove(place);
            desk.change(place, |entry| match &result {
                Ok(()) => entry.state = EntryState::Sent,
                Err(problem) => entry.failed(problem, now),
            })
        });
        if let Err(e) = noted.and(changed) {
            log::error(&e);
        }
        // Its round may be over, or another event may follow.
        places.iter().for_each(|(round, ..)| drop(self.sender.send(Note::Look(round.workflow.clone()))));
    }

    /// Keeps those streams open that a reply can come through.
    fn listen(&mut self) {
        for (name, desk) in &mut self.desks {
            if !desk.target.ntfy_replies.is_empty() && desk.ledger.has_card() {
                desk.follow_until = Some(Instant::now() + FOLLOW_ON);
            }
            if desk.follow_until.is_none_or(|until| until <= Instant::now()) {
                desk.follow_until = None;
                desk.listener.close();
            } else if desk.listener.may_open() {
                let opened = Cursor::of_target(&self.mailbox, name).read().and_then(|since| {
                    let (hear, heard_by) = (self.sender.clone(), name.clone());
                    let (ended, ended_by) = (self.sender.clone(), name.clone());
                    let hear = move |heard, ticket| drop(hear.send(Note::Heard(heard_by.clone(), heard, ticket)));
                    desk.listener.open(&desk.target, &since, hear, move |why| drop(ended.send(Note::Silent(ended_by, why))))
                });
                if let Err(e) = opened {
                    log::error(&e);
                }
            }
        }
    }

    fn silent(&mut self, name: &str, why: &str) {
        let Some(desk) = self.desks.get_mut(name) else { return };
        desk.listener.ended();
        if desk.follow_until.is_some() {
            let error = buttons::broken(why);
            tracing::warn!("target {name}: {error}");
            let _ = arrivals::note(&self.mailbox, name, Kind::Failed, Some(&error.to_string()));
        }
    }

    /// Applies a reply. Returns the workflow that it is about.
    fn hear(&mut self, name: &str, heard: Heard) -> Option<WorkflowId> {
        let (desk, key) = (self.desks.get_mut(name)?, self.key.as_ref()?);
        desk.listener.works();
        let person = if desk.target.person.is_empty() { name } else { desk.target.person.as_str() };
        let reply = heard.reply;
        let applied = reply.as_ref().map(|reply| buttons::apply(&self.mailbox, key, name, person, reply));
        // Written only now, so that a reply that was not applied is read again.
        if let Err(e) = Cursor::of_target(&self.mailbox, name).write(&heard.cursor) {
            log::error(&e);
        }
        let workflow = reply.as_ref().map(|reply| reply.round.workflow.clone());
        match applied {
            Some(Ok(accepted)) => tracing::info!(event = "answered", workflow = %accepted.round.workflow, "by {person} through ntfy"),
            Some(Err(e)) => {
                tracing::warn!("target {name}: a reply changed nothing: {e}");
                self.say_too_late(name, &reply?, &e.to_string());
            }
            // Somebody else writes to the topic.
            None => {}
        }
        workflow
    }

    /// Tells the people whose message found no free program.
    fn say_untold(&mut self) {
        let untold: Vec<_> = self.desks.iter_mut().map(|(name, desk)| (name.clone(), std::mem::take(&mut desk.untold))).collect();
        for (name, untold) in untold {
            untold.iter().for_each(|(reply, error)| self.say_too_late(&name, reply, error));
        }
    }

    /// Tells the person that their button changed nothing. Only that person gets this message, and not again and again, because
    /// everybody who may write to the topic can write anything.
    fn say_too_late(&mut self, name: &str, reply: &Reply, error: &str) {
        let (Some(desk), Some(key)) = (self.desks.get_mut(name), &self.key) else { return };
        let round = &reply.round;
        desk.told_late.retain(|_, at| at.elapsed() < TOLD_LATE_EVERY);
        // Two people may press two buttons of one card. Only a true button is told, so a round has no more keys than options.
        let pressed = (round.clone(), reply.key.clone());
        if desk.told_late.contains_key(&pressed) {
            return;
        }
        let found = wanted::facts_of_workflow(&self.mailbox, &round.workflow, std::slice::from_ref(round));
        let Some(facts) = found.iter().find(|facts| facts.round == *round) else { return };
        if !key.made(name, reply, &facts.question) {
            return;
        }
        if desk.programs >= AT_ONCE {
            if desk.untold.len() < UNTOLD && desk.untold.iter().all(|(known, _)| known != reply) {
                desk.untold.push((reply.clone(), error.to_owned()));
            }
            return;
        }
        let before = facts.question.answer.as_ref().map(|answer| format!("It was {} before.", answer.said_by()));
        let text = before.unwrap_or_else(|| askbox_mailbox::text::excerpt(error, 200));
        let message = Message::plain(name, "too_late", &format!("{}: your button changed nothing", round.workflow), &text);
        let (sender, target) = (self.sender.clone(), name.to_owned());
        let started = means::call(&desk.target, &message, &[]).and_then(|call| {
            call::start(call, means::limit(&self.notify), move |result| drop(sender.send(Note::Told(target, Vec::new(), result))))
        });
        match started {
            Ok(()) => {
                desk.programs += 1;
                desk.told_late.insert(pressed, Instant::now());
            }
            Err(e) => log::error(&e),
        }
    }
}
