//! What a list tells of a question, and the questions that contain given words.

use crate::ask_answer::question_text;
use askbox_mailbox::{Error, Mailbox, Question, QuestionId, Result, SessionId, Time, excerpt, spelling};

/// What a list tells of a waiting question. Its texts are shortened, because there may be ten thousand of them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Facts {
    /// The round, or `None` for a question made by hand and for a file that cannot be read.
    pub question: Option<QuestionId>,
    /// The question in one line.
    pub title: String,
    /// The asker. Empty if nobody knows.
    pub asked_by: String,
    /// The project. Empty if it is not known.
    pub project: String,
    /// The time when it was asked.
    pub asked_at: Option<Time>,
    /// The time when it expires.
    pub expires_at: Option<Time>,
    /// Its priority.
    pub priority: i32,
    /// The number of questions in it.
    pub parts: usize,
    /// True if the question asks to allow a tool call.
    pub is_approval: bool,
    /// True if the dialog of a live session asks it.
    pub is_live: bool,
    /// That session, or the one that asked.
    pub session: Option<SessionId>,
    /// True if the question replies to one that the person asked back.
    pub is_reply: bool,
    /// True if the question waits for an event, not for a person.
    pub is_event: bool,
}

impl Facts {
    /// The facts about a question of this round. `mailbox` is `None` for a question of another machine.
    pub fn of(mailbox: Option<&Mailbox>, question: &Question, round: Option<QuestionId>) -> Self {
        let fitted = |words: String| String::from(words.into_boxed_str());
        Self {
            question: round,
            title: fitted(excerpt(&question.title(), 160)),
            asked_by: fitted(excerpt(&question_text::asker(question), 40)),
            project: Some(question.project()).filter(|project| project != "-").map(fitted).unwrap_or_default(),
            asked_at: question.asked_at(),
            expires_at: question.expires_at,
            priority: question.priority.unwrap_or(0),
            parts: question.questions.len().max(1),
            is_approval: question.approval.is_some(),
            is_live: question.live.is_some(),
            session: question.live.as_ref().map(|live| live.session).or(question.session_id),
            is_reply: question_text::is_reply(mailbox, question),
            is_event: question.until.is_some(),
        }
    }

    /// True if a question contains all the words of a filter, in its id, its asker, its project or its text. The id is `HOST:ID` on another
    /// machine. `project:NAME` and `by:NAME` look in one of these, `host:NAME` looks in the name of its machine (`local` for this one), and
    /// `priority:N` asks for at least N. `is:live` asks for the dialogs of live sessions.
    pub fn fit(&self, id: &str, filter: &str) -> bool {
        let has = |text: &str, word: &str| spelling::composed(text).to_lowercase().contains(word);
        spelling::composed(filter).to_lowercase().split_whitespace().all(|word| match word.split_once(':') {
            Some(("project", name)) => has(&self.project, name),
            Some(("by", name)) => has(&self.asked_by, name),
            Some(("host", name)) => has(id.split_once(':').map_or("local", |(host, _)| host), name),
            Some(("is", what)) => what == "live" && self.is_live,
            Some(("priority", least)) => least.parse::<i32>().is_ok_and(|least| self.priority >= least),
            _ => [id, &self.asked_by, &self.project, &self.title].into_iter().any(|text| has(text, word)),
        })
    }
}

/// Refuses a filter that no question can match because its `priority:` is not a number.
///
/// # Errors
/// [`Error::Usage`] for such a filter.
pub fn check(filter: &str) -> Result<()> {
    let named = |word: &str| word.to_lowercase().strip_prefix("priority:").map(str::to_owned);
    match filter.split_whitespace().filter_map(named).find(|least| least.parse::<i32>().is_err()) {
        None => Ok(()),
        Some(least) => Err(Error::usage(
            format!("`priority:{}` in --filter names no whole number", excerpt(&least, 40)),
            "questions of at least priority 5: --filter priority:5",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_asks_for_all_of_its_words_and_for_fields_by_name() {
        let (id, there) = ("docs-42", "build:docs-42");
        let (asked_by, project, title) = ("reviewer".into(), "Website".into(), "The sections overlap".into());
        let facts = Facts { asked_by, project, title, priority: 3, ..Facts::default() };
        for filter in ["", "docs", "OVERLAP reviewer", "project:web", "by:rev priority:3"] {
            assert!(facts.fit(id, filter), "{filter}");
        }
        for filter in ["host:local", "host:loc docs"] {
            assert!(facts.fit(id, filter) && !facts.fit(there, filter), "{filter}");
        }
        for filter in ["host:build", "build", "build:docs"] {
            assert!(!facts.fit(id, filter) && facts.fit(there, filter), "{filter}");
        }
        assert!(!facts.fit(id, "is:live") && Facts { is_live: true, ..facts.clone() }.fit(id, "is:live docs"));
        for filter in ["other", "is:other", "docs other", "project:docs", "priority:4", "priority:x"] {
            assert!(!facts.fit(id, filter), "{filter}");
        }
    }

    #[test]
    fn a_priority_that_is_not_a_number_is_refused() {
        for filter in ["priority:x", "docs priority:>5", "Priority:"] {
            assert!(matches!(check(filter), Err(Error::Usage { .. })), "{filter}");
        }
        for filter in ["", "priority:5", "docs priority:-3", "prio:5"] {
            assert!(check(filter).is_ok(), "{filter}");
        }
    }
}
