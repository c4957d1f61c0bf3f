//! `askbox hook`: the program that Claude Code calls as a hook. Claude Code calls it before each tool in a run of askbox. It also calls it
//! at the start of a user's session and with each prompt.
//!
//! | file | idea |
//! |---|---|
//! | `event` | the events that Claude Code sends, and the replies that it reads |
//! | `dialog` | the dialog or the form of an attended session, which is a question of the mailbox |
//! | `take_call` | a call of a run that a person has to answer or to allow: it is posted and deferred, then answered |
//! | `at_terminal` | the hooks of Kimi and Gemini: a dialog waits at a terminal |
//! | `news` | the news for a user's session: waiting questions, events since it last looked, and how far it has looked |
//! | `own_commands` | who asks and who may answer, if a user's session runs askbox's commands or calls the plugin's tools |
//! | `handed_on` | hands on the choice of a session's user in AskUserQuestion, as the answer to a waiting question, and tells what ran if its user changed a call |

pub(in crate::commands) mod at_terminal;
mod dialog;
mod event;
#[doc(hidden)]
pub mod fuzzed;
mod handed_on;
mod news;
mod own_commands;
mod take_call;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use askbox_cli::args::askbox_args::Hook;
use askbox_cli::ask_user_call;
use askbox_cli::program::{self, Context};
use askbox_config::ToolRule;
use askbox_mailbox::documents::fields::tool_call::{ASK_USER, ASK_USER_QUESTION};
use askbox_mailbox::{Error, Mailbox, Result, prompts, thread};
use askbox_run::approval::permit;
use askbox_run::asking::{orphans, receipt};
use askbox_run::attempt::record::Run;
use askbox_run::supervise::hooks::HOOK_SECONDS;
use event::{Event, HookReply, PreToolUse};

/// Claude Code before 2.1.295 lets a call through if its hook takes too long, so this program refuses the call before that.
const TIME_LIMIT: Duration = Duration::from_secs(HOOK_SECONDS / 2);

/// The exit status with which a hook of `asyncRewake` wakes its session: the model reads what stands on standard error.
const WAKES: u8 = 2;

/// The exit status that makes every version of Claude Code refuse the call.
const REFUSED: u8 = 2;

/// Runs `askbox hook`; returns the exit status.
pub fn run(rules: &Hook, context: &Context) -> Result<u8> {
    if let Some(program) = rules.from {
        at_terminal::take(program, context);
        return Ok(0);
    }
    let mailbox = || Mailbox::open(Mailbox::locate(None)?);
    // The process that waits until the session has taken the answer to its dialog.
    if let Some(round) = &rules.receipt {
        return receipt::wait(&mailbox()?, round).map(|()| 0);
    }
    if let (Some(workflow), Some(how)) = (&rules.left, &rules.ended) {
        return orphans::end_after_hook(&mailbox()?, workflow, how).map(|()| 0);
    }
    let has_rules = !rules.ask.is_empty() || !rules.refuse.is_empty();
    if program::env("ASKBOX_RUN").is_none() && !has_rules {
        // No problem here may stop the user's prompt. `askbox doctor` reports the problem.
        match event::read() {
            Ok(Event::Session(session)) if session.is_answer() || session.is_changeable_call() => {
                let told = if session.is_answer() { handed_on::hand_on } else { handed_on::tell };
                if let Some(words) = told(&session, context) {
                    event::tell(session.hook_event_name, Some(&words), None)?;
                }
            }
            Ok(Event::Session(session)) => drop(news::tell(&session, dialog::is_wanted(context))),
            Ok(Event::FileChanged(changed)) if dialog::is_wanted(context) => {
                if let Ok(Some(words)) = news::woken(&changed.session_id) {
                    program::say(&words);
                    return Ok(WAKES);
                }
            }
            Ok(Event::PermissionRequest(request)) => dialog::hold(&request, context),
            Ok(Event::Elicitation(asked)) => dialog::hold_form(&asked, context),
            Ok(Event::PreToolUse(event)) => {
                if let Some(decision) = stop(&event).or_else(|| own_commands::decide(&event)) {
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
    // Only one of the two threads may print its decision: after two decisions, Claude Code's own rules would decide. The thread that locks
    // this first prints.
    let word = Arc::new(Mutex::new(()));
    let late = Arc::clone(&word);
    let in_time = thread::start(move || {
        std::thread::sleep(TIME_LIMIT);
        let _spoken = late.lock();
        let _ = HookReply::deny("askbox could not take this call in time. Try it once more, or ask with `ask-post`.").print();
        std::process::exit(0);
    });
    let decision = match (in_time, event::read()) {
        (Ok(_), Ok(Event::PreToolUse(event))) => decide(rules, &event),
        (Ok(_), Ok(_)) => None,
        (Err(e), _) | (_, Err(e)) => Some(refusal(&e)),
    };
    // The lock is held until the process ends.
    std::mem::forget(word.lock());
    let printed = decision.map_or(Ok(()), |decision| decision.print());
    printed.map(|()| 0).or_else(|e| {
        program::warn(&program::message(&e));
        Ok(REFUSED)
    })
}

/// The end of the turn, if a person has stopped it. If the mailbox cannot be used, it goes on: the page says so.
fn stop(event: &PreToolUse) -> Option<HookReply> {
    let mailbox = Mailbox::locate(None).and_then(Mailbox::open).ok()?;
    let turn = event.prompt_id.as_str().unwrap_or_default();
    prompts::stops_call(&mailbox, &event.session_id, turn).is_ok_and(|is_stopped| is_stopped).then_some(HookReply::Stop)
}

/// Decides about a call. If anything fails, a call that a person was to be asked about is refused.
fn decide(rules: &Hook, event: &PreToolUse) -> Option<HookReply> {
    let names = |rule: &&ToolRule| rule.names(&event.tool_name, &event.tool_input);
    if let Some(rule) = rules.refuse.iter().find(names) {
        return Some(HookReply::deny(format!(
            "The operator refuses this call: it matches `{rule}` in [approvals] refuse. Do not try to reach the same in another way: go on without it, or end your turn and say what is missing."
        )));
    }
    let named = rules.ask.iter().find(names);
    let operators = permit::Rules { policy: rules.policy(), refuse: &rules.refuse, takes_changes: true };
    let decision = in_run(event).and_then(|found| {
        let Some((mailbox, run)) = found else { return Ok(None) };
        if ASK_USER.contains(&event.tool_name.as_str()) && asks_for_itself(&run, event)? {
            return Ok(None);
        }
        if event.tool_name == ASK_USER_QUESTION || ASK_USER.contains(&event.tool_name.as_str()) {
            return take_call::question(&mailbox, operators, &run, event).map(Some);
        }
        take_call::approval(&mailbox, operators, &run, event, named.is_some())
    });
    match (decision, named) {
        (Ok(None), Some(rule)) => Some(HookReply::deny(format!(
            "A person has to allow this call first (`{rule}` in [approvals] ask), and nobody can be asked here: this is no live run of askbox."
        ))),
        (Ok(decision), _) => decision,
        (Err(e), _) => Some(refusal(&e)),
    }
}

/// True if a subagent asks with `ask_user` for a workflow of its own. Its call is not deferred. It goes on to the server, which waits for a
/// while.
fn asks_for_itself(run: &Run, event: &PreToolUse) -> Result<bool> {
    let named = ask_user_call::named_workflow(&event.tool_input)?;
    Ok(event.agent_id.is_some() && named.is_some_and(|named| named != run.workflow_id))
}

/// The run of askbox that the call is made in, if there is one.
fn in_run(event: &PreToolUse) -> Result<Option<(Mailbox, Run)>> {
    let (Some(asked_in), Some(dir)) = (program::this_run(), program::env("ASKBOX_DIR")) else { return Ok(None) };
    let mailbox = Mailbox::open(dir)?;
    Ok(take_call::live_run(&mailbox, &asked_in, event)?.map(|run| (mailbox, run)))
}

/// Refuses the call, because nobody has answered it.
fn refusal(error: &Error) -> HookReply {
    HookReply::deny(format!("askbox could not take this question: {}. Hint: {}", program::message(error), error.hint()))
}
