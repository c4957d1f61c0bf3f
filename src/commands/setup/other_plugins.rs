//! The plugins for programs other than Claude Code, in folders whose plugins these programs load by themselves.

use std::path::{Path, PathBuf};

use crate::commands::setup::record::Record;
use crate::commands::setup::wanted::{self, Wanted};
use askbox_cli::args::askbox_args::{Part, Setup};
use askbox_cli::program;
use askbox_mailbox::{Error, Result, disk};
use askbox_run::programs;

/// The longest plugin, in bytes.
const LONGEST: u64 = 1 << 20;

/// A plugin of askbox for another program.
#[derive(Debug, Clone, Copy)]
pub(in crate::commands) struct OtherPlugin {
    program: &'static str,
    /// The plugin in words.
    pub(in crate::commands) name: &'static str,
    /// The flag of `askbox setup` that writes it.
    pub(in crate::commands) flag: &'static str,
    is_asked_for: fn(&Setup) -> bool,
    what: &'static str,
    /// What a person has to know once the file is there.
    note: &'static str,
    /// The variable that names the folder above the program's own one, and that folder below `$HOME` without it.
    above: (&'static str, &'static str),
    /// The program's own folder there.
    folder: &'static str,
    /// The file of the plugin in the program's own folder.
    file: &'static str,
    text: &'static str,
}

pub(in crate::commands) const OPENCODE: OtherPlugin = OtherPlugin {
    program: "opencode",
    name: "the plugin for opencode",
    flag: "--opencode",
    is_asked_for: |args| args.opencode,
    what: "new: opencode's plugin of askbox",
    // Measured with opencode 1.18.33.
    note: "opencode: opencode loads a package for plugins from npm when it starts the next time, and does not wait for it again. \
           Without a network, each start takes up to two minutes until then",
    above: ("XDG_CONFIG_HOME", ".config"),
    folder: "opencode",
    file: "plugin/askbox.js",
    text: include_str!("opencode.js"),
};

/// An experiment.
pub(in crate::commands) const COPILOT: OtherPlugin = OtherPlugin {
    program: "copilot",
    name: "the extension for Copilot",
    flag: "--copilot",
    is_asked_for: |args| args.copilot,
    what: "new: Copilot's extension of askbox",
    note: "Copilot: only `copilot --experimental` loads the extension. It asks once in each folder whether the extension may handle \
           permission requests",
    above: ("COPILOT_HOME", ".copilot"),
    folder: "",
    file: "extensions/askbox/extension.mjs",
    text: include_str!("copilot.mjs"),
};

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
    pub(super) const ALL: [Self; 2] = [OPENCODE, COPILOT];

    /// The program's own folder. `None` if it has no place, because `$HOME` is not set.
    fn folder(self) -> Option<PathBuf> {
        let (variable, below_home) = self.above;
        let set = program::env(variable).map(PathBuf::from).filter(|above| above.is_absolute());
        let above = set.or_else(|| Some(Path::new(&program::env("HOME")?).join(below_home)))?;
        Some(if self.folder.is_empty() { above } else { above.join(self.folder) })
    }

    /// The file of the plugin.
    pub(in crate::commands) fn path(self) -> Option<PathBuf> {
        self.folder().map(|folder| folder.join(self.file))
    }

    /// Looks at the file of the plugin.
    pub(in crate::commands) fn installed(self, path: &Path) -> Installed {
        match disk::read(path, LONGEST) {
            Ok(bytes) if bytes == self.text.as_bytes() => Installed::This,
            Err(e) if e.is_missing_file() => Installed::Missing,
            _ => Installed::Other,
        }
    }

    /// True if a person of this machine uses the program: it is on PATH, or its folder is there.
    pub(super) fn is_used(self) -> bool {
        programs::find(Path::new(self.program)).is_ok() || self.folder().is_some_and(|folder| folder.is_dir())
    }

    /// True if the flags ask for the file, or if an earlier setup wrote it and it is brought up to date.
    pub(super) fn is_wanted(self, args: &Setup, record: &Record) -> bool {
        let is_recorded = || self.path().is_some_and(|path| record.written_to(&path).is_some());
        args.allows_live() && (self.is_asked_for)(args) || args.updates_live() && is_recorded()
    }

    /// The file, as this program contains it, and the note that a person reads if it is new.
    pub(super) fn wanted(self, record: &Record) -> Result<(Wanted, Option<&'static str>)> {
        let no_place = || Error::usage(format!("{} has no place: $HOME is unset", self.name), "set $HOME");
        let path = self.path().ok_or_else(no_place)?;
        let wanted = wanted::own_file(Part::Live, path, self.text, self.what.to_owned(), record);
        let is_new = matches!(&wanted, Ok(Some(change)) if change.before.is_none());
        Ok((wanted, is_new.then_some(self.note)))
    }
}
