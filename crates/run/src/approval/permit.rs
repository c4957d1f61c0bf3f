//! The decision about a call, from the answer to its approval question.

use crate::approval::ask::{self, PersonsReply, Shown, reply};
use crate::approval::call::Call;
use crate::approval::standing;
use crate::attempt::used_answer::Use;
use crate::words::{self, beside_allowance, user_added};
use askbox_config::ToolRule;
use askbox_mailbox::audit::Entry;
use askbox_mailbox::{Answer, Mailbox, Policy, Question, Result, RoundId, audit};
use serde_json::{Map, Value};

/// The operator's rules for the decision about a call.
pub struct Rules<'a> {
    /// Which answers count.
    pub policy: Policy,
    /// The calls that are refused, also if a person made one of them out of another call.
    pub refuse: &'a [ToolRule],
    /// True if the program can be given a changed call. Otherwise a person's change is a proposal: the agent has to make that call itself,
    /// and may do so once.
    pub takes_changes: bool,
}

/// The decision about a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Permit {
    /// It may be made now, once. The answer is used.
    Allowed(Box<Allowed>),
    /// It is refused; the agent reads this.
    Refused(String),
    /// Nobody has decided about it: a person has to be asked.
    Ask(Shown),
}

/// A call that a person has allowed once.
#[derive(Debug, Clone, PartialEq)]
#[must_use = "once its program has the reply, it has to be recorded"]
pub struct Allowed {
    /// Its input. The person may have changed it.
    pub input: Map<String, Value>,
    tool: String,
    round: RoundId,
    answer: Answer,
    /// True if the agent itself makes the call that the person has made of its first one.
    is_proposed: bool,
}

impl Allowed {
    /// True if the program is given a call that the person has changed.
    pub fn is_edited(&self) -> bool {
        self.answer.edited.is_some() && !self.is_proposed
    }

    /// The agent reads this beside the result: the change of the person, and their words. `in_subagent` is true if another agent, which
    /// this one has started, makes the call.
    pub fn remark(&self, in_subagent: bool) -> Option<String> {
        // It was told with the proposal.
        if self.is_proposed { None } else { beside_allowance(&self.tool, in_subagent, &self.answer) }
    }

    /// Writes it into the audit trail.
    pub fn record(&self, mailbox: &Mailbox) {
        record(mailbox, &self.round, &self.answer);
    }
}

/// Writes into the audit trail that this answer of the round has let its call through. This comes after the reply to the program: an answer
/// that comes too late allows nothing.
pub fn record(mailbox: &Mailbox, round: &RoundId, answer: &Answer) {
    let entry = Entry::about_round("allowed", round).by(&answer.by);
    audit::record(mailbox, if answer.edited.is_some() { entry.why("edited: the answer has the text") } else { entry });
}

/// Decides about a call whose approval question was answered in this round. Only an answer to exactly this call counts, and it allows the
/// call only if the file that it changes is still the one that the person saw. The first
/// *allowed* uses the answer up, whatever process dies. After that, only a grant for the whole workflow allows the call again.
///
/// A person may have changed the call. The operator's rules in `refuse` then count for the changed call as well.
///
/// # Errors
/// If the mark or the grant cannot be written: the call must not be made.
pub fn permit(mailbox: &Mailbox, rules: &Rules<'_>, round: &RoundId, question: &Question, call: &Call<'_>) -> Result<Permit> {
    let is_proposed = !rules.takes_changes && ask::shows_edited(question, call);
    let (Some(reply), Some(answer)) = (reply(question).filter(|_| is_proposed || ask::is_about(question, call)), &question.answer) else {
        return Ok(Permit::Ask(Shown::First));
    };
    if let Err(why) = rules.policy.judge(question) {
        return Ok(Permit::Refused(words::allows_nothing(&why.0)));
    }
    let (tool, by) = (call.tool.to_owned(), (round.clone(), answer.clone()));
    let allowed = |input| Permit::Allowed(Box::new(Allowed { input, tool, round: by.0, answer: by.1, is_proposed }));
    let input = match &reply {
        PersonsReply::Refused(words) => return Ok(Permit::Refused(words.clone())),
        // The person allowed this call for the whole workflow. If the grant was revoked, the person is asked again.
        PersonsReply::Workflow if is_used(mailbox, round) && standing::allows(mailbox, &rules.policy, &round.workflow, call)? => {
            return Ok(allowed(call.input.clone()));
        }
        PersonsReply::Edited(_) if is_proposed => match rules.refuse.iter().find(|rule| rule.names(call.tool, call.input)) {
            Some(rule) => return Ok(Permit::Refused(words::changed_and_refused(&rule.to_string()))),
            None => call.input.clone(),
        },
        // The file has changed since the person looked at it. Once the answer is used, the call itself may have changed it.
        _ if !is_used(mailbox, round) && !ask::shows(question, call) => return Ok(Permit::Ask(Shown::First)),
        PersonsReply::Once | PersonsReply::Workflow => call.input.clone(),
        PersonsReply::Edited(text) => match edited(call, text, rules) {
            Ok(edited) => edited,
            Err(why) => return Ok(Permit::Refused(why + &words::user_added(answer))),
        },
    };
    if !Use::Approved.take(mailbox, round)? {
        return Ok(Permit::Ask(Shown::perhaps_made(question)));
    }
    if matches!(reply, PersonsReply::Workflow) {
        standing::allow(mailbox, round, question)?;
    }
    Ok(allowed(input))
}

/// Returns the input of the changed call, or the words for the agent if it must not be made.
fn edited(call: &Call<'_>, text: &str, rules: &Rules<'_>) -> Result<Map<String, Value>, String> {
    let Some(input) = call.edited(text) else { return Err(words::NOTHING_TO_CHANGE.into()) };
    match rules.refuse.iter().find(|rule| rule.names(call.tool, &input)) {
        Some(rule) => Err(words::changed_and_refused(&rule.to_string())),
        None if !rules.takes_changes => Err(words::make_this_instead(&Value::Object(input).to_string())),
        None => Ok(input),
    }
}

/// The text that the agent reads if the answer refuses the call; `None` if the answer allows it, or if there is no answer.
pub fn refusal(question: &Question) -> Option<String> {
    match reply(question) {
        Some(PersonsReply::Refused(words)) => Some(words),
        Some(PersonsReply::Once | PersonsReply::Workflow | PersonsReply::Edited(_)) | None => None,
    }
}

/// The message to a session that no longer waits with the call and therefore makes it again. The message itself allows nothing. If the
/// answer is used, the call was let through, and then a process died: nobody knows if the call was made.
pub fn in_words(mailbox: &Mailbox, round: &RoundId, question: &Question) -> String {
    let how = match reply(question) {
        Some(PersonsReply::Refused(words)) => return words,
        Some(PersonsReply::Once) => "once (exactly this call, one time)",
        Some(PersonsReply::Workflow) => "workflow (exactly this call, whenever you make it)",
        Some(PersonsReply::Edited(_)) => "edited (this call, one time, with a change that your user has made to it)",
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
    matches!(reply(question), Some(PersonsReply::Once | PersonsReply::Workflow | PersonsReply::Edited(_)))
}

/// True if the answer counts and allows exactly this call, used or not. If the person has changed the call, this is the changed one.
pub fn allows(policy: &Policy, question: &Question, call: &Call<'_>) -> bool {
    let is_shown = match reply(question) {
        Some(PersonsReply::Once | PersonsReply::Workflow) => ask::shows(question, call),
        Some(PersonsReply::Edited(_)) => ask::shows_edited(question, call),
        Some(PersonsReply::Refused(_)) | None => false,
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
    use askbox_mailbox::AnswerValue;
    use askbox_mailbox::disk;
    use askbox_mailbox::id::{QuestionId, WorkflowId};
    use askbox_mailbox::who::caller::Caller;
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
            permit(&self.mailbox, &rules(&[]), &self.round, &question, call).unwrap()
        }
    }

    fn rules(refuse: &[ToolRule]) -> Rules<'_> {
        Rules { policy: Policy::default(), refuse, takes_changes: true }
    }

    /// The input of the call that may be made.
    fn allowed(permit: Permit) -> Option<Map<String, Value>> {
        if let Permit::Allowed(allowed) = permit { Some(allowed.input) } else { None }
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
        assert_eq!(allowed(world.permit(word("once", "ann"), &world.call())), Some(world.input.clone()));
        assert!(asks_again(&world.permit(word("once", "ann"), &world.call())));
        assert!(is_used(&world.mailbox, &world.round));
    }

    #[test]
    fn an_answer_about_a_file_that_has_changed_is_not_used() {
        let world = Answered::new();
        let folder = world.mailbox.root().parent().unwrap();
        let file = folder.join("f");
        let input = json!({"file_path": "f", "old_string": "b=1", "new_string": "b=2", "replace_all": true});
        let call = Call { tool: "Edit", input: input.as_object().unwrap(), cwd: folder };
        std::fs::write(&file, "b=1\n").unwrap();
        let question = ask::question(&world.round.workflow, &call, Shown::First).unwrap();
        let permit = |answer| {
            let question = Question { answer, ..question.clone() };
            permit(&world.mailbox, &rules(&[]), &world.round, &question, &call).unwrap()
        };
        std::fs::write(&file, "b=1\nrm -rf b=1\n").unwrap();
        for answer in ["once", "workflow"] {
            assert_eq!(permit(word(answer, "ann")), Permit::Ask(Shown::First));
        }
        assert!(!is_used(&world.mailbox, &world.round));
        // A refusal is about the call, whatever the file has become.
        assert!(matches!(permit(Some(Answer::declined(None, "ann", "inbox"))), Permit::Refused(_)));
        std::fs::write(&file, "b=1\n").unwrap();
        assert!(allowed(permit(word("once", "ann"))).is_some());
        // The call itself has changed the file.
        std::fs::write(&file, "b=2\n").unwrap();
        assert!(asks_again(&permit(word("once", "ann"))));
    }

    #[test]
    fn a_used_answer_says_that_the_call_may_have_been_made() {
        let world = Answered::new();
        let mut question = ask::question(&world.round.workflow, &world.call(), Shown::First).unwrap();
        question.answer = word("once", "ann");
        let told = |question: &Question| in_words(&world.mailbox, &world.round, question);
        assert!(told(&question).contains("The call was not made. Make it again now"), "{}", told(&question));
        assert!(allowed(permit(&world.mailbox, &rules(&[]), &world.round, &question, &world.call()).unwrap()).is_some());
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
        assert_eq!(allowed(world.permit(edited("git push --dry-run"), &world.call())), Some(now.clone()));
        assert!(asks_again(&world.permit(edited("git push --dry-run"), &world.call())));
        let mut question = ask::question(&world.round.workflow, &world.call(), Shown::First).unwrap();
        question.answer = edited("git push --dry-run");
        let lets_through = |input: &Map<String, Value>| allows(&Policy::default(), &question, &Call { input, ..world.call() });
        assert!(lets_through(&now) && !lets_through(&world.input), "the second gate lets the changed call through, and no other");
        assert!(!lets_through(json!({"command": "git push --dry-run", "timeout": 5}).as_object().unwrap()));
    }

    #[test]
    fn an_edited_call_meets_the_operators_refusals() {
        let world = Answered::new();
        let mut question = ask::question(&world.round.workflow, &world.call(), Shown::First).unwrap();
        question.answer = edited("sudo git push");
        let rule: ToolRule = serde_json::from_value(json!("Bash(sudo:*)")).unwrap();
        let permit = permit(&world.mailbox, &rules(&[rule]), &world.round, &question, &world.call()).unwrap();
        assert!(matches!(&permit, Permit::Refused(words) if words.contains("`Bash(sudo:*)`")), "{permit:?}");
        assert!(!is_used(&world.mailbox, &world.round));
    }

    #[test]
    fn a_change_that_the_program_cannot_take_uses_nothing_up() {
        let world = Answered::new();
        let mut question = ask::question(&world.round.workflow, &world.call(), Shown::First).unwrap();
        question.answer = edited("git push --dry-run");
        let rules = Rules { takes_changes: false, ..rules(&[]) };
        let permit = permit(&world.mailbox, &rules, &world.round, &question, &world.call()).unwrap();
        let is_proposed =
            |words: &str| words.starts_with("Your call was not made") && words.contains(r#"{"command":"git push --dry-run"}"#);
        assert!(matches!(&permit, Permit::Refused(words) if is_proposed(words)), "{permit:?}");
        assert!(!is_used(&world.mailbox, &world.round));
    }

    #[test]
    fn the_agent_itself_may_make_the_changed_call_once() {
        let world = Answered::new();
        let mut question = ask::question(&world.round.workflow, &world.call(), Shown::First).unwrap();
        question.answer = edited("git push --dry-run");
        let decide = |command: &str, refuse: &[ToolRule]| {
            let input = json!({ "command": command });
            let call = Call { input: input.as_object().unwrap(), ..world.call() };
            permit(&world.mailbox, &Rules { takes_changes: false, ..rules(refuse) }, &world.round, &question, &call).unwrap()
        };
        assert!(matches!(decide("git push --dry-run -v", &[]), Permit::Ask(Shown::First)), "it is not the changed one");
        let rule: ToolRule = serde_json::from_value(json!("Bash(git:*)")).unwrap();
        assert!(matches!(decide("git push --dry-run", &[rule]), Permit::Refused(_)), "the operator refuses it");
        assert!(matches!(decide("git push --dry-run", &[]), Permit::Allowed(call) if !call.is_edited() && call.remark(false).is_none()));
        assert!(matches!(decide("git push --dry-run", &[]), Permit::Ask(Shown::PerhapsMade(_))), "once");
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
        assert!(allowed(world.permit(word("workflow", "ann"), &world.call())).is_some());
        assert!(standing::allows(&world.mailbox, &Policy::default(), &world.round.workflow, &world.call()).unwrap());
        assert!(allowed(world.permit(word("workflow", "ann"), &world.call())).is_some());
        assert_eq!(
            standing::revoke(&world.mailbox, &world.round.workflow, None, &Caller::person("ann", "relaunch").unwrap()).unwrap().len(),
            1
        );
        assert!(!standing::allows(&world.mailbox, &Policy::default(), &world.round.workflow, &world.call()).unwrap());
        assert!(asks_again(&world.permit(word("workflow", "ann"), &world.call())));
    }
}
