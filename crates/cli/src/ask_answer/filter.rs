//! Finds the questions that contain given words.

use askbox_mailbox::text::excerpt;
use askbox_mailbox::{Error, Result, spelling};

/// The parts of a question that a filter searches.
#[derive(Debug, Clone, Copy)]
pub struct Looked<'a> {
    /// The workflow's id, or `HOST:ID` for another machine.
    pub id: &'a str,
    /// The asker.
    pub asked_by: &'a str,
    /// [`Question::project`](askbox_mailbox::Question::project)
    pub project: &'a str,
    /// The question in one line.
    pub headline: &'a str,
    /// The question's priority.
    pub priority: i32,
    /// True if the dialog of a live session asks it.
    pub is_live: bool,
}

/// The word of a filter for the questions of live sessions.
const LIVE: &str = "is:live";

/// The filter, for the questions of live sessions alone if `live` is true.
pub fn with_live(filter: &str, live: bool) -> String {
    if live { format!("{filter} {LIVE}") } else { filter.to_owned() }
}

/// True if a question contains all the words of a filter, in its id, its asker, its project or its text. `project:NAME` and `by:NAME` look
/// in one of these, `host:NAME` looks in the name of its machine (`local` for this one), and `priority:N` asks for at least N. `is:live` asks for the dialogs of
/// live sessions.
pub fn fits(question: Looked<'_>, filter: &str) -> bool {
    let has = |text: &str, word: &str| spelling::composed(text).to_lowercase().contains(word);
    spelling::composed(filter).to_lowercase().split_whitespace().all(|word| match word.split_once(':') {
        Some(("project", name)) => has(question.project, name),
        Some(("by", name)) => has(question.asked_by, name),
        Some(("host", name)) => has(question.id.split_once(':').map_or("local", |(host, _)| host), name),
        Some(("is", what)) => what == "live" && question.is_live,
        Some(("priority", least)) => least.parse::<i32>().is_ok_and(|least| question.priority >= least),
        _ => [question.id, question.asked_by, question.project, question.headline].into_iter().any(|text| has(text, word)),
    })
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
        let question = Looked {
            id: "docs-42",
            asked_by: "reviewer",
            project: "Website",
            headline: "The sections overlap",
            priority: 3,
            is_live: false,
        };
        for filter in ["", "docs", "OVERLAP reviewer", "project:web", "by:rev priority:3"] {
            assert!(fits(question, filter), "{filter}");
        }
        for filter in ["host:local", "host:loc docs"] {
            assert!(fits(question, filter) && !fits(Looked { id: "build:docs-42", ..question }, filter), "{filter}");
        }
        for filter in ["host:build", "build", "build:docs"] {
            assert!(!fits(question, filter) && fits(Looked { id: "build:docs-42", ..question }, filter), "{filter}");
        }
        assert!(!fits(question, LIVE) && fits(Looked { is_live: true, ..question }, "is:live docs"));
        for filter in ["other", "is:other", "docs other", "project:docs", "priority:4", "priority:x"] {
            assert!(!fits(question, filter), "{filter}");
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
