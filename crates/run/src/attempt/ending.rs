//! The end of an attempt: delivered, tried again later, or parked. An attempt counts as delivered if the agent's final result came,
//! whatever its exit code. `no_result` finds the final texts that are not a result.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::attempt::earlier::EarlierAttempts;
use crate::attempt::failure::{Class, Failure, PlanLimit};
use crate::attempt::record::{self, Record, Run, RunState};
use crate::attempt::{no_result, once};
use askbox_agent::program::AWAITS;
use askbox_config::{Config, EXEC};
use askbox_mailbox::audit::{self, Entry};
use askbox_mailbox::{
    Closed, Closing, Due, Error, Folder, Mailbox, Placed, QuestionId, Result, Time, Timer, Untrusted, WorkflowId, WorkflowLock, close,
    disk, read_question, text, time, wake, workflows,
};

/// The limit of the agent's final text in `run.json`, in characters. The whole text is in `events.jsonl`.
const MAX_RESULT: usize = 4000;

/// A run starts this long after the reset of its plan's limit.
const AFTER_RESET: chrono::TimeDelta = chrono::TimeDelta::seconds(5);

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Ending {
    /// The session began and its final result came.
    Delivered {
        /// The agent's final text.
        text: Untrusted,
        /// US dollars of its last turn, if the agent reported them.
        cost_usd: Option<f64>,
    },
    /// The session began, and its turn waits for the answer to a question that the agent asked with a tool of its own.
    Asking {
        /// The question's round.
        question: QuestionId,
        /// US dollars of its last turn, if the agent reported them.
        cost_usd: Option<f64>,
    },
    /// A program says that a person is awaited. It counts as delivered if its workflow has asked.
    Awaits {
        /// The program's result.
        text: Untrusted,
        /// US dollars, if the program reported them.
        cost_usd: Option<f64>,
    },
    /// A program ended with a status that says that it is not done.
    Undone {
        /// What follows.
        then: Then,
        /// The reason.
        why: String,
        /// The program's exit status.
        exit: Option<i32>,
        /// The Unix signal that ended it.
        signal: Option<i32>,
    },
    /// The API is overloaded, limits the rate or cannot be reached. The session continues later; the attempt does not count.
    Throttled {
        /// The reason.
        why: String,
        /// The HTTP status that the API refused with; `None` if there was no response.
        status: Option<u16>,
        /// How long the API asked to wait.
        wait: Option<Duration>,
        /// When the limit of the account's plan is reset, if that is why. Then the run waits for that time, and is not parked before.
        resets_at: Option<Time>,
    },
    /// All that is left of the day's budget is reserved for other runs, or another process keeps a lock. It waits; the attempt does not
    /// count.
    Held {
        /// The reason.
        why: String,
    },
    /// The machine was short of processes, descriptors or memory, so no agent was launched. It waits; the attempt does not count.
    Short {
        /// The reason.
        why: String,
    },
    /// It failed; another attempt may succeed.
    Failed {
        /// The reason.
        why: String,
    },
    /// It cannot be launched; another attempt would fail too.
    Hopeless {
        /// The reason.
        why: String,
        /// The step that mends it. Empty if it is not known.
        mend: String,
    },
    /// The agent's working folder does not exist. In another folder, the agent would not find its work.
    NoFolder {
        /// The folder.
        folder: PathBuf,
        /// The place where it lies now, if it was renamed.
        now: Option<PathBuf>,
    },
    /// A failure that only a person can mend.
    Refused {
        /// The class of the failure.
        class: Class,
        /// The reason.
        why: String,
    },
    /// A person or a limit stopped it.
    Interrupted {
        /// The person or the limit that stopped it.
        why: String,
        /// The class of the limit, if it concerns other runs too.
        class: Option<Class>,
    },
}

/// The step after a program that ended without being done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// Another attempt later. This one does not count.
    Later,
    /// Another attempt, up to `relaunch.attempts`.
    Retry,
    /// None: the round is parked.
    Never,
}

impl Ending {
    /// True if the agent has the answer, or whatever else the round was to bring it. For [`Ending::Awaits`], a question must be there too.
    pub fn is_delivered(&self) -> bool {
        matches!(self, Self::Delivered { .. } | Self::Asking { .. } | Self::Awaits { .. })
    }

    /// The ending of an attempt whose agent could not be launched, for a reason that may pass.
    pub fn of_trouble(error: &Error) -> Self {
        let why = error.to_string();
        match error {
            e if e.is_shortage() => Self::Short { why },
            e if e.is_held() => Self::Held { why },
            _ => Self::Failed { why },
        }
    }

    /// For a throttled attempt: wait at least this long, as the agent's stream said.
    pub fn after(self, at_least: Option<Duration>) -> Self {
        match self {
            Self::Throttled { why, status, wait, resets_at } => Self::Throttled { why, status, wait: wait.max(at_least), resets_at },
            other => other,
        }
    }

    /// For a throttled attempt: the limit of the account's plan is reached, as the agent's stream said.
    pub fn at_limit(self, limit: Option<&PlanLimit>) -> Self {
        match (self, limit) {
            (Self::Throttled { why, status, wait, .. }, Some(limit)) => {
                Self::Throttled { why: format!("{}: {why}", limit.why()), status, wait, resets_at: Some(limit.resets_at) }
            }
            (other, _) => other,
        }
    }

    /// The failure that `run.json` records; `None` if the attempt was delivered or stopped.
    pub fn failure(&self, workflow: &WorkflowId) -> Option<Failure> {
        let new = |class, why: &str| Failure::new(class, why, workflow);
        match self {
            Self::Throttled { why, status, .. } => Some(Failure { status: *status, ..new(Class::Throttled, why) }),
            Self::Held { why } => Some(new(Class::Held, why)),
            Self::Short { why } => Some(new(Class::Shortage, why)),
            Self::Failed { why } => Some(new(Class::Agent, why)),
            Self::Undone { then, why, exit, signal } => {
                let class = if *then == Then::Later { Class::Later } else { Class::Program };
                Some(Failure { exit: *exit, signal: *signal, ..new(class, why) })
            }
            Self::Hopeless { why, mend } if mend.is_empty() => Some(new(Class::Setup, why)),
            Self::Hopeless { why, mend } => {
                // The hint of an error may name the command already.
                let again = format!("relaunch retry {workflow}");
                let todo = if mend.contains(&again) { mend.clone() } else { format!("{mend}; then: {again}") };
                Some(Failure { todo, ..new(Class::Setup, why) })
            }
            Self::NoFolder { folder, now } => {
                let failure = new(Class::Folder, &no_folder(folder, now.as_deref()));
                let todo = now.as_ref().map(|now| format!("go on there: relaunch retry {workflow} --cwd {}", text::path_word(now)));
                Some(Failure { todo: todo.unwrap_or_else(|| failure.todo.clone()), ..failure })
            }
            Self::Refused { class, why } => Some(new(*class, why)),
            Self::Interrupted { why, class } => class.map(|class| new(class, why)),
            Self::Delivered { .. } | Self::Asking { .. } | Self::Awaits { .. } => None,
        }
    }

    /// The ending of an attempt that only its person goes on with: what would be tried again is parked.
    fn without_another_attempt(self) -> Self {
        match self {
            Self::Undone { why, exit, signal, .. } => Self::Undone { then: Then::Never, why, exit, signal },
            Self::Failed { why } | Self::Held { why } | Self::Short { why } => Self::Hopeless { why, mend: String::new() },
            other => other,
        }
    }

    /// The ending, once it is known whether the workflow waits for anything. The caller holds the workflow's lock until the round has left `running/`,
    /// so nothing that the workflow waits for can appear or go in between.
    fn judged(&self, mailbox: &Mailbox, lock: &WorkflowLock, run: &Run) -> Result<Self> {
        Ok(match self {
            Self::Delivered { text, .. } => match no_result::why(mailbox, lock, run, text.raw())? {
                Some(why) => Self::Refused { class: Class::NoResult, why },
                None => self.clone(),
            },
            Self::Awaits { text, cost_usd } if no_result::awaits_person(mailbox, lock, run)? => {
                Self::Delivered { text: text.clone(), cost_usd: *cost_usd }
            }
            Self::Awaits { .. } => {
                let why = format!(
                    "the program says that a person is awaited (exit status: {AWAITS}), but it asked nothing that waits for an answer"
                );
                Self::Undone { then: Then::Retry, why, exit: Some(AWAITS), signal: None }
            }
            other => other.clone(),
        })
    }
}

/// Why an attempt without a working folder is parked.
fn no_folder(folder: &Path, now: Option<&Path>) -> String {
    let now = now.map_or_else(String::new, |now| format!("; it was renamed to {}", now.display()));
    format!("the agent's folder {} does not exist{now}", folder.display())
}

/// Makes an ending durable: first the attempt's record, then the round's move to its folder. Returns the final record. The caller
/// holds the round's lock.
pub fn finish(mailbox: &Mailbox, config: &Config, mut run: Run, ending: &Ending) -> Result<Run> {
    let lock = mailbox.lock(&run.workflow_id)?;
    let round = run.round();
    let ending = ending.judged(mailbox, &lock, &run)?;
    run.ended_at = Some(time::now());
    run.retry_at = None;
    run.failure = ending.failure(&run.workflow_id);
    let ending = &if run.is_exec() { ending.without_another_attempt() } else { ending };
    if let Some(failure) = run.failure.as_mut().filter(|_| run.runner == EXEC) {
        failure.todo = format!("go on: relaunch exec {} -- PROGRAM", run.workflow_id);
    }
    let (state, why) = match ending {
        // A judged ending never awaits.
        Ending::Delivered { text, cost_usd } | Ending::Awaits { text, cost_usd } => {
            run.result = Some(shorten(text.raw()));
            run.cost_usd = run.cost_usd.or(*cost_usd);
            (RunState::Delivered, no_result::unasked(mailbox, &lock, &run)?)
        }
        Ending::Asking { question, cost_usd } => {
            // The answer is for this session. The record does not have it yet if the agent asked at once, or if its supervisor died.
            workflows::update(mailbox, &lock, |workflow| workflow.session_id = Some(run.session_id))?;
            run.asks = Some(*question);
            run.cost_usd = run.cost_usd.or(*cost_usd);
            (RunState::Asking, None)
        }
        Ending::Throttled { why, resets_at: Some(at), .. } => {
            // All runs of the account wait for the same moment, which the machine's clock may reach a little early.
            run.retry_at = Some((*at + AFTER_RESET).max(later(config.relaunch.pause(1))));
            (RunState::Failed, Some(why.clone()))
        }
        Ending::Throttled { why, wait, .. } => throttled(mailbox, config, &mut run, why, *wait)?,
        Ending::Held { why } | Ending::Short { why } => throttled(mailbox, config, &mut run, why, None)?,
        Ending::Undone { then: Then::Later, why, .. } => throttled(mailbox, config, &mut run, why, None)?,
        Ending::Failed { why } | Ending::Undone { then: Then::Retry, why, .. } => failed(mailbox, config, &mut run, why)?,
        Ending::NoFolder { folder, now } => (RunState::Parked, Some(no_folder(folder, now.as_deref()))),
        Ending::Hopeless { why, .. } | Ending::Refused { why, .. } | Ending::Undone { then: Then::Never, why, .. } => {
            (RunState::Parked, Some(why.clone()))
        }
        Ending::Interrupted { why, .. } => (RunState::Interrupted, Some(why.clone())),
    };
    (run.state, run.why) = (state, why);
    if run.is_delivered() {
        // Both files are written before either is synced, so that the syncs overlap.
        let record = Record::read(mailbox, &round, run.attempt)?.stage(&run)?;
        let close = close::prepare(mailbox, &lock, Folder::Running, run.question_id, Closing::now(Closed::Delivered, "supervisor", None));
        // If a power cut brings the earlier record back, the round's document still says that it was delivered. The document is durable
        // below.
        record.replace_ahead()?;
        close?.map_or(Ok(()), |close| close.commit(mailbox))?;
        return Ok(run);
    }
    // A person, and the next attempt, have to know.
    run.why = once::beside(mailbox, &round, run.why.take());
    record::write(mailbox, &run)?;
    match run.state {
        RunState::Failed => {
            let event = if run.is_throttled() { "throttled" } else { "failed" };
            audit::record(mailbox, Entry::about_round(event, &round).by("supervisor").why(in_audit(&run)));
            if let Some(at) = run.retry_at {
                Timer { at, due: Due::Retry, round }.arm(mailbox)?;
            }
        }
        _ => park(mailbox, &run)?,
    }
    Ok(run)
}

/// The state that an attempt ends in, and why.
type Decided = (RunState, Option<String>);

/// Waits longer each time, but at least as long as the API asks; parks after `relaunch.throttle_deadline`.
fn throttled(mailbox: &Mailbox, config: &Config, run: &mut Run, why: &str, wait: Option<Duration>) -> Result<Decided> {
    let history = EarlierAttempts::before(mailbox, run)?;
    let pause = config.relaunch.pause(history.throttled + 1).max(wait.unwrap_or_default());
    let retry_at = later(pause);
    let deadline = config.relaunch.throttle_deadline.0;
    let since = history.throttled_since.or(run.ended_at).unwrap_or_else(time::now);
    if (retry_at - since).to_std().unwrap_or_default() > deadline {
        let why = format!("{why} (for longer than relaunch.throttle_deadline = {})", time::human(deadline));
        return Ok((RunState::Parked, Some(why)));
    }
    run.retry_at = Some(retry_at);
    Ok((RunState::Failed, Some(why.to_owned())))
}

fn failed(mailbox: &Mailbox, config: &Config, run: &mut Run, why: &str) -> Result<Decided> {
    let history = EarlierAttempts::before(mailbox, run)?;
    let signature = run.failure.as_ref().map_or("", |f| &f.signature);
    let (count, same) = (history.counted + 1, history.same(signature) + 1);
    let limits = &config.relaunch;
    let why = if count == limits.attempts {
        format!("{why} (attempt {count} of {count})")
    } else if count > limits.attempts {
        // The round was retried by hand, or the limit was lowered.
        format!("{why} ({count} attempts have failed; relaunch.attempts = {})", limits.attempts)
    } else if limits.same_failure > 0 && same >= limits.same_failure {
        format!("{why} (the same failure {same} times in a row)")
    } else {
        run.retry_at = Some(later(limits.pause(count)));
        return Ok((RunState::Failed, Some(why.to_owned())));
    };
    Ok((RunState::Parked, Some(why)))
}

fn later(pause: Duration) -> time::Time {
    let pause = chrono::TimeDelta::from_std(pause).unwrap_or(chrono::TimeDelta::MAX);
    time::now().checked_add_signed(pause).unwrap_or(time::Time::MAX_UTC)
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(MAX_RESULT) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// Moves the round from `running/` to `parked/`, where it stays until it is retried or dropped. The caller holds the workflow's lock.
pub fn park(mailbox: &Mailbox, run: &Run) -> Result<()> {
    let round = run.round();
    if disk::rename(&mailbox.round(Folder::Running, &round), &mailbox.round(Folder::Parked, &round))? == Placed::Done {
        audit::record(mailbox, Entry::about_round("parked", &round).by("supervisor").why(in_audit(run)));
        if let Ok(document) = read_question::document(&mailbox.round(Folder::Parked, &round)) {
            wake::by_end(mailbox, &document.typed);
        }
        wake::starter(mailbox, &round.workflow);
    }
    Ok(())
}

/// The end of an attempt as the audit trail has it: the class of the failure, and where to read the reason. It holds no words of an
/// agent.
fn in_audit(run: &Run) -> String {
    let class = run.failure.as_ref().map_or("stopped", |failure| failure.class.word());
    format!("{class}; the reason is in runs/{}/run.json", run.token())
}
