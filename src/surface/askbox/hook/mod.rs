//! `askbox hook`: what askbox answers when Claude Code calls it: in a run of askbox before a tool, in a session of a user at its start
//! and with each prompt.
//!
//! | file | idea |
//! |---|---|
//! | `event` | what Claude Code says, and what it reads |
//! | `ask_user_question` | a call of AskUserQuestion as a question, and an answer as the call's input |
//! | `take_question` | the way of such a call: post and defer, then answer |
//! | `take_approval` | the way of a call that a person has to allow |
//! | `post_call` | a call becomes a question, and waits |
//! | `news` | what a user's session is told: what waits, and what happened since it last looked |
//! | `own_commands` | who asks and who may answer, where a session of a user runs askbox's commands or calls the plugin's tools |
//! | `handed_on` | what a session's user chose in AskUserQuestion is the answer to a question that waits |
//! | `looked` | how far a session has looked |

mod ask_user_question;
mod event;
mod handed_on;
mod looked;
mod news;
mod own_commands;
mod post_call;
mod take_approval;
mod take_question;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::config::ToolRule;
use crate::error::{Error, Result};
use crate::mailbox::Mailbox;
use crate::mailbox::documents::fields::tool_call::{ASK_USER, ASK_USER_QUESTION};
use crate::run::attempt::record::Run;
use crate::run::supervise::stop::hooks::HOOK_SECONDS;
use crate::surface::args::askbox_args::Hook;
use crate::surface::askbox::ask_user_call;
use crate::surface::program::{self, Context};
use crate::thread;
use event::{Decision, Event, PreToolUse};

/// Claude Code lets a call through if its hook takes too long, so this program refuses the call before that.
const TIME_LIMIT: Duration = Duration::from_secs(HOOK_SECONDS / 2);

/// The status with which a hook makes Claude Code refuse the call. With any other failure the call goes on to Claude Code's own rules.
const REFUSED: u8 = 2;

/// Runs `askbox hook`; returns the exit status.
pub fn run(rules: &Hook, context: &Context) -> Result<u8> {
    let has_rules = !rules.ask.is_empty() || !rules.refuse.is_empty();
    if program::env("ASKBOX_RUN").is_none() && !has_rules {
        // Whatever is wrong here must not stand in the way of the user's prompt; `askbox doctor` says it.
        match event::read() {
            Ok(Event::Session(session)) if session.is_answer() => {
                if let Some(words) = handed_on::hand_on(&session, context) {
                    event::tell(session.hook_event_name, &words)?;
                }
            }
            Ok(Event::Session(session)) => drop(news::tell(&session)),
            Ok(Event::PreToolUse(event)) => {
                if let Some(decision) = own_commands::decide(&event) {
                    decision.print()?;
                }
            }
            _ => {}
        }
        return Ok(0);
    }
    if program::this_run().is_none() && !has_rules {
        return Ok(0);
    }
    // Two decisions would be no decision: Claude Code's own rules would follow. Whoever takes this first speaks.
    let word = Arc::new(Mutex::new(()));
    let late = Arc::clone(&word);
    let in_time = thread::start(move || {
        std::thread::sleep(TIME_LIMIT);
        let _spoken = late.lock();
        let _ = Decision::Deny("askbox could not take this call in time. Try it once more, or ask with `ask-post`.".into()).print();
        std::process::exit(0);
    });
    let decision = match (in_time, event::read()) {
        (Ok(_), Ok(Event::PreToolUse(event))) => decide(rules, &event),
        (Ok(_), Ok(_)) => None,
        (Err(e), _) | (_, Err(e)) => Some(refusal(&e)),
    };
    // Held until the process ends.
    std::mem::forget(word.lock());
    let printed = decision.map_or(Ok(()), |decision| decision.print());
    printed.map(|()| 0).or_else(|e| {
        program::warn(&program::message(&e));
        Ok(REFUSED)
    })
}

/// What is to become of a call. Whatever goes wrong, no call goes through that a person was to be asked about.
fn decide(rules: &Hook, event: &PreToolUse) -> Option<Decision> {
    let names = |rule: &&ToolRule| rule.names(&event.tool_name, &event.tool_input);
    if let Some(rule) = rules.refuse.iter().find(names) {
        return Some(Decision::Deny(format!(
            "The operator refuses this call: it matches `{rule}` in [approvals] refuse. Do not try to reach the same in another way: go on without it, or end your turn and say what is missing."
        )));
    }
    let named = rules.ask.iter().find(names);
    let policy = rules.policy();
    let decision = in_run(event).and_then(|found| {
        let Some((mailbox, run)) = found else { return Ok(None) };
        if ASK_USER.contains(&event.tool_name.as_str()) && asks_for_itself(&run, event)? {
            return Ok(None);
        }
        if event.tool_name == ASK_USER_QUESTION || ASK_USER.contains(&event.tool_name.as_str()) {
            return take_question::decide(&mailbox, &policy, &run, event).map(Some);
        }
        take_approval::decide(&mailbox, &policy, &run, event, named.is_some())
    });
    match (decision, named) {
        (Ok(None), Some(rule)) => Some(Decision::Deny(format!(
            "A person has to allow this call first (`{rule}` in [approvals] ask), and nobody can be asked here: this is no live run of askbox."
        ))),
        (Ok(decision), _) => decision,
        (Err(e), _) => Some(refusal(&e)),
    }
}

/// Whether a subagent asks with `ask_user` for a workflow of its own. Its call is not deferred, and goes on to the server, which waits for a
/// while.
fn asks_for_itself(run: &Run, event: &PreToolUse) -> Result<bool> {
    let named = ask_user_call::named_workflow(&event.tool_input)?;
    Ok(event.agent_id.is_some() && named.is_some_and(|named| named != run.workflow_id))
}

/// The run of askbox in which the call is made, if there is one.
fn in_run(event: &PreToolUse) -> Result<Option<(Mailbox, Run)>> {
    let (Some(asked_in), Some(dir)) = (program::this_run(), program::env("ASKBOX_DIR")) else { return Ok(None) };
    let mailbox = Mailbox::open(dir)?;
    Ok(take_question::live_run(&mailbox, &asked_in, event)?.map(|run| (mailbox, run)))
}

/// The call must not go through: nobody has answered it.
fn refusal(error: &Error) -> Decision {
    Decision::Deny(format!("askbox could not take this question: {}. Hint: {}", program::message(error), error.hint()))
}
