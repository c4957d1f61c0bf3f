//! Checks a question before it is posted. A poster refuses a question that probably does not say what its writer meant, even if
//! readers accept it. Questions that were posted before, or made by hand, stay valid.

use serde_json::Value;

use crate::documents::checks::check_answer::Given;
use crate::{Content, Error, Kind, Part, Question, QuestionDocument, Result, check_answer, excerpt, spelling};

/// The fields of a question. The last two belong to AskUserQuestion and have no meaning here.
const FIELDS: [&str; 40] = [
    "schema_version", "question", "type", "options", "free_text", "range", "questions", "workflow_id", "question_id", "checkpoint",
    "timestamp", "asked_by", "context", "expires_at", "on_expiry", "default", "until", "remind_every", "priority", "session_id",
    "continues_in", "cwd", "config_dir", "parent", "in_reply_to", "tool_call", "elicited_by", "to_session", "live", "attachments",
    "approval", "prompt", "reads", "results", "answer", "taken_back", "closed", "late_answers", "answers", "annotations",
];
/// The fields of one question of a batch.
const OF_A_PART: [&str; 8] = ["id", "question", "header", "type", "multiSelect", "options", "free_text", "range"];
/// The fields of `range`.
const OF_A_RANGE: [&str; 3] = ["min", "max", "step"];
/// The fields of an option in a list.
const OF_AN_OPTION: [&str; 5] = ["label", "key", "value", "description", "preview"];

/// Checks a valid question that is about to be posted.
///
/// # Errors
/// [`Error::Invalid`] with the field, for a field that looks misspelt, for options that cannot be chosen, for a range without a
/// number, and for a default that is empty or close to an option.
pub fn check(document: &QuestionDocument) -> Result<()> {
    let question = &document.typed;
    document.names().try_for_each(|name| known(name, &FIELDS, ""))?;
    let json = |name: &str| document.field(name).and_then(|raw| serde_json::from_str::<Value>(raw).ok()).unwrap_or_default();
    of_options(&json("options"), "options")?;
    for (n, part) in json("questions").as_array().into_iter().flatten().enumerate() {
        let at = format!("questions[{n}]");
        names_of(part).try_for_each(|name| known(name, &OF_A_PART, &at))?;
        of_options(&part["options"], &format!("{at}.options"))?;
    }
    for (n, part) in question.parts().iter().enumerate() {
        let at = |field: &str| if question.is_batch() { format!("questions[{n}].{field}") } else { field.to_owned() };
        can_be_chosen(part, &at("options"))?;
        can_be_told_apart(part.options.0.iter().map(|choice| choice.key.as_str()), &at("options"))?;
        if part.range.is_some() && part.kind() != Kind::Number {
            return Err(Error::invalid(at("range"), "is set, but the answer is no number", "leave it out, or write the type number"));
        }
    }
    let ids: Vec<String> = question.questions.iter().enumerate().map(|(n, part)| part.key(n)).collect();
    can_be_told_apart(ids.iter().map(String::as_str), "questions")?;
    if question.until.is_some() && question.remind_every.is_some() {
        let fix = "leave it out, or ask a person without until";
        return Err(Error::invalid("remind_every", "is set, but nobody is asked: an event answers", fix));
    }
    if let Some(name) = question.asked_by.as_deref().filter(|name| is_ours(name)) {
        let fix = "name the agent that asks, or leave it out";
        return Err(Error::invalid("asked_by", format!("is `{}`, but askbox itself does not ask this", excerpt(name, 40)), fix));
    }
    default(question)
}

/// Checks that a client's question has no field that only askbox's own programs write. With such a field, a question could look like a
/// tool call that a person may allow, or like the question of an MCP server.
///
/// # Errors
/// [`Error::Invalid`] with the first such field.
pub fn of_client(question: &Question) -> Result<()> {
    let content = question.content();
    let fields = [
        ("approval", question.approval.is_some(), "askbox asks about a tool call when an agent makes it"),
        ("tool_call", question.tool_call.is_some(), "askbox writes it for a call that waits"),
        ("elicited_by", question.elicited_by.is_some(), "a run's supervisor asks for an MCP server"),
        ("to_session", question.to_session, "the MCP server writes it for its own session"),
        ("continues_in", question.continues_in.is_some(), "askbox writes it in the shell of a live session"),
        ("live", question.live.is_some(), "askbox writes it for the dialog of a session"),
        ("results", matches!(content, Content::Results(_)), "askbox tells a parent itself how its children ended"),
        ("prompt", matches!(content, Content::Task(_)), "a task is not a question"),
        ("reads", !question.reads.is_empty(), "a task is not a question"),
    ];
    match fields.into_iter().find(|(_, is_there, _)| *is_there) {
        Some((field, _, why)) => Err(Error::invalid(field, "is written by askbox's own programs only", format!("leave it out: {why}"))),
        None => Ok(()),
    }
}

/// True for a name under which a person would take the question for one of askbox's own.
fn is_ours(name: &str) -> bool {
    let letters: String = name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    ["askbox", "askboxhook", "askboxmcp", "relaunch", "relaunchwatch"].contains(&letters.as_str())
}

fn names_of(object: &Value) -> impl Iterator<Item = &str> {
    object.as_object().into_iter().flat_map(|object| object.keys().map(String::as_str))
}

fn of_options(options: &Value, at: &str) -> Result<()> {
    for (n, option) in options.as_array().into_iter().flatten().enumerate() {
        names_of(option).try_for_each(|name| known(name, &OF_AN_OPTION, &format!("{at}[{n}]")))?;
    }
    Ok(())
}

/// Refuses an unknown field that looks like a known one. Other unknown fields belong to the writer, and are kept.
fn known(name: &str, fields: &[&str], at: &str) -> Result<()> {
    if fields.contains(&name) {
        return Ok(());
    }
    let path = if at.is_empty() { excerpt(name, 40) } else { format!("{at}.{}", excerpt(name, 40)) };
    if fields.contains(&"range") && OF_A_RANGE.contains(&name) {
        return Err(Error::invalid(path, "would bind nobody here", format!("write it into `range`, such as \"range\": {{\"{name}\": 1}}")));
    }
    match fields.iter().find(|field| spelling::is_misspelt(name, field)) {
        Some(field) => Err(Error::invalid(
            path,
            "is an unknown field",
            format!("did you mean `{field}`? a field of your own needs a name that is not so close"),
        )),
        None => Ok(()),
    }
}

/// Refuses options that cannot be chosen.
fn can_be_chosen(part: &Part, field: &str) -> Result<()> {
    let is_yes_or_no = |key: &str| matches!(key.trim().to_lowercase().as_str(), "yes" | "no");
    let (kind, choosable) = match part.kind() {
        Kind::Choice | Kind::MultiChoice => return Ok(()),
        Kind::YesNo => ("yes_no", part.options.0.iter().all(|c| is_yes_or_no(&c.key))),
        Kind::Text => ("text", part.options.is_empty()),
        Kind::Number => ("number", part.options.is_empty()),
    };
    if choosable {
        return Ok(());
    }
    let fix = "leave the options out; or leave the type out, and the person chooses one of them or answers in their own words";
    Err(Error::invalid(field, format!("are given, but the answer is of type {kind}, which has none"), fix))
}

/// Refuses names that are the same text in two forms of Unicode: a person sees, and types, one name.
fn can_be_told_apart<'a>(names: impl Iterator<Item = &'a str>, field: &str) -> Result<()> {
    let mut seen = std::collections::HashSet::new();
    match names.filter(|name| !name.is_ascii()).find(|name| !seen.insert(spelling::composed(name).into_owned())) {
        None => Ok(()),
        Some(twice) => Err(Error::invalid(
            field,
            format!("hold `{}` twice, in two forms of Unicode that look the same", excerpt(twice, 40)),
            "give each a name that can be told apart",
        )),
    }
}

/// Refuses a default that is empty or close to an option: it would apply without a look by any person.
fn default(question: &Question) -> Result<()> {
    let Some(default) = &question.default else { return Ok(()) };
    match check_answer::fits(question, default, Given::ByPerson) {
        Err(Error::Invalid { problem, .. }) if default.is_blank() => {
            Err(Error::invalid("default", problem, "write the answer that applies, or leave the default out"))
        }
        Err(Error::Invalid { problem, .. }) => Err(Error::invalid(
            "default",
            problem,
            format!("write one of these, or words that are not so close: {}", question.options.keys()),
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(json: &str) -> Option<String> {
        check(&QuestionDocument::parse(json.as_bytes()).unwrap()).err().map(|e| format!("{e} {}", e.hint()))
    }

    #[test]
    fn a_field_that_looks_like_a_known_one_is_refused() {
        for (json, says) in [
            (r#"{"workflow_id":"w","question":"?","tpye":"number"}"#, "tpye: is an unknown field did you mean `type`?"),
            (r#"{"workflow_id":"w","question":"?","expiresAt":"x"}"#, "did you mean `expires_at`?"),
            (
                r#"{"workflow_id":"w","questions":[{"question":"?"},{"question":"!","multi_select":true}]}"#,
                "questions[1].multi_select: is an unknown field did you mean `multiSelect`?",
            ),
            (r#"{"workflow_id":"w","question":"?","options":[{"label":"a","descripton":"A"}]}"#, "options[0].descripton"),
        ] {
            assert!(refusal(json).is_some_and(|e| e.contains(says)), "{json}: {:?}", refusal(json));
        }
        let own = r#"{"workflow_id":"w","question":"?","tags":["a"],"cmd":"x","ticket":7,"answers":{},"options":{"typ":"an option may have any name"}}"#;
        assert_eq!(refusal(own), None);
    }

    #[test]
    fn options_that_nobody_can_choose_are_refused() {
        assert!(refusal(r#"{"workflow_id":"w","question":"?","type":"number","options":{"a":"b"}}"#).unwrap().contains("type number"));
        assert!(
            refusal(r#"{"workflow_id":"w","questions":[{"question":"?","type":"text","options":["a"]}]}"#)
                .unwrap()
                .contains("questions[0].options")
        );
        assert!(refusal(r#"{"workflow_id":"w","question":"?","type":"yes_no","options":["a"]}"#).is_some());
        assert_eq!(refusal(r#"{"workflow_id":"w","question":"?","type":"yes_no","options":{"yes":"Deploy","no":"Wait"}}"#), None);
    }

    #[test]
    fn names_that_look_the_same_are_refused() {
        assert!(refusal(r#"{"workflow_id":"w","question":"?","options":["é","e\u0301"]}"#).unwrap().contains("two forms of Unicode"));
        let twins = r#"{"workflow_id":"w","questions":[{"id":"é","question":"?"},{"id":"e\u0301","question":"!"}]}"#;
        assert!(refusal(twins).unwrap().contains("two forms of Unicode"));
        assert_eq!(refusal(r#"{"workflow_id":"w","question":"?","options":["e\u0301","e"]}"#), None);
    }

    #[test]
    fn a_client_writes_no_field_of_askboxs_own() {
        let refused = |more: &str| {
            let document = QuestionDocument::parse(format!(r#"{{"workflow_id":"w","question":"?"{more}}}"#).as_bytes()).unwrap();
            of_client(&document.typed).err().map(|e| e.to_string())
        };
        for (field, value) in [
            ("approval", r#"{"tool":"Bash","sha256":"x"}"#),
            ("tool_call", r#"{"name":"AskUserQuestion","id":"x"}"#),
            ("elicited_by", r#""bank""#),
            ("to_session", "true"),
            ("continues_in", r#""15c96f27-091a-5dc1-bcce-0d2e49721bc0""#),
            (
                "live",
                r#"{"session":"15c96f27-091a-5dc1-bcce-0d2e49721bc0","program":"claude","project":"p","since":"2026-01-01T00:00:00Z"}"#,
            ),
            ("prompt", r#""do""#),
            ("reads", r#"["/f"]"#),
            ("results", r#"[{"workflow_id":"c","end":"delivered"}]"#),
        ] {
            let says = format!("{field}: is written by askbox's own programs only");
            assert!(refused(&format!(",\"{field}\":{value}")).is_some_and(|e| e.contains(&says)), "{field}");
        }
        assert_eq!(refused(r#","session_id":"15c96f27-091a-5dc1-bcce-0d2e49721bc0","to_session":false,"approval":null"#), None);
    }

    #[test]
    fn nobody_asks_under_askboxs_name() {
        let by = |name: &str| refusal(&format!(r#"{{"workflow_id":"w","question":"?","asked_by":"{name}"}}"#));
        for name in ["askbox", " AskBox ", "askbox hook", "relaunch"] {
            assert!(by(name).is_some_and(|e| e.contains("asked_by: is `")), "{name}");
        }
        assert_eq!((by("askbox reviewer"), by("ann"), by("")), (None, None, None));
    }

    #[test]
    fn a_default_that_is_empty_or_close_to_an_option_is_refused() {
        let with =
            |default: &str| refusal(&format!(r#"{{"workflow_id":"w","question":"?","options":["keep","merge"],"default":{default}}}"#));
        assert!(with(r#""kep""#).unwrap().contains("keep, merge") && with(r#""""#).unwrap().contains("is empty"));
        assert_eq!((with(r#""Keep""#), with(r#""whatever Bob says""#)), (None, None));
    }
}
