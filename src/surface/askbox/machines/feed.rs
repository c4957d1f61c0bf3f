//! `ask-answer list --json --watch`: the questions that wait, and then each change, one JSON object a line, until the reader goes. It follows
//! file events, and looks at everything now and then, for file systems without them. See `docs/protocol.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use serde_json::value::RawValue;

use crate::disk;
use crate::disk::file_events::{Hint, Hints};
use crate::error::{Error, Result};
use crate::id::{QuestionId, WorkflowId};
use crate::mailbox::listing::list;
use crate::mailbox::{Folder, Mailbox, read_question, round};
use crate::peers::lines::{ALIVE_EVERY, Line};
use crate::surface::args::common::Common;
use crate::surface::ask_answer::question_text;
use crate::surface::program;
use crate::thread;

/// How often everything is looked at.
const LOOK_ANYWAY: Duration = Duration::from_secs(60);
/// So many changed files at once, and all are looked at.
const MANY: usize = 4096;

/// Prints until the reader goes; returns the exit status.
pub(super) fn run(common: &Common) -> Result<u8> {
    let changes = Arc::new(Changes::default());
    end_with_the_reader(&changes)?;
    match tell(common, &changes) {
        Err(Trouble::ReaderIsGone) | Ok(()) => Ok(0),
        Err(Trouble::Failed(e)) => {
            let _ = say(Line::Failed { error: program::message(&e), hint: e.hint() });
            Err(e)
        }
    }
}

enum Trouble {
    ReaderIsGone,
    Failed(Error),
}

impl From<Error> for Trouble {
    fn from(e: Error) -> Self {
        Self::Failed(e)
    }
}

/// What has changed since the last look.
#[derive(Default)]
struct Changes {
    state: Mutex<Changed>,
    woken: Condvar,
}

#[derive(Default)]
struct Changed {
    ended: bool,
    anywhere: bool,
    at: BTreeSet<WorkflowId>,
}

impl Changes {
    fn note(&self, note: impl FnOnce(&mut Changed)) {
        note(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
        self.woken.notify_all();
    }

    /// What has changed, at the first change or after `limit`.
    fn wait(&self, limit: Duration) -> Changed {
        let end = Instant::now() + limit;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if state.ended || state.anywhere || !state.at.is_empty() || left.is_zero() {
                return Changed { ended: state.ended, ..std::mem::take(&mut *state) };
            }
            state = self.woken.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// What was told of a workflow: its round, and which file it was.
struct Told {
    round: Option<QuestionId>,
    file: File,
}

/// Tells whether a file is still the one that was read.
#[derive(PartialEq, Eq)]
struct File(u64, i64, i64, u64);

fn tell(common: &Common, changes: &Arc<Changes>) -> Result<(), Trouble> {
    let no_mailbox = named_in_vain(common)?;
    let mut is_missing = no_mailbox.is_some();
    say(Line::hello_without(no_mailbox))?;
    let mut told = BTreeMap::new();
    let mut mailbox = None;
    let mut hints = None;
    let mut looked: Option<Instant> = None;
    let mut is_listed = false;
    loop {
        // A mailbox that does not exist yet has no questions.
        if mailbox.is_none() {
            mailbox = match common.open() {
                Err(Error::NotFound { .. }) if !is_listed => None,
                Err(Error::NotFound { .. }) => None,
                other => Some(other?),
            };
            if let Some(mailbox) = &mailbox {
                if std::mem::take(&mut is_missing) {
                    say(Line::hello())?;
                }
                // Events from before the first look on: what comes between them and it is looked at twice.
                hints = watch(mailbox, changes);
                looked = None;
            }
        }
        if let Some(mailbox) = &mailbox {
            mailbox.check_in_place()?;
            if looked.is_none() {
                let names = list::workflows(mailbox, Folder::Pending)?;
                let all: BTreeSet<_> = names.into_iter().chain(told.keys().cloned()).collect();
                all.iter().try_for_each(|workflow| look(mailbox, workflow, &mut told))?;
                looked = Some(Instant::now());
            }
        }
        if !is_listed {
            say(Line::Listed)?;
            is_listed = true;
        }
        let changed = changes.wait(Duration::from_secs(ALIVE_EVERY));
        if changed.ended {
            return Ok(());
        }
        if changed.anywhere || looked.is_some_and(|at| at.elapsed() >= LOOK_ANYWAY) || (mailbox.is_some() && hints.is_none()) {
            looked = None;
        } else if changed.at.is_empty() {
            say(Line::Alive)?;
        } else if let Some(mailbox) = &mailbox {
            changed.at.iter().try_for_each(|workflow| look(mailbox, workflow, &mut told))?;
        }
    }
}

/// The mailbox that somebody has named and that is not there: it may be misspelt or not mounted. The usual one is made by the first post.
fn named_in_vain(common: &Common) -> Result<Option<String>> {
    if common.mailbox.is_none() && program::env("ASKBOX_DIR").is_none() {
        return Ok(None);
    }
    let path = Mailbox::locate(common.mailbox.as_deref())?;
    Ok(matches!(Mailbox::open(&path), Err(Error::NotFound { .. })).then(|| path.display().to_string()))
}

/// Tells what has changed in one workflow's question.
fn look(mailbox: &Mailbox, workflow: &WorkflowId, told: &mut BTreeMap<WorkflowId, Told>) -> Result<(), Trouble> {
    let path = mailbox.document(Folder::Pending, workflow);
    let file = disk::metadata(&path).ok().map(|m| File(m.ino(), m.ctime(), m.ctime_nsec(), m.len()));
    let known = told.get(workflow);
    if file.is_some() && known.is_some_and(|known| Some(&known.file) == file.as_ref()) {
        return Ok(());
    }
    let read = match read_question::pending(mailbox, workflow) {
        Err(e) if e.is_missing_file() => None,
        // It is on its way out.
        Ok(document) if document.typed.closed.is_some() => None,
        Ok(document) => Some(round::of_pending(mailbox, &document.typed).map(|round| (round.question, document))),
        Err(e) => Some(Err(e)),
    };
    let now = match (&read, file) {
        (Some(_), Some(file)) => Some(Told { round: read.as_ref().and_then(|r| r.as_ref().ok().map(|(id, _)| *id)), file }),
        _ => None,
    };
    if let Some(before) = known.filter(|before| now.as_ref().is_none_or(|now| now.round != before.round)) {
        say(gone(mailbox, workflow, before.round))?;
    }
    let Some(now) = now else {
        told.remove(workflow);
        return Ok(());
    };
    told.insert(workflow.clone(), now);
    let workflow_id = workflow.clone();
    match read {
        Some(Ok((question_id, document))) => {
            // A line break in JSON is white space; one in a text is escaped.
            let json = String::from_utf8_lossy(&document.to_bytes()).replace(['\n', '\r'], " ");
            let document = RawValue::from_string(json).map_err(|e| Error::failed(e.to_string(), "report this"))?;
            say(Line::Question { workflow_id, question_id, document })
        }
        Some(Err(e)) => say(Line::Unreadable { workflow_id, error: program::message(&e) }),
        None => Ok(()),
    }
}

/// What became of a question.
fn gone(mailbox: &Mailbox, workflow: &WorkflowId, round: Option<QuestionId>) -> Line {
    let found = round.and_then(|id| round::of_workflow(mailbox, workflow).into_iter().find(|found| found.id.question == id));
    let answer = found.as_ref().and_then(|found| found.document.typed.answer.as_ref());
    let fate = match (&found, answer) {
        (_, Some(answer)) => answer.said_by(),
        (Some(found), None) => question_text::state(found),
        (None, None) => "is there no more".into(),
    };
    let offer_id = answer.and_then(|answer| answer.offer_id);
    Line::Gone { workflow_id: workflow.clone(), question_id: round, fate, offer_id }
}

fn say(line: Line) -> Result<(), Trouble> {
    program::write_json(&line.to_json()?).map_err(|e| match e.kind() {
        io::ErrorKind::BrokenPipe => Trouble::ReaderIsGone,
        _ => Trouble::Failed(Error::failed(format!("cannot write to standard output: {e}"), "start it again")),
    })
}

fn watch(mailbox: &Mailbox, changes: &Arc<Changes>) -> Option<Hints> {
    let theirs = Arc::clone(changes);
    let mut hints = Hints::new(move |hint| {
        let name = if let Hint::At(path) = &hint { path.file_name().and_then(|name| name.to_str()) } else { None };
        theirs.note(|changed| match (hint.clone(), name) {
            (Hint::At(_), Some(name)) if changed.at.len() < MANY => {
                // Temporary names are nothing to tell.
                changed.at.extend(WorkflowId::from_file_name(name));
            }
            _ => changed.anywhere = true,
        });
    })
    .ok()?;
    hints.watch(&mailbox.folder(Folder::Pending)).ok()?;
    Some(hints)
}

/// Notices that the reader has gone while there is nothing to tell.
fn end_with_the_reader(changes: &Arc<Changes>) -> Result<()> {
    let theirs = Arc::clone(changes);
    thread::start(move || {
        #[allow(clippy::disallowed_methods, reason = "nothing is written to it")]
        let out = io::stdout();
        let mut fds = [PollFd::new(&out, PollFlags::empty())];
        while !fds[0].revents().intersects(PollFlags::HUP | PollFlags::ERR) {
            if poll(&mut fds, None).is_err_and(|e| e != Errno::INTR) {
                return;
            }
        }
        theirs.note(|changed| changed.ended = true);
    })
    .map(drop)
}
