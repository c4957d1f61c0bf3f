//! The list of pending questions: opens one, sends its answer, goes on with the rest.

use std::io::Write;
use std::path::PathBuf;

use inquire::ui::RenderConfig;
use inquire::{InquireError, Select, Text};

use crate::disk;
use crate::error::{Error, Result};
use crate::id::WorkflowId;
use crate::mailbox::documents::check_answer::Given;
use crate::mailbox::round::Round;
use crate::mailbox::transitions::accept;
use crate::mailbox::{Answer, AnswerValue, Folder, Mailbox, list};
use crate::surface::ask_answer::inbox::asking::ask_all;
use crate::surface::ask_answer::inbox::prompts::{Reply, given, item, menu_rows, terminal_failed};
use crate::surface::ask_answer::{answering, question_text};
use crate::surface::program;
use crate::surface::terminal::columns;
use crate::text;

/// The channel that answers from here are recorded with.
const CHANNEL: &str = "inbox";
/// An answer of more bytes than this is kept in a file if it cannot be sent.
const WORTH_KEEPING: usize = 80;

#[derive(Clone)]
enum Row {
    Question(WorkflowId),
    Refresh,
    Quit,
}

/// Shows the inbox until the user leaves it.
pub fn run(mailbox: &Mailbox, by: &str) -> Result<()> {
    if program::env("TERM").is_some_and(|terminal| terminal == "dumb") {
        inquire::set_global_render_config(RenderConfig::empty());
    }
    let mut cursor = 0;
    loop {
        let found = list::pending(mailbox, |p| (waits(&p), (p.workflow.clone(), cells(&p))))?;
        let waiting = found.iter().filter(|(waits, _)| *waits).count();
        let (pending, cells): (Vec<WorkflowId>, Vec<[String; 4]>) = found.into_iter().map(|(_, row)| row).unzip();
        // The prompt takes the place of the table's head.
        let lines = columns::table(["", "", "", ""], &cells);
        let mut rows: Vec<_> =
            pending.iter().zip(lines.lines().skip(1)).map(|(workflow, line)| item(line, Row::Question(workflow.clone()))).collect();
        rows.push(item("Refresh", Row::Refresh));
        rows.push(item("Quit", Row::Quit));
        let title = match pending.len() - waiting {
            0 => "No question is pending".to_owned(),
            1 => "1 question is pending".to_owned(),
            n => format!("{n} questions are pending"),
        };
        let title = if waiting == 0 { title } else { format!("{title} ({waiting} not for you)") };
        let last = rows.len() - 1;
        let chosen = Select::new(&title, rows)
            .with_page_size(menu_rows())
            .with_starting_cursor(cursor.min(last))
            .with_formatter(&|row| match &row.value.value {
                Row::Question(workflow) => workflow.to_string(),
                _ => row.value.label.clone(),
            })
            .with_help_message("↑↓ move, enter open, type to filter, esc quit")
            .raw_prompt_skippable();
        match chosen {
            Ok(Some(choice)) => {
                cursor = choice.index;
                match choice.value.value {
                    Row::Quit => return Ok(()),
                    Row::Refresh => {}
                    Row::Question(workflow) => match open(mailbox, &workflow, by) {
                        Ok(Reply::Quit) => return Ok(()),
                        Ok(_) => {}
                        // An error about one question does not end the inbox.
                        Err(e) => program::complain(&disk::explain_missing(e)),
                    },
                }
            }
            Ok(None) | Err(InquireError::OperationInterrupted) => return Ok(()),
            Err(e) => return Err(terminal_failed(&e)),
        }
    }
}

/// Whether it waits for an event, not for a person.
fn waits(pending: &list::Pending) -> bool {
    pending.document.as_ref().is_ok_and(|document| document.typed.until.is_some())
}

fn cells(pending: &list::Pending) -> [String; 4] {
    let id = text::excerpt(pending.workflow.as_str(), 32);
    match &pending.document {
        Ok(document) => {
            let question = &document.typed;
            [
                id,
                question_text::age(question),
                text::excerpt(question.asked_by.as_deref().unwrap_or("-"), 16),
                question_text::headline(question),
            ]
        }
        Err(e) => [id, "-".into(), "-".into(), format!("unreadable: {}", program::message(e))],
    }
}

/// Shows one question, asks, and sends.
fn open(mailbox: &Mailbox, workflow: &WorkflowId, by: &str) -> Result<Reply<()>> {
    let found = answering::question(mailbox, workflow)?;
    if found.folder != Folder::Pending {
        gone(&found)?;
        return Ok(Reply::Skip);
    }
    program::print(&format!("\n{}\n", question_text::fitted(&question_text::about(mailbox, &found))))?;
    loop {
        let reply = match ask_all(&found)? {
            Reply::Given(value) => Answer::value(value, by, CHANNEL),
            Reply::Decline => {
                let why = Text::new("Why?").with_help_message("for the agent; enter: no reason, esc: back").prompt_skippable();
                match given(why)? {
                    Reply::Given(why) => Answer::declined(Some(why).filter(|w| !w.trim().is_empty()), by, CHANNEL),
                    Reply::Quit => return Ok(Reply::Quit),
                    _ => continue,
                }
            }
            Reply::AskBack => {
                let question =
                    Text::new("Your question:").with_help_message("the agent replies by asking again; esc: back").prompt_skippable();
                match given(question)? {
                    Reply::Given(question) if !question.trim().is_empty() => Answer::asking_back(question, by, CHANNEL),
                    Reply::Quit => return Ok(Reply::Quit),
                    _ => continue,
                }
            }
            Reply::Skip => return Ok(Reply::Skip),
            Reply::Quit => return Ok(Reply::Quit),
        };
        let written = reply.value.as_ref().map(AnswerValue::to_text).filter(|t| t.len() > WORTH_KEEPING);
        // Words that are close to an option were asked back already.
        match accept::answer(mailbox, workflow, Some(found.id.question), reply, Given::InOwnWords) {
            Ok(accepted) => {
                program::print(&format!("{workflow}: {}\n\n", answering::in_words(&accepted.answer)))?;
                accepted.warning.iter().for_each(|w| program::warn(w));
                return Ok(Reply::Given(()));
            }
            // The answer does not fit the question: ask again.
            Err(e @ Error::Invalid { .. }) => program::complain(&e),
            Err(e) => {
                // A long answer that could not be sent is not lost.
                if let Some(path) = written.and_then(|text| keep(&text)) {
                    program::say(&format!("your text is kept in {}\n", path.display()));
                }
                return Err(e);
            }
        }
    }
}

fn gone(found: &Round) -> Result<()> {
    let who = found.document.typed.answer.as_ref().map_or(String::new(), |a| format!(" ({})", a.who()));
    program::print(&format!("{}: {}{who}\n\n", found.id.workflow, question_text::state(found)))
}

/// Keeps a text that could not be sent in a file of its own, and returns its path.
fn keep(text: &str) -> Option<PathBuf> {
    let mut file = tempfile::Builder::new().prefix("answer-").suffix(".md").tempfile().ok()?;
    file.write_all(text.as_bytes()).ok()?;
    file.into_temp_path().keep().ok()
}
