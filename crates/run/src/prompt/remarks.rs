//! A person's remark beside a decision, in a message to an agent.

use crate::prompt::inserted::{at_the_end, within};
use askbox_mailbox::Answer;

/// The remark on a line of its own, behind the answer; empty if there is none.
pub fn user_added(answer: &Answer) -> String {
    answer.note.as_ref().map(|note| format!("\nThe user added:{}", at_the_end(note))).unwrap_or_default()
}

/// The words between two sentences about a refusal: the person's reason at the end of a line, or a space.
pub fn they_say(answer: &Answer) -> String {
    answer.note.as_deref().map_or_else(|| " ".into(), |note| format!(" They say:{}\n", at_the_end(note)))
}

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
    Some(match server {
        Some(server) => {
            let server = within(server, ".");
            format!("Your user replied to the MCP server {server}. The server was not told what they say beside it:{note}")
        }
        None => format!("Your user replied to what they were asked. The reply had no room for what they say beside it:{note}"),
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
