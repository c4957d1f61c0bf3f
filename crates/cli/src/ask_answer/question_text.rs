//! Questions as text for people. The caller removes control characters before printing it.

use std::borrow::Cow;
use std::fmt::Write;

use crate::args::seen_round::SeenRound;
use crate::terminal::columns::{padded, width};
use crate::terminal::fitted;
use askbox_config::ToolRule;
use askbox_mailbox::checkpoints::store;
use askbox_mailbox::documents::asked::{Kind, OnExpiry, Part};
use askbox_mailbox::documents::content::Content;
use askbox_mailbox::documents::fields::approval::{Approval, ONCE, WORKFLOW};
use askbox_mailbox::id::{RoundId, WorkflowId};
use askbox_mailbox::round::Round;
use askbox_mailbox::text::{self, excerpt, one_line};
use askbox_mailbox::time::{self, Time};
use askbox_mailbox::who::asked_within;
use askbox_mailbox::{Answer, Folder, Mailbox, Question, round};
use askbox_run::delivery;

/// Fits a text of this file to standard output. A terminal gets it wrapped, with an option's description beside its key.
///
/// A line goes on deeper than any line of askbox begins, so no words of an agent look like one where a line is broken.
#[must_use]
pub fn fitted(text: &str) -> String {
    fitted::paragraphs(text, |line| Some(where_it_goes_on(line)))
}

/// [`fitted()`] for this many columns.
#[must_use]
pub fn fitted_within(text: &str, columns: usize) -> String {
    fitted::paragraphs_within(text, columns, |line| Some(where_it_goes_on(line)))
}

/// The byte of the line below which its further lines begin.
fn where_it_goes_on(line: &str) -> usize {
    let indentation = fitted::indentation(line);
    let gap = line[indentation..].find("  ").filter(|_| indentation == 4);
    if let Some(gap) = gap {
        return indentation + gap + fitted::indentation(&line[indentation + gap..]);
    }
    let is_deep_enough = |at: &usize| width(&line[..*at]) >= indentation + 2;
    line.char_indices().map(|(at, _)| at).chain([line.len()]).find(is_deep_enough).unwrap_or(indentation)
}

/// The time since a question was asked.
#[must_use]
pub fn age(question: &Question) -> String {
    question.asked_at().map_or_else(|| "-".into(), |at| time::human(time::since(at)))
}

/// True if the question's timeout has passed, so that a person is late.
#[must_use]
pub fn is_overdue(question: &Question, now: Time) -> bool {
    question.asked.until.is_none() && question.asked.expires_at.is_some_and(|at| at <= now)
}

/// One line: the title, with marks for an overdue question, for its priority, for several questions, and for a wait that needs no person.
#[must_use]
pub fn headline(question: &Question) -> String {
    let overdue = if is_overdue(question, time::now()) { "(overdue) " } else { "" };
    format!("{overdue}{}", marked_title(question))
}

/// The [`headline`] without the mark that depends on the time.
#[must_use]
pub fn marked_title(question: &Question) -> String {
    let wait = question
        .asked
        .until
        .as_ref()
        .map(|until| format!("({}) ", excerpt(&until.not_for_a_person(&question.question, question.asked.expires_at), 200)));
    let wait = wait.unwrap_or_default();
    let priority = question.asked.priority.filter(|p| *p != 0).map_or(String::new(), |p| format!("[{p:+}] "));
    let again = if question.asked.in_reply_to.is_some() { "(reply to you) " } else { "" };
    let many = if question.is_batch() { format!("({} questions) ", question.asked.questions.len()) } else { String::new() };
    format!("{wait}{again}{priority}{many}{}", excerpt(&question.title(), 100))
}

/// The asker, or the live session whose dialog asks. Empty if nobody knows.
#[must_use]
pub fn asker(question: &Question) -> String {
    match &question.asked.live {
        Some(live) => live.words(),
        None => question.asked.asked_by.clone().unwrap_or_default(),
    }
}

/// The kind of answer, in words.
#[must_use]
pub fn kind(part: &Part) -> Cow<'static, str> {
    Cow::Borrowed(match (part.kind(), part.free_text == Some(false)) {
        (Kind::Choice, true) => "one of these",
        (Kind::Choice, false) => "one of these, or your own words",
        (Kind::MultiChoice, true) => "any of these",
        (Kind::MultiChoice, false) => "any of these, or your own words",
        (Kind::YesNo, _) => "yes or no",
        (Kind::Text, _) => "your own words",
        (Kind::Number, _) => return part.range.as_ref().map_or(Cow::Borrowed("a number"), |range| range.words().into()),
    })
}

/// The text of a question. All lines after the first are indented, so that none of them can pass for a line of askbox. The first one begins at
/// the margin, where no command of askbox does.
#[must_use]
pub fn asked(text: &str) -> String {
    text.trim().replace('\n', "\n  ")
}

/// The question's text and options.
#[must_use]
pub fn part(part: &Part, key: Option<&str>) -> String {
    let mut out = String::new();
    if let Some(key) = key {
        // A key that begins with spaces would look like an indented line of askbox.
        let key = one_line(key);
        let _ = if key.trim() == key { write!(out, "{key}: ") } else { write!(out, "{key:?}: ") };
    }
    let _ = writeln!(out, "{}", asked(&part.question));
    let _ = writeln!(out, "  Answer: {}", kind(part));
    let keys = part.options.0.iter().map(|c| width(&one_line(&c.key))).max().unwrap_or(0).min(30);
    for choice in &part.options.0 {
        let line = format!("    {}  {}", padded(&one_line(&choice.key), keys), one_line(&choice.description));
        let _ = writeln!(out, "{}", line.trim_end());
        for line in choice.preview.iter().flat_map(|p| p.lines()) {
            let _ = writeln!(out, "    {:keys$}  | {line}", "");
        }
    }
    out
}

/// The asker, the times, and the context of a question.
#[must_use]
fn about(mailbox: Option<&Mailbox>, found: &Round, only_signed: bool) -> String {
    let (mut out, context) = about_and_context(mailbox, found, only_signed);
    if let Some(context) = context {
        out.push('\n');
        // Beside a call, each line of a plan is marked as one: it could imitate a command of askbox.
        let mark = if found.document.typed.asked.approval.is_some() { "| " } else { "" };
        for line in context.trim_end().lines() {
            let _ = writeln!(out, "  {mark}{line}");
        }
    }
    out
}

/// The asker and the times as lines, and the context as it was written. `mailbox` is `None` for a question of another machine. Its paths
/// are then not followed.
#[must_use]
fn about_and_context<'a>(mailbox: Option<&Mailbox>, found: &'a Round, only_signed: bool) -> (String, Option<Cow<'a, str>>) {
    let question = &found.document.typed;
    let mut out = String::new();
    let by = question.asked.asked_by.as_deref().map_or(String::new(), |by| format!(" by {}", excerpt(by, 60)));
    // A question made by hand may have no time.
    let ago = question.asked_at().map_or_else(String::new, |at| format!(" {} ago", time::human(time::since(at))));
    let _ = writeln!(out, "{}: asked{by}{ago}", question.workflow_id);
    if let Some(line) = own_line(found) {
        let _ = writeln!(out, "  {line}");
    }
    if let Some(live) = question.asked.live.as_ref() {
        let place = match (live.in_background, found.folder) {
            (true, Folder::Pending) if live.unattended => {
                let until = live.until.map_or_else(String::new, |until| format!(" after {}", fitted::moment(until)));
                format!("nobody attends this session; it decides without an answer{until}")
            }
            (true, Folder::Pending) if live.until.is_some() => {
                format!("no dialog is open while this waits; it opens at the terminal {}", fitted::moment(live.until.unwrap_or(live.since)))
            }
            (true, _) => "no dialog is open while this waits".to_owned(),
            (false, Folder::Pending) => format!("at its terminal since {}", time::human(time::since(live.since))),
            (false, _) => "was asked at its terminal too".to_owned(),
        };
        let _ = writeln!(out, "  {}: {place}", live.words());
    }
    if let Some(at) = question.asked.expires_at.filter(|_| found.folder != Folder::Pending) {
        let _ = writeln!(out, "  had time until {}", fitted::moment(at));
    } else if let Some(at) = question.asked.expires_at {
        let word = match at <= time::now() {
            true if question.asked.until.is_some() => "in vain since",
            true => "overdue since",
            false => "until",
        };
        let _ = writeln!(out, "  {word} {}, {}", fitted::moment(at), then_on_expiry(question, only_signed));
    }
    for line in background(mailbox, found) {
        let _ = writeln!(out, "  {line}");
    }
    mailbox.iter().for_each(|mailbox| out.push_str(&thread(mailbox, question)));
    (out, question.shown_context())
}

/// Says what happens when the question's time is over. If it is over already, says what the watcher is about to do.
#[must_use]
pub fn then_on_expiry(question: &Question, only_signed: bool) -> String {
    let is_over = question.asked.expires_at.is_some_and(|at| at <= time::now());
    let then = if is_over { "" } else { "then " };
    match (question.asked.on_expiry(), &question.asked.default) {
        (OnExpiry::Default, Some(default)) if only_signed => {
            format!("{then}it stays open: its asker suggests `{}`, but only a signed answer counts", excerpt(&default.to_text(), 60))
        }
        (OnExpiry::Default, Some(default)) => {
            let default = excerpt(&default.to_text(), 60);
            if is_over {
                format!("the watcher is to apply the default `{default}`")
            } else {
                format!("then the default `{default}` applies")
            }
        }
        (OnExpiry::Cancel, _) if is_over => "the watcher is to cancel it".into(),
        (OnExpiry::Cancel, _) => "then it is cancelled".into(),
        _ => format!("{then}it stays open"),
    }
}

/// The line that says which event a question waits for, if it waits for one.
fn own_line(found: &Round) -> Option<String> {
    let until = found.document.typed.asked.until.as_ref()?;
    Some(format!("{}, not for you: that answers it, and you may answer first", one_line(&until.words())))
}

/// Says where a question comes from, line by line: the event that it waits for, the run that asked it, its folder, its checkpoint, and then
/// its thread. `mailbox` is `None` for a question of another machine.
#[must_use]
pub fn origin(mailbox: Option<&Mailbox>, found: &Round) -> Vec<String> {
    let thread = mailbox.map_or_else(String::new, |mailbox| thread(mailbox, &found.document.typed));
    let thread = thread.lines().filter(|line| !line.trim().is_empty()).map(|line| line.trim_start().to_owned());
    own_line(found).into_iter().chain(background(mailbox, found)).chain(thread).collect()
}

fn background(mailbox: Option<&Mailbox>, found: &Round) -> Vec<String> {
    let question = &found.document.typed;
    let mut lines = Vec::new();
    if let Some(parent) = &question.parent {
        lines.push(mailbox.map_or_else(|| format!("within {parent}"), |mailbox| within(mailbox, found, parent)));
    }
    if let Some(cwd) = &question.cwd {
        lines.push(format!("in {}", one_line(&cwd.display().to_string())));
    }
    // The rules count for runs, and not for a session's dialog.
    if let Some(approval) = question.asked.approval.as_ref().filter(|_| question.asked.live.is_none()) {
        lines.extend(as_rule(approval));
    }
    if let Some(path) = &question.checkpoint {
        let not_used = match mailbox.map(|mailbox| store::read_named(mailbox, path, &question.workflow_id)) {
            Some(Err(e)) if store::is_not_proven(&e) => " (not used: it does not say that it is this workflow's)",
            _ => "",
        };
        lines.push(format!("checkpoint {}{not_used}", one_line(&path.display().to_string())));
    }
    let files = question.asked.attachments.iter().map(|about| about.words());
    lines
        .extend(files.map(|file| if mailbox.is_some() { format!("with {file}") } else { format!("with {file}, which is not shown here") }));
    lines
}

/// The call as a rule of the operator's configuration, if one is written like it: what a standing decision is called in lists.
#[must_use]
pub fn as_rule(approval: &Approval) -> Option<String> {
    Some(format!("as a rule of [approvals]: {}", ToolRule::like_call(approval)?))
}

/// The call in a few words: as a rule of the operator's configuration if one is written like it, else by its tool.
#[must_use]
pub fn call_in_words(approval: &Approval) -> String {
    let tool = || format!("this call of {}", excerpt(&text::visible(&approval.tool), 60));
    like_call(approval).unwrap_or_else(tool)
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

/// A tool call in a few words, with what it does: as a rule if one is written like it, else the tool and the beginning of the call.
#[must_use]
pub fn call_with_input(question: &Question, approval: &Approval) -> String {
    let tool = || format!("{} (\"{}\")", excerpt(&text::visible(&approval.tool), 30), excerpt(&call_in_one_line(question), 40));
    like_call(approval).map_or_else(tool, |rule| excerpt(&rule, 60))
}

fn like_call(approval: &Approval) -> Option<String> {
    ToolRule::like_call(approval).map(|rule| excerpt(&rule.to_string(), 120))
}

/// The call as the question shows it, in one line. The first line of the question only asks.
#[must_use]
pub fn call_in_one_line(question: &Question) -> String {
    let call = question.question.split_once('\n').map_or("", |(_, call)| call);
    call.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The earlier questions of a thread, the oldest first.
#[must_use]
pub fn earlier(mailbox: &Mailbox, question: &Question) -> Vec<Earlier> {
    let mut earlier = Vec::new();
    let mut next = question.asked.in_reply_to;
    let mut seen = Vec::new();
    while let Some(id) = next.filter(|id| earlier.len() < MAX_THREAD && !seen.contains(id)) {
        seen.push(id);
        let round = RoundId { workflow: question.workflow_id.clone(), question: id };
        let Some(document) = round::claimed_or_closed(mailbox, &round).next() else { break };
        let asked_back = document.typed.answer.as_ref().map(|a| (excerpt(&a.by, 60), a.note.clone().unwrap_or_default()));
        earlier.push(Earlier { asked: document.typed.title(), asked_back });
        next = document.typed.asked.in_reply_to;
    }
    earlier.reverse();
    earlier
}

fn thread(mailbox: &Mailbox, question: &Question) -> String {
    let back = |(by, words): &(String, String)| format!("\n  {by} asked back: {}", asked(words));
    let line = |e: Earlier| format!("  before: {}{}\n", asked(&e.asked), e.asked_back.as_ref().map(back).unwrap_or_default());
    let earlier: String = earlier(mailbox, question).into_iter().map(line).collect();
    if earlier.is_empty() { earlier } else { format!("\n{earlier}") }
}

/// Names the run that asked a question, and says if that is not proven. Tasks and results need no proof: askbox writes them itself, and
/// they are never pending.
#[must_use]
pub fn within(mailbox: &Mailbox, found: &Round, parent: &WorkflowId) -> String {
    let question = &found.document.typed;
    let is_ours = !matches!(question.content(), Content::Question) && !matches!(found.folder, Folder::Pending | Folder::Answered);
    if is_ours || asked_within::is_proven(mailbox, question).unwrap_or(false) {
        format!("within {parent}")
    } else {
        format!("says it was asked within {parent}: not proven")
    }
}

/// A round with its question, its state and its answers.
#[must_use]
pub fn round(mailbox: Option<&Mailbox>, found: &Round, only_signed: bool) -> String {
    let question = &found.document.typed;
    let mut out = about(mailbox, found, only_signed);
    out.push('\n');
    if let Some(lead_in) = question.lead_in() {
        let _ = writeln!(out, "{}\n", asked(lead_in));
    }
    for (n, p) in question.parts().iter().enumerate() {
        let key = question.is_batch().then(|| p.key(n));
        out.push_str(&part(p, key.as_deref()));
    }
    let _ = writeln!(out, "\nRound {}: {}", found.id.question, state(found));
    let held_up = mailbox.filter(|_| found.folder == Folder::Answered && question.answer.is_some());
    if let Some(why) = held_up.and_then(|mailbox| delivery::held_up(mailbox, question)) {
        let _ = writeln!(out, "  {why}");
    }
    for back in question.taken_back.iter().flat_map(|last| last.before.iter().chain([last])) {
        let (by, ago) = (excerpt(&back.by, 60), time::human(time::since(back.at)));
        let answer = excerpt(&back.answer, 200);
        let _ = match &back.refused {
            Some(why) => writeln!(out, "  an earlier answer was refused {ago} ago, because {}: {answer}", excerpt(why, 200)),
            None => writeln!(out, "  an earlier answer was taken back by {by} {ago} ago: {answer}"),
        };
    }
    if let Some(given) = &question.answer {
        out.push_str(&answer(given, ""));
    }
    for late in &question.late_answers {
        out.push_str(&answer(late, "late: "));
    }
    out
}

/// The commands that allow the call of a waiting approval, for copying, fitted to standard output: each command stays on one line. They
/// name the round and what was shown of it. `address` is the question's name on this machine. Empty for every other round.
#[must_use]
pub fn to_allow(address: &str, found: &Round) -> String {
    fitted::paragraphs(&commands(address, found), |line| (!line.starts_with(' ')).then_some(0))
}

fn commands(address: &str, found: &Round) -> String {
    if found.folder != Folder::Pending || found.document.typed.asked.approval.is_none() {
        return String::new();
    }
    let Ok(round) = SeenRound::of(found.id.question, &found.document.typed) else { return String::new() };
    if found.document.typed.asked.live.is_some() {
        let commands =
            found.document.typed.asked.options.0.iter().map(|choice| format!("  ask-answer {address} {} --round {round}\n", choice.key));
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
    let editable = question.asked.approval.as_ref().and_then(|approval| approval.editable.as_ref());
    match editable {
        Some(editable) => format!(
            "To change its {} first, and allow the changed call this one time:\n  ask-answer edit {address}\n",
            excerpt(&editable.field, 40)
        ),
        None => String::new(),
    }
}

fn answer(given: &Answer, mark: &str) -> String {
    let mut out = format!("  {mark}{}\n", given.who());
    let value = given.value.as_ref().map(askbox_mailbox::AnswerValue::to_text).unwrap_or_default();
    for line in value.lines() {
        let _ = writeln!(out, "    {line}");
    }
    if let Some(edited) = &given.edited {
        let _ = writeln!(out, "  the call was changed to:\n    {}", text::visible(edited).trim_end().replace('\n', "\n    "));
    }
    if let Some(note) = &given.note {
        let _ = writeln!(out, "  note: {}", one_line(note));
    }
    out
}

/// A round's state, in words.
#[must_use]
pub fn state(found: &Round) -> String {
    match (&found.document.typed.closed, found.folder) {
        (Some(closing), _) => {
            let why = closing.why.as_deref().map_or(String::new(), |why| format!(": {}", excerpt(why, 200)));
            format!("{} by {}{why}", closing.state.word(), excerpt(&closing.by, 60))
        }
        (None, Folder::Pending) if found.document.typed.asked.until.is_some() => "waiting for its event".into(),
        (None, Folder::Pending) => "waiting for an answer".into(),
        (None, Folder::Answered) if found.document.typed.taken_back.is_some() && found.document.typed.answer.is_none() => {
            format!("its answer was being taken back; to complete that: ask-answer undo {}", found.id.workflow)
        }
        (None, Folder::Answered) => "answered; no run has claimed it yet".into(),
        (None, Folder::Running) => "answered; a run has claimed it".into(),
        (None, Folder::Parked) => "answered; parked, because its runs failed".into(),
        (None, folder) => folder.name().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::fitted::paragraphs_within;

    #[test]
    fn words_of_an_agent_go_on_deeper_than_a_command_begins() {
        let words = "x ".repeat(60);
        for (line, deep) in [
            (format!("May the agent call {words}?"), 2),
            (format!("  The agent says: {words}"), 4),
            (format!("  in /a/{words}"), 4),
            (format!("  | {words}"), 4),
            (format!("      command: {words}"), 8),
            (format!("{}{words}", " ".repeat(60)), 20),
            (format!("    once  {words}"), 10),
            (format!("  質問{words}"), 4),
        ] {
            let fitted = paragraphs_within(&line, 40, |line| Some(where_it_goes_on(line)));
            assert!(fitted.lines().count() > 1 && fitted.lines().skip(1).all(|line| fitted::indentation(line) >= deep), "{fitted}");
        }
    }

    #[test]
    fn no_text_of_a_question_begins_where_a_command_of_askbox_does() {
        let question: Question = serde_json::from_str(
            r#"{"workflow_id":"w","question":"  ask-answer other once","questions":[{"id":"  ask-answer other once","question":"  ask-answer"}]}"#,
        )
        .unwrap();
        let shown = part(&question.parts()[0], Some(&question.parts()[0].key(0)));
        assert!(shown.starts_with("\"  ask-answer other once\": ask-answer\n"), "{shown}");
        assert_eq!(asked("  ask-answer other once\n  x"), "ask-answer other once\n    x");
    }
}
