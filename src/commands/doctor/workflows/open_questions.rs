//! Checks pending and answered questions: stale, overdue, half done or unreadable.

use std::path::Path;
use std::time::Duration;

use crate::commands::doctor::checkup::{
    AT_ONCE, Checkup, HANGS, LEFT_OVER, PATIENCE, age, checkpoint_problem, edit, hanging, problem, set_aside, word,
};
use crate::commands::doctor::installation::{agent, claude_files};
use askbox_mailbox::documents::question::MAX_QUESTION;
use askbox_mailbox::{
    Error, Folder, Mailbox, OnExpiry, Question, QuestionDocument, RoundId, WorkflowId, disk, read_question, round, text, time, timers,
};
use askbox_run::story::cause;
use askbox_run::{Cause, HoldUp, Standing, Story, Teller, delivery};
use askbox_sessions::codex;

/// Checks a file of `pending/`.
pub(in crate::commands::doctor) fn check_pending(checkup: &mut Checkup, mailbox: &Mailbox, id: &WorkflowId) {
    let path = mailbox.document(Folder::Pending, id);
    let question = match read_question::pending(mailbox, id) {
        Ok(document) => document.typed,
        Err(error) => return not_pending(checkup, mailbox, &path, &error),
    };
    let answered = || {
        let answer = read_question::document(&mailbox.document(Folder::Answered, id)).ok()?;
        Some(round::round_of(mailbox, &answer.typed).ok()? == round::of_pending(mailbox, &question).ok()?)
    };
    let half_done = if question.closed.is_some() {
        Some("its question is marked as ended but is still in pending/")
    } else if question.round().is_some_and(|round| round::is_claimed_or_closed(mailbox, &round)) {
        Some("its pending question belongs to a round that has moved on")
    } else {
        answered().filter(|is_answered| *is_answered).map(|_| "its question is answered but is still in pending/")
    };
    if let Some(said) = half_done {
        // Every program that reads the workflow completes half-done steps. This command does nothing else.
        let complete = checkup.launching(&format!("relaunch -- {id}"));
        return checkup.report("half_done", id.as_str(), said, complete);
    }
    ahead(checkup, id, &question, &path);
    folder(checkup, id, &question);
    let is_undecided = round::of_pending(mailbox, &question).is_ok_and(|round| timers::is_undecided(mailbox, &question, &round));
    waiting(checkup, id, &question, &path, is_undecided);
    claude_files::of_question(checkup, &question, question.asked_at().map_or_else(|| age(&path), time::since));
    if let Some(folder) = &question.cwd {
        agent::path_in(checkup, folder, question.config_dir.as_deref());
    }
    if let Some(path) = &question.checkpoint
        && let Some(error) = checkpoint_problem(mailbox, path, id)
        && !disk::exists(mailbox.document(Folder::Checkpoints, id))
    {
        let mend = checkup.command(&format!("checkpoint save {id} < FILE"));
        checkup.report("checkpoint", id.as_str(), format!("the relaunched agent will not find its state: {error}"), mend);
    }
}

/// Reports a question whose time lies ahead: its age is not known, and it is never stale.
fn ahead(checkup: &mut Checkup, id: &WorkflowId, question: &Question, path: &Path) {
    let Some(ahead) = question.asked_at().and_then(|at| (at - time::now()).to_std().ok()).filter(|ahead| *ahead > LEFT_OVER) else {
        return;
    };
    let said = format!("its timestamp lies {} ahead: a clock was wrong, or somebody wrote it by hand", time::human(ahead));
    checkup.report("ahead", id.as_str(), said, edit(path));
}

/// Reports a question whose agent cannot be started where it asked.
fn folder(checkup: &mut Checkup, id: &WorkflowId, question: &Question) {
    if let Some(hold_up) = question.cwd.as_deref().and_then(|folder| cause::no_folder(id, folder)) {
        checkup.report("folder", id.as_str(), hold_up.why, hold_up.next);
    }
}

fn waiting(checkup: &mut Checkup, id: &WorkflowId, question: &Question, path: &Path, is_undecided: bool) {
    let title = text::excerpt(&question.title(), 60);
    let answer = checkup.command(&format!("ask-answer show {id}"));
    // The file that the question waits for is not looked at, because its filesystem may not respond.
    if let Some(until) = question.until.as_ref().filter(|_| !checkup.watcher) {
        let words = until.words();
        let about = if question.title() == words { String::new() } else { format!(": {title}") };
        let said = format!("{words}, but no watcher is running to see it{about}");
        return checkup.report("stale", id.as_str(), said, checkup.command("relaunch watch"));
    }
    if let Some(at) = question.expires_at.filter(|at| *at <= time::now()) {
        let since = time::human(time::since(at));
        let (what, mend) = match question.on_expiry() {
            OnExpiry::Keep => (" without an answer".to_owned(), answer),
            OnExpiry::Default if is_undecided => (format!("; {}", timers::UNDECIDED), answer),
            // A running watcher applies the expiry at once, so give it a moment.
            _ if checkup.watcher && time::since(at) < AT_ONCE => return,
            _ => (", and no watcher applied it".to_owned(), checkup.command("relaunch watch")),
        };
        return checkup.report("overdue", id.as_str(), format!("its timeout ended {since} ago{what}: {title}"), mend);
    }
    // A handwritten question may have no timestamp, so the time of its file is used.
    let asked = question.asked_at().map_or_else(|| age(path), time::since);
    if asked >= checkup.stale {
        let no_watcher = if checkup.watcher { "" } else { "; no watcher is running" };
        let said = format!("asked {} ago, and nobody answered{no_watcher}: {title}", time::human(asked));
        checkup.report("stale", id.as_str(), said, answer);
    }
}

/// Reports a file that is not a valid question. Possibly only its name is wrong.
fn not_pending(checkup: &mut Checkup, mailbox: &Mailbox, path: &Path, error: &Error) {
    let own = disk::read(path, MAX_QUESTION).and_then(|bytes| QuestionDocument::parse(&bytes)).map(|d| d.typed.workflow_id);
    match own {
        Ok(own) if mailbox.document(Folder::Pending, &own) != *path => {
            let target = mailbox.document(Folder::Pending, &own);
            // The name may be taken by another question, which stays.
            let mend = match disk::exists(&target) {
                true => set_aside(checkup, path),
                false => format!("mv -n {} {}", word(path), word(&target)),
            };
            checkup.report("misnamed", checkup.shown(path), problem(error), mend);
        }
        _ => checkup.report_unreadable(path, error),
    }
}

/// Checks a file of `answered/`.
pub(in crate::commands::doctor) fn check_answered(checkup: &mut Checkup, teller: &Teller<'_>, id: &WorkflowId) {
    let mailbox = teller.mailbox();
    let path = mailbox.document(Folder::Answered, id);
    let question = match read_question::answered(mailbox, id) {
        Ok(document) => document.typed,
        Err(error) => return checkup.report_unreadable(&path, &error),
    };
    let Ok(round) = round::round_of(mailbox, &question) else { return };
    let by_hand = checkup.launching(&format!("relaunch -- {id}"));
    if question.round().is_some() && round::is_claimed_or_closed(mailbox, &round) {
        return checkup.report("half_done", id.as_str(), "its answered question belongs to a round that has moved on", by_hand);
    }
    if question.taken_back.is_some() && question.answer.is_none() {
        let mend = checkup.command(&format!("ask-answer undo {id}"));
        return checkup.report("half_done", id.as_str(), "taking its answer back was interrupted: the question does not wait yet", mend);
    }
    folder(checkup, id, &question);
    let Ok(story) = teller.of_round(Folder::Answered, &round, &question) else { return };
    // A cause that holds all answers up is told once. Only without a watcher is each answer named.
    let is_its_own = |hold_up: &&HoldUp| hold_up.cause == Cause::NoWatcher || !teller.general().contains(hold_up);
    let since = story.since.map_or_else(|| age(&path), time::since);
    let Some(first) = story.hold_ups.iter().find(is_its_own).filter(|first| first.cause != Cause::WatcherHangs) else {
        // An answer that was signed on another machine is older than its file here.
        if is_left_alone(&story) && since.min(age(&path)) >= HANGS {
            passed_over(checkup, mailbox, &round, &question, since);
        }
        return;
    };
    let (why, mut mend) = (&first.why, first.next.clone());
    let said = match first.cause {
        // The asker of another round may still be there to take this one's answer.
        Cause::NoWatcher if disk::exists(mailbox.document(Folder::Pending, id)) => return,
        Cause::NoWatcher => {
            format!("but no watcher is running to relaunch the agent (if you gave the answer to a process yourself: relaunch done {id})")
        }
        _ if since < AT_ONCE => return,
        Cause::AskerStopped => format!("and {why}"),
        Cause::Session | Cause::NotTold if story.is_of_session => {
            let because = not_told_because(checkup, mailbox, &question);
            if because.is_none() && since < PATIENCE {
                return;
            }
            let session = question.codex_thread().or(question.session_id).map_or_else(String::new, |id| format!(" {id}"));
            let because = because.map(|why| format!(", because {why}")).unwrap_or_default();
            let resume = question.codex_thread().and_then(|_| delivery::resume_command(&question));
            let resume = resume.map(|command| format!(" ({command})")).unwrap_or_default();
            mend = by_hand;
            format!("but the session{session} that asked has not taken the answer{because}: resume it{resume}, or start an agent with it")
        }
        Cause::Session => {
            mend = checkup.command("relaunch watch");
            "but the hook beside the dialog is gone: a watcher closes the round".to_owned()
        }
        Cause::NoProgram | Cause::OlderWatcher => format!("and {why}"),
        _ => return,
    };
    checkup.report("unclaimed", id.as_str(), format!("answered {} ago, {said}", time::human(since)), mend);
}

/// True if nothing holds the answer up but the watcher.
fn is_left_alone(story: &Story) -> bool {
    story.state == Standing::Answered && story.hold_ups.iter().all(|hold_up| hold_up.cause == Cause::WatcherHangs)
}

/// Reports an answer that a watcher leaves alone. Something may have held it up until a moment ago, or a run may have begun since, so the doctor
/// looks once more.
fn passed_over(checkup: &mut Checkup, mailbox: &Mailbox, round: &RoundId, question: &Question, since: Duration) {
    std::thread::sleep(checkup.moment.take().unwrap_or_default());
    let again = checkup.teller(mailbox).of_round(Folder::Answered, round, question);
    if again.is_ok_and(|story| is_left_alone(&story)) && disk::exists(mailbox.document(Folder::Answered, &round.workflow)) {
        let ago = time::human(since);
        let said = format!("answered {ago} ago, and nothing holds it up, but the watcher has not launched its agent");
        let mend = checkup.launching(&format!("relaunch -- {}", round.workflow));
        checkup.report("watcher_hangs", round.workflow.as_str(), format!("{said}: {}", hanging(mailbox, "watchers").0), mend);
    }
}

/// Says why the session of Codex that takes this answer is not told of it. A daemon that hangs is asked only once.
fn not_told_because(checkup: &mut Checkup, mailbox: &Mailbox, question: &Question) -> Option<String> {
    if checkup.is_codex_silent {
        return None;
    }
    let why = codex::untold(mailbox, Some(&checkup.config), question);
    checkup.is_codex_silent = why.is_err();
    why.ok().flatten()
}
