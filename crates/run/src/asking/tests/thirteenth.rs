//! One more program on the driver *beside*, as short as it can be: it says what it asks as one line of JSON, and takes one line.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::asking::beside::{Desk, Dialogs, Program, Sent};
use crate::asking::receipt::End;
use crate::asking::reply::Reply;
use crate::asking::request::{More, Request, Subject};
use crate::asking::{posted, questions};
use askbox_config::Config;
use askbox_mailbox::documents::fields::tool_call::QUESTION;
use askbox_mailbox::programs::OPENCODE;
use askbox_mailbox::transitions::accept::{self, Decision, On};
use askbox_mailbox::{Answer, AnswerValue, Caller, Folder, Mailbox, Result, RoundId, SessionId, read_question};

/// The program: the lines that it has written, and those that it was sent.
struct Thirteenth {
    asks: Map<String, Value>,
    received: Vec<Value>,
    has_ended: bool,
}

impl Program for Thirteenth {
    type Key = &'static str;

    fn read(&mut self, key: &&'static str, _age: Duration) -> Result<Option<Request>> {
        let session: SessionId = "15c96f27-091a-5dc1-bcce-0d2e49721bc0".parse()?;
        let (folder, tool) = (std::path::PathBuf::from("/work/shop"), self.asks["tool"].as_str().unwrap_or_default().to_owned());
        Ok(Some(Request {
            workflow: posted::workflow(&folder, &session, key)?,
            session,
            cwd: folder.clone(),
            folder,
            subject: match tool.as_str() {
                QUESTION => Subject::Questions,
                "shop" => Subject::Form,
                _ => Subject::Call,
            },
            tool,
            input: self.asks["input"].as_object().cloned().unwrap_or_default(),
            call: (*key).to_owned(),
            subagent: None,
            more: More::default(),
        }))
    }

    fn write(&mut self, key: &&'static str, _: &Request, _: &RoundId, reply: Reply) -> Result<Sent> {
        self.received.push(match reply {
            Reply::Allow { input, .. } => json!({"to": key, "run": input}),
            Reply::Refuse { words, .. } => json!({"to": key, "no": words}),
            Reply::Stop { .. } => json!({"to": key, "stop": true}),
            Reply::Answers(answers) => json!({"to": key, "answers": answers.lists()}),
            Reply::Form(content) => json!({"to": key, "content": content}),
        });
        Ok(Sent::Yes)
    }

    fn end(&mut self, _: &&'static str) -> Option<&'static str> {
        self.has_ended.then_some("it was answered at its terminal")
    }
}

/// Lets the program ask, gives this answer, and returns what the program received, and how the round ended.
fn asked(asks: Value, answer: impl FnOnce(&Caller) -> Answer, ends: bool) -> (Vec<Value>, End) {
    let folder = tempfile::tempdir().unwrap();
    let mailbox = Mailbox::open_or_create(folder.path().join("m")).unwrap();
    let mut config = Config::default();
    config.live.grace.0 = Duration::ZERO;
    let desk = Desk { mailbox: &mailbox, config: &config, facts: &OPENCODE };
    let (mut program, mut dialogs) =
        (Thirteenth { asks: asks.as_object().unwrap().clone(), received: Vec::new(), has_ended: false }, Dialogs { open: HashMap::new() });
    dialogs.open(desk, "one");
    dialogs.look(desk, &mut program).unwrap();
    let workflow = program.read(&"one", Duration::ZERO).unwrap().unwrap().workflow;
    let question = read_question::pending(&mailbox, &workflow).unwrap().typed;
    let (round, ann) = (question.round().unwrap(), Caller::person("ann", "test").unwrap());
    accept::answer(&mailbox, &workflow, Decision::by(&ann, On::question(&round, &question).unwrap()), answer(&ann)).unwrap();
    program.has_ended = ends;
    dialogs.look(desk, &mut program).unwrap();
    dialogs.take(desk, &"one", &End::Confirmed);
    assert!(dialogs.open.is_empty());
    let closed = read_question::of_round(&mailbox.round(Folder::Closed, &round), &round).unwrap().typed;
    (program.received, End::of(&closed))
}

#[test]
fn a_thirteenth_program_takes_every_reply() {
    let call = || json!({"tool": "run", "input": {"command": "touch one"}});
    let once = |ann: &Caller| ann.value(AnswerValue::Text("once".into()));
    assert_eq!(asked(call(), once, false), (vec![json!({"to": "one", "run": {"command": "touch one"}})], End::Confirmed));
    let (received, end) = asked(call(), |ann| ann.declined(Some("no".into())), false);
    assert!(received[0]["no"].as_str().unwrap().starts_with("The user refused this call. They say: no\n") && end == End::Confirmed);
    assert_eq!(asked(call(), |ann| ann.declined_with_a_stop(None), false).0, [json!({"to": "one", "stop": true})]);
    let asks = json!({"tool": QUESTION, "input": {"questions": [{"question": "Which?", "options": [{"label": "a", "description": ""}]}]}});
    questions::question(&"w".parse().unwrap(), asks["input"].as_object().unwrap()).unwrap();
    let answers = |ann: &Caller| Answer { note: Some("soon".into()), ..ann.value(AnswerValue::Text("a".into())) };
    assert_eq!(asked(asks, answers, false).0, [json!({"to": "one", "answers": [["a", "user_note: soon"]]})]);
    let form = json!({"message": "How many?", "requested_schema": {"properties": {"n": {"type": "integer"}}, "required": ["n"]}});
    let seven = |ann: &Caller| ann.value(AnswerValue::Text("7".into()));
    let filled = asked(json!({"tool": "shop", "input": form}), seven, false);
    assert_eq!(filled, (vec![json!({"to": "one", "content": {"n": 7}})], End::Confirmed));
}

#[test]
fn an_answer_behind_the_end_of_its_dialog_is_too_late() {
    let call = json!({"tool": "run", "input": {"command": "touch one"}});
    let (received, end) = asked(call, |ann| ann.value(AnswerValue::Text("once".into())), true);
    assert_eq!((received, end), (Vec::new(), End::too_late("it was answered at its terminal")));
}
