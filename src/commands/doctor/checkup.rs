//! The objects of the doctor's checks, and the problems found so far.

use std::collections::{BTreeSet, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::commands::doctor::findings::{Facts, Findings};
use crate::commands::doctor::progress::Progress;
use askbox_cli::{Context, program};
use askbox_config::{Config, Loaded, Runner};
use askbox_mailbox::checkpoints::store;
use askbox_mailbox::derived::FolderState;
use askbox_mailbox::disk::{self, Entry};
use askbox_mailbox::documents::checkpoint;
use askbox_mailbox::listing::closings::{self, Closed};
use askbox_mailbox::{Error, Folder, LockHolder, Mailbox, Result, WorkflowId, pause, quarantine, text};
use askbox_run::Teller;
use askbox_run::story::{OpenWorkflows, cause};

/// How long the doctor waits, once, before it says that a watcher hangs.
pub(super) const MOMENT: Duration = Duration::from_secs(1);
/// The time that a running watcher is given for work that it does immediately.
pub(super) const AT_ONCE: Duration = Duration::from_secs(10);
/// An answer counts as forgotten if the session that asked has not taken it after this time.
pub(super) const PATIENCE: Duration = Duration::from_secs(600);
/// A watcher counts as hanging if it has left work alone for this time, even if its lock is held.
pub(super) const HANGS: Duration = Duration::from_secs(60);

/// A temporary file counts as left over after this time. A younger one may still be in use.
pub(super) const LEFT_OVER: Duration = Duration::from_secs(3600);

/// How many closed rounds are checked, those that were closed last, and how many are looked at to estimate the space of all.
pub(super) const CLOSED_CHECKED: usize = 16;

/// What the checks need to know of the only workflow's newest round.
#[derive(Debug, Clone, Copy)]
pub(super) struct Newest {
    pub is_open: bool,
    pub is_before_launch: bool,
    /// True if it waits for the watcher, or would.
    pub waits_for_watcher: bool,
}

/// The objects of the checks, and the problems found so far.
pub(super) struct Checkup {
    pub root: PathBuf,
    /// The mailbox, or `None` if it cannot be opened.
    pub mailbox: Option<Mailbox>,
    /// True if there is no mailbox.
    pub is_missing: bool,
    /// The only workflow that is checked, and its newest round.
    pub only: Option<WorkflowId>,
    pub newest: Option<Newest>,
    /// The values in force. The defaults, if the configuration cannot be read.
    pub config: Config,
    /// The configuration as it was loaded, or why it cannot be read.
    pub loaded: Result<Arc<Loaded>>,
    /// True if this computer only answers questions of other machines.
    pub only_answers: bool,
    /// True if a watcher runs on the mailbox.
    pub watcher: bool,
    /// An unanswered question is stale once it is this old.
    pub stale: Duration,
    /// ` --mailbox DIR` for suggested commands. Empty for the default mailbox.
    pub flag: String,
    /// True if every closed round is checked, and not only the newest ones.
    pub all_rounds: bool,
    /// The closed rounds, with those that are checked.
    pub closed: Closed,
    /// The programs' common arguments and their configuration.
    pub context: Context,
    pub findings: Findings,
    /// The kinds that the running check may name.
    pub says: Vec<&'static str>,
    pub facts: Facts,
    /// The folders of agents whose PATH was checked, and the settings files whose hooks were.
    pub seen: HashSet<PathBuf>,
    pub progress: Progress,
    /// The time that the doctor gives a watcher before it says that the watcher hangs. It is given only once: `None` afterwards.
    pub moment: Option<Duration>,
    /// True if Codex's daemon has not answered.
    pub is_codex_silent: bool,
}

impl Checkup {
    /// Adds a problem.
    pub fn report(&mut self, kind: &'static str, subject: impl Into<String>, problem: impl Into<String>, mend: impl Into<String>) {
        debug_assert!(self.says.contains(&kind), "the table says nothing of {kind}");
        self.findings.add(kind, &subject.into(), &problem.into(), &mend.into());
    }

    /// Runs checks that read a folder in the order of the disk, and sorts the problems that they find.
    pub fn sorted(&mut self, checks: impl FnOnce(&mut Self)) {
        self.findings.sort(true);
        checks(self);
        self.findings.sort(false);
    }

    /// Adds the document at `path`, which cannot be read, unless it may still be half written.
    pub fn report_unreadable(&mut self, path: &Path, error: &Error) {
        if matches!(error, Error::Newer { .. }) {
            self.report("newer", self.shown(path), problem(error), "askbox --version".to_owned());
        } else if is_about_content(path, error) && age(path) >= quarantine::GRACE {
            self.report("unreadable", self.shown(path), problem(error), edit(path));
        }
    }

    /// The mailbox and the only workflow that is checked. `None` if the whole mailbox is.
    pub fn asked(&self) -> Option<(Mailbox, WorkflowId)> {
        self.mailbox.clone().zip(self.only.clone())
    }

    /// The runners in use, or the one of the only workflow. None if the configuration does not define one of them.
    pub fn runners(&self) -> Vec<(String, Runner)> {
        match &self.only {
            Some(id) => self.config.runner_of(id).into_iter().collect(),
            None => self.config.runner.in_use().unwrap_or_default(),
        }
    }

    /// The process that watches, if it is seen.
    pub fn watcher_process(&self) -> Option<LockHolder> {
        let mailbox = self.mailbox.as_ref().filter(|_| self.watcher)?;
        disk::lock_holder(&mailbox.lock_file("watchers"))
    }

    /// A command of one of the programs, with the flag that selects this mailbox.
    pub fn command(&self, words: &str) -> String {
        format!("{words}{}", self.flag)
    }

    /// A command that may launch an agent. If a person has paused the queue, `relaunch go` stands before it, because the command alone
    /// would be refused.
    pub fn launching(&self, words: &str) -> String {
        let is_held = self.mailbox.as_ref().is_some_and(|mailbox| pause::held(mailbox).is_some());
        let go = if is_held { format!("{} && ", self.command("relaunch go")) } else { String::new() };
        go + &self.command(words)
    }

    /// The command that restarts a healthy watcher.
    pub fn restart(&self, pid: u32) -> String {
        cause::restart(pid, &self.command("relaunch watch"))
    }

    /// Tells the stories of rounds.
    pub fn teller<'m>(&self, mailbox: &'m Mailbox) -> Teller<'m> {
        Teller::new(mailbox, self.context.loaded())
    }

    /// The workflows whose files are checked: the open ones, and the workflows of the closed rounds that are checked. `None` stands for all
    /// workflows and all names in `closed/`. In a mailbox with a long history, `--all-rounds` asks for that.
    pub fn recent_workflows(&self) -> Option<BTreeSet<WorkflowId>> {
        let mailbox = self.mailbox.as_ref().filter(|_| !self.all_rounds)?;
        let known = FolderState::of(&mailbox.folder(Folder::Runs)).and_then(|runs| runs.folders());
        if self.closed.count < closings::MANY && known.is_none_or(|known| known < closings::MANY as u64) {
            return None;
        }
        let open = OpenWorkflows::find(mailbox).ok()?;
        Some(open.ids().chain(self.closed.newest.iter().map(|round| &round.workflow)).cloned().collect())
    }

    /// The path for people: relative to the mailbox if it lies in the mailbox.
    pub fn shown(&self, path: &Path) -> String {
        text::file_name(path.strip_prefix(&self.root).unwrap_or(path))
    }
}

/// Describes the watcher that holds this lock and hangs, and how to end it. Also returns the command that lets it go on, or that ends it.
pub(super) fn hanging(mailbox: &Mailbox, lock: &str) -> (String, Option<String>) {
    let Some(holder) = disk::lock_holder(&mailbox.lock_file(lock)) else {
        return ("it hangs, or its log says why: end it and start another one, runs go on".to_owned(), None);
    };
    let (wake, end) = (format!("kill -CONT {}", holder.pid), format!("kill -9 {}", holder.pid));
    match holder.is_stopped {
        true => (format!("{holder}; `{wake}` lets it go on, or `{end}` ends it, and runs go on"), Some(wake)),
        false => (format!("{holder} hangs, or its log says why; `{end}` ends it: start another one then, runs go on"), Some(end)),
    }
}

/// True if the error is about the document's content. Links, owners and modes are checked elsewhere, and a file that is gone is not
/// a problem.
pub(super) fn is_about_content(path: &Path, error: &Error) -> bool {
    !error.is_missing_file() && disk::is_regular(path)
}

/// True if the runner's program is `claude`, and not another one that behaves like it.
pub(super) fn is_claude(runner: &Runner) -> bool {
    Path::new(&runner.program).file_name().is_some_and(|name| name == "claude")
}

/// A variable with a value, as a run of this runner will have it.
pub(super) fn of_run(runner: &Runner, name: &str) -> Option<OsString> {
    let own = runner.env.get(name).map(OsString::from);
    own.or_else(|| std::env::var_os(name)).filter(|value| !value.is_empty())
}

/// The path as a shell word.
pub(super) fn word(path: &Path) -> String {
    text::path_word(path)
}

/// The command that moves a path out of the mailbox, to a name beside it that is free.
pub(super) fn set_aside(checkup: &Checkup, path: &Path) -> String {
    format!("mv -n {} {}", word(path), word(&free_name(&checkup.root.with_file_name(format!("{}.aside", name(path))))))
}

/// The path, with a number behind it if something has that name.
pub(super) fn free_name(path: &Path) -> PathBuf {
    let numbered = |n: u32| PathBuf::from(format!("{}.{n}", path.display()));
    let free = |path: &PathBuf| !disk::exists(path);
    Some(path.to_path_buf()).filter(free).or_else(|| (1..1000).map(numbered).find(free)).unwrap_or_else(|| path.to_path_buf())
}

/// The command that opens an editor on a file.
pub(super) fn edit(path: &Path) -> String {
    format!("${{EDITOR:-vi}} {}", word(path))
}

/// The entries of a folder, in the order of the disk and one at a time, because there may be millions. Empty if the folder cannot be read.
pub(super) fn entries(folder: &Path) -> impl Iterator<Item = Entry> + use<> {
    disk::entries(folder).into_iter().flatten().flatten()
}

/// The last part of a path.
pub(super) fn name(path: &Path) -> String {
    path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The time since a file was changed.
pub(super) fn age(path: &Path) -> Duration {
    disk::metadata(path).and_then(|m| m.modified()).ok().and_then(|at| at.elapsed().ok()).unwrap_or_default()
}

/// An error as the text of a problem.
pub(super) fn problem(error: &Error) -> String {
    format!("{}; {}", program::message(error), error.hint())
}

/// The reason why a checkpoint cannot be resumed from, or `None` if it can.
pub(super) fn checkpoint_problem(mailbox: &Mailbox, path: &Path, workflow: &WorkflowId) -> Option<Error> {
    store::read_named(mailbox, path, workflow).and_then(|d| checkpoint::check(&d.typed).map_err(|e| e.in_file(path))).err()
}
