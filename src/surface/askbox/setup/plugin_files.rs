//! The files of the plugin. This program brings them along, so that a setup needs neither the repository nor a network.

macro_rules! files {
    ($($name:literal),+ $(,)?) => {
        &[$(($name, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/plugin/", $name)))),+]
    };
}

/// Each file's place in the plugin's folder, and its text. A test compares them with the folder `plugin/`.
pub const FILES: &[(&str, &str)] = files![
    ".claude-plugin/plugin.json",
    "commands/answer.md",
    "commands/inbox.md",
    "commands/stop.md",
    "commands/tree.md",
    "hooks/hooks.json",
    "skills/ask-the-user/SKILL.md",
    "skills/questions-of-agents/SKILL.md",
];

#[cfg(test)]
mod tests {
    use super::FILES;
    use std::path::Path;

    #[test]
    fn the_program_brings_every_file_of_the_plugin_along() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("plugin");
        let mut folders = vec![root.clone()];
        let mut found = Vec::new();
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() { folders.push(path) } else { found.push(path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned()) }
            }
        }
        found.sort();
        assert_eq!(found, FILES.iter().map(|(name, _)| (*name).to_owned()).collect::<Vec<_>>());
    }
}
