//! The next prompt for a session: the form of the session's page.

use std::collections::BTreeSet;
use std::time::Duration;

use axum::extract::{Extension, Path};
use axum::response::Response;
use uuid::Uuid;

use crate::gate::Posted;
use crate::send::CHANNEL;
use crate::site::Visit;
use askbox_agent::claude;
use askbox_agent::sessions::claude::{self as live, Session};
use askbox_mailbox::prompts::{self, Place, Prompt, Reached};
use askbox_mailbox::{Error, Mailbox, Result, audit, text, time};
use askbox_run::story::cause;
use askbox_watch::prompting;

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

/// The last prompts for a session. `is_live` is false if no process works on it.
pub fn of_session(mailbox: &Mailbox, session: &str, is_live: bool) -> Vec<Shown> {
    let mut all: Vec<_> = prompts::all(mailbox).into_iter().filter(|(_, _, prompt)| prompt.session == session).collect();
    all.drain(..all.len().saturating_sub(SHOWN));
    // A watcher of another container is not seen, and sends all the same.
    let is_sent = is_live && cause::no_watcher(mailbox).is_none();
    let shown = |(id, place, prompt): (Uuid, Place, Prompt)| {
        let state = match (place, prompt.reached) {
            (Place::Kept, _) if is_sent => ("kept until the session is idle", "pending"),
            (Place::Kept, _) if is_live => ("kept: no watcher sends it", "warn"),
            (Place::Kept, _) => ("not sent: the session has ended or begun anew", "warn"),
            (Place::Back, _) => ("taken back", ""),
            (Place::Sent, Reached::Nothing) => ("on its way", "running"),
            (Place::Sent, Reached::NotArrived) => ("not arrived", "warn"),
            (Place::Sent, Reached::Refused) => ("refused", "warn"),
            (Place::Sent, Reached::Held) => ("held at its terminal", "warn"),
            (Place::Sent, Reached::Given) => ("given", "running"),
            (Place::Sent, Reached::TakenUp) => ("taken up", "running"),
            (Place::Sent, Reached::Answered) => ("answered", "delivered"),
        };
        let (words, why) = (text::excerpt(&prompt.words, 300), text::excerpt(&prompt.why, 300));
        Shown { id, words, state, why, is_kept: place == Place::Kept, is_new: time::since(prompt.at) < NEW }
    };
    all.into_iter().map(shown).collect()
}

/// The sessions with kept prompts that are not among these live ones.
pub fn unsent(mailbox: &Mailbox, live: &[Session]) -> Vec<String> {
    let kept = prompts::all(mailbox).into_iter().filter(|(_, place, _)| *place == Place::Kept).map(|(_, _, prompt)| prompt.session);
    let unsent: BTreeSet<_> = kept.filter(|id| live.iter().all(|session| session.session_id != *id)).collect();
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
    let folder = claude::config_dir(|name| std::env::var_os(name)).unwrap_or_default();
    if live::of_id(&folder, &session).is_none_or(|session| !prompting::takes_words(&session)) {
        return Err(Error::conflict("the session has ended or begun anew", "nothing was sent: look at the list of sessions"));
    }
    prompts::keep(&site.mailbox, &caller, id, &Prompt::new(&session, words, &visit.signed_in.device))?;
    let why = format!("prompt {id} for session {session}");
    audit::record(&site.mailbox, audit::Entry::about("prompt_kept").by(&visit.signed_in.device).why(why));
    site.changes.tell(&session);
    Ok(visit.go_to(&format!("/session/{session}?sent={id}")))
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
