//! The question whether a decision is meant. Enter asks it, and the letters `ok` and then enter confirm it. No program asks its user for
//! these letters, so a line for another window (`y`, or a second enter) confirms nothing.
//!
//! Keys that come too soon after another one: held down, or together with it.

use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use uuid::Uuid;

use askbox_cli::AtStake;
use askbox_cli::person::PressAgain;

/// The keys that confirm a decision, as the inbox names them in a sentence.
pub const CONFIRMS: &str = "ok, then enter,";

/// The way of a decision from the question to its confirmation.
#[derive(Debug, Default)]
pub struct Confirmation {
    asked: Option<(Step, Asked)>,
    /// What was confirmed so far. A decision may have more than one thing at stake, and each is asked about.
    confirmed: PressAgain,
}

/// How far the person has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// Enter has asked.
    Asked,
    /// `o` was pressed after that.
    HalfArmed,
    /// `ok` was typed after that, and enter confirms.
    Armed,
    /// The last key is the enter that confirms.
    Confirms,
}

#[derive(Debug)]
struct Asked {
    about: Uuid,
    at_stake: AtStake,
}

/// The question that is on the screen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pending<'a> {
    pub at_stake: &'a AtStake,
    /// The keys that confirm it, as the inbox names them in a sentence, and in its list of keys.
    pub keys: &'static str,
    pub short: &'static str,
}

/// The effect of a key on the question.
#[derive(Debug, PartialEq)]
pub enum Heard {
    /// It is a letter of `ok` after the question. It has no other effect.
    Armed,
    /// It is not a step of a confirmation, or it is enter. So it has its usual effect.
    Other {
        /// The question that the key has made the inbox forget.
        told: Option<AtStake>,
        /// The letters before the key that belong to a word, because the key goes on with it. So they did not confirm anything.
        put_back: &'static str,
    },
}

impl Confirmation {
    /// Records a key. `is_hasty` is true if it comes too soon after another one. Then it does not begin a confirmation.
    pub fn key(&mut self, key: KeyEvent, is_hasty: bool) -> Heard {
        let (before, is_plain) = (self.asked.take(), key.modifiers.is_empty());
        let is_letter = matches!(key.code, KeyCode::Char(_)) && !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
        let is_enter = is_plain && key.code == KeyCode::Enter;
        let (told, put_back) = match (before, key.code) {
            (Some((Step::Asked, asked)), KeyCode::Char('o')) if is_plain && !is_hasty => {
                self.asked = Some((Step::HalfArmed, asked));
                return Heard::Armed;
            }
            // It may come soon after the `o`. The enter may not, so a pasted line confirms nothing.
            (Some((Step::HalfArmed, asked)), KeyCode::Char('k')) if is_plain => {
                self.asked = Some((Step::Armed, asked));
                return Heard::Armed;
            }
            (Some((Step::Armed, asked)), KeyCode::Enter) if is_plain => {
                self.asked = Some((Step::Confirms, asked));
                (None, "")
            }
            (Some((Step::HalfArmed, asked)), _) if is_letter || is_enter => (Some(asked.at_stake), "o"),
            // It asks again, and what was confirmed before stays so.
            (_, KeyCode::Enter) if is_plain => (None, ""),
            (Some((Step::Armed, asked)), _) if is_letter => (Some(asked.at_stake), "ok"),
            (None | Some((Step::Confirms, _)), _) => (None, ""),
            (Some((_, asked)), _) => (Some(asked.at_stake), ""),
        };
        if !is_enter {
            self.confirmed.forget();
        }
        Heard::Other { told, put_back }
    }

    /// Counts a thing as confirmed, because the person has chosen it in its panel.
    pub fn is_chosen(&mut self, about: Uuid, at_stake: &AtStake) {
        self.confirmed.tell(about, at_stake);
    }

    /// Asks about the first thing that is not confirmed. Returns `None` if all are.
    pub fn asks<'a>(&mut self, about: Uuid, at_stake: &'a [AtStake]) -> Option<&'a AtStake> {
        if let Some((Step::Confirms, asked)) = self.asked.take() {
            self.confirmed.tell(asked.about, &asked.at_stake);
        }
        let first = *self.confirmed.untold(about, at_stake).first()?;
        self.asked = Some((Step::Asked, Asked { about, at_stake: first.clone() }));
        Some(first)
    }

    pub fn pending(&self) -> Option<Pending<'_>> {
        let (step, asked) = self.asked.as_ref()?;
        let (keys, short) = match step {
            Step::Asked => (CONFIRMS, "ok, enter"),
            Step::HalfArmed => ("k, then enter,", "k, enter"),
            Step::Armed => ("enter", "enter"),
            Step::Confirms => return None,
        };
        Some(Pending { at_stake: &asked.at_stake, keys, short })
    }
}

/// A key that is held down repeats every 25 to 50 ms. A person who presses it twice takes longer than this.
const AGAIN: Duration = Duration::from_millis(120);

/// A person takes longer than this from one key to the next.
const TOGETHER: Duration = Duration::from_millis(25);

/// The last key, and whether it came too soon after the key before.
#[derive(Debug, Default)]
pub struct LastKey {
    /// The key before; `None` before the first one, and if that was long ago.
    last: Option<Press>,
    pub haste: Haste,
}

/// A pressed key.
#[derive(Debug, Clone, Copy)]
struct Press {
    is_enter: bool,
    /// The time of the press. Once its effect is on the screen, the time when that was drawn: on a busy machine, further keys wait while
    /// one is being handled.
    at: Instant,
    is_drawn: bool,
}

/// The reason why the last key came too soon to decide anything.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Haste {
    /// It did not.
    #[default]
    None,
    /// It is enter, and is held down.
    Held,
    /// It came together with another key, as in a line that was pasted or typed for another program. The person has not seen the effect of
    /// that key.
    Together,
}

impl LastKey {
    /// Records a pressed key.
    pub fn note(&mut self, is_enter: bool) {
        let before = self.last.replace(Press { is_enter, at: Instant::now(), is_drawn: false });
        self.haste = match before {
            Some(before) if is_enter && before.is_enter && (!before.is_drawn || before.at.elapsed() < AGAIN) => Haste::Held,
            Some(before) if !before.is_drawn || before.at.elapsed() < TOGETHER => Haste::Together,
            _ => Haste::None,
        };
    }

    /// Records that the screen now shows the effect of the last key.
    pub fn drawn(&mut self) {
        if let Some(last) = self.last.as_mut().filter(|last| !last.is_drawn) {
            (last.at, last.is_drawn) = (Instant::now(), true);
        }
    }
}

#[cfg(test)]
impl LastKey {
    /// Without this, a busy machine would let time pass between two lines of a test.
    pub fn last_was_drawn_at(&mut self, at: Instant) {
        if let Some(last) = &mut self.last {
            (last.at, last.is_drawn) = (at, true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enter_is_held_until_a_person_could_have_seen_the_last_one() {
        let mut keys = LastKey::default();
        keys.note(true);
        assert_eq!(keys.haste, Haste::None, "the first one");
        // Handling the key took long, and its picture is new.
        long_ago(&mut keys);
        keys.drawn();
        just_now(&mut keys);
        keys.note(true);
        assert_eq!(keys.haste, Haste::Held);
        // A later picture, such as one with a new age of a question, does not make a key count as held.
        keys.drawn();
        long_ago(&mut keys);
        keys.drawn();
        keys.note(true);
        assert_eq!(keys.haste, Haste::None);
        // However long the machine takes, the effect of the last one is not on the screen.
        long_ago(&mut keys);
        keys.note(true);
        assert_eq!(keys.haste, Haste::Held);
    }

    #[test]
    fn a_key_whose_screen_nobody_has_seen_comes_together_with_it() {
        let mut keys = LastKey::default();
        keys.note(false);
        // However long the machine takes, the effect of the first key is not on the screen.
        long_ago(&mut keys);
        keys.note(true);
        assert_eq!(keys.haste, Haste::Together);
        keys.drawn();
        keys.note(false);
        keys.drawn();
        just_now(&mut keys);
        keys.note(true);
        assert_eq!(keys.haste, Haste::Together, "nobody types so fast");
        keys.note(false);
        keys.drawn();
        long_ago(&mut keys);
        keys.note(true);
        assert_eq!(keys.haste, Haste::None);
    }

    fn just_now(keys: &mut LastKey) {
        keys.last_was_drawn_at(Instant::now() + Duration::from_secs(3600));
    }

    fn long_ago(keys: &mut LastKey) {
        if let Some(last) = &mut keys.last {
            last.at = Instant::now().checked_sub(AGAIN).unwrap();
        }
    }
}
