//! The state of the screen. It follows the changes of the mailbox.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use crate::gate::Gate;
use crate::keeping::{Keeping, Open};
use crate::list::WaitingList;
use crate::log_pane::LogPane;
use crate::question::draft::Draft;
use crate::question::kept_drafts::{self, KeptDraft};
use crate::question::opened::Opened;
use crate::question::stray::TypedLetters;
use crate::sender::machines::{Heard, Wanted};
use crate::sender::{self, Sender, ShownQuestion};
use crate::sent::from_here::{FromHere, News, SentAnswer};
use crate::sent::outcomes::Outcomes;
use crate::sessions;
use crate::targets::Targets;
use crate::text_window::{Asking, Purpose};
use crate::waking::Changes;
use askbox_cli::{AtStake, PersonsDecision, SeenRound, program, question_text};
use askbox_mailbox::{Address, Result, RoundAt, WorkflowId, list, time};
use askbox_run::{Cause, HoldUp};
use askbox_sessions::SessionAt;

/// The view that is on the screen.
pub enum Place {
    List,
    Question(Box<Opened>),
    /// The open question is over. Somebody else answered it, or it was taken back.
    Gone(Box<Gone>),
    Outcomes(Outcomes),
    Sessions(Box<sessions::List>),
    Session(Box<sessions::View>),
    /// The log of a run. Going back from it leads to these answered questions.
    Log(Box<LogPane>, Outcomes),
}

/// A question that vanished while it was open.
pub struct Gone {
    pub address: Address,
    /// The person who answered it, or the way it ended otherwise.
    pub why: String,
    /// The text that the person had typed.
    pub typed: Option<String>,
    /// The person's draft.
    pub kept: Option<KeptDraft>,
    /// The words that tell where the draft is kept.
    pub kept_in: Option<String>,
}

/// The question of the chosen row, shown beside the list.
pub struct Preview {
    pub address: Address,
    /// The question. `Err` says why it cannot be shown.
    pub shown: std::result::Result<ShownQuestion, String>,
}

/// The answers that the person was told can be taken back, and when.
pub struct ToldUndo {
    pub rounds: Vec<RoundAt>,
    pub told: Instant,
}

/// The words that tell how the decision is taken back, behind the message that announces it.
pub struct UndoHint {
    /// The message.
    pub behind: String,
    pub says: &'static str,
}

/// The event that ends the inbox.
pub enum Until {
    /// The person leaves the inbox.
    Left,
    /// The person has made one decision. The inbox does not send it.
    Decided(Option<PersonsDecision>),
}

/// A request to the loop that runs the screen.
#[derive(Debug, PartialEq)]
pub enum Wish {
    Nothing,
    /// Leave, with this exit status.
    Leave(u8),
    /// Stop this program, as every program is stopped, until the shell goes on with it.
    Stop,
    /// Ask the terminal to report the mouse, or no longer.
    Mouse,
    /// Open the editor on this text.
    Edit(String),
    /// Let the person change the call that this workflow asks about, and decide on the changed call, with this note for the agent.
    EditCall(Address, SeenRound, String),
    /// Follow the log of this workflow.
    Follow(WorkflowId),
    /// Follow the sessions of agent programs.
    Sessions,
    /// Follow this session.
    Session(SessionAt),
}

/// The state of the screen.
pub struct App<'a> {
    pub sender: Sender<'a>,
    pub waiting: WaitingList,
    pub preview: Option<Preview>,
    pub place: Place,
    /// The window that asks for a text, if one is open.
    pub asked: Option<Asking>,
    pub gate: Gate,
    /// The lines of the help that are scrolled off its top, while it is shown.
    pub help: Option<usize>,
    /// The places of the last picture that a click chooses.
    pub targets: RefCell<Targets>,
    /// True if the terminal reports clicks and the wheel.
    pub has_mouse: bool,
    /// The last message for the person.
    pub said: String,
    pub until: Until,
    /// True if only signed answers count here.
    pub only_signed: bool,
    /// The first cause that keeps answers from starting agents.
    pub held_up_by: Option<Cause>,
    /// When that was looked for.
    looked_at: Option<Instant>,
    /// The answers that the key `u` takes back if it is pressed again.
    pub(super) told_undo: Option<ToldUndo>,
    /// True if the key that takes an answer back would now take one back.
    pub can_undo: bool,
    /// The reason why answers start no agent for now, if the person was told.
    pub(super) told_hold_up: Option<HoldUp>,
    /// The sentence that names this key.
    pub(super) undo_hint: Option<UndoHint>,
    /// The letters that were typed in the list, or in the panel that asks what words mean.
    pub(super) letters: TypedLetters,
    /// The texts of which the person was told that a changed call is sent without them.
    pub(super) told_of_edit: Option<AtStake>,
    /// True if something was read since the screen was last drawn.
    pub picture_is_old: bool,
    pub(super) keeping: Keeping,
    pub sent: FromHere,
    pub heard: Heard,
}

impl<'a> App<'a> {
    /// Creates the state with the list of questions, or with the question of one workflow open. The documents of the list are read later.
    ///
    /// # Errors
    /// If the mailbox cannot be read.
    pub fn new(sender: Sender<'a>, open: Option<&Address>) -> Result<Self> {
        let mut app = Self {
            sender,
            waiting: WaitingList::default(),
            preview: None,
            place: Place::List,
            asked: None,
            gate: Gate::default(),
            help: None,
            targets: RefCell::default(),
            has_mouse: true,
            said: String::new(),
            until: Until::Left,
            only_signed: false,
            held_up_by: None,
            looked_at: None,
            told_undo: None,
            can_undo: false,
            told_hold_up: None,
            undo_hint: None,
            letters: TypedLetters::default(),
            told_of_edit: None,
            picture_is_old: false,
            keeping: Keeping::default(),
            sent: FromHere::default(),
            heard: Heard::new(sender.others),
        };
        app.waiting.list(sender)?;
        if let Some(address) = open {
            app.waiting.prefer(address);
            if address.host.is_none() {
                app.open(address);
            } else {
                app.heard.want(address);
                app.open_wanted();
            }
        }
        Ok(app)
    }

    /// Takes in changes of the mailbox. The changed questions are read by [`Self::read`].
    ///
    /// # Errors
    /// If the mailbox cannot be read.
    pub fn follow(&mut self, changes: Changes) -> Result<()> {
        let Changes { questions, rounds, anything } = changes;
        if anything {
            self.waiting.list(self.sender)?;
        }
        let concerns = |address: &Address| address.host.is_none() && (anything || questions.contains(&address.workflow));
        self.look_again_at(concerns);
        if rounds || anything {
            let is_looked_at = matches!(self.place, Place::Outcomes(_));
            let news = self.sent.hear_ends(self.sender, is_looked_at);
            self.take_in(news);
            if let Place::Outcomes(outcomes) = &mut self.place {
                outcomes.old_since.get_or_insert_with(Instant::now);
            }
        }
        // A run may have claimed the answer that could still be taken back.
        self.picture_is_old |= self.can_undo && (rounds || anything);
        questions.into_iter().for_each(|workflow| self.waiting.changed(Address::here(workflow)));
        Ok(())
    }

    /// Reads the changes, stopping at `until`. Returns true if the picture has changed.
    pub fn read(&mut self, until: Instant) -> bool {
        let mut changed = self.waiting.read(self.sender, until);
        if let Place::Outcomes(outcomes) = &mut self.place
            && outcomes.reads_at().is_some_and(|at| at <= Instant::now())
        {
            *outcomes = Outcomes::read(&self.sender.teller(), &self.sent.all, Some(outcomes));
            changed = true;
        }
        changed
    }

    /// The time when [`Self::read`] has work to do even without a change.
    pub fn reads_at(&self) -> Option<Instant> {
        if self.waiting.is_behind() {
            return Some(Instant::now());
        }
        if let Place::Outcomes(outcomes) = &self.place { outcomes.reads_at() } else { None }
    }

    /// Reads the question beside the list if another row is chosen now, and checks if an answer can be taken back.
    pub fn settle(&mut self) {
        self.waiting.settle();
        self.can_undo = match &self.place {
            Place::List => self.sent.last().iter().any(|at| self.sender.may_be_taken_back(at)),
            Place::Outcomes(outcomes) => outcomes.chosen().is_some_and(|chosen| self.sender.may_be_taken_back(&chosen.at)),
            _ => false,
        };
        let chosen = self.waiting.chosen().map(|row| row.address.clone());
        let chosen = chosen.filter(|_| matches!(self.place, Place::List));
        if self.preview.as_ref().map(|preview| &preview.address) == chosen.as_ref() {
            return;
        }
        self.preview = chosen.map(|address| {
            let shown = self.sender.pending(&address).map_err(sender::in_one_line);
            Preview { address, shown }
        });
    }

    /// Looks for what keeps answers from starting agents, at most once a second.
    pub fn look_for_hold_ups_now_and_then(&mut self) {
        if self.looked_at.is_none_or(|at| at.elapsed() >= Duration::from_secs(1)) {
            self.look_for_hold_ups();
        }
    }

    /// Looks for what keeps answers from starting agents.
    pub fn look_for_hold_ups(&mut self) {
        self.looked_at = Some(Instant::now());
        // A machine that only answers other machines' questions launches nothing, so it needs no watcher.
        let only_answers = list::is_unused(self.sender.mailbox) && program::has_peers();
        let cause = || self.sender.teller().general().first().map(|hold_up| hold_up.cause);
        self.held_up_by = if only_answers { None } else { cause() };
    }

    /// Handles the end of the open question. The typed text stays on the screen.
    pub(super) fn gone(&mut self, why: String) {
        self.keep_drafts();
        self.gate.forget();
        let Place::Question(opened) = &mut self.place else { return };
        if let Some(asking) = self.asked.take() {
            opened.draft.typed.set(asking.purpose, asking.text());
        }
        let (kept, typed) = (KeptDraft::from_draft(&opened.shown.at(), &opened.draft, None), opened.draft.typed());
        let kept_in = kept.as_ref().map(KeptDraft::keep_in_words);
        self.place = Place::Gone(Box::new(Gone { address: opened.shown.address(), why, typed, kept, kept_in }));
    }

    pub(super) fn open(&mut self, address: &Address) {
        let shown = match self.sender.pending(address) {
            Ok(shown) => shown,
            Err(e) => {
                self.said = self.sender.why_not(address, e);
                return;
            }
        };
        let at = shown.at();
        if self.sent.is_on_its_way(&at) {
            // A second answer would lose against the one that is on its way.
            self.said = self.sent.offered_for(&at).and_then(SentAnswer::news).unwrap_or_default();
            return;
        }
        self.said.clear();
        self.gate.forget();
        self.letters.forget();
        let draft = self.draft_of(&at, &shown);
        let headline = question_text::marked_title(self.sender.mailbox_of(address), shown.question());
        self.place = Place::Question(Box::new(Opened::new(shown, headline, draft)));
    }

    /// The draft for a question that is being opened. Tells the person where an earlier draft comes from.
    fn draft_of(&mut self, at: &RoundAt, shown: &ShownQuestion) -> Option<Draft> {
        if let Some(draft) = self.keeping.drafts.remove(at) {
            return Some(draft);
        }
        let (draft, news) = self.sent.take_unconfirmed(at);
        self.said = news.unwrap_or_default();
        if draft.is_some() {
            return draft;
        }
        let (draft, kept_at) = self.keeping.find(at, shown.question())?;
        self.said = format!("your draft is here again; it was kept {} ago", time::human(time::since(kept_at)));
        Some(draft)
    }

    /// Opens the question that the command line names, once its machine has reported it.
    fn open_wanted(&mut self) {
        match self.heard.wanted() {
            Some(Wanted::Opens(address)) => self.open(&address),
            Some(Wanted::Waits(address)) => self.said = format!("{address}: its machine is being asked"),
            None => {}
        }
    }

    /// Takes in the reports of other machines. Returns true if the screen must change.
    pub fn follow_others(&mut self) -> bool {
        let Some(changes) = self.heard.follow(self.sender.others) else { return false };
        self.look_again_at(|address| changes.contains(address));
        changes.into_iter().for_each(|address| self.waiting.changed(address));
        self.hear_of_offers();
        self.open_wanted();
        true
    }

    /// Takes in that the questions at these addresses may have changed: one may be previewed or open.
    fn look_again_at(&mut self, has_changed: impl Fn(&Address) -> bool) {
        self.preview.take_if(|preview| has_changed(&preview.address));
        if let Place::Question(opened) = &self.place
            && has_changed(&opened.shown.address())
            && let Err(why) = self.sender.still_waits(&opened.shown)
        {
            self.gone(why);
        }
    }

    fn hear_of_offers(&mut self) {
        let is_looked_at = matches!(self.place, Place::Outcomes(_));
        let news = self.sent.hear(self.sender.others, &self.heard.now, is_looked_at);
        self.take_in(news);
        if let Place::Outcomes(outcomes) = &mut self.place {
            *outcomes = Outcomes::read(&self.sender.teller(), &self.sent.all, Some(outcomes));
        }
    }

    fn take_in(&mut self, News { said, accepted, again }: News) {
        again.into_iter().for_each(|(at, draft)| self.keeping.put_if_none(at, draft));
        accepted.iter().for_each(|at| self.keeping.accepted(at));
        if !said.is_empty() {
            self.said = said.join(" · ");
        }
    }

    /// Shows the log of a run, which was chosen among the answered questions.
    pub fn show_log(&mut self, log: Result<LogPane>) {
        match (log, &mut self.place) {
            (Err(e), _) => self.said = sender::in_one_line(e),
            (Ok(log), Place::Outcomes(outcomes)) => self.place = Place::Log(Box::new(log), std::mem::take(outcomes)),
            (Ok(_), _) => {}
        }
    }

    /// True if the log on the screen has changed since the last call.
    pub(super) fn log_has_grown(&self) -> bool {
        matches!(&self.place, Place::Log(log, _) if log.has_grown())
    }

    /// Goes back from a log to the answered questions.
    pub(super) fn close_log(&mut self) {
        if let Place::Log(_, outcomes) = &mut self.place {
            self.place = Place::Outcomes(Outcomes::read(&self.sender.teller(), &self.sent.all, Some(outcomes)));
        }
    }

    /// Shows the answered questions and their state.
    pub(super) fn show_outcomes(&mut self) {
        self.place = Place::Outcomes(Outcomes::read(&self.sender.teller(), &self.sent.all, None));
        self.sent.see();
    }

    /// The last message for the person. As long as the decision that it announces can be taken back, it says how. News does not take the
    /// place of a question that the next keys confirm.
    pub fn message(&self) -> String {
        if let Some(asked) = self.pending_question() {
            return if self.said.is_empty() || self.said == asked { asked } else { format!("{asked} · {}", self.said) };
        }
        match &self.undo_hint {
            Some(hint) if self.can_undo && hint.behind == self.said => format!("{} · {}", self.said, hint.says),
            _ => self.said.clone(),
        }
    }

    /// Notes that a key or a paste may have changed the open question's draft.
    pub fn typed(&mut self) {
        if let (Place::Session(view), Some(asking)) = (&self.place, &self.asked)
            && asking.purpose == Purpose::Prompt
        {
            kept_drafts::keep_prompt(&view.at.to_string(), &asking.text());
        }
        self.keeping.typed(self.open_draft());
    }

    /// Writes the changed drafts to disk.
    pub fn keep_drafts(&mut self) {
        if let Err(why) = self.keeping.keep(self.open_draft()) {
            self.said = why;
        }
    }

    /// Returns what is to be stored of the answer that is being written to the open question, with the text of an open window.
    fn open_draft(&self) -> Open {
        let Place::Question(opened) = &self.place else { return None };
        Some((opened.shown.at(), KeptDraft::from_draft(&opened.shown.at(), &opened.draft, self.asked.as_ref())))
    }

    pub(super) fn close(&mut self) {
        self.leave();
        self.keep_drafts();
    }

    fn leave(&mut self) {
        self.gate.forget();
        match std::mem::replace(&mut self.place, Place::List) {
            Place::Question(opened) => drop(self.keeping.drafts.insert(opened.shown.at(), opened.draft)),
            Place::Gone(gone) => self.keeping.lost.extend(gone.kept),
            _ => {}
        }
    }

    /// All drafts that were not sent, or whose answer is not accepted yet. Called once, when the inbox is left.
    pub fn unsent(&mut self) -> Vec<KeptDraft> {
        if let (Place::Question(opened), Some(asking)) = (&mut self.place, self.asked.take()) {
            opened.draft.typed.set(asking.purpose, asking.text());
        }
        self.leave();
        let mut unsent = self.keeping.unsent();
        unsent.extend(self.sent.undecided());
        unsent.sort_by_key(|kept| kept.at().address());
        unsent
    }
}
