//! The next prompt for a session, and its stop: the forms of the session's page.

use axum::extract::{Extension, Path};
use axum::response::Response;
use uuid::Uuid;

use crate::gate::Posted;
use crate::send::CHANNEL;
use crate::site::Visit;
use askbox_mailbox::{Error, Result};
use askbox_sessions::{Reply, Request, SessionAt};

type Form = (Path<String>, Extension<Posted>);

/// Does what a form wants with the prompt that it names, and shows the session again. Another machine is not waited for.
fn does(visit: &Visit, (Path(at), Extension(posted)): Form, request: impl FnOnce(String, Uuid, &Posted) -> Request) -> Result<Response> {
    let (site, id) = (&visit.site, posted.get("prompt").and_then(|id| id.parse().ok()));
    let id: Uuid = id.ok_or_else(|| Error::usage("the form names no prompt", "load the page again"))?;
    let (at, person) = (at.parse::<SessionAt>()?, site.caller(&visit.signed_in, CHANNEL)?);
    let request = request(at.id.clone(), id, &posted);
    let is_prompt = matches!(request, Request::Send { .. });
    let reply = match &at.host {
        Some(host) => site.sessions.send(host.clone(), &person, request).map(|()| Reply::Done(None)),
        None => request.does(&site.mailbox, &site.context, &person),
    };
    let run = if let Reply::Done(run) = reply? { run } else { None };
    site.changes.tell(&at.to_string());
    let sent = if is_prompt { format!("?sent={id}") } else { String::new() };
    Ok(visit.go_to(&run.map_or_else(|| format!("/session/{at}{sent}"), |run| format!("/run/{run}"))))
}

/// `POST /session/ID`
pub fn send(visit: &Visit, form: Form) -> Result<Response> {
    does(visit, form, |session, prompt, posted| {
        let (words, has_ended) = (posted.get("words").unwrap_or_default().to_owned(), posted.get("ended").is_some());
        Request::Send { session, prompt, words, has_ended }
    })
}

/// `POST /session/ID/stop`
pub fn stops(visit: &Visit, form: Form) -> Result<Response> {
    does(visit, form, |session, prompt, _| Request::Stop { session, prompt })
}

/// `POST /session/ID/back`
pub fn take_back(visit: &Visit, form: Form) -> Result<Response> {
    does(visit, form, |session, prompt, _| Request::TakeBack { session, prompt })
}
