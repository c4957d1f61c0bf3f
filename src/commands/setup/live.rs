//! The keys of `[live]` in the configuration file. They bring the dialogs of sessions into the mailbox, so a person has to agree.

use crate::commands::setup::change::Change;
use crate::commands::setup::confirmed;
use crate::commands::setup::other_plugins::OPENCODE;
use crate::commands::setup::record::Added;
use crate::commands::setup::wanted::{self, Wanted};
use askbox_cli::args::askbox_args::{Part, Setup};
use askbox_cli::program;
use askbox_config::{self as config, Config};
use askbox_mailbox::Result;
use askbox_watch::codex;

/// A key that brings the dialogs of one program's sessions into the mailbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LiveKey {
    /// `live.enabled`: Claude Code.
    Claude,
    /// `live.codex`: Codex.
    Codex,
    /// `live.opencode`: opencode.
    Opencode,
    /// `live.experimental_copilot`: Copilot.
    Copilot,
    /// `live.experimental_qwen`: Qwen.
    Qwen,
}

impl LiveKey {
    const ALL: [Self; 5] = [Self::Claude, Self::Codex, Self::Opencode, Self::Copilot, Self::Qwen];

    /// The key, with its section.
    fn name(self) -> &'static str {
        match self {
            Self::Claude => "live.enabled",
            Self::Codex => "live.codex",
            Self::Opencode => "live.opencode",
            Self::Copilot => "live.experimental_copilot",
            Self::Qwen => "live.experimental_qwen",
        }
    }

    /// The line below the head of the section.
    fn line(self) -> &'static str {
        match self {
            Self::Claude => "enabled = true\n",
            Self::Codex => "codex = true\n",
            Self::Opencode => "opencode = true\n",
            Self::Copilot => "experimental_copilot = true\n",
            Self::Qwen => "experimental_qwen = true\n",
        }
    }

    fn is_on(self, config: &Config) -> bool {
        match self {
            Self::Claude => config.live.enabled,
            Self::Codex => config.live.codex,
            Self::Opencode => config.live.opencode,
            Self::Copilot => config.live.experimental_copilot,
            Self::Qwen => config.live.experimental_qwen,
        }
    }

    /// The question whether the person wants this. An experiment is not offered.
    fn offer(self) -> Option<Offer> {
        let offer = match self {
            Self::Claude => Offer {
                before: "When a session of Claude Code asks for a permission, the same question can wait in the mailbox: the first answer counts.\n",
                question: "Do you want that?",
                instead: "add --live, or --without live",
            },
            Self::Codex => Offer {
                before: "Codex is used here as well. The dialogs of its sessions can wait in the mailbox in the same way.\n",
                question: "Do you want that for Codex?",
                instead: "add --codex, or --without live",
            },
            Self::Opencode => Offer {
                before: "opencode is used here as well. The dialogs of its sessions can wait in the mailbox in the same way, by a plugin for \
                         opencode.\n",
                question: "Do you want that for opencode?",
                instead: "add --opencode, or --without live",
            },
            Self::Copilot | Self::Qwen => return None,
        };
        Some(offer)
    }
}

/// The line that starts Qwen beside askbox. Setup changes no file of a shell.
pub(super) const QWEN_ALIAS: &str = "Qwen: only sessions that askbox starts take part. Add this line to the file of your shell, such as \
     ~/.bashrc:\n  alias qwen='askbox live qwen --'";

/// A question to the person at the terminal.
struct Offer {
    before: &'static str,
    question: &'static str,
    /// The flags that answer it.
    instead: &'static str,
}

/// The keys that the flags select.
pub(super) fn keys(args: &Setup) -> Vec<LiveKey> {
    let claude = args.live || !(args.codex || args.opencode || args.copilot || args.qwen);
    let all = [
        (claude, LiveKey::Claude),
        (args.codex, LiveKey::Codex),
        (args.opencode, LiveKey::Opencode),
        (args.copilot, LiveKey::Copilot),
        (args.qwen, LiveKey::Qwen),
    ];
    all.into_iter().filter_map(|(is_chosen, key)| is_chosen.then_some(key)).collect()
}

/// The flags, with the choices of a person at a terminal. A person is asked about a key if the flags and the configuration leave it open.
pub(super) fn decided(args: &Setup) -> Result<Setup> {
    let parts = args.parts();
    let mut args = args.clone();
    if args.yes || args.dry_run || args.without.contains(&Part::Live) || args.only.contains(&Part::Live) || !program::is_interactive() {
        return Ok(args);
    }
    let Ok(set) = config::load().map(|loaded| loaded.set) else { return Ok(args) };
    let is_open = |key: LiveKey| !set.iter().any(|name| name == key.name());
    let asked = |key: LiveKey| {
        let Some(offer) = key.offer() else { return Ok(false) };
        program::say(offer.before);
        confirmed(offer.question, offer.instead)
    };
    // The plugin brings the hook that Claude Code's dialogs need. The watcher, which is the service, connects to Codex.
    if !args.live && parts.contains(&Part::Plugin) && is_open(LiveKey::Claude) {
        args.live = asked(LiveKey::Claude)?;
    }
    if !args.codex && parts.contains(&Part::Service) && is_open(LiveKey::Codex) && codex::is_used() {
        args.codex = asked(LiveKey::Codex)?;
    }
    // The plugin for opencode is a part of its own, and needs no service.
    if !args.opencode && args.only.is_empty() && is_open(LiveKey::Opencode) && OPENCODE.is_used() {
        args.opencode = asked(LiveKey::Opencode)?;
    }
    Ok(args)
}

/// The keys in the configuration file that is there, or in a file of its own.
pub(super) fn wanted(keys: &[LiveKey]) -> Result<Vec<Wanted>> {
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
    let (set, missing): (Vec<LiveKey>, Vec<LiveKey>) = keys.iter().partition(|key| loaded.set.iter().any(|name| name == key.name()));
    let off = set.into_iter().filter(|key| !key.is_on(&loaded.config));
    let left = |key: LiveKey| Err(format!("{} has {} = false; write true yourself if you want it", path.display(), key.name()));
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
pub(super) fn switch_on(new: &mut Change, keys: &[LiveKey]) {
    let text = String::from_utf8_lossy(&new.after).into_owned();
    new.after = spliced(&text, &added(&text, keys)).into_bytes();
    new.what = format!("new: every key explained, and {} set (askbox init --print shows the others)", names(keys));
}

/// The keys that the configuration sets, also after setup has taken back what it added. A key in a file that setup made as a whole stays in it.
pub(super) fn still_on() -> Vec<String> {
    let (Ok(path), Ok(loaded)) = (wanted::config_file(), config::load()) else { return Vec::new() };
    let on = LiveKey::ALL.into_iter().filter(|key| key.is_on(&loaded.config));
    on.map(|key| format!("{} still sets {}; write false to switch it off", path.display(), key.name())).collect()
}

fn names(keys: &[LiveKey]) -> String {
    keys.iter().map(|key| key.name()).collect::<Vec<_>>().join(" and ")
}

fn spliced(text: &str, added: &Added) -> String {
    format!("{}{}{}", &text[..added.at], added.text, &text[added.at..])
}

/// The lines that set the keys, and their place: below the head of the section, or behind everything.
fn added(text: &str, keys: &[LiveKey]) -> Added {
    let lines: String = keys.iter().map(|key| key.line()).collect();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        at += line.len();
        if line.ends_with('\n') && line.split('#').next().unwrap_or_default().trim() == "[live]" {
            return Added { at, text: lines, rules: Vec::new() };
        }
    }
    let space = match text {
        "" => "",
        text if text.ends_with('\n') => "\n",
        _ => "\n\n",
    };
    Added { at: text.len(), text: format!("{space}[live]\n{lines}"), rules: Vec::new() }
}
