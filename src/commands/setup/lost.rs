//! The parts of earlier setups that are gone, for `askbox doctor`: a file that was deleted, settings that lost the rules, a service that was
//! switched off.

use clap::ValueEnum;

use crate::commands::setup::change::{self, LONGEST};
use crate::commands::setup::other_plugins::OtherPlugin;
use crate::commands::setup::record::{Record, Written};
use crate::commands::setup::systemd;
use askbox_cli::args::askbox_args::Part;
use askbox_mailbox::{Mailbox, disk, without_bom};

/// Something that a setup made and that is not there any more.
pub(in crate::commands) struct Lost {
    /// The file or the service.
    pub(in crate::commands) subject: String,
    /// What is missing, and what that means.
    pub(in crate::commands) said: String,
    /// The command that makes it again.
    pub(in crate::commands) mend: String,
}

/// Everything that is gone. Empty without a setup, or if its record cannot be read.
pub(in crate::commands) fn all() -> Vec<Lost> {
    let Ok(record) = Record::read() else { return Vec::new() };
    let mut lost: Vec<Lost> = record.files.iter().filter_map(of_file).collect();
    lost.extend(mailbox(&record));
    if record.is_service_enabled && systemd::is_there() && !systemd::is_on() {
        lost.push(Lost {
            subject: systemd::UNIT.to_owned(),
            said: format!(
                "`askbox setup` switched this service on, and it is off or has failed, so nothing starts agents{}",
                or_take_back(Part::Service)
            ),
            mend: format!("systemctl --user daemon-reload && systemctl --user enable --now {}", systemd::UNIT),
        });
    }
    lost
}

/// The mailbox, if a setup is on record. A mailbox that `$ASKBOX_DIR` names is reported as such.
fn mailbox(record: &Record) -> Option<Lost> {
    let is_set_up = record.is_service_enabled || record.mailbox.is_some() || !record.files.is_empty();
    let path = Mailbox::locate(None).ok().filter(|path| is_set_up && !disk::exists(path))?;
    let is_default = askbox_cli::program::env("ASKBOX_DIR").is_none();
    is_default.then(|| Lost {
        subject: path.display().to_string(),
        said: "there is no mailbox, so the watcher, the page and sessions have nothing to watch".to_owned(),
        mend: format!("askbox setup --only {}", name(Part::Mailbox)),
    })
}

fn of_file(written: &Written) -> Option<Lost> {
    let said = match disk::read(&written.path, LONGEST) {
        Err(e) if e.is_missing_file() => "`askbox setup` wrote this file, and it is gone".to_owned(),
        Err(_) => return None,
        // The keys of the configuration are the person's own.
        Ok(_) if [Part::Config, Part::Live].contains(&written.part) => return None,
        Ok(bytes) => lacks(written, &String::from_utf8_lossy(without_bom(&bytes)))?,
    };
    Some(Lost {
        subject: written.path.display().to_string(),
        said: format!("{said}{}", or_take_back(written.part)),
        mend: format!("askbox setup --only {}{}", name(written.part), flag_of(written)),
    })
}

/// The flag that a part needs for this file.
fn flag_of(written: &Written) -> String {
    let plugin = OtherPlugin::ALL.into_iter().find(|plugin| plugin.path().is_some_and(|path| path == written.path));
    plugin.map(|plugin| format!(" {}", plugin.flag)).unwrap_or_default()
}

/// Says what the file lacks of what was added to it.
fn lacks(written: &Written, text: &str) -> Option<String> {
    let promised: Vec<&str> = written.added.iter().flat_map(|added| &added.rules).map(String::as_str).collect();
    if !promised.is_empty() {
        let missing = change::missing(text, &promised).ok()?;
        let named = missing.first()?;
        let more = if missing.len() > 1 { format!(" and {} more", missing.len() - 1) } else { String::new() };
        return Some(format!("it lacks rules that `askbox setup` added, so agents are asked before they ask: {named}{more}"));
    }
    // The section of CLAUDE.md. Somebody may have changed its words, but its heading stays.
    let heading = written.added.iter().find_map(|added| added.text.lines().find(|line| !line.trim().is_empty()))?;
    (!text.contains(heading)).then(|| "it lacks the section that `askbox setup` added, so agents do not know how to ask".to_owned())
}

fn or_take_back(part: Part) -> String {
    format!(" (if it is to be so: askbox setup --remove --only {})", name(part))
}

fn name(part: Part) -> String {
    part.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}
