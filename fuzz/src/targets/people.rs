//! Input on a person's side, which a stranger may have sent: replies in a topic, forms and cookies of a browser, the forms of MCP servers.

use askbox::agent::stream::{Asker, Elicitation};
use askbox::config::Web;
use askbox::document::Document;
use askbox::id::WorkflowId;
use askbox::mailbox::documents::checks::check_answer::{self, Given};
use askbox::mailbox::documents::checks::check_question;
use askbox::mailbox::{Answer, AnswerValue, Question};
use askbox::outgoing::channel::ntfy::fuzzed as news;
use askbox::run;
use askbox::web::fuzzed as page;
use serde_json::{Map, Value};

use super::promises;

const ASKED: &str = r#"{"workflow_id":"w","question":"Which?","options":{"a":"A","b c":"B"},"free_text":false}"#;

fn asked(json: &str) -> Question {
    Document::<Question>::parse(json.as_bytes()).expect("a question").typed
}

/// One line of a topic for replies. It counts only if one of this round's buttons would send it.
pub fn reply(bytes: &[u8]) {
    let Ok(line) = std::str::from_utf8(bytes) else { return };
    let target = "phone";
    let Some(heard) = news::heard(line, target) else { return };
    assert!(!heard.cursor.is_empty() && heard.cursor.len() <= 64 && heard.cursor.bytes().all(|b| b.is_ascii_alphanumeric()));
    assert!(!heard.counts || heard.chosen.is_some(), "what is no reply counts");
    let Some((round, shown, key)) = heard.chosen else { return };
    if heard.counts {
        let said = serde_json::from_str::<Value>(line).expect("JSON")["message"].as_str().expect("a message").to_owned();
        let button = news::text(target, round, shown, key).expect("JSON");
        assert!(said.eq_ignore_ascii_case(&button), "{said} counts, and no button says so: {button}");
    }
}

const QUESTIONS: &[&str] = &[
    ASKED,
    r#"{"workflow_id":"w","question":"Which?","options":["merge","keep"]}"#,
    r#"{"workflow_id":"w","question":"Which?","options":["a","b"],"type":"multi_choice"}"#,
    r#"{"workflow_id":"w","question":"How many?","type":"number"}"#,
    r#"{"workflow_id":"w","questions":[{"id":"x","question":"Which?","options":["a","b"],"free_text":false},{"question":"Well?","type":"yes_no"},{"question":"What?"}]}"#,
];

/// A request of a browser. The first line has four fields between tabs: the name of the page, the origin, the browser's header about the
/// origin, and its cookie. The first byte of the rest chooses a question, and the other bytes are the form.
pub fn browser(bytes: &[u8]) {
    let end = bytes.iter().position(|b| *b == b'\n').unwrap_or(bytes.len());
    let (head, body) = (&bytes[..end], bytes.get(end + 1..).unwrap_or_default());
    request(head);
    let Some((first, form)) = body.split_first() else { return };
    let question = asked(QUESTIONS[usize::from(first % 8) % QUESTIONS.len()]);
    let Some(page::Decided::Answer(value, note)) = page::decided(&question, form) else { return };
    let mut answer = Answer::value(value, "fuzz", "fuzz");
    answer.note = Some(note).filter(|note| !note.is_empty());
    match check_answer::check(&question, answer, Given::ByPerson) {
        Ok(accepted) => {
            assert_eq!(check_answer::check(&question, accepted.clone(), Given::ByPerson).ok(), Some(accepted), "the normal form");
        }
        Err(e) => promises::is_a_usable_error(&e),
    }
}

fn request(head: &[u8]) {
    let mut words = head.split(|b| *b == b'\t');
    let mut text = || std::str::from_utf8(words.next().unwrap_or_default()).ok();
    let (Some(host), origin, site) = (text(), text(), text()) else { return };
    let (origin, site) = (origin.filter(|word| !word.is_empty()), site.filter(|word| !word.is_empty()));
    let cookie = words.next().unwrap_or_default();
    for tls_in_front in [false, true] {
        let hosts = Web { hosts: vec!["box.example".into()], tls_in_front, ..Web::default() };
        let names = |authority: &str, name: &str| {
            authority
                .strip_prefix(name)
                .is_some_and(|rest| rest.is_empty() || rest.strip_prefix(':').is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit())))
        };
        let ours = |authority: &str| {
            ["localhost", "127.0.0.1", "[::1]", "box.example"].iter().any(|name| names(&authority.to_ascii_lowercase(), name))
        };
        if let Some(secret) = page::secret(&hosts, host, cookie) {
            assert!(ours(host), "a secret for {host:?}");
            let sent = String::from_utf8_lossy(cookie).into_owned();
            let name = if tls_in_front && names(&host.to_ascii_lowercase(), "box.example") { "__Secure-askbox" } else { "askbox" };
            let port = host.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok());
            let name = port.map_or_else(|| name.to_owned(), |port| format!("{name}-{port}"));
            assert!(secret.len() == 43 && sent.contains(&format!("{name}={secret}")), "{secret} of {sent}");
        }
        if page::is_taken(&hosts, host, origin, site) {
            assert!(ours(host), "a form under the name {host:?}");
            assert!(site.is_none_or(|site| site == "same-origin"), "a form of {site:?}");
            let of = origin.filter(|origin| *origin != "null");
            assert!(of.is_some() || site.is_some(), "a form that says nothing of where it comes from");
            assert!(of.is_none_or(|of| of.split_once("://").is_some_and(|(_, authority)| ours(authority))), "a form of {of:?}");
        }
    }
}

/// The first line is a form of an MCP server, the others are answers. An accepted answer becomes content that fits
/// the form exactly.
pub fn elicited(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let mut lines = text.lines();
    let Some(Ok(Value::Object(form))) = lines.next().map(serde_json::from_str::<Value>) else { return };
    let word = |name: &str| form.get(name).and_then(Value::as_str).map(Into::into);
    let of = |name: &str| form.get(name).cloned().unwrap_or_default();
    let server = Elicitation {
        request_id: "r".into(),
        asker: word("server").map_or(Asker::AgentOrServer, Asker::Server),
        message: word("message").unwrap_or_else(|| "m".into()),
        url: word("url"),
        schema: of("schema"),
        order: of("order"),
        own_words: of("own_words").as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect(),
    };
    let workflow: WorkflowId = "w".parse().expect("an id");
    let form = match run::asking::form::Elicited::of_elicitation(&server, &workflow, None) {
        Ok(form) => form,
        Err(why) => return assert!(!why.is_empty() && why.len() < 1024, "{why}"),
    };
    if check_question::check(&form.question).is_err() {
        return;
    }
    for line in lines {
        let Ok(Ok(value)) = serde_json::from_str::<Value>(line).map(AnswerValue::from_json) else { continue };
        let answer = Answer::value(value, "fuzz", "fuzz");
        let Ok(Some(value)) = check_answer::check(&form.question, answer, Given::ByPerson).map(|accepted| accepted.value) else { continue };
        match form.content(&value) {
            Ok(content) if server.url.is_none() => is_asked_for(&server, content.as_object().expect("an object")),
            Ok(content) => assert_eq!(content, Value::Object(Map::new())),
            Err(why) => assert!(!why.is_empty(), "{why}"),
        }
    }
}

/// Every value is of its field's type and within its bounds, and every required value is there.
fn is_asked_for(asked: &Elicitation, content: &Map<String, Value>) {
    let Elicitation { schema, own_words, .. } = asked;
    let fields = schema["properties"].as_object().expect("fields");
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    for name in required.filter(|name| fields.contains_key(*name)) {
        assert!(content.contains_key(name), "{name:?} is missing in {content:?}");
    }
    for (name, value) in content {
        let field = fields.get(name).unwrap_or_else(|| panic!("nobody asked for {name:?}"));
        let one_of = |of: &Value, titled: &str| {
            let keys = of["enum"]
                .as_array()
                .cloned()
                .unwrap_or_else(|| of[titled].as_array().into_iter().flatten().map(|one| one["const"].clone()).collect());
            move |value: &Value| keys.contains(value)
        };
        let fits = match field["type"].as_str() {
            _ if field["enum"].is_array() || field["oneOf"].is_array() => {
                value.is_string() && own_words.contains(name) || one_of(field, "oneOf")(value)
            }
            Some("boolean") => value.is_boolean(),
            Some("integer") => value.as_i64().is_some() && within(value.as_f64(), &field["minimum"], &field["maximum"]),
            Some("number") => value.as_f64().is_some_and(f64::is_finite) && within(value.as_f64(), &field["minimum"], &field["maximum"]),
            Some("string") => {
                let length = value.as_str().map(|text| text.chars().count() as f64);
                length.is_some() && within(length, &field["minLength"], &field["maxLength"])
            }
            Some("array") => {
                let is_one = one_of(&field["items"], "anyOf");
                let items = value.as_array().expect("a list");
                items.iter().all(is_one) && within(Some(items.len() as f64), &field["minItems"], &field["maxItems"])
            }
            _ => false,
        };
        assert!(fits, "{name:?}: {value} does not fit {field}");
    }
}

fn within(value: Option<f64>, least: &Value, most: &Value) -> bool {
    let Some(value) = value else { return false };
    least.as_f64().is_none_or(|least| value >= least) && most.as_f64().is_none_or(|most| value <= most)
}
