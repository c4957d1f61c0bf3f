//! The plugins for programs other than Claude Code, in folders whose plugins these programs load by themselves.

use std::path::{Path, PathBuf};

use crate::commands::live::{COPILOT_EXTENSION, OPENCODE_PLUGIN};
use crate::commands::setup::record::Record;
use crate::commands::setup::wanted::{self, Wanted};
use askbox_cli::args::askbox_args::{Part, Setup};
use askbox_cli::program;
use askbox_mailbox::disk;
use askbox_mailbox::error::{Error, Result};
use askbox_run::process::programs;

/// The longest plugin, in bytes.
const LONGEST: u64 = 1 << 20;

/// A plugin of askbox for another program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::commands) enum OtherPlugin {
    Opencode,
    /// An experiment.
    Copilot,
}

/// The plugin that lies in its program's folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::commands) enum Installed {
    Missing,
    /// It is the plugin of another version, or somebody has changed it.
    Other,
    /// It is the one that this program contains.
    This,
}

impl OtherPlugin {
    pub(super) const ALL: [Self; 2] = [Self::Opencode, Self::Copilot];

    /// The program.
    pub(in crate::commands) fn program(self) -> &'static str {
        match self {
            Self::Opencode => "opencode",
            Self::Copilot => "copilot",
        }
    }

    /// The plugin in words.
    pub(in crate::commands) fn name(self) -> &'static str {
        match self {
            Self::Opencode => "the plugin for opencode",
            Self::Copilot => "the extension for Copilot",
        }
    }

    /// The flag of `askbox setup` that writes it.
    pub(in crate::commands) fn flag(self) -> &'static str {
        match self {
            Self::Opencode => "--opencode",
            Self::Copilot => "--copilot",
        }
    }

    /// What a person has to know once the file is there.
    fn note(self) -> &'static str {
        match self {
            // Measured with opencode 1.18.33.
            Self::Opencode => {
                "opencode: opencode loads a package for plugins from npm when it starts the next time, and does not wait for it again. \
                 Without a network, each start takes up to two minutes until then"
            }
            Self::Copilot => {
                "Copilot: only `copilot --experimental` loads the extension. It asks once in each folder whether the extension may handle \
                 permission requests"
            }
        }
    }

    /// The program's own folder. `None` if it has no place, because `$HOME` is not set.
    fn folder(self) -> Option<PathBuf> {
        let home = || program::env("HOME").map(PathBuf::from);
        let set = |name| program::env(name).map(PathBuf::from).filter(|base| base.is_absolute());
        match self {
            Self::Opencode => set("XDG_CONFIG_HOME").or_else(|| Some(home()?.join(".config"))).map(|base| base.join("opencode")),
            Self::Copilot => set("COPILOT_HOME").or_else(|| Some(home()?.join(".copilot"))),
        }
    }

    /// The file of the plugin.
    pub(in crate::commands) fn path(self) -> Option<PathBuf> {
        let name = match self {
            Self::Opencode => "plugin/askbox.js",
            Self::Copilot => "extensions/askbox/extension.mjs",
        };
        self.folder().map(|folder| folder.join(name))
    }

    /// The text of the file.
    fn text(self) -> &'static str {
        match self {
            Self::Opencode => OPENCODE_PLUGIN,
            Self::Copilot => COPILOT_EXTENSION,
        }
    }

    /// Looks at the file of the plugin.
    pub(in crate::commands) fn installed(self, path: &Path) -> Installed {
        match disk::read(path, LONGEST) {
            Ok(bytes) if bytes == self.text().as_bytes() => Installed::This,
            Err(e) if e.is_missing_file() => Installed::Missing,
            _ => Installed::Other,
        }
    }

    /// True if a person of this machine uses the program: it is on PATH, or its folder is there.
    pub(super) fn is_used(self) -> bool {
        programs::find(Path::new(self.program())).is_ok() || self.folder().is_some_and(|folder| folder.is_dir())
    }

    /// True if the flags ask for the file, or if an earlier setup wrote it and it is brought up to date.
    pub(super) fn is_wanted(self, args: &Setup, record: &Record) -> bool {
        let is_asked_for = match self {
            Self::Opencode => args.opencode,
            Self::Copilot => args.copilot,
        };
        let is_recorded = || self.path().is_some_and(|path| record.written_to(&path).is_some());
        args.allows_live() && is_asked_for || args.updates_live() && is_recorded()
    }

    /// The file, as this program contains it, and the note that a person reads if it is new.
    pub(super) fn wanted(self, record: &Record) -> Result<(Wanted, Option<&'static str>)> {
        let no_place = || Error::usage(format!("{} has no place: $HOME is unset", self.name()), "set $HOME");
        let path = self.path().ok_or_else(no_place)?;
        let what = match self {
            Self::Opencode => "new: opencode's plugin of askbox",
            Self::Copilot => "new: Copilot's extension of askbox",
        };
        let wanted = wanted::own_file(Part::Live, path, self.text(), what.to_owned(), record);
        let is_new = matches!(&wanted, Ok(Some(change)) if change.before.is_none());
        Ok((wanted, is_new.then(|| self.note())))
    }
}
