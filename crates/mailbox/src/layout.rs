//! The layout of a mailbox: its folders, its paths, and the lock of a workflow.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::disk::{self, Patience, Purpose, Subfolders};
use crate::{AttemptId, Error, Lock, Result, RoundId, WorkflowId};

/// The name of an empty file in `locks/`. It says that every child is among its parent's names: see [`crate::family::lineage`].
pub(super) const CHILDREN_ARE_NOTED: &str = "children";

/// The largest run record, in bytes.
pub const MAX_RUN: u64 = 1 << 20;

/// The folders of a mailbox. The first five are the states of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, strum::EnumIter, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Folder {
    /// `WORKFLOW.json`: the question waits for an answer.
    Pending,
    /// `WORKFLOW.json`: answered, and not yet claimed by a run.
    Answered,
    /// `WORKFLOW.QUESTION.json`: claimed. A run delivers the answer, or will do so after a delay.
    Running,
    /// `WORKFLOW.QUESTION.json`: all attempts failed, or the run was stopped. `relaunch retry` moves it back.
    Parked,
    /// `WORKFLOW.QUESTION.json`: over.
    Closed,
    /// Files that cannot be used, each with its `.reason`.
    Quarantine,
    /// `WORKFLOW.json`: the state of a workflow, so that a fresh process can resume it.
    Checkpoints,
    /// `WORKFLOW.json`: the record of a workflow, such as its parent and session.
    Workflows,
    /// `WORKFLOW/QUESTION/ATTEMPT/`: `run.json`, `events.jsonl`, `stderr.log`, `lock`. Every round that was claimed or closed has a
    /// folder here. So the rounds of one workflow are found by these names.
    Runs,
    /// Empty files whose names are dates. They are hints, and can be rebuilt from the documents.
    Timers,
    /// Lock files. They are never deleted.
    Locks,
    /// `PARENT/CHILD.json`: a workflow waits for the end of another one.
    Awaits,
}

impl Folder {
    /// All folders. The states of a round come first, in the order of its life.
    pub fn all() -> impl Iterator<Item = Self> {
        <Self as strum::IntoEnumIterator>::iter()
    }

    /// The folder's name on disk.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// An opened mailbox. Its folders belong to the user and are not symbolic links, and no other user may write into them.
///
/// Cloning is cheap: the clones share the opened folder.
#[derive(Debug, Clone)]
pub struct Mailbox {
    root: Arc<disk::Root>,
    patience: Patience,
}

impl Mailbox {
    /// Returns the absolute path of the mailbox: `flag`, else `$ASKBOX_DIR`, else `~/.claude/questions`.
    ///
    /// # Errors
    /// [`Error::Usage`] if the path is empty, is not UTF-8 or has control characters, or if `$HOME` is needed and not usable.
    pub fn locate(flag: Option<&Path>) -> Result<PathBuf> {
        let from_env = || std::env::var_os("ASKBOX_DIR").filter(|v| !v.is_empty()).map(PathBuf::from);
        let path = match flag.map(Path::to_path_buf).or_else(from_env) {
            Some(path) => path,
            None => home()?.join(".claude/questions"),
        };
        let path = std::path::absolute(&path).map_err(|_| Error::usage("the mailbox path is empty", "name a folder: --mailbox DIR"))?;
        check_path(&path).map(|()| path)
    }

    /// Opens an existing mailbox: a folder with at least one of the mailbox's folders in it. An empty folder is refused, because it
    /// may be the mount point of a mailbox that is not mounted.
    ///
    /// Makes missing folders, and makes folders private that were made under `umask 002`: see [`disk`].
    ///
    /// # Errors
    /// - [`Error::NotFound`] if the folder does not exist or holds no mailbox.
    /// - [`Error::Usage`] if the path is not UTF-8 or has control characters.
    /// - [`Error::Failed`] if a folder is not to be trusted.
    /// - [`Error::Io`] if the system refuses.
    pub fn open(root: impl AsRef<Path>) -> Result<Self> {
        Self::open_for(root.as_ref(), Purpose::Change)
    }

    /// Opens an existing mailbox only to read it. Nothing below it is changed: missing folders stay missing, and every later change by this process
    /// is refused. A folder that its group may write to is refused too.
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    pub fn open_to_look(root: impl AsRef<Path>) -> Result<Self> {
        Self::open_for(root.as_ref(), Purpose::Look)
    }

    fn open_for(root: &Path, purpose: Purpose) -> Result<Self> {
        check_path(root)?;
        let mailbox = Self { root: disk::Root::open(root, purpose)?, patience: Patience::default() };
        match mailbox.root.check_subfolders(Folder::all().map(Folder::name))? {
            Subfolders::All => {}
            Subfolders::None => {
                return Err(Error::not_found(format!("{} holds no mailbox", mailbox.root().display()), disk::MAKES_A_MAILBOX));
            }
            Subfolders::Some if purpose == Purpose::Look => {}
            Subfolders::Some => {
                // A mailbox that cannot be written can still be read.
                drop(mailbox.complete());
                mailbox.root.check_subfolders(Folder::all().map(Folder::name))?;
            }
        }
        // A failure is ignored: the first write to this mailbox will fail too, and report it.
        if purpose == Purpose::Change {
            let _ = mailbox.make_durable();
        }
        Ok(mailbox)
    }

    /// Opens a mailbox. Creates it if it does not exist, and makes missing folders.
    ///
    /// # Errors
    /// [`Error::Usage`] if the path is not UTF-8 or has control characters. [`Error::Failed`] if a folder is not to be trusted.
    /// [`Error::Io`] if the system refuses.
    pub fn open_or_create(root: impl AsRef<Path>) -> Result<Self> {
        let path = root.as_ref();
        check_path(path)?;
        let root = match disk::Root::open(path, Purpose::Change) {
            Err(Error::NotFound { .. }) => {
                disk::create_folder(path)?;
                disk::Root::open(path, Purpose::Change)?
            }
            other => other?,
        };
        let mailbox = Self { root, patience: Patience::default() };
        if mailbox.root.check_subfolders(Folder::all().map(Folder::name))? != Subfolders::All {
            mailbox.complete()?;
        }
        mailbox.make_durable()?;
        Ok(mailbox)
    }

    /// Returns this mailbox with the patience of a service: if another process keeps a lock, [`Error::Held`] comes soon.
    pub fn for_a_service(self) -> Self {
        Self { patience: Patience::of_a_service(), ..self }
    }

    /// How long to wait for a lock of this mailbox.
    pub fn patience(&self) -> &Patience {
        &self.patience
    }

    /// Makes missing folders. Another program may have made the mailbox with fewer folders.
    ///
    /// # Errors
    /// [`Error::Failed`] if a folder is not to be trusted. [`Error::Io`] if the system refuses.
    pub fn complete(&self) -> Result<()> {
        let is_new = [Folder::Workflows, Folder::Pending, Folder::Answered, Folder::Running].iter().all(|f| !disk::exists(self.folder(*f)));
        Folder::all().try_for_each(|folder| disk::create_folder(&self.folder(folder)))?;
        self.note_no_children(is_new);
        // Another process may have made a folder at the same time, so all are checked.
        self.root.check_subfolders(Folder::all().map(Folder::name)).map(drop)
    }

    /// Creates the mark in a new mailbox, where no child can be missing among its parent's names.
    fn note_no_children(&self, is_new: bool) {
        if is_new {
            // If the mark cannot be made, the first program that needs it looks at every record. There are few of them.
            let _ = disk::touch(&self.lock_file(CHILDREN_ARE_NOTED));
        }
    }

    /// Syncs the names of the mailbox's folders. Another program may have made them without a sync, and then a power cut would
    /// remove them with all their content. This happens once for each mailbox, and then `locks/synced` exists.
    pub fn make_durable(&self) -> Result<()> {
        let mark = self.lock_file("synced");
        if !disk::exists(&mark) {
            disk::sync_names(self.root())?;
            // If the mark cannot be made, the next program syncs again.
            let _ = disk::touch(&mark);
        }
        Ok(())
    }

    /// Returns a message about the folders that were writable by their group and are private now, or `None`. Each folder is
    /// reported once.
    pub fn tightened(&self) -> Option<String> {
        let folders: Vec<String> = self.root.take_tightened().iter().map(crate::text::path_word).collect();
        let are = if folders.len() == 1 { "was writable by its group and is" } else { "were writable by their group and are" };
        (!folders.is_empty()).then(|| format!("{} {are} private now (mode 0700)", folders.join(", ")))
    }

    /// The path of the mailbox's own folder.
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// Fails if the mailbox's path no longer leads to this mailbox. This value still reads and changes the documents of the opened
    /// mailbox, even if that was moved.
    ///
    /// # Errors
    /// [`Error::NotFound`] if the path does not exist. [`Error::Conflict`] if another folder has the path.
    pub fn check_in_place(&self) -> Result<()> {
        self.root.check_in_place()
    }

    /// The path of one of the mailbox's folders.
    pub fn folder(&self, folder: Folder) -> PathBuf {
        self.root().join(folder.name())
    }

    /// The path `FOLDER/WORKFLOW.json`.
    pub fn document(&self, folder: Folder, workflow: &WorkflowId) -> PathBuf {
        self.file(folder, &workflow.file_name())
    }

    /// The path `FOLDER/WORKFLOW.QUESTION.json`.
    pub fn round(&self, folder: Folder, round: &RoundId) -> PathBuf {
        self.file(folder, &round.file_name())
    }

    fn file(&self, folder: Folder, name: &str) -> PathBuf {
        let mut path = PathBuf::with_capacity(self.root().as_os_str().len() + folder.name().len() + name.len() + 2);
        [self.root(), folder.name().as_ref(), name.as_ref()].iter().for_each(|piece| path.push(piece));
        path
    }

    /// The path `runs/WORKFLOW`.
    pub fn runs_of_workflow(&self, workflow: &WorkflowId) -> PathBuf {
        self.folder(Folder::Runs).join(workflow.as_str())
    }

    /// The path `runs/WORKFLOW/waiter`: the lock of a process that waits for the workflow's answer. There is one for each workflow:
    /// before a post its round has no id yet, and right after the post the answer may already come.
    pub fn waiter(&self, workflow: &WorkflowId) -> PathBuf {
        self.runs_of_workflow(workflow).join("waiter")
    }

    /// The path `runs/WORKFLOW/QUESTION`.
    pub fn runs_of(&self, round: &RoundId) -> PathBuf {
        self.runs_of_workflow(&round.workflow).join(round.question.to_string())
    }

    /// The path `runs/WORKFLOW/QUESTION/ATTEMPT`.
    pub fn attempt(&self, run: &AttemptId) -> PathBuf {
        self.runs_of(&run.round).join(run.attempt.to_string())
    }

    /// The path of `audit.jsonl`.
    pub fn audit(&self) -> PathBuf {
        self.root().join("audit.jsonl")
    }

    /// The path of a lock file in `locks/` that does not belong to a workflow, such as `audit`.
    pub fn lock_file(&self, name: &str) -> PathBuf {
        self.folder(Folder::Locks).join(name)
    }

    /// Takes the lock of a workflow. Every transition of the workflow happens under it. Workflows share 256 lock files (stripes),
    /// because lock files are never deleted. Therefore a process must never hold two of these locks at once.
    ///
    /// # Errors
    /// [`Error::Held`] if another process keeps the lock. [`Error::Io`] if the system refuses.
    pub fn lock(&self, workflow: &WorkflowId) -> Result<WorkflowLock> {
        Ok(WorkflowLock { _lock: Lock::acquire_with(&self.stripe(workflow), &self.patience)?, workflow: workflow.clone() })
    }

    /// True if another process holds the lock of this workflow, or of a workflow with the same stripe.
    ///
    /// # Errors
    /// [`Error::Io`] if the system refuses.
    pub fn is_locked(&self, workflow: &WorkflowId) -> Result<bool> {
        Lock::is_held(&self.stripe(workflow))
    }

    fn stripe(&self, workflow: &WorkflowId) -> PathBuf {
        // FNV-1a, folded. The stripe of an id must be the same in every program and version.
        let hash = workflow.as_str().bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
        self.lock_file(&format!("{:02x}", (hash ^ (hash >> 32)) as u8))
    }
}

/// Refuses a path that prompts, environments, unit files or JSON cannot hold.
fn check_path(root: &Path) -> Result<()> {
    let problem = match root.to_str() {
        None => "is not UTF-8",
        Some(text) if text.chars().any(char::is_control) => "has a control character, such as a newline",
        Some(_) => return Ok(()),
    };
    let shown = crate::text::path_word(root);
    let hint = "rename the folder, or choose another mailbox with --mailbox DIR or $ASKBOX_DIR";
    Err(Error::usage(format!("the mailbox path {shown} {problem}"), hint))
}

/// The right to change the documents of one workflow.
#[derive(Debug)]
#[must_use = "the lock is released when this is dropped"]
pub struct WorkflowLock {
    _lock: Lock,
    workflow: WorkflowId,
}

impl WorkflowLock {
    /// The workflow of this lock.
    pub fn workflow(&self) -> &WorkflowId {
        &self.workflow
    }
}

/// Returns `$HOME`, which must be an absolute path.
///
/// # Errors
/// [`Error::Usage`] if it is not set, or is not absolute.
pub fn home() -> Result<PathBuf> {
    let home = std::env::var_os("HOME").filter(|h| !h.is_empty()).map(PathBuf::from);
    let unusable =
        |why: &str| Error::usage(format!("$HOME is {why}, so the default mailbox is unknown"), "name one: --mailbox DIR or $ASKBOX_DIR");
    let home = home.ok_or_else(|| unusable("not set"))?;
    if home.is_absolute() { Ok(home) } else { Err(unusable(&format!("{}, which is no absolute path", crate::text::path_word(&home)))) }
}

/// The folder for askbox's own files outside of a mailbox, such as drafts: `askbox` in `$XDG_STATE_HOME`, or else in `~/.local/state`.
///
/// # Errors
/// Those of [`home`].
pub fn state_folder() -> Result<PathBuf> {
    let state = std::env::var_os("XDG_STATE_HOME").filter(|v| !v.is_empty()).map(PathBuf::from);
    Ok(state.map_or_else(|| home().map(|home| home.join(".local/state")), Ok)?.join("askbox"))
}
