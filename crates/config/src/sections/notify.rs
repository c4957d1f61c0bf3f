//! `[notify]` and `[target.NAME]`: the events, and how, when and where people are told about them.
//!
//! The hours in which nobody is notified: `22:00-07:00`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use chrono::{DateTime, Days, Local, NaiveTime, TimeZone};
use derive_more::Display;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::{DeserializeFromStr, SerializeDisplay};
use strum::{IntoStaticStr, VariantArray};

use crate::section::section;
use askbox_mailbox::platform::means::{DESKTOP, Desktop};
use askbox_mailbox::{Error, Result, Span, Time, text};

/// The longest name of a target. The limit exists because the name is also the name of a folder.
const LONGEST_NAME: usize = 32;

section! {
    /// `[notify]`: when people are told what happens to questions.
    "notify" Notify {
        /// The longest time of one attempt to tell a target. Then its process group is killed.
        time_limit: Span = Span(Duration::from_secs(30)),
        /// How long a new question waits before anybody is told.
        grace: Span = Span(Duration::from_secs(20)),
        /// How much longer a new question waits at most while an inbox is open or a page is visible, or, for a dialog, while somebody types
        /// at its terminal.
        present: Span = Span(Duration::from_secs(300)),
        /// How long before a question's expiry `expiring` is sent, at most: a quarter of its time if that is shorter. `"0s"`: never.
        expiring: Span = Span(Duration::from_secs(1800)),
        /// Hours, in local time, when only questions of priority 10 and more are told. The rest comes afterwards as one message. Example:
        /// `"22:00-07:00"`.
        quiet: QuietHours = QuietHours::default(),
    }
}

section! {
    /// `[target.NAME]`: one place where people are told. Exactly one of `exec`, `desktop`, `webhook`, `ntfy` and `channel` says how.
    "target.*" Target {
        /// A program that gets the event as its last argument and as JSON on standard input. Example: `["notify-askbox"]`.
        exec: Vec<String> = Vec::new(),
        /// True for this computer's desktop, by `notify-send` (on macOS by `osascript`).
        desktop: bool = false,
        /// A URL that gets the event as JSON, by `curl`. Example: `"https://example.org/askbox"`.
        webhook: String = String::new(),
        /// The file with the secret that signs the webhook's requests (HMAC-SHA256).
        secret_file: PathBuf = PathBuf::new(),
        /// The URL of an ntfy topic, by `curl`. Example: `"https://ntfy.sh/my-secret-topic"`.
        ntfy: String = String::new(),
        /// The URL of a second topic of that server, for up to three buttons that answer. Example:
        /// `"https://ntfy.sh/my-other-secret-topic"`.
        ntfy_replies: String = String::new(),
        /// The file with the access token of the ntfy server.
        token_file: PathBuf = PathBuf::new(),
        /// A program that is told by lines, and may answer: `docs/dev/channels.md`. Example: `["askbox-matrix"]`.
        channel: Vec<String> = Vec::new(),
        /// The page that a notification opens. Example: `"https://box.example/q/{workflow}/{question_id}"`.
        open: String = String::new(),
        /// The events that this target is told about.
        events: Vec<Event> = <Event as strum::VariantArray>::VARIANTS.to_vec(),
        /// The dialogs of live sessions: `"also"` tells of them and all others, `"only"` of nothing else, `"never"` of the others alone.
        live: LiveNews = LiveNews::Also,
        /// The name of the person who answers here. `""`: the target's name.
        person: String = String::new(),
    }
}

/// Whether a target is told about the dialogs of live sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LiveNews {
    /// About them and all other questions.
    #[default]
    Also,
    /// About nothing else.
    Only,
    /// About the other questions alone.
    Never,
}

impl LiveNews {
    /// True if the target is told about a question. `is_live` is true if a session's dialog asks it.
    pub fn tells(self, is_live: bool) -> bool {
        match self {
            Self::Also => true,
            Self::Only => is_live,
            Self::Never => !is_live,
        }
    }
}

/// The means to reach a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Means<'a> {
    /// By the operator's program.
    Exec(&'a [String]),
    /// By a notification on this desktop.
    Desktop,
    /// By a request to this URL.
    Webhook(&'a str),
    /// By a message to this ntfy topic.
    Ntfy(&'a str),
    /// By a channel of the operator's.
    Channel(&'a [String]),
}

askbox_mailbox::words!(Means<'_>);

impl<'a> Means<'a> {
    /// The program that tells people.
    pub fn program(self) -> &'a Path {
        Path::new(match self {
            Self::Exec(command) | Self::Channel(command) => command.first().map_or("", String::as_str),
            Self::Desktop => match DESKTOP {
                Desktop::NotifySend => "notify-send",
                Desktop::AppleScript => "osascript",
            },
            Self::Webhook(_) | Self::Ntfy(_) => "curl",
        })
    }
}

impl Target {
    /// True if a person can answer there.
    pub fn can_answer(&self) -> bool {
        !self.ntfy_replies.is_empty() || !self.channel.is_empty()
    }

    /// The means of this target; `None` if no key names one.
    pub fn means(&self) -> Option<Means<'_>> {
        self.all_means().next()
    }

    fn all_means(&self) -> impl Iterator<Item = Means<'_>> {
        let exec = (!self.exec.is_empty()).then_some(Means::Exec(&self.exec));
        let desktop = self.desktop.then_some(Means::Desktop);
        let webhook = (!self.webhook.is_empty()).then_some(Means::Webhook(&self.webhook));
        let ntfy = (!self.ntfy.is_empty()).then_some(Means::Ntfy(&self.ntfy));
        let channel = (!self.channel.is_empty()).then_some(Means::Channel(&self.channel));
        [exec, desktop, webhook, ntfy, channel].into_iter().flatten()
    }

    /// Refuses targets that could never be reached.
    fn check(&self, name: &str) -> Result<()> {
        let key = |key: &str| format!("target.{name}.{key}");
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
        if name.len() > LONGEST_NAME || !name.chars().all(is_plain) {
            return Err(Error::invalid(format!("target.{name}"), "is no name of a target", "use up to 32 of a-z, 0-9, - and _"));
        }
        if self.all_means().count() > 1 {
            let keep = "keep one of exec, desktop, webhook, ntfy and channel; write another [target.NAME] for the other";
            return Err(Error::invalid(format!("target.{name}"), "says more than one way to be told", keep));
        }
        for (name, url) in [("webhook", &self.webhook), ("ntfy", &self.ntfy), ("ntfy_replies", &self.ntfy_replies)] {
            check_url(&key(name), url)?;
        }
        if !self.ntfy.is_empty() && topic(&self.ntfy).is_none() {
            return Err(Error::invalid(key("ntfy"), "names no topic", "write SERVER/TOPIC, such as https://ntfy.sh/my-secret-topic"));
        }
        if !self.ntfy_replies.is_empty() && (topic(&self.ntfy_replies).is_none() || self.ntfy == self.ntfy_replies) {
            return Err(Error::invalid(key("ntfy_replies"), "is no topic of its own", "name another topic than that of ntfy"));
        }
        Ok(())
    }
}

/// Refuses a text that is not a URL of HTTP. An empty text stands for a missing URL.
pub(crate) fn check_url(key: &str, url: &str) -> Result<()> {
    let is_url = |url: &str| url.starts_with("https://") || url.starts_with("http://");
    if !url.is_empty() && (!is_url(url) || url.contains(char::is_whitespace)) {
        return Err(Error::invalid(key, "is no URL", "write it with https:// (or http:// within your own network)"));
    }
    Ok(())
}

/// The server and the topic in the URL of an ntfy topic.
pub fn topic(url: &str) -> Option<(&str, &str)> {
    let (server, topic) = url.trim_end_matches('/').rsplit_once('/')?;
    let is_plain = !topic.is_empty() && topic.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    (server.len() > "https://".len() && is_plain).then_some((server, topic))
}

/// The targets that can be told, with their names.
pub fn targets(named: &BTreeMap<String, Target>) -> BTreeMap<String, Target> {
    named.iter().filter(|(_, target)| target.means().is_some()).map(|(name, target)| (name.clone(), target.clone())).collect()
}

/// Refuses values that could not notify anybody.
pub(crate) fn check(named: &BTreeMap<String, Target>) -> Result<()> {
    named.iter().try_for_each(|(name, target)| target.check(name))
}

/// Something that happened to a round, or to a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, IntoStaticStr, VariantArray, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Event {
    /// A question waits for an answer.
    Asked,
    /// An agent waits for the permission to call a tool.
    Approval,
    /// The question still waits, and its asker wanted a reminder.
    Reminder,
    /// The question expires soon.
    Expiring,
    /// The question's time is over, and it still waits.
    Overdue,
    /// A question that people were told about no longer waits: it was answered, declined or withdrawn, or its time ended it.
    Answered,
    /// The agent got the answer and ended.
    Delivered,
    /// An attempt to deliver the answer failed; it is tried again.
    Failed,
    /// Attempts to deliver the answer failed, and a person must look.
    Parked,
    /// A session waits at its terminal, and nobody can answer its dialog from another place: `live.news`.
    AtTerminal,
    /// A session has ended its turn on a person's prompt, and the person has not seen it.
    TurnEnded,
    /// A session has refused a person's prompt or not got it, or holds it at its terminal.
    NotTaken,
}

askbox_mailbox::words!(Event);

impl Event {
    /// True if people are told about the event only as long as the question waits.
    pub fn asks(self) -> bool {
        matches!(self, Self::Asked | Self::Approval | Self::Reminder | Self::Expiring | Self::Overdue)
    }

    /// True for the events that nobody had the time to see yet: a new question, or the end of a prompt.
    pub fn is_new(self) -> bool {
        matches!(self, Self::Asked | Self::Approval) || self.is_of_prompt()
    }

    /// True for the events of a person's prompt to a session.
    pub fn is_of_prompt(self) -> bool {
        matches!(self, Self::TurnEnded | Self::NotTaken)
    }

    /// True for the events of a session, which have no question.
    pub fn is_of_session(self) -> bool {
        self == Self::AtTerminal || self.is_of_prompt()
    }
}

/// The hours from one time of day to another, in local time, or none. The end may lie on the next day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Display, SerializeDisplay, DeserializeFromStr, JsonSchema)]
#[display("{}", _0.map_or_else(String::new, |(from, to)| format!("{}-{}", from.format("%H:%M"), to.format("%H:%M"))))]
#[schemars(with = "String")]
pub struct QuietHours(Option<(NaiveTime, NaiveTime)>);

impl QuietHours {
    /// True if there are any.
    pub fn are_set(&self) -> bool {
        self.0.is_some()
    }

    /// The end of the quiet hours, if `at` lies in them; otherwise `None`.
    pub fn end(&self, at: Time) -> Option<Time> {
        self.end_in(at.with_timezone(&Local)).map(|end| end.to_utc())
    }

    fn end_in<Zone: TimeZone>(&self, at: DateTime<Zone>) -> Option<DateTime<Zone>> {
        let (from, to) = self.0?;
        let clock = at.time();
        let is_quiet = if from < to { (from..to).contains(&clock) } else { clock >= from || clock < to };
        if !is_quiet {
            return None;
        }
        let day = if clock < to { at.date_naive() } else { at.date_naive() + Days::new(1) };
        // The clock may leave this hour out. Then the quiet hours end when the clock goes on.
        let end = day.and_time(to).and_local_timezone(at.timezone());
        end.latest().or_else(|| (day.and_time(to) + chrono::TimeDelta::hours(1)).and_local_timezone(at.timezone()).latest())
    }
}

impl std::str::FromStr for QuietHours {
    type Err = String;

    fn from_str(written: &str) -> Result<Self, String> {
        if written.is_empty() {
            return Ok(Self(None));
        }
        let clock = |text: &str| NaiveTime::parse_from_str(text.trim(), "%H:%M").ok();
        match written.split_once('-').map(|(from, to)| (clock(from), clock(to))) {
            Some((Some(from), Some(to))) if from != to => Ok(Self(Some((from, to)))),
            _ => Err(format!("`{}` is no time of day to another, such as 22:00-07:00", text::excerpt(written, 40))),
        }
    }
}

#[cfg(test)]
mod tests {
    use chrono::{FixedOffset, Utc};

    use super::*;

    fn end(hours: &str, at: &str) -> Option<String> {
        let at = DateTime::parse_from_rfc3339(at).unwrap();
        hours.parse::<QuietHours>().unwrap().end_in(at).map(|end| end.to_rfc3339())
    }

    #[test]
    fn quiet_hours_end_in_the_morning_on_both_sides_of_midnight() {
        for (at, expected) in [
            ("2026-11-23T21:59:59+01:00", None),
            ("2026-11-23T22:00:00+01:00", Some("2026-11-24T07:00:00+01:00")),
            ("2026-11-24T06:59:00+01:00", Some("2026-11-24T07:00:00+01:00")),
            ("2026-11-24T07:00:00+01:00", None),
        ] {
            assert_eq!(end("22:00-07:00", at).as_deref(), expected, "{at}");
        }
        assert_eq!(end("12:00-13:30", "2026-11-23T13:00:00+00:00").as_deref(), Some("2026-11-23T13:30:00+00:00"));
        assert_eq!(end("12:00-13:30", "2026-11-23T14:00:00+00:00"), None);
        assert_eq!(end("", "2026-11-23T14:00:00+00:00"), None);
        let utc = Utc.with_ymd_and_hms(2026, 11, 23, 23, 0, 0).unwrap().with_timezone(&FixedOffset::east_opt(0).unwrap());
        assert!("22:00-07:00".parse::<QuietHours>().unwrap().end_in(utc).is_some());
    }

    #[test]
    fn quiet_hours_are_two_times_of_day() {
        for wrong in ["22:00", "22-07", "22:00-22:00", "25:00-07:00", "night"] {
            assert!(wrong.parse::<QuietHours>().is_err(), "{wrong}");
        }
        let hours = "22:00 - 07:00".parse::<QuietHours>().unwrap();
        assert_eq!(hours.to_string(), "22:00-07:00");
    }
}
