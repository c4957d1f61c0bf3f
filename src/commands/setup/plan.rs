//! The plan of a setup: the changes that a call would make, and the parts that it leaves alone.

use std::path::PathBuf;

use crate::commands::service;
use crate::commands::setup::change::Change;
use crate::commands::setup::live::{self, LiveKey};
use crate::commands::setup::other_plugins::OtherPlugin;
use crate::commands::setup::record::Record;
use crate::commands::setup::wanted::{self, Wanted};
use crate::commands::setup::{mailbox, news_hooks, systemd};
use askbox_cli::args::askbox_args::{Part, Setup};
use askbox_cli::program;
use askbox_mailbox::Result;
use askbox_mailbox::platform::means::{SERVICE_MANAGER, ServiceManager};

/// The plan of a call.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// The mailbox that is to be made.
    mailbox: Option<PathBuf>,
    changes: Vec<Change>,
    /// True if the service is to be enabled and started.
    starts_service: bool,
    /// The parts that are left as they are, and why.
    pub(super) left: Vec<String>,
    /// Notes on things that the person may want to know or do.
    notes: Vec<String>,
}

impl Plan {
    /// Checks everything that the chosen parts need. Changes nothing.
    pub(super) fn make(args: &Setup, record: &Record) -> Result<Self> {
        let mut plan = Self::default();
        for part in args.parts() {
            match part {
                Part::Mailbox => match mailbox::wanted()? {
                    Ok(mailbox) => plan.mailbox = mailbox,
                    Err(why) => plan.left.push(why),
                },
                Part::Config => plan.take(wanted::config()?),
                Part::Live => plan.live(&live::keys(args))?,
                Part::Service => plan.service(record)?,
                Part::Credentials => {
                    if let Some(name) = &args.credential {
                        plan.take(wanted::credential(name)?);
                    }
                }
                Part::Plugin => wanted::plugin(record)?.into_iter().for_each(|wanted| plan.take(wanted)),
                Part::ClaudeMd => plan.take(wanted::section()?),
                Part::Permissions => plan.take(wanted::permissions()?),
            }
        }
        for plugin in OtherPlugin::ALL.into_iter().filter(|plugin| plugin.is_wanted(args, record)) {
            let (wanted, note) = plugin.wanted(record)?;
            plan.notes.extend(note.map(str::to_owned));
            plan.take(wanted);
        }
        plan.notes.extend(news_hooks::notes(args));
        let is_first = plan.changes.iter().any(|change| change.part == Part::Plugin);
        plan.notes.extend((is_first && askbox_fence::obstacle().is_none()).then(|| live::FENCE_ALIAS.to_owned()));
        Ok(plan)
    }

    fn take(&mut self, wanted: Wanted) {
        match wanted {
            Ok(change) => self.changes.extend(change),
            Err(why) => self.left.push(why),
        }
    }

    /// The configuration file may be new in the same plan.
    fn live(&mut self, keys: &[&LiveKey]) -> Result<()> {
        match self.changes.iter_mut().find(|change| change.part == Part::Config) {
            Some(new) => live::switch_on(new, keys),
            None => live::wanted(keys)?.into_iter().for_each(|wanted| self.take(wanted)),
        }
        Ok(())
    }

    fn service(&mut self, record: &Record) -> Result<()> {
        if !systemd::is_there() {
            let how = if SERVICE_MANAGER == ServiceManager::Launchd {
                "`askbox init --service` writes a file for launchd"
            } else {
                "let your service manager run `relaunch watch`, or run it in a terminal"
            };
            self.notes.push(format!("Service: systemd does not manage this user's services here, so none is set up; {how}"));
            return Ok(());
        }
        let wanted = wanted::unit(record)?;
        let is_usable = wanted.is_ok();
        let is_new = matches!(wanted, Ok(Some(_)));
        self.take(wanted);
        self.starts_service = is_usable && (is_new || !systemd::is_on());
        Ok(())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.mailbox.is_none() && self.changes.is_empty() && !self.starts_service
    }

    /// The plan for a person, file by file. With `with_contents`, it contains the whole content of new files.
    pub(super) fn words(&self, with_contents: bool) -> String {
        let mut words = String::new();
        if let Some(mailbox) = &self.mailbox {
            words.push_str(&format!("{}\n  + {}: new: questions and answers lie here\n", Part::Mailbox.heading(), mailbox.display()));
        }
        for part in Part::ALL {
            let of_part: Vec<_> = self.changes.iter().filter(|change| change.part == part).collect();
            let starts = part == Part::Service && self.starts_service;
            if of_part.is_empty() && !starts {
                continue;
            }
            words.push_str(&format!("{}\n", part.heading()));
            for change in of_part {
                let sign = if change.before.is_none() { '+' } else { '~' };
                words.push_str(&format!("  {sign} {}: {}\n", change.path.display(), change.what));
                if with_contents && change.variables.is_empty() {
                    let text = change
                        .added
                        .as_ref()
                        .map_or_else(|| String::from_utf8_lossy(&change.after).into_owned(), |added| added.text.clone());
                    text.lines().for_each(|line| words.push_str(&format!("      | {line}\n")));
                }
            }
            if starts {
                words.push_str(&format!("  $ systemctl --user daemon-reload && systemctl --user enable --now {}\n", systemd::UNIT));
            }
        }
        words.extend(self.left.iter().map(|left| format!("Left as it is: {left}\n")));
        words
    }

    /// Further steps and remarks for the person.
    pub(super) fn notes(&self) -> String {
        self.notes.iter().map(|note| format!("{note}\n")).collect()
    }

    /// Makes the changes, one after the other.
    pub(super) fn carry_out(mut self, record: &mut Record) -> Result<()> {
        for change in &mut self.changes {
            wanted::fill_in(change)?;
        }
        if let Some(path) = self.mailbox {
            mailbox::make(path, record)?;
        }
        for change in &self.changes {
            change.carry_out(record)?;
        }
        if self.starts_service {
            // The folder where systemd records which services it starts at login.
            let unit = service::service_file()?.path;
            record.note_folders_above(&unit.with_file_name("default.target.wants").join(systemd::UNIT));
            record.is_service_enabled = true;
            record.keep()?;
            systemd::enable()?;
            service::warn_about_missing(service::variables_file().as_deref(), &unit);
            program::say(service::LINGER);
        } else if self.changes.iter().any(|change| change.part == Part::Credentials) && systemd::is_there() {
            systemd::call(&["try-restart", systemd::UNIT])?;
        }
        Ok(())
    }
}
