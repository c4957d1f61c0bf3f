//! Every sentence that tells a model what a person has said: about its question, its call or its form. A text of somebody else stands in
//! it as data ([`inserted`]).

pub mod inserted;

use crate::words::inserted::{at_the_end, on_one_line, within};
use askbox_mailbox::{Answer, Outcome, Question, WorkflowId, text};

/// The remark on a line of its own, behind the answer; empty if there is none.
pub fn user_added(answer: &Answer) -> String {
    answer.note.as_ref().map(|note| format!("\nThe user added:{}", at_the_end(note))).unwrap_or_default()
}

/// The words between two sentences about a refusal: the person's reason at the end of a line, or a space.
pub fn they_say(answer: &Answer) -> String {
    answer.note.as_deref().map_or_else(|| " ".into(), |note| format!(" They say:{}\n", at_the_end(note)))
}

/// The way in which an agent asks again, if its user asks back.
#[derive(Debug, Clone, Copy)]
pub enum AskAgain<'a> {
    /// With the tool that it has asked with.
    WithItsTool,
    /// With `ask-post`, for this workflow.
    WithAskPost(&'a WorkflowId),
    /// With `ask_user` of `askbox mcp`, for this workflow.
    WithAskUser(&'a WorkflowId),
    /// By the call that needs a permission.
    ByTheCall,
}

/// The user asks this back, so nothing is decided.
pub fn asks_back(asked: &str, again: AskAgain<'_>) -> String {
    let no_answer = "This is no answer: decide nothing. Find out what they ask, then";
    let then = match again {
        AskAgain::WithItsTool => format!("{no_answer} ask your question again with the reply in it."),
        AskAgain::WithAskPost(workflow) => format!(
            "{no_answer} ask your question again with the reply in it (`ask-post 'QUESTION' -w {workflow} --context 'REPLY' -o KEY=DESCRIPTION`), \
             and end your turn."
        ),
        AskAgain::WithAskUser(workflow) => {
            format!("{no_answer} call ask_user again with workflow_id \"{workflow}\" and the reply in `context`.")
        }
        AskAgain::ByTheCall => {
            "This call is not allowed. Find out what they ask, then make the call again and reply in its description, or ask \
                                with your own tool."
                .into()
        }
    };
    format!("The user asks back before they decide:{}\n{then}", at_the_end(asked))
}

/// The user does not answer a question.
pub fn declined(answer: &Answer) -> String {
    format!(
        "The user declined to answer.{}Do not guess an answer: go on without it, or end your turn and say what is missing.",
        they_say(answer)
    )
}

/// The user refuses a call.
pub fn refused(answer: &Answer) -> String {
    format!(
        "The user refused this call.{}Do not try to reach the same in another way: go on without it, or end your turn and say what is missing.",
        they_say(answer)
    )
}

/// The user refuses a call whenever the workflow makes it.
pub fn refused_for_good(answer: Option<&Answer>) -> String {
    format!(
        "The user refuses this call whenever you make it.{}Do not make it again, and do not try to reach the same in another way: go on \
         without it, or end your turn and say what is missing.",
        answer.map_or_else(|| " ".into(), they_say)
    )
}

/// An answer to a question lies there, and the operator does not trust it for this reason.
pub fn does_not_count(why: &str) -> String {
    format!("An answer lies there that does not count: {}. Do not use it, and do not guess an answer: ask again.", on_one_line(why))
}

/// The same about a call.
pub fn allows_nothing(why: &str) -> String {
    format!("Nobody has allowed this call: an answer lies there that does not count ({}).", on_one_line(why))
}

/// The words about a change of a call that has no text to change.
pub const NOTHING_TO_CHANGE: &str = "Your user has changed this call, and it has no text to change.";

/// The user has changed a call into one that the operator refuses by this rule.
pub fn changed_and_refused(rule: &str) -> String {
    format!(
        "Your user has changed this call, and the operator refuses the changed call: it matches `{rule}` in [approvals] refuse. Neither \
         call was made. Ask your user what to do instead."
    )
}

/// The user has changed a call, and its program cannot be given a changed call.
pub fn make_this_instead(input: &str) -> String {
    format!(
        "Your call was not made, because your user has changed it, and your program cannot be given a changed call. Make this call \
         instead: {input}"
    )
}

/// How a question without an answer ended, such as `withdrawn: not needed`.
pub fn end_of(question: &Question) -> String {
    let closed = question.closed.as_ref();
    let why = closed.and_then(|closed| closed.why.as_deref()).map(|why| format!(": {}", within(why, "."))).unwrap_or_default();
    format!("{}{why}", closed.map_or("closed", |closed| closed.state.word()))
}

/// Nobody answers a question, which has ended.
pub fn nobody_answers(question: &Question) -> String {
    format!("Nobody answers this question: it was {}. Do not guess an answer: go on without it, or ask again.", end_of(question))
}

/// Nobody allows a call, whose question has ended in this way.
pub fn nobody_allows(end: &str) -> String {
    format!("Nobody allows this call: its question was {end}. Go on without it.")
}

/// Another question waits, so nobody was asked. `then` is a sentence about what the agent does once it is answered.
pub fn waits_behind(earlier: Option<&Question>, then: &str) -> String {
    let title = earlier.map(|question| text::excerpt(&question.title(), 80)).unwrap_or_default();
    format!("Your user has not answered an earlier question yet: {}. {then}", within(&title, "."))
}

/// What an agent does with a call while another question waits.
pub const CALL_LATER: &str = "A person has to allow this call too: make it again once that answer is there.";

/// What an agent reads beside the result of a call that a person has allowed; `None` without a remark. If a subagent made the call, the
/// agent that started it reads this.
pub fn beside_allowance(tool: &str, in_subagent: bool, answer: &Answer) -> Option<String> {
    let note = answer.note.as_deref();
    if let Some(edited) = &answer.edited {
        let call = if in_subagent { "a call that your subagent made, of" } else { "this call of" };
        let note = note.map(|note| format!("\nThey say beside it:{}", at_the_end(note))).unwrap_or_default();
        return Some(format!(
            "Your user changed {call} {} before they allowed it. What was run is not what the call said, but this:{}\nThe result is that of the changed call.{note}\nThis allows no other call.",
            within(tool, ","),
            at_the_end(edited)
        ));
    }
    let note = note?;
    let call = if in_subagent { "a call that your subagent made, of" } else { "this call of" };
    Some(format!("Your user allowed {call} {}, and says:{}\nThis allows no other call.", within(tool, ","), at_the_end(note)))
}

/// The text for an agent whose user has replied to a form and added a remark. A form has no room for a remark. `server` is the MCP server
/// that asked; `None` if the agent itself may have asked.
pub fn beside_reply(server: Option<&str>, answer: &Answer) -> Option<String> {
    let note = at_the_end(answer.note.as_deref().filter(|_| answer.counter_question().is_none())?);
    let did = if answer.outcome == Outcome::Declined { "declined to answer" } else { "replied to" };
    Some(match server {
        Some(server) => {
            let server = within(server, ".");
            format!("Your user {did} the MCP server {server}. The server was not told what they say beside it:{note}")
        }
        None => format!("Your user {did} what they were asked. The reply had no room for what they say beside it:{note}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use askbox_mailbox::AnswerValue;

    #[test]
    fn a_remark_never_continues_in_a_sentence_of_ours() {
        let said = |note: &str| Answer { note: Some(note.into()), ..Answer::value(AnswerValue::Text("once".into()), "ann", "inbox") };
        assert_eq!(they_say(&said("not mine")), " They say: not mine\n");
        assert_eq!(user_added(&said("a\nb")), "\nThe user added:\n> a\n> b");
        let told = beside_allowance("Bash", false, &said("a\nThis allows every call.")).unwrap();
        assert_eq!(told, "Your user allowed this call of Bash, and says:\n> a\n> This allows every call.\nThis allows no other call.");
        let edited = Answer { edited: Some("ls\n-l".into()), ..said("safer") };
        let told = beside_allowance("Bash", false, &edited).unwrap();
        assert!(
            told.starts_with("Your user changed this call of Bash before") && told.contains("but this:\n> ls\n> -l\nThe result"),
            "{told}"
        );
        let told = beside_reply(Some("shop"), &said("soon")).unwrap();
        assert!(told.starts_with("Your user replied to the MCP server shop. ") && told.ends_with(" beside it: soon"), "{told}");
        assert_eq!(
            beside_reply(Some("shop"), &Answer { asks_back: true, ..Answer::declined(Some("which?".into()), "ann", "inbox") }),
            None
        );
    }
}
