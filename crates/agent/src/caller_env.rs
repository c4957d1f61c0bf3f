//! Variables that the caller of a program meant for itself, such as a git hook for its own repository.

use std::ffi::OsStr;

/// The variables that git sets for one repository or for one command, or sets aside when it enters another repository
/// (`git rev-parse --local-env-vars`). A name that ends with `_` stands for all that begin so.
const OF_A_GIT_COMMAND: [&str; 33] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_ATTR_SOURCE",
    "GIT_AUTHOR_DATE",
    "GIT_CHERRY_PICK_HELP",
    "GIT_COMMITTER_DATE",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_KEY_",
    "GIT_CONFIG_PARAMETERS",
    "GIT_CONFIG_VALUE_",
    "GIT_DIR",
    "GIT_EDITOR",
    "GIT_EXEC_PATH",
    "GIT_GRAFT_FILE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_INTERNAL_",
    "GIT_MERGE_AUTOEDIT",
    "GIT_NAMESPACE",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_PROTOCOL",
    "GIT_PUSH_CERT",
    "GIT_PUSH_CERT_",
    "GIT_PUSH_OPTION_",
    "GIT_QUARANTINE_PATH",
    "GIT_REFLOG_ACTION",
    "GIT_REPLACE_REF_BASE",
    "GIT_SEQUENCE_EDITOR",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
];

/// Variables that change how a shell, Node.js or Electron starts. An editor or a debugger sets them for its own children.
const OF_AN_INTERPRETER: [&str; 3] = ["BASH_ENV", "NODE_OPTIONS", "ELECTRON_RUN_AS_NODE"];

/// True if this variable concerns the caller of this program alone, so that it is not passed on to an agent or to an agent's tools. The
/// names and addresses of author and committer are passed on, and so are git's settings for ssh, proxies and credentials: an operator sets
/// those.
pub fn is_of_the_caller(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    let is_meant = |own: &str| if own.ends_with('_') { name.starts_with(own.as_bytes()) } else { name == own.as_bytes() };
    OF_A_GIT_COMMAND.iter().chain(&OF_AN_INTERPRETER).any(|own| is_meant(own))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_calls_local_to_a_repository_stays_with_the_caller() {
        let Ok(git) = std::process::Command::new("git").args(["rev-parse", "--local-env-vars"]).output() else { return };
        for name in String::from_utf8(git.stdout).unwrap().lines() {
            assert!(is_of_the_caller(OsStr::new(name)), "{name}");
        }
        for name in ["GIT_CONFIG_KEY_0", "GIT_PUSH_OPTION_COUNT", "BASH_ENV"] {
            assert!(is_of_the_caller(OsStr::new(name)), "{name}");
        }
        for name in ["GIT_AUTHOR_NAME", "GIT_COMMITTER_EMAIL", "GIT_SSH_COMMAND", "GIT_CONFIG_GLOBAL", "GIT_ASKPASS", "GITHUB_TOKEN", "GIT"]
        {
            assert!(!is_of_the_caller(OsStr::new(name)), "{name}");
        }
    }
}
