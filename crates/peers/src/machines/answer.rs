//! Shows and answers a question of another machine. That machine decides whether the answer counts, and the person is told its decision. No
//! answer is stored for sending it later: a decision is made now, or not at all.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use uuid::Uuid;

use crate::collection::no_peer;
use crate::machines::{OpenInbox, age, connect, offer_state, staleness, takes_offers, unreachable, views, without_name};
use crate::remote_question::{Asked, Last, RemoteQuestion};
use crate::{Ended, Peers, Progress};
use askbox_cli::args::ask_answer_args::{AskAnswer, Command, Format};
use askbox_cli::args::askbox_args::Inbox;
use askbox_cli::ask_answer::edit_command::{self, Edited};
use askbox_cli::ask_answer::{self, ask_user_question, short_id};
use askbox_cli::person::refusal;
use askbox_cli::{Context, SeenRound, answering, program, question_text};
use askbox_mailbox::documents::checks::check_answer::Given;
use askbox_mailbox::{
    Address, Answer, AnswerValue, Caller, Decided, Decision, Error, Folder, HostName, On, Question, QuestionId, Result, Round, Untrusted,
    Verdict, WorkflowId, check_answer, text, time,
};

/// The maximum wait for a machine that a person names.
const NAMED_WAITS: Duration = Duration::from_secs(15);
/// The maximum wait until the offer was sent. The offer itself gives up earlier.
const SENT_WITHIN: Duration = Duration::from_secs(60);
/// The maximum wait for the verdict about an offer that lies in a database. A machine that is there decides within a moment. One that was
/// lost a moment ago is not known to be away yet.
const DECIDES_WITHIN: Duration = Duration::from_secs(15);
/// The exit status if it is not known yet whether the answer counts: the same as of other waits.
const NOT_DECIDED: u8 = 6;

/// Shows a question, answers it, declines it or asks back.
pub(super) fn run(args: &AskAnswer, context: &Context, open: OpenInbox) -> Result<u8> {
    let person = || person(args, context);
    let reply = &args.reply;
    let seen = reply.round.as_ref().map(|seen| seen.id);
    match &args.command {
        Some(Command::Show { id, attachment: Some(_), .. }) => Err(Error::usage(
            format!("the files beside a question of {} lie on that machine", host_of(id)),
            format!("there: ask-answer show {} --attachment NAME > FILE", id.workflow),
        )),
        Some(Command::Show { id, format, .. }) => match found(context, id, false)? {
            Found::Waits(peers, question) => show(args, context, &peers, &question, *format),
            // Only a waiting question has options to show.
            ended @ Found::Ended(_) if *format == Some(Format::AskUserQuestion) => ended.waiting(id).map(|_| 0),
            Found::Ended(ended) => show_ended(args, id, &ended, *format),
        },
        Some(Command::Decline { id, note, round, always, stop }) => {
            let note = note.clone().or_else(|| reply.note.clone());
            let (person, question) = (person()?, to_answer(context, id, "decline it")?);
            let on = seen_as(round.as_ref().or(reply.round.as_ref()), &question.1)?;
            send(args, &question, on, refusal(&person, note, *always, *stop), &person)
        }
        Some(Command::AskBack { id, question, round }) => {
            if question.trim().is_empty() {
                return Err(Error::usage("your question is empty", format!("write it: ask-answer ask-back {id} 'QUESTION'")));
            }
            let person = person()?;
            let to = to_answer(context, id, &format!("ask back: {question}"))?;
            send(args, &to, round.or(seen), person.asking_back(question.clone()), &person)
        }
        Some(Command::Edit { id, .. }) => edit(args, context, id),
        Some(other) => Err(only_there(other)),
        None => {
            let Some((id, words)) = reply.words.split_first() else {
                return Err(Error::usage("no question is named", "see the pending questions: ask-answer list"));
            };
            if reply.file.is_some() && !words.is_empty() {
                return Err(Error::usage("an answer is given, and --file as well", "leave one of them out"));
            }
            let id = id.parse()?;
            if words.is_empty() && ask_answer::opens(args) {
                return open_question(args, context, &id, open);
            }
            let person = person()?;
            let question = to_answer(context, &id, &short_id::answer_in_words(reply, words))?;
            let waits = asked(&question.1)?;
            let typed = &waits.document()?.typed;
            let on = seen_as(reply.round.as_ref(), &question.1)?;
            send(args, &question, on, answering::given(typed, args, &person)?, &person)
        }
    }
}

/// The question that the answer is about: that of the round that the person names, or the one that waits.
fn seen_as(seen: Option<&SeenRound>, question: &RemoteQuestion) -> Result<On> {
    let Some(seen) = seen else { return Ok(On::WhatWaits) };
    let waits = asked(question)?;
    seen.of_waiting(&question.workflow, waits.question, &waits.document()?.typed)
}

/// The person who answers. Without a configuration no machine is reached. Loading it here reports that once.
fn person(args: &AskAnswer, context: &Context) -> Result<Caller> {
    context.loaded()?;
    context.caller(args.reply.by.as_deref(), &channel("ask-answer"))
}

/// Opens the question in the inbox.
fn open_question(args: &AskAnswer, context: &Context, id: &Address, open: OpenInbox) -> Result<u8> {
    // An unknown id is an error before the screen changes.
    let address = found(context, id, false)?.waiting(id)?.1.address();
    open(&Inbox { id: Some(address), by: args.reply.by.clone(), common: args.common.clone() }, context)
}

/// The person's channel, as the other machine shows it: `inbox on laptop`.
pub fn channel(means: &str) -> String {
    let name = rustix::system::uname();
    let name = text::excerpt(&name.nodename().to_string_lossy(), 60);
    if name.is_empty() { means.to_owned() } else { format!("{means} on {name}") }
}

/// The question that a person answers. If a question that was seen here no longer waits, the answer is offered all the same, and its
/// machine says who was first. `decides` says what is sent, for a person who wrote only a part of the id.
fn to_answer(context: &Context, id: &Address, decides: &str) -> Result<(Peers, Arc<RemoteQuestion>)> {
    let (peers, question) = found(context, id, true).map_err(nothing_sent)?.waiting(id)?;
    if question.workflow != id.workflow {
        let document = asked(&question)?.document()?;
        let title = document.typed.title();
        short_id::is_meant(&id.to_string(), &question.address().to_string(), Some(&title), decides)?;
    }
    Ok((peers, question))
}

/// Tells the person that nothing was sent, even if the machine was never reached.
fn nothing_sent(e: Error) -> Error {
    match e {
        Error::Failed { message, hint } => Error::failed(format!("nothing was sent: {message}"), hint),
        other => other,
    }
}

/// The result of looking at an address.
enum Found {
    /// The question, with the connection to its machine.
    Waits(Peers, Arc<RemoteQuestion>),
    /// The question no longer waits.
    Ended(Ended),
}

impl Found {
    /// The waiting question, or an error that says how it ended.
    fn waiting(self, id: &Address) -> Result<(Peers, Arc<RemoteQuestion>)> {
        match self {
            Self::Waits(peers, question) => Ok((peers, question)),
            Self::Ended(ended) => Err(Error::not_found(
                format!("{} waits for no answer on {}: {}", id.workflow, host_of(id), ended.said.excerpt(300)),
                format!("look at it: ask-answer show {id}; what waits: ask-answer list --host {}", host_of(id)),
            )),
        }
    }
}

fn host_of(id: &Address) -> &str {
    id.host.as_ref().map_or("", HostName::as_str)
}

/// Looks at an address. If the question no longer waits, asks its machine how it ended.
fn found(context: &Context, id: &Address, or_earlier: bool) -> Result<Found> {
    let Some(host) = &id.host else { return Err(Error::usage(format!("{id} names no machine"), "write HOST:ID")) };
    let peers = connect(context, Some(host))?;
    peers.settle_with(host, NAMED_WAITS);
    let views = views(&peers, Some(host))?;
    let Some(view) = views.iter().find(|view| view.host == *host) else {
        let known: Vec<_> = views.iter().map(|view| view.host.as_str()).collect();
        let hint = format!("write the name of a machine in it: {}", known.join(", "));
        return Err(Error::usage(format!("{host} is a database, no machine"), hint));
    };
    let workflow = short_id::meant_of(&id.workflow, view.questions.iter().map(|question| &question.workflow))?;
    if let Some(question) = peers.question(host, &workflow.unwrap_or_else(|| id.workflow.clone())) {
        return Ok(Found::Waits(peers, question));
    }
    if let Some(earlier) = peers.earlier(host, &id.workflow).filter(|_| or_earlier && view.takes_offers()) {
        return Ok(Found::Waits(peers, earlier));
    }
    if !view.takes_offers() {
        return Err(unreachable(host.as_str(), &view.reach));
    }
    let (what_waits, missing) =
        (format!("what waits: ask-answer list --host {host}"), format!("{} waits for no answer on {host}", id.workflow));
    match peers.last(host, &id.workflow, NAMED_WAITS) {
        Ok(Some(Last::Waits(question))) => Ok(Found::Waits(peers, Arc::new(*question))),
        Ok(Some(Last::Ended(ended))) => Ok(Found::Ended(ended)),
        Ok(None) => Err(Error::not_found(missing, format!("nothing else is known of it; {what_waits}"))),
        // The list of the machine lacks questions.
        Err(problem) if view.left_out > 0 || view.is_stale() => Err(Error::failed(
            format!("{host} does not say whether {} waits: {}", id.workflow, text::one_line(&problem.said)),
            format!("try it again, or on {host}: ask-answer show {}; {what_waits}", id.workflow),
        )),
        Err(problem) => Err(Error::not_found(
            format!("{missing}, and it does not say how it ended: {}", text::one_line(&problem.said)),
            format!("see how it ended, on {host}: ask-answer show {}; {what_waits}", id.workflow),
        )),
    }
}

/// The question's content as its machine told it, if it can be read.
pub fn asked(question: &RemoteQuestion) -> Result<&Asked> {
    question
        .asked
        .as_ref()
        .map_err(|why| Error::invalid(question.address().to_string(), why.excerpt(200), format!("look at it on {}", question.host)))
}

/// A round in the form that the text functions need. The files of its machine are not here.
pub fn as_round(question: &RemoteQuestion) -> Result<Round> {
    let asked = asked(question)?;
    let id = askbox_mailbox::id::RoundId { workflow: question.workflow.clone(), question: asked.question };
    Ok(Round { folder: Folder::Pending, id, document: asked.document()? })
}

/// `ask-answer show HOST:ID`
fn show(args: &AskAnswer, context: &Context, peers: &Peers, question: &RemoteQuestion, format: Option<Format>) -> Result<u8> {
    let round = as_round(question)?;
    let typed = &round.document.typed;
    let view = peers.view().into_iter().find(|view| view.host == question.host).ok_or_else(|| no_peer(&question.host))?;
    if format == Some(Format::AskUserQuestion) {
        program::print_json(&ask_user_question::to_input(typed))?;
    } else if args.common.json || format == Some(Format::Json) {
        let bytes = round.document.to_bytes();
        let document: serde_json::Value = serde_json::from_slice(&bytes).map_err(|e| Error::failed(e.to_string(), "report this"))?;
        program::print_json(&json!({
            "state": "pending", "host": question.host, "question_id": round.id.question, "document": document,
            "reachable": !view.is_stale(), "as_of": view.as_of.map(time::rfc3339),
        }))?;
    } else {
        let notes = [staleness(&view), offer_state::undecided_note(&view, round.id.question)].into_iter().flatten();
        let notes: String = notes.map(|note| format!("{note}\n")).collect();
        let (shown, address) = (question_text::round(None, &round, context), question.address().to_string());
        let shown = question_text::fitted(&format!("on {}\n{notes}{shown}", question.host));
        program::print(&(shown + &question_text::to_allow(&address, &round)))?;
    }
    Ok(0)
}

/// `ask-answer show HOST:ID` for a question that no longer waits.
fn show_ended(args: &AskAnswer, id: &Address, ended: &Ended, format: Option<Format>) -> Result<u8> {
    if args.common.json || format == Some(Format::Json) {
        let raw = |text: &Option<Untrusted>| text.as_ref().map(|text| text.raw().to_owned());
        program::print_json(&json!({
            "state": ended.state.raw(), "host": host_of(id), "workflow_id": id.workflow, "question_id": ended.round,
            "question": ended.title.raw(), "said": ended.said.raw(), "answer": raw(&ended.answer), "note": raw(&ended.note),
        }))?;
        return Ok(0);
    }
    let mut out = format!("on {}\n{}: {}\n\n", host_of(id), id.workflow, ended.title.excerpt(300));
    out.push_str(&format!("Round {}: {}\n  {}\n", ended.round, ended.state.excerpt(60), ended.said.excerpt(300)));
    for (mark, text) in [("", &ended.answer), ("note: ", &ended.note)] {
        let lines = text.iter().map(|text| text.printable().trim_end().replace('\n', "\n    "));
        lines.for_each(|lines| out.push_str(&format!("    {mark}{lines}\n")));
    }
    program::print(&question_text::fitted(&out))?;
    Ok(0)
}

/// `ask-answer edit HOST:ID`
fn edit(args: &AskAnswer, context: &Context, id: &Address) -> Result<u8> {
    let found = found(context, id, false)?.waiting(id)?;
    let (round, address, person) = (as_round(&found.1)?, found.1.address().to_string(), person(args, context)?);
    let below = question_text::round(None, &round, context);
    let edited = Edited { address: &address, found: &round, below, refuse: Vec::new() };
    let status = edit_command::edit(args, &edited, &person, |on, reply| send(args, &found, on, reply, &person))?;
    Ok(status.unwrap_or_default())
}

/// Checks that the decision may be offered for the question that waits in this round, as far as that is known here.
fn may_be_made(decision: Decision<'_>, address: &str, question: &Question, waits: QuestionId, reply: &Answer) -> Result<()> {
    if let Some(expected) = decision.on.round().filter(|id| *id != waits) {
        let hint = format!("look at it: ask-answer show {address}");
        return Err(Error::conflict(format!("{address} asks another question by now (round {waits}, not {expected})"), hint));
    }
    decision.may_be_made(address, question, reply)
}

/// Offers the answer, and prints the decision of its machine.
fn send(args: &AskAnswer, found: &(Peers, Arc<RemoteQuestion>), on: impl Into<On>, answer: Answer, person: &Caller) -> Result<u8> {
    let on = on.into();
    let (peers, question) = found;
    let (host, asked) = (&question.host, asked(question)?);
    let (address, document) = (question.address(), asked.document()?);
    may_be_made(Decision::by(person, on), &address.to_string(), &document.typed, asked.question, &answer)?;
    let Some(view) = peers.view().into_iter().find(|view| view.host == *host) else { return Err(no_peer(host)) };
    takes_offers(&view).map_err(|e| Error::failed(format!("nothing was sent: {e}"), e.hint()))?;
    let given = if args.reply.text { Given::InOwnWords } else { Given::ByPerson };
    let answer = check_answer::check(&document.typed, answer, given).map_err(|e| addressed(e, &question.workflow, &address))?;
    if let Some(said) = offer_state::undecided_note(&view, asked.question) {
        program::warn(&said);
    }
    let offer = asked.offer(person, answer.clone(), args.reply.text)?;
    let id = offer.offer_id;
    peers.offer(host, offer)?;
    // A machine that is away will decide later, so it is enough that the offer was sent.
    let progress = match peers.sent(id, SENT_WITHIN) {
        Progress::Sent if !view.is_stale() => peers.outcome(id, DECIDES_WITHIN),
        other => other,
    };
    let verdict = match progress {
        Progress::Decided(verdict) => verdict,
        Progress::NotSent(problem) => {
            return Err(Error::failed(format!("nothing was sent: {}", text::one_line(&problem.said)), text::one_line(&problem.hint)));
        }
        Progress::Unconfirmed(problem) => {
            let why = without_name(host.as_str(), &problem.said);
            let message = format!("{address}: {host} did not confirm the answer, and may have it or not: {why}");
            let hint = "once it is reached, give the same command again: it answers, or tells who did; or look: ";
            return not_decided(args, &address, "unconfirmed", id, &message, &format!("{hint}ask-answer show {address}"));
        }
        Progress::UnderWay | Progress::Sent => {
            let now = peers.view().into_iter().find(|view| view.host == *host).unwrap_or(view);
            let then = if now.is_stale() { "last seen" } else { "last heard" };
            let message =
                format!("{address}: the answer was sent; {host} has not decided yet; {then} {}, it decides when it is back", age(&now));
            return not_decided(args, &address, "sent", id, &message, &format!("see later how it ended: ask-answer show {address}"));
        }
    };
    acknowledge(args, &address, &document.typed, &answer, &verdict)
}

/// Tells the person that it is not known yet whether the answer counts. That is not an error: the answer may count.
fn not_decided(args: &AskAnswer, address: &Address, state: &str, offer: Uuid, message: &str, hint: &str) -> Result<u8> {
    program::say(&format!("{}\nhint: {hint}\n", text::one_line(message)));
    if args.common.json {
        let host = address.host.as_ref().map(HostName::as_str);
        program::print_json(&json!({
            "state": state, "host": host, "workflow_id": address.workflow, "offer_id": offer, "exit_code": NOT_DECIDED, "hint": hint,
        }))?;
    }
    Ok(NOT_DECIDED)
}

fn acknowledge(args: &AskAnswer, address: &Address, question: &askbox_mailbox::Question, answer: &Answer, verdict: &Verdict) -> Result<u8> {
    let host = address.host.as_ref().map_or("", HostName::as_str);
    if verdict.decided != Decided::Accepted {
        let said = offer_state::named_from_here(host, &text::one_line(&verdict.said));
        let message = format!("{host}: {said}");
        return Err(match verdict.decided {
            Decided::Invalid => Error::invalid("answer", message, verdict.hint.as_deref().map(text::one_line).unwrap_or_default()),
            _ => Error::conflict(message, format!("see what waits there: ask-answer list --host {host}")),
        });
    }
    if let Some(warning) = &verdict.warning {
        program::warn(&format!("{host}: {warning}"));
    }
    if args.common.json {
        program::print_json(&json!({
            "state": answer.event(), "host": host, "workflow_id": address.workflow, "decided": verdict.decided,
            "offer_id": verdict.offer_id, "value": answer.value.as_ref().map(AnswerValue::to_json), "warning": verdict.warning,
        }))?;
        return Ok(0);
    }
    program::print(&format!("{address}: {}; accepted by {host}\n", answering::acknowledged(question, answer)))?;
    Ok(0)
}

/// Replaces the question's name in an error's hints by its address on this machine.
fn addressed(error: Error, workflow: &WorkflowId, address: &Address) -> Error {
    match error {
        Error::Invalid { file, field, problem, fix } => {
            let fix = fix.to_string().replace(&format!("ask-answer {workflow}"), &format!("ask-answer {address}"));
            let fix = fix.replace(&format!("ask-answer decline {workflow}"), &format!("ask-answer decline {address}"));
            Error::Invalid { file, field, problem, fix: fix.into() }
        }
        other => other,
    }
}

/// The error for a command that works only on the machine that has the question.
fn only_there(command: &Command) -> Error {
    let name = command.word();
    let hint = format!("run it there: ssh HOST ask-answer {name} ID");
    Error::usage(format!("`ask-answer {name}` works on the machine that has the question"), hint)
}
