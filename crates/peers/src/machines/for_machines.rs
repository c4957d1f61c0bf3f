//! The commands of `ask-answer` that another machine runs here: `list --json --watch` and `--offer FILE --json`. See `docs/dev/engine.md`.
//!
//! The list prints the waiting questions and then each change, one JSON object a line, until the reader goes away. It follows file events.
//! Now and then it also looks at everything, for file systems without events. An offer of an answer prints a greeting as the first line,
//! before the offer is read. The second line is the verdict.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::lines::{ALIVE_EVERY, Line, WaitingLine};
use askbox_cli::{Common, Context, hangup, program};
use askbox_mailbox::documents::offer::MAX_OFFER;
use askbox_mailbox::prompts;
use askbox_mailbox::transitions::offered;
use askbox_mailbox::{
    Decided, Error, Folder, Hint, Hints, Mailbox, Offer, QuestionId, Result, RoundId, WorkflowId, disk, document, list, read_question,
    round, thread,
};
use askbox_run::story;
use askbox_sessions::Asked;

/// The time between two looks at everything.
const LOOK_ANYWAY: Duration = Duration::from_secs(60);
/// The longest request, in bytes. The words of a prompt fit with every character escaped.
pub(crate) const MAX_REQUEST: u64 = 8 * prompts::LONGEST as u64;
/// If this many files have changed at once, everything is looked at.
const MANY: usize = 4096;

/// Prints until the reader goes away. Returns the exit status.
pub(super) fn feed(common: &Common) -> Result<u8> {
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

#[derive(derive_more::From)]
enum Trouble {
    ReaderIsGone,
    #[from]
    Failed(Error),
}

/// The changes since the last look.
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
        note(&mut thread::locked(&self.state));
        self.woken.notify_all();
    }

    /// Waits for the first change, for `limit` at most. Returns the changes.
    fn wait(&self, limit: Duration) -> Changed {
        let end = Instant::now() + limit;
        let mut state = thread::locked(&self.state);
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if state.ended || state.anywhere || !state.at.is_empty() || left.is_zero() {
                return Changed { ended: state.ended, ..std::mem::take(&mut *state) };
            }
            state = self.woken.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// The last thing that was printed about a workflow: its round, and the identity of its file.
struct Told {
    round: Option<QuestionId>,
    file: File,
}

/// The identity of a file. It shows whether the file is still the one that was read.
#[derive(PartialEq, Eq)]
struct File(u64, i64, i64, u64);

fn tell(common: &Common, changes: &Arc<Changes>) -> Result<(), Trouble> {
    let no_mailbox = named_in_vain(common)?;
    let mut is_missing = no_mailbox.is_some();
    say(Line::hello(no_mailbox))?;
    let mut told = BTreeMap::new();
    let mut mailbox = None;
    let mut hints = None;
    let mut looked: Option<Instant> = None;
    let mut is_listed = false;
    loop {
        // A mailbox that does not exist yet has no questions.
        if mailbox.is_none() {
            mailbox = match common.open() {
                Err(Error::NotFound { .. }) => None,
                other => Some(other?),
            };
            if let Some(mailbox) = &mailbox {
                if std::mem::take(&mut is_missing) {
                    say(Line::hello(None))?;
                }
                // File events are collected from before the first look. A change between the two is therefore looked at twice, and never
                // missed.
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

/// The path of a mailbox that somebody has named and that does not exist: it may be misspelt or not mounted. The default mailbox is created
/// by the first post.
pub(super) fn named_in_vain(common: &Common) -> Result<Option<String>> {
    if common.mailbox.is_none() && program::env("ASKBOX_DIR").is_none() {
        return Ok(None);
    }
    let path = Mailbox::locate(common.mailbox.as_deref())?;
    Ok(matches!(Mailbox::open(&path), Err(Error::NotFound { .. })).then(|| path.display().to_string()))
}

/// Prints the changes of one workflow's question.
fn look(mailbox: &Mailbox, workflow: &WorkflowId, told: &mut BTreeMap<WorkflowId, Told>) -> Result<(), Trouble> {
    let path = mailbox.document(Folder::Pending, workflow);
    let file = disk::metadata(&path).ok().map(|m| File(m.ino(), m.ctime(), m.ctime_nsec(), m.len()));
    let known = told.get(workflow);
    if file.is_some() && known.is_some_and(|known| Some(&known.file) == file.as_ref()) {
        return Ok(());
    }
    let read = match read_question::pending(mailbox, workflow) {
        Err(e) if e.is_missing_file() => None,
        // The question is about to leave the folder.
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
            // A line break between JSON tokens is white space, and inside a text it is escaped, so it can be replaced.
            let json = String::from_utf8_lossy(&document.to_bytes()).replace(['\n', '\r'], " ");
            let document = RawValue::from_string(json).map_err(|e| Error::failed(e.to_string(), "report this"))?;
            say(Line::Question(WaitingLine { workflow_id, question_id, document }))
        }
        Some(Err(e)) => say(Line::Unreadable { workflow_id, error: program::message(&e) }),
        None => Ok(()),
    }
}

/// The line that says how a question ended.
fn gone(mailbox: &Mailbox, workflow: &WorkflowId, round: Option<QuestionId>) -> Line {
    let found = round.and_then(|question| round::find(mailbox, &RoundId { workflow: workflow.clone(), question }));
    let answer = found.as_ref().and_then(|found| found.document.typed.answer.as_ref());
    let fate = match (&found, answer) {
        (_, Some(answer)) => answer.said_by(),
        (Some(found), None) => story::in_words(found),
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
                // A temporary file is not a change.
                changed.at.extend(WorkflowId::from_file_name(name));
            }
            _ => changed.anywhere = true,
        });
    })
    .ok()?;
    hints.watch(&mailbox.folder(Folder::Pending)).ok()?;
    Some(hints)
}

/// Notices that the reader has gone away, even while nothing is written.
fn end_with_the_reader(changes: &Arc<Changes>) -> Result<()> {
    let theirs = Arc::clone(changes);
    thread::start(move || {
        #[allow(clippy::disallowed_methods, reason = "nothing is written to it")]
        if hangup::wait(io::stdout()) {
            theirs.note(|changed| changed.ended = true);
        }
    })
    .map(drop)
}

/// Takes the offer. Returns the exit status: 0 if it was accepted, 4 if not, 5 if it is invalid.
pub(super) fn take_offer(mailbox: &Mailbox, context: &Context, file: &Path) -> Result<u8> {
    let fix = "send one object as docs/schema/offer.schema.json describes it";
    let mut status = 0;
    replied(|| {
        let offer: Offer = read(file, MAX_OFFER, "offer", fix)?;
        let verdict = offered::apply(mailbox, &context.loaded()?.config.answers.policy(), &offer, context.below())?;
        status = match verdict.decided {
            Decided::Accepted => 0,
            Decided::Invalid => 5,
            Decided::Lost | Decided::Closed | Decided::Changed => 4,
        };
        Ok(Line::Verdict { verdict })
    })?;
    Ok(status)
}

/// Does what a request asks of the sessions here.
pub(super) fn about_sessions(mailbox: &Mailbox, context: &Context, file: &Path) -> Result<()> {
    replied(|| {
        let asked: Asked = read(file, MAX_REQUEST, "request", "install the same release of askbox on both machines")?;
        Ok(Line::Reply { reply: asked.does(mailbox, context, context.below())?.to_json()? })
    })
}

/// Greets, and prints the reply, or why there is none.
fn replied(reply: impl FnOnce() -> Result<Line>) -> Result<()> {
    program::print_json_text(&Line::hello(None).to_json()?)?;
    match reply() {
        Ok(line) => program::print_json_text(&line.to_json()?),
        Err(e) => {
            program::print_json_text(&Line::Failed { error: program::message(&e), hint: e.hint() }.to_json()?)?;
            Err(e)
        }
    }
}

fn read<T: DeserializeOwned>(file: &Path, limit: u64, what: &'static str, fix: &'static str) -> Result<T> {
    let bytes = program::read_input(file, limit)?;
    document::check_depth(document::utf8(&bytes)?)?;
    serde_json::from_slice(&bytes).map_err(|e| {
        let problem = format!("is no {what}: {}", document::in_plain_words(&e.to_string()));
        program::in_input(file, Error::invalid(what, problem, fix))
    })
}
