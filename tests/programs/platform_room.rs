//! Only `crates/mailbox/src/platform` and `crates/fence` use what only one operating system has.

use std::path::Path;

use crate::support::files;

/// Words that show that a file uses what another system does not have, or asks which system it runs on.
const OF_ONE_SYSTEM: [&str; 13] = [
    "procfs", "/proc/", "pidfd_", "OFlags::PATH", "openat2", "subreaper", "target_os", "mknodat", "fadvise", "syncfs",
    "parent_process_death", "kqueue", "sysinfo",
];

fn sources() -> impl Iterator<Item = (String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let is_source = |path: &Path| path.extension().is_some_and(|e| e == "rs") && !path.starts_with(root.join("crates/testkit"));
    let all = ["src", "bin", "crates"]
        .into_iter()
        .flat_map(|folder| files(&root.join(folder)))
        .filter(move |(path, _)| is_source(Path::new(path)));
    all.map(move |(path, text)| (path.strip_prefix(root).unwrap().display().to_string(), String::from_utf8(text).unwrap()))
}

/// A file's lines, without comments and without its tests.
fn code(text: &str) -> impl Iterator<Item = &str> {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    code.lines().map(str::trim).filter(|line| !line.starts_with("//"))
}

#[test]
fn only_the_disk_room_calls_what_writes_to_files() {
    let allowed = |path: &str| {
        // These ask only where an opened file or folder lies, or how to open a folder.
        let asking = ["crates/run/src/process/permitted.rs", "crates/cli/src/program/read_input.rs", "crates/ask-agent/src/place.rs"];
        let rooms = ["crates/mailbox/src/disk/", "crates/mailbox/src/platform/"];
        rooms.into_iter().chain(asking).any(|room| path.starts_with(room))
    };
    for (path, text) in sources().filter(|(path, _)| !allowed(path)) {
        assert!(!code(&text).any(|line| line.contains("platform::files")), "{path}");
    }
}

/// The name that `pub fn NAME(` or `pub const NAME:` defines.
fn name_of(line: &str) -> &str {
    let name = line.split(" fn ").nth(1).or_else(|| line.split(" const ").nth(1)).unwrap_or(line);
    name.split(['(', ':', '<']).next().unwrap_or(name)
}

#[test]
fn both_systems_have_the_same_functions() {
    let names = |system: &str| {
        let mut names: Vec<String> = sources()
            .filter(|(path, _)| path.starts_with(&format!("crates/mailbox/src/platform/{system}/")))
            .flat_map(|(path, text)| {
                let file = path.rsplit('/').next().unwrap().to_owned();
                let public = |line: &&str| line.starts_with("pub fn ") || line.starts_with("pub const ");
                code(&text).filter(public).map(move |line| format!("{file}: {}", name_of(line))).collect::<Vec<_>>()
            })
            .collect();
        names.sort();
        names
    };
    assert_eq!(names("linux"), names("macos"));
    assert!(names("linux").len() > 20);
}

mod promises {
    use super::*;

    #[test]
    fn only_the_platform_room_uses_what_one_operating_system_has() {
        // The check of the conformance reads the names of system calls in a trace, and the rules for calls read lines of shell.
        let only_read = ["crates/check/src/conformance/strace.rs", "crates/config/src/shell_commands/mod.rs"];
        let rooms = ["crates/mailbox/src/platform/", "crates/fence/src/"];
        let is_inside = |path: &str| rooms.iter().any(|room| path.starts_with(room)) || only_read.contains(&path);
        let outside = sources().filter(|(path, _)| !is_inside(path));
        for (path, text) in outside {
            for line in code(&text) {
                let word = OF_ONE_SYSTEM.iter().find(|word| line.contains(*word));
                assert!(word.is_none(), "{path}: {line}");
            }
        }
        let inside =
            sources().filter(|(path, _)| path.starts_with("crates/mailbox/src/platform/linux")).map(|(_, text)| text).collect::<String>();
        assert!(inside.contains("procfs") && inside.contains("openat2"), "the words are looked for where they are");
    }
}
