//! The workflows that are not over. There may be a hundred thousand: only their names are in memory together.

use std::collections::BTreeMap;

use crate::story::read::{beside, parked, unreadable};
use crate::story::shape::{Standing, Story};
use crate::story::teller::Teller;
use askbox_mailbox::{
    Folder, Mailbox, QuarantinedRound, QuestionId, Result, RoundId, WorkflowId, awaits, list, quarantined_round, read_question, round,
};

/// The workflows that are not over, by the names of their files.
pub struct OpenWorkflows {
    places: BTreeMap<WorkflowId, Places>,
    held: BTreeMap<WorkflowId, QuarantinedRound>,
}

/// The places of a workflow's open rounds.
#[derive(Debug, Default)]
struct Places {
    parked: Vec<QuestionId>,
    running: Vec<QuestionId>,
    is_answered: bool,
    is_pending: bool,
    awaits_others: bool,
}

impl OpenWorkflows {
    /// Lists the names.
    ///
    /// # Errors
    /// If a folder of the mailbox cannot be read.
    pub fn find(mailbox: &Mailbox) -> Result<Self> {
        let mut places: BTreeMap<WorkflowId, Places> = BTreeMap::new();
        // In the order of a round's moves, so that a round that moves during the look is found at least once.
        for workflow in list::workflows(mailbox, Folder::Pending)? {
            places.entry(workflow).or_default().is_pending = true;
        }
        for workflow in list::workflows(mailbox, Folder::Answered)? {
            places.entry(workflow).or_default().is_answered = true;
        }
        for round in list::round_names(mailbox, Folder::Running) {
            places.entry(round.workflow).or_default().running.push(round.question);
        }
        for round in list::round_names(mailbox, Folder::Parked) {
            places.entry(round.workflow).or_default().parked.push(round.question);
        }
        let mut held = BTreeMap::new();
        for round in quarantined_round::all(mailbox)? {
            places.entry(round.workflow.clone()).or_default();
            held.insert(round.workflow.clone(), round);
        }
        for parent in awaits::parents(mailbox)? {
            places.entry(parent).or_default().awaits_others = true;
        }
        Ok(Self { places, held })
    }

    /// Their ids, in order. Some of them may turn out to be over.
    pub fn ids(&self) -> impl Iterator<Item = &WorkflowId> {
        self.places.keys()
    }

    /// True if the workflow is among them.
    pub fn has(&self, workflow: &WorkflowId) -> bool {
        self.places.contains_key(workflow)
    }

    /// The story of each, in the order of the ids. Each is read when its turn comes.
    pub fn stories<'t>(self, teller: &'t Teller<'_>) -> impl Iterator<Item = Story> + 't {
        let Self { places, held } = self;
        places.into_iter().filter_map(move |(workflow, places)| {
            let story = of_open(teller, &workflow, &places, held.get(&workflow));
            if places.awaits_others { story.or_else(|| teller.of_workflow(&workflow).ok()) } else { story }
        })
    }

    /// The story of one of them, without what its run did. `None` if it has no open round, or if it waits for others, because their
    /// files count too.
    pub fn story(&self, teller: &Teller<'_>, workflow: &WorkflowId) -> Option<Story> {
        let places = self.places.get(workflow).filter(|places| !places.awaits_others)?;
        of_open(teller, workflow, places, self.held.get(workflow))
    }
}

impl Teller<'_> {
    /// The stories of all workflows that are not over, by id.
    ///
    /// # Errors
    /// If a folder of the mailbox cannot be read.
    pub fn open(&self) -> Result<Vec<Story>> {
        Ok(OpenWorkflows::find(self.mailbox)?.stories(self).collect())
    }
}

fn of_open(teller: &Teller<'_>, workflow: &WorkflowId, places: &Places, held: Option<&QuarantinedRound>) -> Option<Story> {
    let story = in_places(teller, workflow, places);
    match held {
        Some(held) => Some(story.map_or_else(|| parked(held), |story| beside(story, held))),
        None if places.awaits_others => story,
        // It may have moved since its name was read.
        None => story.or_else(|| Some(teller.at_a_glance(workflow)).filter(|story| story.state.is_open())),
    }
}

/// The story to show. An unreadable file gets a story that reports it. A file that is missing has just moved to another folder and is
/// left out.
fn shown(workflow: &WorkflowId, story: Result<Story>) -> Option<Story> {
    match story {
        Err(e) if e.is_missing_file() => None,
        other => Some(other.unwrap_or_else(|e| unreadable(workflow, &e))),
    }
}

/// The story from the documents in these places. `None` if they have moved.
fn in_places(teller: &Teller<'_>, workflow: &WorkflowId, places: &Places) -> Option<Story> {
    let mailbox = teller.mailbox();
    let mut found: Option<Story> = None;
    for (folder, questions) in [(Folder::Parked, &places.parked), (Folder::Running, &places.running)] {
        for question in questions {
            let round = RoundId { workflow: workflow.clone(), question: *question };
            let status = read_question::document(&mailbox.round(folder, &round)).and_then(|d| teller.of_round(folder, &round, &d.typed));
            found = shown(workflow, status).or(found);
        }
    }
    for (folder, is_there) in [(Folder::Answered, places.is_answered), (Folder::Pending, places.is_pending)] {
        // A live run that has posted the next question is shown as running.
        if !is_there || found.as_ref().is_some_and(|status| status.state == Standing::Running) {
            continue;
        }
        let status = round::in_document(mailbox, workflow, folder).and_then(|asked| {
            let story = teller.of_round(folder, &asked.id, &asked.document.typed)?;
            Ok(if folder == Folder::Pending { teller.with_earlier_answer(story) } else { story })
        });
        found = shown(workflow, status).or(found);
    }
    found
}
