//! The library's errors. Each error has an exit status for programs, and a hint that says what to do next.

use std::path::{Path, PathBuf};

use serde::Serialize;

/// A result with the library's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Every failure of the library. [`Error::exit_code`] is the exit status of the programs, and [`Error::advice`] says what
/// to do next.
#[derive(Debug, thiserror::Error, strum::EnumDiscriminants)]
#[strum_discriminants(name(Kind), derive(Hash, Serialize, schemars::JsonSchema), serde(rename_all = "snake_case"))]
#[strum_discriminants(doc = "The kind of an error, for programs: the field `kind` of an error in JSON. More precise than the exit status.")]
#[non_exhaustive]
pub enum Error {
    /// The arguments do not make sense. Exit 2.
    #[error("{message}")]
    Usage {
        /// A sentence that says what is wrong.
        message: String,
        /// A sentence that says what to type instead.
        hint: Hint,
    },
    /// The workflow, question, run or mailbox does not exist. Exit 3.
    #[error("{message}")]
    NotFound {
        /// A sentence that names what does not exist.
        message: String,
        /// Where to look instead.
        hint: Hint,
    },
    /// The current state does not allow it: the question is already answered or has changed, for example, or the caller may not
    /// decide it. Exit 4.
    #[error("{message}")]
    Conflict {
        /// A sentence that says what stands in the way, such as an earlier answer with its time.
        message: String,
        /// A sentence that says what can still be done.
        hint: Hint,
    },
    /// A document is not valid. Exit 5.
    #[error("{file}: {field}: {problem}")]
    Invalid {
        /// The file, or `-` for standard input and the command line.
        file: String,
        /// The field, as a path: `options.merge`.
        field: String,
        /// The problem, as the end of a sentence about the field: `is empty`.
        problem: String,
        /// How to correct it.
        fix: Hint,
    },
    /// A newer askbox wrote the document. The file stays unchanged in its place, so that the newer program finds it. Exit 5.
    #[error("{file}: schema_version: {version} is of a newer askbox")]
    Newer {
        /// The file.
        file: String,
        /// The document's `schema_version`.
        version: u64,
    },
    /// The time to wait is over, but the awaited answer, or the end of a run, has not come yet. Exit 6.
    #[error("{message}")]
    Waiting {
        /// The awaited event, in words.
        message: String,
        /// How to continue.
        hint: Hint,
    },
    /// A system call failed. Exit 1.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// The verb of the message: `read`, `write`, `lock`.
        action: &'static str,
        /// The path of the file or folder.
        path: PathBuf,
        /// The operating system's reason.
        source: std::io::Error,
    },
    /// Another process keeps a lock that is usually held only for a short time. Waiting helps. Exit 1.
    #[error("{message}")]
    Held {
        /// Which lock, and which process holds it.
        message: String,
        /// How to free it.
        hint: Hint,
    },
    /// Any other failure. Exit 1.
    #[error("{message}")]
    Failed {
        /// A sentence that says what failed.
        message: String,
        /// A sentence that says what to do about it.
        hint: Hint,
    },
}

/// What to do about an error: a sentence that is true in any program, and the command that does it, for askbox's own. In a box, because
/// every result has room for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hint(Box<(String, Option<String>)>);

impl Hint {
    /// Adds the command that comes after it.
    pub(crate) fn then(self, command: String) -> Self {
        (format!("{self}; then"), command).into()
    }
}

impl std::fmt::Display for Hint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (words, command) = &*self.0;
        f.write_str(words)?;
        command.as_ref().map_or(Ok(()), |command| write!(f, ": {command}"))
    }
}

impl From<&str> for Hint {
    fn from(words: &str) -> Self {
        words.to_owned().into()
    }
}

impl From<String> for Hint {
    fn from(words: String) -> Self {
        Self(Box::new((words, None)))
    }
}

impl<W: Into<String>, C: Into<String>> From<(W, C)> for Hint {
    fn from((words, command): (W, C)) -> Self {
        Self(Box::new((words.into(), Some(command.into()))))
    }
}

impl Error {
    /// Returns the kind, for programs.
    pub fn kind(&self) -> Kind {
        self.into()
    }

    /// Returns the exit status: 1 failed · 2 usage · 3 not found · 4 conflict · 5 invalid document · 6 still waiting.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Io { .. } | Self::Held { .. } | Self::Failed { .. } => 1,
            Self::Usage { .. } => 2,
            Self::NotFound { .. } => 3,
            Self::Conflict { .. } => 4,
            Self::Invalid { .. } | Self::Newer { .. } => 5,
            Self::Waiting { .. } => 6,
        }
    }

    /// Returns what to do next, in one line, for the readers of any program.
    pub fn advice(&self) -> String {
        self.next().0.0
    }

    /// Returns what to do next, with the command of askbox's own programs that does it.
    #[doc(hidden)]
    pub fn hint(&self) -> String {
        self.next().to_string()
    }

    fn next(&self) -> Hint {
        match self {
            Self::Usage { hint, .. } | Self::NotFound { hint, .. } | Self::Conflict { hint, .. } => hint.clone(),
            Self::Waiting { hint, .. } | Self::Held { hint, .. } | Self::Failed { hint, .. } => hint.clone(),
            Self::Invalid { fix, .. } => fix.clone(),
            Self::Newer { .. } => "the file is left as it is; update askbox".into(),
            Self::Io { source, path, .. } => io_hint(source, path),
        }
    }

    /// Returns an [`Error::Usage`].
    pub fn usage(message: impl Into<String>, hint: impl Into<Hint>) -> Self {
        Self::Usage { message: message.into(), hint: hint.into() }
    }

    /// Returns an [`Error::NotFound`].
    pub fn not_found(message: impl Into<String>, hint: impl Into<Hint>) -> Self {
        Self::NotFound { message: message.into(), hint: hint.into() }
    }

    /// Returns an [`Error::Conflict`].
    pub fn conflict(message: impl Into<String>, hint: impl Into<Hint>) -> Self {
        Self::Conflict { message: message.into(), hint: hint.into() }
    }

    /// Returns an [`Error::Failed`].
    pub fn failed(message: impl Into<String>, hint: impl Into<Hint>) -> Self {
        Self::Failed { message: message.into(), hint: hint.into() }
    }

    /// Returns an [`Error::Invalid`] that does not name its file yet; [`Error::in_file`] adds the name.
    pub fn invalid(field: impl Into<String>, problem: impl Into<String>, fix: impl Into<Hint>) -> Self {
        Self::Invalid { file: "-".into(), field: field.into(), problem: problem.into(), fix: fix.into() }
    }

    /// Adds the file to an [`Error::Invalid`] that does not name one yet. Returns other errors unchanged.
    pub fn in_file(self, path: impl AsRef<Path>) -> Self {
        match self {
            Self::Invalid { file, field, problem, fix } if file == "-" => {
                Self::Invalid { file: path.as_ref().display().to_string(), field, problem, fix }
            }
            other => other,
        }
    }

    /// True if the machine is short of processes, descriptors or memory at the moment. Waiting helps.
    pub fn is_shortage(&self) -> bool {
        matches!(self, Self::Io { source, .. } if is_shortage(source))
    }

    /// True if the disk, or this user's part of it, is full. Room may come.
    pub fn is_full_disk(&self) -> bool {
        let is_full = |kind| matches!(kind, std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded);
        matches!(self, Self::Io { source, .. } if is_full(source.kind()))
    }

    /// True if another process keeps a lock. Waiting helps.
    pub fn is_held(&self) -> bool {
        matches!(self, Self::Held { .. })
    }

    /// True if the operating system reported that the file does not exist.
    pub fn is_missing_file(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound)
    }
}

/// Turns a [`std::io::Result`] into the library's [`Result`].
pub trait IoContext<T> {
    /// Adds the action and the path to an error. `action` is the verb of the message: "cannot `action` `path`".
    ///
    /// # Errors
    /// [`Error::Io`] if the result is an error.
    fn io(self, action: &'static str, path: impl AsRef<Path>) -> Result<T>;
}

impl<T> IoContext<T> for std::io::Result<T> {
    fn io(self, action: &'static str, path: impl AsRef<Path>) -> Result<T> {
        self.map_err(|source| Error::Io { action, path: path.as_ref().to_path_buf(), source })
    }
}

fn is_shortage(source: &std::io::Error) -> bool {
    use rustix::io::Errno;
    [Errno::AGAIN, Errno::MFILE, Errno::NFILE, Errno::NOMEM].iter().any(|e| source.raw_os_error() == Some(e.raw_os_error()))
}

fn io_hint(source: &std::io::Error, path: &Path) -> Hint {
    use std::io::ErrorKind as K;
    if is_shortage(source) {
        return "too many processes or open files, or too little memory (ulimit -a); repeat the command once there is room".into();
    }
    if source.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) {
        return "a symbolic link lies on this path, and links in a mailbox are not followed; put the folder itself there".into();
    }
    match source.kind() {
        K::StorageFull | K::QuotaExceeded => "nothing was changed; free some space on that filesystem and repeat the command".into(),
        K::FileTooLarge => "nothing was changed; raise the limit on the size of a file (ulimit -f) and repeat the command".into(),
        K::PermissionDenied => {
            format!("check the owner and mode with: ls -ld {}", crate::text::shell_quote(&path.display().to_string())).into()
        }
        K::ReadOnlyFilesystem => "the filesystem is mounted read-only; mount it writable, or choose another folder".into(),
        K::NotFound => "check the path, or choose another mailbox with --mailbox DIR".into(),
        _ => ("nothing was left half done; repeat the command, and look for the cause if it fails again", "askbox doctor").into(),
    }
}
