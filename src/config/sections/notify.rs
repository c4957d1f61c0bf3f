//! `[notify]` and `[target.NAME]`: how, when and where people are told.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::config::section::section;
use crate::config::sections::event::Event;
use crate::config::sections::quiet_hours::QuietHours;
use crate::error::{Error, Result};
use crate::time::Span;

/// The name of the target that `notify.command` stands for.
pub const COMMAND: &str = "command";

/// The longest name of a target: it is a folder's name.
const LONGEST_NAME: usize = 32;

section! {
    /// `[notify]`: when people are told what happens to questions.
    "notify" Notify {
        /// A program and its arguments: the short form of a `[target.command]` with `exec`. `[]`: nothing is run.
        /// Example: `["notify-askbox", "--desktop"]`.
        command: Vec<String> = Vec::new(),
        /// How long one attempt to tell a target may take; more than zero. After that time its program is killed, with its process group.
        time_limit: Span = Span(Duration::from_secs(30)),
        /// How long a new question waits before anybody is told: who answers within this time at a terminal is not disturbed.
        grace: Span = Span(Duration::from_secs(20)),
        /// How much longer a new question waits, at most, while an inbox is open at a terminal or a page of `askbox web` is visible.
        present: Span = Span(Duration::from_secs(300)),
        /// How long before a question expires the event `expiring` is told, at most; a quarter of the question's time if that is shorter.
        /// `"0s"`: never.
        expiring: Span = Span(Duration::from_secs(1800)),
        /// The hours in which nobody is told anything, in local time; afterwards everything is told as one. Questions of priority 10 and more
        /// are told all the same. `""`: none. Example: `"22:00-07:00"`.
        quiet: QuietHours = QuietHours::default(),
    }
}

section! {
    /// `[target.NAME]`: one place where people are told. Exactly one of `exec`, `desktop`, `webhook` and `ntfy` says how.
    "target.*" Target {
        /// A program and its arguments. It gets the event as its last argument and as JSON on standard input. Example: `["notify-askbox"]`.
        exec: Vec<String> = Vec::new(),
        /// Whether a notification appears on this computer's desktop, by `notify-send` (on macOS by `osascript`).
        desktop: bool = false,
        /// A URL that gets the event as JSON, by `curl`. Example: `"https://example.org/askbox"`.
        webhook: String = String::new(),
        /// The file with the secret that signs what the webhook gets (HMAC-SHA256). `""`: it is not signed.
        secret_file: PathBuf = PathBuf::new(),
        /// The URL of an ntfy topic, by `curl`. Example: `"https://ntfy.sh/my-secret-topic"`.
        ntfy: String = String::new(),
        /// The URL of a second topic of that server, through which up to three buttons answer. `""`: no buttons answer.
        /// Example: `"https://ntfy.sh/my-other-secret-topic"`.
        ntfy_replies: String = String::new(),
        /// The file with the access token of the ntfy server. `""`: none.
        token_file: PathBuf = PathBuf::new(),
        /// The page that a notification opens; `{workflow}` and `{question_id}` are replaced. Example: `"https://box.example/q/{workflow}"`.
        open: String = String::new(),
        /// Which events this target is told.
        events: Vec<Event> = Event::ALL.to_vec(),
        /// The name of the person who answers through this target. `""`: the target's name.
        person: String = String::new(),
    }
}

/// How a target is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Means<'a> {
    /// By the operator's program.
    Exec(&'a [String]),
    /// By a notification on this desktop.
    Desktop,
    /// By a request to this URL.
    Webhook(&'a str),
    /// By a message to this ntfy topic.
    Ntfy(&'a str),
}

impl Target {
    /// How it is told; `None` if nothing says how.
    #[must_use]
    pub fn means(&self) -> Option<Means<'_>> {
        self.all_means().next()
    }

    fn all_means(&self) -> impl Iterator<Item = Means<'_>> {
        let exec = (!self.exec.is_empty()).then_some(Means::Exec(&self.exec));
        let desktop = self.desktop.then_some(Means::Desktop);
        let webhook = (!self.webhook.is_empty()).then_some(Means::Webhook(&self.webhook));
        let ntfy = (!self.ntfy.is_empty()).then_some(Means::Ntfy(&self.ntfy));
        [exec, desktop, webhook, ntfy].into_iter().flatten()
    }

    /// Refuses what could never be told.
    fn check(&self, name: &str) -> Result<()> {
        let key = |key: &str| format!("target.{name}.{key}");
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
        if name.len() > LONGEST_NAME || !name.chars().all(is_plain) {
            return Err(Error::invalid(format!("target.{name}"), "is no name of a target", "use up to 32 of a-z, 0-9, - and _"));
        }
        if self.all_means().count() > 1 {
            let keep = "keep one of exec, desktop, webhook and ntfy; write another [target.NAME] for the other";
            return Err(Error::invalid(format!("target.{name}"), "says more than one way to be told", keep));
        }
        for (name, url) in [("webhook", &self.webhook), ("ntfy", &self.ntfy), ("ntfy_replies", &self.ntfy_replies)] {
            let is_url = |url: &str| url.starts_with("https://") || url.starts_with("http://");
            if !url.is_empty() && (!is_url(url) || url.contains(char::is_whitespace)) {
                return Err(Error::invalid(key(name), "is no URL", "write it with https:// (or http:// within your own network)"));
            }
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

/// The server and the topic in the URL of an ntfy topic.
#[must_use]
pub fn topic(url: &str) -> Option<(&str, &str)> {
    let (server, topic) = url.trim_end_matches('/').rsplit_once('/')?;
    let is_plain = !topic.is_empty() && topic.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    (server.len() > "https://".len() && is_plain).then_some((server, topic))
}

/// All targets with their names: those of the file, and the one that `notify.command` stands for.
#[must_use]
pub fn targets(notify: &Notify, named: &BTreeMap<String, Target>) -> BTreeMap<String, Target> {
    let mut targets: BTreeMap<_, _> =
        named.iter().filter(|(_, target)| target.means().is_some()).map(|(name, target)| (name.clone(), target.clone())).collect();
    if !notify.command.is_empty() {
        targets.entry(COMMAND.into()).or_insert_with(|| Target { exec: notify.command.clone(), ..Target::default() });
    }
    targets
}

/// Refuses values that nobody could be told with.
pub(in crate::config) fn check(notify: &Notify, named: &BTreeMap<String, Target>) -> Result<()> {
    if !notify.command.is_empty() && named.contains_key(COMMAND) {
        return Err(Error::invalid("notify.command", "is written beside a [target.command]", "keep one of them"));
    }
    named.iter().try_for_each(|(name, target)| target.check(name))
}
