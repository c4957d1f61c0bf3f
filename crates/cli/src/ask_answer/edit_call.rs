//! A tool call that the person changes before they allow it.
//!
//! A changed tool call that the person has not confirmed yet. The next `edit` of the same call begins with it. It lies beside the drafts of
//! the inbox, as `WORKFLOW.QUESTION.call`.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::ask_answer::editor;
use crate::program::{self, Context, Tint};
use crate::terminal::screen;
use askbox_config::ToolRule;
use askbox_mailbox::documents::fields::approval::{Editable, LONGEST_EDITED, shown_field};
use askbox_mailbox::{Approval, Error, Question, QuestionId, Result, disk, layout, text};
use askbox_run::approval::lines::{self, Change, ChangeTag};

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
    let Some(approval) = &question.approval else { return Err(Error::failed("no call is asked about", "look at the question again")) };
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
        None => in_editor(&editable.text, begun.as_deref().unwrap_or(&editable.text), below)?,
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
    let lines = whole_call(&question.question, editable, &edited);
    program::print_tinted(&lines)?;
    if let Some(size) = screen::size().filter(|size| lines.len() + 1 > size.rows) {
        program::print(&format!(
            "These are {} lines, and the terminal shows {}: scroll up to see the whole call.\n",
            lines.len(),
            size.rows
        ))?;
    }
    let is_kept = draft.keep(&edited);
    if program::confirms(&format!("Make the call of {} like this, one time?", text::excerpt(&text::visible(&approval.tool), 60)))? {
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

/// Lets the person change `begun` in the editor, with `below` as a reminder. Characters that cannot be seen stand there as `\u{…}`, and an
/// unchanged one comes back as it was.
fn in_editor(original: &str, begun: &str, below: &str) -> Result<String> {
    let shown = text::visible(begun);
    let below = if shown == begun {
        below.to_owned()
    } else {
        format!("Above, \\u{{…}} stands for a character that cannot be seen. It stays unless you change it.\n\n{below}")
    };
    let edited = with_ends_of(&text::visible(original), &editor::write(&shown, &below, ".txt")?.text);
    Ok(text::of_visible(&edited))
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
pub fn refuse_rules(context: &Context) -> Vec<ToolRule> {
    context.config().map(|config| config.approvals.refuse).unwrap_or_default()
}

/// The whole question about a call, with the changed text in place of the editable one. Invisible characters are escaped.
pub fn whole_call(question: &str, editable: &Editable, edited: &str) -> Vec<(Tint, String)> {
    let plain = |text: &str| text.lines().map(|line| (Tint::Plain, line.to_owned())).collect::<Vec<_>>();
    let (text, field) = (format!("{question}\n"), shown_field(&editable.field, &editable.text));
    // A change of a file is shown as a diff, and a plan somewhere else. The changed text then stands below the question.
    let (before, after) = text.split_once(&format!("\n{field}")).unwrap_or((&text, ""));
    let head = plain(&shown_field(&editable.field, "\n")).into_iter().take(1);
    plain(before).into_iter().chain(head).chain(difference(&editable.text, edited)).chain(plain(after)).collect()
}

/// The lines of the text, with those that are removed and added. Invisible characters are escaped.
fn difference(original: &str, edited: &str) -> Vec<(Tint, String)> {
    let (original, edited) = (text::visible(original), text::visible(edited));
    let line = |change: Change<&str>| {
        let (tint, sign) = match change.tag() {
            ChangeTag::Delete => (Tint::Red, '-'),
            ChangeTag::Insert => (Tint::Green, '+'),
            ChangeTag::Equal => (Tint::Plain, ' '),
        };
        (tint, format!("{sign}{}", change.value().trim_end_matches('\n')))
    };
    lines::changes(&original, &edited).into_iter().map(line).collect()
}

/// The ending of the file's name.
pub const ENDING: &str = ".call";

/// The folder of all drafts of this user. It is created if it is missing.
///
/// # Errors
/// If it cannot be created, or other users may write there.
pub fn folder() -> Result<PathBuf> {
    disk::private_folder(layout::state_folder()?.join("drafts"))
}

/// The draft for one call.
pub(super) struct CallDraft(Option<PathBuf>);

impl CallDraft {
    /// The draft for the call that this round asks about. Without a folder for it, nothing is kept.
    pub(super) fn of(address: &str, round: QuestionId) -> Self {
        Self(folder().ok().map(|folder| folder.join(format!("{address}.{round}{ENDING}"))))
    }

    /// The text that was kept.
    pub(super) fn text(&self) -> Option<String> {
        String::from_utf8(disk::read(self.0.as_ref()?, LONGEST_EDITED as u64).ok()?).ok()
    }

    /// Keeps a text. Returns true if it is on disk.
    pub(super) fn keep(&self, text: &str) -> bool {
        self.0.as_ref().is_some_and(|path| disk::replace(path, text.as_bytes()).is_ok())
    }

    pub(super) fn forget(&self) {
        if let Some(path) = &self.0 {
            let _ = disk::remove(path);
        }
    }
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
    fn a_changed_call_is_shown_as_a_whole() {
        let same: Vec<String> = (0..20).map(|n| format!("{n}\n")).collect();
        let (before, after) = (same[..10].concat(), same[10..].concat());
        let editable = Editable { field: "content".into(), text: format!("{before}rm x\u{200b}\n{after}") };
        let text = shown_field("content", &editable.text);
        let question = format!("May the agent call Write?\n{text}    file_path: /a\nIn the folder /work");
        let shown = whole_call(&question, &editable, &format!("{before}ls x\n{after}"));
        let lines: Vec<_> = shown.iter().map(|(_, line)| line.as_str()).collect();
        assert_eq!(lines[..4], ["May the agent call Write?", "    content:", " 0", " 1"]);
        assert_eq!(lines[11..15], [" 9", r"-rm x\u{200b}", "+ls x", " 10"]);
        assert_eq!(lines[23..], [" 19", "    file_path: /a", "In the folder /work"]);
        assert_eq!((shown[12].0, shown[13].0), (Tint::Red, Tint::Green));
        // The dialog of a live session shows an edit as a diff.
        let shown = whole_call("May the agent call Edit?\n    change:\n        + b\nIn the folder /work", &editable, "b");
        assert_eq!(shown[4].1, "    content:");
    }
}
