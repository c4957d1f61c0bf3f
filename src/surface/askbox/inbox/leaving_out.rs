//! Texts that were typed and that a decision does not send: the person is told which they are, and enter then goes on without these very
//! texts.

use crate::surface::askbox::inbox::app::{App, Place};
use crate::surface::askbox::inbox::line::Purpose;
use crate::surface::askbox::inbox::question::draft::PartDraft;
use crate::surface::person::left_out::{self, LeftOut, Texts};
use crate::text::excerpt;

/// What the person is about to do with the open question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    Send,
    AskBack,
    Decline,
}

impl Act {
    /// By the name of the page's button.
    fn name(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::AskBack => "back",
            Self::Decline => "decline",
        }
    }

    fn goes_on(self) -> &'static str {
        match self {
            Self::Send => "sends your answer without it",
            Self::AskBack => "asks the agent back without it",
            Self::Decline => "declines without it",
        }
    }
}

impl App<'_> {
    /// Whether the person is told first that texts are left out. `false` where none is, and if the last key told of these very texts.
    pub(super) fn tells_what_is_left_out(&mut self, act: Act) -> bool {
        let texts = self.left_out(act);
        let hashes: Vec<_> = texts.iter().map(|text| text.hash).collect();
        if texts.is_empty() || self.told_left_out == hashes {
            return false;
        }
        self.told_left_out = hashes;
        let all: Vec<_> = texts.iter().map(|LeftOut { place, text, .. }| format!("{place} (\"{}\")", excerpt(text, 24))).collect();
        self.said = format!("{} would not be sent; enter again {}", all.join(", "), act.goes_on());
        true
    }

    fn left_out(&self, act: Act) -> Vec<LeftOut> {
        let Place::Question(opened) = &self.place else { return Vec::new() };
        let draft = &opened.draft;
        // The window that is open is what the person sends.
        let typed = |purpose: Purpose| match self.asked.as_ref().filter(|asking| asking.purpose == purpose) {
            Some(asking) => asking.text(),
            None => draft.typed.of(purpose).to_owned(),
        };
        let words: Vec<String> = draft.parts.iter().map(PartDraft::typed).collect();
        let (left_note, why, back) = (draft.typed.of(Purpose::Note), typed(Purpose::Decline), typed(Purpose::AskBack));
        let texts = Texts {
            words: words.iter().map(String::as_str).collect(),
            note: &draft.note,
            left_note: if left_note == draft.note { "" } else { left_note },
            why: &why,
            back: &back,
        };
        left_out::of(&texts, opened.shown.question(), act.name())
    }
}
