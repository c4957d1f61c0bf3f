//! Documents as words for people. Whoever prints them takes out what could drive a terminal.

use std::fmt::Write;
use std::path::Path;

use crate::mailbox::close::Found;
use crate::mailbox::documents::checkpoint::{self, CheckpointDocument};
use crate::mailbox::documents::question::{Kind, Part};
use crate::mailbox::{Answer, Folder, Question};
use crate::text::{excerpt, one_line};
use crate::time::{self, Time};

/// Columns as wide as they must be, the last one as long as it is. Empty without rows.
#[must_use]
pub fn table<const N: usize>(head: [&str; N], rows: &[[String; N]]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let mut lines: Vec<[String; N]> = vec![head.map(str::to_owned)];
    lines.extend(rows.iter().map(|row| row.clone().map(|cell| one_line(&cell))));
    let widths: Vec<usize> = (0..N).map(|n| lines.iter().map(|l| l[n].chars().count()).max().unwrap_or(0)).collect();
    let mut out = String::new();
    for line in lines {
        for (n, cell) in line.iter().enumerate() {
            out.push_str(cell);
            if n + 1 < N {
                out.extend(std::iter::repeat_n(' ', widths[n] - cell.chars().count() + 2));
            }
        }
        out.truncate(out.trim_end().len());
        out.push('\n');
    }
    out
}

/// How long ago a file was changed.
#[must_use]
pub fn age_of(path: &Path) -> String {
    let changed = path.symlink_metadata().and_then(|m| m.modified());
    changed.map_or_else(|_| "-".into(), |at| time::human(at.elapsed().unwrap_or_default()))
}

/// How long ago a question was asked.
#[must_use]
pub fn age(question: &Question) -> String {
    question.asked_at().map_or_else(|| "-".into(), |at| time::human(time::since(at)))
}

/// Whether the wait the asker set has ended.
#[must_use]
pub fn is_overdue(question: &Question, now: Time) -> bool {
    question.expires_at.is_some_and(|at| at <= now)
}

/// One line: overdue and priority marks and the title.
#[must_use]
pub fn headline(question: &Question) -> String {
    let overdue = if is_overdue(question, time::now()) { "(overdue) " } else { "" };
    let priority = question.priority.filter(|p| *p != 0).map_or(String::new(), |p| format!("[{p:+}] "));
    let many = if question.is_batch() { format!("({} questions) ", question.questions.len()) } else { String::new() };
    format!("{overdue}{priority}{many}{}", excerpt(&question.title(), 100))
}

/// What a kind of answer is called when one is asked for.
#[must_use]
pub fn kind(part: &Part) -> &'static str {
    match (part.kind(), part.free_text == Some(false)) {
        (Kind::Choice, true) => "one of these",
        (Kind::Choice, false) => "one of these, or your own words",
        (Kind::MultiChoice, true) => "any of these",
        (Kind::MultiChoice, false) => "any of these, or your own words",
        (Kind::YesNo, _) => "yes or no",
        (Kind::Text, _) => "your own words",
        (Kind::Number, _) => "a number",
    }
}

/// The question's text and options.
#[must_use]
pub fn part(part: &Part, key: Option<&str>) -> String {
    let mut out = String::new();
    if let Some(key) = key {
        let _ = write!(out, "{key}: ");
    }
    let _ = writeln!(out, "{}", part.question.trim_end());
    let _ = writeln!(out, "  Answer: {}", kind(part));
    let width = part.options.0.iter().map(|c| c.key.chars().count()).max().unwrap_or(0).min(30);
    for choice in &part.options.0 {
        let line = format!("    {:width$}  {}", choice.key, one_line(&choice.description));
        let _ = writeln!(out, "{}", line.trim_end());
        for line in choice.preview.iter().flat_map(|p| p.lines()) {
            let _ = writeln!(out, "    {:width$}  | {line}", "");
        }
    }
    out
}

/// Who asks, since when, until when, and what else there is to know.
#[must_use]
pub fn about(question: &Question) -> String {
    let mut out = String::new();
    let by = question.asked_by.as_deref().map_or(String::new(), |by| format!(" by {}", excerpt(by, 60)));
    let _ = writeln!(out, "{}: asked{by} {} ago", question.workflow_id, age(question));
    if let Some(at) = question.expires_at {
        let then = match (question.on_expiry(), &question.default) {
            (crate::mailbox::documents::question::OnExpiry::Default, Some(default)) => {
                format!("then `{}` applies", excerpt(&default.to_text(), 60))
            }
            (crate::mailbox::documents::question::OnExpiry::Cancel, _) => "then it is cancelled".into(),
            _ => "then it stays open".into(),
        };
        let word = if is_overdue(question, time::now()) { "overdue since" } else { "until" };
        let _ = writeln!(out, "  {word} {}, {then}", time::rfc3339(at));
    }
    if let Some(parent) = &question.parent {
        let _ = writeln!(out, "  within {parent}");
    }
    if let Some(cwd) = &question.cwd {
        let _ = writeln!(out, "  in {}", cwd.display());
    }
    if let Some(path) = &question.checkpoint {
        let _ = writeln!(out, "  checkpoint {}", path.display());
    }
    if let Some(context) = &question.context {
        out.push('\n');
        for line in context.trim_end().lines() {
            let _ = writeln!(out, "  {line}");
        }
    }
    out
}

/// Everything there is to say of a round.
#[must_use]
pub fn round(found: &Found) -> String {
    let question = &found.document.typed;
    let mut out = about(question);
    out.push('\n');
    if question.is_batch() && !question.question.is_empty() {
        let _ = writeln!(out, "{}\n", question.question.trim_end());
    }
    for (n, p) in question.parts().iter().enumerate() {
        let key = question.is_batch().then(|| p.key(n));
        out.push_str(&part(p, key.as_deref()));
    }
    let _ = writeln!(out, "\nRound {}: {}", found.round.question, state(found));
    if let Some(given) = &question.answer {
        out.push_str(&answer(given, ""));
    }
    for late in &question.late_answers {
        out.push_str(&answer(late, "late: "));
    }
    out
}

fn answer(given: &Answer, mark: &str) -> String {
    let mut out = format!("  {mark}{}\n", given.who());
    let value = given.value.as_ref().map(crate::mailbox::AnswerValue::to_text).unwrap_or_default();
    for line in value.lines() {
        let _ = writeln!(out, "    {line}");
    }
    if let Some(note) = &given.note {
        let _ = writeln!(out, "  note: {}", one_line(note));
    }
    out
}

/// A round's state, in words.
#[must_use]
pub fn state(found: &Found) -> String {
    match (&found.document.typed.closed, found.folder) {
        (Some(closing), _) => {
            let why = closing.why.as_deref().map_or(String::new(), |why| format!(": {}", excerpt(why, 200)));
            format!("{} by {}{why}", closing.state.word(), excerpt(&closing.by, 60))
        }
        (None, Folder::Pending) => "waits for an answer".into(),
        (None, Folder::Answered) => "answered; no run has taken it up yet".into(),
        (None, Folder::Running) => "answered; a run has it".into(),
        (None, Folder::Parked) => "answered; all runs failed, it is parked".into(),
        (None, folder) => folder.name().into(),
    }
}

/// A checkpoint for people.
#[must_use]
pub fn checkpoint(document: &CheckpointDocument, path: &Path) -> String {
    let checkpoint = &document.typed;
    let mut out = String::new();
    let mut line = |name: &str, value: &str| {
        if !value.is_empty() {
            let _ = writeln!(out, "{name:<12}  {}", value.trim_end().replace('\n', "\n              "));
        }
    };
    line("workflow", checkpoint.workflow_id.as_ref().map_or("", |w| w.as_str()));
    line("type", checkpoint.workflow_type.as_deref().unwrap_or_default());
    line("step", checkpoint.current_step.as_deref().unwrap_or_default());
    line("done", &checkpoint.completed_steps.join(", "));
    line("to come", &checkpoint.pending_steps.join(", "));
    for (key, value) in &checkpoint.files {
        line("file", &format!("{key} = {}", checkpoint::bare(value)));
    }
    for (key, value) in &checkpoint.state_variables {
        line("state", &format!("{key} = {}", checkpoint::bare(value)));
    }
    line("context", checkpoint.context.as_deref().unwrap_or_default());
    line("next action", checkpoint.next_action.as_deref().unwrap_or_default());
    line("answer", &checkpoint.user_answer.as_ref().map(checkpoint::bare).unwrap_or_default());
    line("file name", &path.display().to_string());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_lines_up_and_loses_control_characters() {
        let rows = [["a".to_owned(), "x\x1b[31m".to_owned()], ["long".to_owned(), "y\nz".to_owned()]];
        assert_eq!(table(["ID", "TEXT"], &rows), "ID    TEXT\na     x[31m\nlong  y z\n");
        assert_eq!(table(["ID", "TEXT"], &[]), "");
    }
}
