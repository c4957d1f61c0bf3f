//! `relaunch status --all`: every workflow that the mailbox knows of, the newest first, one line each.

use std::collections::HashMap;

use crate::error::Result;
use crate::id::{RoundId, WorkflowId};
use crate::mailbox::Mailbox;
use crate::mailbox::listing::{known_workflows, list};
use crate::run::view::status::{self, Status};
use crate::surface::program::{self, Context};
use crate::surface::relaunch::status::table;
use crate::surface::terminal::{columns, screen};
use crate::text;

/// The columns of an id; a longer one moves its line to the right.
const ID: usize = 24;

/// Prints each workflow as soon as it is read: there may be a million. Only those that are not over are in memory together.
pub fn show(mailbox: &Mailbox, context: &Context, json: bool) -> Result<u8> {
    let mut open: HashMap<WorkflowId, Status> =
        table::look(mailbox, context, None)?.into_iter().map(|status| (status.workflow_id.clone(), status)).collect();
    let (columns, mut is_first) = (screen::columns(), true);
    for workflow in known_workflows::newest_first(mailbox) {
        let workflow = workflow?;
        let status = open.remove(&workflow).unwrap_or_else(|| {
            let rounds: Vec<RoundId> = list::rounds_of(mailbox, &workflow).collect();
            status::of_closed(mailbox, &workflow, &rounds)
        });
        if json {
            program::print_json(&status)?;
            continue;
        }
        if std::mem::take(&mut is_first) {
            program::print(&line(["WORKFLOW", "STATE", "AGE", "QUESTION"], columns))?;
        }
        let why = status.why.as_ref().map_or_else(String::new, |why| format!("  ({})", text::one_line(why)));
        let question = text::one_line(&status.question) + &why;
        program::print(&line([status.workflow_id.as_str(), status.state.word(), &table::age(&status), &question], columns))?;
    }
    if is_first && !json {
        program::print("there is no workflow\n")?;
    }
    Ok(0)
}

/// One line. On a terminal it is cut to the terminal's width.
fn line([id, state, age, question]: [&str; 4], columns: Option<usize>) -> String {
    let line = format!("{id:<ID$}  {state:<11}  {age:>8}  {question}");
    columns.map_or_else(|| line.trim_end().to_owned(), |columns| columns::cut(line.trim_end(), columns)) + "\n"
}
