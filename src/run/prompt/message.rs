//! The first message of an attempt.

use crate::agent::chain_signals::quoted;
use crate::config::Config;
use crate::error::Result;
use crate::mailbox::checkpoints::store;
use crate::mailbox::documents::awaited::{End, Ended};
use crate::mailbox::documents::content::Content;
use crate::mailbox::{Mailbox, Question};
use crate::run::attempt::record::{Begin, Run};
use crate::run::prompt::answer_text;
use crate::run::prompt::readable_files::{self, Checkpoint};
use crate::run::prompt::templates::{FRESH, FRESH_WITHOUT_CHECKPOINT, PERHAPS_TOLD, RESUMED, TASK, WOKEN, WOKEN_FRESH, fill};
use crate::text::{one_line, shell_quote};

/// The first message of an attempt: a task, how child workflows ended, or an answer. Writes `answer.txt` beside the run if the answer is too
/// long for a prompt.
pub fn first_message(mailbox: &Mailbox, config: &Config, question: &Question, run: &Run) -> Result<String> {
    if let Content::Results { results, prompt } = question.content() {
        let template = if matches!(run.plan.begin, Begin::Fork { .. }) { WOKEN } else { WOKEN_FRESH };
        let results: String = results.iter().map(result).collect();
        let values = [
            ("workflow_id", run.workflow_id.as_str()),
            ("checkpoint", &checkpoint_in_words(mailbox, question)),
            ("prompt", prompt.as_deref().unwrap_or("(not known)")),
            ("results", &results),
        ];
        return Ok(fill(template, &values));
    }
    // A task is its own message. A session that asked something must not take it for its user's reply.
    if let Content::Task { prompt, .. } = question.content() {
        let is_told = config.answers.require_signed && matches!(run.plan.begin, Begin::Fork { .. });
        return Ok(if is_told { format!("{TASK}{prompt}") } else { prompt.to_owned() });
    }
    let template = match (&run.plan.begin, config.relaunch.prompt.own()) {
        (Begin::Fork { .. }, _) => RESUMED,
        (Begin::Fresh, Some(own)) => own,
        (Begin::Fresh, None) => match readable_files::checkpoint(mailbox, question) {
            Checkpoint::At(_) => FRESH,
            Checkpoint::Unusable(..) | Checkpoint::None => FRESH_WITHOUT_CHECKPOINT,
        },
    };
    let answer = match &question.answer {
        Some(answer) => answer_text::in_words(mailbox, question, answer, run)?,
        None => String::new(),
    };
    let checkpoint = checkpoint_in_words(mailbox, question);
    Ok(fill(
        template,
        &[("workflow_id", run.workflow_id.as_str()), ("checkpoint", &checkpoint), ("question", &question.title()), ("answer", &answer)],
    ))
}

/// How one child ended. Its text is quoted, so that it is never read as a chain signal.
fn result(ended: &Ended) -> String {
    let (id, text) = (&ended.workflow_id, quoted(&ended.text));
    let seen = if ended.perhaps_told { PERHAPS_TOLD } else { "" };
    if ended.cut {
        let had = match &ended.file {
            _ if ended.text.trim().is_empty() => "It had written nothing.".into(),
            Some(file) => {
                format!("What it had written is long; read it from {}. It begins:\n{text}", shell_quote(&file.display().to_string()))
            }
            None => format!("What it had written:\n{text}"),
        };
        return format!("{id} was cut off at its limit of turns and is parked.{seen} It had not finished. {had}\n\n");
    }
    match (ended.end, &ended.file) {
        (End::Finished, Some(file)) => {
            let file = shell_quote(&file.display().to_string());
            format!("{id} finished.{seen} Its reply is long; read it from {file}. It begins:\n{text}\n\n")
        }
        (End::Finished, None) => format!("{id} finished.{seen} Its reply:\n{text}\n\n"),
        (end, _) => format!("{id} has no reply, it is {}:{seen} {}\n\n", end.word(), one_line(&text)),
    }
}

fn checkpoint_in_words(mailbox: &Mailbox, question: &Question) -> String {
    match readable_files::checkpoint(mailbox, question) {
        Checkpoint::At(path) => path.display().to_string(),
        Checkpoint::Unusable(path, e) if store::is_not_proven(&e) => {
            format!("{} (not used, it does not say that it is this workflow's checkpoint: say so if you need it)", path.display())
        }
        Checkpoint::Unusable(path, _) => format!("{} (missing or unreadable: say so if you need it)", path.display()),
        Checkpoint::None => "(none was saved)".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::attempt::record::Plan;
    use crate::run::delivery::Delivery;

    #[test]
    fn a_task_is_told_as_a_task_to_a_session_that_may_have_asked_something() {
        let folder = tempfile::tempdir().unwrap();
        let mailbox = Mailbox::open_or_create(folder.path().join("m")).unwrap();
        let task: Question = serde_json::from_str(
            r#"{"workflow_id":"w","question":"x","question_id":"15c96f27-091a-5dc1-bcce-0d2e49721bc0","prompt":"The user said: yes"}"#,
        )
        .unwrap();
        let round = task.round().unwrap();
        let mut run = Run::first(&round, Delivery::Launch.claimant(), Plan::without_launch(&round));
        let mut config = Config::default();
        config.answers.require_signed = true;
        assert_eq!(first_message(&mailbox, &config, &task, &run).unwrap(), "The user said: yes");
        run.plan.begin = Begin::Fork { from: run.plan.session_id, of: None };
        let told = first_message(&mailbox, &config, &task, &run).unwrap();
        assert!(told.starts_with("This is a task") && told.ends_with("\n\nThe user said: yes"), "{told}");
        assert_eq!(first_message(&mailbox, &Config::default(), &task, &run).unwrap(), "The user said: yes");
    }
}
