//! The loop of a host's process.
//!
//! A signal ends the process as a kill does, because nothing in it needs an orderly end. A failure is tried again with growing pauses. The
//! process ends only if it is fenced, if the database has another version, or if the mailbox is gone.
//!
//! The host decides the offers by [`offered::apply`], as for every answer from another machine. The database says which role sent the
//! offer, and that role is shown besides the name that the sender wrote.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use postgres::{Client, Statement};
use uuid::Uuid;

use crate::sync::connection::Database;
use crate::sync::host::epoch::{self, Epoch};
use crate::sync::host::look::{Changes, Look};
use crate::sync::host::state::{self, Failing, HostState, Refused};
use crate::sync::host::store::{self, Failure, StoredOffer};
use crate::sync::migrate;
use askbox_config::Sync;
use askbox_mailbox::transitions::offered;
use askbox_mailbox::{
    Below, Decided, Error, Folder, FolderWatch, Lock, Mailbox, Offer, Policy, Result, Verdict, caller, document, text, time,
};

/// The time between two signs of life of a host that does nothing else.
pub const HEARTBEAT: Duration = Duration::from_secs(30);
/// The shortest pause between two looks, however much happens.
const CALM: Duration = Duration::from_millis(100);
/// The looks at all files take this part of the time: a thousandth.
const SELDOM: u32 = 1000;
/// How long to expect offers after the last question is over: somebody may still see it.
const LATE_OFFERS: Duration = Duration::from_secs(60);
/// The pauses after a failure.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// The options of the start.
#[derive(Debug, Clone, Copy, Default)]
pub struct Start {
    /// End once everything that can be is reported and decided.
    pub once: bool,
    /// Become the host even if another mailbox is the host.
    pub take_over: bool,
}

/// Runs until another mailbox is the host; with [`Start::once`], for one look. `ready` is called when the host has begun.
///
/// # Errors
/// [`Error::Conflict`] if another process serves this mailbox, another mailbox is the host, or the database is of another version. With
/// `once`, every failure.
pub fn run(mailbox: &Mailbox, settings: &Sync, start: Start, policy_now: PolicyNow<'_>, ready: &dyn Fn(&Database, &Epoch)) -> Result<()> {
    let database = Database::at(&settings.database, &settings.root_certificate)?;
    let held = || Error::conflict("another askbox sync runs on this mailbox", "one is enough; end the other one first");
    let _lock = Lock::try_acquire(&state::lock_file(mailbox))?.ok_or_else(held)?;
    let mut host = Host::new(mailbox, &database, start.take_over, policy_now);
    host.sessions = settings.sessions && !start.once;
    let watch = watch(mailbox);
    loop {
        let begun = Instant::now();
        let is_new = host.epoch.is_none();
        let result = host.turn();
        if let (true, Some(epoch)) = (is_new, &host.epoch) {
            ready(&database, epoch);
        }
        match (result, start.once) {
            (Err(Failure::Fenced), _) => return Err(epoch::fenced(&database, mailbox)),
            (Err(Failure::Failed(e)), once) if once || matches!(e, Error::Conflict { .. }) => return Err(e),
            (Err(Failure::Failed(e)), _) => host.failed(&e),
            (Ok(more), true) => {
                if !more && !host.look.as_ref().is_some_and(Look::is_unsure) {
                    return Ok(());
                }
            }
            (Ok(more), false) => {
                let calm = CALM.max(begun.elapsed() * 2);
                std::thread::sleep(if more { Duration::ZERO } else { calm });
                let rest = match (more, &watch) {
                    (true, _) => Duration::ZERO,
                    (false, Some(_)) if host.last_open.elapsed() > LATE_OFFERS => host.until_heartbeat(),
                    (false, _) => jittered(settings.poll.0).saturating_sub(calm),
                };
                // Without file events, anything may have changed.
                host.may_have_changed = match &watch {
                    Some(watch) => watch.changed_within(rest),
                    None => {
                        std::thread::sleep(rest);
                        true
                    }
                };
            }
        }
        mailbox.check_in_place()?;
    }
}

/// A random time of three to four quarters of `poll`, so that a thousand hosts that started together do not ask the database together.
fn jittered(poll: Duration) -> Duration {
    let [one, other, ..] = Uuid::new_v4().into_bytes();
    let dice = f64::from(u16::from_le_bytes([one, other])) / f64::from(u16::MAX);
    poll.mul_f64(0.75 + 0.25 * dice)
}

/// Watches for file events, which are hints. Without them a new question is reported with the next poll.
fn watch(mailbox: &Mailbox) -> Option<FolderWatch> {
    let mut watch = FolderWatch::new(&mailbox.folder(Folder::Pending)).ok()?;
    for folder in [Folder::Answered, Folder::Running, Folder::Parked] {
        watch.add(&mailbox.folder(folder)).ok()?;
    }
    Some(watch)
}

struct Host<'a> {
    mailbox: &'a Mailbox,
    database: &'a Database,
    take_over: bool,
    /// True if it replies about its sessions.
    sessions: bool,
    policy_now: PolicyNow<'a>,
    client: Option<Client>,
    epoch: Option<Epoch>,
    look: Option<Look>,
    /// The statement that reads offers, of this connection.
    offers: Option<Statement>,
    state: HostState,
    /// When the host last wrote its sign of life.
    written: Option<Instant>,
    pause: Duration,
    /// The offers that could not be decided, and are in the log already.
    deferred: HashSet<Uuid>,
    /// When a question was last open.
    last_open: Instant,
    /// When to look at all files again, though nothing says that one has changed.
    next_look: Option<Instant>,
    /// True if a file may have changed since the last look.
    may_have_changed: bool,
}

impl<'a> Host<'a> {
    fn new(mailbox: &'a Mailbox, database: &'a Database, take_over: bool, policy_now: PolicyNow<'a>) -> Self {
        let state =
            HostState { database: database.shown.clone(), accepted: 0, failing: None, ..HostState::read(mailbox).unwrap_or_default() };
        let deferred = HashSet::new();
        Self {
            mailbox,
            database,
            take_over,
            sessions: false,
            policy_now,
            client: None,
            epoch: None,
            look: None,
            offers: None,
            state,
            written: None,
            pause: FIRST_PAUSE,
            deferred,
            last_open: Instant::now(),
            next_look: None,
            may_have_changed: true,
        }
    }

    fn until_heartbeat(&self) -> Duration {
        self.written.map_or(Duration::ZERO, |at| HEARTBEAT.saturating_sub(at.elapsed()))
    }

    /// Looks at the mailbox and at the offers once. Returns whether more offers may wait. A connection that failed is given up.
    fn turn(&mut self) -> Result<bool, Failure> {
        let mut client = if let Some(client) = self.client.take() { client } else { self.connect()? };
        let more = self.exchange(&mut client)?;
        self.client = Some(client);
        self.pause = FIRST_PAUSE;
        if self.state.failing.take().is_some() {
            self.note();
            tracing::info!(event = "sync", "the database {} is there again", self.database.shown);
        }
        Ok(more)
    }

    fn connect(&mut self) -> Result<Client, Failure> {
        let mut client = self.database.connect()?;
        migrate::check(self.database, &mut client)?;
        // Each connection has a token of its own. A statement that an earlier connection left on its way then has no effect.
        self.epoch = Some(Epoch::begin(self.database, &mut client, self.mailbox, self.take_over)?);
        // This process takes over once. If another mailbox takes over later, that one is the host.
        self.take_over = false;
        // The database may have been away for long, or may have been restored from a backup.
        self.look = Some(Look::new(store::believed(self.database, &mut client)?));
        self.offers = Some(store::prepare_offers(self.database, &mut client)?);
        (self.written, self.next_look) = (None, None);
        Ok(client)
    }

    fn exchange(&mut self, client: &mut Client) -> Result<bool, Failure> {
        let (Some(look), Some(epoch), Some(offers)) = (&mut self.look, &self.epoch, &self.offers) else { return Ok(false) };
        let token = epoch.token;
        let is_due = self.written.is_none_or(|at| at.elapsed() >= HEARTBEAT);
        let began = Instant::now();
        let is_known = !self.may_have_changed && self.next_look.is_some_and(|at| began < at) && look.is_up_to_date(self.mailbox);
        let changes = if is_known { Changes::default() } else { look.look(self.mailbox)? };
        if !is_known {
            self.next_look = Some(began + HEARTBEAT.max(began.elapsed() * SELDOM));
        }
        if !changes.rows.is_empty() || !look.is_empty() {
            self.last_open = Instant::now();
        }
        if is_due || !changes.rows.is_empty() {
            self.state.clock_ms = store::write(self.database, client, token, self.sessions, &changes.rows, &[])?;
            self.written = Some(Instant::now());
        }
        look.told(changes);
        let waiting = store::offers(self.database, client, offers, token)?;
        self.state.reached_at = Some(time::now());
        let verdicts = self.decide(client, &waiting)?;
        if let (false, Some(look)) = (verdicts.is_empty(), &mut self.look) {
            let changes = look.look(self.mailbox)?;
            store::write(self.database, client, token, self.sessions, &changes.rows, &verdicts)?;
            look.told(changes);
        }
        if is_due || !verdicts.is_empty() {
            self.note();
        }
        Ok(!verdicts.is_empty())
    }

    /// Decides the offers that can be decided, and returns the verdicts. The other offers wait on.
    fn decide(&mut self, client: &mut Client, waiting: &[StoredOffer]) -> Result<Vec<Verdict>, Failure> {
        let mut verdicts = Vec::new();
        self.deferred.retain(|id| waiting.iter().any(|offer| offer.offer_id == *id));
        for offer in waiting {
            let doc = match &offer.doc {
                Some(doc) => doc.clone(),
                None => store::doc(self.database, client, offer.offer_id)?,
            };
            match decide_offer(self.mailbox, self.policy_now, offer, &doc) {
                Ok((verdict, about)) => {
                    let workflow_id = about.map(|offer| offer.workflow_id);
                    let (workflow, word) = (workflow_id.as_ref().map(ToString::to_string).unwrap_or_default(), word(verdict.decided));
                    tracing::info!(event = "offer", workflow, offer = %offer.offer_id, "{word} of {}: {}", offer.sent_by, verdict.said);
                    if verdict.decided == Decided::Accepted {
                        self.state.accepted += 1;
                    } else {
                        let (at, sent_by) = (time::now(), offer.sent_by.clone());
                        self.state.refuse(Refused { at, offer_id: offer.offer_id, workflow_id, decided: verdict.decided, sent_by });
                    }
                    verdicts.push(verdict);
                }
                // The log has this already.
                Err(e) if !self.deferred.insert(offer.offer_id) => drop(e),
                Err(e) => {
                    tracing::warn!(event = "offer", offer = %offer.offer_id, hint = %e.hint(), "not decided yet: {e}");
                }
            }
        }
        Ok(verdicts)
    }

    fn failed(&mut self, error: &Error) {
        self.client = None;
        let problem = askbox_mailbox::text::excerpt(&error.to_string(), 500);
        if self.state.failing.as_ref().is_none_or(|failing| failing.problem != problem) {
            let since = self.state.failing.as_ref().map_or_else(time::now, |failing| failing.since);
            self.state.failing = Some(Failing { since, problem, hint: askbox_mailbox::text::excerpt(&error.hint(), 300) });
            self.note();
            askbox_run::log::error(error);
        }
        std::thread::sleep(jittered(self.pause));
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
    }

    /// Writes the state for the doctor. The process goes on even if it cannot be written.
    fn note(&self) {
        if let Err(e) = self.state.write(self.mailbox) {
            tracing::warn!("{e}");
        }
    }
}

fn word(decided: Decided) -> &'static str {
    match decided {
        Decided::Accepted => "accepted the answer",
        Decided::Lost => "too late: the answer",
        Decided::Closed => "over before: the answer",
        Decided::Changed => "for another question: the answer",
        Decided::Invalid => "refused the answer",
    }
}

/// Returns which answers count now. So a change of the configuration does not need a restart of this process.
pub type PolicyNow<'a> = &'a dyn Fn() -> Result<Policy>;

/// Decides an offer, by the answers that count now.
///
/// # Errors
/// If nothing was decided, so that the offer waits on: the configuration cannot be read, or see [`offered::apply`].
pub fn decide_offer(mailbox: &Mailbox, policy_now: PolicyNow<'_>, waiting: &StoredOffer, doc: &str) -> Result<(Verdict, Option<Offer>)> {
    let invalid = |said: String| Verdict { offer_id: waiting.offer_id, decided: Decided::Invalid, said, hint: None, warning: None };
    let offer = match read_offer(doc) {
        Ok(offer) if offer.offer_id == waiting.offer_id => offer,
        Ok(_) => return Ok((invalid("the offer bears another id than its row".into()), None)),
        Err(e) => return Ok((invalid(format!("the offer cannot be read: {e}")), None)),
    };
    let policy = policy_now()?;
    let told = match policy.signed_by {
        // The key proves who it is, and the signature covers the name.
        Some(_) => offer.clone(),
        None => named_by_role(offer.clone(), &waiting.sent_by),
    };
    let verdict = offered::apply(mailbox, &policy, &told, Below::NoAgent)?;
    Ok((verdict, Some(offer)))
}

fn read_offer(doc: &str) -> Result<Offer> {
    document::check_depth(doc)?;
    serde_json::from_str(doc).map_err(|e| Error::invalid("offer", text::excerpt(&e.to_string(), 200), "send it with askbox"))
}

/// Adds the role if the sender wrote another name than the role's: `bob (role ann)`.
fn named_by_role(mut offer: Offer, role: &str) -> Offer {
    if offer.check().is_ok() && caller::check_name(&offer.answer.by).is_ok() {
        offer.answer.by = named(offer.answer.by, role);
    }
    offer
}

/// The name of a person, with the role if that is another one.
pub(super) fn named(by: String, role: &str) -> String {
    if by == role { by } else { format!("{} (role {})", text::excerpt(&by, 150), text::excerpt(role, 64)) }
}
