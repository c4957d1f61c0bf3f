//! A notification on this desktop. What is told later of the same round takes the place of what was told before, where the desktop knows
//! one of the two hints by which it is asked to.

use crate::news::call::{Call, Errors};
use crate::news::message::{Message, Urgency};
use crate::platform::means::{DESKTOP, Desktop};

/// The program that shows it.
pub(in crate::news) const PROGRAM: &str = match DESKTOP {
    Desktop::NotifySend => "notify-send",
    Desktop::AppleScript => "osascript",
};

pub(super) fn call(message: &Message) -> Call {
    let args = match DESKTOP {
        Desktop::NotifySend => notify_send(message),
        Desktop::AppleScript => osascript(message),
    };
    Call { program: PROGRAM.into(), args: args.into_iter().map(Into::into).collect(), errors: Errors::OneLine, ..Call::default() }
}

fn notify_send(message: &Message) -> Vec<String> {
    let urgency = match message.urgency {
        Urgency::Low => "low",
        Urgency::Normal => "normal",
        Urgency::High => "critical",
    };
    // The text is markup, the title is not.
    let text = message.text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let card = message.card;
    vec![
        "--app-name=askbox".into(),
        format!("--urgency={urgency}"),
        format!("--hint=string:x-dunst-stack-tag:{card}"),
        format!("--hint=string:x-canonical-private-synchronous:{card}"),
        "--".into(),
        message.title.clone(),
        text,
    ]
}

/// The texts are arguments of the script, never a part of it.
fn osascript(message: &Message) -> Vec<String> {
    let script = ["on run argv", "display notification (item 2 of argv) with title (item 1 of argv)", "end run"];
    let script = script.into_iter().flat_map(|line| ["-e".to_owned(), line.to_owned()]);
    script.chain([message.title.clone(), message.text.clone()]).collect()
}
