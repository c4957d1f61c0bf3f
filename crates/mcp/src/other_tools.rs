//! The tools for checkpoints, the list of questions, runs, and answering. They do not ask a question or wait for an answer.

use serde_json::{Map, Value};

use crate::desk::Desk;
use askbox_cli::ask_answer::answering;
use askbox_cli::{checkpoint, program};
use askbox_mailbox::checkpoints::store;
use askbox_mailbox::document::Stored;
use askbox_mailbox::overview::waiting;
use askbox_mailbox::transitions::accept::{self, Decision};
use askbox_mailbox::transitions::settle;
use askbox_mailbox::{Answer, AnswerValue, Checkpoint, Error, Mailbox, QuestionId, Result, Through, WorkflowId, round, text, time};
use askbox_run::attempt::record::RunState;
use askbox_run::on_demand;
use askbox_run::story::Teller;
use askbox_run::supervise::stop::Stop;

/// The maximum number of lines of a list.
const LINES: usize = 50;
/// The maximum size of a checkpoint that a tool returns, in bytes. Claude Code cuts much longer ones.
const LONGEST: usize = 1 << 20;
/// `answer.channel` of an answer that an agent gave with a tool.
const CHANNEL: &str = "mcp";

/// `list_questions`
pub(super) fn questions(desk: &Desk) -> Result<String> {
    let Some(mailbox) = desk.common.open_if_there()? else { return Ok("no question waits\n".into()) };
    let rows = waiting::pending(&mailbox, |pending| match pending.document {
        Ok(document) => {
            let question = &document.typed;
            let age = question.asked_at().map(|at| format!(" ({} ago)", time::human(time::since(at)))).unwrap_or_default();
            let options = if question.options.is_empty() { String::new() } else { format!(" [{}]", question.options.keys()) };
            let waits = question.until.as_ref().map(|_| " (waits for an event, not for a person)").unwrap_or_default();
            format!("{}: {}{options}{age}{waits}\n", pending.workflow, text::excerpt(&question.title(), 200))
        }
        Err(e) => format!("{}: cannot be read: {}\n", pending.workflow, text::one_line(&e.to_string())),
    })?;
    Ok(listed(rows, "no question waits\n"))
}

/// The first lines of a list, and the number of further ones.
fn listed(rows: Vec<String>, none: &str) -> String {
    let (count, more) = (rows.len(), rows.len().saturating_sub(LINES));
    if count == 0 {
        return none.to_owned();
    }
    let shown: String = rows.into_iter().take(LINES).collect();
    if more == 0 { shown } else { format!("{shown}… and {more} more\n") }
}

/// `save_checkpoint`
pub(super) fn save_checkpoint(desk: &Desk, workflow: &WorkflowId, checkpoint: &Map<String, Value>) -> Result<String> {
    let bytes = askbox_mailbox::document::to_json(checkpoint)?;
    let mailbox = desk.common.open_or_create()?;
    program::check_own(&mailbox, workflow)?;
    let path = store::save(&mailbox, workflow, &bytes)?;
    Ok(format!("saved: {}", text::printable(&path.display().to_string())))
}

/// `load_checkpoint`
pub(super) fn load_checkpoint(desk: &Desk, workflow: &WorkflowId) -> Result<String> {
    let mailbox = desk.mailbox()?;
    let document = settle::settled_checkpoint(&mailbox, workflow)?;
    let bytes = document.to_bytes();
    if bytes.len() > LONGEST {
        let (length, path) = (bytes.len(), store::path(&mailbox, workflow));
        let limit = Checkpoint::LARGEST.min(LONGEST as u64);
        return Err(Error::failed(
            format!("the checkpoint of {workflow} is {length} bytes long; a tool's result holds {limit}"),
            format!("read parts of it: checkpoint get {workflow} FIELD; or the file {}", path.display()),
        ));
    }
    checkpoint::note_answer_fetched(&mailbox, workflow, &document);
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// `run_status`: one JSON object a line, like `relaunch status --json`.
pub(super) fn run_status(desk: &Desk, workflow: Option<&WorkflowId>) -> Result<String> {
    let found = match (workflow, desk.common.open_if_there()?) {
        (Some(workflow), Some(mailbox)) => vec![Teller::new(&mailbox, desk.context.loaded()).of_workflow(workflow)?],
        (None, Some(mailbox)) => Teller::new(&mailbox, desk.context.loaded()).open()?,
        (_, None) => Vec::new(),
    };
    let line = |status| Ok(format!("{}\n", String::from_utf8_lossy(&askbox_mailbox::document::to_json(&status)?)));
    Ok(listed(found.into_iter().map(line).collect::<Result<_>>()?, "nothing is open\n"))
}

/// `stop_run`. Waits until the run is over.
pub(super) fn stop_run(desk: &Desk, workflow: &WorkflowId, by: String) -> Result<String> {
    let mailbox = desk.mailbox()?;
    program::check_own(&mailbox, workflow)?;
    let request = Stop { at: time::now(), by, grace: None, report: false, now: false, by_limit: false };
    let run = on_demand::stop(&mailbox, workflow, &request, || desk.config_now(), |_| ())?;
    Ok(match run.state {
        RunState::Interrupted => format!("stopped {workflow}; it goes on with: relaunch {workflow}"),
        RunState::Delivered => format!("{workflow} had ended by itself"),
        RunState::Asking => format!("{workflow} had asked a question, and waits for the answer"),
        _ => format!("{workflow} ended: {}", text::one_line(&run.why.unwrap_or_default())),
    })
}

/// `answer_question`. Only a person may answer an approval.
pub(super) fn answer(desk: &Desk, workflow: &WorkflowId, expect: Option<QuestionId>, value: Value, by: String) -> Result<String> {
    let value = AnswerValue::from_json(value).map_err(|problem| Error::invalid("answer", problem, "write a value"))?;
    desk.context.reload();
    let (mailbox, agent) = (desk.mailbox()?, desk.context.caller_through(by, CHANNEL, Through::Mcp)?);
    let accepted = accept::answer_pending(&mailbox, workflow, Decision::by(&agent, expect), |_| Ok(agent.value(value)))?;
    let accepted = accepted.ok_or_else(|| nothing_pending(&mailbox, workflow))?;
    let warning = accepted.warning.as_ref().map(|warning| format!("\nwarning: {}", text::one_line(warning))).unwrap_or_default();
    Ok(format!("{workflow}: {}{warning}", answering::acknowledged(&accepted.question, &accepted.answer)))
}

/// The error about a question that waits no longer.
pub(super) fn nothing_pending(mailbox: &Mailbox, workflow: &WorkflowId) -> Error {
    let hint = "see the open questions: list_questions";
    match round::latest(mailbox, workflow) {
        None => Error::not_found(format!("nothing was asked for {workflow}"), hint),
        Some(round) => {
            let how = round.document.typed.answer.as_ref().map_or_else(|| "closed".into(), Answer::who);
            Error::conflict(format!("the question of {workflow} is no longer pending: it was {how}"), hint)
        }
    }
}
