//! The lines of an agent that speaks ACP.
//!
//! The target talks as askbox does: it opens a session, prompts, and decides about each request for a permission. The bytes are the
//! agent's side of the conversation.

use std::collections::HashSet;
use std::io::Read;

use askbox::acp::protocol::{AgentReply, Asked, Choice, Client, Item, OwnServer, Permission, SessionPlace};
use askbox::agent::events::EventKind;
use askbox::agent::output::AdapterOutput;
use askbox::agent::presets::{self, Preset};
use askbox::agent::stream::lines::{BoundedLines, Line};
use askbox::agent::stream::{Elicitation, FormReply, StreamItem, TurnOutcome, Verdict};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::promises;
use super::stream::{Pieces, TIGHT, recorded};

/// The longest id that a reply repeats, the largest input that a person decides about, and the longest text of a turn, in bytes.
const ID: usize = 512;
const INPUT: usize = 256 << 10;
const TEXT: usize = 64 << 10;

/// A conversation says the same however its lines are cut into pieces. Each request of the agent gets one reply, and no reply says more
/// than was decided.
pub fn acp(bytes: &[u8]) {
    let whole = Talk::of(BoundedLines::new(bytes), None);
    heard_by_the_supervisor(&whole);
    let tight = Talk::of(BoundedLines::with_limits(bytes, TIGHT), None);
    assert_eq!(tight, Talk::of(BoundedLines::with_limits(Pieces(bytes, bytes.len()), TIGHT), None), "in other pieces");
    for preset in ["kimi", "copilot", "codex"] {
        Talk::of(BoundedLines::new(bytes), presets::find(preset));
    }
}

/// The supervisor hears each item as it was, or decides about nothing in it.
fn heard_by_the_supervisor(items: &[Item]) {
    let mut output = AdapterOutput::default();
    let mut heard = Vec::new();
    for item in items {
        let told = match item {
            Item::Told(told) => told.clone(),
            Item::Permission(Permission { request, .. }) => StreamItem::Permission(request.clone()),
            Item::Replied(_) | Item::Say(_) => continue,
        };
        let line = serde_json::to_string(&told).expect("JSON");
        let said = output.feed(&Line::whole(&line));
        let is_too_deep = |said: &[StreamItem]| matches!(said, [StreamItem::Event(EventKind::Raw { .. })]);
        assert!(said == [told] || is_too_deep(&said), "{line}");
        heard.extend(said);
    }
    let interrupted = output.interrupted("fuzz");
    if let EventKind::Interrupted { tool_calls, files_touched, .. } = &interrupted {
        assert!(tool_calls.len() <= 64 && files_touched.len() <= 1000);
    }
    heard.push(StreamItem::Event(interrupted));
    recorded(&heard);
}

/// The fields of a line, as a second reader sees them.
#[derive(Deserialize)]
struct Fields<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    method: Option<String>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

impl<'a> Fields<'a> {
    fn of(text: &'a str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// The id, if this is a request and a reply can repeat the id.
    fn asks(&self) -> Option<&'a str> {
        let id = self.id?.get();
        let is_id = id.starts_with(|c: char| c == '"' || c == '-' || c.is_ascii_digit());
        (self.method.is_some() && is_id && id.len() <= ID).then_some(id)
    }

    fn params(&self) -> Value {
        self.params.and_then(|params| serde_json::from_str(params.get()).ok()).unwrap_or_default()
    }
}

/// A conversation, and what the other side knows of it.
struct Talk {
    client: Client,
    /// The requests for a permission that wait, with their options.
    waiting: Vec<(String, Value)>,
    /// The calls about which a line was shortened.
    cut: HashSet<String>,
    session: Option<String>,
    asked: usize,
    was_refused: bool,
}

impl Talk {
    fn of<R: Read>(mut lines: BoundedLines<R>, preset: Option<&'static Preset>) -> Vec<Item> {
        let server = Some(OwnServer { program: "/askbox".into(), env: Vec::new() });
        let place = SessionPlace { cwd: "/w".into(), folders: vec!["/m".into()], mode: String::new(), server, prices: None };
        let client = Client::new("00000000-0000-4000-8000-000000000000", place, preset);
        let mut talk = Self { client, waiting: Vec::new(), cut: HashSet::new(), session: None, asked: 0, was_refused: false };
        is_ours(&talk.client.initialize());
        let mut items = Vec::new();
        while let Some(line) = lines.next_line().expect("reading from memory") {
            items.extend(talk.hear(&line));
        }
        assert!(talk.client.files().len() <= 1000);
        let left = talk.client.cancel();
        left.lines().for_each(|line| is_ours(&format!("{line}\n")));
        let cancelled = left.lines().filter(|line| line.contains("\"cancelled\"")).count();
        assert!(cancelled >= talk.waiting.len(), "a request without a reply: {left}");
        let close = talk.client.close();
        assert!(close.is_empty() || !talk.client.has_turn());
        items
    }

    fn hear(&mut self, line: &Line<'_>) -> Vec<Item> {
        let mut items = self.client.feed(line);
        if let Some(fields) = Fields::of(line.text).filter(|_| !line.over_limit) {
            self.compare(line, &fields, &items);
        }
        for item in &mut items {
            match item {
                Item::Replied(reply) => self.replied(reply),
                Item::Permission(asked) => self.decide(line, asked),
                Item::Told(StreamItem::Elicitation(asked)) => self.reply_to_form(line, asked),
                Item::Told(StreamItem::RequestCancelled { request_id }) => {
                    assert_eq!(self.client.decide(request_id.raw(), Choice::Allow), None, "it was withdrawn");
                    self.waiting.retain(|(id, _)| id != request_id.raw());
                }
                Item::Told(StreamItem::TurnEnded(outcome)) => self.ended(outcome),
                Item::Told(StreamItem::Event(EventKind::Result { duration_ms, .. })) => *duration_ms = 0,
                _ => {}
            }
        }
        items
    }

    /// Compares the items with the line, as a second reader sees it.
    fn compare(&mut self, line: &Line<'_>, fields: &Fields<'_>, items: &[Item]) {
        let replies: Vec<&str> = items.iter().filter_map(reply_to).collect();
        match fields.asks() {
            Some(id) => assert_eq!(replies, [id], "one reply to {}", line.text),
            None => assert!(replies.is_empty(), "{replies:?} to {}", line.text),
        }
        for said in items.iter().filter_map(|item| if let Item::Say(said) = item { Some(said) } else { None }) {
            is_ours(said);
        }
        let params = fields.params();
        match fields.method.as_deref().filter(|_| fields.id.is_none()) {
            Some("$/cancel_request") => {
                let is_meant = |id: &str| serde_json::from_str::<Value>(id).is_ok_and(|id| id == params["requestId"]);
                for (id, _) in self.waiting.extract_if(.., |(id, _)| is_meant(id)) {
                    let told = items
                        .iter()
                        .any(|item| matches!(item, Item::Told(StreamItem::RequestCancelled { request_id }) if *request_id == id.as_str()));
                    assert!(told && self.client.decide(&id, Choice::Allow).is_none(), "{id} was withdrawn");
                }
            }
            Some("session/update") if params["sessionId"].as_str() != self.session.as_deref() => {
                let is_raw = |item: &Item| matches!(item, Item::Told(StreamItem::Event(EventKind::Raw { .. })));
                assert!(items.iter().all(is_raw), "of another session: {items:?}");
            }
            Some("session/update") if fields.params.is_some_and(|params| line.dropped_in(params.get()) > 0) => {
                self.cut.extend(params["update"]["toolCallId"].as_str().map(str::to_owned));
            }
            _ => {}
        }
    }

    /// Goes on as askbox does.
    fn replied(&mut self, reply: &AgentReply) {
        match reply {
            AgentReply::Initialized(info) if info.can_load => {
                self.session = Some("s".into());
                is_ours(&self.client.load("s", vec!["[askbox round q".to_owned()]));
            }
            AgentReply::Initialized(info) if info.can_resume => {
                self.session = Some("s".into());
                is_ours(&self.client.resume("s"));
            }
            AgentReply::Failed { asked, message, .. } => {
                promises::is_one_safe_line(&message.one_line());
                if matches!(asked, Asked::Load | Asked::Resume) {
                    self.begin();
                }
            }
            AgentReply::Initialized(_) => self.begin(),
            AgentReply::Opened(opened) => {
                self.session = Some(opened.session.clone());
                if let Some(mode) = &opened.mode {
                    is_ours(&self.client.set_mode(mode));
                }
                self.prompt();
            }
            AgentReply::ModeSet => {}
        }
    }

    fn begin(&mut self) {
        self.session = None;
        is_ours(&self.client.new_session());
    }

    fn prompt(&mut self) {
        self.was_refused = false;
        self.cut.clear();
        is_ours(&self.client.prompt("go"));
    }

    /// Allows, refuses, cancels and leaves the requests by turns.
    fn decide(&mut self, line: &Line<'_>, asked: &Permission) {
        let Permission { request, is_own_tool, .. } = asked;
        let id = request.request_id.raw();
        assert!(self.waiting.iter().all(|(waiting, _)| waiting != id), "two requests with the id {id} wait");
        let fields = Fields::of(line.text);
        let params = fields.as_ref().map(Fields::params).unwrap_or_default();
        shows_all(asked);
        let dropped = fields.and_then(|fields| fields.params).map_or(0, |params| line.dropped_in(params.get()));
        let is_whole = dropped == 0 && !self.cut.contains(request.tool_use_id.raw());
        assert!(!request.complete || is_whole, "a part is missing: {request:?}");
        let is_named = request.tool_name.raw().starts_with("mcp__askbox__") && request.tool_name != "mcp__askbox__stop_run";
        assert!(!is_own_tool || is_whole && is_named, "allowed without a person: {request:?}");
        self.asked += 1;
        let choice = match self.asked % 4 {
            1 => Choice::Allow,
            2 => Choice::Refuse,
            3 => Choice::Cancel,
            _ => return self.waiting.push((id.to_owned(), params["options"].clone())),
        };
        let (said, made) = self.client.decide(id, choice).expect("it waits");
        self.was_refused |= made != Choice::Allow;
        is_reply(&said, id);
        assert!(made == choice || made == Choice::Cancel, "{choice:?} became {made:?}");
        let outcome = &serde_json::from_str::<Value>(&said).map_or(Value::Null, |said| said["result"]["outcome"].clone());
        let kind = match made {
            Choice::Allow => "allow_once",
            Choice::Refuse => "reject_once",
            Choice::Cancel => return assert_eq!(outcome["outcome"], "cancelled"),
        };
        // A line that had to be repaired is read by askbox alone.
        if let Some(options) = params["options"].as_array() {
            let fitting: Vec<&Value> = options.iter().filter(|option| option["kind"] == kind).map(|option| &option["optionId"]).collect();
            assert_eq!(fitting, [&outcome["optionId"]], "{said}");
        }
        assert_eq!(self.client.decide(id, choice), None, "it was answered");
    }

    /// Accepts, declines and cancels the forms by turns.
    fn reply_to_form(&mut self, line: &Line<'_>, asked: &Elicitation) {
        let id = asked.request_id.raw();
        promises::is_one_safe_line(&asked.message.one_line());
        let dropped = Fields::of(line.text).and_then(|fields| fields.params).map_or(0, |params| line.dropped_in(params.get()));
        assert!(dropped == 0 || asked.schema.is_null(), "a part is missing: {asked:?}");
        self.asked += 1;
        let content = |name: &String| (name.clone(), Value::from("own words"));
        let reply = match self.asked % 3 {
            0 => FormReply::Accept(asked.own_words.iter().map(content).collect::<serde_json::Map<_, _>>().into()),
            1 => FormReply::Decline,
            _ => FormReply::Cancel,
        };
        let (said, _) = self.client.reply_to_form(id, &reply).expect("it waits");
        is_reply(&said, id);
        assert_eq!(self.client.reply_to_form(id, &reply), None, "it was answered");
    }

    /// A turn counts as done only if nothing speaks against it.
    fn ended(&mut self, outcome: &mut TurnOutcome) {
        outcome.duration_ms = 0;
        assert!(outcome.text.raw().len() <= TEXT && outcome.cost_usd.is_none_or(|cost| cost.is_finite() && cost >= 0.0), "{outcome:?}");
        if let Verdict::Completed { text } = &outcome.verdict {
            assert!(!outcome.is_error && !text.raw().trim().is_empty() && *text == outcome.text, "{outcome:?}");
            assert!(outcome.stop_reason.as_ref().is_some_and(|word| *word == "end_turn") && !self.was_refused, "{outcome:?}");
        }
        for (id, _) in self.waiting.drain(..) {
            assert_eq!(self.client.decide(&id, Choice::Allow), None, "its turn is over");
        }
        assert!(!self.client.has_turn());
        self.prompt();
    }
}

/// The id of the request that this item replies to, or leaves to a person.
fn reply_to(item: &Item) -> Option<&str> {
    match item {
        Item::Say(said) => Some(serde_json::from_str::<Fields<'_>>(said).ok()?.id?.get()),
        Item::Permission(Permission { request, .. }) => Some(request.request_id.raw()),
        Item::Told(StreamItem::Elicitation(asked)) => Some(asked.request_id.raw()),
        _ => None,
    }
}

/// A person, or a rule, that decides about this request sees all of it.
fn shows_all(Permission { request, is_plain, .. }: &Permission) {
    promises::is_one_safe_line(&request.tool_name.one_line());
    promises::is_one_safe_line(&request.description.one_line());
    assert!(!request.complete || request.input.is_object() && request.input.to_string().len() <= INPUT, "{request:?}");
    if *is_plain && request.tool_name == "Bash" {
        let fields = request.input.as_object().expect("a plain call has fields");
        let is_known = |name: &str| ["command", "description", "timeout", "timeout_ms", "cwd", "workdir"].contains(&name);
        assert!(fields.keys().all(|name| is_known(name)) && fields["command"].is_string(), "{request:?}");
        assert!(["cwd", "workdir"].iter().all(|name| fields.get(*name).is_none_or(|folder| folder == "/w")), "{request:?}");
    }
}

/// One line of JSON.
#[track_caller]
fn is_ours(line: &str) {
    assert!(line.ends_with('\n') && line.matches('\n').count() == 1, "not one line: {line:?}");
    let fields = serde_json::from_str::<Fields<'_>>(line).unwrap_or_else(|e| panic!("{e}: {line}"));
    assert!(fields.id.is_some() || fields.method.is_some(), "{line}");
}

/// One line, which replies to the request with this id, in the agent's own spelling.
#[track_caller]
fn is_reply(line: &str, id: &str) {
    is_ours(line);
    let fields = serde_json::from_str::<Fields<'_>>(line).expect("it was read before");
    assert_eq!((fields.id.map(RawValue::get), fields.method), (Some(id), None), "{line}");
}
