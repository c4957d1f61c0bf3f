//! The library's errors. Each has an exit status, and says what to do next.

use std::path::{Path, PathBuf};

/// The library's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Every failure of the library. [`Error::exit_code`] is the documented exit status, [`Error::hint`] the `hint:` line.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The arguments do not make sense. Exit 2.
    #[error("{message}")]
    Usage {
        /// What is wrong.
        message: String,
        /// What to type instead.
        hint: String,
    },
    /// No such workflow, question, run or mailbox. Exit 3.
    #[error("{message}")]
    NotFound {
        /// What was looked for.
        message: String,
        /// Where to look instead.
        hint: String,
    },
    /// The transition has already happened: pending, answered or claimed. Exit 4.
    #[error("{message}")]
    Conflict {
        /// What happened before, and when.
        message: String,
        /// What can still be done.
        hint: String,
    },
    /// A document is not valid. Exit 5.
    #[error("{file}: {field}: {problem}")]
    Invalid {
        /// The file, or `-` for standard input and the command line.
        file: String,
        /// The field, as a path: `options.merge`.
        field: String,
        /// What is wrong with it.
        problem: String,
        /// How to correct it.
        fix: String,
    },
    /// A document that a newer askbox wrote. It stays as it is and where it is, so that the newer program finds it. Exit 5.
    #[error("{file}: schema_version: {version} is of a newer askbox")]
    Newer {
        /// The file.
        file: String,
        /// The version of the document.
        version: u64,
    },
    /// The time to wait is over, and there is no answer yet. Exit 6.
    #[error("{message}")]
    Waiting {
        /// What the program waited for.
        message: String,
        /// How to continue.
        hint: String,
    },
    /// A system call failed. Exit 1.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// The verb: `read`, `write`, `lock`.
        action: &'static str,
        /// The path.
        path: PathBuf,
        /// The operating system's reason.
        source: std::io::Error,
    },
    /// Another process keeps a lock that is held only for short times otherwise. Waiting mends it. Exit 1.
    #[error("{message}")]
    Held {
        /// Which lock, and which process holds it.
        message: String,
        /// How to free it.
        hint: String,
    },
    /// Any other failure. Exit 1.
    #[error("{message}")]
    Failed {
        /// What failed.
        message: String,
        /// What to do about it.
        hint: String,
    },
}

impl Error {
    /// The exit status: 1 failed · 2 usage · 3 not found · 4 conflict · 5 invalid document · 6 still waiting.
    #[must_use]
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

    /// What to do next, in one line.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Usage { hint, .. }
            | Self::NotFound { hint, .. }
            | Self::Conflict { hint, .. }
            | Self::Waiting { hint, .. }
            | Self::Held { hint, .. }
            | Self::Failed { hint, .. } => hint.clone(),
            Self::Invalid { fix, .. } => fix.clone(),
            Self::Newer { .. } => "the file is left as it is; update askbox".into(),
            Self::Io { source, path, .. } => io_hint(source, path),
        }
    }

    /// An [`Error::Usage`].
    pub fn usage(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Usage { message: message.into(), hint: hint.into() }
    }

    /// An [`Error::NotFound`].
    pub fn not_found(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::NotFound { message: message.into(), hint: hint.into() }
    }

    /// An [`Error::Conflict`].
    pub fn conflict(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Conflict { message: message.into(), hint: hint.into() }
    }

    /// An [`Error::Failed`].
    pub fn failed(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Failed { message: message.into(), hint: hint.into() }
    }

    /// An [`Error::Invalid`] without its file; [`Error::in_file`] adds it.
    pub fn invalid(field: impl Into<String>, problem: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::Invalid { file: "-".into(), field: field.into(), problem: problem.into(), fix: fix.into() }
    }

    /// Adds the file to an [`Error::Invalid`] without one; other errors stay as they are.
    #[must_use]
    pub fn in_file(self, path: impl AsRef<Path>) -> Self {
        match self {
            Self::Invalid { file, field, problem, fix } if file == "-" => {
                Self::Invalid { file: path.as_ref().display().to_string(), field, problem, fix }
            }
            other => other,
        }
    }

    /// Whether the machine is short of processes, descriptors or memory at the moment. Waiting mends it.
    #[must_use]
    pub fn is_shortage(&self) -> bool {
        matches!(self, Self::Io { source, .. } if is_shortage(source))
    }

    /// Whether another process keeps a lock. Waiting mends it.
    #[must_use]
    pub fn is_held(&self) -> bool {
        matches!(self, Self::Held { .. })
    }

    /// Whether the operating system reported that the file does not exist.
    #[must_use]
    pub fn is_missing_file(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound)
    }
}

/// Adds the action and the path to an [`std::io::Error`].
pub trait IoContext<T> {
    /// `action` is the verb of the message: "cannot `action` `path`".
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

fn io_hint(source: &std::io::Error, path: &Path) -> String {
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
        K::PermissionDenied => format!("check the owner and mode with: ls -ld {}", crate::text::shell_quote(&path.display().to_string())),
        K::ReadOnlyFilesystem => "the filesystem is mounted read-only; mount it writable, or choose another folder".into(),
        K::NotFound => "check the path, or choose another mailbox with --mailbox DIR".into(),
        _ => "nothing was left half done; repeat the command, and run `askbox doctor` if it fails again".into(),
    }
}
