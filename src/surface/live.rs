//! A picture of the mailbox that is kept up to date until Ctrl-C: drawn anew when something happens, and once a second while a
//! run is live, so that its times go on; while nothing is live, it sleeps. For programs it is one object for every change.

use std::collections::{HashMap, HashSet};
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::disk::file_events::Hints;
use crate::error::{Error, Result};
use crate::id::WorkflowId;
use crate::mailbox::{Folder, Mailbox};
use crate::run::attempt::record;
use crate::run::view::status::{Standing, Status};
use crate::surface::hangup::on_hangup;
use crate::surface::program;
use crate::text;

/// The shortest time between two drawings.
const PACE: Duration = Duration::from_secs(1);
/// The longest one, where file events are lost or do not exist.
const LOOK: Duration = Duration::from_secs(60);

/// What is kept up to date.
pub trait Picture {
    /// What there is to say of one workflow.
    type Row: Serialize + Clone;

    /// The command that follows for a program.
    const FOR_PROGRAMS: &'static str;

    /// What there is to be seen now.
    fn look(&self) -> Result<Vec<Self::Row>>;

    /// One workflow that is not to be seen any more.
    fn gone(&self, workflow: &WorkflowId) -> Result<Self::Row>;

    /// It in words, for a terminal of so many columns.
    fn words(&self, rows: &[Self::Row], columns: Option<usize>) -> String;

    /// Where its workflow stands.
    fn status(row: &Self::Row) -> &Status;

    /// Whether nothing has happened, apart from the seconds that pass.
    fn is_same(one: &Self::Row, other: &Self::Row) -> bool;
}

/// Whether nothing has happened to a workflow, apart from the seconds that pass.
#[must_use]
pub fn is_same(one: &Status, other: &Status) -> bool {
    let rest =
        |s: &Status| (s.state, s.question_id, s.attempt, s.live.as_ref().map(|l| (l.doing, l.tool.clone(), l.turns, l.last_words.clone())));
    rest(one) == rest(other)
}

/// What it waits for.
enum Woken {
    Changed,
    Over,
}

/// Keeps a picture up to date until Ctrl-C.
pub fn follow<P: Picture>(mailbox: &Mailbox, picture: &P, json: bool) -> Result<u8> {
    if !json && !std::io::stdout().is_terminal() {
        return Err(Error::usage("standard output is no terminal", format!("for a program: {}", P::FOR_PROGRAMS)));
    }
    let (sender, woken) = mpsc::channel();
    let mut watched = Watched::new(mailbox, sender.clone());
    on_signal(sender.clone())?;
    let _lookout = on_hangup(move || drop(sender.send(Woken::Over)));
    // An unknown id is told before anything is drawn.
    let first = picture.look()?;
    if json {
        return changes(picture, first, &mut watched, &woken);
    }
    // The other screen, without a cursor: what was there before comes back.
    let screen = Screen::take()?;
    let drawn = draw_until_over(picture, first, &mut watched, &woken);
    drop(screen);
    program::print_words(&picture.words(&drawn?, size().map(|(_, columns)| columns)))?;
    Ok(0)
}

fn draw_until_over<P: Picture>(
    picture: &P,
    mut found: Vec<P::Row>,
    watched: &mut Watched<'_>,
    woken: &Receiver<Woken>,
) -> Result<Vec<P::Row>> {
    loop {
        let size = size().unwrap_or((24, 80));
        draw(&text::printable(&picture.words(&found, Some(size.1))), size)?;
        if !sleep(found.iter().map(P::status), watched, woken) {
            return Ok(found);
        }
        found = picture.look()?;
    }
}

/// Every row that is not as it was when it was last printed. A workflow that is not to be seen any more is printed once more.
fn changes<P: Picture>(picture: &P, mut found: Vec<P::Row>, watched: &mut Watched<'_>, woken: &Receiver<Woken>) -> Result<u8> {
    let mut printed: HashMap<WorkflowId, P::Row> = HashMap::new();
    loop {
        let there: HashSet<_> = found.iter().map(|row| &P::status(row).workflow_id).collect();
        for id in printed.keys().filter(|id| !there.contains(id)).cloned().collect::<Vec<_>>() {
            printed.remove(&id);
            if let Ok(row) = picture.gone(&id) {
                program::print_json(&row)?;
            }
        }
        for row in &found {
            let id = &P::status(row).workflow_id;
            if !printed.get(id).is_some_and(|p| P::is_same(p, row)) {
                program::print_json(row)?;
                printed.insert(id.clone(), row.clone());
            }
        }
        if !sleep(found.iter().map(P::status), watched, woken) {
            return Ok(0);
        }
        found = picture.look()?;
    }
}

/// Sleeps until there may be something new to show; false when it is over.
fn sleep<'s>(shown: impl Iterator<Item = &'s Status>, watched: &mut Watched<'_>, woken: &Receiver<Woken>) -> bool {
    let live = watched.watch_runs(shown);
    let begun = Instant::now();
    let first = match woken.recv_timeout(if live { PACE } else { LOOK }) {
        Ok(Woken::Over) | Err(RecvTimeoutError::Disconnected) => return false,
        other => other,
    };
    // However much happens, it is drawn once a second.
    let until = begun + PACE;
    while first.is_ok() {
        match woken.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(Woken::Changed) => {}
            Ok(Woken::Over) => return false,
            Err(_) => break,
        }
    }
    true
}

/// Rows and columns of the terminal on standard output; `None` where that is none.
#[must_use]
pub fn size() -> Option<(usize, usize)> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok().filter(|s| s.ws_row > 1 && s.ws_col > 1)?;
    Some((usize::from(size.ws_row), usize::from(size.ws_col)))
}

fn draw(words: &str, (rows, columns): (usize, usize)) -> Result<()> {
    let mut frame = String::from("\x1b[H");
    let lines: Vec<&str> = words.lines().collect();
    let fits = rows - 1;
    for line in lines.iter().take(if lines.len() > fits { fits - 1 } else { fits }) {
        frame.extend(line.chars().take(columns));
        frame.push_str("\x1b[K\r\n");
    }
    if lines.len() > fits {
        frame.push_str(&format!("… {} more lines\x1b[K\r\n", lines.len() + 1 - fits));
    }
    frame.push_str("\x1b[J");
    print(&frame)
}

fn print(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(|e| Error::failed(format!("cannot write to the terminal: {e}"), "is it still there?"))
}

/// The terminal's other screen, until it is dropped.
struct Screen;

impl Screen {
    fn take() -> Result<Self> {
        print("\x1b[?1049h\x1b[?25l").map(|()| Self)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = print("\x1b[?25h\x1b[?1049l");
    }
}

/// The folders whose events matter.
struct Watched<'a> {
    mailbox: &'a Mailbox,
    hints: Option<Hints>,
    runs: Vec<PathBuf>,
}

impl<'a> Watched<'a> {
    fn new(mailbox: &'a Mailbox, sender: Sender<Woken>) -> Self {
        let mut hints = Hints::new(move |_| drop(sender.send(Woken::Changed))).ok();
        if let Some(hints) = &mut hints {
            for folder in [Folder::Pending, Folder::Answered, Folder::Running, Folder::Parked, Folder::Closed] {
                // Where it is missing the next look comes later.
                let _ = hints.watch(&mailbox.folder(folder));
            }
        }
        Self { mailbox, hints, runs: Vec::new() }
    }

    /// Listens to the runs that are live; says whether there are any.
    fn watch_runs<'s>(&mut self, shown: impl Iterator<Item = &'s Status>) -> bool {
        let mut live = false;
        for status in shown.filter(|s| s.state == Standing::Running) {
            live = true;
            let (Some(question), Some(attempt), Some(hints)) = (status.question_id, status.attempt, &mut self.hints) else { continue };
            let round = crate::id::RoundId { workflow: status.workflow_id.clone(), question };
            let folder = record::folder(self.mailbox, &round, attempt);
            if !self.runs.contains(&folder) && hints.watch(&folder).is_ok() {
                self.runs.push(folder);
            }
        }
        live
    }
}

fn on_signal(sender: Sender<Woken>) -> Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGWINCH};
    let mut signals = signal_hook::iterator::Signals::new([SIGTERM, SIGINT, SIGHUP, SIGWINCH])
        .map_err(|e| Error::failed(format!("cannot listen for signals: {e}"), "is the process limit reached?"))?;
    std::thread::spawn(move || {
        for signal in signals.forever() {
            let _ = sender.send(if signal == SIGWINCH { Woken::Changed } else { Woken::Over });
        }
    });
    Ok(())
}
