//! The state of the screen, and what keys do to it.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui_textarea::TextArea;

use crate::error::Result;
use crate::id::{QuestionId, RoundId, WorkflowId};
use crate::mailbox::presence;
use crate::mailbox::round::Round;
use crate::surface::askbox::inbox::decide::Confirm;
use crate::surface::askbox::inbox::draft::Draft;
use crate::surface::askbox::inbox::line::{self, Purpose};
use crate::surface::askbox::inbox::opened::{Act, Opened};
use crate::surface::askbox::inbox::outcomes::Outcomes;
use crate::surface::askbox::inbox::send::{self, Decision, Sender};
use crate::surface::askbox::inbox::waiting::Waiting;
use crate::surface::askbox::inbox::waking::Changes;

/// How long a page of the answered rounds is, in rows.
const PAGE: isize = 10;
/// The shortest time between two readings of the answered rounds.
const READ_ROUNDS_EVERY: Duration = Duration::from_millis(300);

/// What is on the screen.
#[derive(Debug)]
pub enum Place {
    List,
    Question(Box<Opened>),
    /// The open question is over: somebody else answered it, or it was taken back.
    Gone(Gone),
    Outcomes(Outcomes),
}

/// A question that vanished while it was open.
#[derive(Debug)]
pub struct Gone {
    pub workflow: WorkflowId,
    /// Who answered it, or what happened to it.
    pub why: String,
    /// What the person had typed, until it is kept elsewhere.
    pub typed: Option<String>,
}

/// The question of the chosen row, as it is shown beside the list.
#[derive(Debug)]
pub struct Preview {
    pub workflow: WorkflowId,
    /// `Err` says why it cannot be shown.
    pub round: std::result::Result<Round, String>,
}

/// What the loop around the state has to do.
#[derive(Debug, PartialEq)]
pub enum Wish {
    Nothing,
    /// Leave, with this exit status.
    Leave(u8),
    /// Open the editor on this text.
    Edit(String),
    /// Follow the log of this workflow.
    Follow(WorkflowId),
}

/// The state of the screen.
#[derive(Debug)]
pub struct App<'a> {
    pub sender: Sender<'a>,
    pub waiting: Waiting,
    pub preview: Option<Preview>,
    pub place: Place,
    /// A text that is asked for.
    pub asked: Option<(Purpose, TextArea<'static>)>,
    /// Questions that are declined once the person confirms it.
    pub confirms: Option<Confirm>,
    pub shows_help: bool,
    /// The last thing to tell.
    pub said: String,
    /// Whether the first decision ends the inbox without being sent.
    pub asks_only: bool,
    pub decided: Option<Decision>,
    /// Whether a watcher runs, once that is known.
    pub has_watcher: Option<bool>,
    /// Whether something was read since the last picture.
    pub picture_is_old: bool,
    pub(super) drafts: HashMap<QuestionId, (WorkflowId, Draft)>,
    /// What was sent from this screen, the newest last, with what it was made from.
    pub(super) sent: Vec<(RoundId, Option<Draft>)>,
    /// Texts that were typed for questions that vanished, and that were not kept.
    pub(super) lost: Vec<(WorkflowId, String)>,
    /// Since when the answered rounds on the screen may be old.
    rounds_old_since: Option<Instant>,
}

impl<'a> App<'a> {
    /// The list of questions, or the question of one workflow. The list's documents are read later.
    ///
    /// # Errors
    /// If the mailbox cannot be read.
    pub fn new(sender: Sender<'a>, open: Option<&WorkflowId>) -> Result<Self> {
        let mut app = Self {
            sender,
            waiting: Waiting::default(),
            preview: None,
            place: Place::List,
            asked: None,
            confirms: None,
            shows_help: false,
            said: String::new(),
            asks_only: false,
            decided: None,
            has_watcher: None,
            picture_is_old: false,
            drafts: HashMap::new(),
            sent: Vec::new(),
            lost: Vec::new(),
            rounds_old_since: None,
        };
        app.waiting.list(sender.mailbox)?;
        if let Some(workflow) = open {
            app.waiting.prefer(workflow);
            app.open(workflow);
        }
        Ok(app)
    }

    /// Follows what has changed in the mailbox. The changed questions are read by [`Self::read`].
    ///
    /// # Errors
    /// If the mailbox cannot be read.
    pub fn follow(&mut self, changes: Changes) -> Result<()> {
        let Changes { questions, rounds, anything } = changes;
        if anything {
            self.waiting.list(self.sender.mailbox)?;
        }
        let concerns = |workflow: &WorkflowId| anything || questions.contains(workflow);
        if self.preview.as_ref().is_some_and(|preview| concerns(&preview.workflow)) {
            self.preview = None;
        }
        if let Place::Question(opened) = &self.place
            && concerns(&opened.round.id.workflow)
            && let Err(why) = self.sender.still_waits(&opened.round.id)
        {
            let (workflow, typed) = (opened.round.id.workflow.clone(), opened.draft.typed());
            self.gone(workflow, why, typed);
        }
        if (rounds || anything) && matches!(self.place, Place::Outcomes(_)) {
            self.rounds_old_since.get_or_insert_with(Instant::now);
        }
        questions.into_iter().for_each(|workflow| self.waiting.changed(workflow));
        Ok(())
    }

    /// Reads what has changed, until it is late. Returns whether the picture has changed.
    pub fn read(&mut self, until: Instant) -> bool {
        let mut changed = self.waiting.read(self.sender.mailbox, until);
        if let (Place::Outcomes(outcomes), Some(_)) =
            (&mut self.place, self.rounds_old_since.filter(|since| since.elapsed() >= READ_ROUNDS_EVERY))
        {
            *outcomes = Outcomes::read(self.sender.mailbox, Some(outcomes));
            (self.rounds_old_since, changed) = (None, true);
        }
        changed
    }

    /// When [`Self::read`] has something to do by itself.
    pub fn reads_at(&self) -> Option<Instant> {
        if self.waiting.is_behind() {
            return Some(Instant::now());
        }
        self.rounds_old_since.filter(|_| matches!(self.place, Place::Outcomes(_))).map(|since| since + READ_ROUNDS_EVERY)
    }

    /// Reads the question that is shown beside the list, if another one is chosen now.
    pub fn settle(&mut self) {
        self.waiting.settle();
        let chosen = self.waiting.chosen().map(|row| row.workflow.clone());
        let chosen = chosen.filter(|_| matches!(self.place, Place::List));
        if self.preview.as_ref().map(|preview| &preview.workflow) == chosen.as_ref() {
            return;
        }
        self.preview = chosen.map(|workflow| {
            let round = self.sender.pending(&workflow).map_err(send::in_one_line);
            Preview { workflow, round }
        });
    }

    /// Looks whether a watcher runs.
    pub fn look_for_a_watcher(&mut self) {
        self.has_watcher = presence::anybody(self.sender.mailbox).ok();
    }

    /// What was typed stays on the screen.
    pub(super) fn gone(&mut self, workflow: WorkflowId, why: String, typed: Option<String>) {
        let asked = self.asked.take().map(|(_, area)| line::text(&area)).filter(|text| !text.trim().is_empty());
        let typed = [typed, asked].into_iter().flatten().collect::<Vec<_>>().join("\n\n");
        self.place = Place::Gone(Gone { workflow, why, typed: Some(typed).filter(|typed| !typed.is_empty()) });
    }

    pub(super) fn open(&mut self, workflow: &WorkflowId) {
        match self.sender.pending(workflow) {
            Ok(round) => {
                let draft = self.drafts.remove(&round.id.question).map(|(_, draft)| draft);
                self.place = Place::Question(Box::new(Opened::new(round, draft)));
                self.said.clear();
            }
            Err(e) if e.is_missing_file() => self.said = self.sender.fate(workflow),
            Err(e) => self.said = send::in_one_line(e),
        }
    }

    fn close(&mut self) {
        match std::mem::replace(&mut self.place, Place::List) {
            Place::Question(opened) => {
                let id = opened.round.id;
                self.drafts.insert(id.question, (id.workflow, opened.draft));
            }
            Place::Gone(Gone { workflow, typed: Some(typed), .. }) => self.lost.push((workflow, typed)),
            _ => {}
        }
    }

    /// Everything that was typed and not sent, for whom. Called once, when the inbox is left.
    pub fn unsent(&mut self) -> Vec<(WorkflowId, String)> {
        if let (Place::Question(opened), Some((purpose, area))) = (&mut self.place, self.asked.take())
            && purpose != Purpose::Filter
        {
            opened.draft.note = [std::mem::take(&mut opened.draft.note), line::text(&area)].join("\n");
        }
        self.close();
        let drafts = self.drafts.drain().filter_map(|(_, (workflow, draft))| Some((workflow, draft.typed()?)));
        let mut unsent: Vec<_> = drafts.chain(self.lost.drain(..)).collect();
        unsent.sort();
        unsent
    }

    /// What a key does.
    pub fn key(&mut self, key: KeyEvent) -> Wish {
        self.waiting.settle();
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

    fn key_of_list(&mut self, key: KeyEvent) -> Wish {
        match key.code {
            KeyCode::Char('q') => return Wish::Leave(0),
            KeyCode::Esc if self.waiting.marks() > 0 => self.waiting.unmark_all(),
            KeyCode::Esc if !self.waiting.filter().is_empty() => self.waiting.clear_filter(),
            KeyCode::Esc => return Wish::Leave(0),
            KeyCode::Char('?') => self.shows_help = true,
            KeyCode::Up | KeyCode::Char('k') => self.waiting.step(-1),
            KeyCode::Down | KeyCode::Char('j') => self.waiting.step(1),
            KeyCode::PageUp => self.waiting.step(-self.waiting.page.get()),
            KeyCode::PageDown => self.waiting.step(self.waiting.page.get()),
            KeyCode::Home | KeyCode::Char('g') => self.waiting.choose_end(false),
            KeyCode::End | KeyCode::Char('G') => self.waiting.choose_end(true),
            KeyCode::Tab => self.place = Place::Outcomes(Outcomes::read(self.sender.mailbox, None)),
            KeyCode::Char('/') => self.ask(Purpose::Filter),
            KeyCode::Char(' ') => {
                self.waiting.mark_chosen();
                self.waiting.step(1);
            }
            KeyCode::Char('d') if self.waiting.marks() > 0 => self.ask(Purpose::DeclineMarked(self.waiting.marks())),
            KeyCode::Char('u') => self.undo(None),
            KeyCode::Enter => drop(self.open_chosen()),
            KeyCode::Char(c @ ('d' | 'b')) if self.open_chosen() => self.ask(if c == 'd' { Purpose::Decline } else { Purpose::AskBack }),
            _ => {}
        }
        Wish::Nothing
    }

    fn open_chosen(&mut self) -> bool {
        if let Some(chosen) = self.waiting.chosen().map(|row| row.workflow.clone()) {
            self.open(&chosen);
        }
        matches!(self.place, Place::Question(_))
    }

    fn key_of_gone(&mut self, key: KeyEvent) -> Wish {
        let Place::Gone(gone) = &mut self.place else { return Wish::Nothing };
        match key.code {
            KeyCode::Char('w') if gone.typed.is_some() => {
                self.said = match gone.typed.as_deref().and_then(send::keep) {
                    Some(path) => {
                        gone.typed = None;
                        format!("your text is kept in {}", path.display())
                    }
                    None => "your text cannot be kept: the folder for temporary files cannot be written to".into(),
                };
            }
            KeyCode::Char('o') => {
                let (workflow, typed) = (gone.workflow.clone(), gone.typed.clone());
                self.open(&workflow);
                if let (Place::Question(opened), Some(typed)) = (&mut self.place, typed) {
                    let act = opened.insert(&typed, false);
                    if act != Act::Nothing {
                        // It takes no words.
                        self.lost.push((workflow, typed));
                    }
                    return self.act(act);
                }
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
                let round = outcomes.chosen().map(|outcome| outcome.round.clone());
                self.undo(round);
            }
            KeyCode::Enter => {
                if let Some(outcome) = outcomes.chosen() {
                    return Wish::Follow(outcome.round.workflow.clone());
                }
            }
            _ => {}
        }
        Wish::Nothing
    }

    pub(super) fn act(&mut self, act: Act) -> Wish {
        match act {
            Act::Nothing => {}
            Act::Back if self.asks_only => return Wish::Leave(0),
            Act::Back => self.close(),
            Act::Send(value) => return self.decide(Decision::Answer(value)),
            Act::Ask(purpose) => self.ask(purpose),
            Act::Say(words) => words.clone_into(&mut self.said),
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
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        if let Some((_, area)) = &mut self.asked {
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
