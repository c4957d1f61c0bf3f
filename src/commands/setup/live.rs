//! The keys of `[live]` in the configuration file. They bring the dialogs of sessions into the mailbox, so a person has to agree.

use crate::commands::setup::change::Change;
use crate::commands::setup::confirmed;
use crate::commands::setup::other_plugins::OPENCODE;
use crate::commands::setup::record::Added;
use crate::commands::setup::wanted::{self, Wanted};
use askbox_cli::args::askbox_args::{Part, Setup};
use askbox_cli::program;
use askbox_config as config;
use askbox_mailbox::Result;
use askbox_sessions::codex;

/// A key that brings the dialogs of one program's sessions into the mailbox.
pub(super) struct LiveKey {
    /// The key in its section.
    key: &'static str,
    is_asked_for: fn(&Setup) -> bool,
    is_on: fn(&config::Live) -> bool,
    /// The words before the question whether the person wants this, the question, and the flags that answer it. An experiment is not
    /// offered.
    offer: Option<(&'static str, &'static str, &'static str)>,
}

/// The keys: Claude Code, Codex, opencode, Copilot.
static ALL: [LiveKey; 4] = [
    LiveKey {
        key: "enabled",
        is_asked_for: |args| args.live || !(args.codex || args.opencode || args.copilot),
        is_on: |live| live.enabled,
        offer: Some((
            "When a session of Claude Code asks for a permission, the same question can wait in the mailbox: the first answer counts.\n",
            "Do you want that?",
            "add --live, or --without live",
        )),
    },
    LiveKey {
        key: "codex",
        is_asked_for: |args| args.codex,
        is_on: |live| live.codex,
        offer: Some((
            "Codex is used here as well. The dialogs of its sessions can wait in the mailbox in the same way.\n",
            "Do you want that for Codex?",
            "add --codex, or --without live",
        )),
    },
    LiveKey {
        key: "opencode",
        is_asked_for: |args| args.opencode,
        is_on: |live| live.opencode,
        offer: Some((
            "opencode is used here as well. The dialogs of its sessions can wait in the mailbox in the same way, by a plugin for opencode.\n",
            "Do you want that for opencode?",
            "add --opencode, or --without live",
        )),
    },
    LiveKey { key: "experimental_copilot", is_asked_for: |args| args.copilot, is_on: |live| live.experimental_copilot, offer: None },
];
static CLAUDE: &LiveKey = &ALL[0];
static CODEX: &LiveKey = &ALL[1];
static FOR_OPENCODE: &LiveKey = &ALL[2];

impl LiveKey {
    /// The key, with its section.
    fn name(&self) -> String {
        format!("live.{}", self.key)
    }
}

/// The line that starts a person's sessions of Claude Code behind the fence. Setup changes no file of a shell.
pub(super) const FENCE_ALIAS: &str = "Fence: with this line in the file of your shell, such as ~/.bashrc, no shell of your sessions of Claude \
     Code can answer a question. sudo does not work in them:\n  alias claude='askbox fence claude'";

/// The keys that the flags select.
pub(super) fn keys(args: &Setup) -> Vec<&'static LiveKey> {
    ALL.iter().filter(|key| (key.is_asked_for)(args)).collect()
}

/// The flags, with the choices of a person at a terminal. A person is asked about a key if the flags and the configuration leave it open.
pub(super) fn decided(args: &Setup) -> Result<Setup> {
    let parts = args.parts();
    let mut args = args.clone();
    if args.yes || args.dry_run || args.without.contains(&Part::Live) || args.only.contains(&Part::Live) || !program::is_interactive() {
        return Ok(args);
    }
    let Ok(set) = config::load().map(|loaded| loaded.set) else { return Ok(args) };
    let is_open = |key: &LiveKey| !set.contains(&key.name());
    let asked = |key: &LiveKey| {
        let Some((before, question, instead)) = key.offer else { return Ok(false) };
        program::say(before);
        confirmed(question, instead)
    };
    // The plugin brings the hook that Claude Code's dialogs need. The watcher, which is the service, connects to Codex.
    if !args.live && parts.contains(&Part::Plugin) && is_open(CLAUDE) {
        args.live = asked(CLAUDE)?;
    }
    if !args.codex && parts.contains(&Part::Service) && is_open(CODEX) && codex::is_used() {
        args.codex = asked(CODEX)?;
    }
    // The plugin for opencode is a part of its own, and needs no service.
    if !args.opencode && args.only.is_empty() && is_open(FOR_OPENCODE) && OPENCODE.is_used() {
        args.opencode = asked(FOR_OPENCODE)?;
    }
    Ok(args)
}

/// The keys in the configuration file that is there, or in a file of its own.
pub(super) fn wanted(keys: &[&LiveKey]) -> Result<Vec<Wanted>> {
    let path = wanted::config_file()?;
    let (path, before) = match wanted::text_of(&path) {
        Ok(found) => found,
        Err(why) => return Ok(vec![Err(why)]),
    };
    let text = before.clone().unwrap_or_default();
    let loaded = match config::parse(text.as_bytes(), &path) {
        Ok(loaded) => loaded,
        Err(e) => return Ok(vec![Err(format!("{} cannot be used: {e}", path.display()))]),
    };
    let (set, missing): (Vec<&LiveKey>, Vec<&LiveKey>) = keys.iter().partition(|key| loaded.set.contains(&key.name()));
    let off = set.into_iter().filter(|key| !(key.is_on)(&loaded.config.live));
    let left = |key: &LiveKey| Err(format!("{} has {} = false; write true yourself if you want it", path.display(), key.name()));
    let mut all: Vec<Wanted> = off.map(left).collect();
    if !missing.is_empty() {
        let added = added(&text, &missing);
        let after = spliced(&text, &added);
        // The section may have been written in a way that no lines can be added to, such as `live.grace = "1m"`.
        all.push(match config::parse(after.as_bytes(), &path) {
            Ok(_) => Ok(Some(wanted::addition(Part::Live, path, before, added, format!("sets {}", names(&missing))))),
            Err(_) => {
                Err(format!("{} has [live] in a form that setup does not add to; write {} yourself", path.display(), names(&missing)))
            }
        });
    }
    Ok(all)
}

/// Puts the keys into a configuration file that is new in the same plan.
pub(super) fn switch_on(new: &mut Change, keys: &[&LiveKey]) {
    let text = String::from_utf8_lossy(&new.after).into_owned();
    new.after = spliced(&text, &added(&text, keys)).into_bytes();
    new.what = format!("new: every key explained, and {} set (askbox init --print shows the others)", names(keys));
}

/// The keys that the configuration sets, also after setup has taken back what it added. A key in a file that setup made as a whole stays in it.
pub(super) fn still_on() -> Vec<String> {
    let (Ok(path), Ok(loaded)) = (wanted::config_file(), config::load()) else { return Vec::new() };
    let on = ALL.iter().filter(|key| (key.is_on)(&loaded.config.live));
    on.map(|key| format!("{} still sets {}; write false to switch it off", path.display(), key.name())).collect()
}

fn names(keys: &[&LiveKey]) -> String {
    keys.iter().map(|key| key.name()).collect::<Vec<_>>().join(" and ")
}

fn spliced(text: &str, added: &Added) -> String {
    format!("{}{}{}", &text[..added.at], added.text, &text[added.at..])
}

/// The lines that set the keys, and their place: below the head of the section, or behind everything.
fn added(text: &str, keys: &[&LiveKey]) -> Added {
    let lines: String = keys.iter().map(|key| format!("{} = true\n", key.key)).collect();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        at += line.len();
        if line.ends_with('\n') && line.split('#').next().unwrap_or_default().trim() == "[live]" {
            return Added { at, text: lines, ..Added::default() };
        }
    }
    Added { at: text.len(), text: format!("{}[live]\n{lines}", wanted::space_behind(text)), ..Added::default() }
}
