//! A late answer to a dialog whose session has ended. The dialog does not come back, so the answer can only be the session's next prompt.

use crate::words::inserted::at_the_end;
use crate::words::{they_say, user_added};
use askbox_agent::sessions;
use askbox_mailbox::programs::CLAUDE;
use askbox_mailbox::text::path_word;
use askbox_mailbox::{Answer, Closed, Outcome, Question, shell_quote};

/// Returns a sentence with the command that gives the session the answer which its dialog did not take. `None` if there is no such answer, or
/// if the session still lives.
pub fn offer(question: &Question) -> Option<String> {
    let was_too_late = question.closed.as_ref().is_some_and(|closed| closed.state == Closed::Superseded);
    let answer = question.late_answers.last().or_else(|| question.answer.as_ref().filter(|_| was_too_late))?;
    Some(format!("Its session has ended. To give it your answer as its next prompt:\n  {}", command(question, answer)?))
}

/// The command that gives the answer to its session as the next prompt. `None` if the session still lives, or if this is another question.
fn command(question: &Question, answer: &Answer) -> Option<String> {
    let live = question.live.as_ref().filter(|live| live.program == CLAUDE.name && question.elicited_by.is_none())?;
    let session = live.session.to_string();
    if question.config_dir.as_deref().is_none_or(|folder| sessions::claude::is_alive(folder, &session)) {
        return None;
    }
    // The session's own mode decides about the call when it is made again. Words allow nothing.
    Some(format!("cd {} && claude --resume {session} {}", path_word(question.cwd.as_ref()?), shell_quote(&in_words(question, answer))))
}

fn in_words(question: &Question, answer: &Answer) -> String {
    let answered = answer.value.as_ref().filter(|_| answer.outcome == Outcome::Answered);
    match (&question.approval, answered) {
        (Some(_), Some(_)) => "You were interrupted at a call that waited for me. Make it again if you still need it, and I decide.".into(),
        (Some(_), None) => format!("You were interrupted at a call that waited for me. Do not make it.{}", they_say(answer).trim_end()),
        (None, Some(value)) => {
            let asked = if question.is_batch() { question.title() } else { question.question.clone() };
            format!(
                "You were interrupted at your question:{}\nMy answer:{}{}",
                at_the_end(&asked),
                at_the_end(&value.to_text()),
                user_added(answer)
            )
        }
        (None, None) => format!("You were interrupted at a question of yours. I do not answer it.{}", they_say(answer).trim_end()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(config_dir: &str) -> Question {
        serde_json::from_str(&format!(
            r#"{{"workflow_id":"w","question":"Which?","cwd":"/my shop","config_dir":"{config_dir}","live":{{"session":"15c96f27-091a-5dc1-bcce-0d2e49721bc0","program":"claude","project":"p","since":"2026-01-01T00:00:00Z"}}}}"#
        ))
        .unwrap()
    }

    #[test]
    fn an_answer_to_an_ended_session_is_its_next_prompt() {
        let answer = Answer::value("it's SQLite".into(), "ann", "hand");
        let begin = "cd '/my shop' && claude --resume 15c96f27-091a-5dc1-bcce-0d2e49721bc0 ";
        let prompt = r"'You were interrupted at your question: Which?
My answer: it'\''s SQLite'";
        assert_eq!(command(&question("/nowhere"), &answer).unwrap(), format!("{begin}{prompt}"));
        let declined = Answer::declined(Some("later".into()), "ann", "hand");
        assert!(command(&question("/nowhere"), &declined).unwrap().contains("I do not answer it."));
        let mut late = question("/nowhere");
        assert_eq!(offer(&late), None, "nothing was answered");
        late.late_answers = vec![declined];
        assert!(offer(&late).unwrap().contains("claude --resume"));
        let mut of_run = question("/nowhere");
        of_run.live = None;
        assert_eq!(command(&of_run, &answer), None);
    }
}
