//! A round as a text: who asked, until when, its parts, its state, its answers.
//!
//! Fits the texts about a question to the width of a terminal.

use std::borrow::Cow;
use std::fmt::Write;

use crate::ask_answer::question_text::origin::{background, own_line, thread};
use crate::ask_answer::question_text::{asked, part};
use crate::terminal::columns::width;
use crate::{Context, fitted};
use askbox_mailbox::{Answer, Folder, Mailbox, OnExpiry, Question, Round, excerpt, one_line, text, time};
use askbox_run::{Cause, Teller, story};

/// A round with its question, its state and its answers.
pub fn round(mailbox: Option<&Mailbox>, found: &Round, context: &Context) -> String {
    let question = &found.document.typed;
    let mut out = about(mailbox, found, context.only_signed_answers_count());
    out.push('\n');
    if let Some(lead_in) = question.lead_in() {
        let _ = writeln!(out, "{}\n", asked(lead_in));
    }
    for (n, p) in question.parts().iter().enumerate() {
        let key = question.is_batch().then(|| p.key(n));
        out.push_str(&part(p, key.as_deref()));
    }
    let _ = writeln!(out, "\nRound {}: {}", found.id.question, story::in_words(found));
    if let Some(mailbox) = mailbox {
        out.push_str(&why_it_stands_still(mailbox, found, context));
    }
    for back in question.taken_back.iter().flat_map(|last| last.before.iter().chain([last])) {
        let (by, ago) = (excerpt(&back.by, 60), time::human(time::since(back.at)));
        let answer = excerpt(&back.answer, 200);
        let _ = match &back.refused {
            Some(why) => writeln!(out, "  an earlier answer was refused {ago} ago, because {}: {answer}", excerpt(why, 200)),
            None => writeln!(out, "  an earlier answer was taken back by {by} {ago} ago: {answer}"),
        };
    }
    if let Some(given) = &question.answer {
        out.push_str(&answer(given, ""));
    }
    for late in &question.late_answers {
        out.push_str(&answer(late, "late: "));
    }
    out
}

/// Why an answered round stands still, with the command that changes it.
fn why_it_stands_still(mailbox: &Mailbox, found: &Round, context: &Context) -> String {
    let story = match found.folder {
        // The agent's turn is over, and what it started may not be.
        Folder::Closed => Teller::new(mailbox, context.loaded()).at_a_glance(&found.id.workflow),
        folder => Teller::new(mailbox, context.loaded()).of_round_or_why(folder, &found.id, &found.document.typed),
    };
    // The question itself is shown above.
    let is_here = |cause| matches!(cause, Cause::Person | Cause::Date | Cause::File);
    let Some(first) = story.hold_ups.first().filter(|first| story.question_id == Some(found.id.question) && !is_here(first.cause)) else {
        return String::new();
    };
    let why = story.why.clone().unwrap_or_else(|| first.clause(fitted::moment));
    let once = if first.cause == Cause::NoWatcher && story.answered_at.is_some() {
        format!(", or once: relaunch {}", found.id.workflow)
    } else {
        String::new()
    };
    format!("  {}\n  next: {}{once}\n", excerpt(&why, 300), first.next)
}

/// The asker, the times, and the context of a question.
#[must_use]
fn about(mailbox: Option<&Mailbox>, found: &Round, only_signed: bool) -> String {
    let (mut out, context) = about_and_context(mailbox, found, only_signed);
    if let Some(context) = context {
        out.push('\n');
        // Beside a call, each line of a plan is marked as one: it could imitate a command of askbox.
        let mark = if found.document.typed.approval.is_some() { "| " } else { "" };
        for line in context.trim_end().lines() {
            let _ = writeln!(out, "  {mark}{line}");
        }
    }
    out
}

/// The asker and the times as lines, and the context as it was written. `mailbox` is `None` for a question of another machine. Its paths
/// are then not followed.
#[must_use]
fn about_and_context<'a>(mailbox: Option<&Mailbox>, found: &'a Round, only_signed: bool) -> (String, Option<Cow<'a, str>>) {
    let question = &found.document.typed;
    let mut out = String::new();
    let by = question.asked_by.as_deref().map_or(String::new(), |by| format!(" by {}", excerpt(by, 60)));
    // A question made by hand may have no time.
    let ago = question.asked_at().map_or_else(String::new, |at| format!(" {} ago", time::human(time::since(at))));
    let _ = writeln!(out, "{}: asked{by}{ago}", question.workflow_id);
    if let Some(line) = own_line(found) {
        let _ = writeln!(out, "  {line}");
    }
    if let Some(live) = question.live.as_ref() {
        let place = match (live.in_background, found.folder) {
            (true, Folder::Pending) if live.unattended => {
                let until = live.until.map_or_else(String::new, |until| format!(" after {}", fitted::moment(until)));
                format!("nobody attends this session; it decides without an answer{until}")
            }
            (true, Folder::Pending) if live.until.is_some() => {
                format!("no dialog is open while this waits; it opens at the terminal {}", fitted::moment(live.until.unwrap_or(live.since)))
            }
            (true, _) => "no dialog is open while this waits".to_owned(),
            (false, Folder::Pending) => format!("at its terminal since {}", time::human(time::since(live.since))),
            (false, _) => "was asked at its terminal too".to_owned(),
        };
        let _ = writeln!(out, "  {}: {place}", live.words());
    }
    if let Some(at) = question.expires_at.filter(|_| found.folder != Folder::Pending) {
        let _ = writeln!(out, "  had time until {}", fitted::moment(at));
    } else if let Some(at) = question.expires_at {
        let word = match at <= time::now() {
            true if question.until.is_some() => "in vain since",
            true => "overdue since",
            false => "until",
        };
        let _ = writeln!(out, "  {word} {}, {}", fitted::moment(at), then_on_expiry(question, only_signed));
    }
    for line in background(mailbox, found) {
        let _ = writeln!(out, "  {line}");
    }
    mailbox.iter().for_each(|mailbox| out.push_str(&thread(mailbox, question)));
    (out, question.shown_context())
}

/// Says what happens when the question's time is over. If it is over already, says what the watcher is about to do.
pub fn then_on_expiry(question: &Question, only_signed: bool) -> String {
    let is_over = question.expires_at.is_some_and(|at| at <= time::now());
    let then = if is_over { "" } else { "then " };
    match (question.on_expiry(), &question.default) {
        (OnExpiry::Default, Some(default)) if only_signed => {
            format!("{then}it stays open: its asker suggests `{}`, but only a signed answer counts", excerpt(&default.to_text(), 60))
        }
        (OnExpiry::Default, Some(default)) => {
            let default = excerpt(&default.to_text(), 60);
            if is_over {
                format!("the watcher is to apply the default `{default}`")
            } else {
                format!("then the default `{default}` applies")
            }
        }
        (OnExpiry::Cancel, _) if is_over => "the watcher is to cancel it".into(),
        (OnExpiry::Cancel, _) => "then it is cancelled".into(),
        _ => format!("{then}it stays open"),
    }
}

fn answer(given: &Answer, mark: &str) -> String {
    let mut out = format!("  {mark}{}\n", given.who());
    let value = given.value.as_ref().map(askbox_mailbox::AnswerValue::to_text).unwrap_or_default();
    for line in value.lines() {
        let _ = writeln!(out, "    {line}");
    }
    if let Some(edited) = &given.edited {
        let _ = writeln!(out, "  the call was changed to:\n    {}", text::visible(edited).trim_end().replace('\n', "\n    "));
    }
    if let Some(note) = &given.note {
        let _ = writeln!(out, "  note: {}", one_line(note));
    }
    out
}

/// Fits a text about a question to standard output. A terminal gets it wrapped, with an option's description beside its key.
///
/// A line goes on deeper than any line of askbox begins, so no words of an agent look like one where a line is broken.
pub fn fitted(text: &str) -> String {
    fitted::paragraphs(text, |line| Some(where_it_goes_on(line)))
}

/// [`fitted()`] for this many columns.
pub fn fitted_within(text: &str, columns: usize) -> String {
    fitted::paragraphs_within(text, columns, |line| Some(where_it_goes_on(line)))
}

/// The indentation, in bytes, of the further lines if this line is broken.
fn where_it_goes_on(line: &str) -> usize {
    let indentation = fitted::indentation(line);
    let gap = line[indentation..].find("  ").filter(|_| indentation == 4);
    if let Some(gap) = gap {
        return indentation + gap + fitted::indentation(&line[indentation + gap..]);
    }
    let is_deep_enough = |at: &usize| width(&line[..*at]) >= indentation + 2;
    line.char_indices().map(|(at, _)| at).chain([line.len()]).find(is_deep_enough).unwrap_or(indentation)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::fitted::paragraphs_within;

    #[test]
    fn words_of_an_agent_go_on_deeper_than_a_command_begins() {
        let words = "x ".repeat(60);
        for (line, deep) in [
            (format!("May the agent call {words}?"), 2),
            (format!("  The agent says: {words}"), 4),
            (format!("  in /a/{words}"), 4),
            (format!("  | {words}"), 4),
            (format!("      command: {words}"), 8),
            (format!("{}{words}", " ".repeat(60)), 20),
            (format!("    once  {words}"), 10),
            (format!("  質問{words}"), 4),
        ] {
            let fitted = paragraphs_within(&line, 40, |line| Some(where_it_goes_on(line)));
            assert!(fitted.lines().count() > 1 && fitted.lines().skip(1).all(|line| fitted::indentation(line) >= deep), "{fitted}");
        }
    }
}
