//! Sends the next prompts of people to sessions of opencode, and stops these, by askbox's plugin in its process. The words bear our id in
//! their metadata. An id of our own for their message could sort before another one, and such words are never run (measured with 1.18.33).

use std::collections::BTreeSet;
use std::time::Duration;

use chrono::TimeDelta;
use serde_json::json;
use uuid::Uuid;

use crate::codex::Doing;
use crate::opencode::{self, OpencodeSession};
use crate::prompting::{ANOTHERS, FRESH, LATER, LOOK, LOOKED_FOR, SOON, is_over, is_within};
use askbox_agent::conversation::opencode::{OURS, goes_on_with, messages, reached};
use askbox_mailbox::prompts::{self, Found, Place, Prompt, Reached};
use askbox_mailbox::{Mailbox, Result, text, time};
use askbox_run::log;

/// Words that are not among the messages after this time have not arrived. Under load, they took 6 s.
const ARRIVES_WITHIN: TimeDelta = TimeDelta::seconds(15);
/// Words that the model of an idle session has not begun with after this time were stopped.
const BEGINS_WITHIN: TimeDelta = TimeDelta::seconds(5);
/// A stop that is older stops nothing: its turn may be over.
const LATE: TimeDelta = TimeDelta::seconds(15);
/// The most messages of one look.
const MOST: usize = 20;

const UNREAD: &str = "its turn was stopped before the model read it: send it again";

/// Looks at the open prompts for sessions of opencode, and sends those whose sessions are idle. Returns the pause until the next look.
pub(super) fn work(mailbox: &Mailbox, open: Vec<Found>) -> Duration {
    let (kept, sent): (Vec<_>, Vec<_>) = open.into_iter().partition(|(_, place, _)| *place == Place::Kept);
    let live = opencode::sessions();
    let looked: Vec<_> = sent.into_iter().map(|(id, _, prompt)| (id, look(&live, id, &prompt), prompt)).collect();
    // A step in the middle of a turn is complete too, so the turn is over only if the session rests after that.
    let live = if looked.is_empty() { live } else { opencode::sessions() };
    let (mut at_work, mut is_fresh, mut is_live) = (BTreeSet::new(), false, !looked.is_empty());
    for (id, (now, message), mut prompt) in looked {
        let session = of(&live, &prompt.session);
        let rests = session.is_none_or(|session| session.doing() == Doing::Rests);
        let (now, why) = match now {
            Reached::Answered if !rests => (Reached::TakenUp, String::new()),
            // A process that is busy may be silent for a while.
            Reached::TakenUp if session.is_none() && !is_within(&prompt, LOOKED_FOR) => {
                (Reached::Answered, "opencode has ended".to_owned())
            }
            Reached::Given if rests && !is_within(&prompt, BEGINS_WITHIN) => (Reached::NotArrived, UNREAD.to_owned()),
            Reached::Nothing if !is_within(&prompt, ARRIVES_WITHIN) => (Reached::NotArrived, LOOK.to_owned()),
            now if now == prompt.reached => (now, prompt.why.clone()),
            now => (now, String::new()),
        };
        prompt.turn = message;
        log::ok(prompts::reach(mailbox, id, &mut prompt, now, &why));
        is_fresh |= is_within(&prompt, FRESH);
        if !is_over(&prompt) && now != Reached::NotArrived {
            at_work.insert(prompt.session);
        }
    }
    for (id, _, prompt) in kept {
        let session = of(&live, &prompt.session);
        is_live |= session.is_some();
        let done = match session {
            _ if prompt.stops => stop(mailbox, id, prompt, session),
            // One prompt at a time: the rest can still be taken back.
            Some(session) if session.doing() == Doing::Rests && at_work.insert(prompt.session.clone()) => {
                send(mailbox, id, prompt, session)
            }
            _ => continue,
        };
        is_fresh = true;
        log::ok(done);
    }
    match is_live {
        _ if is_fresh => SOON,
        true => ANOTHERS,
        false => LATER,
    }
}

fn of<'a>(live: &'a [OpencodeSession], id: &str) -> Option<&'a OpencodeSession> {
    live.iter().find(|session| session.id == id)
}

/// How far a prompt has come, and the id of its message.
fn look(live: &[OpencodeSession], id: Uuid, prompt: &Prompt) -> (Reached, String) {
    let told = of(live, &prompt.session).and_then(|session| session.messages(MOST).ok()).unwrap_or_default();
    let (now, message) = reached(&messages(told), &id.to_string(), &prompt.turn);
    (now.max(prompt.reached), message)
}

/// Sends a kept prompt. The name of its file says so before the first byte leaves.
fn send(mailbox: &Mailbox, id: Uuid, mut prompt: Prompt, session: &OpencodeSession) -> Result<()> {
    let Ok(told) = session.messages(MOST) else { return Ok(()) };
    let told = messages(told);
    let Some((mode, model)) = goes_on_with(&told) else { return Ok(()) };
    let words = json!({ "type": "text", "text": prompt.words, "metadata": { OURS: id } });
    if !prompts::begin(mailbox, id, &mut prompt)? {
        return Ok(());
    }
    let sent = session.call("post", "prompt_async", json!({ "parts": [words], "agent": mode, "model": model }));
    sent.map(drop).or_else(|e| prompts::reach(mailbox, id, &mut prompt, Reached::NotArrived, &text::excerpt(&e.to_string(), 300)))
}

/// Stops the turn at work. The plugin then takes away a dialog of it.
fn stop(mailbox: &Mailbox, id: Uuid, mut prompt: Prompt, session: Option<&OpencodeSession>) -> Result<()> {
    let is_new = time::now().signed_duration_since(prompt.at) < LATE;
    let Some(session) = session.filter(|session| is_new && session.doing() != Doing::Rests) else {
        return prompts::end_stop(mailbox, id, prompt, Some(prompts::TOO_LATE)).map(drop);
    };
    if !prompts::begin(mailbox, id, &mut prompt)? {
        return Ok(());
    }
    let (reached, why) = match session.call("post", "abort", json!({})) {
        Ok(_) => (Reached::Answered, String::new()),
        Err(e) => (Reached::NotArrived, text::excerpt(&e.to_string(), 300)),
    };
    prompts::reach(mailbox, id, &mut prompt, reached, &why)
}
