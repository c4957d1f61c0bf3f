//! The end of a conversation of opencode, from the messages that its API tells (measured with 1.18.33), and how far words from outside have
//! come in it. Thinking is never shown.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::conversation::{Call, Conversation, LONGEST_ABOUT, LONGEST_MESSAGE, LONGEST_PART, Outcome, TELLING, Turn, What};
use crate::conversation::{bounded, of_change};
use askbox_mailbox::prompts::Reached;
use askbox_mailbox::{Time, text};

/// The key of our id in the metadata of words.
pub const OURS: &str = "askbox";

/// A message, as far as askbox reads it.
#[derive(Debug, Deserialize)]
pub struct Message {
    info: Info,
    #[serde(default)]
    parts: Vec<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Info {
    id: String,
    role: String,
    #[serde(default)]
    time: Map<String, Value>,
    #[serde(rename = "parentID")]
    parent: Option<String>,
    #[serde(default)]
    error: Value,
    /// True in the model's summary of what was compacted. A person's message has an object there.
    #[serde(default)]
    summary: Value,
    #[serde(default)]
    path: Map<String, Value>,
    #[serde(default)]
    agent: Value,
    #[serde(default)]
    model: Value,
    #[serde(default, rename = "providerID")]
    provider: Value,
    #[serde(default, rename = "modelID")]
    model_of_answer: Value,
}

/// The messages that askbox can read, the newest last.
pub fn messages(told: Value) -> Vec<Message> {
    let Value::Array(all) = told else { return Vec::new() };
    all.into_iter().filter_map(|message| serde_json::from_value(message).ok()).collect()
}

/// The conversation of these messages. `is_cut` says that there are earlier ones.
pub fn read(messages: &[Message], is_cut: bool) -> Conversation {
    let turns = messages.iter().flat_map(turns).collect();
    let cwd = messages.iter().rev().find_map(|message| message.info.path.get("cwd")?.as_str()).map(PathBuf::from);
    Conversation { turns, is_cut, branch: None, cwd, turn: None }
}

fn turns(message: &Message) -> impl Iterator<Item = Turn> {
    let Message { info, parts } = message;
    let at = info.time.get("created").and_then(Value::as_i64).and_then(Time::from_timestamp_millis);
    let end = match info.error["name"].as_str() {
        Some("MessageAbortedError") => Some(What::Event("interrupted".into())),
        Some(_) => Some(What::Event("its turn has failed".into())),
        None => None,
    };
    parts.iter().filter_map(|part| what(info, part)).chain(end).map(move |what| Turn { at, what })
}

fn what(info: &Info, part: &Value) -> Option<What> {
    match part["type"].as_str()? {
        "compaction" => Some(What::Event("the conversation was compacted".into())),
        "text" if part["synthetic"] != true && part["ignored"] != true && info.summary != true => {
            let words = part["text"].as_str().filter(|words| !text::is_blank(words))?;
            let words = bounded(words, LONGEST_MESSAGE);
            Some(if info.role == "user" { What::Person(words) } else { What::Agent(words) })
        }
        "tool" => {
            let (state, input) = (&part["state"], &part["state"]["input"]);
            let about = TELLING.iter().chain(&["filePath"]).find_map(|field| input[field].as_str());
            let about = about.map_or_else(|| input.to_string(), str::to_owned);
            let change = state["metadata"]["diff"].as_str().into_iter().flat_map(str::lines).map(str::to_owned);
            let change = of_change(change);
            let result = match state["status"].as_str() {
                Some("completed") => Some((&state["output"], false)),
                Some("error") => Some((&state["error"], true)),
                _ => None,
            };
            let outcome =
                |(of, is_error): (&Value, bool)| Outcome { text: bounded(of.as_str().unwrap_or_default(), LONGEST_PART), is_error };
            let pretty =
                || input["command"].as_str().map_or_else(|| serde_json::to_string_pretty(input).unwrap_or_default(), str::to_owned);
            Some(What::Call(Call {
                id: text::excerpt(part["callID"].as_str()?, 80),
                name: text::excerpt(part["tool"].as_str()?, 80),
                about: text::excerpt(&about, LONGEST_ABOUT),
                input: if change.is_empty() { bounded(&pretty(), LONGEST_PART) } else { String::new() },
                change,
                result: result.map(outcome),
            }))
        }
        _ => None,
    }
}

/// How far the words with this id of ours have come, and the id of their message. `known` is that id, if it was found before.
pub fn reached(messages: &[Message], id: &str, known: &str) -> (Reached, String) {
    let ours = messages.iter().find(|message| message.parts.iter().any(|part| part["metadata"][OURS] == id));
    let message = ours.map_or(known, |ours| &ours.info.id);
    let last = messages.iter().rfind(|message_of| !message.is_empty() && message_of.info.parent.as_deref() == Some(message));
    let reached = match last {
        Some(last) if last.info.time.contains_key("completed") => Reached::Answered,
        Some(_) => Reached::TakenUp,
        None if ours.is_some() => Reached::Given,
        None => Reached::Nothing,
    };
    (reached, message.to_owned())
}

/// The mode and the model of the last words, or of the last answer if that is long. opencode would take its own defaults, and so leave a mode
/// that only plans.
pub fn goes_on_with(messages: &[Message]) -> Option<(&Value, Value)> {
    let last = |role: &str| {
        let counts = |info: &Info| info.role == role && info.agent.is_string() && info.summary != true;
        messages.iter().map(|message| &message.info).rfind(|info| counts(info))
    };
    let of_answer = |info: &Info| json!({ "providerID": info.provider, "modelID": info.model_of_answer });
    let words = last("user").map(|info| (&info.agent, info.model.clone()));
    words.or_else(|| last("assistant").map(|info| (&info.agent, of_answer(info))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hour() -> Value {
        let user = |id: &str, parts: Value| {
            let info = json!({"id": id, "role": "user", "time": {"created": 1_796_041_535_022_i64}, "summary": {"diffs": []},
                "agent": "plan", "model": {"providerID": "p", "modelID": "m"}});
            json!({"info": info, "parts": parts})
        };
        let model = |parent: &str, more: Value, parts: Value| {
            let mut info = json!({"id": "a", "role": "assistant", "parentID": parent, "path": {"cwd": "/work/shop"},
                "agent": "plan", "providerID": "p", "modelID": "m",
                "time": {"created": 1_796_041_535_079_i64, "completed": 1_796_041_535_391_i64}});
            info.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            json!({"info": info, "parts": parts})
        };
        let call = |tool: &str, state: Value| json!({"type": "tool", "tool": tool, "callID": "c", "state": state});
        json!([
            user("m1", json!([{"type": "text", "text": "Fix it.\u{202e}"}, {"type": "text", "synthetic": true, "text": "<file>"}])),
            model("m1", json!({}), json!([{"type": "reasoning", "text": "thinks"}, null,
                call("bash", json!({"status": "error", "input": {"command": "cargo test"}, "error": "1 failed"})),
                call("edit", json!({"status": "completed", "input": {"filePath": "/a"}, "output": "ok", "metadata": {"diff": "-a\n+b"}}))])),
            model("m1", json!({}), json!([{"type": "text", "text": "Fixed."}])),
            model("m1", json!({"summary": true, "agent": "compaction"}), json!([{"type": "compaction"}, {"type": "text", "text": "the summary"}])),
            user("m2", json!([{"type": "text", "text": "Go on.", "metadata": {"askbox": "ours"}}])),
            model("m2", json!({"error": {"name": "MessageAbortedError"}}), json!([call("bash", json!({"status": "running", "input": {}}))])),
            {"new": true},
        ])
    }

    #[test]
    fn the_messages_of_opencode_are_shown_without_thinking() {
        let said = read(&messages(hour()), true);
        assert_eq!((said.is_cut, said.cwd), (true, Some("/work/shop".into())));
        let shown: Vec<_> = said.turns.iter().map(|turn| &turn.what).collect();
        let [
            What::Person(asked),
            What::Call(ran),
            What::Call(edited),
            What::Agent(told),
            What::Event(_),
            What::Person(_),
            What::Call(_),
            What::Event(end),
        ] = shown[..]
        else {
            panic!("{shown:?}")
        };
        assert_eq!((asked.as_str(), told.as_str(), end.as_ref()), ("Fix it.", "Fixed.", "interrupted"));
        assert_eq!((ran.about.as_str(), ran.result.as_ref().map(|end| end.is_error)), ("cargo test", Some(true)));
        assert_eq!((edited.about.as_str(), &edited.change[..]), ("/a", &["-a".to_owned(), "+b".to_owned()][..]));
    }

    #[test]
    fn the_messages_of_opencode_tell_how_far_words_have_come() {
        let all = messages(hour());
        assert_eq!(reached(&all, "others", ""), (Reached::Nothing, String::new()));
        assert_eq!(reached(&all, "ours", ""), (Reached::Answered, "m2".into()));
        assert_eq!(reached(&all[..5], "ours", ""), (Reached::Given, "m2".into()));
        // The message itself is no longer among the last ones.
        assert_eq!(reached(&all[5..], "ours", "m2"), (Reached::Answered, "m2".into()));
        assert_eq!(goes_on_with(&all), Some((&json!("plan"), json!({"providerID": "p", "modelID": "m"}))));
        // The words of a long turn are no longer among the last messages, and a summary has a mode of its own.
        assert_eq!(goes_on_with(&all[1..4]), Some((&json!("plan"), json!({"providerID": "p", "modelID": "m"}))));
        assert_eq!(goes_on_with(&all[3..4]), None);
    }
}
