//! Finds the next step for a round in `running/`, and does what can be done at once.
//!
//! If the supervisor died before it acted on the receipt of a delivered answer, the receipt is found in the events of its attempt. Before
//! the next attempt is put on record, the processes of the earlier one end.

use std::path::PathBuf;
use std::time::Duration;

use crate::asking::receipt;
use crate::attempt::earlier::EarlierAttempts;
use crate::attempt::ending::{self, Ending};
use crate::attempt::{failure, once, suspended_call};
use crate::claim::heard::{self, Heard};
use crate::claim::{Claim, plan};
use crate::delivery::Delivery;
use crate::money::costs;
use crate::recovery::processes::{self, Left};
use crate::supervise::stop;
use crate::{Run, RunState, launch, record};
use askbox_agent::program::AWAITS_PERSON;
use askbox_agent::{EventKind, events};
use askbox_config::{Config, Relaunch};
use askbox_mailbox::audit::{self, Entry};
use askbox_mailbox::transitions::replayed;
use askbox_mailbox::{
    Closed, Closing, Error, Folder, Lock, Mailbox, Placed, Question, QuestionDocument, Result, RoundId, SessionId, Time, WorkflowId, close,
    disk, list, quarantine, read_question, recent_rounds, time,
};

/// The way to mend a round whose records cannot be read.
const MEND: &str = "see what lies there, put it right or move it away, then: relaunch retry ID";

/// The longest pause between two looks for the end of an answer that was sent to a dialog.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

const SUPERVISOR_DIED: &str = "its supervisor died";

/// The next step for a claimed round.
#[derive(Debug)]
pub enum Recovered {
    /// None: its run is live.
    Live,
    /// Its next attempt may not start before this time.
    Later(Time),
    /// This attempt was put on record just now: launch it.
    Launch(Box<Run>),
    /// This attempt was on record already, and nothing supervises it. Its claimant is about to launch it, or has died.
    Claimed(Box<Run>),
    /// Processes of an earlier attempt live: [`recover`] ends them.
    Orphans,
    /// None: the round has left `running/`.
    Over,
}

impl Recovered {
    /// The step of a round that waits for an agent elsewhere until a time, or was parked.
    fn after_wait(next_look: Option<Time>) -> Self {
        next_look.map_or(Self::Over, Self::Later)
    }
}

/// What to do about processes of an earlier attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Orphans {
    /// End them. Takes up to half a minute if they are stuck.
    End,
    /// Change nothing and return [`Recovered::Orphans`].
    Report,
}

impl Orphans {
    /// Whether a process of the round is left. With [`Orphans::End`] the processes that are visible here are ended first.
    fn left(self, mailbox: &Mailbox, run: &Run) -> Result<Left> {
        if self == Self::Report && processes::may_live(mailbox, run)? { Ok(Left::Here) } else { processes::end(mailbox, run) }
    }
}

/// Finds the next step for a round in `running/`. Ends processes of an earlier attempt, and puts the next attempt on record if it is
/// due.
pub fn recover(mailbox: &Mailbox, config: &Config, round: &RoundId) -> Result<Recovered> {
    recover_as_of(mailbox, config, round, time::now(), Orphans::End)
}

/// [`recover`] without waiting: if processes of an earlier attempt live, it changes nothing and returns [`Recovered::Orphans`].
pub fn recover_at_once(mailbox: &Mailbox, config: &Config, round: &RoundId) -> Result<Recovered> {
    recover_as_of(mailbox, config, round, time::now(), Orphans::Report)
}

/// [`recover`] for the claimed round of a workflow, without waiting for the end of its back-off. `None` if no round is claimed.
pub fn recover_now(mailbox: &Mailbox, config: &Config, workflow: &WorkflowId) -> Result<Option<Recovered>> {
    let claimed = list::round_names(mailbox, Folder::Running).find(|r| r.workflow == *workflow);
    claimed.map(|round| recover_as_of(mailbox, config, &round, Time::MAX_UTC, Orphans::End)).transpose()
}

fn recover_as_of(mailbox: &Mailbox, config: &Config, round: &RoundId, now: Time, orphans: Orphans) -> Result<Recovered> {
    if !disk::exists(mailbox.round(Folder::Running, round)) {
        return Ok(Recovered::Over);
    }
    // A claimant holds the workflow's lock until it holds the round's.
    let claiming = mailbox.lock(&round.workflow)?;
    recent_rounds::make_folder(mailbox, round)?;
    let Some(held) = Lock::try_acquire(&record::lock_path(mailbox, round))? else { return Ok(Recovered::Live) };
    drop(claiming);
    let Some(document) = open_document(mailbox, round)? else { return Ok(Recovered::Over) };
    let last = record::latest(mailbox, round)?;
    // Without a record, only the question says who the claimant took the answer for.
    let delivery = last.as_ref().map_or_else(|| Delivery::asked_for(&document.typed), |last| Delivery::of_claimed(&document.typed, last));
    if delivery == Delivery::Dialog {
        let age = last.as_ref().map_or(Duration::ZERO, |last| time::since(last.claimed_at));
        let is_over = receipt::by_receipt(mailbox, document, last, held)?;
        // The transcript may tell it days later, and may be long.
        let pause = (age / 8).clamp(Duration::from_secs(1), LONGEST_PAUSE);
        return Ok(if is_over {
            Recovered::Over
        } else {
            Recovered::Later(time::now() + chrono::TimeDelta::from_std(pause).unwrap_or_default())
        });
    }
    let is_claimed = last.as_ref().is_none_or(|last| last.state == RunState::Claimed);
    let given = last.as_ref().filter(|_| is_claimed && matches!(delivery, Delivery::Waiter | Delivery::Session));
    let heard = given.and_then(|given| heard::look(mailbox, given));
    if heard == Some(Heard::NotYet) {
        return Ok(Recovered::Later(time::now() + chrono::TimeDelta::milliseconds(500)));
    }
    // A session that was given the answer and has ended does not look for it again, so an agent is launched.
    if delivery == Delivery::Session && is_claimed && heard.is_none() && give_back(mailbox, config, &document, round, orphans)? {
        return Ok(Recovered::Over);
    }
    let Some(last) = last else { return first_attempt(mailbox, config, &document, round, orphans) };
    match last.state {
        RunState::Claimed => match delivery {
            Delivery::Launch | Delivery::Dialog => Ok(Recovered::Claimed(Box::new(last))),
            Delivery::Waiter | Delivery::Session if heard == Some(Heard::Yes) => {
                Claim::with_lock(document, last, held).delivered(mailbox, "its asker").map(|()| Recovered::Over)
            }
            // The claimant died before it had delivered the answer. An asker may belong to the run of an earlier round, and that run
            // has to end first.
            Delivery::Waiter | Delivery::Session | Delivery::MainAgent if another_is_live(mailbox, round)? => {
                Ok(Recovered::Later(time::now() + chrono::TimeDelta::seconds(1)))
            }
            Delivery::Waiter | Delivery::Session | Delivery::MainAgent => launch_next(mailbox, config, &document, &last),
        },
        RunState::Failed | RunState::Running => {
            let Relaunch { backoff_max, throttle_deadline, .. } = &config.relaunch;
            if let Some(at) = last.waits_until(backoff_max.0.max(throttle_deadline.0).max(failure::LONGEST_LIMIT), now) {
                return Ok(Recovered::Later(at));
            }
            match orphans.left(mailbox, &last)? {
                Left::Here => Ok(Recovered::Orphans),
                Left::Elsewhere { agent } => processes::wait(mailbox, config, last, &agent).map(Recovered::after_wait),
                Left::None if last.state == RunState::Running || processes::is_awaited(&last) => {
                    supervisor_died(mailbox, config, &document, last)
                }
                Left::None => launch_next(mailbox, config, &document, &last),
            }
        }
        // Only the round's move to `closed/` is missing.
        RunState::Delivered | RunState::Asking => {
            let lock = mailbox.lock(&round.workflow)?;
            close::claimed(mailbox, &lock, Folder::Running, round.question, Closing::now(Closed::Delivered, "askbox", None))?;
            Ok(Recovered::Over)
        }
        // Only the round's move to `parked/` is missing.
        RunState::Parked | RunState::Interrupted => {
            let _lock = mailbox.lock(&round.workflow)?;
            ending::park(mailbox, &last)?;
            Ok(Recovered::Over)
        }
    }
}

/// Sets a claimed round aside whose recovery keeps failing, so that it holds up no other round. It is parked if its record can be read.
/// Otherwise its file goes to quarantine. Does nothing if its run is live.
pub fn set_aside(mailbox: &Mailbox, config: &Config, round: &RoundId, error: &Error) -> Result<()> {
    let claiming = mailbox.lock(&round.workflow)?;
    let Some(_held) = Lock::try_acquire(&record::lock_path(mailbox, round))? else { return Ok(()) };
    drop(claiming);
    let why = format!("its recovery fails: {error}");
    if let Ok(Some(last)) = record::latest(mailbox, round) {
        let mend = MEND.replace("ID", round.workflow.as_str());
        return ending::finish(mailbox, config, last, &Ending::Hopeless { why, mend }).map(drop);
    }
    quarantine::quarantine(mailbox, &mailbox.round(Folder::Running, round), round.file_name(), &why).map(drop)
}

/// Returns an answer to `answered/`. Its session takes it itself, but the claimant died before it had handed the answer over. The
/// session looks for it in that folder. Nothing is moved if processes of the claimant live, or if a later answer lies there.
fn give_back(mailbox: &Mailbox, config: &Config, document: &QuestionDocument, round: &RoundId, orphans: Orphans) -> Result<bool> {
    if orphans.left(mailbox, &plan::first(mailbox, config, &document.typed, round)?)? != Left::None {
        return Ok(false);
    }
    let _lock = mailbox.lock(&round.workflow)?;
    let answered = mailbox.document(Folder::Answered, &round.workflow);
    if disk::rename(&mailbox.round(Folder::Running, round), &answered)? == Placed::NameExists {
        return Ok(false);
    }
    if let Some(run) = record::latest(mailbox, round)? {
        record::forget(mailbox, &run)?;
    }
    Ok(true)
}

/// The round's document. `None` if the round is over; then the remaining steps of its end are done.
fn open_document(mailbox: &Mailbox, round: &RoundId) -> Result<Option<QuestionDocument>> {
    let path = mailbox.round(Folder::Running, round);
    let document = match read_question::of_round(&path, round) {
        Ok(document) => document,
        Err(e) if e.is_missing_file() => return Ok(None),
        Err(e @ Error::Invalid { .. }) => {
            quarantine::quarantine(mailbox, &path, round.file_name(), &e.to_string())?;
            return Ok(None);
        }
        Err(e) => return Err(e),
    };
    if close::is_closed(mailbox, round, &document) {
        disk::untouch(&path)?;
        return Ok(None);
    }
    if replayed::is_set_aside(mailbox, round, &document)? {
        return Ok(None);
    }
    if document.typed.closed.is_some() {
        let _lock = mailbox.lock(&round.workflow)?;
        close::move_to_closed(mailbox, Folder::Running, round)?;
        return Ok(None);
    }
    Ok(Some(document))
}

/// Plans the first attempt, because the claimant died before that was on record. The claimant may have started an agent, but the agent
/// has received no input.
fn first_attempt(mailbox: &Mailbox, config: &Config, document: &QuestionDocument, round: &RoundId, orphans: Orphans) -> Result<Recovered> {
    let run = plan::first(mailbox, config, &document.typed, round)?;
    let left = orphans.left(mailbox, &run)?;
    if left == Left::Here {
        return Ok(Recovered::Orphans);
    }
    record::create(mailbox, &run)?;
    match left {
        Left::Elsewhere { agent } => processes::wait(mailbox, config, run, &agent).map(Recovered::after_wait),
        _ => Ok(Recovered::Launch(Box::new(run))),
    }
}

fn supervisor_died(mailbox: &Mailbox, config: &Config, document: &QuestionDocument, mut last: Run) -> Result<Recovered> {
    last.cost_usd = costs::catch_up(mailbox, &last)?;
    let ending = if let Some(delivered) = find_receipt(mailbox, &last) {
        delivered
    } else if let Some(stop) = stop::read_request(&last.folder(mailbox))? {
        // It died while it was stopping.
        Ending::Interrupted { why: stop.request(config.limits.grace.0).why, class: None }
    } else {
        audit::record(mailbox, Entry::about_round("recovered", &last.round()).by("askbox").why(SUPERVISOR_DIED));
        if EarlierAttempts::before(mailbox, &last)?.counted + 1 < config.relaunch.attempts {
            let (ended_at, why) = (Some(time::now()), once::beside(mailbox, &last.round(), Some(SUPERVISOR_DIED.into())));
            let lost = Run { state: RunState::Failed, ended_at, why, failure: None, ..last };
            record::write(mailbox, &lost)?;
            return launch_next(mailbox, config, document, &lost);
        }
        Ending::Failed { why: SUPERVISOR_DIED.into() }
    };
    ending::finish(mailbox, config, last, &ending)?;
    Ok(Recovered::Over)
}

fn launch_next(mailbox: &Mailbox, config: &Config, document: &QuestionDocument, last: &Run) -> Result<Recovered> {
    create_next(mailbox, config, &document.typed, last, None).map(|run| Recovered::Launch(Box::new(run)))
}

fn another_is_live(mailbox: &Mailbox, round: &RoundId) -> Result<bool> {
    let others = list::round_names(mailbox, Folder::Running).filter(|r| r.workflow == round.workflow && r != round);
    for other in others {
        if Lock::is_held(&record::lock_path(mailbox, &other))? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// [`Ending::Delivered`] if the attempt's session began and its final result came. [`Ending::Asking`] if its turn waits for a question,
/// or if the supervisor held a call or a server's question when it died.
fn find_receipt(mailbox: &Mailbox, run: &Run) -> Option<Ending> {
    let mut began = false;
    // The end of a turn that was stopped on request is not a final result.
    let stopped = stop::read_request(&run.folder(mailbox)).is_ok_and(|s| s.is_some());
    for event in events::read(&run.folder(mailbox).join("events.jsonl")).ok()? {
        match event.kind {
            EventKind::Started { session_id, .. } => began |= session_id == run.session_id.to_string(),
            EventKind::Result { is_error: false, text, terminal_reason: Some(reason), cost_usd, .. }
                if began
                    && (reason == "completed"
                        || reason == "stop_hook_prevented"
                        || (reason == "hook_stopped" && !stopped && !text.is_empty())) =>
            {
                return Some(Ending::Delivered { text, cost_usd });
            }
            EventKind::Result { text, terminal_reason: Some(reason), cost_usd, .. } if began && reason == AWAITS_PERSON => {
                return Some(Ending::Awaits { text, cost_usd });
            }
            EventKind::Result { is_error: false, terminal_reason: Some(reason), cost_usd, .. } if reason == "tool_deferred" => {
                let question = suspended_call::question_of_session(mailbox, run)?;
                return Some(Ending::Asking { question, cost_usd });
            }
            _ => {}
        }
    }
    let question = suspended_call::held_in_session(mailbox, run).filter(|_| began && !stopped)?;
    Some(Ending::Asking { question, cost_usd: None })
}

/// Writes the record of the next attempt. The caller holds the round's lock.
///
/// After a supervisor's attempt, the next one has the same session and the same message. The session is new if that one is of no use
/// (see [`launch::is_session_useless`]). Other claimants launched nothing, and what their records say
/// about a launch is not the operator's choice, so the attempt is planned here. With `cwd`, the attempt runs in that folder.
pub(super) fn create_next(mailbox: &Mailbox, config: &Config, question: &Question, last: &Run, cwd: Option<PathBuf>) -> Result<Run> {
    let mut run = match Delivery::of_claimed(question, last) {
        // A dialog's answer is never launched: see `asking::receipt`.
        Delivery::Launch | Delivery::Dialog => attempt_after(last),
        Delivery::Waiter | Delivery::Session | Delivery::MainAgent => {
            Run { attempt: last.attempt + 1, ..plan::first(mailbox, config, question, &last.round())? }
        }
    };
    if let Some(now) = cwd {
        let was = run.cwd.replace(now.clone());
        // A `CLAUDE_CONFIG_DIR` inside of the folder has moved with it.
        if let Some(below) = run.config_dir.as_deref().zip(was).and_then(|(dir, was)| dir.strip_prefix(was).ok()) {
            run.config_dir = Some(now.join(below));
        }
    }
    record::create(mailbox, &run)?;
    Ok(run)
}

fn attempt_after(last: &Run) -> Run {
    let session_id = if launch::is_session_useless(last) { SessionId::generate() } else { last.session_id };
    last.clone().next(session_id)
}
