//! The files of each part, and the changes to them. This program contains the files of the plugin, so a setup works without the repository
//! and without a network.
//!
//! A variable for the service, such as an API key. The person names it and types its value, or sends the value through a pipe. Nothing is
//! searched for, and the value is never printed.

use std::path::{Path, PathBuf};

use inquire::{Password, PasswordDisplayMode};

use crate::commands::setup::change::{self, Change};
use crate::commands::setup::record::{Added, Record};
use crate::commands::{claude_md, service};
use askbox_agent::claude;
use askbox_cli::args::askbox_args::Part;
use askbox_cli::program;
use askbox_config as config;
use askbox_mailbox::{Error, IoContext, Result, text, without_bom};

/// The rules for asking and looking. None of them allows answering, because agents that askbox launches read the same settings, and they
/// ask. The plugin lets a person's session answer.
const RULES: [&str; 9] = [
    "Bash(ask-post:*)",
    "Bash(checkpoint:*)",
    "Bash(ask-answer list:*)",
    "Bash(ask-answer show:*)",
    "Bash(relaunch status:*)",
    "Bash(relaunch logs:*)",
    "Bash(askbox tree:*)",
    "Bash(askbox count:*)",
    "Bash(askbox doctor:*)",
];

/// The change that a part needs, or the reason why its file is left alone.
pub(super) type Wanted = std::result::Result<Option<Change>, String>;

pub(super) fn config_file() -> Result<PathBuf> {
    let path = config::location().ok_or_else(|| Error::usage("the configuration file has no place: $HOME is unset", "set $HOME"))?;
    std::path::absolute(&path).io("find", &path)
}

/// The configuration file, if it does not exist yet.
pub(super) fn config() -> Result<Wanted> {
    let path = config_file()?;
    if path.symlink_metadata().is_ok() {
        return Ok(Ok(None));
    }
    Ok(Ok(Some(Change::whole(
        Part::Config,
        path,
        None,
        &config::template(),
        "new: every key explained, and none set (askbox init --print shows it)",
    ))))
}

/// The unit of the service.
pub(super) fn unit(record: &Record) -> Result<Wanted> {
    let file = service::service_file()?;
    let what = format!("new: runs `{} watch`, now and at each login", file.relaunch.display());
    Ok(own_file(Part::Service, file.path, &file.text, what, record))
}

/// A file of our own. It is created if it is missing, and replaced if it is unchanged since we wrote it.
pub(super) fn own_file(part: Part, path: PathBuf, text: &str, what: String, record: &Record) -> Wanted {
    let (path, before) = change::current(&path).map_err(|why| format!("{} {why}", path.display()))?;
    match before {
        None => Ok(Some(Change::whole(part, path, None, text, what))),
        Some(before) if before == text.as_bytes() => Ok(None),
        Some(before) if record.written_to(&path).and_then(|written| written.sha256.as_ref()) == Some(&change::hash(&before)) => {
            Ok(Some(Change::whole(part, path, Some(before), text, "replaces the file of an earlier setup")))
        }
        Some(_) => Err(format!("{} exists with another content", path.display())),
    }
}

/// The variable for the service that the person named.
pub(super) fn credential(name: &str) -> Result<Wanted> {
    check_name(name)?;
    let Some(path) = service::variables_file() else { return Ok(Ok(None)) };
    let (path, before) = match change::current(&path) {
        Ok(found) => found,
        Err(why) => return Ok(Err(format!("{} {why}", path.display()))),
    };
    let text = before.as_ref().map(|bytes| String::from_utf8_lossy(bytes).into_owned()).unwrap_or_default();
    if without(&text, &[name.to_owned()]) != text {
        return Ok(Err(format!("{} has {name} already", path.display())));
    }
    let mut change = Change::whole(
        Part::Credentials,
        path,
        before,
        &text,
        format!("adds the variable {name}, whose value is asked for and not shown (mode 0600)"),
    );
    change.variables = vec![name.to_owned()];
    Ok(Ok(Some(change)))
}

/// Asks for the value of a variable, and puts it into its change.
pub(super) fn fill_in(change: &mut Change) -> Result<()> {
    for name in &change.variables {
        let value = take(name)?;
        if change.after.last().is_some_and(|last| *last != b'\n') {
            change.after.push(b'\n');
        }
        change.after.extend(line(name, &value).into_bytes());
    }
    Ok(())
}

/// The folder of Claude Code's settings.
fn claude_folder() -> Result<PathBuf> {
    let folder = claude::config_dir(|name| std::env::var_os(name))
        .ok_or_else(|| Error::usage("Claude Code's settings have no place: $HOME is unset", "set $HOME"))?;
    std::path::absolute(&folder).io("find", &folder)
}

/// The plugin's files, in a folder whose plugins Claude Code loads by itself.
pub(super) fn plugin(record: &Record) -> Result<Vec<Wanted>> {
    let claude = claude_folder()?;
    if is_installed(&claude) {
        return Ok(Vec::new());
    }
    let file =
        |(name, text): &(&str, &str)| own_file(Part::Plugin, claude.join("skills/askbox").join(name), text, "new".to_owned(), record);
    Ok(FILES.iter().map(file).collect())
}

/// True if the plugin was installed from a marketplace.
fn is_installed(claude: &Path) -> bool {
    let installed = askbox_mailbox::disk::read(&claude.join("plugins/installed_plugins.json"), change::LONGEST);
    let installed: serde_json::Value =
        installed.ok().and_then(|bytes| serde_json::from_slice(without_bom(&bytes)).ok()).unwrap_or_default();
    installed["plugins"].as_object().is_some_and(|plugins| plugins.keys().any(|name| name.starts_with("askbox@")))
}

/// The section of the user's CLAUDE.md.
pub(super) fn section() -> Result<Wanted> {
    let path = claude_folder()?.join("CLAUDE.md");
    Ok(text_of(&path).map(|(path, before)| {
        let text = before.clone().unwrap_or_default();
        let heading = claude_md::SECTION.lines().next().unwrap_or_default();
        if text.lines().any(|line| line.trim_start_matches('\u{FEFF}') == heading) {
            return None;
        }
        let added = Added { at: text.len(), text: format!("{}{}", space_behind(&text), claude_md::SECTION), ..Added::default() };
        Some(addition(Part::ClaudeMd, path, before, added, "adds the section that `askbox init --claude-md` prints".to_owned()))
    }))
}

/// The rules in the user's settings.json.
pub(super) fn permissions() -> Result<Wanted> {
    let path = claude_folder()?.join("settings.json");
    Ok(text_of(&path).and_then(|(path, before)| {
        let text = before.as_deref().unwrap_or("{\n}\n");
        let unusable = |why| {
            let (shown, file) = (path.display(), text::path_word(&path));
            format!("{shown} {why}, so no rule was added; mend it, and then: askbox setup\n  $ ${{EDITOR:-vi}} {file}")
        };
        let missing = change::missing(text, &RULES).map_err(unusable)?;
        if missing.is_empty() {
            return Ok(None);
        }
        let after = change::with(text, &missing).map_err(unusable)?;
        let added = Added::between(before.as_deref().unwrap_or_default(), &after, &missing);
        Ok(Some(addition(Part::Permissions, path, before, added, shown(&missing))))
    }))
}

fn shown(rules: &[&str]) -> String {
    format!("adds to permissions.allow:\n{}", rules.iter().map(|rule| format!("      {rule}")).collect::<Vec<_>>().join("\n"))
}

pub(super) fn text_of(path: &Path) -> std::result::Result<(PathBuf, Option<String>), String> {
    let named = |why: String| format!("{} {why}", path.display());
    let (own, before) = change::current(path).map_err(named)?;
    let text = before.map(String::from_utf8).transpose().map_err(|_| named("is not valid UTF-8".to_owned()))?;
    Ok((own, text))
}

/// What leaves an empty line between this text and an addition at its end.
pub(super) fn space_behind(text: &str) -> &'static str {
    match text {
        "" => "",
        text if text.ends_with('\n') => "\n",
        _ => "\n\n",
    }
}

pub(super) fn addition(part: Part, path: PathBuf, before: Option<String>, added: Added, what: String) -> Change {
    let mut after = before.clone().unwrap_or_default();
    after.replace_range(added.at..added.at + added.replaces.len(), &added.text);
    let what = if before.is_none() { format!("new: {what}") } else { what };
    Change { added: Some(added), ..Change::whole(part, path, before.map(String::into_bytes), &after, what) }
}

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

/// The maximum size of a value, in bytes.
const LONGEST: u64 = 64 << 10;

/// The line of the service's file of variables, without the value.
pub(super) fn check_name(name: &str) -> Result<()> {
    let is_name = |name: &str| {
        name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') && name.bytes().next().is_some_and(|b| !b.is_ascii_digit())
    };
    if is_name(name) {
        return Ok(());
    }
    let hint = "give the name alone, such as --credential ANTHROPIC_API_KEY; its value is asked for";
    Err(Error::usage(format!("`{name}` is no name of a variable"), hint))
}

/// Reads the value from the person, or from a pipe.
pub(super) fn take(name: &str) -> Result<String> {
    let value = if program::is_interactive() {
        let question = format!("Value of {name} (not shown):");
        let asked = Password::new(&question).with_display_mode(PasswordDisplayMode::Hidden).without_confirmation();
        asked.prompt().map_err(|e| Error::failed(format!("no value was given: {e}"), "nothing of it was written; repeat the command"))?
    } else {
        program::read_stdin_text(LONGEST)?
    };
    if value.is_empty() || value.chars().any(char::is_control) {
        let hint = "give one line: on a terminal, or through a pipe";
        return Err(Error::usage(format!("the value of {name} is empty or has control characters"), hint));
    }
    Ok(value)
}

/// The line for systemd: in double quotes, with escapes for characters that would end or change the value.
pub(super) fn line(name: &str, value: &str) -> String {
    format!("{name}=\"{}\"\n", value.replace('\\', "\\\\").replace('"', "\\\"").replace('$', "\\$").replace('`', "\\`"))
}

/// The text without the lines of these variables.
pub(super) fn without(text: &str, names: &[String]) -> String {
    let is_ours = |line: &str| names.iter().any(|name| line.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with('=')));
    text.split_inclusive('\n').filter(|line| !is_ours(line)).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::FILES;

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
