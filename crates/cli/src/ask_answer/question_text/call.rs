//! The tool call that a question asks about, in words, and the commands that allow it.

use crate::args::seen_round::SeenRound;
use crate::terminal::fitted;
use askbox_config::ToolRule;
use askbox_mailbox::documents::fields::approval::{Approval, ONCE, WORKFLOW};
use askbox_mailbox::round::Round;
use askbox_mailbox::text::excerpt;
use askbox_mailbox::{Folder, Question};

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
