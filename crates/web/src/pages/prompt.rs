//! The next prompt for a session, and its stop: the forms of the session's page.

use std::collections::BTreeSet;
use std::time::Duration;

use axum::extract::{Extension, Path};
use axum::http::HeaderMap;
use axum::response::Response;
use uuid::Uuid;

use crate::gate::Posted;
use crate::send::CHANNEL;
use crate::site::Visit;
use askbox_mailbox::prompts::{self, Place, Prompt, Reached};
use askbox_mailbox::{Error, Mailbox, Result, audit, text, time};
use askbox_run::log;
use askbox_run::supervise::stop::{self, Stop};
use askbox_watch::prompting;
use askbox_watch::sessions::{self, Session};

/// The number of prompts that a page shows.
const SHOWN: usize = 6;
/// How long a prompt is new. Then its draft is not needed any more, and the next draft may have begun.
const NEW: Duration = Duration::from_secs(5);

/// A prompt as its session's page shows it.
pub struct Shown {
    pub id: Uuid,
    pub words: String,
    /// Its state, and the CSS class of the mark.
    pub state: (&'static str, &'static str),
    pub why: String,
    pub is_kept: bool,
    /// True if it was given just now.
    pub is_new: bool,
}

/// The last prompts for a session, which may have ended. Their ends are seen by a person who opens the page, or has it open on the device
/// that gave them. A page that is open on another device may have nobody in front of it.
pub fn of_session(visit: &Visit, id: &str, session: Option<&Session>, headers: &HeaderMap) -> Vec<Shown> {
    let site = &visit.site;
    let (is_visible, is_opened) = (!headers.contains_key("askbox-hidden"), !headers.contains_key("askbox-again"));
    let mut all: Vec<_> = prompts::all(&site.mailbox).into_iter().filter(|(_, _, prompt)| prompt.session == id).collect();
    all.drain(..all.len().saturating_sub(SHOWN));
    // A watcher of another container is not seen, and sends all the same.
    site.context.reload();
    let config = site.context.config().ok();
    let kept = session.map(|session| sessions::unsent_because(session.agent, &site.mailbox, config.as_ref()));
    let shown = |(id, place, mut prompt): (Uuid, Place, Prompt)| {
        if place == Place::Sent && is_visible && (is_opened || prompt.by == visit.signed_in.device) {
            log::ok(prompts::see(&site.mailbox, id, &prompt));
        }
        if place == Place::Kept {
            prompt.why = kept.clone().flatten().unwrap_or_default();
        }
        let state = match (place, prompt.reached) {
            (Place::Kept, _) if kept.is_none() => ("not sent: the session has ended or begun anew", "warn"),
            (Place::Kept, _) if !prompt.why.is_empty() => ("kept: nobody sends it", "warn"),
            (Place::Kept, _) if prompt.stops => ("on its way", "running"),
            (Place::Kept, _) => ("kept until the session is idle", "pending"),
            (Place::Back, _) => ("taken back", ""),
            (Place::Sent, Reached::Nothing) => ("on its way", "running"),
            (Place::Sent, Reached::Answered) if prompt.stops => ("stopped", "delivered"),
            (Place::Sent, Reached::NotArrived) if prompt.stops => ("not stopped", "warn"),
            (Place::Sent, Reached::NotArrived) => ("not arrived", "warn"),
            (Place::Sent, Reached::Refused) => ("refused", "warn"),
            (Place::Sent, Reached::Held) => ("held at its terminal", "warn"),
            (Place::Sent, Reached::Given) => ("given", "running"),
            (Place::Sent, Reached::TakenUp) => ("taken up", "running"),
            (Place::Sent, Reached::Answered) => ("answered", "delivered"),
        };
        let words = if prompt.stops { "Stop".to_owned() } else { text::excerpt(&prompt.words, 300) };
        let why = text::excerpt(&prompt.why, 300);
        Shown { id, words, state, why, is_kept: place == Place::Kept, is_new: time::since(prompt.at) < NEW }
    };
    all.into_iter().map(shown).collect()
}

/// The sessions with kept prompts that are not among these live ones.
pub fn unsent(mailbox: &Mailbox, live: &[Session]) -> Vec<String> {
    let kept = prompts::all(mailbox).into_iter().filter(|(_, place, _)| *place == Place::Kept).map(|(_, _, prompt)| prompt.session);
    let unsent: BTreeSet<_> = kept.filter(|id| live.iter().all(|session| session.id != *id)).collect();
    unsent.into_iter().collect()
}

fn id(posted: &Posted) -> Result<Uuid> {
    let id = posted.get("prompt").and_then(|id| id.parse().ok());
    id.ok_or_else(|| Error::usage("the form names no prompt", "load the page again"))
}

/// `POST /session/ID`
pub fn send(visit: &Visit, (Path(session), Extension(posted)): (Path<String>, Extension<Posted>)) -> Result<Response> {
    let site = &visit.site;
    let caller = site.caller(&visit.signed_in, CHANNEL)?;
    let (id, words) = (id(&posted)?, text::printable(posted.get("words").unwrap_or_default().trim()));
    if text::is_blank(&words) || words.len() > prompts::LONGEST {
        return Err(Error::usage("the prompt is empty, or longer than 20,000 bytes", "go back, and write it shorter"));
    }
    if prompting::claims_a_mode(&words) {
        return Err(Error::usage(
            "the prompt contains `from-mode`, by which sessions attest their permissions",
            "go back, and leave it out",
        ));
    }
    let found = sessions::of_id(&site.mailbox, &session)?.filter(|session| session.offers.words.is_some());
    let ended = || Error::conflict("the session has ended or begun anew", "nothing was sent: look at the list of sessions");
    let found = found.ok_or_else(ended)?;
    let title = found.title.unwrap_or_default();
    let prompt = Prompt { title, ..Prompt::new(found.agent, &session, words, &visit.signed_in.device) };
    prompts::keep(&site.mailbox, &caller, id, &prompt)?;
    let why = format!("prompt {id} for session {session}");
    audit::record(&site.mailbox, audit::Entry::about("prompt_kept").by(&visit.signed_in.device).why(why));
    site.changes.tell(&session);
    Ok(visit.go_to(&format!("/session/{session}?sent={id}")))
}

/// `POST /session/ID/stop`
pub fn stops(visit: &Visit, (Path(session), Extension(posted)): (Path<String>, Extension<Posted>)) -> Result<Response> {
    let (site, id) = (&visit.site, id(&posted)?);
    let caller = site.caller(&visit.signed_in, CHANNEL)?;
    let found = sessions::of_id(&site.mailbox, &session)?.filter(|session| session.offers.stop.is_some());
    let rests = || Error::conflict("the session has nothing to stop", "look at the session");
    let (found, by) = (found.ok_or_else(rests)?, visit.signed_in.device.clone());
    if let Some(workflow) = found.run {
        stop::send(&site.mailbox, &workflow, &Stop { at: time::now(), by, grace: None, report: false, now: false, by_limit: false })?;
        return Ok(visit.go_to(&format!("/session/{session}")));
    }
    let turn = sessions::file(&session)?.and_then(|(agent, file)| sessions::read(agent, &file).ok()?.turn).unwrap_or_default();
    let prompt = Prompt { stops: true, turn, ..Prompt::new(found.agent, &session, String::new(), &by) };
    prompts::keep(&site.mailbox, &caller, id, &prompt)?;
    let why = format!("stop {id} for session {session}");
    audit::record(&site.mailbox, audit::Entry::about("stop_kept").by(&visit.signed_in.device).why(why));
    site.changes.tell(&session);
    Ok(visit.go_to(&format!("/session/{session}")))
}

/// `POST /session/ID/back`
pub fn take_back(visit: &Visit, (Path(session), Extension(posted)): (Path<String>, Extension<Posted>)) -> Result<Response> {
    let (site, id) = (&visit.site, id(&posted)?);
    if !prompts::take_back(&site.mailbox, &site.caller(&visit.signed_in, CHANNEL)?, id)? {
        return Err(Error::conflict("the prompt was sent before, or taken back", "look at the session"));
    }
    let why = format!("prompt {id} for session {session}");
    audit::record(&site.mailbox, audit::Entry::about("prompt_taken_back").by(&visit.signed_in.device).why(why));
    site.changes.tell(&session);
    Ok(visit.go_to(&format!("/session/{session}")))
}
