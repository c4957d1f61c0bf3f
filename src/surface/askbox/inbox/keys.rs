//! What keys do to the screen, and what is pasted or written in the editor.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::surface::askbox::inbox::app::{App, Place, Wish};
use crate::surface::askbox::inbox::held::Enter;
use crate::surface::askbox::inbox::leaving_out;
use crate::surface::askbox::inbox::line::{Asking, Purpose};
use crate::surface::askbox::inbox::question::kept::Kept;
use crate::surface::askbox::inbox::question::opened::Act;
use crate::surface::askbox::inbox::sender;
use crate::surface::person::decision::Decision;

/// How long a page of the answered rounds is, in rows.
const PAGE: isize = 10;

impl App<'_> {
    /// What a key does.
    pub fn key(&mut self, key: KeyEvent) -> Wish {
        self.waiting.settle();
        self.want_nothing();
        if key.code != KeyCode::Enter {
            self.told_left_out.clear();
        }
        self.enter.note(key);
        if key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c') {
            return Wish::Leave(130);
        }
        if self.shows_help {
            self.shows_help = false;
            return Wish::Nothing;
        }
        if self.confirms.is_some() {
            return self.key_of_confirm(key);
        }
        if self.asked.is_some() {
            return self.key_of_text(key);
        }
        self.said.clear();
        match &mut self.place {
            Place::List => self.key_of_list(key),
            Place::Gone(_) => self.key_of_gone(key),
            Place::Outcomes(_) => self.key_of_outcomes(key),
            Place::Question(opened) => {
                let act = opened.key(key);
                self.act(act)
            }
        }
    }

    /// Whether the key that is about to decide something is enter, and is held down. The person is told.
    pub(super) fn tells_that_enter_is_held(&mut self) -> bool {
        if self.enter.is_held() {
            "enter is held down, and decides nothing: release it, and press it again".clone_into(&mut self.said);
        }
        self.enter.is_held()
    }

    fn key_of_list(&mut self, key: KeyEvent) -> Wish {
        match key.code {
            KeyCode::Char('q') => return Wish::Leave(0),
            KeyCode::Esc if self.waiting.marks() > 0 => self.waiting.unmark_all(),
            KeyCode::Esc if !self.waiting.filter().is_empty() => self.waiting.clear_filter(),
            KeyCode::Esc => "q leaves the inbox".clone_into(&mut self.said),
            KeyCode::Char('?') => self.shows_help = true,
            KeyCode::Up | KeyCode::Char('k') => self.waiting.step(-1),
            KeyCode::Down | KeyCode::Char('j') => self.waiting.step(1),
            KeyCode::PageUp => self.waiting.step(-self.waiting.page.get()),
            KeyCode::PageDown => self.waiting.step(self.waiting.page.get()),
            KeyCode::Home | KeyCode::Char('g') => self.waiting.choose_end(false),
            KeyCode::End | KeyCode::Char('G') => self.waiting.choose_end(true),
            KeyCode::Tab => self.show_outcomes(),
            KeyCode::Char('/') => self.ask(Purpose::Filter, None),
            KeyCode::Char(' ') => {
                self.waiting.mark_chosen();
                self.waiting.step(1);
            }
            KeyCode::Char('d') if self.waiting.marks() > 0 => self.ask_to_decline_marked(),
            KeyCode::Char('u') => self.undo(None),
            KeyCode::Enter => drop(self.open_chosen()),
            KeyCode::Char(c @ ('d' | 'b')) if self.open_chosen() => {
                self.ask(if c == 'd' { Purpose::Decline } else { Purpose::AskBack }, None);
            }
            _ => {}
        }
        Wish::Nothing
    }

    fn open_chosen(&mut self) -> bool {
        if let Some(chosen) = self.waiting.chosen().map(|row| row.address.clone()) {
            self.open(&chosen);
        }
        matches!(self.place, Place::Question(_))
    }

    fn key_of_gone(&mut self, key: KeyEvent) -> Wish {
        let Place::Gone(gone) = &mut self.place else { return Wish::Nothing };
        match key.code {
            KeyCode::Char('w') => {
                if let Some(kept) = &gone.kept {
                    self.said = match kept.keep() {
                        Ok(path) => {
                            gone.kept = None;
                            format!("your draft is kept in {}", path.display())
                        }
                        Err(e) => format!("your draft cannot be kept: {}", sender::in_one_line(e)),
                    };
                }
            }
            KeyCode::Char('o') => {
                let (address, typed, kept) = (gone.address.clone(), gone.typed.clone(), gone.kept.clone());
                self.open(&address);
                let Place::Question(opened) = &mut self.place else { return Wish::Nothing };
                let act = typed.map_or(Act::Nothing, |typed| opened.insert(&typed, false));
                // It takes no words, or more than words was given.
                let is_all = act == Act::Nothing && kept.as_ref().is_none_or(Kept::is_words_only);
                self.keep_drafts();
                match kept {
                    Some(kept) if is_all => self.forget(&kept.at()),
                    kept => self.lost.extend(kept),
                }
                return self.act(act);
            }
            KeyCode::Enter | KeyCode::Esc | KeyCode::Char('q') => self.close(),
            _ => {}
        }
        Wish::Nothing
    }

    fn key_of_outcomes(&mut self, key: KeyEvent) -> Wish {
        let Place::Outcomes(outcomes) = &mut self.place else { return Wish::Nothing };
        match key.code {
            KeyCode::Up | KeyCode::Char('k') => outcomes.step(self.sender.mailbox, -1),
            KeyCode::Down | KeyCode::Char('j') => outcomes.step(self.sender.mailbox, 1),
            KeyCode::PageUp => outcomes.step(self.sender.mailbox, -PAGE),
            KeyCode::PageDown => outcomes.step(self.sender.mailbox, PAGE),
            KeyCode::Tab | KeyCode::Esc => self.close(),
            KeyCode::Char('q') => return Wish::Leave(0),
            KeyCode::Char('?') => self.shows_help = true,
            KeyCode::Char('u') => {
                let at = outcomes.chosen().map(|outcome| outcome.at.clone());
                self.undo(at);
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

    fn act(&mut self, act: Act) -> Wish {
        match act {
            Act::Nothing => {}
            Act::Back if self.asks_only => return Wish::Leave(0),
            Act::Back => self.close(),
            Act::Send(_) if self.tells_that_enter_is_held() => {}
            Act::Send(_) if self.tells_what_is_left_out(leaving_out::Act::Send) => {}
            Act::Send(value) => return self.decide(Decision::Answer(value, self.note())),
            Act::Ask(purpose, letter) => self.ask(purpose, letter),
            Act::Say(words) => self.said = words.into_owned(),
            Act::Edit => {
                if let Place::Question(opened) = &self.place {
                    return Wish::Edit(opened.draft.part().map(|part| part.typed()).unwrap_or_default());
                }
            }
        }
        Wish::Nothing
    }

    /// Takes pasted text: into the text that is asked for, or as words of the person's own.
    pub fn paste(&mut self, text: &str) -> Wish {
        self.enter = Enter::default();
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        if let Some(Asking { area, .. }) = &mut self.asked {
            area.insert_str(text);
            return Wish::Nothing;
        }
        let Place::Question(opened) = &mut self.place else { return Wish::Nothing };
        let act = opened.insert(&text, false);
        self.act(act)
    }

    /// Takes the text that was written in the editor.
    pub fn edited(&mut self, text: &str) {
        if let Place::Question(opened) = &mut self.place {
            let act = opened.insert(text, true);
            self.act(act);
        }
    }
}
