//! The known state of one machine: its questions, how it is reached, and the age of all this. The amount is limited. Answers that were sent
//! to the machine, and that it has not decided about yet, are shown with it: anybody may have sent them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::peer::{Problem, Undecided};
use crate::remote_question::RemoteQuestion;
use askbox_mailbox::{HostName, QuestionId, Time, Untrusted, WorkflowId, excerpt};

/// The most questions of one machine that are kept: those of the highest priority, then the newest. Further ones are only counted.
pub const MAX_QUESTIONS: usize = 10_000;

/// The most bytes of one machine's questions that are kept.
pub const MAX_BYTES: usize = 64 << 20;

/// The number of questions whose end is remembered, so that a surface can say whose answer won.
const FATES: usize = 256;

/// The state of the connection to a machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Reach {
    /// It was not reached yet; the first attempt is under way.
    #[default]
    Connecting,
    /// Its list is complete and follows its changes.
    Reachable,
    /// It cannot be reached, and is tried again.
    Unreachable {
        /// When this began.
        since: Time,
        /// The reason.
        problem: Problem,
    },
}

/// One machine as a surface sees it.
#[derive(Debug, Clone)]
pub struct HostView {
    /// The machine.
    pub host: HostName,
    /// The peer that leads to the machine, by its name in the configuration.
    pub peer: String,
    /// The state of the connection.
    pub reach: Reach,
    /// When the machine was last heard, by this machine's clock. The questions are as old as that.
    pub as_of: Option<Time>,
    /// The version of its askbox.
    pub version: Option<String>,
    /// Its questions, by their workflows.
    pub questions: Vec<Arc<RemoteQuestion>>,
    /// The number of its questions that are not kept here.
    pub left_out: usize,
    /// True if an offer waits for the machine while it is away.
    pub is_waited_for: bool,
    /// The path of a mailbox that was named for this machine and is missing there.
    pub no_mailbox: Option<Untrusted>,
    /// The answers that the machine has not decided about, the oldest first, as far as that is known. They may come from anywhere.
    pub undecided: Arc<[Undecided]>,
}

impl HostView {
    /// True if the shown state may be old.
    pub fn is_stale(&self) -> bool {
        self.reach != Reach::Reachable
    }

    /// True if an answer can be offered now, because the machine is reached or something on the way there keeps the offer for it.
    pub fn takes_offers(&self) -> bool {
        !self.is_stale() || self.is_waited_for
    }
}

/// The end of a question that no longer waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fate {
    /// The end in its machine's words.
    pub said: Untrusted,
    /// The offer that was accepted.
    pub offer: Option<Uuid>,
}

/// The reason why a machine was not reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Unreached {
    /// When the attempt was made.
    pub(super) at: Time,
    /// Since when the machine has not been reached.
    pub(super) since: Time,
    pub(super) said: String,
    pub(super) hint: String,
}

/// The state of one machine.
#[derive(Debug, Default)]
pub(super) struct KnownMachine {
    /// The peer that leads to it.
    pub(super) peer: usize,
    pub(super) reach: Reach,
    /// The failed attempt of another process a moment ago. `None` once this process has tried as well.
    pub(super) before: Option<Unreached>,
    pub(super) as_of: Option<Time>,
    pub(super) version: Option<String>,
    pub(super) no_mailbox: Option<Untrusted>,
    pub(super) undecided: Arc<[Undecided]>,
    kept: Kept,
    is_waited_for: bool,
    /// The questions that were known to wait before the last list, and are not in that list.
    earlier: BTreeMap<WorkflowId, Arc<RemoteQuestion>>,
    /// The list that is being reported. It replaces the other one when it is complete.
    coming: Option<Box<Coming>>,
    fates: VecDeque<(WorkflowId, QuestionId, Fate)>,
}

/// The questions of one list that are kept.
#[derive(Debug, Default)]
struct Kept {
    questions: BTreeMap<WorkflowId, Arc<RemoteQuestion>>,
    /// The same questions in the order in which they make room for others.
    ranks: BTreeSet<(i32, Option<QuestionId>, WorkflowId)>,
    bytes: usize,
    left_out: usize,
}

impl Kept {
    fn add(&mut self, question: Arc<RemoteQuestion>) {
        self.remove(&question.workflow);
        self.bytes += question.bytes;
        self.ranks.insert(rank(&question));
        self.questions.insert(question.workflow.clone(), question);
        while (self.questions.len() > MAX_QUESTIONS || self.bytes > MAX_BYTES)
            && let Some((.., least)) = self.ranks.first().cloned()
        {
            self.remove(&least);
            self.left_out = self.left_out.saturating_add(1);
        }
    }

    fn remove(&mut self, workflow: &WorkflowId) {
        if let Some(question) = self.questions.remove(workflow) {
            self.bytes -= question.bytes;
            self.ranks.remove(&rank(&question));
        }
    }
}

fn rank(question: &RemoteQuestion) -> (i32, Option<QuestionId>, WorkflowId) {
    let asked = question.asked.as_ref().ok();
    (asked.map_or(0, |asked| asked.priority), asked.map(|asked| asked.question), question.workflow.clone())
}

#[derive(Debug, Default)]
struct Coming {
    kept: Kept,
    /// If this list comes from somewhere else and its machine is away: why, and since when.
    away: Option<(Problem, Time)>,
}

impl KnownMachine {
    pub(super) fn new(peer: usize) -> Self {
        Self { peer, ..Self::default() }
    }

    /// Takes the state that another process saw last.
    pub(super) fn recall(
        &mut self,
        as_of: Option<Time>,
        version: Option<&str>,
        left_out: usize,
        questions: impl Iterator<Item = RemoteQuestion>,
    ) {
        if let Some(Unreached { since, said, hint, .. }) = &self.before {
            self.reach = Reach::Unreachable { since: *since, problem: Problem::passing(excerpt(said, 300), excerpt(hint, 300)) };
        }
        (self.as_of, self.kept.left_out) = (as_of, left_out);
        self.version = version.map(|version| excerpt(version, 40));
        questions.for_each(|question| self.add(question));
    }

    pub(super) fn begin(&mut self, version: &str) {
        self.version = Some(excerpt(version, 40));
        self.coming = Some(Box::default());
    }

    pub(super) fn listed(&mut self) {
        let mut away = None;
        if let Some(coming) = self.coming.take() {
            away = coming.away;
            self.earlier = std::mem::replace(&mut self.kept, coming.kept).questions;
            self.earlier.retain(|workflow, _| !self.kept.questions.contains_key(workflow));
        }
        if let Some((problem, since)) = away {
            // The machine was unreachable the whole time, so it must not be shown as reachable, not even briefly.
            self.as_of = Some(since);
            return self.away(problem, since);
        }
        self.reach = Reach::Reachable;
        self.before = None;
    }

    pub(super) fn add(&mut self, question: RemoteQuestion) {
        // After a new connection the machine tells all its questions again. Those that are the same stay, and their rows too.
        let is_same = |known: &&Arc<RemoteQuestion>| self.coming.is_some() && known.is_same(&question);
        let same = self.kept.questions.get(&question.workflow).filter(is_same).cloned();
        let kept = self.coming.as_mut().map_or(&mut self.kept, |coming| &mut coming.kept);
        kept.add(same.unwrap_or_else(|| Arc::new(question)));
    }

    /// Removes a question that is over. If the round is given, a newer question of the workflow stays.
    pub(super) fn gone(&mut self, workflow: &WorkflowId, round: Option<QuestionId>, fate: Fate) {
        let is_it = |question: &RemoteQuestion| round.is_none_or(|id| question.asked.as_ref().map_or(true, |asked| asked.question == id));
        let mut was_there = false;
        for kept in self.coming.iter_mut().map(|coming| &mut coming.kept).chain([&mut self.kept]) {
            if kept.questions.get(workflow).is_some_and(|question| is_it(question)) {
                kept.remove(workflow);
                was_there = true;
            }
        }
        if !was_there {
            self.kept.left_out = self.kept.left_out.saturating_sub(1);
        }
        if let Some(id) = round {
            self.fates.retain(|(_, known, _)| *known != id);
            self.fates.push_back((workflow.clone(), id, fate));
            self.fates.drain(..self.fates.len().saturating_sub(FATES));
        }
    }

    pub(super) fn unreachable(&mut self, problem: Problem, now: Time) {
        (self.coming, self.before, self.is_waited_for) = (None, None, false);
        let since = if let Reach::Unreachable { since, .. } = &self.reach { *since } else { now };
        self.reach = Reach::Unreachable { since, problem };
    }

    /// Notes that the machine is away, but that the way to it keeps what is sent.
    pub(super) fn away(&mut self, problem: Problem, since: Time) {
        if let Some(coming) = &mut self.coming {
            coming.away = Some((problem, since));
            return;
        }
        self.unreachable(problem, since);
        self.is_waited_for = true;
    }

    /// True if this process has reached the machine, or has failed to reach it.
    pub(super) fn is_settled(&self) -> bool {
        self.before.is_none() && self.reach != Reach::Connecting
    }

    /// The reason why the machine was not reached, for the next process.
    pub(super) fn unreached(&self, host: &HostName) -> Option<Unreached> {
        let now = askbox_mailbox::time::now();
        let found = match &self.reach {
            Reach::Reachable => return None,
            Reach::Connecting => Unreached {
                at: now,
                since: now,
                said: format!("{host} has not answered"),
                hint: "try it again, or see: askbox doctor".into(),
            },
            Reach::Unreachable { since, problem } => {
                Unreached { at: now, since: *since, said: problem.said.clone(), hint: problem.hint.clone() }
            }
        };
        Some(self.before.clone().unwrap_or(found))
    }

    pub(super) fn question(&self, workflow: &WorkflowId) -> Option<Arc<RemoteQuestion>> {
        self.kept.questions.get(workflow).cloned()
    }

    pub(super) fn earlier(&self, workflow: &WorkflowId) -> Option<Arc<RemoteQuestion>> {
        self.earlier.get(workflow).cloned()
    }

    pub(super) fn fate(&self, workflow: &WorkflowId, round: QuestionId) -> Option<Fate> {
        self.fates.iter().find(|(w, q, _)| w == workflow && *q == round).map(|(_, _, fate)| fate.clone())
    }

    pub(super) fn view(&self, host: &HostName, peer: &str) -> HostView {
        HostView {
            host: host.clone(),
            peer: peer.to_owned(),
            reach: self.reach.clone(),
            as_of: self.as_of,
            version: self.version.clone(),
            questions: self.kept.questions.values().cloned().collect(),
            left_out: self.kept.left_out,
            is_waited_for: self.is_waited_for,
            no_mailbox: self.no_mailbox.clone(),
            undecided: Arc::clone(&self.undecided),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(workflow: &str, bytes: usize) -> RemoteQuestion {
        RemoteQuestion { bytes, ..RemoteQuestion::unreadable("build".parse().unwrap(), workflow.parse().unwrap(), "x".into()) }
    }

    #[test]
    fn a_list_that_is_cut_off_replaces_nothing() {
        let mut known = KnownMachine::new(0);
        known.begin("1");
        known.add(question("a", 1));
        known.listed();
        known.begin("1");
        known.add(question("b", 1));
        assert!(known.question(&"a".parse().unwrap()).is_some(), "what is known stays until the new list is complete");
        known.unreachable(Problem::passing("cut", ""), askbox_mailbox::time::now());
        assert!(known.question(&"a".parse().unwrap()).is_some() && known.question(&"b".parse().unwrap()).is_none());
        known.begin("1");
        known.add(question("b", 1));
        known.listed();
        assert!(known.question(&"a".parse().unwrap()).is_none() && known.question(&"b".parse().unwrap()).is_some());
        assert!(known.earlier(&"a".parse().unwrap()).is_some() && known.earlier(&"b".parse().unwrap()).is_none());
    }

    #[test]
    fn a_question_that_is_told_again_stays_the_same() {
        let mut known = KnownMachine::new(0);
        let id = QuestionId::from_uuid(Uuid::now_v7());
        let told = |text: &str| {
            let document = format!(r#"{{"workflow_id":"w","question":"{text}"}}"#);
            RemoteQuestion::read("build".parse().unwrap(), "w".parse().unwrap(), id, document.as_bytes())
        };
        let mut list = |text: &str| {
            known.begin("1");
            known.add(told(text));
            known.listed();
            known.question(&"w".parse().unwrap()).unwrap()
        };
        let first = list("Which?");
        assert!(Arc::ptr_eq(&first, &list("Which?")), "a row that was made of it is still true");
        let changed = list("Which one?");
        assert_eq!(changed.document().unwrap().typed.question, "Which one?");
    }

    #[test]
    fn a_machine_that_is_away_at_its_full_list_is_not_seen_there() {
        let mut known = KnownMachine::new(0);
        let since = askbox_mailbox::time::now() - std::time::Duration::from_secs(7200);
        known.begin("1");
        known.add(question("a", 1));
        known.away(Problem::passing("asleep", ""), since);
        assert_eq!(known.reach, Reach::Connecting, "its list is not complete");
        known.listed();
        let view = known.view(&"build".parse().unwrap(), "build");
        assert!(matches!(view.reach, Reach::Unreachable { .. }) && view.takes_offers() && view.questions.len() == 1, "{view:?}");
        assert_eq!(view.as_of, Some(since));
    }

    #[test]
    fn the_most_urgent_and_then_the_newest_questions_are_kept() {
        let mut known = KnownMachine::new(0);
        let mut add = |workflow: &str, priority: i32| {
            let document = format!(r#"{{"workflow_id":"{workflow}","question":"?","priority":{priority}}}"#);
            let id = QuestionId::from_uuid(Uuid::now_v7());
            known.add(RemoteQuestion::read("build".parse().unwrap(), workflow.parse().unwrap(), id, document.as_bytes()));
        };
        add("urgent", 99);
        add("old", 0);
        (2..MAX_QUESTIONS).for_each(|n| add(&format!("w{n}"), 0));
        add("new", 0);
        add("idle", -1);
        let has = |workflow: &str| known.question(&workflow.parse().unwrap()).is_some();
        assert_eq!(["urgent", "old", "new", "idle"].map(has), [true, false, true, false]);
        assert_eq!(known.view(&"build".parse().unwrap(), "build").left_out, 2);
    }

    #[test]
    fn no_machine_fills_the_memory() {
        let mut known = KnownMachine::new(0);
        known.begin("1");
        known.add(question("big", MAX_BYTES));
        known.add(question("more", 1));
        assert_eq!(known.coming.as_ref().map(|c| (c.kept.questions.len(), c.kept.left_out)), Some((1, 1)));
        known.begin("1");
        for n in 0..=MAX_QUESTIONS {
            known.add(question(&format!("w{n}"), 1));
        }
        known.listed();
        let view = known.view(&"build".parse().unwrap(), "build");
        assert_eq!((view.questions.len(), view.left_out), (MAX_QUESTIONS, 1));
        for _ in 0..3 {
            known.add(question("w1", 10));
        }
        assert_eq!(known.kept.bytes, MAX_QUESTIONS + 9, "a question that changes is counted once");
    }
}
