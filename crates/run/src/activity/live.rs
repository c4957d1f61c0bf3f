//! The current activity of a run, derived from its events.

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use crate::process::own_programs::{self, ProgramName};
use askbox_agent::events::{Generated, Tokens};
use askbox_agent::{Event, EventKind};
use askbox_mailbox::Untrusted;

/// The current activity of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case", tag = "doing")]
#[strum(serialize_all = "snake_case")]
pub enum LiveState {
    /// The agent was launched; its session has not begun.
    #[default]
    Starting,
    /// The model thinks, or has not begun to answer.
    Thinking,
    /// A plain program works.
    Working,
    /// The model generates a text, or the input of a tool call.
    Generating {
        /// When it began.
        since: DateTime<Utc>,
    },
    /// A tool call is in flight; if there are several, the last one.
    Tool {
        /// The tool's name.
        name: Untrusted,
        /// When it was called.
        since: DateTime<Utc>,
    },
    /// The agent waits before it calls its API again.
    Throttled {
        /// The HTTP status, or the reason in words.
        reason: String,
        /// The number of the next retry, from 1.
        retry: u32,
        /// The wait before it, in milliseconds.
        delay_ms: u64,
    },
    /// The agent repeats a request that the API refused for a reason that waiting does not mend.
    Retrying {
        /// The HTTP status.
        status: u16,
        /// The number of the next retry, from 1.
        retry: u32,
        /// The wait before it, in milliseconds.
        delay_ms: u64,
    },
    /// The agent sends nothing.
    Silent {
        /// When it last sent something.
        since: DateTime<Utc>,
    },
    /// The run has posted a question that waits for its answer.
    Asking,
    /// The last turn ended without being stopped.
    Finished,
    /// The run was stopped.
    Interrupted,
    /// The run is parked until it is retried by hand.
    Parked,
    /// No process of the run is left, and its events do not say how it ended.
    Ended,
}

askbox_mailbox::words!(LiveState);

impl LiveState {
    /// The state in words, with ages as of `now`: `thinking`, `tool:Bash (12s)`, `throttled(529, retry 3, 4.2s)`, `silent 40s`.
    pub fn at(&self, now: DateTime<Utc>) -> String {
        // No negative ages if the clock was set back.
        let age = |since: &DateTime<Utc>| (now - since).num_seconds().max(0);
        let seconds = |ms: &u64| *ms as f64 / 1000.0;
        match self {
            Self::Generating { since } => format!("generating ({}s)", age(since)),
            Self::Tool { name, since } => format!("tool:{} ({}s)", name.excerpt(TOOL_NAME), age(since)),
            Self::Throttled { reason, retry, delay_ms } => format!("throttled({reason}, retry {retry}, {:.1}s)", seconds(delay_ms)),
            Self::Retrying { status, retry, delay_ms } => format!("retrying({status}, retry {retry}, {:.1}s)", seconds(delay_ms)),
            Self::Silent { since } => format!("silent {}s", age(since)),
            _ => self.word().to_owned(),
        }
    }
}

/// The reason that an agent waits, in few words. The agent program has no word of its own for a connection that was refused or broke.
pub fn throttled_by(status: Option<u16>, error: &Untrusted) -> String {
    match (status, error.raw()) {
        (Some(status), _) => status.to_string(),
        (None, "" | "unknown" | "connection_failed") => "connection failed".into(),
        (None, _) => error.excerpt(REASON),
    }
}

/// The most characters of a reason that are shown.
const REASON: usize = 80;

/// The most characters of a tool's name that are shown.
const TOOL_NAME: usize = 80;

/// The largest number of unanswered tool calls that are remembered.
const OPEN_CALLS: usize = 256;

/// The most bytes of the last text that are kept in a file.
const KEPT_WORDS: usize = 4000;

/// The most rules that are remembered for refused calls.
const RULES: usize = 8;

/// The tool calls of a run that nobody had permitted.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Refused {
    /// How many.
    pub calls: u64,
    /// The rules of `allowed_tools` that would permit them, up to eight.
    pub rules: Vec<Untrusted>,
}

impl Refused {
    fn count(&mut self, rule: Option<&Untrusted>) {
        self.calls += 1;
        if let Some(rule) = rule.filter(|rule| self.rules.len() < RULES && !self.rules.contains(rule)) {
            self.rules.push(rule.clone());
        }
    }
}

/// Derives the current activity of a run from its events. Apply the events in order, beginning with the first or any later one.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Live {
    /// The current activity of the run.
    pub state: LiveState,
    /// Unanswered tool calls: id, name, since.
    open: Vec<(Untrusted, Untrusted, DateTime<Utc>)>,
    asked: bool,
    /// API round trips of all finished turns.
    pub turns: u64,
    /// Tokens of all finished turns.
    pub tokens: Tokens,
    /// US dollars of all finished turns. `None` if the agent reported none.
    pub cost_usd: Option<f64>,
    /// The version of the agent program, as the program said it.
    #[serde(default)]
    pub version: Untrusted,
    session_id: Option<Untrusted>,
    /// True if the runner is a plain program.
    #[serde(default)]
    is_program: bool,
    /// The last text of the agent. Empty if the agent wrote none.
    pub last_words: Untrusted,
    /// The tool calls that were refused.
    pub refused: Refused,
    /// The program of askbox that the agent's shell did not find.
    #[serde(default)]
    pub not_found: ProgramName,
}

impl Live {
    /// Takes the next event into account.
    pub fn apply(&mut self, event: &Event) {
        self.apply_kind(event.at, &event.kind);
    }

    /// [`apply`](Self::apply) for the parts of an event.
    pub fn apply_kind(&mut self, at: DateTime<Utc>, kind: &EventKind) {
        self.state = match kind {
            EventKind::Started { session_id, program, version, .. } => {
                self.session_id = Some(session_id.clone());
                self.version.clone_from(version);
                self.is_program = program.is_some();
                self.open.clear();
                self.asked = false;
                self.working()
            }
            EventKind::Text { text, parent } => {
                if parent.is_none() {
                    self.last_words.clone_from(text);
                }
                self.working()
            }
            EventKind::ToolCall { id, name, .. } => {
                if self.open.len() == OPEN_CALLS {
                    self.open.remove(0);
                }
                self.open.push((id.clone(), name.clone(), at));
                self.working()
            }
            EventKind::ToolResult { id, text, .. } => {
                self.not_found.0 = self.not_found.0.or_else(|| own_programs::not_found_in(text.raw()));
                self.open.retain(|(open, ..)| open != id);
                self.working()
            }
            EventKind::Throttled { status, retry, delay_ms, error, .. } => {
                LiveState::Throttled { reason: throttled_by(*status, error), retry: *retry, delay_ms: *delay_ms }
            }
            EventKind::Retrying { status, retry, delay_ms, .. } => {
                LiveState::Retrying { status: *status, retry: *retry, delay_ms: *delay_ms }
            }
            EventKind::Silent { seconds } => {
                let seconds = i64::try_from(*seconds).ok().and_then(TimeDelta::try_seconds);
                let since = seconds.and_then(|long| at.checked_sub_signed(long));
                LiveState::Silent { since: since.unwrap_or(at) }
            }
            EventKind::QuestionPosted { .. } => {
                self.asked = true;
                LiveState::Asking
            }
            EventKind::Result { terminal_reason, cost_usd, tokens, turns, .. } => {
                self.open.clear();
                self.turns = self.turns.saturating_add(*turns);
                self.tokens += *tokens;
                self.cost_usd = cost_usd.map_or(self.cost_usd, |usd| Some(self.cost_usd.unwrap_or(0.0) + usd));
                match terminal_reason.as_ref().map(Untrusted::raw) {
                    // The turn was ended to ask its question. If the run was stopped instead, its last event says that.
                    Some("aborted_tools") if self.asked => LiveState::Asking,
                    Some("aborted_streaming" | "aborted_tools" | "hook_stopped") => LiveState::Interrupted,
                    Some("tool_deferred") => LiveState::Asking,
                    _ if self.asked => LiveState::Asking,
                    _ => LiveState::Finished,
                }
            }
            EventKind::Interrupted { .. } => LiveState::Interrupted,
            EventKind::Parked { .. } => LiveState::Parked,
            EventKind::Generating { what: Generated::Text | Generated::ToolInput } if self.open.is_empty() => {
                LiveState::Generating { since: at }
            }
            EventKind::Thinking { .. } | EventKind::Generating { .. } => self.working(),
            // The event shows that the agent lives, but not what it does.
            EventKind::Raw { .. } if matches!(self.state, LiveState::Silent { .. }) => self.working(),
            EventKind::Permission { decision, rule, .. } => {
                if *decision == "deny" {
                    self.refused.count(rule.as_ref());
                }
                return;
            }
            EventKind::Raw { .. } | EventKind::Partial { .. } | EventKind::Note { .. } | EventKind::Unknown => return,
        };
    }

    fn working(&self) -> LiveState {
        match self.open.last() {
            Some((_, name, since)) => LiveState::Tool { name: name.clone(), since: *since },
            None if self.session_id.is_none() => LiveState::Starting,
            None if self.is_program => LiveState::Working,
            None => LiveState::Thinking,
        }
    }

    /// Adds the events of the next attempt, from its first one.
    pub fn add_attempt(&mut self, next: Self) {
        self.turns = self.turns.saturating_add(next.turns);
        self.tokens += next.tokens;
        self.cost_usd = next.cost_usd.map_or(self.cost_usd, |usd| Some(self.cost_usd.unwrap_or(0.0) + usd));
        if !next.last_words.raw().is_empty() {
            self.last_words = next.last_words;
        }
        self.refused.calls += next.refused.calls;
        let new: Vec<_> = next.refused.rules.into_iter().filter(|rule| !self.refused.rules.contains(rule)).collect();
        self.refused.rules.extend(new);
        self.refused.rules.truncate(RULES);
        self.not_found.0 = self.not_found.0.or(next.not_found.0);
        (self.state, self.open, self.asked, self.session_id) = (next.state, next.open, next.asked, next.session_id);
        (self.is_program, self.version) = (next.is_program, next.version);
    }

    /// The same with the last text cut to what a view shows, for a file.
    pub fn shortened(&self) -> Self {
        let last_words = askbox_mailbox::text::beginning(self.last_words.raw(), KEPT_WORDS).into();
        Self { last_words, ..self.clone() }
    }

    /// Call this if no process of the run is left. The activity is then over.
    pub fn ended(&mut self) {
        self.open.clear();
        match self.state {
            LiveState::Throttled { .. } | LiveState::Asking | LiveState::Finished | LiveState::Interrupted | LiveState::Parked => {}
            _ => self.state = LiveState::Ended,
        }
    }

    /// The name of the tool call in flight; if there are several, the last one.
    pub fn tool(&self) -> Option<&Untrusted> {
        self.open.last().map(|(_, name, _)| name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Applies the events one second apart. Returns the state in words, `later` seconds after the last event.
    fn shown(later: i64, events: &[&str]) -> String {
        let start = DateTime::from_timestamp(1_700_000_000, 0).unwrap();
        let (mut live, mut at) = (Live::default(), start);
        for (n, body) in events.iter().enumerate() {
            at = start + TimeDelta::seconds(n as i64);
            let kind = serde_json::from_str(body).unwrap();
            live.apply(&Event { seq: n as u64 + 1, at, kind });
        }
        live.state.at(at + TimeDelta::seconds(later))
    }

    const STARTED: &str = r#"{"type":"started","session_id":"s"}"#;
    const BASH: &str = r#"{"type":"tool_call","id":"a","name":"Bash","input":{}}"#;
    const READ: &str = r#"{"type":"tool_call","id":"b","name":"Read","input":{}}"#;
    const READ_DONE: &str = r#"{"type":"tool_result","id":"b","is_error":false,"text":"","bytes":0}"#;
    const BASH_DONE: &str = r#"{"type":"tool_result","id":"a","is_error":false,"text":"","bytes":0}"#;
    const DONE: &str = r#"{"type":"result","is_error":false,"text":"","terminal_reason":"completed"}"#;
    const ASKED: &str = r#"{"type":"question_posted","workflow_id":"w","question_id":"q"}"#;
    const SILENT: &str = r#"{"type":"silent","seconds":40}"#;
    const RAW: &str = r#"{"type":"raw","what":"x","bytes":1}"#;

    #[test]
    fn a_run_starts_thinks_uses_tools_and_finishes() {
        assert_eq!(shown(0, &[]), "starting");
        assert_eq!(shown(0, &[STARTED]), "thinking");
        assert_eq!(shown(12, &[STARTED, BASH]), "tool:Bash (12s)");
        assert_eq!(shown(0, &[STARTED, BASH, READ]), "tool:Read (0s)");
        assert_eq!(shown(1, &[STARTED, BASH, READ, READ_DONE]), "tool:Bash (3s)");
        assert_eq!(shown(0, &[STARTED, BASH, BASH_DONE]), "thinking");
        assert_eq!(shown(0, &[STARTED, BASH, BASH_DONE, DONE]), "finished");
        assert_eq!(shown(0, &[STARTED, DONE, STARTED]), "thinking");
    }

    #[test]
    fn throttling_is_shown_until_the_next_event_of_work() {
        let throttled = r#"{"type":"throttled","status":529,"retry":3,"delay_ms":4210,"error":"overloaded"}"#;
        assert_eq!(shown(9, &[STARTED, throttled]), "throttled(529, retry 3, 4.2s)");
        assert_eq!(shown(0, &[STARTED, throttled, BASH]), "tool:Bash (0s)");
        let cut = r#"{"type":"throttled","retry":1,"delay_ms":500,"error":"unknown"}"#;
        assert_eq!(shown(0, &[STARTED, cut, RAW]), "throttled(connection failed, retry 1, 0.5s)");
    }

    #[test]
    fn silence_counts_from_the_last_event_and_ends_with_any() {
        assert_eq!(shown(2, &[STARTED, SILENT]), "silent 42s");
        assert_eq!(shown(0, &[STARTED, BASH, SILENT, RAW]), "tool:Bash (2s)");
        assert_eq!(shown(0, &[SILENT, RAW]), "starting");
    }

    #[test]
    fn a_run_that_posted_a_question_stays_asking_after_its_turn() {
        assert_eq!(shown(0, &[STARTED, BASH, ASKED]), "asking");
        assert_eq!(shown(0, &[STARTED, BASH, ASKED, BASH_DONE, DONE]), "asking");
        let deferred = DONE.replace("completed", "tool_deferred");
        assert_eq!(shown(0, &[STARTED, &deferred]), "asking");
    }

    #[test]
    fn a_stopped_run_is_interrupted_and_a_parked_one_parked() {
        for reason in ["aborted_tools", "aborted_streaming", "hook_stopped"] {
            let stopped = DONE.replace("completed", reason);
            assert_eq!(shown(0, &[STARTED, &stopped]), "interrupted");
        }
        assert_eq!(shown(0, &[STARTED, r#"{"type":"parked","why":"x"}"#]), "parked");
        assert_eq!(shown(-5, &[STARTED, BASH]), "tool:Bash (0s)");
    }

    #[test]
    fn cost_and_tokens_add_up_over_turns() {
        let mut live = Live::default();
        for seq in 1..=2 {
            let kind =
                serde_json::from_str(r#"{"type":"result","is_error":false,"text":"","cost_usd":0.5,"turns":2,"tokens":{"input":10}}"#);
            live.apply(&Event { seq, at: DateTime::default(), kind: kind.unwrap() });
        }
        assert_eq!((live.cost_usd, live.turns, live.tokens.input), (Some(1.0), 4, 20));
    }
}
