//! Where a question comes from: the event that it waits for, the run that asked it, its folder, its checkpoint, its thread.
//!
//! The tool call that a question asks about, in words, and the commands that allow it.

use crate::ask_answer::question_text::asked;
use crate::{SeenRound, fitted};
use askbox_config::ToolRule;
use askbox_mailbox::checkpoints::store;
use askbox_mailbox::documents::fields::approval::{ONCE, WORKFLOW};
use askbox_mailbox::{Approval, Content, Folder, Mailbox, Question, Round, RoundId, WorkflowId, caller, excerpt, one_line, round};

/// The line that says which event a question waits for, if it waits for one.
pub(super) fn own_line(found: &Round) -> Option<String> {
    let until = found.document.typed.until.as_ref()?;
    Some(format!("{}, not for you: that answers it, and you may answer first", one_line(&until.words())))
}

/// Says where a question comes from, line by line: the event that it waits for, the run that asked it, its folder, its checkpoint, and then
/// its thread. `mailbox` is `None` for a question of another machine.
pub fn origin(mailbox: Option<&Mailbox>, found: &Round) -> Vec<String> {
    let thread = mailbox.map_or_else(String::new, |mailbox| thread(mailbox, &found.document.typed));
    let thread = thread.lines().filter(|line| !line.trim().is_empty()).map(|line| line.trim_start().to_owned());
    own_line(found).into_iter().chain(background(mailbox, found)).chain(thread).collect()
}

pub(super) fn background(mailbox: Option<&Mailbox>, found: &Round) -> Vec<String> {
    let question = &found.document.typed;
    let mut lines = Vec::new();
    if let Some(parent) = &question.parent {
        lines.push(mailbox.map_or_else(|| format!("within {parent}"), |mailbox| within(mailbox, found, parent)));
    }
    if let Some(cwd) = &question.cwd {
        lines.push(format!("in {}", one_line(&cwd.display().to_string())));
    }
    // The rules count for runs, and not for a session's dialog.
    if let Some(approval) = question.approval.as_ref().filter(|_| question.live.is_none()) {
        lines.extend(as_rule(approval));
    }
    if let Some(path) = &question.checkpoint {
        let not_used = match mailbox.map(|mailbox| store::read_named(mailbox, path, &question.workflow_id)) {
            Some(Err(e)) if store::is_not_proven(&e) => " (not used: it does not say that it is this workflow's)",
            _ => "",
        };
        lines.push(format!("checkpoint {}{not_used}", one_line(&path.display().to_string())));
    }
    let files = question.attachments.iter().map(|about| about.words());
    lines
        .extend(files.map(|file| if mailbox.is_some() { format!("with {file}") } else { format!("with {file}, which is not shown here") }));
    lines
}

/// The maximum number of earlier questions of a thread that are shown.
const MAX_THREAD: usize = 8;

/// An earlier question of a thread, and the question that the person asked back.
#[derive(Debug)]
pub struct Earlier {
    /// The earlier question.
    pub asked: String,
    /// The name of the person who asked back, and the person's question.
    pub asked_back: Option<(String, String)>,
}

/// The earlier questions of a thread, the oldest first.
pub fn earlier(mailbox: &Mailbox, question: &Question) -> Vec<Earlier> {
    let mut earlier = Vec::new();
    let mut next = question.in_reply_to;
    let mut seen = Vec::new();
    while let Some(id) = next.filter(|id| earlier.len() < MAX_THREAD && !seen.contains(id)) {
        seen.push(id);
        let round = RoundId { workflow: question.workflow_id.clone(), question: id };
        let Some(document) = round::claimed_or_closed(mailbox, &round).next() else { break };
        let asked_back = document.typed.answer.as_ref().map(|a| (excerpt(&a.by, 60), a.note.clone().unwrap_or_default()));
        earlier.push(Earlier { asked: document.typed.title(), asked_back });
        next = document.typed.in_reply_to;
    }
    earlier.reverse();
    earlier
}

pub(super) fn thread(mailbox: &Mailbox, question: &Question) -> String {
    let back = |(by, words): &(String, String)| format!("\n  {by} asked back: {}", asked(words));
    let line = |e: Earlier| format!("  before: {}{}\n", asked(&e.asked), e.asked_back.as_ref().map(back).unwrap_or_default());
    let earlier: String = earlier(mailbox, question).into_iter().map(line).collect();
    if earlier.is_empty() { earlier } else { format!("\n{earlier}") }
}

/// Names the run that asked a question, and says if that is not proven. Tasks and results need no proof: askbox writes them itself, and
/// they are never pending.
pub fn within(mailbox: &Mailbox, found: &Round, parent: &WorkflowId) -> String {
    let question = &found.document.typed;
    let is_ours = !matches!(question.content(), Content::Question) && !matches!(found.folder, Folder::Pending | Folder::Answered);
    if is_ours || caller::is_proven(mailbox, question).unwrap_or(false) {
        format!("within {parent}")
    } else {
        format!("says it was asked within {parent}: not proven")
    }
}

/// The call as a rule of the operator's configuration, if one is written like it: what a standing decision is called in lists.
pub fn as_rule(approval: &Approval) -> Option<String> {
    Some(format!("as a rule of [approvals]: {}", ToolRule::like_call(approval)?))
}

/// The commands that allow the call of a waiting approval, for copying, fitted to standard output: each command stays on one line. They
/// name the round and what was shown of it. `address` is the question's name on this machine. Empty for every other round.
pub fn to_allow(address: &str, found: &Round) -> String {
    fitted::paragraphs(&commands(address, found), |line| (!line.starts_with(' ')).then_some(0))
}

fn commands(address: &str, found: &Round) -> String {
    if found.folder != Folder::Pending || found.document.typed.approval.is_none() {
        return String::new();
    }
    let Ok(round) = SeenRound::of(found.id.question, &found.document.typed) else { return String::new() };
    if found.document.typed.live.is_some() {
        let commands =
            found.document.typed.options.0.iter().map(|choice| format!("  ask-answer {address} {} --round {round}\n", choice.key));
        return format!("\nTo allow it, copy one of:\n{}{}", commands.collect::<String>(), to_edit(address, &found.document.typed));
    }
    format!(
        "\nTo allow this call whenever the workflow makes it, or this one time, copy:\n  ask-answer {address} {WORKFLOW} --round {round}\n  \
         ask-answer {address} {ONCE} --round {round}\n{}To refuse it whenever the workflow makes it:\n  \
         ask-answer decline {address} --always --round {round}\n",
        to_edit(address, &found.document.typed)
    )
}

/// The command that changes the call first.
fn to_edit(address: &str, question: &Question) -> String {
    let editable = question.approval.as_ref().and_then(|approval| approval.editable.as_ref());
    match editable {
        Some(editable) => format!(
            "To change its {} first, and allow the changed call this one time:\n  ask-answer edit {address}\n",
            excerpt(&editable.field, 40)
        ),
        None => String::new(),
    }
}
