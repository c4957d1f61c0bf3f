//! Drafts that outlive the inbox. They are stored in `$XDG_STATE_HOME/askbox/drafts/WORKFLOW.QUESTION.toml` (`HOST:WORKFLOW.…` for a
//! question of another machine), and other users cannot read them. A draft is offered again when its question is opened again. If the
//! question is over, its draft can still be read in the file, for a day. The next inbox then removes it. Words for a session that are not
//! sent yet are in `SESSION.prompt` there.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::question::draft::{Choosable, Draft, PartDraft};
use crate::sender;
use crate::text_window::{self, Asking, Typed};
use askbox_cli::ask_answer::edit_call;
use askbox_mailbox::{
    Error, Folder, HostName, Mailbox, Question, QuestionId, Result, RoundAt, RoundId, Time, WorkflowId, disk, round, time,
};

/// The folder that [`keep_in`] was given.
static FOLDER: OnceLock<PathBuf> = OnceLock::new();
/// The maximum number of drafts. The oldest are removed first.
const MOST: usize = 100;
/// How long the draft of a question that is over can still be read in its file.
const STAYS: Duration = Duration::from_secs(24 * 60 * 60);
/// The ending of the file of words for a session.
const OF_SESSION: &str = ".prompt";
/// The maximum size of a draft, in bytes.
const LONGEST: u64 = 4 << 20;

/// A draft in its stored form.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KeptDraft {
    /// The machine of the question, if it is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    host: Option<HostName>,
    workflow: WorkflowId,
    question_id: QuestionId,
    pub kept_at: Time,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    note: String,
    #[serde(default, skip_serializing_if = "Typed::is_empty")]
    typed: Typed,
    #[serde(default)]
    part: Vec<KeptPart>,
}

/// The draft of one part of a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct KeptPart {
    question: String,
    /// The key of the chosen option.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    chosen: Option<String>,
    /// The keys of the marked options.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    marked: Vec<String>,
    /// The person's own words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    words: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_answered: bool,
}

impl KeptDraft {
    /// The stored form of a draft, or `None` if the person has not entered anything yet. `asking` is the window that is open for a text.
    pub fn from_draft(at: &RoundAt, draft: &Draft, asking: Option<&Asking>) -> Option<Self> {
        let (note, mut typed) = (draft.note.clone(), draft.typed.clone());
        if let Some(asking) = asking {
            typed.set(asking.purpose, asking.text());
        }
        let is_batch = draft.parts.len() > 1;
        let gave = |part: &PartDraft| !part.typed().trim().is_empty() || !part.marked.is_empty() || (is_batch && part.given.is_some());
        if note.trim().is_empty() && typed.is_empty() && !draft.parts.iter().any(gave) {
            return None;
        }
        let part = draft.parts.iter().map(KeptPart::from_draft).collect();
        let RoundAt { host, round: RoundId { workflow, question } } = at.clone();
        Some(Self { host, workflow, question_id: question, kept_at: time::now(), note, typed, part })
    }

    /// The round of the draft.
    pub fn at(&self) -> RoundAt {
        RoundAt { host: self.host.clone(), round: RoundId { workflow: self.workflow.clone(), question: self.question_id } }
    }

    /// Writes the draft to its file. Returns the path of the file.
    ///
    /// # Errors
    /// If the folder cannot be made or is not safe, or the draft is too long.
    pub fn keep(&self) -> Result<PathBuf> {
        let folder = folder()?;
        let text = toml::to_string_pretty(self).map_err(|e| Error::failed(format!("the draft cannot be written down: {e}"), "copy it"))?;
        if text.len() as u64 > LONGEST {
            return Err(Error::failed("the draft is too long to be kept", "copy it"));
        }
        let path = path(&folder, &self.at());
        disk::replace(&path, text.as_bytes())?;
        remove_the_oldest(&folder);
        Ok(path)
    }

    /// [`keep`](Self::keep), in words for the person.
    pub fn keep_in_words(&self) -> String {
        match self.keep() {
            Ok(path) => format!("your draft is kept in {}", path.display()),
            Err(e) => format!("your draft cannot be kept: {}", sender::in_one_line(e)),
        }
    }

    /// The stored draft of this round.
    pub fn find(at: &RoundAt, question: &Question) -> Option<(Draft, Self)> {
        let bytes = disk::read(&path(&folder().ok()?, at), LONGEST).ok()?;
        let kept: Self = toml::from_str(std::str::from_utf8(&bytes).ok()?).ok()?;
        Some((kept.draft(question)?, kept))
    }

    /// True if both hold the same draft, no matter when they were stored.
    pub fn is_same(&self, other: &Self) -> bool {
        (self.at(), &self.note, &self.typed, &self.part) == (other.at(), &other.note, &other.typed, &other.part)
    }

    /// True if the draft holds only words.
    pub fn is_words_only(&self) -> bool {
        self.note.is_empty() && self.typed.is_empty() && matches!(self.part.as_slice(), [part] if part.marked.is_empty())
    }

    /// Restores the draft, if the question still has the same parts.
    fn draft(&self, question: &Question) -> Option<Draft> {
        let mut draft = Draft::new(question);
        let is_same =
            draft.parts.len() == self.part.len() && draft.parts.iter().zip(&self.part).all(|(a, b)| a.part.question == b.question);
        if !is_same {
            return None;
        }
        draft.note.clone_from(&self.note);
        draft.typed.clone_from(&self.typed);
        draft.parts.iter_mut().zip(&self.part).for_each(|(part, kept)| kept.put_into(part));
        if question.is_batch() {
            draft.at = draft.parts.iter().position(|part| part.given.is_none()).unwrap_or(draft.parts.len());
        }
        Some(draft)
    }
}

impl KeptPart {
    fn from_draft(part: &PartDraft) -> Self {
        let key = |n: usize| part.part.options.0.get(n).map(|choice| choice.key.clone());
        Self {
            question: part.part.question.clone(),
            chosen: match part.chosen() {
                Some(Choosable::Option(n)) => key(n),
                Some(Choosable::Yes) => Some("yes".into()),
                Some(Choosable::No) => Some("no".into()),
                Some(Choosable::Words) | None => None,
            },
            marked: part.marked.iter().filter_map(|n| key(*n)).collect(),
            words: part.typed(),
            is_answered: part.given.is_some(),
        }
    }

    fn put_into(&self, part: &mut PartDraft) {
        let place = |part: &PartDraft, key: &String| part.part.options.0.iter().position(|choice| choice.key == *key);
        part.marked = self.marked.iter().filter_map(|key| place(part, key)).collect();
        part.words = text_window::area(&self.words);
        let chosen = match self.chosen.as_deref() {
            Some("yes") if part.lines().contains(&Choosable::Yes) => Some(Choosable::Yes),
            Some("no") if part.lines().contains(&Choosable::No) => Some(Choosable::No),
            Some(_) => self.chosen.as_ref().and_then(|key| place(part, key)).map(Choosable::Option),
            None => (!self.words.trim().is_empty()).then_some(Choosable::Words),
        };
        if let Some(line) = chosen {
            part.choose(line);
        }
        // If the words are similar to options, the part counts as not answered, so that the person chooses again.
        part.given = self.is_answered.then(|| part.value().ok()).flatten();
    }
}

/// True if a draft of this round is on disk.
pub fn is_kept(at: &RoundAt) -> bool {
    folder().is_ok_and(|folder| disk::exists(path(&folder, at)))
}

/// Removes the stored draft of a round, because it was sent or its question is gone.
pub fn forget(at: &RoundAt) {
    if let Ok(folder) = folder() {
        let _ = disk::remove(&path(&folder, at));
    }
}

/// Removes the drafts of this mailbox's questions that are over, once a day has passed: somebody answered them in another way.
pub fn forget_those_that_are_over(mailbox: &Mailbox) {
    let Ok(folder) = folder() else { return };
    for entry in disk::entries(&folder).into_iter().flatten().flatten() {
        // `HOST:WORKFLOW…` is not the name of a round here.
        let name = entry.name.to_string_lossy();
        let Some(round) = round_of(&name).and_then(|round| RoundId::from_file_name(&format!("{round}.json"))) else { continue };
        let waits = disk::exists(mailbox.document(Folder::Pending, &round.workflow));
        let is_old =
            disk::metadata(&entry.path).and_then(|about| about.modified()).is_ok_and(|at| at.elapsed().is_ok_and(|age| age > STAYS));
        if is_old && !waits && round::is_claimed_or_closed(mailbox, &round) {
            let _ = disk::remove(&entry.path);
        }
    }
}

/// The words for a session that were not sent.
pub fn prompt(session: &str) -> String {
    let bytes = path_of_prompt(session).and_then(|path| disk::read(&path, LONGEST).ok());
    bytes.and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default()
}

/// Keeps words for a session that are not sent yet. Empty words remove those that were kept.
pub fn keep_prompt(session: &str, words: &str) {
    let Some(path) = path_of_prompt(session) else { return };
    let _ = if words.is_empty() { disk::remove(&path) } else { disk::replace_unsynced(&path, words.as_bytes(), SystemTime::now()) };
}

/// The place of words for a session. `None` if its id is not plain.
fn path_of_prompt(session: &str) -> Option<PathBuf> {
    let is_plain = session.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':'));
    is_plain.then(|| Some(folder().ok()?.join(format!("{session}{OF_SESSION}"))))?
}

fn path(folder: &Path, at: &RoundAt) -> PathBuf {
    folder.join(format!("{}.{}.toml", at.address(), at.round.question))
}

/// Keeps the drafts of this process in a folder of its own. For a mailbox that is removed in the end, as the demo's is.
pub fn keep_in(folder: PathBuf) {
    let _ = FOLDER.set(folder);
}

fn folder() -> Result<PathBuf> {
    FOLDER.get().map_or_else(edit_call::folder, |named| disk::private_folder(named.clone()))
}

/// The round of a draft's file, without its ending. A changed call that was not confirmed is a draft too.
fn round_of(name: &str) -> Option<&str> {
    name.strip_suffix(".toml").or_else(|| name.strip_suffix(edit_call::ENDING))
}

fn remove_the_oldest(folder: &Path) {
    let drafts = disk::entries(folder).into_iter().flatten().flatten().filter(|entry| {
        let name = entry.name.to_string_lossy();
        round_of(&name).is_some() || name.ends_with(OF_SESSION)
    });
    let mut drafts: Vec<_> = drafts.filter_map(|entry| Some((disk::metadata(&entry.path).ok()?.modified().ok()?, entry.path))).collect();
    drafts.sort();
    let many = drafts.len().saturating_sub(MOST);
    drafts.iter().take(many).for_each(|(_, path)| {
        let _ = disk::remove(path);
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text_window::Purpose;

    fn question(json: &str) -> Question {
        serde_json::from_str(json).unwrap()
    }

    fn round() -> RoundAt {
        RoundAt::here(RoundId { workflow: "w".parse().unwrap(), question: QuestionId::from_uuid(uuid::Uuid::from_bytes([7; 16])) })
    }

    #[test]
    fn a_kept_draft_brings_back_all_that_was_entered() {
        let batch = question(
            r#"{"workflow_id":"w","questions":[{"question":"A?","options":{"x":"","y":""}},{"question":"B?","type":"multi_choice","options":{"p":"","q":""}},
            {"question":"C?"},{"question":"D?","type":"yes_no"}]}"#,
        );
        let mut draft = Draft::new(&batch);
        assert_eq!(KeptDraft::from_draft(&round(), &draft, None), None, "nothing was given");
        draft.parts[0].choose(Choosable::Option(1));
        draft.parts[0].given = draft.parts[0].value().ok();
        draft.parts[1].marked.insert(1);
        draft.parts[2].words = text_window::area("two\n\"\"\" '''lines\u{7}");
        draft.parts[3].choose(Choosable::No);
        draft.note = "a note".into();
        let kept = KeptDraft::from_draft(&round(), &draft, Some(&Asking::new(Purpose::Decline, "half a reason", None))).unwrap();
        let read: KeptDraft = toml::from_str(&toml::to_string_pretty(&kept).unwrap()).unwrap();
        let again = read.draft(&batch).unwrap();
        assert_eq!((again.at, again.note.as_str(), again.typed.for_purpose(Purpose::Decline)), (1, "a note", "half a reason"));
        assert_eq!(again.parts[0].given, draft.parts[0].given);
        assert_eq!((again.parts[1].marked.clone(), again.parts[1].given.is_none()), ([1].into(), true));
        assert_eq!(again.parts[2].typed(), "two\n\"\"\" '''lines\u{7}");
        assert_eq!(again.parts[3].chosen(), Some(Choosable::No));
        assert!(read.draft(&question(r#"{"workflow_id":"w","question":"another?"}"#)).is_none());
    }
}
