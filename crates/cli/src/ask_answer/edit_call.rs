//! A tool call that the person changes before they allow it.

use std::io::{self, BufRead};
use std::path::Path;

use similar::{ChangeTag, TextDiff};

use crate::ask_answer::call_draft::CallDraft;
use crate::ask_answer::editor;
use crate::program::{self, Context, Tint};
use askbox_config::ToolRule;
use askbox_mailbox::documents::fields::approval::{Approval, LONGEST_EDITED};
use askbox_mailbox::error::{Error, IoContext, Result};
use askbox_mailbox::id::QuestionId;
use askbox_mailbox::{Question, text};
use serde_json::{Map, Value};

/// The unchanged lines that are shown around a change.
const AROUND: usize = 3;

/// Returns the text that the person puts in place of the call's editable one; `None` if they do not confirm it. The text comes from
/// `input`, or else from the editor, with `below` as a reminder. A text from `input` needs no confirmation. A text that is not confirmed is
/// kept, and the editor begins with it the next time; so is a confirmed one, until [`accepted`]. `id` is the question's name on this machine,
/// and `round` its round. `refuse` are the operator's rules there; they are not known for a question of another machine.
///
/// # Errors
/// [`Error::Usage`] if the call has no such text, or nobody can confirm the change. [`Error::Conflict`] if the operator's rules refuse the
/// changed call.
pub fn edit(
    (id, round): (&str, QuestionId),
    question: &Question,
    refuse: &[ToolRule],
    below: &str,
    input: Option<&Path>,
) -> Result<Option<String>> {
    let Some(approval) = &question.asked.approval else {
        return Err(Error::failed("no call is asked about", "look at the question again"));
    };
    let Some(editable) = &approval.editable else {
        let from_here = if id.contains(':') { " from here" } else { "" };
        return Err(Error::usage(
            format!("this call of {} has no text that you can change{from_here}", text::excerpt(&text::visible(&approval.tool), 60)),
            format!("refuse it and say what to change: ask-answer decline {id} --note TEXT"),
        ));
    };
    let draft = CallDraft::of(id, round);
    let begun = draft.text().filter(|_| input.is_none()).filter(|begun| *begun != editable.text);
    let edited = match input {
        Some(file) => from_file(file)?,
        None if !program::is_interactive() => {
            let hint = format!("give the text and name the call that you have seen: ask-answer edit {id} --input FILE --round ID:HASH");
            return Err(Error::usage("a changed call is confirmed at a terminal, and this is not one", hint));
        }
        None => {
            let text = begun.as_deref().unwrap_or(&editable.text);
            with_ends_of(&editable.text, &editor::write_from(text, below, ".txt")?.text)
        }
    };
    let is_from_editor = input.is_none();
    refuse_by_rules(refuse, approval, &edited).inspect_err(|_| {
        if is_from_editor && draft.keep(&edited) {
            program::say(&format!("your change is kept; go on with it: ask-answer edit {id}\n"));
        }
    })?;
    if edited == editable.text {
        if is_from_editor {
            draft.forget();
        }
        let whole = if is_from_editor { "is unchanged, so nothing was decided" } else { "is the text of the call itself" };
        return Err(Error::invalid("answer.edited", whole, format!("to allow the call as it is, see the command: ask-answer show {id}")));
    }
    if !is_from_editor {
        return Ok(Some(edited));
    }
    program::print_tinted(&difference(&editable.text, &edited))?;
    program::say(&format!("Make the call of {} like this, one time? [y/N] ", text::excerpt(&text::visible(&approval.tool), 60)));
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line).io("read", "standard input")?;
    let is_kept = draft.keep(&edited);
    if matches!(line.trim().to_lowercase().as_str(), "y" | "yes") {
        return Ok(Some(edited));
    }
    if is_kept {
        program::say(&format!("your change is kept; go on with it: ask-answer edit {id}\n"));
    }
    Ok(None)
}

/// Removes the draft of a changed call, because the change counts.
pub fn accepted(id: &str, round: QuestionId) {
    CallDraft::of(id, round).forget();
}

fn from_file(file: &Path) -> Result<String> {
    let bytes = program::read_input(file, LONGEST_EDITED as u64)?;
    String::from_utf8(bytes).map_err(|_| program::in_input(file, Error::invalid("text", "is not valid UTF-8", "save it as UTF-8")))
}

/// The edited text with the line breaks that the call's text begins and ends with. The editor's file has others.
fn with_ends_of(original: &str, edited: &str) -> String {
    let is_break = |c: char| matches!(c, '\n' | '\r');
    let middle = original.trim_matches(is_break);
    let begin = &original[..original.len() - original.trim_start_matches(is_break).len()];
    let end = &original[begin.len() + middle.len()..];
    format!("{begin}{}{end}", edited.trim_matches(is_break))
}

/// Refuses a text of which the operator's rules say that the call is refused. The run checks this again.
///
/// # Errors
/// [`Error::Conflict`] with the rule.
pub fn refuse_by_rules(refuse: &[ToolRule], approval: &Approval, edited: &str) -> Result<()> {
    let field = approval.editable.iter().map(|editable| (editable.field.clone(), Value::from(edited)));
    let input: Map<String, Value> = field.collect();
    match refuse.iter().find(|rule| rule.names(&approval.tool, &input)) {
        None => Ok(()),
        Some(rule) => Err(Error::conflict(
            format!("the operator refuses the changed call: `{rule}` in [approvals] refuse"),
            "change it otherwise, or decline",
        )),
    }
}

/// The operator's rules in `refuse`. A configuration that cannot be read has none here, and refuses everything in the run.
#[must_use]
pub fn refuse_rules(context: &Context) -> Vec<ToolRule> {
    context.config().map(|config| config.approvals.refuse).unwrap_or_default()
}

/// The changed lines of the call, with some lines around them. Invisible characters are escaped.
#[must_use]
pub fn difference(original: &str, edited: &str) -> Vec<(Tint, String)> {
    let (original, edited) = (text::visible(original), text::visible(edited));
    let diff = TextDiff::from_lines(original.as_str(), edited.as_str());
    let mut lines = Vec::new();
    for (n, group) in diff.grouped_ops(AROUND).iter().enumerate() {
        if n > 0 {
            lines.push((Tint::Cyan, "…".to_owned()));
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let (tint, sign) = match change.tag() {
                ChangeTag::Delete => (Tint::Red, '-'),
                ChangeTag::Insert => (Tint::Green, '+'),
                ChangeTag::Equal => (Tint::Plain, ' '),
            };
            lines.push((tint, format!("{sign}{}", change.value().trim_end_matches('\n'))));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_of_the_calls_text_stay() {
        for (original, edited, expected) in
            [("a\n", "b", "b\n"), ("a", "b\n", "b"), ("\n\na\r\n\n", "b", "\n\nb\r\n\n"), ("", "b", "b"), ("\n", "b", "\nb")]
        {
            assert_eq!(with_ends_of(original, edited), expected, "{original:?}");
        }
    }

    #[test]
    fn the_changed_lines_are_shown_with_some_around_them() {
        let same: String = (0..20).map(|n| format!("{n}\n")).collect();
        let shown = difference(&format!("{same}rm x\u{200b}\n{same}"), &format!("{same}ls x\n{same}"));
        let lines: Vec<_> = shown.iter().map(|(_, line)| line.as_str()).collect();
        assert_eq!(lines, [" 17", " 18", " 19", r"-rm x\u{200b}", "+ls x", " 0", " 1", " 2"]);
        assert_eq!((shown[3].0, shown[4].0), (Tint::Red, Tint::Green));
    }
}
