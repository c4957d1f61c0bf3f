//! Answers by the buttons of a notification, through ntfy's topic for replies: a message `askbox WORKFLOW QUESTION_ID KEY MAC` in the topic for replies.
//!
//! The code (MAC) is made with a key that only this mailbox has, over the target, the round, the question's hash and the option. So a
//! reply counts only if the button was made here, for this target and this question. It counts only once, because a round is answered
//! once. The topic is followed from the last reply that was applied. So a restart misses no reply, and a reply that comes twice finds
//! its round answered.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant, SystemTime};

use hmac::{Hmac, Mac};
use serde::Deserialize;
use sha2::Sha256;
use uuid::Uuid;

use crate::news::means;
use crate::news::record::NEWS_FOLDER;
use askbox_config::Target;
use askbox_mailbox::documents::fields::shown_hash::Shown;
use askbox_mailbox::documents::fields::through::Through;
use askbox_mailbox::error::{Error, IoContext, Result};
use askbox_mailbox::id::{QuestionId, RoundId, WorkflowId};
use askbox_mailbox::platform::ProcessHandle;
use askbox_mailbox::thread::Waiting;
use askbox_mailbox::transitions::accept::{self, Accepted, Decision, On};
use askbox_mailbox::who::caller::{Below, Caller};
use askbox_mailbox::{AnswerValue, Mailbox, Question, disk, document, read_question, text};

/// The longest line of the stream, in bytes: ntfy's messages have at most 4096.
const LONGEST_LINE: u64 = 64 << 10;
/// The pause after a stream that ended, and the longest pause if streams keep ending at once.
const PAUSE: Duration = Duration::from_secs(2);
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// A stream has worked if it lasted this long and the server said anything.
const LASTED: Duration = Duration::from_secs(10);

/// A message that is not dealt with yet. One stream has one at a time: if a topic is flooded, the flood waits in its own connection and
/// not in memory.
#[derive(Debug)]
pub(in crate::news) struct Ticket {
    _dropped: mpsc::Sender<()>,
}

/// The stream of one target.
#[derive(Debug, Default)]
pub(in crate::news) struct Listener {
    process: Option<ProcessHandle>,
    is_open: bool,
    failures: u32,
    retry_at: Option<Instant>,
    opened_at: Option<Instant>,
    /// True once the server has said anything in this stream. Without messages, ntfy says `open`, and then `keepalive` every 45 seconds.
    has_spoken: Arc<AtomicBool>,
}

impl Listener {
    /// When to call [`Self::open`] again.
    pub(in crate::news) fn deadline(&self) -> Option<Instant> {
        self.retry_at.filter(|_| !self.is_open)
    }

    pub(in crate::news) fn may_open(&self) -> bool {
        !self.is_open && self.retry_at.is_none_or(|at| at <= Instant::now())
    }

    /// Follows the topic. `hear` is called for each of its messages. `ended` is called once, when the stream has ended.
    pub(in crate::news) fn open(
        &mut self,
        target: &Target,
        since: &str,
        hear: impl Fn(Heard, Ticket) + Send + 'static,
        ended: impl FnOnce(String) + Send + 'static,
    ) -> Result<()> {
        self.put_off();
        let call = means::follow_topic(target, since)?;
        let thread = Waiting::start()?;
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
                read(BufReader::new(output), &has_spoken, hear);
            }
            let _ = child.kill();
            let mut said = String::new();
            let _ = child.stderr.take().map(|errors| errors.take(2000).read_to_string(&mut said));
            let _ = child.wait();
            ended(askbox_mailbox::text::excerpt(said.trim(), 200));
        });
        Ok(())
    }

    /// Notes that the stream has ended. It is opened again with growing pauses, as long as the streams end at once.
    pub(in crate::news) fn ended(&mut self) {
        let has_lasted = self.opened_at.is_some_and(|at| at.elapsed() >= LASTED);
        if has_lasted && self.has_spoken.load(Ordering::Relaxed) {
            self.works();
        }
        (self.is_open, self.process) = (false, None);
        self.put_off();
    }

    /// Notes that something came, so the stream works.
    pub(in crate::news) fn works(&mut self) {
        self.failures = 0;
    }

    fn put_off(&mut self) {
        let pause = PAUSE.saturating_mul(1 << self.failures.min(8)).min(LONGEST_PAUSE);
        self.failures += 1;
        self.retry_at = Some(Instant::now() + pause);
    }

    /// Closes the stream, because nothing waits for a reply any more.
    pub(in crate::news) fn close(&mut self) {
        if let Some(process) = self.process.take() {
            process.signal(rustix::process::Signal::TERM);
        }
        (self.failures, self.retry_at) = (0, None);
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.close();
    }
}

fn read(mut output: impl BufRead, has_spoken: &AtomicBool, hear: impl Fn(Heard, Ticket)) {
    let hear = |heard| {
        let (ticket, is_done) = mpsc::channel();
        hear(heard, Ticket { _dropped: ticket });
        // Nothing is ever sent. The wait ends with the ticket.
        let _ = is_done.recv();
    };
    let mut line = Vec::new();
    loop {
        line.clear();
        match output.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) if line.last() == Some(&b'\n') => {
                has_spoken.store(true, Ordering::Relaxed);
                String::from_utf8_lossy(&line).lines().filter_map(heard).for_each(hear);
            }
            // Skip the rest of a line that is too long. No button sends such a line, and the next stream would find it again at the
            // same place.
            Ok(_) if output.skip_until(b'\n').is_err() => return,
            Ok(_) => {}
        }
    }
}

/// The error for a stream that ended.
pub(in crate::news) fn broken(said: &str) -> Error {
    let why = if said.is_empty() { "the server ended it" } else { said };
    Error::failed(format!("the stream of replies ended: {why}"), "it is opened again; check ntfy_replies and token_file if this repeats")
}

/// The channel that these answers are recorded with.
const CHANNEL: &str = "ntfy";
/// The first word of a reply.
const MARK: &str = "askbox";
/// The longest key and cursor, in bytes.
const LONGEST_REPLY: u64 = 256;

/// The mailbox's own key, 32 random bytes in hexadecimal digits: the file `news/key`.
#[derive(Debug)]
pub(in crate::news) struct ReplyKey(String);

impl ReplyKey {
    /// Reads the key, or makes one.
    pub(in crate::news) fn of_mailbox(mailbox: &Mailbox) -> Result<Self> {
        let path = mailbox.root().join(NEWS_FOLDER).join("key");
        disk::create_folder(&mailbox.root().join(NEWS_FOLDER))?;
        let fresh = format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple());
        // The first process that needs the key makes it.
        let _ = disk::create(&path, fresh.as_bytes())?;
        let key = String::from_utf8_lossy(&disk::read(&path, LONGEST_REPLY)?).trim().to_owned();
        if key.len() < 32 {
            return Err(Error::invalid("key", "is too short", "remove the file: another key is made").in_file(&path));
        }
        Ok(Self(key))
    }

    /// The key with this text.
    #[doc(hidden)]
    fn of_text(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// The replies for these options, in their order.
    pub(in crate::news) fn replies(&self, target: &str, round: &RoundId, question: &Question, keys: &[String]) -> Result<Vec<String>> {
        let reply =
            |key: &String| Ok(format!("{MARK} {} {} {} {key}", round.workflow, round.question, self.code(target, round, question, key)?));
        keys.iter().map(reply).collect()
    }

    fn code(&self, target: &str, round: &RoundId, question: &Question, key: &str) -> Result<String> {
        let mac = self.mac(target, round, question, key)?.finalize().into_bytes();
        Ok(text::hex(&mac[..16]))
    }

    fn mac(&self, target: &str, round: &RoundId, question: &Question, key: &str) -> Result<Hmac<Sha256>> {
        let mut mac =
            Hmac::<Sha256>::new_from_slice(self.0.as_bytes()).map_err(|e| Error::failed(e.to_string(), "report this as a bug"))?;
        mac.update(&document::to_json(&(target, round.workflow.as_str(), round.question, Shown::of_question(question)?, key))?);
        Ok(mac)
    }

    /// True if a reply came from a button that was made here, for this target and this question.
    pub(in crate::news) fn made(&self, target: &str, reply: &Reply, question: &Question) -> bool {
        self.fits(&reply.code, target, &reply.round, question, &reply.key).unwrap_or(false)
    }

    fn fits(&self, code: &str, target: &str, round: &RoundId, question: &Question, key: &str) -> Result<bool> {
        // A number may begin with a plus sign, and a code may not.
        let is_code = code.len() == 32 && code.bytes().all(|byte| byte.is_ascii_hexdigit());
        let bytes: Option<Vec<u8>> = (0..16).map(|n| u8::from_str_radix(code.get(2 * n..2 * n + 2)?, 16).ok()).collect();
        let Some(bytes) = bytes.filter(|_| is_code) else { return Ok(false) };
        Ok(self.mac(target, round, question, key)?.verify_truncated_left(&bytes).is_ok())
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
pub(in crate::news) struct Reply {
    pub round: RoundId,
    pub key: String,
    code: String,
}

/// A message of the topic for replies.
#[derive(Debug, Clone)]
pub(in crate::news) struct Heard {
    /// The id of the message to continue from the next time.
    pub cursor: String,
    /// `None` if no button sent the message.
    pub reply: Option<Reply>,
}

/// Reads one line of the stream; `None` if it is not a message.
pub(in crate::news) fn heard(line: &str) -> Option<Heard> {
    let line: TopicLine = document::json(line.as_bytes())?;
    let is_id = !line.id.is_empty() && line.id.len() <= 64 && line.id.chars().all(|c| c.is_ascii_alphanumeric());
    (line.event == "message" && is_id).then(|| Heard { cursor: line.id, reply: reply(&line.message) })
}

fn reply(message: &str) -> Option<Reply> {
    let mut words = message.splitn(5, ' ');
    let (mark, workflow, question, code, key) = (words.next()?, words.next()?, words.next()?, words.next()?, words.next()?);
    let (workflow, question) = (workflow.parse::<WorkflowId>().ok()?, question.parse::<QuestionId>().ok()?);
    (mark == MARK).then(|| Reply { round: RoundId { workflow, question }, key: key.to_owned(), code: code.to_owned() })
}

/// Answers the round that the button was made for. The courier makes buttons and listens to them only if such answers count.
///
/// # Errors
/// [`Error::Invalid`] if the button was not made here for this question, [`Error::Conflict`] and [`Error::NotFound`] if it came too late.
pub(in crate::news) fn apply(mailbox: &Mailbox, key: &ReplyKey, target: &str, person: &str, reply: &Reply) -> Result<Accepted> {
    let round = &reply.round;
    let caller = Caller::new(person, CHANNEL, Through::Message, Below::NoAgent)?;
    let not_found = || Error::not_found(format!("{} waits for no answer", round.workflow), "see: ask-answer list");
    // The code proves below that the button showed exactly this question.
    let on = match read_question::pending(mailbox, &round.workflow) {
        Ok(pending) => On::Shown(round.question, Shown::of_question(&pending.typed)?),
        Err(e) if e.is_missing_file() => return Err(not_found()),
        Err(e) => return Err(e),
    };
    let answered = accept::answer_pending(mailbox, &round.workflow, Decision::by(&caller, on), |question| {
        if !key.fits(&reply.code, target, round, question, &reply.key)? {
            return Err(Error::invalid("reply", "is not from a button of this mailbox", "answer the question at a terminal"));
        }
        Ok(caller.value(AnswerValue::Text(reply.key.clone())))
    })?;
    answered.ok_or_else(not_found)
}

/// The last message that was read in a target's topic.
#[derive(Debug)]
pub(in crate::news) struct Cursor(PathBuf);

impl Cursor {
    pub(in crate::news) fn of_target(mailbox: &Mailbox, target: &str) -> Self {
        Self(mailbox.root().join(NEWS_FOLDER).join(format!("{target}.since")))
    }

    /// The place to follow the topic from. The first time this is the present, because earlier messages cannot be replies to any
    /// notification.
    pub(in crate::news) fn read(&self) -> Result<String> {
        let known = disk::read(&self.0, LONGEST_REPLY).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        if let Some(known) = known.filter(|known| !known.is_empty() && known.chars().all(|c| c.is_ascii_alphanumeric())) {
            return Ok(known);
        }
        let now = askbox_mailbox::time::now().timestamp().to_string();
        self.write(&now)?;
        Ok(now)
    }

    pub(in crate::news) fn write(&self, cursor: &str) -> Result<()> {
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
            (listener.is_open, listener.failures) = (true, 5);
            listener.opened_at = Instant::now().checked_sub(Duration::from_secs(seconds));
            listener.has_spoken = Arc::new(has_spoken.into());
            listener.ended();
            listener.deadline().unwrap().saturating_duration_since(Instant::now())
        };
        assert!(ended(60, true) <= PAUSE, "it worked");
        assert!(ended(1, true) > 10 * PAUSE, "the server takes it and drops it");
        assert!(ended(60, false) > 10 * PAUSE, "nobody answered for a minute");
    }
}

#[doc(hidden)]
pub mod fuzzed {
    //! For `fuzz/`: reads a message in a topic for replies. Anybody may have written it.

    use crate::news::buttons::ReplyKey;
    use askbox_mailbox::Question;
    use askbox_mailbox::error::Result;
    use askbox_mailbox::id::RoundId;

    /// The key of every mailbox here.
    fn key() -> ReplyKey {
        ReplyKey::of_text("0123456789abcdef0123456789abcdef")
    }

    /// The content of a message.
    #[derive(Debug)]
    pub struct Heard {
        /// The place in the topic to continue from the next time.
        pub cursor: String,
        /// The round and the option, if the message looks like a button's.
        pub chosen: Option<(RoundId, String)>,
        /// True if a button of this mailbox sent it.
        pub counts: bool,
    }

    /// Reads one line of the stream.
    pub fn heard(line: &str, target: &str, question: &Question) -> Option<Heard> {
        let heard = super::heard(line)?;
        let counts = heard.reply.as_ref().is_some_and(|reply| key().made(target, reply, question));
        Some(Heard { cursor: heard.cursor, chosen: heard.reply.map(|reply| (reply.round, reply.key)), counts })
    }

    /// The texts that the buttons of a notification send.
    ///
    /// # Errors
    /// If the question cannot be written as JSON.
    pub fn buttons(target: &str, round: &RoundId, question: &Question, keys: &[String]) -> Result<Vec<String>> {
        key().replies(target, round, question, keys)
    }
}
