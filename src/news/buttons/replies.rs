//! Answers by the buttons of a notification: a message `askbox WORKFLOW QUESTION_ID KEY MAC` in the topic for replies.
//!
//! The code (MAC) is made with a key that only this mailbox has, over the target, the round, the question's hash and the option. So a
//! reply counts only if the button was made here, for this target and this question; and only once, because a round is answered once. The
//! topic is followed from the last reply that was applied on: a restart misses none, and one that comes twice finds its round answered.

use std::path::PathBuf;
use std::time::SystemTime;

use hmac::{Hmac, Mac};
use serde::Deserialize;
use sha2::Sha256;
use uuid::Uuid;

use crate::disk;
use crate::document;
use crate::error::{Error, Result};
use crate::id::{QuestionId, RoundId, WorkflowId};
use crate::mailbox::documents::fields::shown_hash::Shown;
use crate::mailbox::documents::fields::through::Through;
use crate::mailbox::transitions::accept::{self, Accepted, Decision, On};
use crate::mailbox::who::caller::{Below, Caller};
use crate::mailbox::{AnswerValue, Mailbox, Question};
use crate::news::events::ledger::FOLDER;
use crate::text;

/// The channel that these answers are recorded with.
const CHANNEL: &str = "ntfy";
/// The first word of a reply.
const MARK: &str = "askbox";
/// The longest key and cursor, in bytes.
const LONGEST: u64 = 256;

/// The mailbox's own key, 32 random bytes in hexadecimal digits: the file `news/key`.
#[derive(Debug)]
pub(in crate::news) struct ReplyKey(String);

impl ReplyKey {
    /// Reads the key, or makes one.
    pub(in crate::news) fn of(mailbox: &Mailbox) -> Result<Self> {
        let path = mailbox.root().join(FOLDER).join("key");
        disk::create_folder(&mailbox.root().join(FOLDER))?;
        let fresh = format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple());
        // Whichever process is first makes it.
        let _ = disk::create(&path, fresh.as_bytes())?;
        let key = String::from_utf8_lossy(&disk::read(&path, LONGEST)?).trim().to_owned();
        if key.len() < 32 {
            return Err(Error::invalid("key", "is too short", "remove the file: another key is made").in_file(&path));
        }
        Ok(Self(key))
    }

    /// A key that is known.
    #[cfg(feature = "fuzzing")]
    pub(in crate::news) fn of_text(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// The replies that choose these options, in their order.
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
        mac.update(&document::to_json(&(target, round.workflow.as_str(), round.question, Shown::of(question)?, key))?);
        Ok(mac)
    }

    /// Whether a reply came from a button that was made here, for this target and this question.
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

/// A message in a topic, as ntfy's JSON stream tells it.
#[derive(Debug, Deserialize)]
struct Line {
    #[serde(default)]
    id: String,
    #[serde(default)]
    event: String,
    #[serde(default)]
    message: String,
}

/// What a button said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::news) struct Reply {
    pub round: RoundId,
    pub key: String,
    code: String,
}

/// A message of the topic for replies.
#[derive(Debug, Clone)]
pub(in crate::news) struct Heard {
    /// The id from which on the topic is followed the next time.
    pub cursor: String,
    /// `None` if it is no button's.
    pub reply: Option<Reply>,
}

/// Reads one line of the stream; `None` if it is no message.
pub(in crate::news) fn heard(line: &str) -> Option<Heard> {
    let line: Line = document::json(line.as_bytes())?;
    let is_id = !line.id.is_empty() && line.id.len() <= 64 && line.id.chars().all(|c| c.is_ascii_alphanumeric());
    (line.event == "message" && is_id).then(|| Heard { cursor: line.id, reply: reply(&line.message) })
}

fn reply(message: &str) -> Option<Reply> {
    let mut words = message.splitn(5, ' ');
    let (mark, workflow, question, code, key) = (words.next()?, words.next()?, words.next()?, words.next()?, words.next()?);
    let (workflow, question) = (workflow.parse::<WorkflowId>().ok()?, question.parse::<QuestionId>().ok()?);
    (mark == MARK).then(|| Reply { round: RoundId { workflow, question }, key: key.to_owned(), code: code.to_owned() })
}

/// Answers the round that the button was made for. The courier makes and hears buttons only where such answers count.
///
/// # Errors
/// [`Error::Invalid`] if the button was not made here for this question, [`Error::Conflict`] and [`Error::NotFound`] if it came too late.
pub(in crate::news) fn apply(mailbox: &Mailbox, key: &ReplyKey, target: &str, person: &str, reply: &Reply) -> Result<Accepted> {
    let round = &reply.round;
    let caller = Caller::new(person, CHANNEL, Through::Message, Below::NoAgent)?;
    let answered = accept::answer_pending(mailbox, &round.workflow, Decision::of(&caller, On::Round(round.question)), |question| {
        if !key.fits(&reply.code, target, round, question, &reply.key)? {
            return Err(Error::invalid("reply", "is not from a button of this mailbox", "answer the question at a terminal"));
        }
        Ok(caller.value(AnswerValue::Text(reply.key.clone())))
    })?;
    answered.ok_or_else(|| Error::not_found(format!("{} waits for no answer", round.workflow), "see: ask-answer list"))
}

/// Up to which message the topic of a target was followed.
#[derive(Debug)]
pub(in crate::news) struct Cursor(PathBuf);

impl Cursor {
    pub(in crate::news) fn of(mailbox: &Mailbox, target: &str) -> Self {
        Self(mailbox.root().join(FOLDER).join(format!("{target}.since")))
    }

    /// From where to follow the topic. The first time, that is now: what was said there before concerns nothing that was told.
    pub(in crate::news) fn read(&self) -> Result<String> {
        let known = disk::read(&self.0, LONGEST).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        if let Some(known) = known.filter(|known| !known.is_empty() && known.chars().all(|c| c.is_ascii_alphanumeric())) {
            return Ok(known);
        }
        let now = crate::time::now().timestamp().to_string();
        self.write(&now)?;
        Ok(now)
    }

    pub(in crate::news) fn write(&self, cursor: &str) -> Result<()> {
        disk::replace_unsynced(&self.0, cursor.as_bytes(), SystemTime::now())
    }
}
