//! `askbox setup --remove`: takes back everything that setups wrote. A file that did not exist before is removed. Any other file gets back
//! its exact content of before. If somebody has changed a file since then, only our part of it is removed, and the person is told.

use crate::commands::setup::change::{self, LONGEST};
use crate::commands::setup::record::{self, Record, Written};
use crate::commands::setup::{is_agreed, live, mailbox, news_hooks, systemd, wanted};
use askbox_cli::args::askbox_args::{Part, Setup};
use askbox_cli::program;
use askbox_mailbox::{Result, disk};

/// The way to take back one file.
enum Undo {
    /// The file is gone already, or contains nothing of ours.
    Nothing,
    /// The file is removed.
    Remove,
    /// The file gets back this earlier content.
    Restore(String),
    /// The file was changed since the setup. It gets this content, which lacks our part.
    Cut(String),
    /// The file was changed since the setup, and our part cannot be recognized in it.
    Keep,
}

pub(super) fn run(args: &Setup, record: &mut Record) -> Result<u8> {
    let parts = args.parts();
    let files: Vec<Written> = record.files.iter().rev().filter(|written| parts.contains(&written.part)).cloned().collect();
    let ends_service = record.is_service_enabled && parts.contains(&Part::Service);
    let mailbox = record.mailbox.clone().filter(|_| parts.contains(&Part::Mailbox));
    if files.is_empty() && mailbox.is_none() && !ends_service {
        program::print("Nothing is to do: no setup is on record.\n")?;
        record.remove_if_empty()?;
        say_what_stays(&parts);
        return Ok(0);
    }
    let mut words = String::new();
    if ends_service {
        words.push_str(&format!("  $ systemctl --user disable --now {} (runs of agents go on)\n", systemd::UNIT));
    }
    for written in &files {
        words.push_str(&format!("  {}\n", undo_of(written)?.0.words(written)));
    }
    if let Some(mailbox) = &mailbox {
        words.push_str(&format!("  {}\n", mailbox::undo_in_words(mailbox)));
    }
    program::print(&words)?;
    if args.dry_run || !is_agreed(args, "Take all of this back?")? {
        return Ok(0);
    }
    if ends_service {
        if systemd::is_there() {
            systemd::call(&["disable", "--now", systemd::UNIT])?;
        }
        record.is_service_enabled = false;
        record.keep()?;
    }
    for written in &files {
        // The file's content now decides, not its content when the person was asked.
        let (undo, before) = undo_of(written)?;
        carry_out(undo, &before, written)?;
        written.path.parent().map_or(Ok(()), record::remove_temporary)?;
        record.files.retain(|known| known.path != written.path);
        record.keep()?;
    }
    if ends_service && systemd::is_there() {
        systemd::call(&["daemon-reload"])?;
    }
    if let Some(path) = &mailbox {
        mailbox::take_back(path)?;
        record.mailbox = None;
        record.keep()?;
    }
    record.remove_if_empty()?;
    program::print("Done.\n")?;
    say_what_stays(&parts);
    Ok(0)
}

/// Names what a person has to take back, because setup did not write it as a part of its own.
fn say_what_stays(parts: &[Part]) {
    if parts.contains(&Part::Live) {
        let lines = live::still_on().into_iter().chain(news_hooks::still_there());
        lines.for_each(|line| program::say(&format!("note: {line}\n")));
    }
}

/// Decides how to take back a file. Also returns the content that the decision is about.
fn undo_of(written: &Written) -> Result<(Undo, Vec<u8>)> {
    let bytes = disk::if_there(disk::read(&written.path, LONGEST))?;
    Ok(bytes.map_or_else(|| (Undo::Nothing, Vec::new()), |bytes| (undo_in(&bytes, written), bytes)))
}

fn undo_in(bytes: &[u8], written: &Written) -> Undo {
    let is_ours = written.sha256.as_ref() == Some(&change::hash(bytes));
    if is_ours && written.is_new {
        return Undo::Remove;
    }
    let Ok(text) = String::from_utf8(bytes.to_vec()) else { return Undo::Keep };
    if !written.variables.is_empty() {
        let rest = wanted::without(&text, &written.variables);
        return match rest {
            rest if rest == text => Undo::Nothing,
            rest if rest.is_empty() && written.is_new => Undo::Remove,
            rest => Undo::Cut(rest),
        };
    }
    if written.added.is_empty() {
        return Undo::Keep;
    }
    if is_ours && let Some(before) = exactly_without(&text, written) {
        return Undo::Restore(before);
    }
    let mut rest = text.clone();
    for added in written.added.iter().rev() {
        if !added.rules.is_empty() {
            // The list may be ours as well, and the object around it, unless there is something of the person's in it by now.
            let is_ours = |key: &str| added.text.contains(key) && !added.replaces.contains(key);
            rest = change::without(&rest, &added.rules, is_ours("\"allow\":"), is_ours("\"permissions\":")).unwrap_or(rest);
        } else if rest.matches(&added.text).count() == 1 {
            rest = rest.replacen(&added.text, head_that_stays(&rest, &added.text), 1);
        } else if rest.contains(added.text.lines().find(|line| !line.is_empty()).unwrap_or_default()) {
            return Undo::Keep;
        }
    }
    match rest {
        rest if rest == text => Undo::Nothing,
        rest if written.is_new && change::is_empty(&rest) => Undo::Remove,
        rest => Undo::Cut(rest),
    }
}

/// The part of an addition that stays: the head of its table, if the person has written more keys below it. Without their head, these keys
/// would belong to another table.
fn head_that_stays<'a>(text: &str, added: &'a str) -> &'a str {
    let behind = text.split_once(added).map_or("", |(_, behind)| behind);
    let next = behind.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
    let has_more_keys = next.is_some_and(|line| !line.starts_with('['));
    let head = added.find("]\n").filter(|_| has_more_keys && added.trim_start().starts_with('['));
    head.map_or("", |end| &added[..end + 2])
}

/// The text as it was before our additions, or `None` if they are no longer at their recorded places.
fn exactly_without(text: &str, written: &Written) -> Option<String> {
    let mut text = text.to_owned();
    for added in written.added.iter().rev() {
        let end = added.at.checked_add(added.text.len())?;
        if text.get(added.at..end)? != added.text {
            return None;
        }
        text.replace_range(added.at..end, &added.replaces);
    }
    Some(text)
}

fn carry_out(undo: Undo, before: &[u8], written: &Written) -> Result<()> {
    let path = &written.path;
    let is_done = match undo {
        Undo::Nothing | Undo::Keep => true,
        Undo::Remove => disk::remove_if(path, before)?,
        Undo::Restore(text) | Undo::Cut(text) => {
            change::check_writable(path)?;
            disk::replace_if(path, before, text.as_bytes())?
        }
    };
    if is_done { Ok(()) } else { Err(change::changed_meanwhile(path)) }
}

impl Undo {
    fn words(&self, written: &Written) -> String {
        let path = written.path.display();
        match self {
            Self::Nothing => format!("  {path}: nothing of ours is there any more"),
            Self::Remove => format!("- {path}: is removed"),
            Self::Restore(_) => format!("~ {path}: becomes what it was before"),
            Self::Cut(_) => format!("~ {path}: was changed since; only what setup put in is taken out"),
            Self::Keep => format!("  {path}: was changed since, and stays; remove it by hand if you do not need it"),
        }
    }
}
