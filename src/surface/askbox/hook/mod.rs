//! `askbox hook`: what askbox answers when Claude Code calls it: in a run of askbox before a tool, in a session of a user at its start
//! and with each prompt.
//!
//! | file | idea |
//! |---|---|
//! | `event` | what Claude Code says, and what it reads |
//! | `ask_user_question` | a call of AskUserQuestion as a question, and an answer as the call's input |
//! | `take_question` | the way of such a call: post and defer, then answer |
//! | `news` | what a user's session is told: what waits, and what happened since it last looked |
//! | `looked` | how far a session has looked |

mod ask_user_question;
mod event;
mod looked;
mod news;
mod take_question;

use std::time::Duration;

use crate::error::Result;
use crate::mailbox::Mailbox;
use crate::mailbox::documents::tool_call::ASK_USER_QUESTION;
use crate::run::supervise::stop::hooks::HOOK_SECONDS;
use crate::surface::program;
use crate::thread;
use event::{Decision, Event, PreToolUse};

/// Claude Code lets a call through if its hook takes too long, so this program refuses the call before that.
const TIME_LIMIT: Duration = Duration::from_secs(HOOK_SECONDS / 2);

/// Runs `askbox hook`; returns the exit status.
pub fn run() -> Result<u8> {
    if program::env("ASKBOX_RUN").is_none() {
        // Whatever is wrong here must not stand in the way of the user's prompt; `askbox doctor` says it.
        if let Ok(Event::Session(session)) = event::read() {
            let _ = news::tell(&session);
        }
        return Ok(0);
    }
    let Some(asked_in) = program::this_run() else { return Ok(0) };
    let Some(dir) = program::env("ASKBOX_DIR") else { return Ok(0) };
    thread::start(|| {
        std::thread::sleep(TIME_LIMIT);
        let _ = Decision::Deny("askbox could not take this question in time. Ask it with `ask-post`.".into()).print();
        std::process::exit(0);
    })?;
    let decision = match event::read() {
        Ok(Event::PreToolUse(event)) if event.tool_name == ASK_USER_QUESTION => {
            Mailbox::open(&dir).and_then(|mailbox| decide(&mailbox, &asked_in, &event)).unwrap_or_else(|e| Some(refusal(&e)))
        }
        Ok(_) => None,
        Err(e) => Some(refusal(&e)),
    };
    decision.map_or(Ok(()), |decision| decision.print()).map(|()| 0)
}

fn decide(mailbox: &Mailbox, asked_in: &crate::mailbox::documents::asked_in::AskedIn, event: &PreToolUse) -> Result<Option<Decision>> {
    let Some(run) = take_question::live_run(mailbox, asked_in, event)? else { return Ok(None) };
    take_question::decide(mailbox, &run, event).map(Some)
}

/// The call must not go through: nobody is there to answer it.
fn refusal(error: &crate::error::Error) -> Decision {
    Decision::Deny(format!("askbox could not take this question: {}. Hint: {}", program::message(error), error.hint()))
}
