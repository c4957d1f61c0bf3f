//! The state of the screen, and how it follows the mailbox.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use uuid::Uuid;

use crate::address::Address;
use crate::error::Result;
use crate::id::WorkflowId;
use crate::mailbox::listing::list;
use crate::mailbox::who::presence;
use crate::run::view::status::Standing;
use crate::surface::askbox::inbox::held::Enter;
use crate::surface::askbox::inbox::line::Asking;
use crate::surface::askbox::inbox::list::rows::Row;
use crate::surface::askbox::inbox::list::waiting::Waiting;
use crate::surface::askbox::inbox::question::draft::Draft;
use crate::surface::askbox::inbox::question::kept::{Kept, Unkept};
use crate::surface::askbox::inbox::question::opened::Opened;
use crate::surface::askbox::inbox::sender::elsewhere::Elsewhere;
use crate::surface::askbox::inbox::sender::shown::{RoundAt, Shown};
use crate::surface::askbox::inbox::sender::{self, Sender};
use crate::surface::askbox::inbox::sent::given::Given;
use crate::surface::askbox::inbox::sent::outcomes::{Outcomes, State};
use crate::surface::askbox::inbox::waking::Changes;
use crate::surface::person::decision::Decision;
use crate::surface::program;
use crate::time;

/// The shortest time between two readings of the answered rounds.
const READ_ROUNDS_EVERY: Duration = Duration::from_millis(300);

/// What is on the screen.
#[derive(Debug)]
pub enum Place {
    List,
    Question(Box<Opened>),
    /// The open question is over: somebody else answered it, or it was taken back.
    Gone(Box<Gone>),
    Outcomes(Outcomes),
}

/// A question that vanished while it was open.
#[derive(Debug)]
pub struct Gone {
    pub address: Address,
    /// Who answered it, or what happened to it.
    pub why: String,
    /// What the person had typed.
    pub typed: Option<String>,
    /// The draft with it, until it is kept.
    pub kept: Option<Kept>,
}

/// The question of the chosen row, as it is shown beside the list.
#[derive(Debug)]
pub struct Preview {
    pub address: Address,
    /// `Err` says why it cannot be shown.
    pub shown: std::result::Result<Shown, String>,
}

/// Questions that are declined once the person confirms it: those that were shown, and no others.
#[derive(Debug)]
pub struct Confirm {
    pub rows: Vec<Rc<Row>>,
    pub why: String,
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
    pub asked: Option<Asking>,
    /// The reason for which the marked questions were to be declined, as it was typed last.
    pub(super) why_marked: String,
    /// Questions that are declined once the person confirms it.
    pub confirms: Option<Confirm>,
    pub shows_help: bool,
    /// The last thing to tell.
    pub said: String,
    /// Whether the first decision ends the inbox without being sent.
    pub asks_only: bool,
    /// Whether only signed answers count here.
    pub only_signed: bool,
    pub decided: Option<Decision>,
    /// The texts of which the last key said that the decision leaves them out.
    pub(super) told_left_out: Vec<Uuid>,
    pub(super) enter: Enter,
    /// Whether a watcher runs, once that is known.
    pub has_watcher: Option<bool>,
    /// Whether the key that takes an answer back would do so.
    pub can_undo: bool,
    /// Whether something was read since the last picture.
    pub picture_is_old: bool,
    pub(super) drafts: HashMap<RoundAt, Draft>,
    /// What was sent from this screen, the newest last.
    pub(super) sent: Vec<Given>,
    /// What is known of other machines, as it is on the screen.
    pub elsewhere: Arc<Elsewhere>,
    /// The question that is to be open first, until its machine is heard.
    wanted: Option<Address>,
    /// Drafts of questions that vanished, and that were not kept.
    pub(super) lost: Vec<Kept>,
    /// The drafts that lie on the disk, as far as they come from here.
    pub(super) on_disk: HashMap<RoundAt, Kept>,
    pub(super) unkept: Option<Unkept>,
    /// Since when the answered rounds on the screen may be old.
    rounds_old_since: Option<Instant>,
}

impl<'a> App<'a> {
    /// The list of questions, or the question of one workflow. The list's documents are read later.
    ///
    /// # Errors
    /// If the mailbox cannot be read.
    pub fn new(sender: Sender<'a>, open: Option<&Address>) -> Result<Self> {
        let mut app = Self {
            sender,
            waiting: Waiting::default(),
            preview: None,
            place: Place::List,
            asked: None,
            why_marked: String::new(),
            confirms: None,
            shows_help: false,
            said: String::new(),
            asks_only: false,
            only_signed: false,
            decided: None,
            told_left_out: Vec::new(),
            enter: Enter::default(),
            has_watcher: None,
            can_undo: false,
            picture_is_old: false,
            drafts: HashMap::new(),
            sent: Vec::new(),
            elsewhere: sender.others.latest(),
            wanted: None,
            lost: Vec::new(),
            on_disk: HashMap::new(),
            unkept: None,
            rounds_old_since: None,
        };
        app.waiting.list(sender)?;
        if let Some(address) = open {
            app.waiting.prefer(address);
            if address.host.is_none() {
                app.open(address);
            } else {
                app.wanted = Some(address.clone());
                app.open_wanted();
            }
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
            self.waiting.list(self.sender)?;
        }
        let concerns = |address: &Address| address.host.is_none() && (anything || questions.contains(&address.workflow));
        if self.preview.as_ref().is_some_and(|preview| concerns(&preview.address)) {
            self.preview = None;
        }
        if let Place::Question(opened) = &self.place
            && concerns(&opened.shown.address())
            && let Err(why) = self.sender.still_waits(&opened.shown)
        {
            self.gone(why);
        }
        if (rounds || anything) && matches!(self.place, Place::Outcomes(_)) {
            self.rounds_old_since.get_or_insert_with(Instant::now);
        }
        // A run may have claimed the answer that could be taken back.
        self.picture_is_old |= self.can_undo && (rounds || anything);
        questions.into_iter().for_each(|workflow| self.waiting.changed(Address::here(workflow)));
        Ok(())
    }

    /// Reads what has changed, until it is late. Returns whether the picture has changed.
    pub fn read(&mut self, until: Instant) -> bool {
        let mut changed = self.waiting.read(self.sender, until);
        if let (Place::Outcomes(outcomes), Some(_)) =
            (&mut self.place, self.rounds_old_since.filter(|since| since.elapsed() >= READ_ROUNDS_EVERY))
        {
            *outcomes = Outcomes::read(self.sender.mailbox, &self.sent, Some(outcomes));
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

    /// Reads the question that is shown beside the list, if another one is chosen now, and looks whether an answer can be taken back.
    pub fn settle(&mut self) {
        self.waiting.settle();
        self.can_undo = match &self.place {
            Place::List => self.sent.iter().rev().find(|given| given.may_count()).is_some_and(|given| self.sender.is_unclaimed(&given.at)),
            Place::Outcomes(outcomes) => outcomes.chosen().is_some_and(|chosen| matches!(chosen.state, State::Here(Standing::Answered))),
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

    /// Looks whether a watcher runs.
    pub fn look_for_a_watcher(&mut self) {
        // Where one only answers other machines' questions, nothing is launched.
        let only_answers = list::is_unused(self.sender.mailbox) && program::has_peers();
        self.has_watcher = if only_answers { None } else { presence::anybody(self.sender.mailbox).ok() };
    }

    /// The open question is over. What was typed stays on the screen.
    pub(super) fn gone(&mut self, why: String) {
        self.keep_drafts();
        let Place::Question(opened) = &mut self.place else { return };
        if let Some(asking) = self.asked.take() {
            opened.draft.typed.set(asking.purpose, asking.text());
        }
        let (kept, typed) = (Kept::of(&opened.shown.at(), &opened.draft, None), opened.draft.typed());
        self.place = Place::Gone(Box::new(Gone { address: opened.shown.address(), why, typed, kept }));
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
        if self.is_on_its_way(&at) {
            // A second answer would only lose to it.
            self.said = self.offered_for(&at).and_then(Given::news).unwrap_or_default();
            return;
        }
        self.said.clear();
        let draft = self.drafts.remove(&at).or_else(|| self.unconfirmed(&at)).or_else(|| {
            let (draft, kept) = Kept::find(&at, shown.question())?;
            self.said = format!("your draft is here again; it was kept {} ago", time::human(time::since(kept.kept_at)));
            self.on_disk.insert(at.clone(), kept);
            Some(draft)
        });
        self.place = Place::Question(Box::new(Opened::new(shown, draft)));
    }

    /// The draft of an answer that may have arrived or not. The person is told.
    fn unconfirmed(&mut self, at: &RoundAt) -> Option<Draft> {
        let given = self.sent.iter_mut().rev().find(|given| given.at == *at && given.offer.is_some())?;
        if given.is_open() {
            self.said = given.news()?;
        }
        given.draft.take()
    }

    /// Opens the question that was asked for, once its machine has told of it.
    pub(super) fn open_wanted(&mut self) {
        let Some(Address { host: Some(host), workflow }) = &self.wanted else { return };
        let (is_known, is_asked) = (self.elsewhere.question(host, workflow).is_some(), self.elsewhere.is_asked(host));
        match self.wanted.clone() {
            Some(address) if is_known || !is_asked => {
                self.wanted = None;
                self.open(&address);
            }
            Some(address) => self.said = format!("{address}: its machine is being asked"),
            None => {}
        }
    }

    /// The person does something else: no question opens by itself any more.
    pub(super) fn want_nothing(&mut self) {
        self.wanted = None;
    }

    pub(super) fn close(&mut self) {
        self.leave();
        self.keep_drafts();
    }

    fn leave(&mut self) {
        match std::mem::replace(&mut self.place, Place::List) {
            Place::Question(opened) => {
                self.drafts.insert(opened.shown.at(), opened.draft);
            }
            Place::Gone(gone) => self.lost.extend(gone.kept),
            _ => {}
        }
    }

    /// Every draft that was not sent, or is not accepted yet. Called once, when the inbox is left.
    pub fn unsent(&mut self) -> Vec<Kept> {
        if let (Place::Question(opened), Some(asking)) = (&mut self.place, self.asked.take()) {
            opened.draft.typed.set(asking.purpose, asking.text());
        }
        self.leave();
        let (mut unsent, mut emptied) = (std::mem::take(&mut self.lost), Vec::new());
        for (at, draft) in self.drafts.drain() {
            match Kept::of(&at, &draft, None) {
                Some(kept) => unsent.push(kept),
                None if self.on_disk.contains_key(&at) => emptied.push(at),
                None => {}
            }
        }
        emptied.iter().for_each(|at| self.forget(at));
        let undecided = self.sent.iter().filter(|given| given.offer.is_some());
        unsent.extend(undecided.filter_map(|given| Kept::of(&given.at, given.draft.as_ref()?, None)));
        unsent.sort_by_key(|kept| kept.at().address());
        unsent
    }
}
