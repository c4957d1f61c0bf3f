//! Checks whether a question is valid. Errors name the field and say how to correct it.

use crate::documents::checks::check_answer::{self, Given};
use crate::documents::fields::approval::{Editable, shown_field};
use crate::documents::fields::live::EXIT_PLAN_MODE;
use crate::documents::fields::tool_call::{ASK_USER_QUESTION, QUESTION, REQUEST_USER_INPUT};
use crate::documents::fields::{approval, approval_text, attachment};
use crate::{Error, Kind, OnExpiry, Question, Result, ToolCall, text};

/// The largest number of questions in one batch.
pub const MAX_PARTS: usize = 64;
/// The largest number of options of one question.
pub const MAX_OPTIONS: usize = 256;

/// The longest name of a tool, in bytes.
const LONGEST_NAME: usize = 256;
/// The longest name of an MCP server that asks, in bytes.
const LONGEST_SERVER: usize = 256;

/// Checks a question, as every reader of `pending/` does.
///
/// # Errors
/// [`Error::Invalid`] with the first field that is wrong.
pub fn check(question: &Question) -> Result<()> {
    if question.schema_version.is_some_and(|v| v != crate::document::SCHEMA_VERSION) {
        return Err(Error::invalid("schema_version", "is of a newer askbox", "update askbox, or write version 1"));
    }
    if question.questions.len() > MAX_PARTS {
        let fix = "post them in several batches";
        return Err(Error::invalid("questions", format!("holds {} questions, the limit is {MAX_PARTS}", question.questions.len()), fix));
    }
    let mut keys = Vec::new();
    for (n, part) in question.parts().iter().enumerate() {
        let at = |field: &str| if question.is_batch() { format!("questions[{n}].{field}") } else { field.to_owned() };
        if part.question.trim().is_empty() {
            return Err(Error::invalid(at("question"), "is empty", "write the question's text"));
        }
        if part.options.0.len() > MAX_OPTIONS {
            let fix = "offer fewer, or ask for text";
            return Err(Error::invalid(at("options"), format!("holds {} options, the limit is {MAX_OPTIONS}", part.options.0.len()), fix));
        }
        if part.options.0.iter().any(|c| c.key.trim().is_empty()) {
            return Err(Error::invalid(at("options"), "has an option without a key", "give every option a key: -o KEY=DESCRIPTION"));
        }
        let needs_options = matches!(part.kind, Some(Kind::Choice | Kind::MultiChoice)) || part.multi_select;
        if needs_options && part.options.is_empty() {
            return Err(Error::invalid(at("options"), "are missing for a choice", "add options (-o KEY=DESCRIPTION), or use --type text"));
        }
        part.range.iter().try_for_each(|range| range.check(&at("range")))?;
        if question.is_batch() {
            let key = part.key(n);
            if keys.contains(&key) {
                let problem = format!("`{}` is there twice", crate::text::excerpt(&key, 40));
                return Err(Error::invalid(at("id"), problem, "give every question of the batch an id of its own"));
            }
            keys.push(key);
        }
    }
    if let Some(path) = question.checkpoint.as_deref().filter(|p| !p.is_absolute()) {
        return Err(Error::invalid(
            "checkpoint",
            format!("`{}` is not an absolute path", crate::text::excerpt(&path.display().to_string(), 80)),
            "write the path from / on",
        ));
    }
    if question.elicited_by.as_ref().is_some_and(|server| server.is_empty() || server.len() > LONGEST_SERVER) {
        return Err(Error::invalid("elicited_by", format!("is empty or over {LONGEST_SERVER} bytes"), "leave it out"));
    }
    question.tool_call.iter().try_for_each(ToolCall::check)?;
    attachment::check(&question.attachments)?;
    check_approval(question, &question.question)?;
    check_live(question)?;
    if let Some(default) = &question.default {
        check_answer::fits(question, default, Given::ByAsker).map_err(|e| rename_field(e, "default"))?;
    } else if question.on_expiry == Some(OnExpiry::Default) {
        return Err(Error::invalid("default", "is missing although on_expiry says `default`", "add a default, or choose keep or cancel"));
    }
    if question.expires_at.is_none() && matches!(question.on_expiry, Some(OnExpiry::Default | OnExpiry::Cancel)) {
        return Err(Error::invalid("expires_at", "is missing although on_expiry is set", "add a --timeout such as 2h"));
    }
    if let Some(until) = &question.until {
        until.check()?;
        if let Some(field) = only_for_a_person(question) {
            let fix = "leave one of them out; a person who ends the wait answers in their own words";
            return Err(Error::invalid("until", format!("stands beside `{field}`, but the answer is an event"), fix));
        }
    }
    if question.remind_every.is_some_and(|s| s.0 < std::time::Duration::from_secs(1)) {
        return Err(Error::invalid("remind_every", "is shorter than a second", "write a duration such as 4h"));
    }
    Ok(())
}

/// Returns the name of the first field in this document that only a question for a person has. A wait for an event, a task and news
/// of children have none of these fields.
pub fn only_for_a_person(asked: &Question) -> Option<&'static str> {
    let fields = [
        ("options", !asked.options.is_empty()),
        ("questions", !asked.questions.is_empty()),
        ("type", !matches!(asked.kind, None | Some(Kind::Text))),
        ("free_text", asked.free_text.is_some()),
        ("range", asked.range.is_some()),
        ("approval", asked.approval.is_some()),
        ("tool_call", asked.tool_call.is_some()),
        ("elicited_by", asked.elicited_by.is_some()),
        ("to_session", asked.to_session),
        ("live", asked.live.is_some()),
    ];
    fields.into_iter().find(|(_, is_there)| *is_there).map(|(field, _)| field)
}

fn rename_field(error: Error, name: &str) -> Error {
    match error {
        Error::Invalid { file, problem, fix, .. } => Error::Invalid { file, field: name.into(), problem, fix },
        other => other,
    }
}

/// Checks the rules of a question with the field `approval`: it has exactly two options, and only a person's choice of one of them
/// answers it. Silence, an event and a person's own words approve nothing.
fn check_approval(asked: &Question, shown: &str) -> Result<()> {
    let Some(approval) = &asked.approval else { return Ok(()) };
    let wrong = |field: &str, problem: &str| Err(Error::invalid(field, problem, "leave the approval to askbox, which writes it"));
    if approval.tool.is_empty() || approval.tool.len() > LONGEST_NAME || !approval.sha256.is_valid() {
        return wrong("approval", "has a tool or a sha256 that cannot be right");
    }
    if approval.editable.as_ref().is_some_and(|editable| editable.field.is_empty() || editable.field.len() > LONGEST_NAME) {
        return wrong("approval", "has an editable field that cannot be right");
    }
    // A line of somebody else could imitate the commands that askbox prints below the question, with the round of another call.
    if !approval_text::is_askboxs(shown, &approval.tool) {
        return wrong("question", "has a line about a call that askbox does not write");
    }
    // The person would change another text than the one that they read.
    let is_diff = ["Edit", "Write"].contains(&approval.tool.as_str());
    let is_in_diff = |text: &str| is_diff && text.split(['\n', '\r']).all(|line| shown.contains(&text::visible(line)));
    let is_field = |editable: &Editable| format!("{shown}\n").contains(&format!("\n{}", shown_field(&editable.field, &editable.text)));
    let is_hidden = |editable: &Editable| !is_field(editable) && !is_in_diff(&editable.text);
    if approval.editable.as_ref().is_some_and(is_hidden) && !shows_its_plan(asked, approval) {
        return wrong("approval", "has an editable text that the question does not show");
    }
    // The options must have askbox's own words: other words could say the opposite of what the option does.
    let options = asked.live.as_ref().map_or_else(approval::options, |live| live.options(&approval.tool));
    let is_choice = asked.kind == Some(Kind::Choice) && asked.free_text == Some(false) && asked.options == options;
    if !asked.questions.is_empty() || !is_choice {
        return wrong("approval", "stands in a question that is not the choice between `once` and `workflow` alone, in askbox's own words");
    }
    if asked.default.is_some() || asked.until.is_some() || asked.on_expiry == Some(OnExpiry::Default) {
        return wrong("approval", "stands beside a default or an event, but only a person approves");
    }
    // The call is shown in askbox's words alone. A text of somebody else beside it could say that the call is harmless.
    if (asked.context.is_some() && !shows_its_plan(asked, approval)) || asked.asked_by.is_some() || !asked.attachments.is_empty() {
        return wrong("approval", "stands beside `context`, `asked_by` or `attachments`, but askbox alone speaks about a call");
    }
    Ok(())
}

/// True if the context is the plan itself, which a live session asks its user to approve. It is the call's own text.
fn shows_its_plan(asked: &Question, approval: &approval::Approval) -> bool {
    let plan = approval.editable.as_ref().map(|editable| &editable.text);
    asked.live.is_some() && approval.tool == EXIT_PLAN_MODE && plan.is_some() && plan == asked.context.as_ref()
}

/// Checks the rules of a question that a live session's dialog shows. It is about one call of that session, or it is the form
/// of a server. A person answers it: no default, no event and no date.
fn check_live(asked: &Question) -> Result<()> {
    let Some(live) = &asked.live else { return Ok(()) };
    live.check()?;
    let wrong = |field: &str, problem: &str| Err(Error::invalid(field, problem, "leave `live` to askbox, which writes it"));
    let is_sessions = match (&asked.elicited_by, &asked.tool_call, &asked.approval) {
        (Some(_), None, None) => true,
        (None, Some(call), Some(approval)) => approval.tool == call.name,
        (None, Some(call), None) => [ASK_USER_QUESTION, REQUEST_USER_INPUT, QUESTION].contains(&call.name.as_str()),
        _ => false,
    };
    if !is_sessions {
        return wrong("live", "stands in a question that is neither about its tool call nor the form of a server");
    }
    if asked.default.is_some() || asked.until.is_some() || asked.expires_at.is_some() || asked.on_expiry.is_some() {
        return wrong("live", "stands beside a default, an event or a date, but only a person answers for a session's user");
    }
    if asked.to_session { wrong("live", "stands beside another way to the answer") } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documents::answer::{Answer, AnswerValue};
    use crate::documents::asked::{Kind, Part};
    use crate::documents::fields::approval::{Approval, CallHash};
    use crate::documents::fields::range::Range;

    fn asked(json: &str) -> Question {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn a_wait_for_an_event_asks_for_nothing_else() {
        let with = |more: &str| check(&asked(&format!(r#"{{"workflow_id":"w","question":"?","until":{{"file":"/tmp/x"}}{more}}}"#)));
        assert!(with("").is_ok() && with(r#","type":"text","default":"no""#).is_ok());
        for more in [
            r#","options":["a"]"#,
            r#","type":"number""#,
            r#","questions":[{"question":"?"}]"#,
            r#","free_text":true"#,
            r#","range":{"min":1}"#,
            r#","tool_call":{"name":"AskUserQuestion","id":"toolu_1"}"#,
            r#","elicited_by":"server""#,
            r#","to_session":true"#,
        ] {
            assert!(with(more).is_err(), "{more}");
        }
    }

    #[test]
    fn each_kind_of_question_can_be_built_and_is_what_its_file_says() {
        let new = || Question::new("w".parse().unwrap(), "?");
        let range = Range { min: Some(1.0), ..Range::default() };
        let questions = [Part::new("place", "Where?"), Part { kind: Some(Kind::YesNo), ..Part::new("now", "Now?") }];
        for (built, file) in [
            (new().yes_or_no(), r#""type":"yes_no""#),
            (new().number(range), r#""type":"number","range":{"min":1.0}"#),
            (
                new().with_questions(questions),
                r#""questions":[{"id":"place","question":"Where?"},{"id":"now","question":"Now?","type":"yes_no"}]"#,
            ),
            (new().with_options([("a", "A")]), r#""options":{"a":"A"}"#),
        ] {
            assert_eq!(built, asked(&format!(r#"{{"schema_version":1,"workflow_id":"w","question":"?",{file}}}"#)));
            assert!(check(&built).is_ok(), "{file}");
        }
    }

    #[test]
    fn silence_decides_only_where_the_asker_said_so() {
        assert!(check(&asked(r#"{"workflow_id":"w","question":"?","on_expiry":"default","expires_at":"2026-01-01T00:00:00Z"}"#)).is_err());
        assert!(check(&asked(r#"{"workflow_id":"w","question":"?","on_expiry":"cancel"}"#)).is_err());
        assert!(check(&asked(r#"{"workflow_id":"w","question":"?","type":"choice"}"#)).is_err());
        assert!(check(&asked(r#"{"workflow_id":"w","question":" "}"#)).is_err());
        assert!(check(&asked(r#"{"workflow_id":"w","question":"?","checkpoint":"a/b"}"#)).is_err());
    }

    fn asked_to_approve() -> Question {
        let mut question = Question::new("w".parse().unwrap(), "May the agent call Bash?");
        question.kind = Some(Kind::Choice);
        question.options = approval::options();
        question.free_text = Some(false);
        question.approval = Some(Approval { tool: "Bash".into(), sha256: CallHash::of_bytes(&[7; 32]), editable: None });
        question
    }

    #[test]
    fn a_question_that_silence_could_answer_is_no_approval() {
        assert!(check(&asked_to_approve()).is_ok());
        let cases: [fn(&mut Question); 11] = [
            |q| q.question += "\nTo allow it, copy:\n  ask-answer other once --round X",
            |q| q.attachments = vec![attachment::Attachment::of("harmless.txt", b"It only lists files.").unwrap()],
            |q| q.context = Some("Policy has blocked this call: choose once to close the question.".into()),
            |q| q.asked_by = Some("askbox".into()),
            |q| q.options.0[0].description = "REFUSE this call".into(),
            |q| q.default = Some(AnswerValue::Text("once".into())),
            |q| q.on_expiry = Some(OnExpiry::Default),
            |q| q.free_text = None,
            |q| q.kind = None,
            |q| q.options.0.truncate(1),
            |q| q.approval.as_mut().unwrap().sha256 = serde_json::from_str::<CallHash>("\"x\"").unwrap(),
        ];
        for change in cases {
            let mut question = asked_to_approve();
            change(&mut question);
            assert!(check(&question).is_err(), "{question:?}");
        }
    }

    #[test]
    fn an_edited_call_has_another_text_in_place_of_the_editable_one() {
        let mut question = asked_to_approve();
        let given = |question: &Question, value: &str, edited: Option<&str>| {
            let answer = Answer::value(AnswerValue::Text(value.into()), "ann", "hand");
            check_answer::check(question, Answer { edited: edited.map(str::to_owned), ..answer }, Given::ByPerson)
        };
        assert!(given(&question, "edited", Some("ls")).is_err(), "nothing of this call may be changed");
        let editable = approval::Editable { field: "command".into(), text: "rm -r x".into() };
        question.approval.as_mut().unwrap().editable = Some(editable);
        for other in ["", "\n    command: rm -r x y", "\n    note: rm -r x", "\n    note:\n        command: rm -r x"] {
            question.question = format!("May the agent call Bash?{other}");
            assert!(check(&question).is_err(), "{other}: the person would change another text than they read");
        }
        question.question = "May the agent call Bash?\n    command: rm -r x\nIn the folder /work".into();
        check(&question).unwrap();
        assert_eq!(given(&question, "edited", Some("ls")).unwrap().edited.as_deref(), Some("ls"));
        for (value, edited) in
            [("edited", None), ("edited", Some(" \n")), ("edited", Some("rm -r x")), ("once", Some("ls")), ("workflow", Some("ls"))]
        {
            assert!(given(&question, value, edited).is_err(), "{value} {edited:?}");
        }
        assert!(given(&question, "edited", Some(&"x".repeat(approval::LONGEST_EDITED + 1))).is_err());
        let plain = asked(r#"{"workflow_id":"w","question":"?"}"#);
        assert!(given(&plain, "edited", None).is_ok() && given(&plain, "edited", Some("x")).is_err());
    }

    #[test]
    fn only_the_very_words_once_and_workflow_approve() {
        let reply = |words: &str, given| {
            check_answer::check(&asked_to_approve(), Answer::value(AnswerValue::Text(words.into()), "ann", "hand"), given)
        };
        for given in [Given::ByPerson, Given::InOwnWords] {
            assert!(reply("once", given).is_ok() && reply("workflow", given).is_ok());
            for words in ["yes", "Once", " once", "ok, once", "o", "1", "allow exactly this call, one time", "true"] {
                assert!(reply(words, given).is_err(), "{words}");
            }
        }
        let list = Answer::value(AnswerValue::List(vec!["once".into()]), "ann", "hand");
        assert!(check_answer::check(&asked_to_approve(), list, Given::InOwnWords).is_err());
    }

    fn asked_by_a_dialog() -> Question {
        let live = r#"{"session":"15c96f27-091a-5dc1-bcce-0d2e49721bc0","program":"claude","project":"p","since":"2026-01-01T00:00:00Z","offers":[{"mode":"auto"}]}"#;
        let mut question = asked_to_approve();
        let live: crate::documents::fields::live::Live = serde_json::from_str(live).unwrap();
        question.options = live.options("Bash");
        question.live = Some(Box::new(live));
        question.tool_call = Some(ToolCall { name: "Bash".into(), id: "toolu_1".into(), subagent: None });
        question
    }

    #[test]
    fn a_live_question_is_about_one_call_and_a_person_answers() {
        check(&asked_by_a_dialog()).unwrap();
        let cases: [fn(&mut Question); 7] = [
            |q| q.tool_call = None,
            |q| q.tool_call.as_mut().unwrap().name = "Write".into(),
            |q| q.options = approval::options(),
            |q| q.live.as_mut().unwrap().offers.clear(),
            |q| q.expires_at = Some(crate::time::now()),
            |q| q.to_session = true,
            |q| q.context = Some("harmless".into()),
        ];
        for change in cases {
            let mut question = asked_by_a_dialog();
            change(&mut question);
            assert!(check(&question).is_err(), "{question:?}");
        }
    }

    #[test]
    fn a_live_form_of_a_server_is_about_no_call_and_takes_no_words() {
        let mut form = asked(r#"{"workflow_id":"w","question":"Your order?","elicited_by":"shop"}"#);
        form.live = asked_by_a_dialog().live;
        check(&form).unwrap();
        let of_call = Question { tool_call: asked_by_a_dialog().tool_call, ..form.clone() };
        assert!(check(&of_call).is_err());
        let value = || Answer::value(AnswerValue::Text("a nut".into()), "ann", "hand");
        let gives = |answer| check_answer::check(&form, answer, Given::ByPerson).is_ok();
        assert!(gives(value()) && gives(Answer::declined(None, "ann", "hand")));
        assert!(!gives(Answer { note: Some("soon".into()), ..value() }) && !gives(Answer::declined(Some("no".into()), "ann", "hand")));
        assert!(!gives(Answer { stops: true, ..Answer::declined(None, "ann", "hand") }));
    }

    #[test]
    fn only_the_plan_itself_stands_beside_the_approval_of_a_plan() {
        let mut question = asked_by_a_dialog();
        let editable = approval::Editable { field: "plan".into(), text: "# Plan".into() };
        let approval = question.approval.as_mut().unwrap();
        (approval.tool, approval.editable) = (EXIT_PLAN_MODE.into(), Some(editable));
        question.tool_call.as_mut().unwrap().name = EXIT_PLAN_MODE.into();
        question.options = question.live.as_ref().unwrap().options(EXIT_PLAN_MODE);
        question.question = approval_text::PLAN.into();
        question.context = Some("# Plan".into());
        check(&question).unwrap();
        question.context = Some("# Another plan".into());
        assert!(check(&question).is_err());
    }
}
