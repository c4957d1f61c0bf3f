//! `ask-answer list` with the questions of all machines. The list does not wait for a machine that was not reached the last time. Its known
//! questions are shown with their age.

use serde_json::{Value, json};

use crate::Peers;
use crate::known::HostView;
use crate::machines::for_machines::named_in_vain;
use crate::machines::{LIST_WAITS, age, connect, no_mailbox, not_reached, offer_state, views};
use crate::remote_question::RemoteQuestion;
use crate::waiting::{self, WaitingQuestion};
use askbox_cli::args::ask_answer_args::Hosts;
use askbox_cli::ask_answer::filter;
use askbox_cli::ask_answer::listing::{self, Cells};
use askbox_cli::person::warn_of_queue;
use askbox_cli::{Common, Context, fitted, program};
use askbox_mailbox::{Error, Question, Result, text, time};
use askbox_run::Teller;

/// Prints the list; returns the exit status.
pub(super) fn run(common: &Common, context: &Context, filter: &str, hosts: Option<&Hosts>) -> Result<u8> {
    filter::check(filter)?;
    let only = if let Some(Hosts::One(host)) = hosts { Some(host) } else { None };
    // The other machines answer while the mailbox of this one is read.
    let peers = match connect(context, only) {
        // A broken configuration is only a warning if a person lists all machines. It is an error if a machine is named, or for a program,
        // because the list would then lack the machines that were asked for.
        Err(e @ Error::Invalid { .. }) if only.is_none() && !common.json => {
            program::warn(&format!("no other machines are listed: {}; {}", program::message(&e), e.hint()));
            Peers::open(Vec::new(), None, || {})?
        }
        connected => connected?,
    };
    let mailbox = match only {
        Some(_) => None,
        // A machine that only answers others has no mailbox of its own.
        None if !peers.is_empty() && named_in_vain(common)?.is_none() => common.open_if_made()?,
        None => common.open_if_there()?,
    };
    peers.settle(LIST_WAITS);
    let views = views(&peers, only)?;
    if common.json {
        return print_json(mailbox.as_ref(), &views, filter);
    }
    let row = |waiting: WaitingQuestion<'_>| match waiting {
        WaitingQuestion::Here(pending) => listing::cells_if_fits(mailbox.as_ref(), pending, filter),
        WaitingQuestion::There(view, question, document) => {
            let fits = listing::fits_of(None, &question.address().to_string(), document, filter);
            fits.then(|| cells(view, question, document))
        }
    };
    let mut rows: Vec<Cells> = waiting::all(mailbox.as_ref(), &views, row)?.into_iter().flatten().collect();
    if let Some(mailbox) = &mailbox {
        rows.extend(listing::held_rows(mailbox)?);
        // A mistake in the configuration was told already.
        if context.loaded().is_ok() {
            warn_of_queue(&Teller::new(mailbox, context.loaded()));
        }
    }
    for lost in not_reached(&peers.ways(), &views) {
        program::say(&format!("note: {}\n", lost.why));
    }
    for view in &views {
        if let Some(why) = no_mailbox(view) {
            program::warn(&why);
        }
        if view.left_out > 0 {
            program::say(&format!("note: {} has {} more questions than are shown here\n", view.host, view.left_out));
        }
    }
    if rows.is_empty() {
        program::say(if filter.is_empty() { "no question is pending\n" } else { "no pending question has these words\n" });
    }
    program::print(&fitted::rows(&listing::table(&rows)))?;
    Ok(0)
}

fn cells(view: &HostView, question: &RemoteQuestion, document: Option<&Question>) -> Cells {
    let id = question.address().to_string();
    let sent = question.round().and_then(|round| offer_state::first_sender(view, round.question));
    let sent = sent.map_or(String::new(), |by| format!("(sent by {by}) "));
    let seen = if view.is_stale() { format!("{sent}(as of {}) ", age(view)) } else { sent };
    match document {
        Some(document) => {
            let [_, age, project, by, headline] = listing::cells_of(None, &id, document);
            [id, age, project, by, format!("{seen}{headline}")]
        }
        None => [id, "-".into(), "-".into(), "-".into(), format!("{seen}unreadable: {}", question.why_unreadable(200))],
    }
}

/// Prints one object a line. That of another machine's question has `host` and `address`, and says how old it is.
fn print_json(mailbox: Option<&askbox_mailbox::Mailbox>, views: &[HostView], filter: &str) -> Result<u8> {
    let row = |waiting: WaitingQuestion<'_>| -> Result<Option<String>> {
        match waiting {
            WaitingQuestion::Here(pending) => listing::json_if_fits(mailbox, pending, filter),
            WaitingQuestion::There(view, question, document) => {
                if !listing::fits_of(None, &question.address().to_string(), document, filter) {
                    return Ok(None);
                }
                let mut object = match document {
                    Some(document) => listing::json_of(document, question.round().map(|round| round.question)),
                    None => json!({"workflow_id": question.workflow, "error": question.why_unreadable(300)}),
                };
                object["host"] = question.host.as_str().into();
                object["address"] = question.address().to_string().into();
                object["reachable"] = (!view.is_stale()).into();
                object["as_of"] = view.as_of.map_or(Value::Null, |at| time::rfc3339(at).into());
                Ok(Some(text::escape_json(&object.to_string())))
            }
        }
    };
    for row in waiting::all(mailbox, views, row)? {
        if let Some(object) = row? {
            program::print_json_text(&object)?;
        }
    }
    Ok(0)
}
