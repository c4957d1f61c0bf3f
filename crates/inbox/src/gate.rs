//! The gate that every key passes before it decides anything: sending, declining, asking back, or declining several questions.
//!
//! A decision takes a [`Passed`], which only the gate creates. So no code for a key can skip a check: whether the key is held down or came
//! together with others, and whether the person was told what is at stake. Any further reason to ignore a key belongs here.
//!
//! A key that is held down must not decide anything: it would answer one question, open the next one, and send whatever is chosen there.
//! Nor must a key whose screen the person cannot have seen: a line that was meant for a shell ends with enter.

use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent};
use uuid::Uuid;

use askbox_cli::person::{AtStake, PressAgain};
use askbox_mailbox::address::Address;
use askbox_mailbox::id::QuestionId;

/// The gate before every decision.
#[derive(Debug, Default)]
pub struct Gate {
    keys: LastKey,
    again: PressAgain,
    /// The warning that the last key caused.
    said: Option<AtStake>,
    panel: Option<Panel>,
    row: UnderCursor,
}

/// A warning in a panel, which stays until the person has chosen there.
#[derive(Debug)]
pub struct Panel {
    about: Uuid,
    pub at_stake: AtStake,
    /// The chosen line, or 0 for yes. The person has to choose, so that enter alone decides nothing.
    pub at: Option<usize>,
}

/// The permission to send a key's decision.
#[derive(Debug)]
pub struct Passed(());

impl Gate {
    /// Records a pressed key. If the key is not enter, forgets the warnings, and returns the warning that the last key caused.
    pub fn key(&mut self, key: KeyEvent) -> Option<AtStake> {
        self.keys.note(key.code == KeyCode::Enter);
        let said = self.said.take().filter(|_| key.code != KeyCode::Enter);
        if key.code != KeyCode::Enter {
            self.forget_sentences();
        }
        said
    }

    /// Forgets what the person was told, except in the panel, which is still visible.
    fn forget_sentences(&mut self) {
        self.again.forget();
        if let Some(Panel { about, at_stake, .. }) = &self.panel {
            self.again.tell(*about, at_stake);
        }
    }

    /// Forgets everything that was told, because text was pasted.
    pub fn pasted(&mut self) {
        self.keys.note(false);
        self.forget();
    }

    /// Forgets what the person was told, because another question is shown or the panel was left.
    pub fn forget(&mut self) {
        let (keys, row) = (std::mem::take(&mut self.keys), std::mem::take(&mut self.row));
        *self = Self { keys, row, ..Self::default() };
    }

    /// Records that the screen now shows the effect of the last key.
    pub fn drawn(&mut self) {
        self.keys.drawn();
    }

    /// Records the row that is under the cursor now; `None` if there is none, or if the list is not on the screen.
    pub fn row(&mut self, row: Option<RowId>) {
        self.row.see(row);
    }

    /// Records the row that the person's key has put under the cursor.
    pub fn row_by_key(&mut self, row: Option<RowId>) {
        if self.row.row != row {
            self.row = UnderCursor { row, changed: None };
        }
    }

    /// Checks that the row under the cursor has stood there for a moment. `Err` is a sentence for the person.
    pub fn may_choose(&self) -> Result<(), String> {
        match self.row.changed.filter(|at| at.elapsed() < SETTLES) {
            None => Ok(()),
            Some(_) => Err("another question has just come under the cursor: look at it, and press the key again".into()),
        }
    }

    /// Checks that the last key did not come too soon after another one. `Err` is a sentence for the person.
    pub fn in_no_haste(&self) -> Result<(), &'static str> {
        match self.keys.haste {
            Haste::None => Ok(()),
            Haste::Held => Err("enter is held down, and decides nothing: release it, and press it again"),
            Haste::Together => Err("this key came together with others, and decides nothing: look at the screen, and press it again"),
        }
    }

    /// Lets the last key decide, if it may with this at stake for this question. `Err` is a sentence for the person.
    pub fn may_decide(&mut self, about: Uuid, at_stake: &[AtStake]) -> Result<Passed, String> {
        if let Err(why) = self.in_no_haste() {
            // The person had only a moment to read the sentence, so it does not count as told.
            self.forget_sentences();
            return Err(why.into());
        }
        match self.again.untold(about, at_stake).first() {
            None => Ok(Passed(())),
            Some(first) => {
                self.again.tell(about, first);
                self.said = Some((*first).clone());
                Err(first.told("enter again"))
            }
        }
    }

    /// Lets the last key take a step that decides nothing yet, if it may. With nothing at stake, every key may. `Err` is a sentence for the
    /// person.
    pub fn may_go_on(&mut self, about: Uuid, at_stake: &[AtStake]) -> Result<(), String> {
        if at_stake.is_empty() { Ok(()) } else { self.may_decide(about, at_stake).map(|Passed(())| ()) }
    }

    /// Shows a warning in a panel.
    pub fn show(&mut self, about: Uuid, at_stake: AtStake) {
        self.again.tell(about, &at_stake);
        self.panel = Some(Panel { about, at_stake, at: None });
    }

    pub fn panel(&self) -> Option<&Panel> {
        self.panel.as_ref()
    }

    pub fn panel_mut(&mut self) -> Option<&mut Panel> {
        self.panel.as_mut()
    }
}

/// A key that is held down repeats every 25 to 50 ms. A person who presses it twice takes longer than this.
const AGAIN: Duration = Duration::from_millis(120);

/// A person takes longer than this from one key to the next.
const TOGETHER: Duration = Duration::from_millis(25);

/// A row that came under the cursor by itself may be chosen after this time. A person has seen it by then.
const SETTLES: Duration = Duration::from_millis(700);

/// The question of a row. Another round of the same workflow is another question.
pub type RowId = (Address, Option<QuestionId>);

/// The row under the cursor of the list.
#[derive(Debug, Default)]
struct UnderCursor {
    row: Option<RowId>,
    /// The time when another row came there, if no key of the person has moved it.
    changed: Option<Instant>,
}

impl UnderCursor {
    fn see(&mut self, row: Option<RowId>) {
        if self.row.is_some() && row.is_some() && self.row != row {
            self.changed = Some(Instant::now());
        }
        self.row = row;
    }
}

/// The last key, and whether it came too soon after the key before.
#[derive(Debug, Default)]
struct LastKey {
    /// The key before; `None` before the first one, and if that was long ago.
    last: Option<Press>,
    haste: Haste,
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
enum Haste {
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
    fn note(&mut self, is_enter: bool) {
        let before = self.last.replace(Press { is_enter, at: Instant::now(), is_drawn: false });
        self.haste = match before {
            Some(before) if is_enter && before.is_enter && before.at.elapsed() < AGAIN => Haste::Held,
            Some(before) if !before.is_drawn || before.at.elapsed() < TOGETHER => Haste::Together,
            _ => Haste::None,
        };
    }

    /// Records that the screen now shows the effect of the last key.
    fn drawn(&mut self) {
        if let Some(last) = self.last.as_mut().filter(|last| !last.is_drawn) {
            (last.at, last.is_drawn) = (Instant::now(), true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ABOUT: Uuid = Uuid::from_bytes([1; 16]);

    fn press(gate: &mut Gate, code: KeyCode) {
        // This has the same effect as waiting for a moment.
        gate.keys = LastKey::default();
        gate.key(code.into());
    }

    #[test]
    fn the_gate_lets_the_second_enter_pass_but_not_behind_a_key() {
        let (mut gate, at_stake) = (Gate::default(), [AtStake::EarlierDraft]);
        press(&mut gate, KeyCode::Enter);
        assert!(gate.may_decide(ABOUT, &[]).is_ok(), "nothing is at stake");
        assert!(gate.may_decide(ABOUT, &at_stake).is_err());
        press(&mut gate, KeyCode::Down);
        press(&mut gate, KeyCode::Enter);
        assert!(gate.may_decide(ABOUT, &at_stake).is_err(), "another key was between");
        press(&mut gate, KeyCode::Enter);
        assert!(gate.may_decide(Uuid::nil(), &at_stake).is_err(), "the question is another one");
        assert!(gate.may_decide(Uuid::nil(), &at_stake).is_ok());
        gate.forget();
        assert!(gate.may_decide(Uuid::nil(), &at_stake).is_err());
    }

    #[test]
    fn a_held_down_enter_passes_only_to_a_step_without_a_stake() {
        let mut gate = Gate::default();
        gate.key(KeyCode::Enter.into());
        gate.key(KeyCode::Enter.into());
        assert!(gate.may_go_on(ABOUT, &[]).is_ok());
        for at_stake in [&[][..], &[AtStake::EarlierDraft]] {
            assert!(gate.may_decide(ABOUT, at_stake).is_err_and(|why| why.contains("held down")));
        }
        assert!(gate.may_go_on(ABOUT, &[AtStake::EarlierDraft]).is_err());
        press(&mut gate, KeyCode::Enter);
        assert!(gate.may_decide(ABOUT, &[AtStake::EarlierDraft]).is_err(), "a held key was told nothing");
        gate.key(KeyCode::Enter.into());
        assert!(gate.may_decide(ABOUT, &[AtStake::EarlierDraft]).is_err(), "it is held down again");
        press(&mut gate, KeyCode::Enter);
        assert!(gate.may_decide(ABOUT, &[AtStake::EarlierDraft]).is_err(), "the sentence stood there for a moment only");
        press(&mut gate, KeyCode::Enter);
        assert!(gate.may_decide(ABOUT, &[AtStake::EarlierDraft]).is_ok());
    }

    #[test]
    fn a_panel_is_told_until_it_is_left_whatever_is_pressed_there() {
        let mut gate = Gate::default();
        let near = AtStake::NearMiss { asked: "?".into(), words: "mrege".into(), near: Vec::new() };
        gate.show(ABOUT, near.clone());
        press(&mut gate, KeyCode::Down);
        assert!(gate.may_decide(ABOUT, std::slice::from_ref(&near)).is_ok());
        gate.forget();
        assert!(gate.panel().is_none() && gate.may_decide(ABOUT, &[near]).is_err());
    }

    #[test]
    fn a_row_that_came_by_itself_is_chosen_only_after_a_moment() {
        let (mut gate, row) = (Gate::default(), |name: &str| Some((Address::here(name.parse().unwrap()), None)));
        gate.row(row("a"));
        assert!(gate.may_choose().is_ok(), "the first picture");
        gate.row(row("b"));
        assert!(gate.may_choose().is_err());
        gate.row(row("b"));
        gate.forget();
        gate.row_by_key(row("b"));
        assert!(gate.may_choose().is_err(), "no key has moved it");
        gate.row_by_key(row("c"));
        assert!(gate.may_choose().is_ok());
        gate.row(Some((Address::here("c".parse().unwrap()), Some(QuestionId::from_uuid(ABOUT)))));
        assert!(gate.may_choose().is_err(), "its workflow asks another question");
        gate.row.changed = Instant::now().checked_sub(SETTLES);
        assert!(gate.may_choose().is_ok());
        gate.row(None);
        gate.row(row("d"));
        assert!(gate.may_choose().is_ok(), "the list was not on the screen");
    }

    #[test]
    fn enter_is_held_until_a_person_could_have_seen_the_last_one() {
        let mut keys = LastKey::default();
        keys.note(true);
        assert_eq!(keys.haste, Haste::None, "the first one");
        // Handling the key took long, and its picture is new.
        long_ago(&mut keys);
        keys.drawn();
        keys.note(true);
        assert_eq!(keys.haste, Haste::Held);
        // A later picture, such as one with a new age of a question, does not make a key count as held.
        keys.drawn();
        long_ago(&mut keys);
        keys.drawn();
        keys.note(true);
        assert_eq!(keys.haste, Haste::None);
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
        keys.note(true);
        assert_eq!(keys.haste, Haste::Together, "nobody types so fast");
        keys.note(false);
        keys.drawn();
        long_ago(&mut keys);
        keys.note(true);
        assert_eq!(keys.haste, Haste::None);
    }

    fn long_ago(keys: &mut LastKey) {
        if let Some(last) = &mut keys.last {
            last.at = Instant::now().checked_sub(AGAIN).unwrap();
        }
    }
}
