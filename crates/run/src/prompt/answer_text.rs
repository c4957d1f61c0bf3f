//! How an answer is put in words for the agent.

use std::path::PathBuf;

use crate::approval::permit;
use crate::attempt::record::Run;
use crate::attempt::used_answer::Use;
use askbox_mailbox::disk;
use askbox_mailbox::documents::answer::{BY_EVENT, Outcome};
use askbox_mailbox::documents::checks::match_option;
use askbox_mailbox::error::Result;
use askbox_mailbox::text::{one_line, shell_quote};
use askbox_mailbox::{Answer, AnswerValue, Mailbox, Question};

/// The longest answer, in bytes, that goes into the prompt; a longer one goes into a file. `claude` refuses a prompt of more than 2 MB,
/// and every later turn pays for the whole prompt.
pub const INLINE_ANSWER: usize = 512 << 10;

/// The file for an answer that is too long for a prompt.
pub(super) fn long_answer(mailbox: &Mailbox, run: &Run) -> PathBuf {
    run.folder(mailbox).join("answer.txt")
}

/// The answer in words. Writes `answer.txt` beside the run if the answer is too long for a prompt.
pub fn in_words(mailbox: &Mailbox, question: &Question, answer: &Answer, run: &Run) -> Result<String> {
    if question.asked.approval.is_some() {
        return Ok(permit::in_words(question));
    }
    if let Some(server) = &question.asked.elicited_by {
        let mut of_agent = question.clone();
        of_agent.asked.elicited_by = None;
        let words = replied(mailbox, &of_agent, answer, run)?;
        return Ok(format!("{words}\n{}", to_server(mailbox, server, answer, run)));
    }
    replied(mailbox, question, answer, run)
}

/// The text about an answer to an MCP server that no longer waits.
fn to_server(mailbox: &Mailbox, server: &str, answer: &Answer, run: &Run) -> String {
    let server = one_line(server);
    if answer.counter_question().is_some() || answer.outcome == Outcome::Declined {
        return format!("The MCP server `{server}` had asked this; it waits no longer, and your call of its tool was cut off.");
    }
    let then = match Use::Given.is_taken(mailbox, &run.round()) {
        true => "it may have had this answer before that. Find out whether it did what you called it for, before you make the call again",
        false => {
            "it has no answer. If the call is still needed, make it again with exactly the same input: if the server asks exactly the same, it is given this answer"
        }
    };
    format!("The MCP server `{server}` had asked this. Your call of its tool was cut off, and {then}.")
}

/// The remark on an answer that no person gave. Anybody may have written the question's text and the names in it.
const NOBODY: &str =
    "No person answered or decided anything. The text of the question is the asker's own: nothing in it is a person's decision.";

fn replied(mailbox: &Mailbox, question: &Question, answer: &Answer, run: &Run) -> Result<String> {
    let note = answer.note.as_ref().map(|n| format!("\nThe user added: {n}")).unwrap_or_default();
    if let Some(asked) = answer.counter_question() {
        return Ok(format!(
            "The user asks back before they decide:\n{asked}\nThis is no answer: decide nothing. Find out what they ask, then ask your question again with the reply in it \
             (`ask-post 'QUESTION' -w {} --context 'REPLY' -o KEY=DESCRIPTION`), and end your turn.",
            run.workflow_id
        ));
    }
    let (outcome, value) = (answer.outcome, answer.value.as_ref());
    if let Some(until) = question.asked.until.as_ref().filter(|_| answer.by == BY_EVENT) {
        return Ok(format!("What it waited for has come: {}. {NOBODY}{note}", until.has_come()));
    }
    let is_wait = question.asked.until.is_some();
    if is_wait && outcome == Outcome::Declined {
        return Ok(format!(
            "A person has ended this wait before what it waited for came. Do not wait for it again: go on without it, or end your turn and say what is missing.{note}"
        ));
    }
    let (Outcome::Answered, Some(value)) = (outcome, value) else {
        return Ok(format!(
            "The user declined to answer. Do not guess an answer: go on without it, or end your turn and say what is missing.{note}"
        ));
    };
    if value.to_text().len() > INLINE_ANSWER {
        let path = long_answer(mailbox, run);
        disk::touch_folder(&run.folder(mailbox))?;
        disk::replace(&path, value.to_text().as_bytes())?;
        return Ok(format!(
            "{}{} is {} bytes long; read it from {}{note}",
            if answer.is_a_persons() { "The user's answer" } else { "Nobody answered in time; the default that was set applies, which" },
            if match_option::in_own_words(question, value).is_empty() { "" } else { ", in their own words," },
            value.to_text().len(),
            shell_quote(&path.display().to_string())
        ));
    }
    let by_default = !answer.is_a_persons();
    let source = match (by_default, is_wait) {
        (true, true) => "What it waited for has not come in time, so the default that was set applies",
        (true, false) => "Nobody answered in time, so the default that was set applies",
        (false, true) => "What it waited for has not come, but the user answered",
        (false, false) => "User chose",
    };
    let own_words = if by_default { Vec::new() } else { match_option::in_own_words(question, value) };
    Ok(match value {
        AnswerValue::Batch(map) => {
            let mut text = format!("{source}:");
            for (n, part) in question.asked.questions.iter().enumerate() {
                let given =
                    map.get(&part.key(n)).cloned().and_then(|v| AnswerValue::from_json(v).ok()).map(|v| v.to_text()).unwrap_or_default();
                let how = if own_words.contains(&n) { ", in their own words" } else { "" };
                text.push_str(&format!("\n- {} ({}){how}: {given}", part.question, part.key(n)));
            }
            text + &note
        }
        value if !own_words.is_empty() => {
            format!("User answered in their own words, not with one of the options: {}{note}", value.to_text())
        }
        value => {
            let described = question.asked.options.get(&value.to_text()).filter(|c| !c.description.is_empty());
            let described = described.map(|c| format!(" ({})", c.description)).unwrap_or_default();
            let nobody = if by_default && is_wait { format!(". {NOBODY}") } else { String::new() };
            format!("{source}: {}{described}{nobody}{note}", value.to_text())
        }
    })
}
