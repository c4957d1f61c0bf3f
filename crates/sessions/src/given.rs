//! The prompts and stops that people give a session from elsewhere: what they see of them, and what they may do. The page and the inbox are
//! the same here.

use std::borrow::Cow;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::list;
use crate::session::Session;
use askbox_config::{Config, RunnerKind};
use askbox_mailbox::prompts::{self, Place, Prompt, Reached};
use askbox_mailbox::{Caller, Error, Mailbox, Result, WorkflowId, audit, text, time};
use askbox_run::supervise::stop::{self, Stop};
use askbox_run::task::{self, ForkOf, Task};
use askbox_run::{OwnState, log, outcome};

/// The number of prompts that are shown.
const SHOWN: usize = 6;
/// How long a prompt is new. Then its draft is not needed any more, and the next draft may have begun.
const NEW: Duration = Duration::from_secs(5);

/// A prompt as people see it.
#[derive(Debug, Serialize, Deserialize)]
pub struct Given {
    /// Its id.
    pub id: Uuid,
    /// Its words, or that it is a stop.
    pub words: String,
    /// Its state, and the kind of its mark.
    pub state: (Cow<'static, str>, Cow<'static, str>),
    /// Why it has come no further.
    pub why: String,
    /// True if it can be taken back.
    pub is_kept: bool,
    /// True if it was given just now.
    pub is_new: bool,
}

/// The last prompts for a session, which may have ended. `sees` returns true if a person sees the end of this prompt now.
pub fn of_session(
    mailbox: &Mailbox,
    config: Option<&Config>,
    id: &str,
    session: Option<&Session>,
    sees: impl Fn(&Prompt) -> bool,
) -> Vec<Given> {
    let mut all: Vec<_> = prompts::all(mailbox).into_iter().filter(|(_, _, prompt)| prompt.session == id).collect();
    all.drain(..all.len().saturating_sub(SHOWN));
    let kept = session.map(|session| list::unsent_because(session.agent, mailbox, config));
    let shown = |(id, place, mut prompt): (Uuid, Place, Prompt)| {
        if place == Place::Sent && sees(&prompt) {
            log::ok(prompts::see(mailbox, id, &prompt));
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
        Given {
            id,
            words,
            state: (state.0.into(), state.1.into()),
            why,
            is_kept: place == Place::Kept,
            is_new: time::since(prompt.at) < NEW,
        }
    };
    all.into_iter().map(shown).collect()
}

/// Keeps a prompt for a session until it is idle. If the person was told that it has ended, it goes on in a run of askbox by the configuration
/// `if_ended`, whose workflow is returned.
///
/// # Errors
/// [`Error::Usage`] if the words cannot be sent. [`Error::Conflict`] if the session takes none, or if this caller may not send any.
pub fn send(mailbox: &Mailbox, caller: &Caller, id: Uuid, to: &str, words: &str, if_ended: Option<&Config>) -> Result<Option<WorkflowId>> {
    let words = text::printable(words.trim());
    if text::is_blank(&words) || words.len() > prompts::LONGEST {
        return Err(Error::usage("the prompt is empty, or longer than 20,000 bytes", "go back, and write it shorter"));
    }
    // A session of Claude Code alone may attest its permissions.
    if words.to_ascii_lowercase().contains("from-mode") {
        let why = "the prompt contains `from-mode`, by which sessions attest their permissions";
        return Err(Error::usage(why, "go back, and leave it out"));
    }
    let found = list::of_id(mailbox, to)?;
    if let (None, Some(config)) = (&found, if_ended) {
        return go_on(mailbox, config, caller, id, to, words).map(Some);
    }
    let found = found.filter(|session| session.offers.words.is_some()).ok_or_else(ended)?;
    let title = found.title.unwrap_or_default();
    let prompt = Prompt { title, ..Prompt::new(found.agent, to, words, caller.by()) };
    prompts::keep(mailbox, caller, id, &prompt)?;
    note(mailbox, caller, "prompt_kept", format!("prompt {id} for session {to}"));
    Ok(None)
}

/// Starts a run in a fork of a session, which stays as it is, whoever goes on with it. The same prompt again starts nothing. A watcher launches
/// the run.
fn go_on(mailbox: &Mailbox, config: &Config, caller: &Caller, id: Uuid, session: &str, words: String) -> Result<WorkflowId> {
    caller.may_prompt()?;
    let said = list::said(session, None)?.filter(|said| list::offers(None, Some(said)).words.is_some()).ok_or_else(ended)?;
    let workflow: WorkflowId = format!("goes-on-{}", &id.simple().to_string()[..12]).parse()?;
    if config.runner_of(&workflow)?.1.kind != RunnerKind::Claude {
        return Err(Error::conflict("the sessions of Claude Code go on by a runner of its kind alone", "claude --resume at a terminal"));
    }
    if outcome::own_state(mailbox, &workflow)? == OwnState::Unknown {
        let fork = Some(ForkOf { session: session.parse()?, of: None });
        task::begin(mailbox, config, Task { cwd: said.conversation.cwd, fork, ..Task::new(workflow.clone(), words) })?;
        note(mailbox, caller, "session_continued", format!("prompt {id} for session {session} is the task of {workflow}"));
    }
    Ok(workflow)
}

fn ended() -> Error {
    Error::conflict("the session has ended or begun anew", "nothing was sent: look at the list of sessions")
}

/// Stops the turn of a session, or keeps the stop until its sender takes it.
///
/// # Errors
/// [`Error::Conflict`] if it has nothing to stop, or if this caller may not stop it.
pub fn stop(mailbox: &Mailbox, caller: &Caller, id: Uuid, session: &str) -> Result<()> {
    let found = list::of_id(mailbox, session)?.filter(|session| session.offers.stop.is_some());
    let found = found.ok_or_else(|| Error::conflict("the session has nothing to stop", "look at the session"))?;
    if let Some(workflow) = found.run {
        let by = caller.by().to_owned();
        let stop = Stop { at: time::now(), by, grace: None, report: false, now: false, by_limit: false };
        return stop::send(mailbox, &workflow, &stop).map(drop);
    }
    let turn = list::said(session, None)?.and_then(|said| said.conversation.turn).unwrap_or_default();
    let prompt = Prompt { stops: true, turn, ..Prompt::new(found.agent, session, String::new(), caller.by()) };
    prompts::keep(mailbox, caller, id, &prompt)?;
    note(mailbox, caller, "stop_kept", format!("stop {id} for session {session}"));
    Ok(())
}

/// Takes a kept prompt back.
///
/// # Errors
/// [`Error::Conflict`] if it was sent or taken back before, or if this caller may not send prompts.
pub fn take_back(mailbox: &Mailbox, caller: &Caller, id: Uuid, session: &str) -> Result<()> {
    if !prompts::take_back(mailbox, caller, id)? {
        return Err(Error::conflict("the prompt was sent before, or taken back", "look at the session"));
    }
    note(mailbox, caller, "prompt_taken_back", format!("prompt {id} for session {session}"));
    Ok(())
}

fn note(mailbox: &Mailbox, caller: &Caller, event: &'static str, why: String) {
    audit::record(mailbox, audit::Entry::about(event).by(caller.by()).why(why));
}
