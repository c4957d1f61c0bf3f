//! Tells the stories of rounds. A teller looks at each thing that may hold all rounds up at most once, however many stories it tells.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;

use crate::attempt::record;
use crate::story::cause::{self, HoldUp};
use crate::story::kind::Cause;
use crate::story::queue::{self, Queue, QueueState};
use askbox_config::{Config, Loaded};
use askbox_mailbox::{Error, Folder, Lock, Mailbox, Time, WorkflowId, list, pause, text, time};

/// The programs whose commands name a mailbox.
const PROGRAMS: [&str; 3] = ["relaunch ", "askbox ", "ask-answer "];

/// The sources of causes.
enum Causes {
    /// The caller wants states alone.
    None,
    /// The configuration, or the error of reading it.
    Of(Result<Arc<Loaded>, Error>),
}

/// Tells the stories of a mailbox's rounds. Make a new one for each look: it keeps what it has seen.
pub struct Teller<'a> {
    pub(super) mailbox: &'a Mailbox,
    causes: Causes,
    moment: fn(Time) -> String,
    queue: OnceCell<Option<Queue>>,
    general: OnceCell<Vec<HoldUp>>,
    programs: RefCell<HashMap<String, Option<HoldUp>>>,
    live: OnceCell<usize>,
}

impl<'a> Teller<'a> {
    /// A teller of stories with their causes. The queue and the runners are those of this configuration.
    pub fn new(mailbox: &'a Mailbox, config: Result<Arc<Loaded>, Error>) -> Self {
        Self { causes: Causes::Of(config), ..Self::of_states(mailbox) }
    }

    /// A teller of stories without causes, for code that acts on a state.
    pub fn of_states(mailbox: &'a Mailbox) -> Self {
        Self {
            mailbox,
            causes: Causes::None,
            moment: time::rfc3339,
            queue: OnceCell::new(),
            general: OnceCell::new(),
            programs: RefCell::default(),
            live: OnceCell::new(),
        }
    }

    /// The same with local times in its words, for a page that people read.
    pub fn in_local_time(self) -> Self {
        Self { moment: time::local, ..self }
    }

    /// The mailbox.
    pub fn mailbox(&self) -> &'a Mailbox {
        self.mailbox
    }

    /// Everything that keeps answers of this mailbox from starting agents. The first one is to be mended first. A file that cannot be read is not
    /// a cause.
    pub fn general(&self) -> &[HoldUp] {
        self.general.get_or_init(|| {
            let mailbox = self.mailbox;
            let of_config = match &self.causes {
                Causes::None => return Vec::new(),
                Causes::Of(Err(error)) => {
                    [Some(cause::unreadable_configuration(error)), pause::held(mailbox).map(|how| cause::held(&how.to_string()))]
                }
                Causes::Of(Ok(loaded)) => [self.queue().and_then(|queue| cause::of_queue(queue, &loaded.config)), None],
            };
            let disk = [cause::no_room(mailbox), cause::read_only(mailbox)];
            let all = disk.into_iter().chain(of_config).chain([cause::no_watcher(mailbox)]).flatten();
            all.map(|hold_up| self.in_this_mailbox(hold_up)).collect()
        })
    }

    /// The same with commands that are about this mailbox, if it is not the one that they use without a flag.
    pub(super) fn in_this_mailbox(&self, hold_up: HoldUp) -> HoldUp {
        let root = self.mailbox.root();
        if Mailbox::locate(None).is_ok_and(|default| default == root) {
            return hold_up;
        }
        let is_ours = |command: &&str| PROGRAMS.iter().any(|program| command.starts_with(program)) && !command.contains(" -- ");
        let flag = format!(" --mailbox {}", text::path_word(root));
        let named = |command: &str| if is_ours(&command) { format!("{command}{flag}") } else { command.to_owned() };
        let next = hold_up.next.split(" && ").map(|line| line.split("; ").map(named).collect::<Vec<_>>().join("; ")).collect::<Vec<_>>();
        HoldUp { next: next.join(" && "), ..hold_up }
    }

    /// True if causes are told.
    pub(super) fn tells_causes(&self) -> bool {
        matches!(self.causes, Causes::Of(_))
    }

    /// The configuration, if it can be read.
    pub(super) fn config(&self) -> Option<&Config> {
        match &self.causes {
            Causes::Of(Ok(loaded)) => Some(&loaded.config),
            Causes::Of(Err(_)) | Causes::None => None,
        }
    }

    /// A time as the reader has it.
    pub(super) fn moment(&self, at: Time) -> String {
        (self.moment)(at)
    }

    /// The state of the queue. `None` if it cannot be read.
    pub fn queue(&self) -> Option<&Queue> {
        self.queue.get_or_init(|| queue::of(self.mailbox, self.config()?).ok()).as_ref()
    }

    /// The number of runs that may be live at the same time now.
    pub fn most_runs(&self) -> usize {
        match self.queue().map(|queue| queue.state) {
            Some(QueueState::Paused) => 0,
            Some(QueueState::Probing) => 1,
            Some(QueueState::Open) | None => self.config().map_or(usize::MAX, |config| config.relaunch.max_concurrent),
        }
    }

    /// The number of runs that a process supervises.
    pub fn live_runs(&self) -> usize {
        *self.live.get_or_init(|| {
            let lives = |round: &_| Lock::is_held(&record::lock_path(self.mailbox, round)).unwrap_or(false);
            list::round_names(self.mailbox, Folder::Running).filter(lives).count()
        })
    }

    /// The cause if the program of this workflow's runner cannot be started.
    pub(super) fn no_program(&self, id: &WorkflowId) -> Option<HoldUp> {
        let config = self.config()?;
        let name = config.runner_of(id).map(|(name, _)| name.to_string()).unwrap_or_default();
        self.programs.borrow_mut().entry(name).or_insert_with(|| cause::no_program(config, id)).clone()
    }

    /// What keeps the agent of a workflow from being launched, and does not end by itself.
    pub(super) fn in_the_way(&self, id: &WorkflowId) -> Vec<HoldUp> {
        let own = self.no_program(id);
        // A queue that waits for some program waits for this one too.
        let general = self.general().iter().filter(|known| own.is_none() || known.cause != Cause::NoProgram).cloned();
        general.chain(own.clone()).collect()
    }
}
