//! Opens the screen, and waits for keys and for changes of the mailbox. At the end, stores the drafts that were not sent. It waits a moment
//! for other machines that have not decided yet, and tells the person.
#![allow(clippy::disallowed_methods, reason = "the screen itself controls the terminal, and filters what it shows")]

use std::io::{self, BufRead, BufWriter};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crossterm::event::{DisableBracketedPaste, EnableBracketedPaste, Event, KeyEventKind};
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use crossterm::{cursor, execute};
use ratatui::Terminal;
use ratatui::backend::{Backend, ClearType, CrosstermBackend};

use crate::app::{App, Place, Until, Wish};
use crate::draw::{self, Picture};
use crate::log_pane::LogPane;
use crate::mouse::Report;
use crate::question::kept_drafts;
use crate::sender::{self, Others, Sender};
use crate::sent::from_here::SentAnswer;
use crate::waking::Waking;
use askbox_cli::ask_answer::editor;
use askbox_cli::terminal::screen::{Dropped, Pictures, is_foreground, wait_for_foreground};
use askbox_cli::{Context, PersonsDecision, SeenRound, columns, hangup, program, question_text};
use askbox_mailbox::{Address, Caller, Error, IoContext, Mailbox, Result, RoundAt, WorkflowId, presence, text};
use askbox_peers::machines::offer_state::Stands;
use askbox_run::programs;

/// The time for reading questions before the first picture, and then between two looks at the keys.
const FIRST_READ: Duration = Duration::from_millis(8);
const READ_FOR: Duration = Duration::from_millis(5);
/// The minimum time between two pictures while many questions are being read.
const DRAW_EVERY: Duration = Duration::from_millis(100);

/// The time until a stop has reached every thread.
const STOPS_WITHIN: Duration = Duration::from_millis(50);

/// The exit status after Ctrl-C.
const INTERRUPTED: u8 = 130;

/// The maximum time for storing drafts once the terminal is gone.
const KEEPS_WITHIN: Duration = Duration::from_secs(30);

/// A picture of at most this many bytes reaches the terminal in one piece, so that the person never sees a half picture.
const ONE_PICTURE: usize = 64 << 10;

/// Shows the inbox until the person leaves it. Returns the exit status. `person` gives the answers. With `open`, that workflow's question
/// is opened first.
///
/// # Errors
/// If the mailbox cannot be read, or the terminal cannot be used.
pub fn run(mailbox: &Mailbox, context: &Context, person: &Caller, open: Option<&Address>) -> Result<u8> {
    wait_for_foreground()?;
    kept_drafts::forget_those_that_are_over(mailbox);
    let mut waking = Waking::new(mailbox)?;
    let others = Others::connect(context, waking.ringer()?);
    let mut app = App::new(Sender { mailbox, context, others: &others, person }, open)?;
    app.only_signed = context.only_signed_answers_count();
    show(&mut app, &mut waking)
}

/// The person's reaction to one question that [`ask`] shows.
#[derive(Debug)]
pub enum Asked {
    /// The person decided.
    Decided(PersonsDecision),
    /// The person left the question open.
    LeftOpen,
    /// The person ended the program with Ctrl-C.
    Interrupted,
}

/// Asks one question, and returns the person's decision without sending it.
///
/// # Errors
/// If the mailbox cannot be read, or the terminal cannot be used.
pub fn ask(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<Asked> {
    wait_for_foreground()?;
    let person = Caller::person(program::user(), sender::CHANNEL)?;
    let (mut waking, others, context) = (Waking::new(mailbox)?, Others::nobody(), Context::default());
    let mut app =
        App::new(Sender { mailbox, context: &context, others: &others, person: &person }, Some(&Address::here(workflow.clone())))?;
    app.until = Until::Decided(None);
    let status = show(&mut app, &mut waking)?;
    Ok(match app.until {
        Until::Decided(Some(decision)) => Asked::Decided(decision),
        _ if status == INTERRUPTED => Asked::Interrupted,
        _ => Asked::LeftOpen,
    })
}

fn show(app: &mut App<'_>, waking: &mut Waking) -> Result<u8> {
    let mailbox = app.sender.mailbox;
    // A person who sees new questions here is not notified elsewhere immediately.
    let _present = presence::announce_person(mailbox);
    end_with_the_terminal()?;
    let mut canvas = Canvas::enter()?;
    let result = follow_keys(mailbox, app, waking, &mut canvas);
    // Typed text that was not sent, and answers whose machine may not have received them.
    let kept: Vec<_> = app.unsent().iter().map(|kept| Left(kept.at(), kept.keep())).collect();
    if waking.is_without_terminal {
        // There is no screen to restore, and nobody to tell.
        if matches!(app.until, Until::Decided(_)) {
            // The program that asks has things of its own to end.
            std::mem::forget(canvas);
            return Ok(INTERRUPTED);
        }
        std::process::exit(129);
    }
    if !is_foreground() {
        // The screen is the shell's. It may stop every job that writes from the background (`stty tostop`).
        std::process::exit(INTERRUPTED.into());
    }
    drop(canvas);
    tell(app, &kept);
    result
}

fn follow_keys(mailbox: &Mailbox, app: &mut App<'_>, waking: &mut Waking, canvas: &mut Canvas) -> Result<u8> {
    app.read(Instant::now() + FIRST_READ);
    let (mut dirty, mut drawn, mut right_until) = (true, None::<Instant>, None);
    loop {
        let is_late = right_until.is_some_and(|at| at <= Instant::now());
        // While many questions are being read, a picture is soon out of date.
        let may_wait = !dirty && app.waiting.is_behind() && drawn.is_some_and(|at| at.elapsed() < DRAW_EVERY);
        if (dirty || is_late || app.picture_is_old) && !may_wait {
            app.settle();
            let picture = canvas.draw(app)?;
            right_until = picture.right_for.map(|right_for| Instant::now() + right_for);
            app.picture_is_old = false;
            app.drawn(picture.shown);
            app.see_row();
            // The picture was drawn before it was known what holds launches up. If that has changed, another one follows.
            let before = app.held_up_by;
            app.look_for_hold_ups_now_and_then();
            app.picture_is_old |= app.held_up_by != before;
            (dirty, drawn) = (false, Some(Instant::now()));
        }
        if !app.picture_is_old {
            let until = [app.reads_at(), app.keeping.keeps_at(), right_until].into_iter().flatten().min();
            waking.sleep(until)?;
        }
        if waking.is_over() {
            return Ok(INTERRUPTED);
        }
        for event in waking.keys().map_err(|e| terminal_failed(&e))? {
            dirty = true;
            let wish = match event {
                event if !app.takes(&event) => Wish::Nothing,
                Event::Key(key) if key.kind != KeyEventKind::Release => app.key(key),
                Event::Paste(text) => app.paste(&text),
                Event::Mouse(event) => app.mouse(event),
                _ => Wish::Nothing,
            };
            match wish {
                Wish::Nothing => {}
                Wish::Leave(status) => return Ok(status),
                Wish::Mouse => canvas.report_mouse(app.has_mouse)?,
                Wish::Stop => {
                    app.keep_drafts();
                    canvas.left(stop_this_job)?;
                }
                Wish::Edit(text) => {
                    app.keep_drafts();
                    match canvas.left(|| edit(app, &text))? {
                        Ok(text) => app.edited(&text),
                        Err(e) => app.said = sender::in_one_line(e),
                    }
                }
                Wish::EditCall(address, seen, note) => {
                    app.keep_drafts();
                    if let Err(e) = canvas.left(|| edit_call(app, &address, &seen, &note))? {
                        app.said = sender::in_one_line(e);
                    }
                }
                Wish::Follow(workflow) => {
                    let ring = waking.ringer()?;
                    app.show_log(LogPane::follow(mailbox, workflow, ring));
                }
                Wish::Sessions => app.show_sessions(waking.ringer()?),
                Wish::Session(at) => app.show_session(at, waking.ringer()?),
            }
            app.typed();
        }
        if app.keeping.keeps_at().is_some_and(|at| at <= Instant::now()) {
            app.keep_drafts();
            // Storing the drafts may have produced a message.
            dirty = true;
        }
        let changes = waking.changes();
        if !changes.is_none() {
            mailbox.check_in_place()?;
            app.follow(changes)?;
        }
        dirty |= app.follow_others() | app.log_has_grown() | app.follow_sessions();
        app.picture_is_old |= app.read(Instant::now() + READ_FOR);
    }
}

/// Stops this job until the shell goes on with it, as ctrl-z does for every program. Without a shell that could go on with it, nothing
/// happens.
fn stop_this_job() {
    // The kernel ignores this signal if no shell could continue the job.
    let stopped = rustix::process::kill_current_process_group(rustix::process::Signal::TSTP);
    if stopped.is_ok() {
        // Another thread may take the signal, and this one must not touch the terminal until all of them are stopped.
        std::thread::sleep(STOPS_WITHIN);
    }
}

/// Opens the editor on the person's words, with the question below them.
fn edit(app: &App<'_>, text: &str) -> Result<String> {
    let Place::Question(opened) = &app.place else { return Ok(text.to_owned()) };
    let mailbox = opened.shown.host.is_none().then_some(app.sender.mailbox);
    let below = question_text::round(mailbox, &opened.shown.round, app.sender.context);
    editor::write(text, &below, ".md").map(|draft| draft.text)
}

/// Runs `ask-answer edit` for the call that was seen. It shows the changed call and asks the person to confirm it. Waits until the person has
/// read the result.
fn edit_call(app: &App<'_>, address: &Address, seen: &SeenRound, note: &str) -> Result<()> {
    let mut command = Command::new(programs::beside("ask-answer"));
    command
        .args(["edit", &address.to_string(), "--round", &seen.to_string(), "--by", app.sender.person.by(), "--mailbox"])
        .arg(app.sender.mailbox.root());
    if !note.trim().is_empty() {
        command.args(["--note", note]);
    }
    command.status().io("run", "ask-answer")?;
    program::say("\nEnter leads back to the inbox. ");
    io::stdin().lock().read_line(&mut String::new()).map(drop).io("read", "standard input")
}

/// Ends the program when its terminal is gone. There is no screen to restore then, and `crossterm` would read the end of its input for
/// ever. SIGHUP does not always come, and may be ignored.
fn end_with_the_terminal() -> Result<()> {
    askbox_mailbox::thread::start(|| {
        if hangup::wait(io::stdin()) {
            // The screen's own thread stores the typed text, and then ends the process.
            std::thread::sleep(KEEPS_WITHIN);
            std::process::exit(129);
        }
    })
    .map(drop)
}

/// The terminal's alternate screen. Dropping it restores what was shown before.
struct Canvas {
    terminal: Terminal<CrosstermBackend<BufWriter<Pictures>>>,
    /// Tells that a picture never came to the terminal.
    dropped: Dropped,
    /// True if the terminal may show the last picture differently than it was drawn.
    is_unsure: bool,
    /// True if the terminal reports the mouse.
    has_mouse: bool,
}

impl Canvas {
    fn enter() -> Result<Self> {
        open_screen(true).map_err(|e| terminal_failed(&e))?;
        let pictures = Pictures::default();
        let dropped = pictures.dropped();
        let terminal = Terminal::new(CrosstermBackend::new(BufWriter::with_capacity(ONE_PICTURE, pictures)));
        terminal.map(|terminal| Self { terminal, dropped, is_unsure: false, has_mouse: true }).map_err(|e| {
            close_screen();
            terminal_failed(&e)
        })
    }

    /// Draws the screen. Draws nothing in the background, where the screen belongs to another program.
    fn draw(&mut self, app: &App<'_>) -> Result<Picture> {
        let mut picture = Picture::default();
        if !is_foreground() {
            return Ok(picture);
        }
        // Without this, words of one question could remain on the screen of the next one.
        if std::mem::take(&mut self.is_unsure) | self.dropped.take() {
            self.wipe().map_err(|e| terminal_failed(&e))?;
        }
        let drawn = self.terminal.draw(|frame| picture = draw::all(frame, app)).map_err(|e| terminal_failed(&e))?;
        self.is_unsure = drawn.buffer.content().iter().any(|cell| !cell.symbol().chars().all(columns::is_sure));
        Ok(picture)
    }

    /// Empties the screen, so that the next picture is drawn as a whole. [`Terminal::clear`] would ask the terminal for the position of its
    /// cursor, and take typed keys for the reply.
    fn wipe(&mut self) -> io::Result<()> {
        self.terminal.backend_mut().clear_region(ClearType::All)?;
        self.terminal.swap_buffers();
        Ok(())
    }

    /// Asks the terminal to report the mouse, or no longer.
    fn report_mouse(&mut self, on: bool) -> Result<()> {
        self.has_mouse = on;
        execute!(io::stdout(), Report(on)).map_err(|e| terminal_failed(&e))
    }

    /// Gives the screen to another program, and takes it back afterwards.
    fn left<T>(&mut self, with: impl FnOnce() -> T) -> Result<T> {
        close_screen();
        let result = with();
        open_screen(self.has_mouse).and_then(|()| self.wipe()).map_err(|e| terminal_failed(&e))?;
        Ok(result)
    }
}

impl Drop for Canvas {
    fn drop(&mut self) {
        close_screen();
    }
}

fn open_screen(has_mouse: bool) -> io::Result<()> {
    enable_raw_mode()?;
    execute!(io::stdout(), EnterAlternateScreen, EnableBracketedPaste, Report(has_mouse))
}

fn close_screen() {
    // In the background it is the shell's terminal, and the shell has restored it. A change would stop this process.
    if !is_foreground() {
        return;
    }
    let _ = execute!(io::stdout(), Report(false), DisableBracketedPaste, LeaveAlternateScreen, cursor::Show);
    let _ = disable_raw_mode();
}

fn terminal_failed(e: &io::Error) -> Error {
    Error::failed(format!("cannot use this terminal: {e}"), "answer without the inbox: ask-answer list, then see ask-answer --help")
}

/// The maximum time that the end waits for offers on their way.
const DECIDED_WITHIN: Duration = Duration::from_secs(5);

/// The round of a draft, and the file where it was stored, or the error.
pub struct Left(RoundAt, Result<PathBuf>);

/// The command that opens a draft again. If its question does not wait any more, the draft can only be read.
fn way_back(app: &App<'_>, at: &RoundAt, path: &Path) -> String {
    let address = at.address();
    match app.sender.pending(&address) {
        Ok(shown) if shown.at() == *at => format!("to go on with it: ask-answer {address}"),
        _ if at.host.is_some() => format!("to see its question: ask-answer show {address}; to read it: less {}", text::path_word(path)),
        _ => format!("its question does not wait any more; to read it: less {}", text::path_word(path)),
    }
}

/// Waits for the offers. Tells the person how they ended, and where the drafts are.
pub fn tell(app: &mut App<'_>, drafts: &[Left]) {
    let (under_way, before) = (app.sent.under_way(), app.sent.open());
    if !under_way.is_empty() {
        program::say("waiting a moment for what was sent to other machines …\n");
        app.sender.others.settle(&under_way, DECIDED_WITHIN);
        app.follow_others();
    }
    let (mut is_accepted, mut lines) = (Vec::new(), Vec::new());
    for given in before.iter().filter_map(|n| app.sent.all.get(*n)) {
        if given.told().is_some_and(|told| told.stands == Stands::Accepted) {
            is_accepted.push(given.at.clone());
        }
        lines.extend(given.left_behind().or_else(|| given.news()));
    }
    for Left(at, kept) in drafts.iter().filter(|Left(at, _)| !is_accepted.contains(at)) {
        let stands = app.sent.offered_for(at).and_then(SentAnswer::told).map(|told| told.stands);
        let what = match stands {
            Some(Stands::Sending | Stands::Sent | Stands::Unconfirmed) => "your answer is not accepted yet",
            Some(Stands::Refused) => "your answer was not accepted",
            _ => "what you typed was not sent",
        };
        lines.push(match kept {
            Ok(path) => format!("{}: {what}; it is kept in {}\n  {}", at.address(), path.display(), way_back(app, at, path)),
            Err(e) => format!("{}: {what}, and cannot be kept: {}", at.address(), program::message(e)),
        });
    }
    is_accepted.iter().for_each(kept_drafts::forget);
    lines.iter().for_each(|line| program::say(&format!("{line}\n")));
}
