//! Opens the screen, waits for keys and for changes of the mailbox.
#![allow(clippy::disallowed_methods, reason = "the screen itself controls the terminal, and filters what it shows")]

use std::io;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crossterm::event::{self, DisableBracketedPaste, EnableBracketedPaste, Event, KeyEventKind};
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use crossterm::{cursor, execute};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use crate::disk::file_events::Hints;
use crate::error::{Error, Result};
use crate::id::WorkflowId;
use crate::mailbox::answerer::Answerer;
use crate::mailbox::documents::through::Through;
use crate::mailbox::{Folder, Mailbox, presence};
use crate::surface::ask_answer::{editor, question_text};
use crate::surface::askbox::inbox::app::{App, Place, Wish};
use crate::surface::askbox::inbox::draw;
use crate::surface::askbox::inbox::send::{self, Decision, Sender};
use crate::surface::program;

/// How often keys are left to look for changes.
const LOOK_UP: Duration = Duration::from_millis(250);
/// The shortest time between two readings of the mailbox: ten thousand questions take a while.
const READ_EVERY: Duration = Duration::from_millis(500);
/// The longest time between two readings, for file systems without events.
const READ_ANYWAY: Duration = Duration::from_secs(15);

/// Shows the inbox until the person, who answers, leaves it; returns the exit status. With `open`, that workflow's question is open first.
///
/// # Errors
/// If the mailbox cannot be read, or the terminal cannot be used.
pub fn run(mailbox: &Mailbox, person: &Answerer, open: Option<&WorkflowId>) -> Result<u8> {
    show(mailbox, &mut App::new(Sender { mailbox, person }, open)?)
}

/// Asks one question without sending what the person decides. `None` if the person leaves it open.
///
/// # Errors
/// If the mailbox cannot be read, or the terminal cannot be used.
pub fn ask(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<Option<Decision>> {
    let person = Answerer::person(program::user(), send::CHANNEL, Through::Terminal)?;
    let mut app = App::new(Sender { mailbox, person: &person }, Some(workflow))?;
    app.asks_only = true;
    show(mailbox, &mut app)?;
    Ok(app.decided)
}

fn show(mailbox: &Mailbox, app: &mut App<'_>) -> Result<u8> {
    let changed = Arc::new(AtomicBool::new(false));
    let _hints = watch(mailbox, &changed);
    // Who sees new questions here is not told of them elsewhere at once.
    let _present = presence::announce_person(mailbox);
    let ended = ended_by_signal()?;
    end_with_the_terminal()?;
    let mut canvas = Canvas::enter()?;
    let (mut read, mut dirty) = (Instant::now(), true);
    loop {
        if dirty {
            canvas.draw(app)?;
        }
        if ended.load(Ordering::Relaxed) {
            return Ok(130);
        }
        let wish = match next_event()? {
            Some(Event::Key(key)) if key.kind != KeyEventKind::Release => app.key(key),
            Some(Event::Paste(text)) => app.paste(&text),
            Some(_) => Wish::Nothing,
            None => {
                let is_due = (changed.load(Ordering::Relaxed) && read.elapsed() >= READ_EVERY) || read.elapsed() >= READ_ANYWAY;
                dirty = is_due;
                if is_due {
                    changed.store(false, Ordering::Relaxed);
                    mailbox.check_in_place()?;
                    app.look()?;
                    read = Instant::now();
                }
                continue;
            }
        };
        dirty = true;
        match wish {
            Wish::Nothing => {}
            Wish::Leave(status) => return Ok(status),
            Wish::Edit(text) => {
                let written = canvas.left(|| edit(app, &text))?;
                match written {
                    Ok(text) => app.edited(&text),
                    Err(e) => app.said = send::in_one_line(e),
                }
            }
            Wish::Follow(workflow) => {
                if let Some(problem) = canvas.left(|| follow(mailbox, &workflow))? {
                    app.said = problem;
                }
            }
        }
    }
}

fn next_event() -> Result<Option<Event>> {
    let next = event::poll(LOOK_UP).and_then(|is_there| is_there.then(event::read).transpose());
    match next {
        // A signal; the loop looks at it.
        Err(e) if e.kind() == io::ErrorKind::Interrupted => Ok(None),
        other => other.map_err(|e| terminal_failed(&e)),
    }
}

/// Opens the editor on the person's words, with the question below.
fn edit(app: &App<'_>, text: &str) -> Result<String> {
    let Place::Question(opened) = &app.place else { return Ok(text.to_owned()) };
    let below = question_text::round(Some(app.sender.mailbox), &opened.round);
    editor::write_from(text, &below, ".md").map(|draft| draft.text)
}

/// Follows the log of a workflow until Ctrl-C. `Some` says what did not work.
fn follow(mailbox: &Mailbox, workflow: &WorkflowId) -> Option<String> {
    let beside = std::env::current_exe().ok().map(|program| program.with_file_name("relaunch")).filter(|program| program.exists());
    let mut command = Command::new(beside.unwrap_or_else(|| "relaunch".into()));
    command.arg("logs").arg(workflow.as_str()).arg("--follow").arg("--mailbox").arg(mailbox.root());
    program::say(&format!("the log of {workflow}; Ctrl-C leads back to the inbox\n"));
    match command.status() {
        Err(e) => Some(format!("cannot run relaunch: {e}; see the log with: relaunch logs {workflow}")),
        Ok(_) => {
            program::say("press enter to go back to the inbox\n");
            let _ = io::stdin().read_line(&mut String::new());
            None
        }
    }
}

fn watch(mailbox: &Mailbox, changed: &Arc<AtomicBool>) -> Option<Hints> {
    let flag = Arc::clone(changed);
    let mut hints = Hints::new(move |_| flag.store(true, Ordering::Relaxed)).ok()?;
    for folder in [Folder::Pending, Folder::Answered, Folder::Running, Folder::Parked, Folder::Closed] {
        // Without events of a folder, its changes are seen after `READ_ANYWAY`.
        let _ = hints.watch(&mailbox.folder(folder));
    }
    Some(hints)
}

/// A flag that says that the process was told to end. While a child uses the terminal, Ctrl-C is the child's.
fn ended_by_signal() -> Result<Arc<AtomicBool>> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let (ended, interrupted) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let register = |signal, flag: &Arc<AtomicBool>| signal_hook::flag::register(signal, Arc::clone(flag));
    let registered = register(SIGHUP, &ended).and(register(SIGTERM, &ended)).and(register(SIGINT, &interrupted));
    registered.map_err(|e| Error::failed(format!("cannot handle Unix signals: {e}"), "check the limit on processes: ulimit -u"))?;
    Ok(ended)
}

/// Ends the program when its terminal is gone: no screen is to be restored then, and `crossterm` reads the end of its input for ever. SIGHUP
/// does not always come, and may be ignored.
fn end_with_the_terminal() -> Result<()> {
    crate::thread::start(|| {
        let stdin = io::stdin();
        let mut fds = [PollFd::new(&stdin, PollFlags::empty())];
        while !fds[0].revents().intersects(PollFlags::HUP | PollFlags::ERR) {
            if poll(&mut fds, None).is_err_and(|e| e != Errno::INTR) {
                return;
            }
        }
        std::process::exit(129);
    })
    .map(drop)
}

/// The terminal's alternate screen. Dropping it restores what was shown before.
struct Canvas(Terminal<CrosstermBackend<io::Stdout>>);

impl Canvas {
    fn enter() -> Result<Self> {
        open_screen().map_err(|e| terminal_failed(&e))?;
        let terminal = Terminal::new(CrosstermBackend::new(io::stdout()));
        terminal.map(Self).map_err(|e| {
            close_screen();
            terminal_failed(&e)
        })
    }

    fn draw(&mut self, app: &App<'_>) -> Result<()> {
        self.0.draw(|frame| draw::all(frame, app)).map(drop).map_err(|e| terminal_failed(&e))
    }

    /// Leaves the screen to another program meanwhile.
    fn left<T>(&mut self, with: impl FnOnce() -> T) -> Result<T> {
        close_screen();
        let result = with();
        open_screen().and_then(|()| self.0.clear()).map_err(|e| terminal_failed(&e))?;
        Ok(result)
    }
}

impl Drop for Canvas {
    fn drop(&mut self) {
        close_screen();
    }
}

fn open_screen() -> io::Result<()> {
    enable_raw_mode()?;
    execute!(io::stdout(), EnterAlternateScreen, EnableBracketedPaste)
}

fn close_screen() {
    let _ = execute!(io::stdout(), DisableBracketedPaste, LeaveAlternateScreen, cursor::Show);
    let _ = disable_raw_mode();
}

fn terminal_failed(e: &io::Error) -> Error {
    Error::failed(format!("cannot use this terminal: {e}"), "answer without the inbox: ask-answer list, then see ask-answer --help")
}
