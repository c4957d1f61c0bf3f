//! The classes of failures: some pass with waiting, some may be gone at another attempt, and some only a person can mend.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use askbox_agent::stream::{TurnOutcome, Verdict, waiting_mends};
use askbox_mailbox::{Time, Untrusted, WorkflowId, text, time};

/// The limit of a signature, in characters.
const MAX_SIGNATURE: usize = 200;

/// The class of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema, strum::EnumString, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Class {
    /// The API is overloaded, limits the rate, or cannot be reached. Waiting mends it; the attempt does not count.
    Throttled,
    /// All that is left of the day's budget is reserved for other runs, or another process kept a lock. Waiting mends it; the attempt does not count.
    Held,
    /// The machine was short of processes, descriptors or memory, so no agent was launched. Waiting mends it; the attempt does not count.
    Shortage,
    /// The supervisor died, and its agent lives where this process cannot see it, as in a container. Waiting mends it; if it does not, the
    /// round is parked.
    Elsewhere,
    /// The agent failed; another attempt may succeed.
    Agent,
    /// A plain program failed, or says that it cannot go on.
    Program,
    /// A plain program asks to be started later. Waiting mends it; the attempt does not count.
    Later,
    /// The API does not accept the credentials.
    Authentication,
    /// The account with the API's provider has no credit.
    Billing,
    /// A limit on money was reached.
    Budget,
    /// A limit of the workflow's tree was reached, on money or on time: no run of that tree is launched.
    Tree,
    /// The limit on turns was reached.
    Turns,
    /// The agent ended its turn with a chain signal, and waits for nothing.
    NoResult,
    /// The agent ended its turn, and nothing shows that it has done its work.
    Unclear,
    /// A hook of the agent's own settings kept the message from the model, or ended the turn without a result.
    Blocked,
    /// The model refused to go on.
    Refusal,
    /// The API does not accept the request.
    InvalidRequest,
    /// The prompt does not fit into the model's context.
    TooLong,
    /// The agent's working folder does not exist.
    Folder,
    /// The agent cannot be launched, or needs something that this version does not support.
    Setup,
    /// The agent program does not know the agent definition that was chosen.
    Role,
    /// The operator does not trust the answer.
    Untrusted,
}

askbox_mailbox::words!(Class);

impl Class {
    /// True if many such failures in a short time mean that every other run would fail too.
    pub fn is_everybodys(self) -> bool {
        matches!(self, Self::Throttled | Self::Shortage | Self::Agent | Self::Authentication | Self::Billing | Self::Setup)
    }

    /// True if waiting mends it. Such an attempt does not count against `relaunch.attempts`.
    pub fn waits(self) -> bool {
        matches!(self, Self::Throttled | Self::Held | Self::Shortage | Self::Elsewhere | Self::Later)
    }

    /// True if a limit of the operator was reached: the session continues once the limit is raised.
    pub fn is_limit(self) -> bool {
        matches!(self, Self::Budget | Self::Turns)
    }

    /// What to do about it; empty if waiting is enough.
    pub fn todo(self, workflow: &WorkflowId) -> String {
        let (logs, retry) = (format!("relaunch logs {workflow}"), format!("relaunch retry {workflow}"));
        let todo = match self {
            Self::Throttled | Self::Held | Self::Later => "",
            Self::Shortage => "raise the limits on processes and open files (ulimit -a), or wait",
            Self::Elsewhere => &format!("end it there if it hangs; if the round is parked by then: {retry}"),
            Self::Agent => &format!("see what the agent said: {logs}"),
            Self::Program => &format!("see what the program said: {logs}; to try again: {retry}"),
            Self::Authentication => "log in again, or give the watcher a valid key",
            Self::Billing => "settle the account with the API's provider",
            Self::Budget => "raise the limit in [limits], or wait where it is the day's",
            Self::Tree => &format!("raise limits.tree_cost or limits.tree_time, then go on: {retry}"),
            Self::Turns => "raise limits.turns, or split the work",
            Self::NoResult => &format!("let its instructions ask with ask-post and start agents with relaunch spawn, then go on: {retry}"),
            Self::Unclear => &format!("see what the agent did: {logs}; to let it go on: {retry}"),
            Self::Blocked => &format!("change that hook in the agent's settings, then go on: {retry}"),
            Self::Refusal => &format!("change the task or its context, then go on: {retry}"),
            Self::InvalidRequest => "see the API's message; model, arguments and [runner] are the usual causes",
            Self::TooLong => "shorten the answer or the checkpoint, or put the bulk into a file",
            Self::Folder => &format!("put it back and: {retry}; or name its new place: {retry} --cwd DIR"),
            Self::Setup => &format!("mend what the reason names; then: {retry}"),
            Self::Untrusted => {
                &format!("if it is a person's, change [answers] and: {retry}; if not: relaunch drop {workflow}, and let it ask again")
            }
            Self::Role => "define it, or name another: askbox agents list",
        };
        todo.to_owned()
    }
}

/// A failure, as `run.json` records it.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Failure {
    /// The class.
    pub class: Class,
    /// The reason without numbers and ids: equal signatures mean the same failure.
    pub signature: String,
    /// What to do about the failure.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub todo: String,
    /// The HTTP status with which the API refused, if it did.
    pub status: Option<u16>,
    /// The exit status of a plain program.
    pub exit: Option<i32>,
    /// The number of the Unix signal that ended such a program.
    pub signal: Option<i32>,
}

impl Failure {
    /// A failure of this class, for this reason.
    pub fn new(class: Class, why: &str, workflow: &WorkflowId) -> Self {
        Self { class, signature: signature(why), todo: class.todo(workflow), status: None, exit: None, signal: None }
    }
}

/// The class of an API error, from its HTTP status (`None` without a response) and its words.
pub fn of_api_error(status: Option<u16>, error_type: &str, message: &str) -> Class {
    let said = format!("{error_type} {message}").to_lowercase();
    let says = |words: &[&str]| words.iter().any(|w| said.contains(w));
    // Checked first: for an account without credit the API answers 400, 402, 403 or even 429.
    if status == Some(402) || says(&["billing", "credit balance", "payment"]) {
        return Class::Billing;
    }
    match status {
        Some(401 | 403) => Class::Authentication,
        Some(413) => Class::TooLong,
        Some(status) if waiting_mends(status) => Class::Throttled,
        Some(_) if says(&["too long", "too large", "context window"]) => Class::TooLong,
        Some(400..=499) => Class::InvalidRequest,
        _ if says(&["authentication", "permission", "oauth", "api key", "login"]) => Class::Authentication,
        _ if says(&["invalid_request", "not_found"]) => Class::InvalidRequest,
        _ if says(&["max_output_tokens"]) => Class::Agent,
        _ => Class::Throttled,
    }
}

/// The class of a failure to start, from the agent program's word for it (read from Claude Code 2.1.331). The network, another process
/// or the machine may be at fault, and then another attempt may succeed. Everything else is a matter of settings, policy or login.
fn of_startup(reason: &str) -> Class {
    let may_pass = ["_unavailable", "_not_delivered", "_verify_failed", "_unusable"].iter().any(|end| reason.ends_with(end));
    match reason {
        "session_held_by_background" | "shell_tool_missing" => Class::Agent,
        _ if may_pass => Class::Agent,
        "gateway_signin_required" => Class::Authentication,
        _ => Class::Setup,
    }
}

/// The class of the failure of a turn; `None` if the turn did not fail, or was stopped.
pub fn of_turn(turn: &TurnOutcome) -> Option<Class> {
    Some(match &turn.verdict {
        _ if turn.is_error && turn.stop_reason.as_ref().is_some_and(|reason| *reason == "refusal") => Class::Refusal,
        Verdict::ApiError { status, error_type, message } => of_api_error(*status, error_type.raw(), message.raw()),
        Verdict::MaxTurns => Class::Turns,
        Verdict::Budget => Class::Budget,
        Verdict::TooLong => Class::TooLong,
        Verdict::Deferred { .. } => Class::Setup,
        Verdict::NotStarted { reason, .. } => of_startup(reason.raw()),
        Verdict::ResumeUnknown | Verdict::Other { .. } => Class::Agent,
        Verdict::Completed { .. } if turn.is_error => Class::Agent,
        Verdict::Unclear { .. } => Class::Unclear,
        Verdict::Blocked { .. } => Class::Blocked,
        Verdict::HookStopped if turn.text.is_empty() => Class::Blocked,
        Verdict::Completed { .. } | Verdict::HookStopped | Verdict::Interrupted { .. } => return None,
    })
}

/// The limit of the account's plan, which is reached until a known time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanLimit {
    /// When the limit is reset.
    pub resets_at: Time,
    /// The limit in words: `five hour`, `seven day` … Empty if it has no name.
    pub name: String,
}

/// The longest limit of a plan is one of seven days. A later reset is not believed.
pub const LONGEST_LIMIT: Duration = Duration::from_secs(8 * 24 * 3600);

impl PlanLimit {
    /// A limit that is reset `resets_at` seconds after the beginning of 1970. `None` if that is not a time within [`LONGEST_LIMIT`].
    pub fn new(resets_at: u64, name: &Untrusted) -> Option<Self> {
        let resets_at = i64::try_from(resets_at).ok().and_then(|at| Time::from_timestamp(at, 0))?;
        let name = name.excerpt(40).replace('_', " ");
        (resets_at - time::now()).to_std().is_ok_and(|wait| wait <= LONGEST_LIMIT).then_some(Self { resets_at, name })
    }

    /// The reason for waiting.
    pub fn why(&self) -> String {
        let name = if self.name.is_empty() { String::new() } else { format!(" ({})", self.name) };
        format!("the plan's limit{name} resets at {}", time::rfc3339(self.resets_at))
    }
}

fn number(text: &str) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit);
    digits.fold(None, |n, digit| Some(n.unwrap_or(0_u64).saturating_mul(10).saturating_add(u64::from(digit - b'0'))))
}

/// The seconds since 1970 behind the last `|` of a message, as in `usage limit reached|1760000000`.
pub fn reset_in(message: &str) -> Option<u64> {
    number(message.rsplit_once('|')?.1.trim_start()).filter(|at| *at > 1_000_000_000)
}

/// How long an API's message asks to wait, as of `now` (in seconds since 1970): `retry after 90 seconds`, or the time of a reset as in
/// `usage limit reached|1760000000`.
pub fn asked_to_wait(message: &str, now: i64) -> Option<Duration> {
    let lower = message.to_lowercase();
    if let Some(at) = reset_in(message) {
        return Some(Duration::from_secs(at.saturating_sub(now.unsigned_abs())));
    }
    let after = ["retry after", "retry-after", "try again in", "retry in"].iter().find_map(|w| lower.split_once(w))?.1;
    let after = after.trim_start_matches([':', ' ', '"', '=']);
    let seconds = number(after)?;
    let unit = after.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').trim_start();
    let unit = match unit {
        u if u.starts_with("ms") || u.starts_with("milli") => return Some(Duration::from_millis(seconds)),
        u if u.starts_with('m') => 60,
        u if u.starts_with('h') => 3600,
        _ => 1,
    };
    Some(Duration::from_secs(seconds.saturating_mul(unit)))
}

/// The reason in lower case, with `#` for every word that has a digit. This removes what differs between two occurrences of the same
/// failure.
pub fn signature(why: &str) -> String {
    let lower = text::one_line(why).to_lowercase();
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    let mut out = String::new();
    let mut rest = lower.as_str();
    while let Some(c) = rest.chars().next() {
        let (piece, after) = match rest.find(|c: char| is_part(c) != is_part(rest.chars().next().unwrap_or(' '))) {
            Some(at) => rest.split_at(at),
            None => (rest, ""),
        };
        if !is_part(c) {
            // Several spaces become one.
            piece.split_inclusive(' ').for_each(|p| {
                if p != " " || !out.ends_with(' ') {
                    out.push_str(p)
                }
            });
        } else if piece.contains(|c: char| c.is_ascii_digit()) {
            out.push('#');
        } else {
            out.push_str(piece);
        }
        rest = after;
    }
    text::excerpt(out.trim(), MAX_SIGNATURE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn api_errors_that_waiting_mends_are_throttled() {
        for (status, error_type) in [(Some(429), "rate_limit_error"), (Some(529), "overloaded_error"), (Some(500), "api_error")] {
            assert_eq!(of_api_error(status, error_type, "x"), Class::Throttled, "{status:?}");
        }
        assert_eq!(of_api_error(None, "connection_failed", "API Error: Unable to connect"), Class::Throttled);
        assert_eq!(of_api_error(Some(401), "authentication_error", ""), Class::Authentication);
        assert_eq!(of_api_error(Some(403), "permission_error", ""), Class::Authentication);
        assert_eq!(of_api_error(Some(400), "invalid_request_error", "Your credit balance is too low"), Class::Billing);
        assert_eq!(of_api_error(Some(400), "invalid_request_error", "prompt is too long: 1 > 0"), Class::TooLong);
        assert_eq!(of_api_error(Some(400), "invalid_request_error", "messages: bad"), Class::InvalidRequest);
        assert_eq!(of_api_error(Some(404), "not_found_error", "model: x"), Class::InvalidRequest);
    }

    #[test]
    fn the_wait_that_the_api_asks_for_is_read_from_its_message() {
        let wait = |text| asked_to_wait(text, 1_760_000_000);
        assert_eq!(wait("Claude AI usage limit reached|1760003600"), Some(Duration::from_secs(3600)));
        assert_eq!(wait("API Error: 429, retry after 90 seconds"), Some(Duration::from_secs(90)));
        assert_eq!(wait("please try again in 2m"), Some(Duration::from_secs(120)));
        assert_eq!(wait("Retry-After: 7"), Some(Duration::from_secs(7)));
        assert_eq!(wait("retry in 250ms"), Some(Duration::from_millis(250)));
        assert_eq!(wait("API Error: Repeated 529 Overloaded errors"), None);
        assert_eq!(wait("limit|soon"), None);
        assert_eq!(wait("retry after 99999999999999999999999 hours"), Some(Duration::from_secs(u64::MAX)));
    }

    #[test]
    fn the_same_failure_has_the_same_signature_with_any_numbers() {
        let one = signature("The agent ended without a result (exit status: 3):  session 3480e451-f32b-4a0d at /tmp/x1/a");
        let two = signature("the agent ended without a result (exit status: 4): session 770238c1-6b5c-4757 at /tmp/x22/a\n");
        assert_eq!(one, two);
        assert_eq!(one, "the agent ended without a result (exit status: #): session # at /tmp/#/a");
        assert_ne!(one, signature("the agent ended without a result (signal: 9)"));
    }
}
