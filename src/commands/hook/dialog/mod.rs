//! The dialog of an attended session as a question of the mailbox. The hook runs while the dialog is open at the terminal, and the first
//! answer counts.
//!
//! | file | idea |
//! |---|---|
//! | `signs` | the signs that the dialog is over |
//! | `guard` | the process that goes on after a hook that is killed |
//! | `keys` | when a person last typed at the session's terminal |
//! | `question` | the question that the dialog becomes |
//! | `reply` | the answer as the decision that Claude Code reads |
//!
//! 1. *Grace*: the person at the terminal has the dialog for themselves. The call's id is found in the transcript.
//! 2. *Asked*: the question lies in the mailbox, and this process holds the lock of a waiter.
//! 3. *Claimed*: the first answer is taken under the workflow's lock, and printed as the decision. Or a sign says that the dialog is over,
//!    and the question is withdrawn. The mailbox's lock decides which was first.
//! 4. *Delivered*: another process waits until the session's transcript has the receipt, because Claude Code goes on only after this one has
//!    ended. Without a receipt the answer came too late.
//!
//! No failure here takes the dialog away: then this process ends without output, and the dialog stays as it is.

mod guard;
mod keys;
pub(super) mod question;
mod reply;
mod signs;

use std::time::{Duration, Instant};

use crate::commands::hook::event::{Decision, PermissionRequest};
use crate::commands::hook::take_question;
use askbox_cli::program::{self, Context};
use askbox_config::Config;
use askbox_mailbox::audit::{self, Entry};
use askbox_mailbox::disk::file_events::FolderWatch;
use askbox_mailbox::error::{Error, IoContext, Result};
use askbox_mailbox::id::{RoundId, WorkflowId};
use askbox_mailbox::transitions::withdraw;
use askbox_mailbox::{Folder, Mailbox, Question, time};
use askbox_run::approval::call::Call;
use askbox_run::approval::permit::{self, Permit};
use askbox_run::claim::inline::{self, Waiter};
use askbox_run::claim::{Claim, OnRecord};
use askbox_run::dialog::beside::{Beside, Look};
use askbox_run::dialog::end::End;
use askbox_run::dialog::orphans::{self, BY};
use askbox_run::dialog::{place, settle};
use guard::Guard;
use keys::Keys;
use reply::Reply;
use signs::Signs;

/// How often the signs are looked for. Claude Code kills the hook 1.4 s after SIGTERM.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How long the transcript may take to name the call, after the grace time.
const CALL_PATIENCE: Duration = Duration::from_secs(10);
/// How often the lock of the waiter is tried. A process that looks at it holds it for a moment.
const TRIES: u32 = 5;

const NOT_IN_TIME: &str = "nobody answered in time: the dialog is open at its terminal now";
const NOT_IN_TIME_UNATTENDED: &str = "nobody answered in time: the session decided without an answer";

/// Waits beside the dialog. Prints a decision if a person has answered in the mailbox; else prints nothing, and the dialog decides.
pub(super) fn hold(event: &PermissionRequest, context: &Context) {
    let Ok(config) = context.config() else { return };
    if !config.live.enabled || !(is_attended() || config.live.unattended) {
        return;
    }
    let Ok(mailbox) = Mailbox::locate(None).and_then(Mailbox::open_or_create) else { return };
    if let Err(e) = beside(&mailbox, &config, event) {
        audit::record(&mailbox, Entry::about("dialog_not_asked").by(BY).why(program::message(&e)));
    }
}

/// True if a person attends the session, and the operator wants its dialogs and answers in both places.
pub(super) fn is_wanted(context: &Context) -> bool {
    is_attended() && context.config().is_ok_and(|config| config.live.enabled)
}

/// True if a person attends the session. In another one, no decision mostly means that the call is refused.
fn is_attended() -> bool {
    program::env("CLAUDE_CODE_SESSION_ATTENDED").as_deref() == Some("1")
}

fn beside(mailbox: &Mailbox, config: &Config, event: &PermissionRequest) -> Result<()> {
    let since = time::now();
    let begun = Instant::now();
    let guard = Guard::begin()?;
    let mut signs = Signs::new(event, guard.clone(), since);
    // Claude Code opens no dialog for such an agent before its hook has ended.
    let in_background = !is_attended() || (event.agent_id.is_some() && !runs_in_foreground());
    let grace = if in_background { Duration::ZERO } else { config.live.grace.0 };
    let mut is_noted = false;
    let call_id = loop {
        if signs.end().is_some() {
            return Ok(());
        }
        match signs.call_id() {
            Some(id) if begun.elapsed() >= grace => break id.to_owned(),
            // The transcript may have the call only after the dialog. The session's file tells the dialog's end as well. A question about a
            // call without a dialog ends with its hold at the latest.
            None if begun.elapsed() >= grace + CALL_PATIENCE
                && (in_background || (event.agent_id.is_none() && signs.has_open_dialog())) =>
            {
                break question::id_not_told(event);
            }
            None if begun.elapsed() >= grace + CALL_PATIENCE && !is_noted => {
                let error = Error::failed(signs.why_unknown(), "answer it at its terminal");
                // The dialog is open, and its question is worth something as long as that.
                audit::record(mailbox, Entry::about("dialog_not_asked").by(BY).why(program::message(&error)));
                is_noted = true;
            }
            _ => std::thread::sleep(LOOK_EVERY),
        }
    };
    let workflow = place::workflow(&event.cwd, &event.session_id, &call_id)?;
    let document = question::document(event, &workflow, &call_id, since, in_background.then(|| since + config.live.hold.0))?;
    let Some(waiter) = begin(mailbox, &workflow)? else { return Ok(()) };
    guard.asks(mailbox, &workflow, signs::REFUSED)?;
    // Nobody sees the dialog of an agent in the background.
    let mut keys = (!in_background).then(|| Keys::of_process(signs.process()));
    if let Some(keys) = &mut keys {
        keys.look(mailbox, &event.session_id);
    }
    let beside = Beside::post(mailbox, waiter, document, BY)?;
    let until = (in_background || event.agent_id.is_some()).then(|| begun + config.live.hold.0);
    let round = beside.round().clone();
    let dialog = Dialog { mailbox, config, event, beside, signs, keys, in_background };
    dialog.wait(until).inspect_err(|e| {
        // Nobody waits for the answer any more. If this fails too, a watcher withdraws the question.
        let _ = withdraw::withdraw_round(mailbox, &round, BY, Some(format!("the hook beside its dialog has failed: {e}")));
    })
}

/// True if the user has switched off agents in the background. Each value that Claude Code reads as true is one here.
fn runs_in_foreground() -> bool {
    let value = program::env("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS").unwrap_or_default().to_ascii_lowercase();
    ["1", "true", "yes", "on"].contains(&value.trim())
}

/// Takes the lock of a waiter. `None` if another hook of the same dialog has it.
fn begin(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<Option<Waiter>> {
    for _ in 0..TRIES {
        match inline::begin(mailbox, workflow) {
            Ok(waiter) => return Ok(Some(waiter)),
            Err(Error::Conflict { .. }) => std::thread::sleep(LOOK_EVERY),
            Err(e) => return Err(e),
        }
    }
    Ok(None)
}

/// A dialog whose question lies in the mailbox.
struct Dialog<'a> {
    mailbox: &'a Mailbox,
    config: &'a Config,
    event: &'a PermissionRequest,
    beside: Beside,
    signs: Signs,
    keys: Option<Keys>,
    in_background: bool,
}

impl Dialog<'_> {
    fn wait(mut self, until: Option<Instant>) -> Result<()> {
        let mut watch = FolderWatch::new(&self.mailbox.folder(Folder::Answered)).ok();
        for folder in self.signs.folders(self.event) {
            let _ = watch.as_mut().map(|watch| watch.add(&folder));
        }
        loop {
            if let Some(how) = self.signs.end() {
                return self.withdraw(how);
            }
            if let Some(keys) = &mut self.keys {
                keys.look(self.mailbox, &self.event.session_id);
            }
            // An agent in the foreground has its dialog. A teammate has none, whatever the user's settings say of other agents.
            if until.is_some_and(|until| Instant::now() >= until) && (self.in_background || !self.signs.has_open_dialog()) {
                return self.withdraw(if is_attended() { NOT_IN_TIME } else { NOT_IN_TIME_UNATTENDED });
            }
            match self.beside.look(self.mailbox, &self.config.answers.policy())? {
                Look::Waits => {}
                Look::Answered(claim) => return self.give(*claim),
                Look::Withdrawn => return Ok(()),
                Look::Changed => return Err(Error::failed("a dialog's question was changed", "answer it at its terminal")),
            }
            match &watch {
                Some(watch) => watch.wait(LOOK_EVERY),
                None => std::thread::sleep(LOOK_EVERY),
            }
        }
    }

    fn withdraw(&self, how: &str) -> Result<()> {
        self.beside.withdraw(self.mailbox, &self.config.answers.policy(), how)
    }

    /// Gives the claimed answer to the session.
    fn give(mut self, claim: Claim<OnRecord>) -> Result<()> {
        let reply = match self.reply(&claim.document.typed) {
            Ok(reply) => reply,
            Err(e) => return self.not_given(claim, &program::message(&e)),
        };
        let output = match reply.output(self.event) {
            Ok(output) => output,
            Err(why) => return self.not_given(claim, &format!("the decision would not be understood: {why}")),
        };
        if let Some(how) = self.signs.end() {
            return End::too_late(how).close(claim, self.mailbox, BY);
        }
        // The round stays claimed until the receipt is there, whoever looks for it.
        let round = claim.round();
        let waiting = guard::after_this_process(self.mailbox, &["--receipt", &round.to_string()]);
        if let Err(e) = waiting.and_then(|mut waiting| waiting.spawn().io("start", "the process that waits for the receipt")) {
            audit::record(self.mailbox, Entry::about_round("receipt_not_awaited", &round).by(BY).why(program::message(&e)));
        }
        // The reader may be gone and have read it all the same. The transcript tells.
        program::write_json(&output.to_string()).or(Ok(()))
    }

    fn not_given(&self, claim: Claim<OnRecord>, why: &str) -> Result<()> {
        End::not_given(why).close(claim, self.mailbox, BY)
    }

    /// The decision that follows from the answer.
    fn reply(&self, question: &Question) -> Result<Reply> {
        let not_asked = || Error::failed("the answer is to another call", "answer the dialog at its terminal");
        let answer = question.answer.as_ref().ok_or_else(not_asked)?;
        if question.asked.approval.is_none() {
            return match take_question::of_ask_user_question(&self.config.answers.policy(), question, &self.event.tool_input) {
                Some(Decision::Allow(input)) => Ok(Reply::allow(input, None)),
                Some(Decision::Deny(message)) => Ok(Reply::Deny { message, interrupt: answer.stops }),
                _ => Err(not_asked()),
            };
        }
        let call = Call { tool: &self.event.tool_name, input: &self.event.tool_input, cwd: &self.event.cwd };
        let (policy, refuse) = (self.config.answers.policy(), &self.config.approvals.refuse);
        let key = answer.value.as_ref().map(askbox_mailbox::AnswerValue::to_text).unwrap_or_default();
        let offered = question.asked.live.as_ref().and_then(|live| live.offer(&key));
        match permit::permit(self.mailbox, &policy, refuse, self.beside.round(), question, &call)? {
            Permit::Allowed => Ok(Reply::allow(self.event.tool_input.clone(), offered)),
            Permit::AllowedEdited(input) => Ok(Reply::allow(input, None)),
            Permit::Refused(message) => Ok(Reply::Deny { message, interrupt: answer.stops }),
            Permit::Ask(_) => Err(not_asked()),
        }
    }
}

/// Waits until the session has taken the answer that the hook of this round has printed. The hook cannot: Claude Code waits for its end.
pub(super) fn await_receipt(round: &RoundId) -> Result<()> {
    settle::wait(&Mailbox::open(Mailbox::locate(None)?)?, round)
}

/// Withdraws what a hook has left that was told to end, because its dialog has ended in this way.
pub(super) fn end_after_hook(workflow: &WorkflowId, how: &str) -> Result<()> {
    orphans::end_after_hook(&Mailbox::open(Mailbox::locate(None)?)?, workflow, how)
}
