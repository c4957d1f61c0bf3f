//! The variable PATH in the settings of Claude Code. It replaces the PATH that the agent inherited, for its Bash and its hooks.

use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// The largest settings file that is read, in bytes.
const LONGEST: u64 = 1 << 20;

/// A PATH that a settings file sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsPath {
    /// The settings file.
    pub file: PathBuf,
    /// The value. Claude Code expands no variables in it.
    pub path: String,
}

impl SettingsPath {
    /// The PATH that an agent in this folder gets: that of the folder's local settings, else of its shared ones, else of the user's. `None`
    /// if no settings set one. Folders above are not looked at (measured on Claude Code 2.1.330).
    pub fn in_force(config_dir: &Path, folder: &Path) -> Option<Self> {
        let of_folder = folder.join(".claude");
        let files = [of_folder.join("settings.local.json"), of_folder.join("settings.json"), config_dir.join("settings.json")];
        files.into_iter().find_map(|file| Some(Self { path: read(&file)?, file }))
    }

    /// True if a program with this name lies in none of the folders.
    pub fn lacks(&self, program: &str) -> bool {
        !std::env::split_paths(&self.path).any(|folder| folder.join(program).is_file())
    }
}

fn read(file: &Path) -> Option<String> {
    let mut text = Vec::new();
    std::fs::File::open(file).ok()?.take(LONGEST).read_to_end(&mut text).ok()?;
    let settings: Value = serde_json::from_slice(&text).ok()?;
    settings["env"]["PATH"].as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_settings_that_are_nearest_to_the_agent_win() {
        let (user, project) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let in_force = || SettingsPath::in_force(user.path(), project.path()).map(|found| found.path);
        let write = |folder: &Path, name: &str, text: &str| {
            std::fs::create_dir_all(folder).unwrap();
            std::fs::write(folder.join(name), text).unwrap();
        };
        assert_eq!(in_force(), None);
        write(user.path(), "settings.json", r#"{"env": {"PATH": "/user", "OTHER": "x"}}"#);
        assert_eq!(in_force().as_deref(), Some("/user"));
        let own = project.path().join(".claude");
        write(&own, "settings.json", r#"{"permissions": {}, "env": {"PATH": "/project"}}"#);
        assert_eq!(in_force().as_deref(), Some("/project"));
        for other in [r#"{"env": {"OTHER": "x"}}"#, "{", r#"{"env": {"PATH": 7}}"#] {
            write(&own, "settings.local.json", other);
            assert_eq!(in_force().as_deref(), Some("/project"), "{other}");
        }
        write(&own, "settings.local.json", r#"{"env": {"PATH": "/local"}}"#);
        assert_eq!(in_force().as_deref(), Some("/local"));
    }

    #[test]
    fn a_path_lacks_what_lies_in_none_of_its_folders() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("ask-post"), "").unwrap();
        let path = |path: String| SettingsPath { file: "/s".into(), path };
        assert!(path("/nowhere:$PATH".into()).lacks("ask-post"));
        assert!(!path(format!("/nowhere:{}", folder.path().display())).lacks("ask-post"));
        assert!(path(folder.path().display().to_string()).lacks("checkpoint"));
    }
}
