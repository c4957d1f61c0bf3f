//! The page that shows what a person has changed in a tool call. Only its button sends the changed call, and only exactly as it is shown there.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use uuid::Uuid;

use crate::form::{self, Filled};
use crate::pages::Frame;
use crate::reply;
use crate::site::Visit;
use askbox_cli::ask_answer::edit_call;
use askbox_cli::program::Tint;
use askbox_config::ToolRule;
use askbox_mailbox::address::HostName;
use askbox_mailbox::documents::checks::check_answer::{self, Given};
use askbox_mailbox::documents::fields::approval::{EDITED, Editable};
use askbox_mailbox::round::Round;
use askbox_mailbox::{Answer, AnswerValue, Result, Shown, text};

#[derive(Template)]
#[template(path = "change.html")]
struct ChangePage {
    frame: Frame,
    /// The workflow, or `HOST:WORKFLOW`.
    workflow: String,
    question_id: String,
    host: Option<String>,
    tool: String,
    field: String,
    /// All lines of the changed call: `added`, `removed` or `same`, and the line.
    lines: Vec<(&'static str, String)>,
    shown: Shown,
    /// Binds the button to this question and this text.
    seen: Uuid,
    edited: String,
    note: String,
}

/// Returns the reason why a browser cannot change the text of this call: it would change characters by itself, or not show them.
pub fn unfit(editable: &Editable) -> Option<&'static str> {
    (text::still_visible(&editable.text) != editable.text)
        .then_some("It has characters that a browser would change, or not show. Change it in a terminal.")
}

/// Checks the changed text before the person is shown it. `refuse` are the operator's rules, if they are known.
///
/// # Errors
/// [`Error::Invalid`](askbox_mailbox::error::Error::Invalid) if the text does not fit, and [`Error::Conflict`](askbox_mailbox::error::Error::Conflict)
/// if the operator refuses the changed call.
pub fn check(round: &Round, refuse: &[ToolRule], edited: &str) -> Result<()> {
    let question = &round.document.typed;
    let answer = Answer { edited: Some(edited.to_owned()), ..Answer::value(AnswerValue::from(EDITED), "", "") };
    check_answer::check(question, answer, Given::ByPerson)?;
    question.approval.as_ref().map_or(Ok(()), |approval| edit_call::refuse_by_rules(refuse, approval, edited))
}

/// The page. The text has been checked.
pub fn page(visit: &Visit, host: Option<&HostName>, round: &Round, shown: Shown, filled: &Filled, edited: &str) -> Response {
    let approval = round.document.typed.approval.as_ref();
    let (workflow, frame) = match host {
        Some(host) => (format!("{host}:{}", round.id.workflow), Frame::new(visit, "").for_another_machine()),
        None => (round.id.workflow.to_string(), Frame::new(visit, "")),
    };
    let class = |tint| match tint {
        Tint::Green => "added",
        Tint::Red => "removed",
        Tint::Cyan | Tint::Plain => "same",
    };
    let editable = approval.and_then(|approval| approval.editable.as_ref());
    let lines = editable.map(|editable| edit_call::whole_call(&round.document.typed.question, editable, edited)).unwrap_or_default();
    // The heading asks.
    let lines = lines.into_iter().skip(1).map(|(tint, line)| (class(tint), text::still_visible(&line))).collect();
    let page = ChangePage {
        frame,
        workflow,
        question_id: round.id.question.to_string(),
        host: host.map(HostName::to_string),
        tool: approval.map(|approval| text::visible(&approval.tool)).unwrap_or_default(),
        field: editable.map(|editable| text::visible(&editable.field)).unwrap_or_default(),
        lines,
        shown,
        seen: form::seen(shown, edited),
        edited: edited.to_owned(),
        note: filled.note.clone(),
    };
    reply::html(StatusCode::OK, &page)
}
