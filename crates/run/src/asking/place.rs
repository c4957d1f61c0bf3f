//! The place that a session's dialog is about: its project, the branch there, and the workflow of its question.

use std::path::Path;

use uuid::Uuid;

use askbox_mailbox::{Folder, Mailbox, Question, Result, SessionId, WorkflowId, disk, round, text};

/// The most characters of a name.
pub const LONGEST_NAME: usize = 60;
/// The most letters of the project's name in the id of the question.
const IN_ID: usize = 24;
/// The longest file that names a branch, in bytes.
const LONGEST_HEAD: u64 = 4096;

/// Returns the workflow of the call with this id. Two processes beside one dialog find the same workflow, so only one of them asks.
///
/// # Errors
/// [`askbox_mailbox::error::Error::Invalid`] if no id can be made.
pub fn workflow(cwd: &Path, session: &SessionId, call_id: &str) -> Result<WorkflowId> {
    let name: String = project(cwd).0.to_lowercase().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let name: String = name.trim_matches('-').chars().take(IN_ID).collect();
    format!("live-{name}{}", end_of_id(session, call_id)).parse()
}

fn end_of_id(session: &SessionId, call_id: &str) -> String {
    let hash = Uuid::new_v5(&Uuid::NAMESPACE_OID, format!("{session} {call_id}").as_bytes()).simple().to_string();
    format!("-{}", &hash[..8])
}

/// Returns the newest question about the call with this id, whatever has become of it. The session may work in another folder by now.
pub fn question_of_call(mailbox: &Mailbox, cwd: &Path, session: &SessionId, call_id: &str) -> Option<Question> {
    let of = |workflow: &WorkflowId| {
        let question = round::latest(mailbox, workflow)?.document.typed;
        question.tool_call.as_ref().is_some_and(|call| call.id == call_id).then_some(question)
    };
    workflow(cwd, session, call_id).ok().as_ref().and_then(of).or_else(|| {
        let end = end_of_id(session, call_id);
        let names = disk::entries(&mailbox.folder(Folder::Runs)).ok()?.flatten().filter_map(|entry| entry.name.into_string().ok());
        names.filter(|name| name.starts_with("live-") && name.ends_with(&end)).find_map(|name| of(&name.parse().ok()?))
    })
}

/// Returns the name of the project's folder, and the branch that is checked out in it. The project is the nearest folder with a `.git`.
pub fn project(cwd: &Path) -> (String, Option<String>) {
    let root = cwd.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok());
    let name = root.unwrap_or(cwd).file_name().map(|name| text::excerpt(&name.to_string_lossy(), LONGEST_NAME));
    let name = name.filter(|name| !name.is_empty()).unwrap_or_else(|| "-".into());
    (name, root.and_then(branch).filter(|branch| !branch.is_empty()))
}

fn branch(root: &Path) -> Option<String> {
    let read = |path: &Path| disk::read(path, LONGEST_HEAD).ok().map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned());
    let git = root.join(".git");
    let git = if git.is_dir() { git } else { root.join(read(&git)?.strip_prefix("gitdir:")?.trim()) };
    let head = read(&git.join("HEAD"))?;
    head.strip_prefix("ref: refs/heads/").map(|branch| text::excerpt(branch, LONGEST_NAME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_branch_is_that_of_the_nearest_repository() {
        let folder = tempfile::tempdir().unwrap();
        let below = folder.path().join("shop/src");
        std::fs::create_dir_all(folder.path().join("shop/.git")).unwrap();
        std::fs::create_dir_all(&below).unwrap();
        std::fs::write(folder.path().join("shop/.git/HEAD"), "ref: refs/heads/feature/x\n").unwrap();
        assert_eq!(project(&below), ("shop".into(), Some("feature/x".into())));
        std::fs::create_dir_all(folder.path().join("tree")).unwrap();
        std::fs::write(folder.path().join("tree/.git"), "gitdir: ../shop/.git\n").unwrap();
        assert_eq!(project(&folder.path().join("tree")), ("tree".into(), Some("feature/x".into())));
        assert_eq!(project(Path::new("/")), ("-".into(), None));
    }
}
