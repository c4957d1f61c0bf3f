//! The causes why one round stands still, the first one to be mended first.
//!
//! The command that runs a parked round again. Whatever must be mended first stands in front, so that the whole line works when it is typed.

use std::path::PathBuf;
use std::time::Duration;

use crate::asking::receipt;
use crate::attempt::failure::Class;
use crate::attempt::once;
use crate::claim::moved_folder;
use crate::delivery::{self, Delivery};
use crate::story::begun_with;
use crate::story::cause::{self, edit_configuration, startable};
use crate::story::kind::Cause;
use crate::story::queue::QueueState;
use crate::story::shape::Standing;
use crate::story::teller::Teller;
use crate::{HoldUp, Run, programs, record};
use askbox_config::Config;
use askbox_mailbox::{
    Folder, Mailbox, OnExpiry, Question, RoundId, Until, WorkflowId, disk, list, pause, presence, text, time, timers, workflows,
};

/// A watcher hangs if it has left an answer alone for this long, while the queue, the runs and the watcher did not change.
const HANGS: Duration = Duration::from_secs(60);
/// A watcher takes an answer within this time, unless something holds it up.
const TAKES: Duration = Duration::from_secs(5);

/// The reason if no agent is launched with the answer.
pub(super) const BY_SESSION: &str = "the session that asked takes the answer itself";

/// A round, and what its state was found to be.
#[derive(Clone, Copy)]
pub(super) struct Found<'a> {
    pub round: &'a RoundId,
    pub question: &'a Question,
    pub run: Option<&'a Run>,
    pub state: Standing,
}

/// The causes why this round stands still. Empty if it is over or at work.
pub(super) fn of(teller: &Teller<'_>, found: Found<'_>) -> Vec<HoldUp> {
    if !teller.tells_causes() {
        return Vec::new();
    }
    let is_general = |hold_up: &HoldUp| teller.general().iter().any(|known| known.cause == hold_up.cause && known.next == hold_up.next);
    let named = |hold_up: HoldUp| if is_general(&hold_up) { hold_up } else { teller.in_this_mailbox(hold_up) };
    of_state(teller, found).into_iter().chain(may_have_run(teller, found)).map(named).collect()
}

/// A call of an attempt that failed may have been made. It stays open when the round goes on, and when it is over.
fn may_have_run(teller: &Teller<'_>, Found { round, run, state, .. }: Found<'_>) -> Option<HoldUp> {
    let run = run.filter(|run| run.is_launch())?;
    let live = (state == Standing::Running).then_some(run.attempt);
    let words = once::open_in_words(teller.mailbox, round, live)?;
    let next = format!("askbox once --of {} --was made", round.workflow);
    Some(HoldUp::new(Cause::MayHaveRun, format!("{words}; if you know: {next}, or --was not-made"), next))
}

fn of_state(teller: &Teller<'_>, found: Found<'_>) -> Vec<HoldUp> {
    let id = &found.round.workflow;
    let one = |cause, why: &str, next: String| vec![HoldUp::new(cause, why, next)];
    match found.state {
        Standing::Pending => one(Cause::Person, "a person has to answer", format!("ask-answer show {id}")),
        Standing::Overdue => overdue(teller, found),
        Standing::Waiting => waiting(teller, found),
        Standing::Answered => answered(teller, found),
        Standing::Queued => to_launch(teller, found),
        Standing::Retrying | Standing::Throttled | Standing::Orphaned => again(teller, found),
        Standing::Sent => one(Cause::NotKnownYet, receipt::NOT_KNOWN_YET, format!("relaunch done {id}")),
        Standing::Parked => vec![parked(teller, found)],
        Standing::Interrupted => {
            let next = match found.run {
                Some(run) if run.is_exec() => format!("relaunch exec {id} -- PROGRAM"),
                _ => launching(teller.mailbox, &format!("relaunch {id}")),
            };
            one(Cause::Stopped, "its run was stopped", next)
        }
        Standing::Awaiting => one(Cause::Child, "it waits for what it started", format!("askbox tree {id}")),
        Standing::Unreadable => one(Cause::Unreadable, "a file of it cannot be read", format!("askbox doctor {id}")),
        Standing::Running | Standing::Delivered | Standing::Unknown => Vec::new(),
        Standing::Withdrawn | Standing::Expired | Standing::Superseded | Standing::Dropped => Vec::new(),
    }
}

/// The time of the question is over: a watcher applies what its asker wanted then, or a person answers.
fn overdue(teller: &Teller<'_>, Found { round, question, .. }: Found<'_>) -> Vec<HoldUp> {
    let is_for_watcher = question.on_expiry() != OnExpiry::Keep && !timers::is_undecided(teller.mailbox, question, round);
    let then = match (question.on_expiry(), &question.default) {
        (OnExpiry::Default, Some(default)) => format!("answer it with its default, {}", text::excerpt(&default.to_text(), 60)),
        _ => "cancel it".to_owned(),
    };
    let to_apply = |hold_up: HoldUp| HoldUp { why: format!("{}, and its time is over: a watcher is to {then}", hold_up.why), ..hold_up };
    let person = HoldUp::new(Cause::Person, "a person has to answer", format!("ask-answer show {}", round.workflow));
    of_watcher(teller).filter(|_| is_for_watcher).map(to_apply).into_iter().chain([person]).collect()
}

/// The question waits for an event, which a watcher sees.
fn waiting(teller: &Teller<'_>, Found { round, question, .. }: Found<'_>) -> Vec<HoldUp> {
    let next = format!("ask-answer show {}", round.workflow);
    let event = question.until.as_ref().map(|until| match until {
        Until::At(at) => HoldUp { until: Some(*at), ..HoldUp::new(Cause::Date, until.words(), next) },
        Until::File(_) => HoldUp::new(Cause::File, until.words(), next),
    });
    of_watcher(teller).into_iter().chain(event).collect()
}

/// The cause if no watcher works.
fn of_watcher(teller: &Teller<'_>) -> Option<HoldUp> {
    teller.general().iter().find(|known| matches!(known.cause, Cause::NoWatcher | Cause::WatcherStopped)).cloned()
}

/// The answer is there, and nobody has taken it yet.
fn answered(teller: &Teller<'_>, found: Found<'_>) -> Vec<HoldUp> {
    let (id, question) = (&found.round.workflow, found.question);
    if question.taken_back.is_some() && question.answer.is_none() {
        let why = "taking its answer back was interrupted: the question does not wait yet";
        return vec![HoldUp::new(Cause::HalfDone, why, format!("ask-answer undo {id}"))];
    }
    let taker = Delivery::of_unclaimed(teller.mailbox, question).unwrap_or_else(|_| Delivery::asked_for(question));
    let who = taker.who();
    match taker {
        Delivery::Launch | Delivery::MainAgent => to_launch(teller, found),
        Delivery::Waiter => {
            let look = format!("relaunch status {id}");
            vec![match disk::lock_holder(&teller.mailbox.waiter(id)) {
                None => HoldUp::new(Cause::Asker, format!("{who} takes it"), look),
                Some(asker) if asker.is_stopped => {
                    HoldUp::new(Cause::AskerStopped, format!("{who} takes it: {asker}"), format!("kill -CONT {}", asker.pid))
                }
                Some(asker) => HoldUp::new(Cause::Asker, format!("{who} takes it: {asker}"), look),
            }]
        }
        Delivery::Session => vec![of_session(teller.mailbox, teller.config(), question)],
        Delivery::Dialog => {
            let dialog =
                HoldUp::new(Cause::Session, format!("{who} takes it, if its dialog is still open"), format!("ask-answer show {id}"));
            of_watcher(teller).into_iter().chain([dialog]).collect()
        }
    }
}

/// The session that asked takes the answer, or is not told of it.
pub(super) fn of_session(mailbox: &Mailbox, config: Option<&Config>, question: &Question) -> HoldUp {
    let id = &question.workflow_id;
    if let Some(why) = question.codex_thread().and_then(|_| no_news_for_codex(mailbox, config)) {
        return cause::not_told(id, why);
    }
    let next = delivery::resume_command(question).unwrap_or_else(|| format!("relaunch {id}"));
    HoldUp::new(Cause::Session, BY_SESSION, next)
}

/// Says why no watcher tells sessions of Codex of their answers. `None` if one does.
pub fn no_news_for_codex(mailbox: &Mailbox, config: Option<&Config>) -> Option<&'static str> {
    match config {
        Some(config) if !config.live.codex => Some("live.codex is off"),
        _ if !presence::anybody(mailbox).unwrap_or(true) => Some("no watcher is running"),
        _ => None,
    }
}

/// An agent is to be launched, at once or when others have ended.
fn to_launch(teller: &Teller<'_>, found: Found<'_>) -> Vec<HoldUp> {
    let (mailbox, id) = (teller.mailbox, &found.round.workflow);
    let not_counted = teller.config().and_then(|config| config.answers.policy().judge(found.question).err()).map(|why| {
        let why = format!("its answer does not count: {}; a watcher refuses it, and the question waits again", why.0);
        HoldUp::new(Cause::NotCounted, why, "relaunch watch")
    });
    let folder = found.question.cwd.as_deref().and_then(|folder| cause::no_folder(id, folder));
    let mut all: Vec<HoldUp> = not_counted.into_iter().chain(teller.in_the_way(id)).chain(folder).collect();
    let mut earlier = None;
    let mut asker = None;
    for round in list::round_names(mailbox, Folder::Running) {
        if round.workflow == *id && round != *found.round {
            earlier = Some(round);
        } else if is_run_of_asker(mailbox, &round, found.question) {
            asker = Some(round.workflow);
        }
    }
    all.extend(earlier.map(|round| {
        let why = format!("round {} of this workflow is not over yet", round.question);
        HoldUp::new(Cause::EarlierRound, why, format!("relaunch logs -f {id}"))
    }));
    all.extend(asker.map(|of| {
        let why = format!("the session that asked still works for {of}");
        HoldUp::new(Cause::AskerRuns, why, format!("relaunch logs -f {of}"))
    }));
    let queue = teller.queue().filter(|queue| queue.state != QueueState::Paused);
    if let Some(queue) = queue {
        let why = queue.why.as_deref().unwrap_or_default();
        let (live, most) = (teller.live_runs(), teller.most_runs());
        if queue.state == QueueState::Probing {
            all.push(HoldUp::new(Cause::Probing, format!("the queue tries one run before it goes on: {why}"), "relaunch status"));
        } else if live >= most {
            all.push(HoldUp::new(
                Cause::MaxConcurrent,
                format!(
                    "{}, and relaunch.max_concurrent allows {most}",
                    if live == 1 { "1 run is live".to_owned() } else { format!("{live} runs are live") }
                ),
                "relaunch status",
            ));
        }
    }
    if all.is_empty() {
        all.extend(left_alone(teller, found));
    }
    all
}

/// True if this is the live run of the session that asked the question. It may have asked on behalf of another workflow.
fn is_run_of_asker(mailbox: &Mailbox, round: &RoundId, question: &Question) -> bool {
    let Some(session) = question.session_id.filter(|_| round.workflow != question.workflow_id) else { return false };
    disk::Lock::is_held(&record::lock_path(mailbox, round)).unwrap_or(false)
        && record::latest(mailbox, round).ok().flatten().is_some_and(|run| run.session_id == session)
}

/// The cause if a watcher runs and leaves the answer alone, although nothing is in its way.
fn left_alone(teller: &Teller<'_>, found: Found<'_>) -> Option<HoldUp> {
    let mailbox = teller.mailbox;
    let changed = [
        mailbox.document(Folder::Answered, &found.round.workflow),
        mailbox.folder(Folder::Running),
        mailbox.root().to_path_buf(),
        mailbox.root().join("breaker.json"),
    ];
    let age = |path: &PathBuf| disk::metadata(path).and_then(|meta| meta.modified()).ok()?.elapsed().ok();
    let quiet = changed.iter().filter_map(age).min().filter(|quiet| *quiet >= TAKES && found.state == Standing::Answered)?;
    let watcher = disk::shared_lock_holder(&mailbox.lock_file("watchers"))?;
    let keys = teller.config().map(|config| begun_with::changed_since(mailbox, config, watcher.pid)).unwrap_or_default();
    if !keys.is_empty() {
        let why = format!("the watcher, {watcher}, began with another configuration: {} changed since", keys.join(", "));
        return Some(HoldUp::new(Cause::OlderWatcher, why, cause::restart(watcher.pid, "relaunch watch")));
    }
    let why = format!(
        "nothing holds it up, but the watcher has not launched its agent for {}: {watcher}, hangs, or its log says why",
        time::human(quiet)
    );
    (quiet >= HANGS).then(|| HoldUp::new(Cause::WatcherHangs, why, format!("relaunch {}", found.round.workflow)))
}

/// An attempt failed or lost its supervisor, and a watcher starts the next one.
fn again(teller: &Teller<'_>, found: Found<'_>) -> Vec<HoldUp> {
    let id = &found.round.workflow;
    let next = launching(teller.mailbox, &format!("relaunch {id}"));
    let is_elsewhere = found.run.and_then(|run| run.failure.as_ref()).is_some_and(|failure| failure.class == Class::Elsewhere);
    let retry_at = found.run.and_then(|run| run.retry_at).filter(|at| *at > time::now());
    let (cause, why) = match found.state {
        _ if is_elsewhere => (Cause::Elsewhere, "its run may live where this process does not see it"),
        Standing::Throttled => (Cause::Throttled, "the API throttled the run, and its session goes on later"),
        Standing::Retrying => (Cause::Retry, "an attempt failed, and the next one starts later"),
        _ => (Cause::Orphaned, "its supervisor is gone, and a watcher goes on with it"),
    };
    // A process that claimed the answer for itself launches no agent.
    let is_launch = found.run.is_none_or(Run::is_launch);
    let before = if is_launch { teller.in_the_way(id) } else { of_watcher(teller).into_iter().collect() };
    before.into_iter().chain([HoldUp { until: retry_at, ..HoldUp::new(cause, why, next) }]).collect()
}

/// The attempts are used up, or failed in a way that waiting does not mend.
fn parked(teller: &Teller<'_>, found: Found<'_>) -> HoldUp {
    let class = found.run.and_then(|run| run.failure.as_ref()).map(|failure| failure.class);
    let cause = match class {
        Some(Class::Folder) => Cause::Folder,
        Some(Class::Elsewhere) => Cause::Elsewhere,
        Some(Class::Untrusted) => Cause::NotCounted,
        Some(Class::Tree) => Cause::Limit,
        Some(class) if class.is_limit() => Cause::Limit,
        _ => Cause::Failed,
    };
    let why = found.run.and_then(|run| run.why.clone()).unwrap_or_else(|| "its run failed".to_owned());
    HoldUp::new(cause, why, command(teller, &found.round.workflow, found.run))
}

/// The command that runs a parked round again. `run` is its newest attempt, if its record can be read.
fn command(teller: &Teller<'_>, id: &WorkflowId, run: Option<&Run>) -> String {
    if let Some(renamed) = in_renamed_folder(teller.mailbox, id) {
        return launching(teller.mailbox, &renamed);
    }
    let retry = launching(teller.mailbox, &format!("relaunch retry {id}"));
    match run.and_then(|run| before(teller, id, run)) {
        Some(first) => format!("{first} && {retry}"),
        None => retry,
    }
}

/// A command that may launch an agent. If a person has paused the queue, `relaunch go` stands before it, because the command alone would be
/// refused.
fn launching(mailbox: &Mailbox, words: &str) -> String {
    if pause::held(mailbox).is_some() { format!("relaunch go && {words}") } else { words.to_owned() }
}

/// The command that goes on in a working folder that was renamed. It is made here: the words in the run's record may be anybody's.
fn in_renamed_folder(mailbox: &Mailbox, id: &WorkflowId) -> Option<String> {
    let known = workflows::read(mailbox, id).ok()??.typed;
    let gone = known.cwd.clone().filter(|cwd| !cwd.exists())?;
    let now = moved_folder::find(&known, &gone)?;
    Some(format!("relaunch retry {id} --cwd {}", text::path_word(&now)))
}

/// The command that mends the cause, if a retry alone would only fail again.
fn before(teller: &Teller<'_>, id: &WorkflowId, run: &Run) -> Option<String> {
    if let Some(gone) = run.cwd.as_ref().filter(|cwd| !cwd.exists()) {
        return Some(format!("mkdir -p {}", text::path_word(gone)));
    }
    let class = run.failure.as_ref()?.class;
    if class == Class::Setup
        && let Some(config) = teller.config()
        && programs::cannot_start(config, id).is_some()
    {
        return config.runner_of(id).ok().map(|(_, runner)| startable(&runner));
    }
    let is_limit = class.is_limit() || class == Class::Tree;
    (is_limit || class == Class::Setup).then(edit_configuration)
}
