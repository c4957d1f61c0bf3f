//! What the relaunched agent is told.

use std::path::PathBuf;

use crate::agent::chain_signals::quoted;
use crate::config::Config;
use crate::disk;
use crate::error::Result;
use crate::mailbox::answer::Outcome;
use crate::mailbox::awaits::{End, Ended};
use crate::mailbox::{Answer, AnswerValue, Folder, Mailbox, Question};
use crate::run::attempt::record::{Begin, Run};
use crate::text::shell_quote;

/// An answer longer than this, in bytes, goes by file: the agent's CLI refuses a prompt of more than 2 MB, and what it
/// has read it pays for in every later turn.
pub const INLINE_ANSWER: usize = 512 << 10;

/// The built-in template of a fresh session.
pub const FRESH: &str = "\
Resume workflow from checkpoint at {checkpoint}.
Workflow: {workflow_id}. Question that was asked: {question}
{answer}
Continue with next steps.

Read the checkpoint with `checkpoint show {workflow_id}` (or the file itself). If another decision is needed, save the \
state with `checkpoint save {workflow_id}`, ask with `ask-post -w {workflow_id} \"QUESTION\" -o KEY=DESCRIPTION`, and end your turn: \
you will be relaunched with the answer.
";

/// The message to a forked session, which knows its own question.
pub const RESUMED: &str = "\
The question of workflow {workflow_id} has its reply.
Question: {question}
{answer}
Continue with next steps.
";

/// The message to a session whose children have ended.
pub const WOKEN: &str = "\
What you started has ended.

{results}
Continue with next steps.
";

/// The same where that session cannot be continued.
pub const WOKEN_FRESH: &str = "\
Go on with workflow {workflow_id}. Its earlier session cannot be continued; checkpoint: {checkpoint}.
It was begun with this prompt:
{prompt}

What it had started has ended:

{results}
Continue with next steps.
";

/// Beside what may be no news.
const PERHAPS_TOLD: &str = " (You may have seen this: it was being printed for you when that command was cut off.)";

/// What a stopped agent is asked, if whoever stopped it wants a report.
pub const REPORT: &str = "You have been stopped. Do not call any tool. Report in a few sentences what you have done, what is unfinished, and which files you changed.";

/// What goes to a session that had the answer before it was cut.
pub const CONTINUE: &str = "Your process was interrupted and has been restarted. Continue where you left off; check what the last tool call did before you repeat it.";

/// The message that carries the answer. Writes `answer.txt` beside the run where the answer is too long for a prompt.
pub fn message(mailbox: &Mailbox, config: &Config, question: &Question, run: &Run) -> Result<String> {
    if let (false, None) = (question.results.is_empty(), &question.answer) {
        let template = if matches!(run.begin, Begin::Fork { .. }) { WOKEN } else { WOKEN_FRESH };
        let results: String = question.results.iter().map(result).collect();
        let values = [
            ("workflow_id", run.workflow_id.as_str()),
            ("checkpoint", &checkpoint_in_words(mailbox, question)),
            ("prompt", question.prompt.as_deref().unwrap_or("(not known)")),
            ("results", &results),
        ];
        return Ok(fill(template, &values));
    }
    // A task says itself what is to be done.
    if let (Some(prompt), None) = (&question.prompt, &question.answer) {
        return Ok(prompt.clone());
    }
    let template = match (&run.begin, config.relaunch.prompt.as_str()) {
        (Begin::Fork { .. }, _) => RESUMED,
        (Begin::Fresh, "") => FRESH,
        (Begin::Fresh, own) => own,
    };
    let answer = match &question.answer {
        Some(answer) => self::answer(mailbox, question, answer, run)?,
        None => String::new(),
    };
    let checkpoint = checkpoint_in_words(mailbox, question);
    Ok(fill(
        template,
        &[("workflow_id", run.workflow_id.as_str()), ("checkpoint", &checkpoint), ("question", &question.title()), ("answer", &answer)],
    ))
}

/// One child's end. What it says is no signal, whatever it says.
fn result(ended: &Ended) -> String {
    let (id, text) = (&ended.workflow_id, quoted(&ended.text));
    let seen = if ended.perhaps_told { PERHAPS_TOLD } else { "" };
    match (ended.end, &ended.file) {
        (End::Finished, Some(file)) => {
            let file = shell_quote(&file.display().to_string());
            format!("{id} finished.{seen} Its reply is long; read it from {file}. It begins:\n{text}\n\n")
        }
        (End::Finished, None) => format!("{id} finished.{seen} Its reply:\n{text}\n\n"),
        (end, _) => format!("{id} has no reply, it is {}:{seen} {}\n\n", end.word(), crate::text::one_line(&text)),
    }
}

/// Files that a task or a piece of news names: whoever is told of them may read them.
#[must_use]
pub fn named_files(question: &Question) -> Vec<PathBuf> {
    if question.answer.is_some() {
        // A question may come from anybody, and says nothing of permissions.
        return Vec::new();
    }
    question.reads.iter().cloned().chain(question.results.iter().filter_map(|r| r.file.clone())).collect()
}

/// Replaces `{name}` once, left to right, so that what is filled in is never itself taken for a template.
fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut out = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(at) = rest.find('{') {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let hit = values.iter().find(|(name, _)| from[1..].starts_with(name) && from[1 + name.len()..].starts_with('}'));
        match hit {
            Some((name, value)) => {
                out.push_str(value);
                rest = &from[name.len() + 2..];
            }
            None => {
                out.push('{');
                rest = &from[1..];
            }
        }
    }
    out + rest
}

/// The workflow's checkpoint: the one that the question names if it can be read, else the one in the mailbox.
#[must_use]
pub fn checkpoint(mailbox: &Mailbox, question: &Question) -> Option<PathBuf> {
    let own = mailbox.document(Folder::Checkpoints, &question.workflow_id);
    let named = question
        .checkpoint
        .as_ref()
        .filter(|p| **p == own || crate::mailbox::documents::checkpoint::read_for(p, &question.workflow_id).is_ok());
    named.cloned().or_else(|| own.exists().then_some(own))
}

fn checkpoint_in_words(mailbox: &Mailbox, question: &Question) -> String {
    match (checkpoint(mailbox, question), &question.checkpoint) {
        (Some(path), _) => path.display().to_string(),
        (None, Some(lost)) => format!("{} (missing or unreadable: say so if you need it)", lost.display()),
        (None, None) => "(none was saved)".into(),
    }
}

/// Where an answer lies that is too long for a prompt.
#[must_use]
pub fn answer_file(mailbox: &Mailbox, run: &Run) -> PathBuf {
    run.folder(mailbox).join("answer.txt")
}

fn answer(mailbox: &Mailbox, question: &Question, answer: &Answer, run: &Run) -> Result<String> {
    let note = answer.note.as_ref().map(|n| format!("\nThe user added: {n}")).unwrap_or_default();
    let (outcome, value) = (answer.outcome, answer.value.as_ref());
    let (Outcome::Answered, Some(value)) = (outcome, value) else {
        return Ok(format!(
            "The user declined to answer. Do not guess an answer: go on without it, or end your turn and say what is missing.{note}"
        ));
    };
    if value.to_text().len() > INLINE_ANSWER {
        let path = answer_file(mailbox, run);
        disk::touch_folder(&run.folder(mailbox))?;
        disk::replace(&path, value.to_text().as_bytes())?;
        return Ok(format!(
            "The user's answer is {} bytes long; read it from {}{note}",
            value.to_text().len(),
            shell_quote(&path.display().to_string())
        ));
    }
    let who = if answer.by == crate::mailbox::answer::DEFAULT {
        "Nobody answered in time, so the default that was set applies"
    } else {
        "User chose"
    };
    Ok(match value {
        AnswerValue::Batch(map) => {
            let mut text = format!("{who}:");
            for (n, part) in question.questions.iter().enumerate() {
                let given =
                    map.get(&part.key(n)).cloned().and_then(|v| AnswerValue::from_json(v).ok()).map(|v| v.to_text()).unwrap_or_default();
                text.push_str(&format!("\n- {} ({}): {given}", part.question, part.key(n)));
            }
            text + &note
        }
        value => {
            let described = question.options.get(&value.to_text()).filter(|c| !c.description.is_empty());
            format!("{who}: {}{}{note}", value.to_text(), described.map(|c| format!(" ({})", c.description)).unwrap_or_default())
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_filled_in_is_never_taken_for_a_template() {
        assert_eq!(fill("{a}-{b}-{c}{", &[("a", "{b}"), ("b", "x{a}")]), "{b}-x{a}-{c}{");
    }
}
