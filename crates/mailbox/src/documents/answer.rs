//! The answer to a question. It stands in the field `answer` of the question's document.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::document::numbers;
use crate::text::{self, is_blank};
use crate::{Result, Shown, Through, Time, time};

/// The longest part of an answer that is told to whoever was second, in characters.
const WITH_WHAT: usize = 80;

/// The `by` of an answer that is the asker's default.
pub const BY_DEFAULT: &str = "default";

/// The `by` of an answer that is the event of the question (see [`Until`](crate::documents::until::Until)).
pub const BY_EVENT: &str = "event";

/// The largest answer, in bytes of its text.
pub const MAX_ANSWER: usize = 4 << 20;

/// The value of an answer.
#[derive(Debug, Clone, PartialEq, Serialize, derive_more::From, schemars::JsonSchema)]
#[serde(untagged)]
pub enum AnswerValue {
    /// One value: an option's key, `yes` or `no`, a number as text, or free text.
    #[from(String, &str)]
    Text(String),
    /// The answer to a `multi_choice` question.
    #[from]
    List(Vec<String>),
    /// The answers of a batch, by the ids of its questions.
    Batch(Map<String, Value>),
}

impl<'de> Deserialize<'de> for AnswerValue {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_json(Value::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

impl AnswerValue {
    /// Reads a value as people write it by hand: a number becomes its text, a boolean becomes `yes` or `no`.
    ///
    /// # Errors
    /// A message if the value is null, or a list with anything but text and numbers.
    pub fn from_json(value: Value) -> Result<Self, &'static str> {
        Ok(match value {
            Value::String(s) => Self::Text(s),
            Value::Number(n) => Self::Text(numbers::as_text(&n)),
            Value::Bool(b) => Self::Text(if b { "yes" } else { "no" }.into()),
            Value::Array(items) => Self::List(
                items
                    .into_iter()
                    .map(|item| match item {
                        Value::String(s) => Ok(s),
                        Value::Number(n) => Ok(numbers::as_text(&n)),
                        _ => Err("a list of answers holds text only"),
                    })
                    .collect::<Result<_, _>>()?,
            ),
            Value::Object(map) => Self::Batch(map),
            Value::Null => return Err("an answer is not null"),
        })
    }

    /// Returns the value as plain JSON, as in a checkpoint's `user_answer`.
    pub fn to_json(&self) -> Value {
        match self {
            Self::Text(s) => Value::String(s.clone()),
            Self::List(items) => Value::Array(items.iter().cloned().map(Value::String).collect()),
            Self::Batch(map) => Value::Object(map.clone()),
        }
    }

    /// Returns the texts of a list; one text for any other value.
    pub fn to_texts(&self) -> Vec<String> {
        if let Self::List(items) = self { items.clone() } else { vec![self.to_text()] }
    }

    /// Returns the value as text for a prompt or a shell: one value without quotes, a list joined by `, `, a batch as JSON.
    pub fn to_text(&self) -> String {
        match self {
            Self::Text(s) => s.clone(),
            Self::List(items) => items.join(", "),
            Self::Batch(map) => Value::Object(map.clone()).to_string(),
        }
    }

    /// True if a person sees nothing in the value.
    pub fn is_blank(&self) -> bool {
        match self {
            Self::Text(text) => is_blank(text),
            Self::List(items) => items.iter().all(|item| is_blank(item)),
            Self::Batch(map) => map.is_empty(),
        }
    }
}

impl From<bool> for AnswerValue {
    /// `yes` or `no`.
    fn from(yes: bool) -> Self {
        Self::Text(if yes { "yes" } else { "no" }.to_owned())
    }
}

/// The kind of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Outcome {
    /// The reply has a value.
    #[default]
    Answered,
    /// The person declined to answer. The agent is told so.
    Declined,
}

crate::words!(Outcome);

/// A reply to a question. It has a `value` exactly if the outcome is `answered`. A bare value, as in `"answer": "merge"`, is
/// read as an answer with that value.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(remote = "Self")]
#[schemars(!remote)]
pub struct Answer {
    /// Whether the question was answered or declined.
    #[serde(default)]
    pub outcome: Outcome,
    /// The value.
    pub value: Option<AnswerValue>,
    /// Who answered; `default` if the asker's default applied, `event` if the event came that the asker waited for.
    #[serde(default)]
    pub by: String,
    /// By which means: `ask-answer`, `inbox`, `ntfy`, `hand`, `timer`; of an event, `file` or `time`.
    #[serde(default)]
    pub channel: String,
    /// Through what it came: `terminal`, `web`, `message`, `hook`, `mcp`, `agent` or `file`. Missing in an answer that no person gave, and in
    /// those of earlier versions.
    pub through: Option<Through>,
    /// When it was answered.
    pub at: Option<Time>,
    /// The hash of the text of the question that the person saw.
    pub question_hash: Option<Uuid>,
    /// The hash of everything that was shown of the question. Missing in answers of earlier versions.
    pub shown: Option<Shown>,
    /// The text that the person put in place of the call's editable one. Only with the value `edited`, which allows a tool call.
    pub edited: Option<String>,
    /// A remark beside the value, the reason for declining, or the person's own question.
    pub note: Option<String>,
    /// The signature of the person's key: `ed25519:BASE64`, or `sshsig:BASE64` for a key of OpenSSH.
    pub signature: Option<String>,
    /// The person asks back before they decide: the outcome is `declined`, and the note is their question.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asks_back: bool,
    /// The refusal of a tool call counts whenever the workflow makes this call. Only with the outcome `declined`, and not with `asks_back`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub always: bool,
    /// The session whose dialog is refused ends its turn, instead of going on without the call. Only with the outcome `declined`, for a
    /// live question.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stops: bool,
    /// The offer by which it came from another machine.
    pub offer_id: Option<Uuid>,
}

/// The full form has an `outcome` or a `value`; any other JSON is a bare value.
impl<'de> Deserialize<'de> for Answer {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        let mut json = Value::deserialize(deserializer)?;
        if json.get("outcome").is_none() && json.get("value").is_none() {
            return Ok(Self { value: Some(AnswerValue::from_json(json).map_err(D::Error::custom)?), ..Self::default() });
        }
        // An unfilled field of a file made by hand.
        json.as_object_mut().into_iter().for_each(|fields| fields.retain(|_, value| !value.is_null()));
        let full = Self::deserialize(json).map_err(D::Error::custom)?;
        let declined = full.outcome == Outcome::Declined;
        let asks_back = full.asks_back && declined && full.note.is_some();
        let always = full.always && declined && !asks_back;
        let stops = full.stops && declined && !asks_back && !always;
        Ok(Self { asks_back, always, stops, ..full })
    }
}

impl Serialize for Answer {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

impl Answer {
    /// Returns an answer with a value, given now.
    pub fn value(value: AnswerValue, by: impl Into<String>, channel: impl Into<String>) -> Self {
        Self { value: Some(value), by: by.into(), channel: channel.into(), at: Some(time::now()), ..Self::default() }
    }

    /// Returns an answer that asks the agent something before the person decides, given now.
    pub fn asking_back(question: String, by: impl Into<String>, channel: impl Into<String>) -> Self {
        Self { asks_back: true, ..Self::declined(Some(question), by, channel) }
    }

    /// Returns an answer that declines the question, given now. The note is the reason, if one was given.
    pub fn declined(note: Option<String>, by: impl Into<String>, channel: impl Into<String>) -> Self {
        let at = Some(time::now());
        Self { outcome: Outcome::Declined, by: by.into(), channel: channel.into(), at, note, ..Self::default() }
    }

    /// Returns a UUIDv5 of the outcome, the value, the note, an edited text, `always` and `stops`, in the namespace of the question's hash. The audit
    /// trail names an answer by it.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::error::Error::Invalid) if the answer cannot be written as JSON.
    pub fn hash(&self, question: &Uuid) -> crate::error::Result<Uuid> {
        let said = (&self.outcome, &self.value, &self.note);
        Ok(Uuid::new_v5(question, &self.with_later_fields(crate::document::to_json(&said)?)?))
    }

    /// Returns this JSON array with the fields of later versions at its end: `edited`, `always` and `stops`, each only where the answer has it.
    /// So the hashes and the signatures of all other answers stay the same.
    pub(crate) fn with_later_fields(&self, mut array: Vec<u8>) -> crate::error::Result<Vec<u8>> {
        let edited = self.edited.as_ref().map(crate::document::to_json).transpose()?;
        let always = self.always.then(|| b"true".to_vec());
        let stops = self.stops.then(|| br#""stops""#.to_vec());
        for more in edited.into_iter().chain(always).chain(stops) {
            array.pop();
            array.push(b',');
            array.extend(more);
            array.push(b']');
        }
        Ok(array)
    }

    /// True if a person or an agent gave this answer. False for the asker's default and for an event.
    pub fn is_a_persons(&self) -> bool {
        self.by != BY_DEFAULT && self.by != BY_EVENT
    }

    /// Returns the word for messages: `answered`, `declined`, `declined for good`, `declined and stopped` or `asked back`.
    pub fn word(&self) -> &'static str {
        match (self.asks_back, self.always) {
            (true, _) => "asked back",
            (false, true) => "declined for good",
            (false, false) if self.stops => "declined and stopped",
            (false, false) => self.outcome.word(),
        }
    }

    /// Returns the word for the audit trail: `answered`, `declined` or `asked_back`.
    pub fn event(&self) -> &'static str {
        if self.asks_back { "asked_back" } else { self.outcome.word() }
    }

    /// Returns the question that the person asks before they decide, if they ask back.
    pub fn counter_question(&self) -> Option<&str> {
        self.note.as_deref().filter(|_| self.asks_back)
    }

    /// True if the answer has an empty value, as an unfilled field in a file made by hand has.
    pub fn is_blank(&self) -> bool {
        self.outcome == Outcome::Answered && self.value.as_ref().is_some_and(AnswerValue::is_blank)
    }

    /// Returns the program and the channel of the answer: `ask-answer (terminal)`.
    pub fn means(&self) -> String {
        let channel = if self.channel.is_empty() { "another program".into() } else { crate::text::excerpt(&self.channel, 60) };
        match self.through.as_ref().map(Through::word).filter(|through| *through != channel) {
            Some(through) => format!("{channel} ({})", crate::text::excerpt(through, 40)),
            None => channel,
        }
    }

    /// Returns who answered, and through what: `answered by ann through ask-answer (terminal)`.
    pub fn said_by(&self) -> String {
        let by = if self.by.is_empty() { "somebody".into() } else { crate::text::excerpt(&self.by, 60) };
        format!("{} by {by} through {}", self.word(), self.means())
    }

    /// Returns who answered, how and when, for messages: `answered by ann through ask-answer (terminal), 5m ago`.
    pub fn who(&self) -> String {
        let age = self.at.map_or(String::new(), |at| format!(", {} ago", time::human(time::since(at))));
        format!("{}{age}", self.said_by())
    }

    /// Says who gave the answer and with what, in one line: for whoever was second.
    pub fn who_with_what(&self) -> String {
        let value = self.value.as_ref().map(|value| format!(" with `{}`", text::excerpt(&value.to_text(), WITH_WHAT)));
        let note = self.note.as_ref().map(|note| format!(", note: {}", text::excerpt(note, WITH_WHAT)));
        format!("{}{}{}", self.who(), value.unwrap_or_default(), note.unwrap_or_default())
    }
}
