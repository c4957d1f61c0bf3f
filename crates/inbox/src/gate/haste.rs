//! Keys that come too soon after another one: held down, or together with it.

use std::time::{Duration, Instant};

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
