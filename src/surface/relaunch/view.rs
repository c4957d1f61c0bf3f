//! `relaunch status -f`: the same, kept up to date. Drawn anew when something happens, and once a second while a run is live, so
//! that its times go on; while nothing is live, it sleeps.

use std::collections::HashMap;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use super::foreground::on_hangup;
use super::table;
use crate::error::{Error, Result};
use crate::hints::Hints;
use crate::id::WorkflowId;
use crate::mailbox::{Folder, Mailbox};
use crate::run::record;
use crate::run::status::{Standing, Status};
use crate::surface::program;
use crate::text;

/// The shortest time between two drawings.
const PACE: Duration = Duration::from_secs(1);
/// The longest one, where file events are lost or do not exist.
const LOOK: Duration = Duration::from_secs(60);

/// What it waits for.
enum Woken {
    Changed,
    Over,
}

/// One workflow, or all that are not over, until Ctrl-C.
pub fn follow(mailbox: &Mailbox, workflow: Option<&WorkflowId>, json: bool) -> Result<u8> {
    if !json && !std::io::stdout().is_terminal() {
        return Err(Error::usage("standard output is no terminal", "for a program: relaunch status -f --json, or relaunch events -f ID"));
    }
    let (sender, woken) = mpsc::channel();
    let mut watched = Watched::new(mailbox, sender.clone());
    on_signal(sender.clone())?;
    on_hangup(move || drop(sender.send(Woken::Over)));
    // An unknown id is told before anything is drawn.
    let first = table::look(mailbox, workflow)?;
    if json {
        return changes(mailbox, workflow, first, &mut watched, &woken);
    }
    // The other screen, without a cursor: what was there before comes back.
    let screen = Screen::take()?;
    let drawn = draw_until_over(mailbox, workflow, first, &mut watched, &woken);
    drop(screen);
    let last = drawn?;
    program::print_words(&table::words(&last, workflow.is_some()))?;
    Ok(0)
}

fn draw_until_over(
    mailbox: &Mailbox,
    workflow: Option<&WorkflowId>,
    mut found: Vec<Status>,
    watched: &mut Watched<'_>,
    woken: &Receiver<Woken>,
) -> Result<Vec<Status>> {
    loop {
        draw(&text::printable(&table::words(&found, workflow.is_some())))?;
        if !sleep(&found, watched, woken) {
            return Ok(found);
        }
        found = table::look(mailbox, workflow)?;
    }
}

/// Every status that is not as it was when it was last printed. A workflow that is over is printed once more.
fn changes(
    mailbox: &Mailbox,
    workflow: Option<&WorkflowId>,
    mut found: Vec<Status>,
    watched: &mut Watched<'_>,
    woken: &Receiver<Woken>,
) -> Result<u8> {
    let mut printed: HashMap<WorkflowId, Status> = HashMap::new();
    loop {
        for id in printed.keys().filter(|id| !found.iter().any(|s| s.workflow_id == **id)).cloned().collect::<Vec<_>>() {
            printed.remove(&id);
            if let Ok(status) = crate::run::status::of(mailbox, &id) {
                program::print_json(&status)?;
            }
        }
        for status in &found {
            if !printed.get(&status.workflow_id).is_some_and(|p| is_same(p, status)) {
                program::print_json(status)?;
                printed.insert(status.workflow_id.clone(), status.clone());
            }
        }
        if !sleep(&found, watched, woken) {
            return Ok(0);
        }
        found = table::look(mailbox, workflow)?;
    }
}

/// Apart from the seconds that pass.
fn is_same(one: &Status, other: &Status) -> bool {
    let rest =
        |s: &Status| (s.state, s.question_id, s.attempt, s.live.as_ref().map(|l| (l.doing, l.tool.clone(), l.turns, l.last_words.clone())));
    rest(one) == rest(other)
}

/// Sleeps until there may be something new to show; false when it is over.
fn sleep(shown: &[Status], watched: &mut Watched<'_>, woken: &Receiver<Woken>) -> bool {
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

fn draw(words: &str) -> Result<()> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok().filter(|s| s.ws_row > 1 && s.ws_col > 1);
    let (rows, columns) = size.map_or((24, 80), |s| (usize::from(s.ws_row), usize::from(s.ws_col)));
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
        let mut hints = Hints::new(None, move |_| drop(sender.send(Woken::Changed))).ok();
        if let Some(hints) = &mut hints {
            for folder in [Folder::Pending, Folder::Answered, Folder::Running, Folder::Parked, Folder::Closed] {
                // Where it is missing the next look comes later.
                let _ = hints.watch(&mailbox.folder(folder));
            }
        }
        Self { mailbox, hints, runs: Vec::new() }
    }

    /// Listens to the runs that are live; says whether there are any.
    fn watch_runs(&mut self, shown: &[Status]) -> bool {
        let mut live = false;
        for status in shown.iter().filter(|s| s.state == Standing::Running) {
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
