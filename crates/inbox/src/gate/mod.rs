//! The gate that every key passes before it decides anything: sending, declining, asking back, or declining several questions.
//!
//! A decision takes a [`Passed`], which only the gate creates. So no code for a key can skip a check: whether the key is held down or came
//! together with others, and whether the person has confirmed what is at stake. Any further reason to ignore a key belongs here.
//!
//! A key that is held down must not decide anything: it would answer one question, open the next one, and send whatever is chosen there.
//! Nor must a key whose screen the person cannot have seen: a line that was meant for a shell ends with enter. Nor must a second enter, which
//! many people press out of habit. So `ok` and then enter confirm a decision, and never enter alone. Nor must any key on a screen that is too
//! small to show the question, the chosen row, and the text that is sent.
//!
//! | file | idea |
//! |---|---|
//! | `confirmation` | the way from enter, which asks, to `ok` and enter, which confirm |

mod confirmation;

use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent};
use uuid::Uuid;

use crate::gate::confirmation::{Confirmation, Haste, LastKey};
use crate::text_window::Scroll;
use askbox_cli::AtStake;
use askbox_mailbox::{Address, QuestionId};

pub use confirmation::{CONFIRMS, Heard, Pending};

/// The gate before every decision.
#[derive(Debug, Default)]
pub struct Gate {
    keys: LastKey,
    shown: Shown,
    confirmation: Confirmation,
    panel: Option<Panel>,
    row: UnderCursor,
}

/// The part of a decision that the last picture shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Shown {
    /// The question's first line, the chosen row and the text that is sent.
    Whole,
    /// Less than that, because the screen is too small. Also before the first picture, and from a change of the size to the next picture.
    #[default]
    TooLittle,
}

impl Shown {
    pub fn whole_if(is_whole: bool) -> Self {
        if is_whole { Self::Whole } else { Self::TooLittle }
    }

    /// The part that is shown of two things together.
    pub fn and(self, other: Self) -> Self {
        Self::whole_if(self == Self::Whole && other == Self::Whole)
    }
}

/// A warning in a panel, which stays until the person leaves it or decides.
#[derive(Debug)]
pub struct Panel {
    about: Uuid,
    pub at_stake: AtStake,
    /// The chosen line of a panel that asks what words mean. The person has to choose, so that enter alone decides nothing.
    pub at: Option<usize>,
    /// The place among the names of the questions that are declined together.
    pub names: Scroll,
}

impl Panel {
    /// True if the panel names questions, and some of the names were not on the screen yet.
    pub fn hides_names(&self) -> bool {
        matches!(self.at_stake, AtStake::DeclinedTogether { .. }) && !self.names.was_seen
    }
}

/// The permission to send a key's decision.
#[derive(Debug)]
pub struct Passed(());

impl Gate {
    /// Records a pressed key. Returns whether it is a step of a confirmation.
    pub fn key(&mut self, key: KeyEvent) -> Heard {
        self.keys.note(key.code == KeyCode::Enter);
        let is_too_soon = self.keys.haste != Haste::None || self.panel.as_ref().is_some_and(Panel::hides_names);
        self.confirmation.key(key, is_too_soon)
    }

    /// Forgets everything that was asked, because text was pasted.
    pub fn pasted(&mut self) {
        self.keys.note(false);
        self.forget();
    }

    /// Forgets what was asked and confirmed, because another question is shown or the panel was left.
    pub fn forget(&mut self) {
        let (keys, row) = (std::mem::take(&mut self.keys), std::mem::take(&mut self.row));
        *self = Self { keys, row, shown: self.shown, ..Self::default() };
    }

    /// Records that the screen now shows the effect of the last key, and whether it shows all of a decision.
    pub fn drawn(&mut self, shown: Shown) {
        self.keys.drawn();
        self.shown = shown;
        if let (Shown::Whole, Some(panel)) = (shown, &mut self.panel) {
            panel.names.was_drawn();
        }
    }

    /// Records that the screen has another size, which no picture fits yet.
    pub fn resized(&mut self) {
        self.shown = Shown::TooLittle;
    }

    /// True if the screen shows all of a decision.
    pub fn shows_all(&self) -> bool {
        self.shown == Shown::Whole
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

    /// True if the last key came together with the key before.
    pub fn came_together(&self) -> bool {
        self.keys.haste == Haste::Together
    }

    /// Checks that the person could see what the last key decides: it did not come too soon after another one, and the screen shows all of
    /// it. `Err` is a sentence for the person.
    pub fn was_seen(&self) -> Result<(), &'static str> {
        match self.keys.haste {
            _ if !self.shows_all() => Err("this screen is too small to decide anything"),
            Haste::None => Ok(()),
            Haste::Held => Err("enter is held down, and decides nothing: release it, and press it again"),
            Haste::Together => Err("this key came together with others, and decides nothing: look at the screen, and press it again"),
        }
    }

    /// Lets the last key decide, if the person has confirmed all that is at stake for this question. Otherwise asks about the first of the
    /// other things. `Err` is a sentence for the person.
    pub fn may_decide(&mut self, about: Uuid, at_stake: &[AtStake]) -> Result<Passed, String> {
        if let Err(why) = self.was_seen() {
            // The person had only a moment to read what was asked before, so it is asked again.
            self.confirmation = Confirmation::default();
            return Err(why.into());
        }
        if let Some(Panel { about, at_stake, at: Some(_), .. }) = &self.panel {
            self.confirmation.is_chosen(*about, at_stake);
        }
        match self.confirmation.asks(about, at_stake) {
            None => Ok(Passed(())),
            Some(first) => Err(first.told(CONFIRMS)),
        }
    }

    /// Lets the last key take a step that decides nothing yet, if it may. With nothing at stake, every key may. `Err` is a sentence for the
    /// person.
    pub fn may_go_on(&mut self, about: Uuid, at_stake: &[AtStake]) -> Result<(), String> {
        if at_stake.is_empty() { Ok(()) } else { self.may_decide(about, at_stake).map(|Passed(())| ()) }
    }

    /// The question whether a decision is meant, if it was asked and nothing else was pressed since.
    pub fn pending(&self) -> Option<Pending<'_>> {
        self.confirmation.pending()
    }

    /// Asks in a panel what words mean.
    pub fn ask_meaning(&mut self, about: Uuid, near: AtStake) {
        self.panel = Some(Panel { about, at_stake: near, at: None, names: Scroll::default() });
    }

    /// Asks in a panel whether a decision is meant. The names that were on the screen before still count, if they are the same.
    pub fn ask_in_panel(&mut self, about: Uuid, at_stake: AtStake) {
        self.confirmation.asks(about, std::slice::from_ref(&at_stake));
        let names = self.panel.take().filter(|panel| panel.at_stake == at_stake).map_or_else(Scroll::default, |panel| panel.names);
        self.panel = Some(Panel { about, at_stake, at: None, names });
    }

    pub fn panel(&self) -> Option<&Panel> {
        self.panel.as_ref()
    }

    pub fn panel_mut(&mut self) -> Option<&mut Panel> {
        self.panel.as_mut()
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    const ABOUT: Uuid = Uuid::from_bytes([1; 16]);

    fn press(gate: &mut Gate, code: KeyCode) -> Heard {
        // This has the same effect as waiting for a moment.
        gate.keys = LastKey::default();
        gate.key(code.into())
    }

    /// A gate whose screen shows all.
    fn gate() -> Gate {
        Gate { shown: Shown::Whole, ..Gate::default() }
    }

    /// A time that a slow test does not outlive, so it counts as just now.
    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(3600)
    }

    fn arm(gate: &mut Gate) {
        assert_eq!(press(gate, KeyCode::Char('o')), Heard::Armed);
        assert_eq!(press(gate, KeyCode::Char('k')), Heard::Armed);
    }

    fn confirm(gate: &mut Gate) {
        arm(gate);
        press(gate, KeyCode::Enter);
    }

    #[test]
    fn ok_and_then_enter_confirm_and_enter_alone_never_does() {
        let (mut gate, at_stake) = (gate(), [AtStake::EarlierDraft]);
        press(&mut gate, KeyCode::Enter);
        assert!(gate.may_decide(ABOUT, &[]).is_ok(), "nothing is at stake");
        for _ in 0..3 {
            press(&mut gate, KeyCode::Enter);
            let sentence = gate.may_decide(ABOUT, &at_stake).unwrap_err();
            assert_eq!(sentence, "this is your draft from before; ok, then enter, goes on with it");
        }
        for other in [KeyCode::Down, KeyCode::Char('e'), KeyCode::Char('y'), KeyCode::Null] {
            arm(&mut gate);
            assert!(matches!(press(&mut gate, other), Heard::Other { .. }));
            press(&mut gate, KeyCode::Enter);
            assert!(gate.may_decide(ABOUT, &at_stake).is_err(), "another key was between: {other:?}");
        }
        confirm(&mut gate);
        assert!(gate.may_decide(Uuid::nil(), &at_stake).is_err(), "the question is another one");
        confirm(&mut gate);
        assert!(gate.may_decide(Uuid::nil(), &at_stake).is_ok());
        press(&mut gate, KeyCode::Enter);
        assert!(gate.may_decide(ABOUT, &at_stake).is_err());
        arm(&mut gate);
        gate.pasted();
        press(&mut gate, KeyCode::Enter);
        assert!(gate.may_decide(ABOUT, &at_stake).is_err(), "a text was pasted");
    }

    #[test]
    fn no_key_decides_on_a_screen_that_is_too_small() {
        let (mut gate, at_stake) = (gate(), [AtStake::EarlierDraft]);
        press(&mut gate, KeyCode::Enter);
        assert!(gate.may_decide(ABOUT, &at_stake).is_err());
        confirm(&mut gate);
        gate.resized();
        assert!(gate.may_decide(ABOUT, &at_stake).is_err_and(|why| why.contains("too small")));
        assert!(gate.may_decide(ABOUT, &[]).is_err(), "nothing is at stake");
        gate.drawn(Shown::Whole);
        assert!(gate.may_decide(ABOUT, &[]).is_ok());
        gate.drawn(Shown::TooLittle);
        gate.forget();
        assert!(gate.may_decide(ABOUT, &[]).is_err(), "the screen stays small");
    }

    #[test]
    fn each_thing_at_stake_is_confirmed_once() {
        let (mut gate, begun) = (gate(), |word: &str| AtStake::Begun { word: word.into(), act: None, takes_words: true });
        let at_stake = [AtStake::EarlierDraft, begun("none")];
        press(&mut gate, KeyCode::Enter);
        assert!(gate.may_decide(ABOUT, &at_stake).unwrap_err().contains("draft from before"));
        confirm(&mut gate);
        assert!(gate.may_decide(ABOUT, &at_stake).unwrap_err().contains("did you mean"));
        confirm(&mut gate);
        assert!(gate.may_decide(ABOUT, &at_stake).is_ok());
    }

    #[test]
    fn a_held_down_enter_passes_only_to_a_step_without_a_stake() {
        let mut gate = gate();
        gate.key(KeyCode::Enter.into());
        gate.keys.last_was_drawn_at(soon());
        gate.key(KeyCode::Enter.into());
        assert!(gate.may_go_on(ABOUT, &[]).is_ok());
        for at_stake in [&[][..], &[AtStake::EarlierDraft]] {
            assert!(gate.may_decide(ABOUT, at_stake).is_err_and(|why| why.contains("held down")));
        }
        assert!(gate.may_go_on(ABOUT, &[AtStake::EarlierDraft]).is_err());
        assert!(matches!(press(&mut gate, KeyCode::Char('o')), Heard::Other { .. }), "a held key asked nothing");
    }

    #[test]
    fn a_hasty_letter_and_a_hasty_enter_confirm_nothing() {
        let (mut gate, at_stake) = (gate(), [AtStake::EarlierDraft]);
        press(&mut gate, KeyCode::Enter);
        assert!(gate.may_decide(ABOUT, &at_stake).is_err());
        assert!(matches!(gate.key(KeyCode::Char('o').into()), Heard::Other { .. }), "the sentence was not on the screen");
        press(&mut gate, KeyCode::Enter);
        assert!(gate.may_decide(ABOUT, &at_stake).is_err());
        arm(&mut gate);
        gate.key(KeyCode::Enter.into());
        assert!(gate.may_decide(ABOUT, &at_stake).is_err_and(|why| why.contains("together with others")));
        press(&mut gate, KeyCode::Enter);
        assert!(gate.may_decide(ABOUT, &at_stake).is_err_and(|why| why.contains("goes on with it")), "it is asked again");
    }

    #[test]
    fn a_meaning_counts_once_it_is_chosen_in_its_panel() {
        let mut gate = gate();
        let near = AtStake::NearMiss { asked: "?".into(), words: "mrege".into(), near: Vec::new() };
        gate.ask_meaning(ABOUT, near.clone());
        press(&mut gate, KeyCode::Enter);
        assert!(gate.may_decide(ABOUT, std::slice::from_ref(&near)).is_err(), "nothing is chosen");
        press(&mut gate, KeyCode::Down);
        gate.panel_mut().unwrap().at = Some(0);
        assert!(gate.may_decide(ABOUT, std::slice::from_ref(&near)).is_ok());
        gate.forget();
        assert!(gate.panel().is_none() && gate.may_decide(ABOUT, &[near]).is_err());
    }

    #[test]
    fn a_row_that_came_by_itself_is_chosen_only_after_a_moment() {
        let (mut gate, row) = (gate(), |name: &str| Some((Address::here(name.parse().unwrap()), None)));
        gate.row(row("a"));
        assert!(gate.may_choose().is_ok(), "the first picture");
        gate.row(row("b"));
        assert!(gate.row.changed.is_some());
        gate.row.changed = Some(soon());
        gate.row(row("b"));
        assert!(gate.may_choose().is_err());
        gate.forget();
        gate.row_by_key(row("b"));
        assert!(gate.may_choose().is_err(), "no key has moved it");
        gate.row_by_key(row("c"));
        assert!(gate.may_choose().is_ok());
        gate.row(Some((Address::here("c".parse().unwrap()), Some(QuestionId::from_uuid(ABOUT)))));
        assert!(gate.row.changed.is_some());
        gate.row.changed = Some(soon());
        assert!(gate.may_choose().is_err(), "its workflow asks another question");
        gate.row.changed = Instant::now().checked_sub(SETTLES);
        assert!(gate.may_choose().is_ok());
        gate.row(None);
        gate.row(row("d"));
        assert!(gate.may_choose().is_ok(), "the list was not on the screen");
    }
}
