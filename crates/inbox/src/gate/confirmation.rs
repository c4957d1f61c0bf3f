//! The question whether a decision is meant. Enter asks it, and `y` and then enter confirm it.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use uuid::Uuid;

use askbox_cli::person::{AtStake, PressAgain};

/// The way of a decision from the question to its confirmation.
#[derive(Debug, Default)]
pub struct Confirmation {
    step: Step,
    /// What was confirmed so far. A decision may have more than one thing at stake, and each is asked about.
    confirmed: PressAgain,
}

#[derive(Debug, Default)]
enum Step {
    /// Nothing is asked.
    #[default]
    Nothing,
    /// Enter has asked.
    Asked(Asked),
    /// `y` was pressed after that, and enter confirms.
    Armed(Asked),
    /// The last key is the enter that confirms.
    Confirms(Asked),
}

#[derive(Debug)]
struct Asked {
    about: Uuid,
    at_stake: AtStake,
}

/// The question that is on the screen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pending<'a> {
    /// `y` and then enter confirm it.
    Asked(&'a AtStake),
    /// Enter confirms it.
    Armed(&'a AtStake),
}

/// The effect of a key on the question.
#[derive(Debug, PartialEq)]
pub enum Heard {
    /// It is the `y` after the question. It has no other effect.
    Armed,
    /// It is not a step of a confirmation, or it is enter. So it has its usual effect.
    Other {
        /// The question that the key has made the inbox forget.
        told: Option<AtStake>,
        /// True if the key goes on with a word after `y`. So that `y` did not confirm anything, and is the first letter of the word.
        continues_y: bool,
    },
}

impl Confirmation {
    /// Records a key. A key that comes too soon after another one is not a step of a confirmation.
    pub fn key(&mut self, key: KeyEvent, is_hasty: bool) -> Heard {
        let (step, is_plain) = (std::mem::take(&mut self.step), key.modifiers.is_empty());
        let (told, continues_y) = match (step, key.code) {
            (Step::Asked(asked), KeyCode::Char('y')) if is_plain && !is_hasty => {
                self.step = Step::Armed(asked);
                return Heard::Armed;
            }
            (Step::Armed(asked), KeyCode::Enter) if is_plain => {
                self.step = Step::Confirms(asked);
                (None, false)
            }
            // It asks again, and what was confirmed before stays so.
            (_, KeyCode::Enter) if is_plain => (None, false),
            (Step::Asked(asked), _) => (Some(asked.at_stake), false),
            (Step::Armed(asked), code) => {
                let is_letter = matches!(code, KeyCode::Char(_)) && !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
                (Some(asked.at_stake), is_letter)
            }
            (Step::Nothing | Step::Confirms(_), _) => (None, false),
        };
        if !(is_plain && key.code == KeyCode::Enter) {
            self.confirmed.forget();
        }
        Heard::Other { told, continues_y }
    }

    /// Counts a thing as confirmed, because the person has chosen it in its panel.
    pub fn is_chosen(&mut self, about: Uuid, at_stake: &AtStake) {
        self.confirmed.tell(about, at_stake);
    }

    /// Asks about the first thing that is not confirmed. Returns `None` if all are.
    pub fn asks<'a>(&mut self, about: Uuid, at_stake: &'a [AtStake]) -> Option<&'a AtStake> {
        if let Step::Confirms(asked) = std::mem::take(&mut self.step) {
            self.confirmed.tell(asked.about, &asked.at_stake);
        }
        let first = *self.confirmed.untold(about, at_stake).first()?;
        self.step = Step::Asked(Asked { about, at_stake: first.clone() });
        Some(first)
    }

    pub fn pending(&self) -> Option<Pending<'_>> {
        match &self.step {
            Step::Asked(asked) => Some(Pending::Asked(&asked.at_stake)),
            Step::Armed(asked) => Some(Pending::Armed(&asked.at_stake)),
            Step::Nothing | Step::Confirms(_) => None,
        }
    }
}
