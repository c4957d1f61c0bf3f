//! Reads and writes a question document: in the file, the fields of all kinds lie beside one another, in one fixed order.

use std::borrow::Cow::{self, Borrowed};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::documents::answer::{Answer, AnswerValue};
use crate::documents::asked::{Asked, Kind, OnExpiry, Part};
use crate::documents::awaited::Ended;
use crate::documents::closing::{Closing, TakenBack};
use crate::documents::content::Told;
use crate::documents::fields::approval::Approval;
use crate::documents::fields::asked_in::AskedIn;
use crate::documents::fields::attachment::Attachment;
use crate::documents::fields::live::Live;
use crate::documents::fields::options::Options;
use crate::documents::fields::range::Range;
use crate::documents::fields::tool_call::ToolCall;
use crate::documents::fields::trace::{self, Trace};
use crate::documents::question::Question;
use crate::documents::until::Until;
use crate::id::{QuestionId, SessionId, WorkflowId};
use crate::time::{Span, Time};

/// A document as the file spells it: the fields of all kinds beside one another, in the order of writing.
#[derive(Serialize, Deserialize)]
#[serde(rename = "Question")]
struct Spelling<'a> {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    schema_version: Cow<'a, Option<u32>>,
    #[serde(default, skip_serializing_if = "str::is_empty")]
    question: Cow<'a, str>,
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Cow<'a, Option<Kind>>,
    #[serde(default, skip_serializing_if = "Options::is_empty")]
    options: Cow<'a, Options>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    free_text: Cow<'a, Option<bool>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    range: Cow<'a, Option<Range>>,
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    questions: Cow<'a, [Part]>,
    workflow_id: Cow<'a, WorkflowId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    question_id: Cow<'a, Option<QuestionId>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    checkpoint: Cow<'a, Option<PathBuf>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    timestamp: Cow<'a, Option<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    asked_by: Cow<'a, Option<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    context: Cow<'a, Option<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires_at: Cow<'a, Option<Time>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    on_expiry: Cow<'a, Option<OnExpiry>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    default: Cow<'a, Option<AnswerValue>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until: Cow<'a, Option<Until>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    remind_every: Cow<'a, Option<Span>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    priority: Cow<'a, Option<i32>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session_id: Cow<'a, Option<SessionId>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    continues_in: Cow<'a, Option<SessionId>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cwd: Cow<'a, Option<PathBuf>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    config_dir: Cow<'a, Option<PathBuf>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parent: Cow<'a, Option<WorkflowId>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    asked_in: Cow<'a, Option<AskedIn>>,
    #[serde(default, deserialize_with = "trace", skip_serializing_if = "Option::is_none")]
    trace: Cow<'a, Option<Trace>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    in_reply_to: Cow<'a, Option<QuestionId>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tool_call: Cow<'a, Option<ToolCall>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    approval: Cow<'a, Option<Approval>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    elicited_by: Cow<'a, Option<String>>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    to_session: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    live: Cow<'a, Option<Box<Live>>>,
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    attachments: Cow<'a, [Attachment]>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prompt: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    reads: Cow<'a, [PathBuf]>,
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    results: Cow<'a, [Ended]>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    answer: Cow<'a, Option<Answer>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    taken_back: Cow<'a, Option<TakenBack>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    closed: Cow<'a, Option<Closing>>,
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    late_answers: Cow<'a, [Answer]>,
}

fn trace<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Cow<'static, Option<Trace>>, D::Error> {
    trace::well_formed(deserializer).map(Cow::Owned)
}

impl<'de> Deserialize<'de> for Question {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Spelling::deserialize(deserializer).map(Self::from)
    }
}

impl Serialize for Question {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Spelling::from(self).serialize(serializer)
    }
}

/// The two forms of a document. Each of these fields goes from one to the other as it is.
macro_rules! same_fields {
    (question { $($own:ident)* } asked { $($asked:ident)* }) => {
        impl<'a> From<&'a Question> for Spelling<'a> {
            fn from(question: &'a Question) -> Self {
                let (asked, (prompt, results)) = (&question.asked, question.unanswered.spelled());
                Self {
                    $($own: Borrowed(&question.$own),)*
                    $($asked: Borrowed(&asked.$asked),)*
                    to_session: asked.to_session,
                    prompt: prompt.map(Borrowed),
                    results: Borrowed(results),
                }
            }
        }

        impl From<Spelling<'_>> for Question {
            fn from(spelling: Spelling<'_>) -> Self {
                Self {
                    $($own: spelling.$own.into_owned(),)*
                    asked: Asked { to_session: spelling.to_session, $($asked: spelling.$asked.into_owned(),)* },
                    unanswered: Told { prompt: spelling.prompt.map(Cow::into_owned), results: spelling.results.into_owned() }.into(),
                }
            }
        }
    };
}

same_fields! {
    question {
        schema_version question workflow_id question_id checkpoint timestamp session_id continues_in cwd config_dir parent asked_in trace reads
        answer taken_back closed late_answers
    }
    asked {
        kind options free_text range questions asked_by context expires_at on_expiry default until remind_every priority in_reply_to tool_call
        approval elicited_by live attachments
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documents::question::QuestionDocument;

    /// Every field of a document as the file spells it, in the order of writing.
    const FIELDS: [(&str, &str); 40] = [
        ("schema_version", "1"),
        ("question", r#""Which?""#),
        ("type", r#""choice""#),
        ("options", r#"{"a":"A"}"#),
        ("free_text", "false"),
        ("range", r#"{"min":1.0}"#),
        ("questions", r#"[{"question":"?"}]"#),
        ("workflow_id", r#""w""#),
        ("question_id", r#""15c96f27-091a-5dc1-bcce-0d2e49721bc0""#),
        ("checkpoint", r#""/c""#),
        ("timestamp", r#""today""#),
        ("asked_by", r#""ann""#),
        ("context", r#""why""#),
        ("expires_at", r#""2026-01-01T00:00:00Z""#),
        ("on_expiry", r#""cancel""#),
        ("default", r#""a""#),
        ("until", r#"{"file":"/x"}"#),
        ("remind_every", r#""4h""#),
        ("priority", "2"),
        ("session_id", r#""15c96f27-091a-5dc1-bcce-0d2e49721bc0""#),
        ("continues_in", r#""15c96f27-091a-5dc1-bcce-0d2e49721bc0""#),
        ("cwd", r#""/d""#),
        ("config_dir", r#""/e""#),
        ("parent", r#""p""#),
        ("asked_in", r#"{"run":"p/15c96f27-091a-5dc1-bcce-0d2e49721bc0/1","proof":"15c96f27-091a-5dc1-bcce-0d2e49721bc0"}"#),
        ("trace", r#"{"traceparent":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01","tracestate":"rojo=1"}"#),
        ("in_reply_to", r#""15c96f27-091a-5dc1-bcce-0d2e49721bc0""#),
        ("tool_call", r#"{"name":"T","id":"t"}"#),
        ("approval", r#"{"tool":"Bash","sha256":"x"}"#),
        ("elicited_by", r#""server""#),
        ("to_session", "true"),
        (
            "live",
            r#"{"session":"15c96f27-091a-5dc1-bcce-0d2e49721bc0","program":"claude","project":"p","since":"2026-01-01T00:00:00Z","offers":[{"mode":"auto"}]}"#,
        ),
        ("attachments", r#"[{"name":"a.diff","type":"text/x-diff","size":3,"sha256":"x"}]"#),
        ("prompt", r#""do""#),
        ("reads", r#"["/f"]"#),
        ("results", r#"[{"workflow_id":"c","end":"delivered"}]"#),
        ("answer", r#"{"outcome":"answered","value":"a","by":"ann","channel":"x"}"#),
        ("taken_back", r#"{"at":"2026-01-01T00:00:00Z","by":"ann","answer":"a"}"#),
        ("closed", r#"{"state":"delivered","at":"2026-01-01T00:00:00Z","by":"x"}"#),
        ("late_answers", r#"[{"outcome":"answered","value":"b","by":"bob","channel":"x"}]"#),
    ];

    #[test]
    fn a_field_of_another_kind_survives_in_its_place() {
        let spelled = |is_there: &dyn Fn(&str) -> bool| {
            let fields = FIELDS.iter().filter(|(name, _)| *name == "workflow_id" || is_there(name));
            format!("{{{}}}", fields.map(|(name, value)| format!("\"{name}\":{value}")).collect::<Vec<_>>().join(","))
        };
        let survives = |document: String| {
            let question: Question = serde_json::from_str(&document).unwrap();
            assert_eq!(serde_json::to_string(&question).unwrap(), document);
        };
        survives(spelled(&|_| true));
        for (one, _) in FIELDS {
            survives(spelled(&|name| name == one));
            survives(spelled(&|name| name != one));
            survives(spelled(&|name| [one, "prompt"].contains(&name)));
            survives(spelled(&|name| [one, "results"].contains(&name)));
            survives(spelled(&|name| ![one, "answer"].contains(&name)));
        }
    }
    #[test]
    fn a_malformed_trace_is_no_trace_and_stays_in_the_file() {
        let right = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        for wrong in ["7", r#""x""#, "[1e999]", "{}", r#"{"traceparent":"00-x"}"#, r#"{"traceparent":7}"#, r#"{"a":{"b":["\ud800"]}}"#] {
            let file = format!(r#"{{"workflow_id":"w","question":"?","trace":{wrong}}}"#);
            let mut document = QuestionDocument::parse(file.as_bytes()).unwrap_or_else(|e| panic!("{wrong}: {e}"));
            assert_eq!(document.typed.trace, None, "{wrong}");
            document.typed.asked.priority = Some(1);
            document.update().unwrap();
            assert_eq!(document.field("trace"), Some(wrong));
        }
        let file = format!(r#"{{"workflow_id":"w","question":"?","trace":{{"traceparent":"{right}","tracestate":"=","more":1}}}}"#);
        let mut document = QuestionDocument::parse(file.as_bytes()).unwrap();
        let trace = document.typed.trace.clone().unwrap();
        assert_eq!((trace.traceparent.as_str(), trace.tracestate), (right, None));
        document.typed.asked.priority = Some(1);
        document.update().unwrap();
        assert!(document.field("trace").unwrap().contains("more"), "what is in it stays as it was written");
    }
}
