//! A view of the mailbox that stays up to date until `q` or Ctrl-C, and scrolls.
//!
//! The view is drawn again after every change, and also once a second while a run is live, so that its times advance. Otherwise the process
//! sleeps. With `--json`, each change prints one JSON object instead.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use serde::Serialize;

use crate::hangup::on_hangup;
use crate::program;
use crate::terminal::screen::{self, Screen, is_foreground, wait_for_foreground};
use askbox_mailbox::{Error, Folder, Hints, Mailbox, Result, WorkflowId, thread};
use askbox_run::{Standing, Story, record};

/// The shortest time between two drawings.
const DRAW_EVERY: Duration = Duration::from_secs(1);
/// How often a view in the background looks whether it is in the foreground again, once a key was pressed.
const IN_THE_BACKGROUND: Duration = Duration::from_millis(500);
/// The longest time between two readings of the mailbox, for file systems whose events are lost or do not exist.
const MAX_SLEEP: Duration = Duration::from_secs(60);

/// The content of a view that is kept up to date.
pub trait Picture {
    /// The data shown for one workflow.
    type Row: Serialize + Clone;

    /// The command that gives a program the same data. A hint names it if standard output is not a terminal.
    fn for_programs(&self) -> String;

    /// Reads the rows to show now.
    fn look(&self) -> Result<Vec<Self::Row>>;

    /// Reads one workflow that is no longer among the rows.
    fn gone(&self, workflow: &WorkflowId) -> Result<Self::Row>;

    /// The rows as text, for a terminal of this many columns.
    fn words(&self, rows: &[Self::Row], columns: Option<usize>) -> String;

    /// The status of a row's workflow.
    fn status(row: &Self::Row) -> &Story;

    /// True if two rows differ only in elapsed time.
    fn is_same(one: &Self::Row, other: &Self::Row) -> bool;
}

/// True if two statuses of a workflow differ only in elapsed time.
pub fn is_same(one: &Story, other: &Story) -> bool {
    let rest =
        |s: &Story| (s.state, s.question_id, s.attempt, s.live.as_ref().map(|l| (l.doing, l.tool.clone(), l.turns, l.last_words.clone())));
    rest(one) == rest(other)
}

/// Why the view wakes up.
enum Woken {
    Changed,
    /// A key scrolls by this many lines: down, or up if it is negative.
    Scrolls(isize),
    Ended,
}

/// Keeps a picture up to date until `q` or Ctrl-C.
///
/// # Errors
/// [`Error::Usage`] if standard output is not a terminal and `json` is false. Any error of reading or drawing.
pub fn follow<P: Picture>(mailbox: &Mailbox, picture: &P, json: bool) -> Result<u8> {
    if !json && !program::prints_to_terminal() {
        return Err(Error::usage("standard output is not a terminal", format!("for a program: {}", picture.for_programs())));
    }
    let takes_keys = !json && program::is_interactive();
    if takes_keys {
        wait_for_foreground()?;
    }
    let (sender, woken) = mpsc::channel();
    let mut watched = Watched::new(mailbox, sender.clone());
    on_signal(sender.clone())?;
    let keys = sender.clone();
    let _poll_thread = on_hangup(move || drop(sender.send(Woken::Ended)));
    // An unknown workflow is an error before the screen changes.
    let first = picture.look()?;
    if json {
        return print_changes(picture, first, &mut watched, &woken);
    }
    let screen = Screen::enter(takes_keys)?;
    if takes_keys {
        on_keys(keys)?;
    }
    let last = draw_until_ended(&screen, picture, first, &mut watched, &woken);
    drop(screen);
    // A shell may stop every job that writes from the background (`stty tostop`).
    if takes_keys && !is_foreground() {
        return Ok(0);
    }
    program::print(&picture.words(&last?, screen::columns()))?;
    Ok(0)
}

/// Draws the view until it ends. Returns the rows that were shown last.
fn draw_until_ended<P: Picture>(
    screen: &Screen,
    picture: &P,
    mut rows: Vec<P::Row>,
    watched: &mut Watched<'_>,
    woken: &Receiver<Woken>,
) -> Result<Vec<P::Row>> {
    let mut from = 0;
    loop {
        let columns = screen::columns().unwrap_or(80);
        from = screen.draw(&picture.words(&rows, Some(columns)), from)?;
        let Some(Waking { scrolls, looks }) = sleep(rows.iter().map(P::status), watched, woken) else { return Ok(rows) };
        // `Screen::draw` keeps it within the text.
        from = from.saturating_add_signed(scrolls);
        if looks {
            watched.mailbox.check_in_place()?;
            rows = picture.look()?;
        }
    }
}

/// Prints each row that differs from how it was last printed. A workflow that is no longer shown is printed once more, if it differs.
fn print_changes<P: Picture>(picture: &P, mut rows: Vec<P::Row>, watched: &mut Watched<'_>, woken: &Receiver<Woken>) -> Result<u8> {
    let mut printed: HashMap<WorkflowId, P::Row> = HashMap::new();
    loop {
        let shown: HashSet<_> = rows.iter().map(|row| &P::status(row).workflow_id).collect();
        for id in printed.keys().filter(|id| !shown.contains(id)).cloned().collect::<Vec<_>>() {
            let last = printed.remove(&id);
            if let Ok(row) = picture.gone(&id)
                && !last.is_some_and(|last| P::is_same(&last, &row))
            {
                program::print_json(&row)?;
            }
        }
        for row in &rows {
            let id = &P::status(row).workflow_id;
            if !printed.get(id).is_some_and(|p| P::is_same(p, row)) {
                program::print_json(row)?;
                printed.insert(id.clone(), row.clone());
            }
        }
        if sleep(rows.iter().map(P::status), watched, woken).is_none() {
            return Ok(0);
        }
        watched.mailbox.check_in_place()?;
        rows = picture.look()?;
    }
}

/// What to do at the end of a sleep: something may have changed, or a key was pressed, or both.
struct Waking {
    scrolls: isize,
    looks: bool,
}

/// Sleeps until something may have changed, or a key is pressed. `None` at the end.
fn sleep<'s>(shown: impl Iterator<Item = &'s Story>, watched: &mut Watched<'_>, woken: &Receiver<Woken>) -> Option<Waking> {
    let live = watched.watch_runs(shown);
    let earliest = Instant::now() + DRAW_EVERY;
    let (mut limit, mut looks) = (if live { DRAW_EVERY } else { MAX_SLEEP }, false);
    // Further changes within the same second are drawn together. A key waits for none of them.
    loop {
        match woken.recv_timeout(limit) {
            Ok(Woken::Changed) => (limit, looks) = (earliest.saturating_duration_since(Instant::now()), true),
            Ok(Woken::Scrolls(scrolls)) => return Some(Waking { scrolls, looks }),
            Ok(Woken::Ended) | Err(RecvTimeoutError::Disconnected) => return None,
            Err(RecvTimeoutError::Timeout) => return Some(Waking { scrolls: 0, looks: true }),
        }
    }
}

/// Sends the keys. The thread lives until the process ends.
fn on_keys(sender: Sender<Woken>) -> Result<()> {
    thread::start(move || {
        while let Ok(event) = next_event() {
            let woken = match event {
                Event::Key(key) if key.kind != KeyEventKind::Release => meaning(key),
                Event::Resize(..) => Some(Woken::Changed),
                _ => None,
            };
            if woken.is_some_and(|woken| sender.send(woken).is_err()) {
                return;
            }
        }
    })
    .map(drop)
}

/// Waits for the next event. In the background the keys are another program's: reading them would stop this process.
fn next_event() -> io::Result<Event> {
    let stdin = io::stdin();
    while !event::poll(Duration::ZERO)? {
        let mut fds = [PollFd::new(&stdin, PollFlags::IN)];
        match poll(&mut fds, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
        if fds[0].revents().intersects(PollFlags::HUP | PollFlags::ERR) {
            return Err(io::Error::other("the terminal is gone"));
        }
        while !is_foreground() {
            std::thread::sleep(IN_THE_BACKGROUND);
        }
    }
    event::read()
}

fn meaning(key: KeyEvent) -> Option<Woken> {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let page = || screen::size().and_then(|size| size.rows.saturating_sub(2).try_into().ok()).unwrap_or(20);
    Some(Woken::Scrolls(match key.code {
        KeyCode::Char('c') if control => return Some(Woken::Ended),
        KeyCode::Char('q') | KeyCode::Esc => return Some(Woken::Ended),
        KeyCode::Down | KeyCode::Char('j') => 1,
        KeyCode::Up | KeyCode::Char('k') => -1,
        KeyCode::PageDown | KeyCode::Char(' ') => page(),
        KeyCode::PageUp => -page(),
        KeyCode::Home => isize::MIN,
        KeyCode::End => isize::MAX,
        _ => return None,
    }))
}

/// The folders whose file events wake the view.
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
                // If a folder gives no events, its changes are seen after `MAX_SLEEP`.
                let _ = hints.watch(&mailbox.folder(folder));
            }
        }
        Self { mailbox, hints, runs: Vec::new() }
    }

    /// Watches the folders of the live runs. Returns true if any run is live.
    fn watch_runs<'s>(&mut self, shown: impl Iterator<Item = &'s Story>) -> bool {
        let mut live = false;
        for status in shown.filter(|s| s.state == Standing::Running) {
            live = true;
            let (Some(question), Some(attempt), Some(hints)) = (status.question_id, status.attempt, &mut self.hints) else { continue };
            let round = askbox_mailbox::id::RoundId { workflow: status.workflow_id.clone(), question };
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
        .map_err(|e| Error::failed(format!("cannot handle Unix signals: {e}"), "check the limit on processes: ulimit -u"))?;
    thread::start(move || {
        for signal in signals.forever() {
            let _ = sender.send(if signal == SIGWINCH { Woken::Changed } else { Woken::Ended });
        }
    })
    .map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_soon_after_a_change_counts_and_the_change_too() {
        let folder = tempfile::tempdir().unwrap();
        let mailbox = Mailbox::open_or_create(folder.path().join("m")).unwrap();
        let mut watched = Watched { mailbox: &mailbox, hints: None, runs: Vec::new() };
        let (sender, woken) = mpsc::channel();
        for what in [Woken::Changed, Woken::Changed, Woken::Scrolls(isize::MAX)] {
            sender.send(what).unwrap();
        }
        let waking = sleep(std::iter::empty(), &mut watched, &woken);
        assert!(waking.is_some_and(|waking| waking.looks && waking.scrolls == isize::MAX));
    }
}
