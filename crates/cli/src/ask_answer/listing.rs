//! `ask-answer list`: the pending questions.

use std::cell::Cell;

use serde_json::{Value, json};

use crate::ask_answer::ag_ui;
use crate::ask_answer::filter::{self, Facts};
use crate::person::warn_of_queue;
use crate::terminal::columns::{Row, Table};
use crate::{Context, columns, fitted, program, question_text, screen};
use askbox_mailbox::overview::waiting::{self, Pending};
use askbox_mailbox::{
    Mailbox, QuarantinedRound, Question, QuestionId, Result, WorkflowId, document, quarantined_round, read_question, round, text, time,
};
use askbox_run::Teller;

/// The maximum size in bytes of all JSON objects together that are kept until they are printed. The other questions are read a second
/// time.
const KEPT: usize = 16 << 20;
/// The narrowest terminal that has a column for the project.
const WITH_PROJECT: usize = 80;

/// Prints the pending questions that match the filter, and the rounds that are parked because their file is in quarantine.
///
/// A mailbox that does not exist yet counts as empty.
pub fn pending(mailbox: Option<&Mailbox>, context: &Context, words: &str, as_json: bool) -> Result<()> {
    filter::check(words)?;
    let Some(mailbox) = mailbox else { return Ok(()) };
    let held = quarantined_round::all(mailbox)?;
    if as_json {
        return print_json(mailbox, words, &held);
    }
    let has_project = screen::columns().is_none_or(|columns| columns >= WITH_PROJECT);
    let row = |cells: &Cells| if has_project { Table::row(cells) } else { Table::row(&without_project(cells)) };
    let found = waiting::pending(mailbox, |p| cells_if_fits(Some(mailbox), &p, words).as_ref().map(row))?;
    let held = held.iter().map(held_row).collect::<Vec<_>>();
    let rows: Vec<Row> = found.into_iter().flatten().chain(held.iter().map(row)).collect();
    warn_of_queue(&Teller::new(mailbox, context.loaded()));
    if rows.is_empty() {
        program::say(if words.is_empty() { "no question is pending\n" } else { "no pending question has these words\n" });
    }
    if has_project { print_table(Table::new(HEAD), rows) } else { print_table(Table::new(without_project(&HEAD)), rows) }
}

/// Prints the lines one by one, because there may be very many.
fn print_table<const N: usize>(mut table: Table<N>, rows: Vec<Row>) -> Result<()> {
    rows.iter().for_each(|row| table.push(row));
    let mut lines = table.lines(rows.into_iter()).map(fitted::row).peekable();
    while lines.peek().is_some() {
        program::print(&lines.by_ref().take(LINES_AT_ONCE).collect::<String>())?;
    }
    Ok(())
}

/// How many lines are printed together.
const LINES_AT_ONCE: usize = 256;

const HEAD: [&str; 5] = ["WORKFLOW", "AGE", "PROJECT", "ASKED BY", "QUESTION"];

fn without_project<T: Clone>([id, age, _, by, question]: &[T; 5]) -> [T; 4] {
    [id, age, by, question].map(T::clone)
}

/// The columns of one question.
pub type Cells = [String; 5];

/// The rounds that are parked because their file is in quarantine.
///
/// # Errors
/// If the mailbox cannot be read.
pub fn held_rows(mailbox: &Mailbox) -> Result<Vec<Cells>> {
    Ok(quarantined_round::all(mailbox)?.iter().map(held_row).collect())
}

fn held_row(held: &QuarantinedRound) -> Cells {
    [held.workflow.to_string(), "-".into(), "-".into(), "-".into(), format!("parked: {}; {}", held.why(), held.todo())]
}

/// Formats the questions as a table. A narrow terminal leaves the project out, so that the question has room.
pub fn table(rows: &[Cells]) -> String {
    if screen::columns().is_none_or(|columns| columns >= WITH_PROJECT) {
        return columns::table(HEAD, rows);
    }
    let rows: Vec<_> = rows.iter().map(without_project).collect();
    columns::table(without_project(&HEAD), &rows)
}

/// True if the question matches the filter. A file that cannot be read has only its id.
fn fits(mailbox: Option<&Mailbox>, pending: &Pending, words: &str) -> bool {
    fits_of(mailbox, pending.workflow.as_str(), pending.document.as_ref().ok().map(|document| &document.typed), words)
}

/// True if the question with this id matches the filter. It is missing if it cannot be read. `mailbox` is `None` for a question of another
/// machine.
pub fn fits_of(mailbox: Option<&Mailbox>, id: &str, question: Option<&Question>, words: &str) -> bool {
    words.is_empty() || question.map(|question| Facts::of(mailbox, question, None)).unwrap_or_default().fit(id, words)
}

/// The columns of a question, if it matches the filter.
pub fn cells_if_fits(mailbox: Option<&Mailbox>, pending: &Pending, words: &str) -> Option<Cells> {
    fits(mailbox, pending, words).then(|| cells(mailbox, pending))
}

/// The columns of a question with this id. `mailbox` is `None` for a question of another machine.
pub fn cells_of(mailbox: Option<&Mailbox>, id: &str, question: &Question) -> Cells {
    [
        id.to_owned(),
        question_text::age(question),
        question.project(),
        Some(text::excerpt(&question_text::asker(question), 24)).filter(|asker| !asker.is_empty()).unwrap_or_else(|| "-".into()),
        question_text::headline(mailbox, question),
    ]
}

fn cells(mailbox: Option<&Mailbox>, pending: &Pending) -> Cells {
    let id = pending.workflow.to_string();
    match &pending.document {
        Ok(d) => cells_of(mailbox, &id, &d.typed),
        Err(e) => [id, "-".into(), "-".into(), "-".into(), format!("unreadable: {}", program::message(e))],
    }
}

/// Prints the questions that match the filter as interrupts of AG-UI, one object a line. A question that waits for an event is none.
///
/// # Errors
/// If the mailbox cannot be read.
pub fn interrupts(mailbox: Option<&Mailbox>, words: &str) -> Result<()> {
    filter::check(words)?;
    let Some(mailbox) = mailbox else { return Ok(()) };
    let fitting = waiting::pending(mailbox, |pending| fits(Some(mailbox), &pending, words).then_some(pending.workflow))?;
    for workflow in fitting.into_iter().flatten() {
        let question = match read_question::pending(mailbox, &workflow) {
            Ok(document) => document.typed,
            // It was answered meanwhile.
            Err(e) if e.is_missing_file() => continue,
            Err(e) => {
                program::warn(&program::message(&e));
                continue;
            }
        };
        if question.until.is_none() {
            program::print_json(&ag_ui::interrupt(&round::of_pending(mailbox, &question)?, &question)?)?;
        }
    }
    Ok(())
}

/// Prints one object a line.
fn print_json(mailbox: &Mailbox, words_wanted: &str, held: &[QuarantinedRound]) -> Result<()> {
    let room = Cell::new(KEPT);
    let kept = |p: Pending| -> Result<Option<(WorkflowId, Option<Box<str>>)>> {
        let Some(object) = json_if_fits(Some(mailbox), &p, words_wanted)? else { return Ok(None) };
        let left = room.get().checked_sub(object.len());
        room.set(left.unwrap_or(room.get()));
        Ok(Some((p.workflow, left.map(|_| object.into_boxed_str()))))
    };
    for row in waiting::pending(mailbox, kept)? {
        let object = match row? {
            None => continue,
            Some((_, Some(object))) => object,
            Some((workflow, None)) => {
                in_json(&Pending { document: read_question::pending(mailbox, &workflow), workflow })?.into_boxed_str()
            }
        };
        program::print_json_text(&object)?;
    }
    for held in held {
        program::print_json(&json!({"workflow_id": held.workflow, "error": held.why(), "todo": held.todo()}))?;
    }
    Ok(())
}

/// A question as JSON, if it matches the filter.
///
/// # Errors
/// If it cannot be put into JSON.
pub fn json_if_fits(mailbox: Option<&Mailbox>, pending: &Pending, words: &str) -> Result<Option<String>> {
    fits(mailbox, pending, words).then(|| in_json(pending)).transpose()
}

/// A question as JSON.
pub fn json_of(question: &Question, id: Option<QuestionId>) -> Value {
    let mut object = json!({
        "workflow_id": question.workflow_id, "question_id": id, "title": question.title(), "asked_by": question.asked_by,
        "timestamp": question.timestamp, "priority": question.priority.unwrap_or(0), "expires_at": question.expires_at,
        "until": question.until, "cwd": question.cwd, "overdue": question_text::is_overdue(question, time::now()),
        "questions": question.parts().len(),
    });
    if let Some(live) = &question.live {
        object["live"] = json!(live);
    }
    object
}

fn in_json(pending: &Pending) -> Result<String> {
    words(&match &pending.document {
        Ok(d) => json_of(&d.typed, d.typed.question_id),
        Err(e) => json!({"workflow_id": pending.workflow, "error": program::message(e)}),
    })
}

fn words(object: &Value) -> Result<String> {
    Ok(text::escape_json(&String::from_utf8_lossy(&document::to_json(object)?)))
}
