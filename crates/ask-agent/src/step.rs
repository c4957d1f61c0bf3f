//! The next step, as a function of the history alone; and why no step is next.

use serde_json::Value;

use crate::history::{Call, History, Kind, Message};
use crate::model::Failure;

/// What the agent does next.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Step {
    /// Nothing: no message has come yet.
    Wait,
    /// The model reads the newest messages and replies.
    AskModel,
    /// The call is made. If it asks a person, the answer lies in the mailbox, or is not there yet.
    Make(Call),
    /// The process died during the call. The model learns that the outcome is unknown.
    SayUnknown(Call),
    /// The model is told why its reply is not enough.
    Tell(Fault),
    /// The turn is over.
    Finish,
}

/// Why a reply is not enough. The model is told once, and goes on. The second such reply in a row ends the turn. For a full context,
/// the model gives a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It reached the limit on tokens.
    Cut,
    /// The context of the model is full.
    Full,
    /// It has no words and no calls.
    Empty,
    /// The model, or the API, refused to go on.
    Refused,
}

impl Fault {
    pub fn of(reply: &Message) -> Option<Self> {
        let Kind::Reply(stop) = &reply.kind else { return None };
        let is_content = |block: &Value| block["type"] == "tool_use" || block["text"].as_str().is_some_and(|text| !text.trim().is_empty());
        match stop.as_str() {
            "max_tokens" => Some(Self::Cut),
            "model_context_window_exceeded" => Some(Self::Full),
            "refusal" => Some(Self::Refused),
            "pause_turn" => None,
            _ => (!reply.content.iter().any(is_content)).then_some(Self::Empty),
        }
    }

    /// The end of a turn for this reason.
    pub fn end(self) -> End {
        let (words, reason, stop) = self.parts();
        End::Short("success", reason, stop, format!("The turn has no result: {words}"))
    }

    /// The same in words; then `terminal_reason` and `stop_reason` of such an end.
    pub fn parts(self) -> (&'static str, &'static str, Option<&'static str>) {
        match self {
            Self::Cut => ("the reply reached the limit on tokens and was cut", "completed", Some("max_tokens")),
            Self::Full => ("the context of the model is full", "blocking_limit", None),
            Self::Empty => ("the reply is empty", "completed", None),
            Self::Refused => ("the reply was stopped as a refusal", "api_error", Some("refusal")),
        }
    }
}

/// Why the work is to end before its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// A person interrupts the turn. Calls that were not made will not be made.
    Interrupt,
    /// The process is to end. The next one goes on where this one ends.
    Terminate,
}

/// Why a turn is over.
pub(crate) enum End {
    /// The model has finished, with these words.
    Finished(String),
    /// This call waits for a person. It may be a subagent's.
    Waits(Call),
    /// A hook ended the turn.
    ByHook,
    Stopped(Stop),
    /// The API gave no reply.
    Failed(Failure),
    /// A limit was reached, or the replies were not enough: `subtype`, `terminal_reason` and `stop_reason` of the result, and why.
    Short(&'static str, &'static str, Option<&'static str>, String),
}

/// The next step.
pub(crate) fn next(history: &History) -> Step {
    if let Some(call) = history.open_calls().into_iter().next() {
        return if history.begun.contains(&call.id) { Step::SayUnknown(call) } else { Step::Make(call) };
    }
    match history.messages.last() {
        None => Step::Wait,
        Some(Message { kind: Kind::Reply(stop), .. }) if stop == "pause_turn" => Step::AskModel,
        Some(newest) if newest.is_reply() => Fault::of(newest).map_or(Step::Finish, Step::Tell),
        Some(_) => Step::AskModel,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::history::BEGUN;
    use crate::tool_names::ASK_USER;

    fn history(entries: &[Value]) -> History {
        let mut history = History::default();
        entries.iter().for_each(|entry| history.take(entry));
        history
    }

    fn user(uuid: &str, content: Value) -> Value {
        json!({ "type": "user", "uuid": uuid, "message": { "role": "user", "content": content } })
    }

    fn reply(uuid: &str, content: Value) -> Value {
        json!({ "type": "assistant", "uuid": uuid, "message": { "role": "assistant", "content": content } })
    }

    fn tool(id: &str, name: &str) -> Value {
        json!({ "type": "tool_use", "id": id, "name": name, "input": { "command": "x" } })
    }

    fn result(id: &str) -> Value {
        user(&format!("r-{id}"), json!([{ "type": "tool_result", "tool_use_id": id, "content": "ok" }]))
    }

    fn begun(id: &str) -> Value {
        json!({ "type": "attachment", "attachment": { "type": BEGUN, "toolUseID": id } })
    }

    #[test]
    fn each_end_of_a_transcript_has_one_next_step() {
        let call =
            |id: &str, name: &str| Call { id: id.into(), name: name.into(), input: json!({"command": "x"}).as_object().unwrap().clone() };
        let mut entries = Vec::new();
        let mut then = |entry: Value, expected: Step| {
            entries.push(entry);
            assert_eq!(next(&history(&entries)), expected, "{entries:#?}");
        };
        then(json!({"type": "mode"}), Step::Wait);
        then(user("p", json!("Do it")), Step::AskModel);
        then(reply("a", json!([tool("1", "Bash"), tool("2", "Read"), tool("3", ASK_USER)])), Step::Make(call("1", "Bash")));
        then(begun("1"), Step::SayUnknown(call("1", "Bash")));
        then(result("1"), Step::Make(call("2", "Read")));
        then(result("2"), Step::Make(call("3", ASK_USER)));
        then(result("3"), Step::AskModel);
        then(reply("b", json!([{ "type": "text", "text": "Done." }])), Step::Finish);
        then(user("q", json!("More")), Step::AskModel);
    }

    #[test]
    fn the_results_of_a_reply_are_one_message_and_stand_first() {
        let history = history(&[
            user("p", json!("Do it")),
            reply("a", json!([tool("1", "Bash"), tool("2", "Read")])),
            result("1"),
            user("q", json!("and hurry")),
            result("2"),
        ]);
        let messages = history.for_the_model();
        let kinds: Vec<_> = messages[2]["content"].as_array().unwrap().iter().map(|b| b["type"].as_str().unwrap()).collect();
        assert_eq!((messages.len(), kinds), (3, vec!["tool_result", "tool_result", "text"]));
    }

    #[test]
    fn a_summary_stands_for_all_in_front_of_it_until_a_rewind() {
        let text = |text: &str| json!([{ "type": "text", "text": text }]);
        let mut summary = user("s", json!("In short."));
        (summary[crate::history::REMARK], summary[crate::history::SUMMARY]) = (true.into(), true.into());
        let mark = json!({ "type": "attachment", "attachment": { "type": crate::history::REWOUND, "to": "a" } });
        let entries = [user("p", json!("Do it")), reply("a", text("Well.")), summary, reply("b", text("Done.")), mark];
        let told = |n: usize| history(&entries[..n]).for_the_model().iter().map(|m| m["content"][0]["text"].clone()).collect::<Vec<_>>();
        assert_eq!((told(4), told(5)), (vec![json!("In short."), json!("Done.")], vec![json!("Do it"), json!("Well.")]));
        let history = history(&entries[..4]);
        assert_eq!((next(&history), history.prompts().collect::<Vec<_>>()), (Step::Finish, vec![("p", true)]));
    }

    #[test]
    fn a_rewound_transcript_goes_on_behind_the_named_message() {
        let mark = json!({ "type": "attachment", "attachment": { "type": crate::history::REWOUND, "to": "a" } });
        let text = |text: &str| json!([{ "type": "text", "text": text }]);
        let history = history(&[user("p", json!("Do it")), reply("a", text("Done.")), user("c", json!("go on")), mark]);
        assert_eq!((next(&history), history.prompts().collect::<Vec<_>>()), (Step::Finish, vec![("p", true)]));
    }
}
