//! The next prompt for a session, and its stop: the forms of the session's page.

use std::collections::BTreeSet;

use axum::extract::{Extension, Path};
use axum::http::HeaderMap;
use axum::response::Response;
use uuid::Uuid;

use crate::gate::Posted;
use crate::send::CHANNEL;
use crate::site::Visit;
use askbox_mailbox::prompts::{self, Place};
use askbox_mailbox::{Caller, Error, Mailbox, Result};
use askbox_sessions::Session;
use askbox_sessions::given::{self, Given};

/// The last prompts for a session, which may have ended. Their ends are seen by a person who opens the page, or has it open on the device
/// that gave them. A page that is open on another device may have nobody in front of it.
pub fn of_session(visit: &Visit, id: &str, session: Option<&Session>, headers: &HeaderMap) -> Vec<Given> {
    let site = &visit.site;
    let (is_visible, is_opened) = (!headers.contains_key("askbox-hidden"), !headers.contains_key("askbox-again"));
    // A watcher of another container is not seen, and sends all the same.
    site.context.reload();
    let config = site.context.config().ok();
    let sees = |prompt: &prompts::Prompt| is_visible && (is_opened || prompt.by == visit.signed_in.device);
    given::of_session(&site.mailbox, config.as_ref(), id, session, sees)
}

/// The sessions with kept prompts that are not among these live ones.
pub fn unsent(mailbox: &Mailbox, live: &[Session]) -> Vec<String> {
    let kept = prompts::all(mailbox).into_iter().filter(|(_, place, _)| *place == Place::Kept).map(|(_, _, prompt)| prompt.session);
    let unsent: BTreeSet<_> = kept.filter(|id| live.iter().all(|session| session.id != *id)).collect();
    unsent.into_iter().collect()
}

type Form = (Path<String>, Extension<Posted>);

/// Does what a form wants with the prompt that it names.
fn does<T>(visit: &Visit, session: &str, posted: &Posted, act: impl FnOnce(&Mailbox, &Caller, Uuid) -> Result<T>) -> Result<(Uuid, T)> {
    let id = posted.get("prompt").and_then(|id| id.parse().ok());
    let id = id.ok_or_else(|| Error::usage("the form names no prompt", "load the page again"))?;
    let done = act(&visit.site.mailbox, &visit.site.caller(&visit.signed_in, CHANNEL)?, id)?;
    visit.site.changes.tell(session);
    Ok((id, done))
}

/// `POST /session/ID`
pub fn send(visit: &Visit, (Path(session), Extension(posted)): Form) -> Result<Response> {
    let words = posted.get("words").unwrap_or_default();
    let config = visit.site.context.config()?;
    let if_ended = posted.get("ended").map(|_| &config);
    let (id, run) = does(visit, &session, &posted, |mailbox, caller, id| given::send(mailbox, caller, id, &session, words, if_ended))?;
    Ok(visit.go_to(&run.map_or_else(|| format!("/session/{session}?sent={id}"), |run| format!("/run/{run}"))))
}

/// `POST /session/ID/stop`
pub fn stops(visit: &Visit, (Path(session), Extension(posted)): Form) -> Result<Response> {
    does(visit, &session, &posted, |mailbox, caller, id| given::stop(mailbox, caller, id, &session))?;
    Ok(visit.go_to(&format!("/session/{session}")))
}

/// `POST /session/ID/back`
pub fn take_back(visit: &Visit, (Path(session), Extension(posted)): Form) -> Result<Response> {
    does(visit, &session, &posted, |mailbox, caller, id| given::take_back(mailbox, caller, id, &session))?;
    Ok(visit.go_to(&format!("/session/{session}")))
}
