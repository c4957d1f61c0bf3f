//! Handles keys, pasted text, and text from the editor.
//!
//! The key that leaves the inbox. Within a word it does not leave.
//!
//! A screen that is too small for what its keys decide. The drawing finds that out, and then only the keys that leave work.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};

use crate::app::{App, Place, ToldUndo, Until, Wish};
use crate::gate::{Heard, Panel, RowId, Shown};
use crate::question::draft::PartDraft;
use crate::question::kept_drafts::KeptDraft;
use crate::question::opened::Act;
use crate::sender;
use crate::text_window::{Asking, Purpose};
use askbox_cli::person::{self, LeftOut, Named, Next};
use askbox_cli::{AtStake, SeenRound};
use askbox_mailbox::excerpt;

/// Where letters are commands, a letter with Control is not that command: it scrolls as in `less` and vim, or does nothing. A letter
/// with Alt decides nothing. But it may be Escape and a letter that came at once, so it still leads somewhere else.
fn without_chord(key: KeyEvent) -> KeyEvent {
    if !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) {
        return key;
    }
    let has_control = key.modifiers.contains(KeyModifiers::CONTROL);
    let code = match key.code {
        KeyCode::Char('d' | 'f') if has_control => KeyCode::PageDown,
        KeyCode::Char('u' | 'b') if has_control => KeyCode::PageUp,
        KeyCode::Char('n') if has_control => KeyCode::Down,
        KeyCode::Char('p') if has_control => KeyCode::Up,
        KeyCode::Char(_) if has_control => KeyCode::Null,
        KeyCode::Char('d' | 'b' | 'u') => KeyCode::Null,
        other => other,
    };
    KeyEvent { code, ..key }
}

/// The letters that do something in the list, and among the answered questions.
const KEYS_OF_LIST: &str = "?mkjgG/ dubSq";
const KEYS_OF_OUTCOMES: &str = "?mkjuq";

/// The length of a page of the answered rounds and of a log, in rows.
const PAGE: isize = 10;

impl App<'_> {
    /// Handles a key.
    pub fn key(&mut self, key: KeyEvent) -> Wish {
        self.before_a_key();
        let wish = self.key_at_its_place(key);
        self.after_a_key();
        wish
    }

    /// Takes in what has changed by itself.
    pub(super) fn before_a_key(&mut self) {
        self.waiting.settle();
        self.see_row();
    }

    /// Notes what the person has changed.
    pub(super) fn after_a_key(&mut self) {
        self.waiting.settle();
        let row = self.row_in_list();
        self.gate.row_by_key(row);
    }

    /// Tells the gate which row is under the cursor.
    pub fn see_row(&mut self) {
        let row = self.row_in_list();
        self.gate.row(row);
    }

    /// The row under the cursor, if the list is on the screen.
    fn row_in_list(&self) -> Option<RowId> {
        let chosen = self.waiting.chosen().filter(|_| matches!(self.place, Place::List) && self.asked.is_none());
        chosen.map(|row| (row.address.clone(), row.facts.question))
    }

    fn key_at_its_place(&mut self, key: KeyEvent) -> Wish {
        self.heard.want_nothing();
        let (told, put_back) = match self.gate.key(key) {
            Heard::Armed => {
                self.said = self.pending_question().unwrap_or_default();
                return Wish::Nothing;
            }
            Heard::Other { told, put_back } => (told, put_back),
        };
        // After words beside an option, `n` has an effect of its own.
        let is_for_told = matches!(told, Some(AtStake::WordsBeside { .. })) && key.code == KeyCode::Char('n');
        if !is_for_told && self.gate.panel().is_none() {
            // The letters belonged to a word that the person is typing, such as `only`.
            put_back.chars().for_each(|letter| drop(self.usual_key(KeyEvent::from(KeyCode::Char(letter)), None)));
        }
        self.usual_key(key, told)
    }

    /// Handles a key that is not a step of a confirmation, or is enter. `told` is the question that the key has made the gate forget.
    fn usual_key(&mut self, key: KeyEvent, told: Option<AtStake>) -> Wish {
        let told_undo = self.told_undo.take();
        let is_together = self.gate.came_together();
        self.letters.begin(is_together);
        if let Place::Question(opened) = &mut self.place {
            opened.letters.begin(is_together);
        }
        if key.code != KeyCode::Char('e') {
            self.told_of_edit = None;
        }
        if told.is_some() {
            self.said.clear();
        }
        let Place::Question(opened) = &self.place else { return self.key_with_its_effect(key, told, told_undo) };
        let (before, has_window) = (opened.changeable(), self.asked.is_some());
        let wish = self.key_with_its_effect(key, told, told_undo);
        // A person may press `j` at the end without looking at an earlier draft. So only a key with an effect on the screen counts.
        if key.code != KeyCode::Enter
            && let Place::Question(opened) = &mut self.place
            && (has_window || self.asked.is_some() || opened.changeable() != before)
        {
            opened.notice();
        }
        wish
    }

    fn key_with_its_effect(&mut self, key: KeyEvent, told: Option<AtStake>, told_undo: Option<ToldUndo>) -> Wish {
        if key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c') {
            if matches!(self.place, Place::Log(..)) {
                self.close_log();
                return Wish::Nothing;
            }
            return Wish::Leave(130);
        }
        if key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('z') {
            return Wish::Stop;
        }
        if let Some(scrolled) = self.help {
            // On a low screen, the rest is reached by scrolling. Every other key leads back.
            self.help = match without_chord(key).code {
                KeyCode::Down | KeyCode::PageDown | KeyCode::Char('j') => Some(scrolled.saturating_add(1)),
                KeyCode::Up | KeyCode::PageUp | KeyCode::Char('k') => Some(scrolled.saturating_sub(1)),
                _ => None,
            };
            return Wish::Nothing;
        }
        if self.asked.is_some() {
            return self.key_of_text(key, told);
        }
        self.said.clear();
        if let Some(wish) = self.key_of_panel(key) {
            return wish;
        }
        match &mut self.place {
            Place::List => self.key_of_list(without_chord(key), told_undo),
            Place::Gone(_) => self.key_of_gone(key),
            Place::Outcomes(_) => self.key_of_outcomes(without_chord(key), told_undo),
            Place::Log(..) => self.key_of_log(without_chord(key)),
            Place::Sessions(_) => self.key_of_sessions(without_chord(key).code),
            Place::Session(_) => self.key_of_session(without_chord(key).code),
            Place::Question(opened) => {
                let act = match told {
                    Some(AtStake::WordsBeside { .. }) if key.code == KeyCode::Char('n') => opened.make_words_a_note(),
                    _ => opened.key(key),
                };
                self.act(act)
            }
        }
    }

    /// Handles a key in the panel of the gate. `None` if the key has its usual effect.
    fn key_of_panel(&mut self, key: KeyEvent) -> Option<Wish> {
        let panel = self.gate.panel_mut()?;
        if let AtStake::NearMiss { near, .. } = &panel.at_stake {
            let near = near.len();
            return self.key_of_meaning(key, near);
        }
        let page = panel.names.rows();
        match key.code {
            KeyCode::Enter => self.decline_marked(),
            KeyCode::Down => self.scroll_names(1),
            KeyCode::Up => self.scroll_names(-1),
            KeyCode::PageDown => self.scroll_names(page),
            KeyCode::PageUp => self.scroll_names(-page),
            // The person may begin to confirm too early.
            KeyCode::Char('o' | 'k') if panel.hides_names() => self.scroll_names(0),
            _ => {
                self.gate.forget();
                "nothing was declined".clone_into(&mut self.said);
            }
        }
        Some(Wish::Nothing)
    }

    /// Handles a key in the panel where the person chooses the meaning of words. The lines are `near` options, then the words themselves,
    /// then writing again.
    fn key_of_meaning(&mut self, key: KeyEvent, near: usize) -> Option<Wish> {
        match key.code {
            KeyCode::Enter => {}
            KeyCode::Char(c) => self.letters.note(c, c.is_ascii_digit()),
            other => self.letters.other_key(other),
        }
        let (panel, last) = (self.gate.panel_mut()?, near + 1);
        match key.code {
            KeyCode::PageDown | KeyCode::PageUp => return None,
            KeyCode::Char('n' | 'b' | 'd') if key.modifiers.contains(KeyModifiers::CONTROL) => {
                self.gate.forget();
                return None;
            }
            KeyCode::Up => panel.at = Some(panel.at.map_or(last, |at| at.saturating_sub(1))),
            KeyCode::Down => panel.at = Some(panel.at.map_or(0, |at| (at + 1).min(last))),
            KeyCode::Char(c) if c.is_ascii_digit() => {
                let place = c.to_digit(10).and_then(|place| usize::try_from(place).ok()?.checked_sub(1));
                panel.at = place.filter(|n| *n <= last).or(panel.at);
            }
            KeyCode::Esc => self.gate.forget(),
            KeyCode::Enter => match panel.at {
                None => "choose first: a number, or the arrow keys".clone_into(&mut self.said),
                // The digit may belong to a line for a shell, such as `echo 1`.
                Some(_) if let Some(word) = self.letters.strange() => {
                    panel.at = None;
                    self.said = format!("\"{}\" means nothing here; choose with the arrow keys", excerpt(&word, 40));
                }
                Some(at) if at == last => self.gate.forget(),
                Some(at) => {
                    let Place::Question(opened) = &self.place else { return None };
                    let act = opened.meant(at);
                    return Some(self.act(act));
                }
            },
            _ => {}
        }
        Some(Wish::Nothing)
    }

    fn key_of_list(&mut self, key: KeyEvent, told_undo: Option<ToldUndo>) -> Wish {
        if matches!(key.code, KeyCode::Enter | KeyCode::Char(' ' | 'd' | 'b'))
            && let Err(why) = self.gate.may_choose()
        {
            self.said = why;
            return Wish::Nothing;
        }
        let is_in_a_word = self.goes_on_with_a_word(key.code, KEYS_OF_LIST);
        match key.code {
            KeyCode::Char('q') => return self.leave_unless(is_in_a_word),
            KeyCode::Esc if !self.waiting.marked.is_empty() => self.waiting.marked.clear(),
            KeyCode::Esc if !self.waiting.filter.is_empty() => self.waiting.clear_filter(),
            KeyCode::Esc => "q leaves the inbox".clone_into(&mut self.said),
            KeyCode::Char('?') => self.help = Some(0),
            KeyCode::Char('m') => return self.give_or_take_mouse(),
            KeyCode::Up | KeyCode::Char('k') => self.waiting.step(-1),
            KeyCode::Down | KeyCode::Char('j') => self.waiting.step(1),
            KeyCode::PageUp => self.waiting.step(-self.waiting.page.get()),
            KeyCode::PageDown => self.waiting.step(self.waiting.page.get()),
            KeyCode::Home | KeyCode::Char('g') => self.waiting.choose_end(false),
            KeyCode::End | KeyCode::Char('G') => self.waiting.choose_end(true),
            KeyCode::Tab => self.show_outcomes(),
            KeyCode::Char('S') if !is_in_a_word => return Wish::Sessions,
            KeyCode::Char('/') => self.ask(Purpose::Filter, None),
            KeyCode::Char(' ') => {
                self.waiting.mark_chosen();
                self.waiting.step(1);
            }
            KeyCode::Char('d') if !self.waiting.marked.is_empty() => self.ask_to_decline_marked(),
            KeyCode::Char('u') => self.ask_to_undo(Vec::new(), told_undo),
            KeyCode::Enter => self.open_unless_strayed(),
            KeyCode::Char(c @ ('d' | 'b')) if self.open_chosen() => {
                self.ask(if c == 'd' { Purpose::Decline } else { Purpose::AskBack }, None);
            }
            _ => {}
        }
        Wish::Nothing
    }

    fn give_or_take_mouse(&mut self) -> Wish {
        self.has_mouse = !self.has_mouse;
        let said = if self.has_mouse { "clicks choose again" } else { "the mouse is the terminal's now, for copying; m takes it again" };
        said.clone_into(&mut self.said);
        Wish::Mouse
    }

    /// Opens the chosen question. Letters that do nothing here, such as `ls`, may have been meant for a shell, so they are named first.
    fn open_unless_strayed(&mut self) {
        let strayed = self.waiting.chosen().and_then(|row| {
            let (address, question, headline) = (row.address.clone(), row.facts.question, row.headline.clone());
            self.letters.at_stake("", Next::Opens(Named { address, question, headline, draft: String::new() }))
        });
        if self.may_go_on(strayed.as_slice()) {
            self.open_chosen();
        }
    }

    fn open_chosen(&mut self) -> bool {
        if let Some(chosen) = self.waiting.chosen().map(|row| row.address.clone()) {
            self.open(&chosen);
        }
        matches!(self.place, Place::Question(_))
    }

    /// The notice may come in the middle of a word, or just before enter was to send it. So no letter of that word leads to another question, and
    /// enter leaves the notice on the screen.
    fn key_of_gone(&mut self, key: KeyEvent) -> Wish {
        let Place::Gone(gone) = &mut self.place else { return Wish::Nothing };
        let has_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('o') if has_control => {
                let (address, typed, kept) = (gone.address.clone(), gone.typed.clone(), gone.kept.clone());
                self.open(&address);
                let Place::Question(opened) = &mut self.place else { return Wish::Nothing };
                let act = typed.map_or(Act::Nothing, |typed| opened.insert(&typed, false));
                // The draft's file is only removed if the new question took everything. The question may not accept words, or the draft may
                // hold more than words.
                let is_all = act == Act::Nothing && kept.as_ref().is_none_or(KeptDraft::is_words_only);
                self.keep_drafts();
                match kept {
                    Some(kept) if is_all => self.keeping.forget(&kept.at()),
                    kept => self.keeping.lost.extend(kept),
                }
                return self.act(act);
            }
            KeyCode::Esc => self.close(),
            _ => {}
        }
        Wish::Nothing
    }

    fn key_of_outcomes(&mut self, key: KeyEvent, told_undo: Option<ToldUndo>) -> Wish {
        let is_in_a_word = self.goes_on_with_a_word(key.code, KEYS_OF_OUTCOMES);
        let Place::Outcomes(outcomes) = &mut self.place else { return Wish::Nothing };
        match key.code {
            KeyCode::Up | KeyCode::Char('k') => outcomes.step(self.sender.mailbox, -1),
            KeyCode::Down | KeyCode::Char('j') => outcomes.step(self.sender.mailbox, 1),
            KeyCode::PageUp => outcomes.step(self.sender.mailbox, -PAGE),
            KeyCode::PageDown => outcomes.step(self.sender.mailbox, PAGE),
            KeyCode::Tab | KeyCode::Esc => self.close(),
            KeyCode::Char('q') => return self.leave_unless(is_in_a_word),
            KeyCode::Char('?') => self.help = Some(0),
            KeyCode::Char('m') => return self.give_or_take_mouse(),
            KeyCode::Char('u') => {
                let chosen = outcomes.chosen().map(|outcome| outcome.at.clone());
                self.ask_to_undo(chosen.into_iter().collect(), told_undo);
            }
            KeyCode::Enter => {
                if let Some(outcome) = outcomes.chosen() {
                    let workflow = &outcome.at.round.workflow;
                    match &outcome.at.host {
                        None => return Wish::Follow(workflow.clone()),
                        Some(host) => self.said = format!("its log is on {host}: there, relaunch logs {workflow}"),
                    }
                }
            }
            _ => {}
        }
        Wish::Nothing
    }

    fn key_of_log(&mut self, key: KeyEvent) -> Wish {
        let Place::Log(log, _) = &mut self.place else { return Wish::Nothing };
        match key.code {
            KeyCode::Up | KeyCode::Char('k') => log.step(-1),
            KeyCode::Down | KeyCode::Char('j') => log.step(1),
            KeyCode::PageUp => log.step(-PAGE),
            KeyCode::PageDown => log.step(PAGE),
            KeyCode::Home | KeyCode::Char('g') => log.step(-isize::MAX),
            KeyCode::End | KeyCode::Char('G') => log.step(isize::MAX),
            KeyCode::Char('?') => self.help = Some(0),
            KeyCode::Char('m') => return self.give_or_take_mouse(),
            KeyCode::Esc | KeyCode::Tab | KeyCode::Char('q') | KeyCode::Enter => self.close_log(),
            _ => {}
        }
        Wish::Nothing
    }

    fn act(&mut self, act: Act) -> Wish {
        match act {
            Act::Nothing => {}
            Act::Help => self.help = Some(0),
            Act::Mouse => return self.give_or_take_mouse(),
            Act::Back if matches!(self.until, Until::Decided(_)) => return Wish::Leave(0),
            Act::Back => self.close(),
            Act::Give(value, at_stake) => {
                let is_whole = matches!(&self.place, Place::Question(opened) if !opened.shown.question().is_batch());
                return self.give(value, at_stake, is_whole);
            }
            Act::Send(value, strayed) => return self.give(value, strayed.into_iter().collect(), true),
            Act::AskMeaning(near) => self.ask_meaning(near),
            Act::Ask(purpose, letter) => self.ask(purpose, letter),
            Act::Say(words) => self.said = words.into_owned(),
            Act::EditCall if matches!(self.until, Until::Decided(_)) => self.said = "a call is changed in the inbox: ask-answer".into(),
            Act::EditCall => return self.edit_call(),
            Act::Edit => {
                if let Place::Question(opened) = &self.place {
                    return Wish::Edit(opened.draft.part().map(|part| part.typed()).unwrap_or_default());
                }
            }
        }
        Wish::Nothing
    }

    /// Lets the person change the call. The note goes with it. Other texts are named first, because a changed call is sent without them.
    fn edit_call(&mut self) -> Wish {
        let left = self.left_out(person::Act::Send);
        let Place::Question(opened) = &self.place else { return Wish::Nothing };
        if let Some(AtStake::LeftOut { texts, .. }) = &left
            && self.told_of_edit != left
        {
            let texts: Vec<_> = texts.iter().map(LeftOut::named).collect();
            self.said = format!("{} would not be sent with a changed call; ctrl-e again opens the editor", texts.join(", "));
            self.told_of_edit = left;
            return Wish::Nothing;
        }
        match SeenRound::of(opened.shown.round.id.question, opened.shown.question()) {
            Ok(seen) => Wish::EditCall(opened.shown.address(), seen, self.note()),
            Err(e) => {
                self.said = sender::in_one_line(e);
                Wish::Nothing
            }
        }
    }

    /// Inserts pasted text into the open window, or into the answer as the person's own words.
    pub fn paste(&mut self, text: &str) -> Wish {
        self.gate.pasted();
        self.said.clear();
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        if let Some(Asking { area, .. }) = &mut self.asked {
            area.insert_str(text);
            return Wish::Nothing;
        }
        let Place::Question(opened) = &mut self.place else { return Wish::Nothing };
        let act = opened.insert(&text, false);
        self.act(act)
    }

    /// Takes over the text that was written in the editor.
    pub fn edited(&mut self, text: &str) {
        if let Place::Question(opened) = &mut self.place {
            let act = opened.insert(text, true);
            self.act(act);
        }
    }
}

impl App<'_> {
    /// Notes a key, if it is a letter. Returns true if it belongs to a word that was begun before.
    pub(super) fn goes_on_with_a_word(&mut self, code: KeyCode, keys: &str) -> bool {
        let has_begun = self.letters.has_begun();
        match code {
            KeyCode::Enter => {}
            KeyCode::Char(c) => self.letters.note(c, keys.contains(c)),
            other => self.letters.other_key(other),
        }
        has_begun
    }

    /// Leaves the inbox, unless the key belongs to a word: the rest of that line would go to the shell.
    pub(super) fn leave_unless(&mut self, is_in_a_word: bool) -> Wish {
        if !is_in_a_word {
            return Wish::Leave(0);
        }
        "q is part of a word here: esc, then q leaves the inbox".clone_into(&mut self.said);
        Wish::Nothing
    }
}

impl App<'_> {
    /// Notes that a picture is on the screen, and how much of a decision it shows.
    pub fn drawn(&mut self, shown: Shown) {
        let hid_names = self.gate.panel().is_some_and(Panel::hides_names);
        self.gate.drawn(shown);
        if hid_names && !self.gate.panel().is_some_and(Panel::hides_names) {
            // The last name is on the screen now, so the sentence changes.
            self.said = self.pending_question().unwrap_or_default();
            self.picture_is_old = true;
        }
        // The help stands in front of the text.
        if let (Shown::Whole, None, Place::Question(opened)) = (shown, self.help, &mut self.place) {
            opened.scroll.was_drawn();
        }
    }

    /// True if the message asks for a key that decides. The person must see all of it.
    pub fn asks(&self) -> bool {
        self.gate.pending().is_some() || self.told_undo.is_some()
    }

    /// True if an event has its usual effect. If not, what was asked before is forgotten.
    pub fn takes(&mut self, event: &Event) -> bool {
        match event {
            Event::Resize(..) => self.gate.resized(),
            Event::Key(_) | Event::Paste(_) | Event::Mouse(_) if !self.gate.shows_all() => {
                let leaves = matches!(event, Event::Key(key) if self.leaves(*key));
                if !leaves {
                    if self.asks() {
                        self.said.clear();
                    }
                    self.told_undo = None;
                    self.gate.pasted();
                }
                return leaves;
            }
            _ => {}
        }
        true
    }

    fn leaves(&self, key: KeyEvent) -> bool {
        match key.code {
            KeyCode::Esc => true,
            KeyCode::Char('c' | 'z') => key.modifiers.contains(KeyModifiers::CONTROL),
            // With Alt, it may be Escape and `q` that came at once.
            KeyCode::Char('q') => !key.modifiers.contains(KeyModifiers::CONTROL) && self.q_leaves(),
            _ => false,
        }
    }

    /// False where `q` is a letter of a text, or leaves nothing.
    fn q_leaves(&self) -> bool {
        self.asked.is_none()
            && self.gate.panel().is_none()
            && !matches!(&self.place, Place::Question(opened) if opened.draft.part().is_some_and(PartDraft::writes))
    }

    /// The words on a screen that is too small.
    pub fn too_small(&self) -> String {
        format!("too small: only {}esc and ctrl-c work", if self.q_leaves() { "q, " } else { "" })
    }
}
