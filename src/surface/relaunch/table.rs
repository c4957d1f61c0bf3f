//! `relaunch status`: a table for people, JSON for programs.

use super::monitor;
use crate::error::Result;
use crate::id::WorkflowId;
use crate::mailbox::Mailbox;
use crate::run::status::{self, Status};
use crate::surface::program;
use crate::text;
use crate::time;

/// One workflow, or all that are not over.
pub fn show(mailbox: &Mailbox, workflow: Option<&WorkflowId>, json: bool) -> Result<u8> {
    match workflow {
        Some(workflow) => {
            let mut status = status::of(mailbox, workflow)?;
            monitor::explain(mailbox, std::slice::from_mut(&mut status))?;
            if json { program::print_json(&status)? } else { program::print_words(&details(&status))? }
        }
        None => {
            let mut all = status::open(mailbox)?;
            monitor::explain(mailbox, &mut all)?;
            if json {
                // One object a line: a stream for `jq`, however many there are.
                all.iter().try_for_each(program::print_json)?;
            } else if all.is_empty() {
                program::print("nothing is open\n")?;
            } else {
                program::print_words(&table(&all))?;
            }
        }
    }
    Ok(0)
}

fn age(status: &Status) -> String {
    status.since.map(|t| time::human(time::since(t))).unwrap_or_default()
}

fn table(all: &[Status]) -> String {
    let width = all.iter().map(|s| s.workflow_id.as_str().len()).max().unwrap_or(0).clamp(8, 44);
    let mut out = format!("{:<width$}  {:<11}  {:>8}  {}\n", "WORKFLOW", "STATE", "AGE", "QUESTION");
    for status in all {
        let why = status.why.as_ref().map(|w| format!("  ({})", text::excerpt(w, 60))).unwrap_or_default();
        out.push_str(&format!(
            "{:<width$}  {:<11}  {:>8}  {}{why}\n",
            status.workflow_id,
            status.state.word(),
            age(status),
            text::excerpt(&status.question, 60)
        ));
    }
    out
}

fn details(status: &Status) -> String {
    let mut out = String::new();
    let mut line = |name: &str, value: Option<String>| {
        if let Some(value) = value.filter(|v| !v.is_empty()) {
            out.push_str(&format!("{name:<10} {}\n", text::printable(&value).replace('\n', "\n           ")));
        }
    };
    line("workflow", Some(status.workflow_id.to_string()));
    line("state", Some(format!("{} {}", status.state.word(), status.since.map(|_| format!("for {}", age(status))).unwrap_or_default())));
    line("round", status.question_id.map(|q| q.to_string()));
    line("question", Some(status.question.clone()));
    line("asked by", status.asked_by.clone());
    line("attempt", status.attempt.map(|a| a.to_string()));
    line("session", status.session_id.map(|s| s.to_string()));
    line("retry at", status.retry_at.map(time::rfc3339));
    line("why", status.why.clone());
    line("to do", status.todo.clone());
    line("cost", status.cost_usd.map(|c| format!("${c:.4}")));
    line("result", status.result.clone());
    out
}
