//! `relaunch spawn` and `relaunch resume`: what an agent calls in its Bash to start another one, and to look for its reply.
//!
//! Standard output is one thing only: the final text of the other agent, a signal on a line of its own, or how it ended otherwise.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::agent::chain_signals::{Signal, quoted};
use crate::chain::bounds::{self, Bounds};
use crate::chain::in_turn::{self, InTurn};
use crate::chain::outcome::{self, View};
use crate::chain::{tree, wake};
use crate::config::{self, Config};
use crate::disk::hints::Bell;
use crate::error::{Error, Result};
use crate::id::WorkflowId;
use crate::mailbox::awaits::{End, Ended, Join};
use crate::mailbox::{Folder, Mailbox, close, presence};
use crate::run::claim::ending::Ending;
use crate::run::claim::record::{Claimant, Run};
use crate::run::claim::recovery::{self, Recovered};
use crate::run::claim::task::{self, Task};
use crate::run::claim::{self, ClaimAttempt};
use crate::run::money::budget::Allowance;
use crate::run::money::day::DayBudget;
use crate::run::process::detach;
use crate::run::process::launch::BASH_TIMEOUT;
use crate::run::view::status;
use crate::surface::program;
use crate::time;

/// The longest wait, unless the caller's Bash takes less: it ends after ten minutes at most.
const PATIENCE: Duration = Duration::from_secs(9 * 60);
/// What Claude Code's Bash takes where nothing is said.
const USUAL_BASH: Duration = Duration::from_secs(120);
/// The longest time between two looks, where no event comes.
const LOOK: Duration = Duration::from_secs(5);

/// What `relaunch spawn` was told.
#[derive(Debug, Default)]
pub struct Spawn {
    /// The file with the instructions, or `-`.
    pub file: Option<PathBuf>,
    /// The prompt itself.
    pub prompt: Option<String>,
    /// As which agent.
    pub agent: Option<String>,
    /// With which model.
    pub model: Option<String>,
    /// How long to wait.
    pub timeout: Option<String>,
    /// Do not wait.
    pub background: bool,
    /// With how many others the parent is woken.
    pub join_any: bool,
    /// The child's id.
    pub workflow: Option<WorkflowId>,
}

/// `relaunch spawn`.
pub fn spawn(mailbox: &Mailbox, args: Spawn, json: bool) -> Result<u8> {
    let config = config::load()?.config;
    let deadline = Instant::now() + patience(args.timeout.as_deref())?;
    let parent = parent_in_run()?;
    let child = args.workflow.clone().unwrap_or_else(WorkflowId::generate);
    let mut task = task(mailbox, &args, &child, parent.as_ref())?;
    let file = args.file.as_deref().and_then(|f| f.canonicalize().ok());
    let request = program::env("ASKBOX_RUN").and_then(|run| in_turn::request(&run, &task, file.as_deref()));
    let cut_off = match (&parent, request) {
        (Some(parent), Some(request)) => InTurn::take_over(mailbox, parent, request, args.workflow.as_ref())?,
        _ => None,
    };
    let (waiting, begun) = match cut_off {
        Some(cut_off) => {
            task.workflow = cut_off.child().clone();
            let begun = outcome::own(mailbox, &task.workflow)? != outcome::Own::Unknown;
            if !begun {
                may_begin(mailbox, &config, parent.as_ref())?;
            }
            (Some(cut_off), begun)
        }
        None => {
            bounds::is_new(mailbox, parent.as_ref(), &child)?;
            let bounds = Bounds { depth: config.chain.max_depth, children: config.chain.max_children };
            if let Some(parent) = &parent {
                bounds::depth(mailbox, bounds, parent)?;
            }
            may_begin(mailbox, &config, parent.as_ref())?;
            let join = if args.join_any { Join::Any } else { Join::All };
            let begin = |parent| InTurn::begin(mailbox, bounds, parent, &child, join, request);
            (parent.as_ref().map(begin).transpose()?, false)
        }
    };
    let child = task.workflow.clone();
    if begun {
        take_up(mailbox, &config, &child)?;
    } else {
        begin(mailbox, &config, task, waiting.as_ref())?;
    }
    if args.background {
        program::print_value(child.as_str())?;
        waiting.map_or(Ok(()), |w| w.answered())?;
        return Ok(0);
    }
    match wait(mailbox, &child, deadline, || Ok(()))? {
        Came::Ended(ended) => tell(&ended, json, waiting),
        Came::Asking | Came::Late => {
            let status = signal(&Signal::PendStarted(child))?;
            // Killed before this, the next call for the same says the same again.
            waiting.map_or(Ok(()), |w| w.answered())?;
            Ok(status)
        }
    }
}

/// Whether the tree's limits and today's budget let anything begin.
fn may_begin(mailbox: &Mailbox, config: &Config, parent: Option<&WorkflowId>) -> Result<()> {
    if let Some(parent) = parent
        && let Some(Ending::Refused { why, .. }) = Allowance::of_tree(mailbox, config, parent)?.refusal()
    {
        let hint = "end your turn and say what is missing; the operator can raise the limit and go on from there";
        return Err(Error::conflict(why, hint));
    }
    match DayBudget::of(mailbox, config, time::now())? {
        DayBudget::Available => {}
        DayBudget::Spent { until, why } => {
            let hint = format!("nothing is launched before {}; end your turn and say what is missing", time::rfc3339(until));
            return Err(Error::conflict(why, hint));
        }
        // The parent's own part among it: the child would wait for its parent, and the parent for its child.
        DayBudget::Reserved { why } => {
            return Err(Error::conflict(why, "end your turn and say what is missing; a smaller limits.run_cost leaves room for children"));
        }
    }
    Ok(())
}

fn begin(mailbox: &Mailbox, config: &Config, task: Task, waiting: Option<&InTurn<'_>>) -> Result<()> {
    let run = task::begin(mailbox, config, task).inspect_err(|_| {
        if let Some(waiting) = waiting {
            let _ = waiting.forget();
        }
    })?;
    if let Err(e) = detach::start(mailbox, &run) {
        // It is durable all the same: a watcher goes on with it.
        program::complain(&e);
    }
    Ok(())
}

/// The workflow in whose run we are called: only that can be woken.
fn parent_in_run() -> Result<Option<WorkflowId>> {
    let parent = program::workflow_from_env("ASKBOX_WORKFLOW_ID")?;
    Ok(parent.filter(|p| program::env("ASKBOX_RUN").is_some_and(|run| run.starts_with(&format!("{p}/")))))
}

/// As long as the Bash around us waits, and a little less.
fn patience(given: Option<&str>) -> Result<Duration> {
    if let Some(given) = given {
        return time::parse_duration(given, "timeout").map_err(|e| program::of_flag("--timeout", e));
    }
    let said = program::env(BASH_TIMEOUT).and_then(|ms| ms.parse().ok()).map(Duration::from_millis);
    let bash = said.or_else(|| program::env("CLAUDECODE").map(|_| USUAL_BASH));
    Ok(bash.map_or(PATIENCE, |limit| (limit / 10 * 9).min(PATIENCE)))
}

/// What the child is to do. It works where its parent works or below: nothing else is its to see.
fn task(mailbox: &Mailbox, args: &Spawn, child: &WorkflowId, parent: Option<&WorkflowId>) -> Result<Task> {
    let here = std::env::current_dir().ok();
    let parents = match parent {
        Some(parent) => crate::mailbox::documents::workflow::read(mailbox, parent)?.and_then(|d| d.typed.cwd),
        None => None,
    };
    let real = |dir: &Path| dir.canonicalize().ok();
    let cwd = match (&here, &parents) {
        (Some(here), Some(parents)) if real(here).zip(real(parents)).is_some_and(|(h, p)| h.starts_with(p)) => Some(here.clone()),
        (_, Some(parents)) => Some(parents.clone()),
        _ => here,
    };
    let mut reads = Vec::new();
    let prompt = match (&args.file, &args.prompt) {
        (None, Some(prompt)) => prompt.clone(),
        (Some(file), None) if file == Path::new("-") => program::read_stdin_text(task::MAX_PROMPT as u64)?,
        (Some(file), None) => {
            let path = file
                .canonicalize()
                .map_err(|_| Error::not_found(format!("there is no file {}", file.display()), "name the file with the instructions"))?;
            if parent.is_none() {
                // Named by a person, not by an agent.
                reads.push(path.clone());
            }
            format!("Read {} and follow its instructions.", path.display())
        }
        _ => return Err(Error::usage("nothing is to be done", "relaunch spawn FILE.md, or relaunch spawn --prompt TEXT")),
    };
    // Agents may be called as people like; what is no name at all is refused here, what nobody has defined by the agent program.
    let name = |v: &str| !v.trim().is_empty() && v.len() <= 1024 && !v.starts_with('-') && !v.contains(char::is_control);
    let word = |v: &str| name(v) && v.len() <= 200 && v.chars().all(|c| c.is_ascii_graphic());
    for (flag, value, good) in [("--agent", &args.agent, &name as &dyn Fn(&str) -> bool), ("--model", &args.model, &word)] {
        if value.as_deref().is_some_and(|v| !good(v)) {
            return Err(Error::usage(format!("{flag}: is no name"), "use the name as `claude` takes it"));
        }
    }
    Ok(Task {
        cwd,
        parent: parent.cloned(),
        role: args.agent.clone(),
        model: args.model.clone(),
        reads,
        ..Task::new(child.clone(), prompt)
    })
}

/// `relaunch resume ID`.
pub fn resume(mailbox: &Mailbox, workflow: &WorkflowId, timeout: Option<&str>, json: bool) -> Result<u8> {
    let config = config::load()?.config;
    let deadline = Instant::now() + patience(timeout)?;
    let known = outcome::own(mailbox, workflow)? != outcome::Own::Unknown;
    if !known && close::latest_round(mailbox, workflow).is_none() {
        return Err(status::unknown(workflow));
    }
    let mut started = false;
    let drive = || {
        // Where a watcher watches, this is its work.
        if !presence::anybody(mailbox)? {
            drive(mailbox, &config, workflow)?;
        }
        Ok(())
    };
    let came = match outcome::view(mailbox, workflow)? {
        View::Ended(ended) => Came::Ended(ended),
        View::Asking => {
            drive()?;
            Came::Asking
        }
        View::Working => {
            started = true;
            wait(mailbox, workflow, deadline, drive)?
        }
    };
    match came {
        Came::Ended(ended) => {
            // A parent that looked for it by itself need not be told again.
            let waiting = parent_in_run()?.map(|parent| InTurn::of(mailbox, &parent, workflow)).transpose()?.flatten();
            tell(&ended, json, waiting)
        }
        Came::Asking if started => signal(&Signal::PendStarted(workflow.clone())),
        Came::Asking | Came::Late => signal(&Signal::PendOngoing),
    }
}

/// Starts whatever can go on at or below a workflow.
fn drive(mailbox: &Mailbox, config: &Config, root: &WorkflowId) -> Result<()> {
    for workflow in tree::members(mailbox, root)? {
        let mut runs: Vec<Run> = wake::touched(mailbox, config, &workflow)?;
        if mailbox.document(Folder::Answered, &workflow).exists()
            && let ClaimAttempt::Claimed(claim) = claim::claim(mailbox, config, &workflow, Claimant::Supervisor)?
        {
            runs.push(claim.hand_over());
        } else {
            take_up(mailbox, config, &workflow)?;
        }
        runs.iter().try_for_each(|run| detach::start(mailbox, run))?;
    }
    Ok(())
}

/// Goes on with a claimed round that nobody supervises.
fn take_up(mailbox: &Mailbox, config: &Config, workflow: &WorkflowId) -> Result<()> {
    let Some(round) = outcome::claimed(mailbox, workflow) else { return Ok(()) };
    match recovery::recover(mailbox, config, &round)? {
        Recovered::Launch(run) | Recovered::Claimed(run) => detach::start(mailbox, &run),
        _ => Ok(()),
    }
}

enum Came {
    Ended(Ended),
    Asking,
    Late,
}

/// Waits until a workflow has ended, or asks, or the time is over. Woken by what happens in the mailbox.
fn wait(mailbox: &Mailbox, workflow: &WorkflowId, deadline: Instant, drive: impl Fn() -> Result<()>) -> Result<Came> {
    let mut bell = Bell::of_folder(&mailbox.folder(Folder::Running)).ok();
    for folder in [Folder::Pending, Folder::Answered, Folder::Closed, Folder::Parked, Folder::Awaits] {
        if let Some(bell) = &mut bell {
            let _ = bell.also(&mailbox.folder(folder));
        }
    }
    loop {
        drive()?;
        match outcome::view(mailbox, workflow)? {
            View::Ended(ended) => return Ok(Came::Ended(ended)),
            View::Asking => return Ok(Came::Asking),
            View::Working => {}
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(Came::Late);
        }
        match &bell {
            Some(bell) => bell.wait(left.min(LOOK)),
            None => std::thread::sleep(left.min(LOOK / 10)),
        }
    }
}

fn signal(signal: &Signal) -> Result<u8> {
    program::print(&format!("{signal}\n"))?;
    Ok(0)
}

/// Tells how a workflow ended: the parent that waits for it, or whoever asked.
fn tell(ended: &Ended, json: bool, waiting: Option<InTurn<'_>>) -> Result<u8> {
    match waiting {
        Some(waiting) => waiting.tell(ended, || print(ended, json))?,
        None => print(ended, json)?,
    }
    Ok(u8::from(ended.end != End::Finished))
}

/// A reader that is gone was not told.
fn print(ended: &Ended, json: bool) -> Result<()> {
    let words = if json {
        let line = String::from_utf8_lossy(&crate::document::to_json(ended)?).into_owned();
        crate::text::escape_json(&line)
    } else if ended.end == End::Finished {
        quoted(&ended.text)
    } else {
        format!("{} ({}): {}", ended.end.word(), ended.workflow_id, crate::text::one_line(&ended.text))
    };
    let mut out = std::io::stdout().lock();
    writeln!(out, "{words}").and_then(|()| out.flush()).map_err(|e| {
        Error::failed(format!("cannot write to standard output: {e}"), format!("print it again: relaunch resume {}", ended.workflow_id))
    })
}

/// `relaunch stop --tree ID`: stops every run at or below a workflow, and wakes nobody because of it.
pub fn stop_tree(mailbox: &Mailbox, root: &WorkflowId, stop: impl Fn(&WorkflowId) -> Result<u8>) -> Result<u8> {
    let members = tree::members(mailbox, root)?;
    tree::be_patient(mailbox, &members)?;
    let mut stopped = 0;
    // From above: a parent that is stopped starts nothing more.
    for member in &members {
        match stop(member) {
            Ok(_) => stopped += 1,
            Err(Error::NotFound { .. } | Error::Conflict { .. }) => {}
            Err(e) => return Err(e),
        }
    }
    if stopped == 0 {
        return Err(Error::not_found(format!("no run at or below {root} is live"), format!("see where it stands: relaunch status {root}")));
    }
    Ok(0)
}
