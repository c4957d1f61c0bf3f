//! Answers by the buttons of a notification, through ntfy's topic for replies: a message `askbox WORKFLOW QUESTION_ID KEY MAC` in the topic for replies.
//!
//! The code (MAC) is made with a key that only this mailbox has, over the target, the round, the question's hash and the option. So a
//! reply counts only if the button was made here, for this target and this question. It counts only once, because a round is answered
//! once. The topic is followed from the last reply that was applied. So a restart misses no reply, and a reply that comes twice finds
//! its round answered.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant, SystemTime};

use hmac::{Hmac, Mac};
use serde::Deserialize;
use sha2::Sha256;
use uuid::Uuid;

use crate::channel::means;
use askbox_config::Target;
use askbox_mailbox::{Error, IoContext, ProcessHandle, QuestionId, ReadyThread, Result, RoundId, WorkflowId, disk, document, text};
use askbox_run::log;
use askbox_watch::beside;
use askbox_watch::news::lines::{About, ChannelAnswer, Hello, Notice, Receipt};
use askbox_watch::pauses::Pauses;

/// How long the topic is followed after the last card is gone. A person who presses a button twice, or too late, gets a message about it.
const FOLLOW_ON: Duration = Duration::from_secs(30);
/// The shortest time between two messages that say that a person's button of one question changed nothing.
const TOLD_LATE_EVERY: Duration = Duration::from_secs(60);

/// A stream has worked if it lasted this long and the server said anything.
const LASTED: Duration = Duration::from_secs(10);

/// A message that is not dealt with yet. One stream has one at a time: if a topic is flooded, the flood waits in its own connection and
/// not in memory.
pub(in crate::channel) struct Ticket {
    _dropped: mpsc::Sender<()>,
}

/// What comes from a topic for replies.
pub(in crate::channel) enum Stream {
    /// A message.
    Heard(Heard, Ticket),
    /// The stream ended, for this reason.
    Silent(String),
}

/// The stream of one target.
#[derive(Debug, Default)]
pub(in crate::channel) struct Listener {
    process: Option<ProcessHandle>,
    is_open: bool,
    pauses: Pauses,
    opened_at: Option<Instant>,
    /// True once the server has said anything in this stream. Without messages, ntfy says `open`, and then `keepalive` every 45 seconds.
    has_spoken: Arc<AtomicBool>,
}

impl Listener {
    /// When to call [`Self::open`] again.
    fn deadline(&self) -> Option<Instant> {
        self.pauses.until.filter(|_| !self.is_open)
    }

    /// Follows the topic. `hear` is called with each of its messages, and with the end of the stream.
    fn open(&mut self, target: &Target, since: &str, hear: impl Fn(Stream) + Send + 'static) -> Result<()> {
        self.pauses.put_off();
        let call = means::follow_topic(target, since)?;
        let thread = ReadyThread::start()?;
        let mut child = call
            .command()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .io("run", &call.program)?;
        // The input is far shorter than the capacity of a pipe.
        let written = child.stdin.take().map(|mut input| std::io::Write::write_all(&mut input, &call.input));
        written.transpose().io("write to", &call.program)?;
        self.process = ProcessHandle::open(child.id());
        (self.is_open, self.opened_at, self.has_spoken) = (true, Some(Instant::now()), Arc::default());
        let has_spoken = Arc::clone(&self.has_spoken);
        thread.run(move || {
            if let Some(output) = child.stdout.take() {
                read(BufReader::new(output), &has_spoken, |heard, ticket| hear(Stream::Heard(heard, ticket)));
            }
            let _ = child.kill();
            let mut said = String::new();
            let _ = child.stderr.take().map(|errors| errors.take(2000).read_to_string(&mut said));
            let _ = child.wait();
            hear(Stream::Silent(text::excerpt(said.trim(), 200)));
        });
        Ok(())
    }

    /// Notes that the stream has ended. It is opened again with growing pauses, as long as the streams end at once.
    fn ended(&mut self) {
        let has_lasted = self.opened_at.is_some_and(|at| at.elapsed() >= LASTED);
        if has_lasted && self.has_spoken.load(Ordering::Relaxed) {
            self.pauses.works();
        }
        (self.is_open, self.process) = (false, None);
        self.pauses.put_off();
    }

    /// Closes the stream, because nothing waits for a reply any more.
    fn close(&mut self) {
        if let Some(process) = self.process.take() {
            process.signal(rustix::process::Signal::TERM);
        }
        self.pauses = Pauses::default();
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.close();
    }
}

fn read(output: impl BufRead, has_spoken: &AtomicBool, hear: impl Fn(Heard, Ticket)) {
    let hear = |heard| {
        let (ticket, is_done) = mpsc::channel();
        hear(heard, Ticket { _dropped: ticket });
        // Nothing is ever sent. The wait ends with the ticket.
        let _ = is_done.recv();
    };
    // A line that is too long is skipped. No button sends such a line, and the next stream would find it again at the same place.
    beside::read(output, |line| {
        has_spoken.store(true, Ordering::Relaxed);
        String::from_utf8_lossy(line).lines().filter_map(heard).for_each(hear);
    });
}

/// The first word of a reply.
const MARK: &str = "askbox";
/// The longest key and cursor, in bytes.
const LONGEST_REPLY: u64 = 256;
/// How many hexadecimal digits the hash of the question and the code have.
const HASH: usize = 64;
const CODE: usize = 32;

/// The mailbox's own key, 32 random bytes in hexadecimal digits: the file `news/key`.
struct ReplyKey(String);

impl ReplyKey {
    /// Reads the key, or makes one.
    fn of_mailbox(folder: &Path) -> Result<Self> {
        let path = folder.join("key");
        let fresh = format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple());
        // The first process that needs the key makes it.
        let _ = disk::create(&path, fresh.as_bytes())?;
        let key = String::from_utf8_lossy(&disk::read(&path, LONGEST_REPLY)?).trim().to_owned();
        if key.len() < 32 {
            return Err(Error::invalid("key", "is too short", "remove the file: another key is made").in_file(&path));
        }
        Ok(Self(key))
    }

    /// The text that a button sends.
    fn text(&self, target: &str, reply: &Pressed) -> Result<String> {
        let mac = self.mac(target, reply)?.finalize().into_bytes();
        let Pressed { round, shown, key, .. } = reply;
        Ok(format!("{MARK} {} {} {shown}{} {key}", round.workflow, round.question, text::hex(&mac[..CODE / 2])))
    }

    fn mac(&self, target: &str, Pressed { round, shown, key, .. }: &Pressed) -> Result<Hmac<Sha256>> {
        let mut mac =
            Hmac::<Sha256>::new_from_slice(self.0.as_bytes()).map_err(|e| Error::failed(e.to_string(), "report this as a bug"))?;
        mac.update(&document::to_json(&(target, round.workflow.as_str(), round.question, shown, key))?);
        Ok(mac)
    }

    /// True if a reply came from a button that was made here, for this target and the question that it names.
    fn made(&self, target: &str, reply: &Pressed) -> bool {
        // A number may begin with a plus sign, and a code may not.
        let is_code = reply.code.bytes().all(|byte| byte.is_ascii_hexdigit());
        let bytes: Option<Vec<u8>> = (0..CODE / 2).map(|n| u8::from_str_radix(reply.code.get(2 * n..2 * n + 2)?, 16).ok()).collect();
        let Some(bytes) = bytes.filter(|_| is_code && reply.code.len() == CODE) else { return false };
        self.mac(target, reply).is_ok_and(|mac| mac.verify_truncated_left(&bytes).is_ok())
    }
}

/// A message in a topic, as it stands in ntfy's JSON stream.
#[derive(Debug, Deserialize)]
struct TopicLine {
    #[serde(default)]
    id: String,
    #[serde(default)]
    event: String,
    #[serde(default)]
    message: String,
}

/// The content of a button's reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::channel) struct Pressed {
    round: RoundId,
    /// The hash of the question as it was shown.
    shown: String,
    key: String,
    code: String,
}

/// A message of the topic for replies.
#[derive(Debug, Clone)]
pub(in crate::channel) struct Heard {
    /// The id of the message to continue from the next time.
    pub cursor: String,
    /// `None` if no button sent the message.
    pub reply: Option<Pressed>,
}

/// Reads one line of the stream; `None` if it is not a message.
fn heard(line: &str) -> Option<Heard> {
    let line: TopicLine = document::json(line.as_bytes())?;
    let is_id = !line.id.is_empty() && line.id.len() <= 64 && line.id.chars().all(|c| c.is_ascii_alphanumeric());
    (line.event == "message" && is_id).then(|| Heard { cursor: line.id, reply: reply(&line.message) })
}

fn reply(message: &str) -> Option<Pressed> {
    let mut words = message.splitn(5, ' ');
    let (mark, workflow, question, code, key) = (words.next()?, words.next()?, words.next()?, words.next()?, words.next()?);
    let (workflow, question) = (workflow.parse::<WorkflowId>().ok()?, question.parse::<QuestionId>().ok()?);
    let (shown, code) = code.split_at_checked(HASH).unwrap_or((code, ""));
    let round = RoundId { workflow, question };
    (mark == MARK).then(|| Pressed { round, shown: shown.to_owned(), key: key.to_owned(), code: code.to_owned() })
}

/// The replies of one target.
pub(in crate::channel) struct Replies {
    hello: Hello,
    key: ReplyKey,
    cursor: Cursor,
    listener: Listener,
    has_cards: bool,
    follow_until: Option<Instant>,
    /// The answer that has no receipt yet.
    given: Option<(String, Pressed, Ticket)>,
    /// The last message about a button that changed nothing, by round and option.
    told_late: HashMap<(RoundId, String), Instant>,
}

impl Replies {
    /// The replies of a target that has a topic for them.
    pub(in crate::channel) fn new(hello: &Hello) -> Result<Option<Self>> {
        if hello.settings.ntfy_replies.is_empty() {
            return Ok(None);
        }
        let cursor = Cursor(hello.folder.join(format!("{}.since", hello.target)));
        let (listener, told_late) = (Listener::default(), HashMap::new());
        let key = ReplyKey::of_mailbox(&hello.folder)?;
        Ok(Some(Self { hello: hello.clone(), key, cursor, listener, has_cards: false, follow_until: None, given: None, told_late }))
    }

    /// The texts that the buttons of a notice send.
    pub(in crate::channel) fn texts(&self, notice: &Notice) -> Result<Vec<String>> {
        let (About::Round(about), Some(shown)) = (&notice.message.about, &notice.shown) else { return Ok(Vec::new()) };
        let round = RoundId { workflow: about.workflow_id.clone(), question: about.question_id };
        let text = |key: &String| {
            self.key
                .text(&self.hello.target, &Pressed { round: round.clone(), shown: shown.clone(), key: key.clone(), code: String::new() })
        };
        notice.buttons.iter().map(text).collect()
    }

    /// Follows the topic as long as cards wait, and a little longer.
    pub(in crate::channel) fn cards(&mut self, waiting: usize) {
        self.has_cards = waiting > 0;
    }

    /// Opens and closes the stream as it is needed.
    pub(in crate::channel) fn follow(&mut self, hear: impl Fn(Stream) + Send + 'static) {
        if self.has_cards {
            self.follow_until = Some(Instant::now() + FOLLOW_ON);
        }
        if self.follow_until.is_none_or(|until| until <= Instant::now()) {
            self.follow_until = None;
            self.listener.close();
        } else if !self.listener.is_open && !self.listener.pauses.is_on() {
            let opened = self.cursor.read().and_then(|since| self.listener.open(&self.hello.settings, &since, hear));
            opened.unwrap_or_else(|e| log::error(&e));
        }
    }

    /// When to call [`Self::follow`] again.
    pub(in crate::channel) fn deadline(&self) -> Option<Instant> {
        let until = self.follow_until.filter(|_| !self.has_cards);
        let again = self.listener.deadline().filter(|_| self.follow_until.is_some());
        until.into_iter().chain(again).min()
    }

    /// The stream has ended. Returns the problem, if somebody may still press a button.
    pub(in crate::channel) fn silent(&mut self, why: &str) -> Option<String> {
        self.listener.ended();
        let why = if why.is_empty() { "the server ended it" } else { why };
        let hint = "it is opened again; check ntfy_replies and token_file if this repeats";
        self.follow_until.map(|_| format!("the stream of replies ended: {why} ({hint})"))
    }

    /// Takes a message of the topic. Returns the answer that a button gave.
    pub(in crate::channel) fn heard(&mut self, heard: Heard, ticket: Ticket) -> Option<ChannelAnswer> {
        self.listener.pauses.works();
        let made = heard.reply.filter(|reply| {
            let is_made = self.key.made(&self.hello.target, reply);
            if !is_made {
                tracing::warn!("target {}: a reply changed nothing: it is not from a button of this mailbox", self.hello.target);
            }
            is_made
        });
        let Some(reply) = made else {
            self.read_on(&heard.cursor);
            return None;
        };
        let RoundId { workflow, question } = reply.round.clone();
        let (shown, value) = (reply.shown.clone(), reply.key.clone());
        self.given = Some((heard.cursor.clone(), reply, ticket));
        Some(ChannelAnswer { id: heard.cursor, workflow_id: workflow, question_id: question, shown, value })
    }

    /// Takes the receipt of an answer. Returns the notice for a person whose button changed nothing.
    pub(in crate::channel) fn receipt(&mut self, receipt: &Receipt) -> Option<Notice> {
        let (cursor, reply, _ticket) = self.given.take_if(|(id, ..)| *id == receipt.id)?;
        // Written only now, so that a reply without a receipt is read again.
        self.read_on(&cursor);
        let problem = receipt.problem.as_ref()?;
        // Two people may press two buttons of one card. Only a true button is told, so a round has no more keys than options.
        self.told_late.retain(|_, at| at.elapsed() < TOLD_LATE_EVERY);
        let pressed = (reply.round.clone(), reply.key);
        if self.told_late.contains_key(&pressed) {
            return None;
        }
        self.told_late.insert(pressed, Instant::now());
        Some(too_late(&self.hello.target, &reply.round.workflow, problem))
    }

    fn read_on(&self, cursor: &str) {
        self.cursor.write(cursor).unwrap_or_else(|e| log::error(&e));
    }
}

/// The notice that says that a button changed nothing. Only the person who pressed it gets this, because everybody who may write to the
/// topic can write anything.
fn too_late(target: &str, workflow: &WorkflowId, problem: &str) -> Notice {
    Notice::plain(target, "too_late", &format!("{workflow}: your button changed nothing"), problem)
}

/// The last message that was read in a target's topic.
struct Cursor(PathBuf);

impl Cursor {
    /// The place to follow the topic from. The first time this is the present, because earlier messages cannot be replies to any
    /// notification.
    fn read(&self) -> Result<String> {
        let known = disk::read(&self.0, LONGEST_REPLY).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        if let Some(known) = known.filter(|known| !known.is_empty() && known.chars().all(|c| c.is_ascii_alphanumeric())) {
            return Ok(known);
        }
        let now = askbox_mailbox::time::now().timestamp().to_string();
        self.write(&now)?;
        Ok(now)
    }

    fn write(&self, cursor: &str) -> Result<()> {
        disk::replace_unsynced(&self.0, cursor.as_bytes(), SystemTime::now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_that_was_open_for_a_while_is_opened_again_at_once() {
        let ended = |seconds: u64, has_spoken: bool| {
            let mut listener = Listener::default();
            listener.is_open = true;
            (0..5).for_each(|_| listener.pauses.put_off());
            listener.opened_at = Instant::now().checked_sub(Duration::from_secs(seconds));
            listener.has_spoken = Arc::new(has_spoken.into());
            listener.ended();
            listener.deadline().unwrap().saturating_duration_since(Instant::now())
        };
        let pause = Duration::from_secs(2);
        assert!(ended(60, true) <= pause, "it worked");
        assert!(ended(1, true) > 10 * pause, "the server takes it and drops it");
        assert!(ended(60, false) > 10 * pause, "nobody answered for a minute");
    }
}

#[doc(hidden)]
pub mod fuzzed {
    //! For `fuzz/`: reads a message in a topic for replies. Anybody may have written it.

    use super::{Pressed, ReplyKey};
    use askbox_mailbox::id::RoundId;

    /// The content of a message.
    #[derive(Debug)]
    pub struct Heard {
        /// The place in the topic to continue from the next time.
        pub cursor: String,
        /// The round, the hash of the question and the option, if the message looks like a button's.
        pub chosen: Option<(RoundId, String, String)>,
        /// True if a button of this mailbox sent it.
        pub counts: bool,
    }

    fn key() -> ReplyKey {
        ReplyKey("0123456789abcdef0123456789abcdef".into())
    }

    /// Reads one line of the stream.
    pub fn heard(line: &str, target: &str) -> Option<Heard> {
        let heard = super::heard(line)?;
        let counts = heard.reply.as_ref().is_some_and(|reply| key().made(target, reply));
        Some(Heard { cursor: heard.cursor, chosen: heard.reply.map(|reply| (reply.round, reply.shown, reply.key)), counts })
    }

    /// The text that a button sends.
    ///
    /// # Errors
    /// If it cannot be written as JSON.
    pub fn text(target: &str, round: RoundId, shown: String, option: String) -> askbox_mailbox::Result<String> {
        key().text(target, &Pressed { round, shown, key: option, code: String::new() })
    }
}
