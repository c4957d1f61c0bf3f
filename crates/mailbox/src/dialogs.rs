//! The dialogs at the terminals of Kimi and Gemini. Their programs take no answer from another place, so each dialog is only news: a file
//! `dialogs/UUID.json`. A hook of the program writes the file when the dialog opens and removes it when the dialog has ended.
//!
//! A program that was killed leaves its files. So a file names the program's process, and is removed once that process is gone.
//!
//! # Limitations
//! The files are hints, and no decision follows from them. They are not synced. Every process of the user can write them.

use std::path::PathBuf;
use std::time::SystemTime;

use chrono::TimeDelta;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::document::{self, SCHEMA_VERSION};
use crate::platform::processes::{self, Seen};
use crate::{Error, IoContext, Mailbox, ProcessHandle, Result, Time, disk, text, time};

/// The largest file, in bytes.
const LARGEST: u64 = 16 << 10;
/// The most files. Further dialogs are not written down.
const MOST: usize = 100;
/// The most entries that are read of the folder.
const MOST_ENTRIES: usize = 1000;
/// How long a dialog is kept whose process is not known.
const KEPT: TimeDelta = TimeDelta::days(1);
/// How far the clocks of two processes may differ.
const CLOCKS: TimeDelta = TimeDelta::minutes(5);
/// The most characters of an id or a name.
const LONGEST_NAME: usize = 100;
/// The most characters of the dialog's words.
const LONGEST_WORDS: usize = 200;
/// The most characters of a path.
const LONGEST_PATH: usize = 1000;

/// A program whose dialogs are news.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Program {
    /// Kimi Code (measured with 2.1.0).
    Kimi,
    /// Gemini CLI (measured with 0.61.0).
    Gemini,
}

impl Program {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Kimi, Self::Gemini];

    /// The command that starts it, which is also its word in the configuration.
    pub fn command(self) -> &'static str {
        self.into()
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kimi => "Kimi",
            Self::Gemini => "Gemini",
        }
    }
}

/// A process, and when it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// Its id.
    pub pid: i32,
    /// When it began, in the kernel's ticks. `None` on a system that does not tell it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began: Option<u64>,
}

impl Process {
    /// The process with this id now, if it belongs to this user.
    pub fn at(pid: i32) -> Option<Self> {
        let seen = (pid > 1).then(|| Seen::at(pid)).flatten().filter(Seen::is_of_this_user)?;
        Some(Self { pid, began: seen.began() })
    }

    /// True if this process is still there. A process that has ended and that its parent has not asked about is gone.
    fn lives(&self) -> bool {
        let is_same = |now: Self| now.began.is_none() || self.began.is_none() || now.began == self.began;
        let has_ended = || ProcessHandle::open(self.pid.cast_unsigned()).is_some_and(|handle| handle.is_gone());
        Self::at(self.pid).is_some_and(is_same) && !has_ended()
    }
}

/// A dialog that waits at the terminal of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dialog {
    /// The version of the form.
    #[serde(default)]
    pub schema_version: u32,
    /// The program of the session.
    pub program: Program,
    /// The id of the session, as its program names it.
    pub session_id: String,
    /// The working folder of the session.
    pub cwd: String,
    /// The tool that the agent wants to call.
    pub tool: String,
    /// The call in the program's words, such as its command.
    pub asks: String,
    /// When the dialog opened.
    pub since: Time,
    /// The program's process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<Process>,
}

impl Dialog {
    /// A dialog that opens now.
    pub fn new(program: Program, session_id: &str, cwd: &str, tool: &str, asks: &str, process: Option<Process>) -> Self {
        let (session_id, cwd, tool, asks) = (session_id.to_owned(), cwd.to_owned(), tool.to_owned(), asks.to_owned());
        Self { schema_version: SCHEMA_VERSION, program, session_id, cwd, tool, asks, since: time::now(), process }.cleaned(time::now())
    }

    /// The dialog without what a terminal may act on, and with short texts.
    fn cleaned(self, now: Time) -> Self {
        let short = |text: &str, most| text::excerpt(text, most);
        Self {
            session_id: session(&self.session_id),
            cwd: short(&self.cwd, LONGEST_PATH),
            tool: short(&self.tool, LONGEST_NAME),
            asks: words(&self.asks),
            // A dialog cannot have opened in the future. It counts as very old, so that its file is removed.
            since: if self.since > now + CLOCKS { Time::UNIX_EPOCH } else { self.since.min(now) },
            ..self
        }
    }

    /// The name of the folder where the session works.
    pub fn project(&self) -> String {
        let name = std::path::Path::new(&self.cwd).file_name();
        name.map_or_else(|| "-".to_owned(), |name| text::excerpt(&name.to_string_lossy(), LONGEST_NAME))
    }

    /// True if its program has ended, or if the dialog is old and its program not known.
    fn is_over(&self, now: Time) -> bool {
        match &self.process {
            Some(process) if processes::are_visible() => !process.lives(),
            _ => now.signed_duration_since(self.since) > KEPT,
        }
    }
}

/// The words of a dialog as they are kept: on one line, short, and without what a terminal may act on.
pub fn words(text: &str) -> String {
    text::excerpt(text, LONGEST_WORDS)
}

fn session(id: &str) -> String {
    text::excerpt(id, LONGEST_NAME)
}

/// The folder of these files. It may be missing.
pub fn folder(mailbox: &Mailbox) -> PathBuf {
    mailbox.root().join("dialogs")
}

fn path(mailbox: &Mailbox, id: Uuid) -> PathBuf {
    folder(mailbox).join(format!("{id}.json"))
}

/// The id in the name of such a file.
pub fn id_of_name(name: &str) -> Option<Uuid> {
    let id = name.strip_suffix(".json")?.parse::<Uuid>().ok()?;
    (name == format!("{id}.json")).then_some(id)
}

/// The ids of all files, whatever the files hold.
fn ids(mailbox: &Mailbox) -> Vec<Uuid> {
    let files = disk::entries(&folder(mailbox)).into_iter().flatten().flatten().filter(disk::Entry::is_file);
    files.filter_map(|entry| id_of_name(entry.name.to_str()?)).take(MOST).collect()
}

/// Writes down that a dialog has opened.
///
/// # Errors
/// [`Error::Conflict`] if too many dialogs are open. [`Error::Io`] if the system refuses.
pub fn open(mailbox: &Mailbox, id: Uuid, dialog: &Dialog) -> Result<()> {
    disk::touch_folder(&folder(mailbox))?;
    if ids(mailbox).len() >= MOST {
        waiting(mailbox);
        if ids(mailbox).len() >= MOST {
            return Err(Error::conflict("too many dialogs are open", "remove old files of dialogs/"));
        }
    }
    disk::replace_unsynced(&path(mailbox, id), &document::to_json(dialog)?, SystemTime::now())
}

/// Notes that a dialog has ended.
///
/// # Errors
/// [`Error::Io`] if the system refuses.
pub fn close(mailbox: &Mailbox, id: Uuid) -> Result<()> {
    disk::untouch(&path(mailbox, id))
}

/// Removes the dialogs of this session that have ended. `has_ended` decides about each.
///
/// # Errors
/// [`Error::Io`] if the system refuses.
pub fn close_in(mailbox: &Mailbox, program: Program, session_id: &str, has_ended: impl Fn(&Dialog) -> bool) -> Result<()> {
    let session_id = session(session_id);
    let is_it = |dialog: &Dialog| dialog.program == program && dialog.session_id == session_id && has_ended(dialog);
    let ended = ids(mailbox).into_iter().filter(|id| read(mailbox, *id).is_ok_and(|dialog| is_it(&dialog)));
    ended.collect::<Vec<_>>().into_iter().try_for_each(|id| close(mailbox, id))
}

/// Reads the dialog with this id.
///
/// # Errors
/// [`Error::Invalid`] if the file is not one that askbox writes. [`Error::Io`] if the system refuses, such as for a missing file.
pub fn read(mailbox: &Mailbox, id: Uuid) -> Result<Dialog> {
    let path = path(mailbox, id);
    let dialog: Option<Dialog> = document::json(&disk::read(&path, LARGEST)?);
    let invalid = || Error::invalid("file", "is not a dialog that askbox wrote", "remove it").in_file(&path);
    dialog.map(|dialog| dialog.cleaned(time::now())).ok_or_else(invalid)
}

/// The dialogs that wait. Files of programs that have ended are removed, and files that cannot be read are left out.
pub fn waiting(mailbox: &Mailbox) -> Vec<(Uuid, Dialog)> {
    let (over, waiting) = over_and_waiting(mailbox);
    for (id, _) in over {
        let _ = close(mailbox, id);
    }
    waiting
}

/// The dialogs that wait, without a change to any file.
pub fn seen(mailbox: &Mailbox) -> Vec<Dialog> {
    over_and_waiting(mailbox).1.into_iter().map(|(_, dialog)| dialog).collect()
}

type Dialogs = Vec<(Uuid, Dialog)>;

fn over_and_waiting(mailbox: &Mailbox) -> (Dialogs, Dialogs) {
    let now = time::now();
    let all = ids(mailbox).into_iter().filter_map(|id| Some((id, read(mailbox, id).ok()?)));
    all.partition(|(_, dialog)| dialog.is_over(now))
}

/// The names in the folder whose files cannot be read as a dialog, each with the reason.
///
/// # Errors
/// [`Error::Io`] if the system refuses.
pub fn unreadable(mailbox: &Mailbox) -> Result<Vec<(String, Error)>> {
    let folder = folder(mailbox);
    if !disk::exists(&folder) {
        return Ok(Vec::new());
    }
    let entries = disk::entries(&folder).io("read", &folder)?.flatten().take(MOST_ENTRIES);
    let names = entries.filter(disk::Entry::is_file).filter_map(|entry| entry.name.into_string().ok());
    let unreadable =
        names.filter_map(|name| Some((id_of_name(&name)?, name))).filter_map(|(id, name)| Some((name, read(mailbox, id).err()?)));
    // A dialog may end during the look.
    Ok(unreadable.filter(|(_, error)| !error.is_missing_file()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mailbox() -> (tempfile::TempDir, Mailbox) {
        let folder = tempfile::tempdir().unwrap();
        let mailbox = Mailbox::open_or_create(folder.path().join("m")).unwrap();
        (folder, mailbox)
    }

    fn dialog(session: &str, process: Option<Process>) -> Dialog {
        Dialog::new(Program::Kimi, session, "/work/docs", "Bash", "touch f1", process)
    }

    #[test]
    fn a_dialog_waits_until_it_ends_or_its_process_does() {
        let (_folder, mailbox) = mailbox();
        let mut ended = std::process::Command::new("true").spawn().unwrap();
        assert!(ProcessHandle::open(ended.id()).unwrap().wait_gone(std::time::Duration::from_secs(60)));
        let gone = Process::at(ended.id().cast_signed()).unwrap();
        let own = Process::at(std::process::id().cast_signed());
        let ids = [Uuid::new_v4(), Uuid::new_v4(), Uuid::new_v4(), Uuid::new_v4()];
        let old = Dialog { since: time::now() - TimeDelta::hours(25), ..dialog("old", None) };
        for (id, dialog) in ids.iter().zip([dialog("here", own), dialog("gone", Some(gone)), dialog("unknown", None), old]) {
            open(&mailbox, *id, &dialog).unwrap();
        }
        let sessions = || {
            let mut all: Vec<_> = waiting(&mailbox).into_iter().map(|(_, dialog)| dialog.session_id).collect();
            all.sort();
            all
        };
        assert_eq!(sessions(), ["here", "unknown"]);
        assert!(!disk::exists(path(&mailbox, ids[1])), "the file of a program that has ended is removed");
        ended.wait().unwrap();
        let own = own.unwrap();
        let other = Process { began: own.began.map(|_| 1), ..own };
        assert!(!gone.lives() && own.lives() && other.lives() == own.began.is_none(), "another process may have the id");
        close_in(&mailbox, Program::Gemini, "here", |_| true).unwrap();
        close_in(&mailbox, Program::Kimi, "here", |dialog| dialog.asks == "touch f2").unwrap();
        assert_eq!(sessions(), ["here", "unknown"]);
        close_in(&mailbox, Program::Kimi, "here", |_| true).unwrap();
        close(&mailbox, ids[2]).unwrap();
        close(&mailbox, ids[2]).unwrap();
        assert_eq!(sessions(), [] as [&str; 0]);
    }

    #[test]
    fn what_a_file_of_a_dialog_says_is_short_and_harmless() {
        let (_folder, mailbox) = mailbox();
        let id = Uuid::new_v4();
        let long = "\u{1b}[31mred\n".repeat(2000);
        let hostile = Dialog::new(Program::Gemini, &long, &long, &long, &long, None);
        open(&mailbox, id, &hostile).unwrap();
        let read_back = read(&mailbox, id).unwrap();
        assert_eq!(read_back, hostile);
        for text in [&read_back.session_id, &read_back.cwd, &read_back.tool, &read_back.asks, &read_back.project()] {
            assert!(text.len() < 1100 && !text.contains(['\u{1b}', '\n']), "{text}");
        }
        // Somebody else wrote these.
        let text = String::from_utf8(document::to_json(&dialog("s", None)).unwrap()).unwrap();
        let written = |text: &str| std::fs::write(path(&mailbox, id), text).unwrap();
        let year = read(&mailbox, id).unwrap().since;
        written(&text.replace("\"since\": \"20", "\"since\": \"90").replace("touch", "\\u001b[2Jtouch"));
        let read_back = read(&mailbox, id).unwrap();
        assert!(read_back.since >= year && read_back.since <= time::now() && !read_back.asks.contains('\u{1b}'), "{read_back:?}");
        for bad in ["", "{", "[]", &text[..40], &"[".repeat(5000), &text.replace("kimi", "other"), &" ".repeat(20_000)] {
            written(bad);
            assert!(read(&mailbox, id).is_err(), "{bad}");
        }
        assert_eq!(unreadable(&mailbox).unwrap().len(), 1);
        assert_eq!(waiting(&mailbox), []);
    }

    #[test]
    fn further_dialogs_than_the_most_are_not_written_down() {
        let (_folder, mailbox) = mailbox();
        (0..MOST).for_each(|_| open(&mailbox, Uuid::new_v4(), &dialog("s", None)).unwrap());
        assert!(open(&mailbox, Uuid::new_v4(), &dialog("s", None)).is_err());
        assert_eq!(waiting(&mailbox).len(), MOST);
    }
}
