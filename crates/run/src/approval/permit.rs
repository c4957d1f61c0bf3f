//! The decision about a call, from the answer to its approval question.

use crate::approval::ask::{self, Reply, Shown, reply};
use crate::approval::call::Call;
use crate::approval::standing;
use crate::attempt::used_answer::Use;
use crate::prompt::remarks::user_added;
use askbox_config::ToolRule;
use askbox_mailbox::audit::{self, Entry};
use askbox_mailbox::error::Result;
use askbox_mailbox::id::RoundId;
use askbox_mailbox::trust::Policy;
use askbox_mailbox::{Mailbox, Question};
use serde_json::{Map, Value};

/// The decision about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Permit {
    /// It may be made now, once. The answer is used.
    Allowed,
    /// It may be made now, once, with this input, which the person has changed. The answer is used.
    AllowedEdited(Map<String, Value>),
    /// It is refused; the agent reads this.
    Refused(String),
    /// Nobody has decided about it: a person has to be asked.
    Ask(Shown),
}

/// Decides about a call whose approval question was answered in this round. Only an answer to exactly this call counts. The first
/// *allowed* uses the answer up, whatever process dies. After that, only a grant for the whole workflow allows the call again.
///
/// A person may have changed the call. The operator's rules in `refuse` then count for the changed call as well.
///
/// # Errors
/// If the mark or the grant cannot be written: the call must not be made.
pub fn permit(
    mailbox: &Mailbox,
    policy: &Policy,
    refuse: &[ToolRule],
    round: &RoundId,
    question: &Question,
    call: &Call<'_>,
) -> Result<Permit> {
    let Some(reply) = reply(question).filter(|_| ask::shows(question, call)) else { return Ok(Permit::Ask(Shown::First)) };
    if let Err(why) = policy.judge(question) {
        return Ok(Permit::Refused(format!("Nobody has allowed this call: an answer lies there that does not count ({}).", why.0)));
    }
    match reply {
        Reply::Refused(words) => return Ok(Permit::Refused(words)),
        // The person allowed this call for the whole workflow. If the grant was revoked, the person is asked again.
        Reply::Workflow if is_used(mailbox, round) && standing::allows(mailbox, policy, &round.workflow, call)? => {
            return Ok(Permit::Allowed);
        }
        Reply::Once | Reply::Workflow | Reply::Edited(_) => {}
    }
    let edited = match &reply {
        Reply::Edited(text) => match edited(call, text, refuse) {
            Ok(edited) => Some(edited),
            Err(why) => return Ok(Permit::Refused(why)),
        },
        _ => None,
    };
    if !Use::Approved.take(mailbox, round)? {
        return Ok(Permit::Ask(Shown::perhaps_made(question)));
    }
    let by = question.answer.as_ref().map(|answer| answer.by.as_str()).unwrap_or_default();
    if matches!(reply, Reply::Workflow) {
        standing::allow(mailbox, round, question)?;
    }
    let entry = Entry::about_round("allowed", round).by(by);
    audit::record(mailbox, if edited.is_some() { entry.why("edited: the answer has the text") } else { entry });
    Ok(edited.map_or(Permit::Allowed, Permit::AllowedEdited))
}

/// Returns the input of the changed call, or the words for the agent if it must not be made.
fn edited(call: &Call<'_>, text: &str, refuse: &[ToolRule]) -> Result<Map<String, Value>, String> {
    let Some(input) = call.edited(text) else { return Err("Your user has changed this call, and it has no text to change.".into()) };
    match refuse.iter().find(|rule| rule.names(call.tool, &input)) {
        None => Ok(input),
        Some(rule) => Err(format!(
            "Your user has changed this call, and the operator refuses the changed call: it matches `{rule}` in [approvals] refuse. Neither \
             call was made. Ask your user what to do instead."
        )),
    }
}

/// The text that the agent reads if the answer refuses the call; `None` if the answer allows it, or if there is no answer.
pub fn refusal(question: &Question) -> Option<String> {
    match reply(question) {
        Some(Reply::Refused(words)) => Some(words),
        Some(Reply::Once | Reply::Workflow | Reply::Edited(_)) | None => None,
    }
}

/// The message to a session that no longer waits with the call and therefore makes it again. The message itself allows nothing. If the
/// answer is used, the call was let through, and then a process died: nobody knows if the call was made.
pub fn in_words(mailbox: &Mailbox, round: &RoundId, question: &Question) -> String {
    let how = match reply(question) {
        Some(Reply::Refused(words)) => return words,
        Some(Reply::Once) => "once (exactly this call, one time)",
        Some(Reply::Workflow) => "workflow (exactly this call, whenever you make it)",
        Some(Reply::Edited(_)) => "edited (this call, one time, with a change that your user has made to it)",
        None => return "Nobody has decided about this call: it is not allowed.".into(),
    };
    let note = question.answer.as_ref().map(user_added).unwrap_or_default();
    let whose = if ask::subagent_of(question).is_some() { " A subagent of yours had asked for it, and was cut off." } else { "" };
    let then = match is_used(mailbox, round) {
        true => {
            "It was let through, and then a process died: the call may have been made. Look whether it was before you do anything else. \
             Make it again only if it was not: your user may be asked once more."
        }
        false => {
            "The call was not made. Make it again now, with exactly the same input and in the same folder: it is let through. \
             A call that differs in anything is asked about anew."
        }
    };
    format!("User chose: {how}.{note}\n{then}{whose}")
}

/// True if the answer allows the call, or a changed one.
pub fn is_allowed(question: &Question) -> bool {
    matches!(reply(question), Some(Reply::Once | Reply::Workflow | Reply::Edited(_)))
}

/// True if the answer counts and allows exactly this call, used or not. If the person has changed the call, this is the changed one.
pub fn allows(policy: &Policy, question: &Question, call: &Call<'_>) -> bool {
    let is_shown = match reply(question) {
        Some(Reply::Once | Reply::Workflow) => ask::shows(question, call),
        Some(Reply::Edited(_)) => ask::shows_edited(question, call),
        Some(Reply::Refused(_)) | None => false,
    };
    is_shown && policy.judge(question).is_ok()
}

/// True if the round's answer has allowed a call.
pub fn is_used(mailbox: &Mailbox, round: &RoundId) -> bool {
    Use::Approved.is_taken(mailbox, round)
}

#[cfg(test)]
mod tests {
    use super::*;
    use askbox_mailbox::disk;
    use askbox_mailbox::id::{QuestionId, WorkflowId};
    use askbox_mailbox::who::caller::Caller;
    use askbox_mailbox::{Answer, AnswerValue};
    use serde_json::json;
    use std::path::Path;

    struct Answered {
        _folder: tempfile::TempDir,
        mailbox: Mailbox,
        round: RoundId,
        input: Map<String, Value>,
    }

    impl Answered {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let mailbox = Mailbox::open_or_create(folder.path().join("mailbox")).unwrap();
            let round = RoundId { workflow: "w".parse::<WorkflowId>().unwrap(), question: QuestionId::generate() };
            disk::create_folder(&mailbox.runs_of(&round)).unwrap();
            Self { _folder: folder, mailbox, round, input: json!({"command": "git push"}).as_object().unwrap().clone() }
        }

        fn call(&self) -> Call<'_> {
            Call { tool: "Bash", input: &self.input, cwd: Path::new("/work") }
        }

        fn permit(&self, answer: Option<Answer>, call: &Call<'_>) -> Permit {
            let mut question = ask::question(&self.round.workflow, &self.call(), Shown::First).unwrap();
            question.answer = answer;
            permit(&self.mailbox, &Policy::default(), &[], &self.round, &question, call).unwrap()
        }
    }

    fn asks_again(permit: &Permit) -> bool {
        matches!(permit, Permit::Ask(Shown::PerhapsMade(allowed)) if allowed.starts_with("at ") && allowed.ends_with(" by ann"))
    }

    fn word(word: &str, by: &str) -> Option<Answer> {
        Some(Answer::value(AnswerValue::Text(word.into()), by, "ask-answer"))
    }

    #[test]
    fn an_answer_allows_its_call_once() {
        let world = Answered::new();
        assert_eq!(world.permit(word("once", "ann"), &world.call()), Permit::Allowed);
        assert!(asks_again(&world.permit(word("once", "ann"), &world.call())));
        assert!(is_used(&world.mailbox, &world.round));
    }

    #[test]
    fn a_used_answer_says_that_the_call_may_have_been_made() {
        let world = Answered::new();
        let mut question = ask::question(&world.round.workflow, &world.call(), Shown::First).unwrap();
        question.answer = word("once", "ann");
        let told = |question: &Question| in_words(&world.mailbox, &world.round, question);
        assert!(told(&question).contains("The call was not made. Make it again now"), "{}", told(&question));
        assert_eq!(permit(&world.mailbox, &Policy::default(), &[], &world.round, &question, &world.call()).unwrap(), Permit::Allowed);
        assert!(told(&question).contains("the call may have been made. Look whether it was"), "{}", told(&question));
        assert!(!told(&question).contains("was not made. Make it again now"));
    }

    #[test]
    fn no_other_call_and_no_other_answer_is_an_approval() {
        let world = Answered::new();
        let other = json!({"command": "git push --force"});
        let other = Call { input: other.as_object().unwrap(), ..world.call() };
        assert_eq!(world.permit(word("once", "ann"), &other), Permit::Ask(Shown::First));
        assert_eq!(world.permit(None, &world.call()), Permit::Ask(Shown::First));
        for answer in [word("Once", "ann"), word("", "ann"), word("yes", "ann"), word("once", "default"), word("workflow", "event")] {
            assert!(matches!(world.permit(answer.clone(), &world.call()), Permit::Refused(_)), "{answer:?}");
        }
        let refused = world.permit(Some(Answer::declined(Some("not today".into()), "ann", "ask-answer")), &world.call());
        assert!(matches!(&refused, Permit::Refused(words) if words.contains("They say: not today")), "{refused:?}");
        assert!(!is_used(&world.mailbox, &world.round));
    }

    fn edited(text: &str) -> Option<Answer> {
        word("edited", "ann").map(|answer| Answer { edited: Some(text.into()), ..answer })
    }

    #[test]
    fn an_edited_call_is_allowed_once_as_it_was_edited() {
        let world = Answered::new();
        let now = json!({"command": "git push --dry-run"}).as_object().unwrap().clone();
        assert_eq!(world.permit(edited("git push --dry-run"), &world.call()), Permit::AllowedEdited(now.clone()));
        assert!(asks_again(&world.permit(edited("git push --dry-run"), &world.call())));
        let mut question = ask::question(&world.round.workflow, &world.call(), Shown::First).unwrap();
        question.answer = edited("git push --dry-run");
        let allowed = |input: &Map<String, Value>| allows(&Policy::default(), &question, &Call { input, ..world.call() });
        assert!(allowed(&now) && !allowed(&world.input), "the second gate lets the changed call through, and no other");
        assert!(!allowed(json!({"command": "git push --dry-run", "timeout": 5}).as_object().unwrap()));
    }

    #[test]
    fn an_edited_call_meets_the_operators_refusals() {
        let world = Answered::new();
        let mut question = ask::question(&world.round.workflow, &world.call(), Shown::First).unwrap();
        question.answer = edited("sudo git push");
        let rule: ToolRule = serde_json::from_value(json!("Bash(sudo:*)")).unwrap();
        let permit = permit(&world.mailbox, &Policy::default(), &[rule], &world.round, &question, &world.call()).unwrap();
        assert!(matches!(&permit, Permit::Refused(words) if words.contains("`Bash(sudo:*)`")), "{permit:?}");
        assert!(!is_used(&world.mailbox, &world.round));
    }

    #[test]
    fn an_edited_text_beside_another_word_allows_nothing() {
        let world = Answered::new();
        for word in ["once", "workflow"] {
            let answer = edited("ls").map(|answer| Answer { value: Some(AnswerValue::Text(word.into())), ..answer });
            assert!(matches!(world.permit(answer, &world.call()), Permit::Refused(_)), "{word}");
        }
        assert!(matches!(world.permit(word("edited", "ann"), &world.call()), Permit::Refused(_)));
        let write = json!({"file_path": "/x", "content": "a", "other": 1});
        let call = Call { tool: "mcp__x__Write", input: write.as_object().unwrap(), ..world.call() };
        assert_eq!(call.edited("b"), None);
    }

    #[test]
    fn what_a_workflow_may_do_stays_allowed_until_it_is_revoked() {
        let world = Answered::new();
        assert!(!standing::allows(&world.mailbox, &Policy::default(), &world.round.workflow, &world.call()).unwrap());
        assert_eq!(world.permit(word("workflow", "ann"), &world.call()), Permit::Allowed);
        assert!(standing::allows(&world.mailbox, &Policy::default(), &world.round.workflow, &world.call()).unwrap());
        assert_eq!(world.permit(word("workflow", "ann"), &world.call()), Permit::Allowed);
        assert_eq!(
            standing::revoke(&world.mailbox, &world.round.workflow, None, &Caller::person("ann", "relaunch").unwrap()).unwrap().len(),
            1
        );
        assert!(!standing::allows(&world.mailbox, &Policy::default(), &world.round.workflow, &world.call()).unwrap());
        assert!(asks_again(&world.permit(word("workflow", "ann"), &world.call())));
    }
}
