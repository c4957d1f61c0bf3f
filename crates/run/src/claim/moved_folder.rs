//! A working folder that was renamed. The workflow's record knows its device and inode number, and these stay the same.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use askbox_mailbox::documents::awaited::Workflow;

/// The most names that are looked at in one folder.
const MOST: usize = 10_000;

/// Notes the folder of a launch in the workflow's record. Without a folder, the record keeps the one it has.
pub fn note(workflow: &mut Workflow, cwd: Option<&Path>) {
    if let Some(cwd) = cwd {
        workflow.cwd_inode = inode(cwd);
        workflow.cwd = Some(cwd.to_path_buf());
    }
}

/// The place where the folder `gone` of this workflow lies now. It, or a folder above it, may have another name in the same place.
pub fn find(workflow: &Workflow, gone: &Path) -> Option<PathBuf> {
    let known = workflow.cwd_inode.as_deref().filter(|_| workflow.cwd.as_deref() == Some(gone))?;
    let above = gone.ancestors().skip(1).find(|folder| folder.is_dir())?;
    let mut missing = gone.strip_prefix(above).ok()?.components();
    missing.next()?;
    let names = fs::read_dir(above).ok()?.take(MOST).flatten();
    // An empty rest would add a slash.
    let below = |name: PathBuf| if missing.as_path().as_os_str().is_empty() { name } else { name.join(missing.as_path()) };
    names.map(|name| below(name.path())).find(|candidate| inode(candidate).is_some_and(|inode| inode == known))
}

fn inode(folder: &Path) -> Option<String> {
    // A link to the folder is not its new name.
    let found = fs::symlink_metadata(folder).ok().filter(fs::Metadata::is_dir)?;
    Some(format!("{}:{}", found.dev(), found.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_renamed_folder_is_found_under_its_new_name() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        fs::create_dir_all(at("project/part")).unwrap();
        fs::create_dir_all(at("other/part")).unwrap();
        let mut workflow: Workflow = serde_json::from_str(r#"{"workflow_id":"w"}"#).unwrap();
        note(&mut workflow, Some(&at("project/part")));
        note(&mut workflow, None);
        std::os::unix::fs::symlink(at("project"), at("link")).unwrap();
        fs::rename(at("project"), at("renamed")).unwrap();
        assert_eq!(find(&workflow, &at("project/part")), Some(at("renamed/part")));
        fs::rename(at("renamed"), at("project")).unwrap();
        fs::rename(at("project/part"), at("project/piece")).unwrap();
        assert_eq!(find(&workflow, &at("project/part")), Some(at("project/piece")));
        assert_eq!(find(&workflow, &at("other/part")), None, "the record does not know it");
        fs::remove_dir(at("project/piece")).unwrap();
        fs::create_dir(at("elsewhere")).unwrap();
        assert_eq!(find(&workflow, &at("project/part")), None);
    }
}
