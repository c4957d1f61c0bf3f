//! Where everything lies.

use std::path::{Path, PathBuf};

use crate::disk::{self, Lock};
use crate::error::{Error, Result};
use crate::id::{RoundId, WorkflowId};

/// The folders of a mailbox. The first five are states of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Folder {
    /// `WORKFLOW.json`: waits for an answer.
    Pending,
    /// `WORKFLOW.json`: answered, not yet claimed by a run.
    Answered,
    /// `WORKFLOW.QUESTION.json`: claimed; a run delivers it, or will after its back-off.
    Running,
    /// `WORKFLOW.QUESTION.json`: all attempts failed; `relaunch retry` brings it back.
    Parked,
    /// `WORKFLOW.QUESTION.json`: delivered, withdrawn, expired, superseded.
    Closed,
    /// What could not be read, each with its `.reason`.
    Quarantine,
    /// `WORKFLOW.json`: the state a fresh process resumes from.
    Checkpoints,
    /// `WORKFLOW.json`: parent, session, cwd.
    Workflows,
    /// `WORKFLOW/QUESTION/ATTEMPT/`: `run.json`, `events.jsonl`, `stderr.log`, `lock`. Every round that has left `pending/` for
    /// a run or for `closed/` has its folder here: so the rounds of one workflow are found without a look at all there are.
    Runs,
    /// Empty files whose names say when to look at what: hints, rebuilt from the documents.
    Timers,
    /// Lock files; they live as long as the mailbox.
    Locks,
    /// `PARENT/CHILD.json`: who is to be told how another workflow ends.
    Awaits,
}

impl Folder {
    /// All of them, in the order of a round's life.
    pub const ALL: [Self; 12] = [
        Self::Pending,
        Self::Answered,
        Self::Running,
        Self::Parked,
        Self::Closed,
        Self::Quarantine,
        Self::Checkpoints,
        Self::Workflows,
        Self::Runs,
        Self::Timers,
        Self::Locks,
        Self::Awaits,
    ];

    /// The folder's name on disk.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Answered => "answered",
            Self::Running => "running",
            Self::Parked => "parked",
            Self::Closed => "closed",
            Self::Quarantine => "quarantine",
            Self::Checkpoints => "checkpoints",
            Self::Workflows => "workflows",
            Self::Runs => "runs",
            Self::Timers => "timers",
            Self::Locks => "locks",
            Self::Awaits => "awaits",
        }
    }
}

/// An opened mailbox: its folder is ours, is no link, and nobody else may write into it.
#[derive(Debug, Clone)]
pub struct Mailbox {
    root: PathBuf,
}

impl Mailbox {
    /// `--mailbox DIR`, else `$ASKBOX_DIR`, else `~/.claude/questions`, made absolute.
    pub fn locate(flag: Option<&Path>) -> Result<PathBuf> {
        let from_env = || std::env::var_os("ASKBOX_DIR").filter(|v| !v.is_empty()).map(PathBuf::from);
        let path = match flag.map(Path::to_path_buf).or_else(from_env) {
            Some(path) => path,
            None => home()?.join(".claude/questions"),
        };
        std::path::absolute(&path).map_err(|_| Error::usage("the mailbox path is empty", "name a folder: --mailbox DIR"))
    }

    /// Opens an existing mailbox.
    pub fn open(root: impl Into<PathBuf>) -> Result<Self> {
        let root = root.into();
        let missing = disk::check_folders(&root, Folder::ALL.map(Folder::name))?;
        let mailbox = Self { root };
        if missing {
            for folder in Folder::ALL {
                // A stranger made the mailbox with the folders he knows of. Where it cannot be written, it can still be read.
                drop(disk::create_folder_in(&mailbox.folder(folder)));
            }
            disk::check_folders(&mailbox.root, Folder::ALL.map(Folder::name))?;
        }
        // What cannot be synced cannot be written either, and says so then.
        let _ = mailbox.make_durable();
        Ok(mailbox)
    }

    /// Opens a mailbox, making the folders that are missing.
    pub fn open_or_create(root: impl Into<PathBuf>) -> Result<Self> {
        let root = root.into();
        let missing = match disk::check_folders(&root, Folder::ALL.map(Folder::name)) {
            Err(Error::NotFound { .. }) => true,
            other => other?,
        };
        let mailbox = Self { root };
        if missing {
            disk::create_folder(&mailbox.root)?;
            Folder::ALL.into_iter().try_for_each(|folder| disk::create_folder(&mailbox.folder(folder)))?;
            // Somebody else may have made what we found missing.
            disk::check_folders(&mailbox.root, Folder::ALL.map(Folder::name))?;
        }
        mailbox.make_durable()?;
        Ok(mailbox)
    }

    /// A folder that is there may have been made a moment ago by somebody who has not synced its name yet, or by a stranger who
    /// never will: a power cut would take it, and what was acknowledged in it. Once a mailbox, then `locks/synced` is there.
    fn make_durable(&self) -> Result<()> {
        let mark = self.lock_file("synced");
        if !mark.exists() {
            disk::sync_names(&self.root)?;
            // Where it cannot be made, it is done again.
            let _ = disk::touch(&mark);
        }
        Ok(())
    }

    /// The mailbox's own folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// One of its folders.
    #[must_use]
    pub fn folder(&self, folder: Folder) -> PathBuf {
        self.root.join(folder.name())
    }

    /// `FOLDER/WORKFLOW.json`.
    #[must_use]
    pub fn document(&self, folder: Folder, workflow: &WorkflowId) -> PathBuf {
        self.file(folder, &workflow.file_name())
    }

    /// `FOLDER/WORKFLOW.QUESTION.json`.
    #[must_use]
    pub fn round(&self, folder: Folder, round: &RoundId) -> PathBuf {
        self.file(folder, &round.file_name())
    }

    fn file(&self, folder: Folder, name: &str) -> PathBuf {
        let mut path = PathBuf::with_capacity(self.root.as_os_str().len() + folder.name().len() + name.len() + 2);
        [self.root.as_path(), folder.name().as_ref(), name.as_ref()].iter().for_each(|piece| path.push(piece));
        path
    }

    /// `runs/WORKFLOW`.
    #[must_use]
    pub fn runs_of_workflow(&self, workflow: &WorkflowId) -> PathBuf {
        self.folder(Folder::Runs).join(workflow.as_str())
    }

    /// `runs/WORKFLOW/QUESTION`.
    #[must_use]
    pub fn runs_of(&self, round: &RoundId) -> PathBuf {
        self.runs_of_workflow(&round.workflow).join(round.question.to_string())
    }

    /// `audit.jsonl`.
    #[must_use]
    pub fn audit(&self) -> PathBuf {
        self.root.join("audit.jsonl")
    }

    /// A lock file for a purpose of its own, such as `launch`.
    #[must_use]
    pub fn lock_file(&self, name: &str) -> PathBuf {
        self.folder(Folder::Locks).join(name)
    }

    /// Takes the lock under which every transition of `workflow` happens. The lock files are 256 stripes, so that they stay
    /// few for ever; therefore never hold two of these at once.
    pub fn lock(&self, workflow: &WorkflowId) -> Result<WorkflowLock> {
        Ok(WorkflowLock { _lock: Lock::acquire(&self.stripe(workflow))?, workflow: workflow.clone() })
    }

    /// Whether somebody holds the lock of a workflow, or of one that shares it.
    pub fn is_locked(&self, workflow: &WorkflowId) -> Result<bool> {
        Lock::is_held(&self.stripe(workflow))
    }

    fn stripe(&self, workflow: &WorkflowId) -> PathBuf {
        // FNV-1a, folded: the stripe of an id must be the same in every program and version.
        let hash = workflow.as_str().bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
        self.lock_file(&format!("{:02x}", (hash ^ (hash >> 32)) as u8))
    }
}

/// The right to change one workflow's documents.
#[derive(Debug)]
#[must_use = "the lock is released when this is dropped"]
pub struct WorkflowLock {
    _lock: Lock,
    workflow: WorkflowId,
}

impl WorkflowLock {
    /// Whose lock this is.
    #[must_use]
    pub fn workflow(&self) -> &WorkflowId {
        &self.workflow
    }
}

/// `$HOME`.
pub fn home() -> Result<PathBuf> {
    std::env::var_os("HOME")
        .filter(|h| !h.is_empty())
        .map(PathBuf::from)
        .ok_or_else(|| Error::usage("$HOME is not set, so the default mailbox is unknown", "name one: --mailbox DIR or $ASKBOX_DIR"))
}
