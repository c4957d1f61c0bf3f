//! The gate that every key passes before it decides anything: sending, declining, asking back, declining several.
//!
//! A decision takes a [`Passed`], which only the gate makes. So a key that decides cannot forget a check: whether the key is held down, and
//! whether the person was told what is at stake. What else may make a key deaf belongs here.
//!
//! - `held`: enter that is held down decides nothing

mod held;

use crossterm::event::{KeyCode, KeyEvent};
use uuid::Uuid;

use crate::surface::askbox::inbox::gate::held::Enter;
use crate::surface::person::press_again::{AtStake, PressAgain};

/// The gate.
#[derive(Debug, Default)]
pub struct Gate {
    enter: Enter,
    again: PressAgain,
    /// The sentence that the last key was answered with is about this.
    said: Option<AtStake>,
    panel: Option<Panel>,
}

/// Something at stake that stands in a panel until the person has chosen there.
#[derive(Debug)]
pub struct Panel {
    about: Uuid,
    pub at_stake: AtStake,
    /// The chosen line. The person has to choose one: enter alone decides nothing.
    pub at: Option<usize>,
}

/// The leave to send what a key decides.
#[derive(Debug)]
pub struct Passed(());

impl Gate {
    /// A key was pressed. Returns what the person was told of by the last key: another key than enter forgets it.
    pub fn key(&mut self, key: KeyEvent) -> Option<AtStake> {
        self.enter.note(key);
        let said = self.said.take().filter(|_| key.code != KeyCode::Enter);
        if key.code != KeyCode::Enter {
            self.forget_sentences();
        }
        said
    }

    /// Forgets what the person was told, but for the panel, which still stands there.
    fn forget_sentences(&mut self) {
        self.again.forget();
        if let Some(Panel { about, at_stake, .. }) = &self.panel {
            self.again.tell(*about, at_stake);
        }
    }

    /// Something was pasted.
    pub fn pasted(&mut self) {
        *self = Self::default();
    }

    /// The question is another one, or the panel is left.
    pub fn forget(&mut self) {
        let enter = std::mem::take(&mut self.enter);
        *self = Self { enter, ..Self::default() };
    }

    /// The screen shows what the last key did.
    pub fn drawn(&mut self) {
        self.enter.drawn();
    }

    /// Whether the last key may decide, with this at stake for this question. `Err` is a sentence for the person.
    pub fn may_decide(&mut self, about: Uuid, at_stake: &[AtStake]) -> Result<Passed, String> {
        if self.enter.is_held() {
            // A sentence stood there for a moment only.
            self.forget_sentences();
            return Err("enter is held down, and decides nothing: release it, and press it again".into());
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

    /// Whether the last key may take a step that decides nothing yet. With nothing at stake, every key may.
    pub fn may_go_on(&mut self, about: Uuid, at_stake: &[AtStake]) -> Result<(), String> {
        if at_stake.is_empty() { Ok(()) } else { self.may_decide(about, at_stake).map(|Passed(())| ()) }
    }

    /// Tells the person in a panel.
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

#[cfg(test)]
mod tests {
    use super::*;

    const ABOUT: Uuid = Uuid::from_bytes([1; 16]);

    fn press(gate: &mut Gate, code: KeyCode) {
        // As if a moment had passed.
        gate.enter = Enter::default();
        gate.key(code.into());
    }

    #[test]
    fn the_gate_lets_the_second_enter_pass_and_no_enter_behind_another_key() {
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
    fn an_enter_that_is_held_down_passes_only_to_a_step_without_a_stake() {
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
}
