//! The question that shows a tool call to a person, and the meaning of the person's reply.

use std::fmt::Write;

use serde_json::Value;

use crate::approval::call::Call;
use crate::approval::change::Change;
use crate::words::{self, AskAgain};
use askbox_mailbox::documents::fields::approval::{self, EDITED, ONCE, WORKFLOW, on_a_line, shown_field};
use askbox_mailbox::documents::fields::approval_text::{
    ABOUT_SUBAGENT, AGENT_SAYS, FOLDER, PLAN, SUBAGENT, first_line, is_first_line, place,
};
use askbox_mailbox::documents::fields::live::{EXIT_PLAN_MODE, Live};
use askbox_mailbox::documents::fields::tool_call::Subagent;
use askbox_mailbox::{AnswerValue, Error, Kind, Outcome, Question, Result, ToolCall, WorkflowId, text, time};

/// The most bytes of a call that a person is shown. A longer call is refused, because a person can only allow what they see.
pub const LONGEST_SHOWN: usize = 32 << 10;
/// The room for the first line of a question, in bytes.
const LONGEST_FIRST: usize = 2 << 10;
/// The most characters of the agent's own words.
const LONGEST_WORDS: usize = 300;
/// The most characters of a person's name.
const LONGEST_NAME: usize = 60;

/// Why a call is shown again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shown {
    /// It is a call that nobody has allowed.
    First,
    /// It was allowed once, at this time and by this person. That answer is used up, and a process died since then, so the call may have run.
    PerhapsMade(String),
}

impl Shown {
    /// A call that this question's answer has allowed.
    pub fn perhaps_made(question: &Question) -> Self {
        let answer = question.answer.as_ref();
        let at = answer.and_then(|answer| answer.at).map_or_else(String::new, |at| format!("at {} ", time::rfc3339(at)));
        let by = answer.map_or("somebody", |answer| answer.by.as_str());
        Self::PerhapsMade(format!("{at}by {}", text::excerpt(&text::visible(by), LONGEST_NAME)))
    }

    fn allowed(&self) -> Option<&str> {
        if let Self::PerhapsMade(allowed) = self { Some(allowed) } else { None }
    }
}

/// Returns the question that asks if the call may be made.
///
/// # Errors
/// [`Error::Invalid`] if the call is too long to be shown.
pub fn question(workflow: &WorkflowId, call: &Call<'_>, shown: Shown) -> Result<Question> {
    question_within(workflow, call, &shown, None)
}

/// [`question`] about the call with this id, which a subagent makes if one is named.
///
/// # Errors
/// [`Error::Invalid`] if the call is too long to be shown.
pub fn question_about(workflow: &WorkflowId, call: &Call<'_>, shown: Shown, id: &str, subagent: Option<Subagent>) -> Result<Question> {
    let mut question = question_within(workflow, call, &shown, subagent.as_ref())?;
    question.tool_call = Some(ToolCall { name: call.tool.to_owned(), id: id.to_owned(), subagent });
    Ok(question)
}

/// The question that a session's dialog asks at its terminal at the same moment: may this call be made. A plan stands in `context`, as
/// Markdown.
///
/// # Errors
/// [`Error::Invalid`] if the call is too long to be shown.
pub fn question_of_dialog(workflow: &WorkflowId, call: &Call<'_>, id: &str, subagent: Option<Subagent>, live: Live) -> Result<Question> {
    let mut question = question_about(workflow, call, Shown::First, id, subagent)?;
    if let Some(plan) = plan(call) {
        question.question = plan_in_words(call);
        question.context = Some(plan.to_owned());
    }
    question.options = live.options(call.tool);
    question.live = Some(Box::new(live));
    Ok(question)
}

/// Says in the question of a dialog that this earlier answer has allowed the same call in the same session, and that it may have run. Does
/// nothing if it is another call, or if the answer allowed nothing.
pub(crate) fn say_if_allowed(question: &mut Question, earlier: &Question) {
    let session = |question: &Question| question.live.as_ref().map(|live| live.session);
    let (Some(now), Some(before)) = (&question.approval, &earlier.approval) else { return };
    let is_allowed = earlier.answer.as_ref().is_some_and(|answer| answer.outcome == Outcome::Answered);
    if is_allowed
        && now.is_of(before)
        && session(question) == session(earlier)
        && let Some(below) = question.question.strip_prefix(&first_line(&now.tool, None))
    {
        question.question = first_line(&now.tool, Shown::perhaps_made(earlier).allowed()) + below;
    }
}

/// The plan that the call shows to the user.
fn plan<'a>(call: &Call<'a>) -> Option<&'a str> {
    call.input.get("plan").filter(|_| call.tool == EXIT_PLAN_MODE).and_then(Value::as_str)
}

fn plan_in_words(call: &Call<'_>) -> String {
    format!("{PLAN}\n{FOLDER}{}", text::file_name(call.cwd))
}

fn question_within(workflow: &WorkflowId, call: &Call<'_>, shown: &Shown, subagent: Option<&Subagent>) -> Result<Question> {
    let mut question = Question::new(workflow.clone(), in_words(call, shown, subagent)?);
    question.kind = Some(Kind::Choice);
    question.options = approval::options();
    question.free_text = Some(false);
    question.approval = Some(call.approval());
    question.cwd = Some(call.cwd.to_path_buf()).filter(|cwd| cwd.is_absolute());
    Ok(question)
}

/// True if the question shows exactly this call, and the file that it changes as it is now. The text is compared as well as the hash: a
/// question whose words somebody changed allows nothing. A person has decided about what they saw, so look at this before a call is made.
pub fn shows(question: &Question, call: &Call<'_>) -> bool {
    compare(question, call, |words, shown| shown == words.with_file(call))
}

/// True if the question is about exactly this call, whatever is in the file that it changes: the call itself may have changed it.
pub fn is_about(question: &Question, call: &Call<'_>) -> bool {
    compare(question, call, |words, shown| words.fit(shown, str::is_empty))
}

/// [`is_about`], whatever the agent says beside the call: a standing decision holds for the call and not for these words.
pub fn is_about_in_other_words(question: &Question, call: &Call<'_>) -> bool {
    let input = call.input_without_words();
    // The line of the agent's words below a call, and nothing else.
    let words = |more: &str| more.strip_prefix('\n')?.strip_prefix(AGENT_SAYS).filter(|words| !words.contains('\n')).map(drop);
    let more = |more: &str| more.is_empty() || words(more).is_some();
    compare(question, &Call { input: &input, ..*call }, |words, shown| words.fit(shown, more))
}

/// True if the question has the call's hash, and `is_same` finds the call's words in the lines below its first one.
fn compare(question: &Question, call: &Call<'_>, is_same: impl Fn(&Words<'_>, &str) -> bool) -> bool {
    if !question.approval.as_ref().is_some_and(|approval| approval.is_of(&call.approval())) {
        return false;
    }
    if let (Some(_), Some(plan)) = (&question.live, plan(call)) {
        return question.context.as_deref() == Some(plan) && question.question == plan_in_words(call);
    }
    let Some((first, shown)) = question.question.split_once('\n') else { return false };
    is_first_line(first, call.tool) && is_same(&Words::of(call, subagent_of(question)), shown)
}

/// True if this is the call that the question shows, with the text that the person put in place of the editable one.
pub fn shows_edited(question: &Question, call: &Call<'_>) -> bool {
    let (Some(PersonsReply::Edited(edited)), Some(approval)) = (reply(question), &question.approval) else { return false };
    let Some(editable) = &approval.editable else { return false };
    let Some(original) = call.edited(&editable.text) else { return false };
    let is_edit = call.input.get(&editable.field).and_then(Value::as_str) == Some(edited.as_str());
    is_edit && shows(question, &Call { input: &original, ..*call })
}

/// The subagent that makes the call which the question shows; `None` if the session itself makes it.
pub(crate) fn subagent_of(question: &Question) -> Option<&Subagent> {
    question.tool_call.as_ref().and_then(|call| call.subagent.as_ref())
}

/// The lines about a call below the first one. The file that it changes may be another one later, so the lines about it stand for themselves.
struct Words<'a> {
    /// The object of the call, or all fields if it changes no file.
    head: String,
    change: Option<Change<'a>>,
    /// The other fields, the folder, the subagent and the agent's words.
    tail: String,
}

impl<'a> Words<'a> {
    fn of(call: &Call<'a>, subagent: Option<&Subagent>) -> Self {
        let change = Change::of(call);
        let parts = call.parts();
        let shown = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let fields = parts.as_object().into_iter().flatten().map(|(name, value)| (name.as_str(), shown(value)));
        let mut fields: Vec<_> = fields.filter(|(name, _)| !change.as_ref().is_some_and(|change| change.has(name))).collect();
        fields.sort_by_key(|(name, value)| place(name, value));
        let (head, rest) = fields.split_at(if change.is_some() { 1 } else { fields.len() });
        let lines = |fields: &[(&str, String)]| fields.iter().map(|(name, value)| shown_field(name, value)).collect::<String>();
        let mut tail = format!("{}{FOLDER}{}", lines(rest), text::file_name(call.cwd));
        if let Some(subagent) = subagent {
            let short = |words: &str| text::excerpt(&on_a_line(words), LONGEST_WORDS);
            let kind = subagent.kind.as_deref().map(|kind| format!("{} ", short(kind))).unwrap_or_default();
            let _ = write!(tail, "\n{SUBAGENT}{kind}{}", short(&subagent.id));
            if let Some(task) = &subagent.task {
                let _ = write!(tail, "\n{ABOUT_SUBAGENT}{}", short(task));
            }
        }
        if let Some(words) = call.words().filter(|words| !words.trim().is_empty()) {
            let words = text::excerpt(&text::visible(words), LONGEST_WORDS);
            let _ = write!(tail, "\n{AGENT_SAYS}{words}");
        }
        Self { head: lines(head), change, tail }
    }

    /// All lines, with the file that the call changes as it is now.
    fn with_file(&self, call: &Call<'_>) -> String {
        let room = LONGEST_SHOWN.saturating_sub(self.head.len() + self.tail.len() + LONGEST_FIRST);
        let change = self.change.as_ref().map(|change| change.shown(call.cwd, room)).unwrap_or_default();
        format!("{}{change}{}", self.head, self.tail)
    }

    /// True if these lines are about the call, whatever they show of the file, with `more` behind them.
    fn fit(&self, shown: &str, more: impl Fn(&str) -> bool) -> bool {
        let Some(below) = shown.strip_prefix(&self.head) else { return false };
        let is_change = |lines: &str| match &self.change {
            None => lines.is_empty(),
            Some(change) => lines.ends_with('\n') && lines.lines().all(|line| line.starts_with("    ")) && change.is_in(lines),
        };
        below.match_indices(&self.tail).any(|(at, tail)| is_change(&below[..at]) && more(&below[at + tail.len()..]))
    }
}

/// The first line and the lines below it.
fn in_words(call: &Call<'_>, shown: &Shown, subagent: Option<&Subagent>) -> Result<String> {
    let out = format!("{}\n{}", first_line(call.tool, shown.allowed()), Words::of(call, subagent).with_file(call));
    if out.len() > LONGEST_SHOWN {
        let problem = format!("is {} bytes long as it is shown to a person, the limit is {LONGEST_SHOWN}", out.len());
        return Err(Error::invalid("tool_input", problem, "make the call in smaller steps, or put what is long into a file first"));
    }
    Ok(out)
}

/// The meaning of a person's reply, before anything is used.
pub(super) enum PersonsReply {
    Once,
    Workflow,
    /// Once, with this text in place of the editable one.
    Edited(String),
    Refused(String),
}

/// Reads the answer; `None` if there is none.
pub(super) fn reply(question: &Question) -> Option<PersonsReply> {
    let answer = question.answer.as_ref()?;
    if let Some(asked) = answer.counter_question() {
        return Some(PersonsReply::Refused(words::asks_back(asked, AskAgain::ByTheCall)));
    }
    let word = match &answer.value {
        Some(AnswerValue::Text(word)) if answer.outcome == Outcome::Answered && answer.is_a_persons() => word.as_str(),
        _ => "",
    };
    Some(match (answer.outcome, &answer.edited) {
        (Outcome::Answered, None) if word == ONCE => PersonsReply::Once,
        // The call is allowed once. What else the word gives, its session does: see `Live::offer`.
        (Outcome::Answered, None) if question.live.as_ref().is_some_and(|live| live.offer(word).is_some()) => PersonsReply::Once,
        (Outcome::Answered, None) if word == WORKFLOW && question.live.is_none() => PersonsReply::Workflow,
        (Outcome::Answered, Some(edited)) if word == EDITED => PersonsReply::Edited(edited.clone()),
        (Outcome::Answered, _) => PersonsReply::Refused("Nobody has allowed this call: its answer is no approval of a person.".into()),
        (Outcome::Declined, _) if answer.always => PersonsReply::Refused(words::refused_for_good(Some(answer))),
        (Outcome::Declined, _) => PersonsReply::Refused(words::refused(answer)),
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn asked(tool: &str, input: Value) -> Result<Question> {
        let call = Call { tool, input: input.as_object().unwrap(), cwd: Path::new("/work") };
        question(&"w".parse().unwrap(), &call, Shown::First)
    }

    #[test]
    fn the_question_shows_the_whole_call_with_invisible_parts() {
        let command = "echo a\n  In the folder /safe\nrm -rf \u{202e}x\u{200b}";
        let question = asked("Bash", serde_json::json!({"command": command, "timeout": 5, "description": "List\nfiles"})).unwrap();
        let expected = "May the agent call Bash?\n    command:\n        echo a\n          In the folder /safe\n        rm -rf \\u{202e}x\\u{200b}\n    \
             timeout: 5\nIn the folder /work\nThe agent says: List files";
        assert_eq!(question.question, expected);
        askbox_mailbox::documents::checks::check_question::check(&question).unwrap();
    }

    #[test]
    fn a_call_whose_words_are_too_long_to_be_shown_is_no_question() {
        assert!(asked("Bash", serde_json::json!({"command": "x".repeat(LONGEST_SHOWN)})).is_err());
        assert!(asked("Write", serde_json::json!({"content": "\u{200b}".repeat(LONGEST_SHOWN / 6)})).is_err());
    }

    #[test]
    fn a_question_names_the_object_of_a_call_first() {
        let question = asked("mcp__notes__add", serde_json::json!({"body": "a\n\tb", "id": 7, "path": "/p"})).unwrap();
        let expected =
            "May the agent call add of server notes?\n    path: /p\n    id: 7\n    body:\n        a\n        \tb\nIn the folder /work";
        assert_eq!(question.question, expected);
    }

    #[test]
    fn the_question_of_a_subagents_call_names_the_subagent() {
        let input = serde_json::json!({"command": "git push"});
        let call = Call { tool: "Bash", input: input.as_object().unwrap(), cwd: Path::new("/work") };
        let about = |task: Option<&str>| {
            let subagent = Subagent { id: "a2ed".into(), kind: Some("reviewer".into()), task: task.map(str::to_owned) };
            question_about(&"w".parse().unwrap(), &call, Shown::First, "toolu_1", Some(subagent)).unwrap()
        };
        let asked = about(Some("Review\nIn the folder /safe"));
        let lines: Vec<_> = asked.question.lines().skip(2).collect();
        let said = r"The agent says about the subagent: Review\u{a}In the folder /safe";
        assert_eq!(lines, ["In the folder /work", "A subagent makes this call: reviewer a2ed", said]);
        assert!(shows(&asked, &call) && !shows(&Question { question: about(None).question, ..asked }, &call));
        askbox_mailbox::documents::checks::check_question::check(&about(None)).unwrap();
    }

    #[test]
    fn a_question_shows_one_call_only_and_only_with_its_own_words() {
        let input = serde_json::json!({"command": "git push"});
        let call = Call { tool: "Bash", input: input.as_object().unwrap(), cwd: Path::new("/work") };
        let shown = asked("Bash", input.clone()).unwrap();
        assert!(shows(&shown, &call) && is_about(&shown, &call));
        assert!(!shows(&Question { question: "List the files?".into(), ..shown.clone() }, &call));
        assert!(!shows(&shown, &Call { cwd: Path::new("/"), ..call }));
        assert!(!shows(&Question { approval: None, ..shown }, &call));
    }
}
