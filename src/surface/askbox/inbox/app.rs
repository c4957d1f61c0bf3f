//! The state of the screen, and what each key does to it.

use std::collections::{BTreeSet, HashMap};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui_textarea::TextArea;

use crate::error::{Error, Result};
use crate::id::{QuestionId, RoundId, WorkflowId};
use crate::surface::askbox::inbox::draft::Draft;
use crate::surface::askbox::inbox::line::{self, Purpose};
use crate::surface::askbox::inbox::opened::{Act, Opened};
use crate::surface::askbox::inbox::outcomes::Outcomes;
use crate::surface::askbox::inbox::rows::{self, Row};
use crate::surface::askbox::inbox::send::{self, Decision, Sender};

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
    /// What the person had typed.
    pub typed: Option<String>,
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
    pub rows: Vec<Row>,
    pub filter: String,
    /// The chosen question of the list.
    pub chosen: Option<WorkflowId>,
    pub marked: BTreeSet<WorkflowId>,
    pub place: Place,
    /// A text that is asked for.
    pub asked: Option<(Purpose, TextArea<'static>)>,
    pub shows_help: bool,
    /// The last thing to tell.
    pub said: String,
    /// Whether the first decision ends the inbox without being sent.
    pub asks_only: bool,
    pub decided: Option<Decision>,
    drafts: HashMap<QuestionId, Draft>,
    /// What was sent from this screen, the newest last.
    sent: Vec<RoundId>,
    /// The place of the chosen row: where it vanishes, the next one is chosen.
    place_of_chosen: usize,
}

impl<'a> App<'a> {
    /// The list of questions, or the question of one workflow.
    ///
    /// # Errors
    /// If the mailbox cannot be read, or that question.
    pub fn new(sender: Sender<'a>, open: Option<&WorkflowId>) -> Result<Self> {
        let mut app = Self {
            sender,
            rows: Vec::new(),
            filter: String::new(),
            chosen: open.cloned(),
            marked: BTreeSet::new(),
            place: Place::List,
            asked: None,
            shows_help: false,
            said: String::new(),
            asks_only: false,
            decided: None,
            drafts: HashMap::new(),
            sent: Vec::new(),
            place_of_chosen: 0,
        };
        app.look()?;
        if let Some(workflow) = open {
            app.open(workflow);
        }
        Ok(app)
    }

    /// The rows that the filter lets through.
    pub fn shown(&self) -> Vec<&Row> {
        self.rows.iter().filter(|row| rows::fits(row, &self.filter)).collect()
    }

    /// Reads the mailbox again.
    pub fn look(&mut self) -> Result<()> {
        self.rows = rows::all(self.sender.mailbox)?;
        let waiting: BTreeSet<_> = self.rows.iter().map(|row| &row.workflow).collect();
        self.marked.retain(|workflow| waiting.contains(workflow));
        self.keep_chosen();
        match &mut self.place {
            Place::Question(opened) => {
                if let Err(why) = self.sender.still_waits(&opened.round.id) {
                    let (workflow, typed) = (opened.round.id.workflow.clone(), opened.draft.typed());
                    self.gone(workflow, why, typed);
                }
            }
            Place::Outcomes(outcomes) => *outcomes = Outcomes::read(self.sender.mailbox, Some(outcomes)),
            Place::List | Place::Gone(_) => {}
        }
        Ok(())
    }

    fn keep_chosen(&mut self) {
        let shown = self.shown();
        let at = self.chosen.as_ref().and_then(|chosen| shown.iter().position(|row| row.workflow == *chosen));
        let at = at.unwrap_or(self.place_of_chosen.min(shown.len().saturating_sub(1)));
        self.chosen = shown.get(at).map(|row| row.workflow.clone());
        self.place_of_chosen = at;
    }

    /// What was typed stays on the screen.
    fn gone(&mut self, workflow: WorkflowId, why: String, typed: Option<String>) {
        let asked = self.asked.take().map(|(_, area)| line::text(&area)).filter(|text| !text.trim().is_empty());
        let typed = [typed, asked].into_iter().flatten().collect::<Vec<_>>().join("\n\n");
        self.place = Place::Gone(Gone { workflow, why, typed: Some(typed).filter(|typed| !typed.is_empty()) });
    }

    fn open(&mut self, workflow: &WorkflowId) {
        match self.sender.pending(workflow) {
            Ok(round) => {
                let draft = self.drafts.remove(&round.id.question);
                self.place = Place::Question(Box::new(Opened::new(round, draft)));
                self.said.clear();
            }
            Err(e) if e.is_missing_file() => self.said = self.sender.fate(workflow),
            Err(e) => self.said = send::in_one_line(e),
        }
    }

    fn close(&mut self) {
        if let Place::Question(opened) = std::mem::replace(&mut self.place, Place::List) {
            self.drafts.insert(opened.round.id.question, opened.draft);
        }
    }

    /// What a key does.
    pub fn key(&mut self, key: KeyEvent) -> Wish {
        if key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c') {
            return Wish::Leave(130);
        }
        if self.shows_help {
            self.shows_help = false;
            return Wish::Nothing;
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
        let last = self.shown().len().saturating_sub(1);
        match key.code {
            KeyCode::Char('q') | KeyCode::Esc if self.filter.is_empty() || key.code == KeyCode::Char('q') => return Wish::Leave(0),
            KeyCode::Esc => {
                self.filter.clear();
                self.keep_chosen();
            }
            KeyCode::Char('?') => self.shows_help = true,
            KeyCode::Up | KeyCode::Char('k') => self.choose(self.place_of_chosen.saturating_sub(1)),
            KeyCode::Down | KeyCode::Char('j') => self.choose((self.place_of_chosen + 1).min(last)),
            KeyCode::PageUp => self.choose(self.place_of_chosen.saturating_sub(10)),
            KeyCode::PageDown => self.choose((self.place_of_chosen + 10).min(last)),
            KeyCode::Home => self.choose(0),
            KeyCode::End => self.choose(last),
            KeyCode::Tab => self.place = Place::Outcomes(Outcomes::read(self.sender.mailbox, None)),
            KeyCode::Char('/') => self.ask(Purpose::Filter),
            KeyCode::Char(' ') => {
                if let Some(chosen) = self.chosen.clone()
                    && !self.marked.remove(&chosen)
                {
                    self.marked.insert(chosen);
                }
                self.choose((self.place_of_chosen + 1).min(last));
            }
            KeyCode::Char('d') if !self.marked.is_empty() => self.ask(Purpose::DeclineMarked(self.marked.len())),
            KeyCode::Char('u') => self.undo(self.sent.last().cloned()),
            KeyCode::Enter => {
                if let Some(chosen) = self.chosen.clone() {
                    self.open(&chosen);
                }
            }
            KeyCode::Char(c @ ('d' | 'b')) => {
                if let Some(chosen) = self.chosen.clone() {
                    self.open(&chosen);
                    if matches!(self.place, Place::Question(_)) {
                        self.ask(if c == 'd' { Purpose::Decline } else { Purpose::AskBack });
                    }
                }
            }
            _ => {}
        }
        Wish::Nothing
    }

    fn choose(&mut self, at: usize) {
        self.chosen = self.shown().get(at).map(|row| row.workflow.clone());
        self.place_of_chosen = at;
    }

    fn key_of_gone(&mut self, key: KeyEvent) -> Wish {
        let Place::Gone(gone) = &self.place else { return Wish::Nothing };
        match key.code {
            KeyCode::Char('w') if gone.typed.is_some() => {
                self.said = match gone.typed.as_deref().and_then(send::keep) {
                    Some(path) => format!("your text is kept in {}", path.display()),
                    None => "your text cannot be kept: the folder for temporary files cannot be written to".into(),
                };
                return Wish::Nothing;
            }
            KeyCode::Char('o') => {
                let (workflow, typed) = (gone.workflow.clone(), gone.typed.clone());
                self.open(&workflow);
                if let (Place::Question(opened), Some(typed)) = (&mut self.place, typed) {
                    let act = opened.insert(&typed, false);
                    return self.act(act);
                }
            }
            KeyCode::Enter | KeyCode::Esc | KeyCode::Char('q') => self.place = Place::List,
            _ => {}
        }
        Wish::Nothing
    }

    fn key_of_outcomes(&mut self, key: KeyEvent) -> Wish {
        let Place::Outcomes(outcomes) = &mut self.place else { return Wish::Nothing };
        match key.code {
            KeyCode::Up | KeyCode::Char('k') => outcomes.step(self.sender.mailbox, false),
            KeyCode::Down | KeyCode::Char('j') => outcomes.step(self.sender.mailbox, true),
            KeyCode::Tab | KeyCode::Esc => self.place = Place::List,
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

    /// Takes an answer back: the one that was sent last, or the chosen one.
    fn undo(&mut self, round: Option<RoundId>) {
        let Some(round) = round else {
            "nothing was answered from here that could be taken back".clone_into(&mut self.said);
            return;
        };
        match self.sender.undo(&round) {
            Ok(answer) => {
                self.sent.retain(|sent| *sent != round);
                self.chosen = Some(round.workflow.clone());
                self.said = format!("{}: taken back ({answer}); the question waits again", round.workflow);
            }
            Err(e) => self.said = send::in_one_line(e),
        }
        self.look_quietly();
    }

    fn ask(&mut self, purpose: Purpose) {
        let before = match (purpose, &self.place) {
            (Purpose::Filter, _) => self.filter.clone(),
            (Purpose::Note, Place::Question(opened)) => opened.draft.note.clone(),
            _ => String::new(),
        };
        self.asked = Some((purpose, line::area(&before)));
    }

    fn key_of_text(&mut self, key: KeyEvent) -> Wish {
        let Some((purpose, area)) = &mut self.asked else { return Wish::Nothing };
        let (purpose, newline) = (*purpose, key.modifiers.intersects(KeyModifiers::ALT | KeyModifiers::SHIFT));
        match key.code {
            KeyCode::Esc => {
                self.asked = None;
                if purpose == Purpose::Filter {
                    self.filter.clear();
                    self.keep_chosen();
                }
                return Wish::Nothing;
            }
            KeyCode::Enter if newline && purpose != Purpose::Filter => area.insert_newline(),
            KeyCode::Enter => {
                let text = line::text(area);
                if purpose == Purpose::AskBack && text.trim().is_empty() {
                    "write your question, or leave with esc".clone_into(&mut self.said);
                    return Wish::Nothing;
                }
                self.asked = None;
                self.said.clear();
                return self.take(purpose, text);
            }
            _ => drop(area.input(key)),
        }
        if purpose == Purpose::Filter {
            self.filter = line::text(area);
            self.place_of_chosen = 0;
            self.chosen = None;
            self.keep_chosen();
        }
        Wish::Nothing
    }

    fn take(&mut self, purpose: Purpose, text: String) -> Wish {
        match purpose {
            Purpose::Filter => {}
            Purpose::DeclineMarked(_) => self.decline_marked(&text),
            Purpose::Decline => return self.decide(Decision::Decline(text)),
            Purpose::AskBack => return self.decide(Decision::AskBack(text)),
            Purpose::Note => {
                if let Place::Question(opened) = &mut self.place {
                    opened.draft.note = text;
                }
            }
        }
        Wish::Nothing
    }

    fn act(&mut self, act: Act) -> Wish {
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

    fn decide(&mut self, decision: Decision) -> Wish {
        if self.asks_only {
            self.decided = Some(decision);
            return Wish::Leave(0);
        }
        self.send(decision);
        Wish::Nothing
    }

    /// Sends a decision about the open question.
    fn send(&mut self, decision: Decision) {
        let Place::Question(opened) = &self.place else { return };
        let round = opened.round.id.clone();
        match self.sender.send(&round, decision, &opened.draft.note) {
            Ok(sent) => {
                let warning = sent.warning.map_or_else(String::new, |warning| format!(" · warning: {warning}"));
                self.said = format!("{}: {} · u takes it back{warning}", round.workflow, sent.words);
                self.sent.push(sent.round);
                self.place = Place::List;
            }
            // The answer does not fit the question: the question stays open.
            Err(e @ (Error::Invalid { .. } | Error::Usage { .. })) => self.said = send::in_one_line(e),
            Err(e) => match self.sender.still_waits(&round) {
                Ok(()) => self.said = send::in_one_line(e),
                Err(_) => {
                    let typed = opened.draft.typed();
                    self.gone(round.workflow, send::in_one_line(e), typed);
                }
            },
        }
        self.look_quietly();
    }

    fn decline_marked(&mut self, why: &str) {
        let marked: Vec<_> = self.rows.iter().filter(|row| self.marked.contains(&row.workflow)).cloned().collect();
        let (mut declined, mut failed) = (0, None);
        for row in marked {
            // A question that took another one's place meanwhile is not the one that was marked.
            let result = self.sender.pending(&row.workflow).and_then(|round| {
                if row.question.is_some_and(|shown| shown != round.id.question) {
                    return Err(Error::conflict(format!("{} asks another question by now", row.workflow), "look at it first"));
                }
                self.sender.send(&round.id, Decision::Decline(why.to_owned()), "")
            });
            match result {
                Ok(sent) => {
                    declined += 1;
                    self.marked.remove(&row.workflow);
                    self.sent.push(sent.round);
                }
                Err(e) => failed = Some(send::in_one_line(e)),
            }
        }
        let questions = if declined == 1 { "question" } else { "questions" };
        self.said = match failed {
            None => format!("{declined} {questions} declined · u takes the last one back"),
            Some(why) => format!("{declined} {questions} declined; the marked ones are still open: {why}"),
        };
        self.look_quietly();
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

    fn look_quietly(&mut self) {
        if let Err(e) = self.look() {
            self.said = send::in_one_line(e);
        }
    }
}
