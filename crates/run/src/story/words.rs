//! A round's state as its folder and its document have it, in words: also for a round of another machine.

use crate::asking::end::NOT_KNOWN_YET;
use askbox_mailbox::{Folder, Round, text};

/// A round's state, in words.
pub fn in_words(found: &Round) -> String {
    match (&found.document.typed.closed, found.folder) {
        (Some(closing), _) => {
            let why = closing.why.as_deref().map_or(String::new(), |why| format!(": {}", text::excerpt(why, 200)));
            format!("{} by {}{why}", closing.state.word(), text::excerpt(&closing.by, 60))
        }
        (None, Folder::Pending) if found.document.typed.until.is_some() => "waiting for its event".into(),
        (None, Folder::Pending) => "waiting for an answer".into(),
        (None, Folder::Answered) if found.document.typed.taken_back.is_some() && found.document.typed.answer.is_none() => {
            format!("its answer was being taken back; to complete that: ask-answer undo {}", found.id.workflow)
        }
        (None, Folder::Answered) => "answered; no run has claimed it yet".into(),
        (None, Folder::Running) if found.document.typed.live.is_some() => NOT_KNOWN_YET.into(),
        (None, Folder::Running) => "answered; a run has claimed it".into(),
        (None, Folder::Parked) => "answered; parked".into(),
        (None, folder) => folder.name().into(),
    }
}
