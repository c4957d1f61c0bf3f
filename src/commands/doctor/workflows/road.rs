//! The road of a workflow's newest round: posted, answered, the answer counts, a watcher takes it, claimed, attempted, delivered. It shows the
//! round's story: each cause stands at the step that it holds up, with its command.

use serde::Serialize;

use crate::commands::doctor::checkup::{Checkup, Newest};
use askbox_mailbox::{Closed, Closing, Content, Folder, Lock, Mailbox, QuestionId, Round, Time, WorkflowId, disk, round, text, time};
use askbox_run::attempt::once;
use askbox_run::delivery::Delivery;
use askbox_run::view::archived::Archived;
use askbox_run::{Cause, HoldUp, Run, RunState, Standing, Story, Teller, programs, record};

/// The most attempts that are named one by one.
const ATTEMPTS: usize = 5;

/// The road of one round.
#[serde_with::skip_serializing_none]
#[derive(Debug, Serialize)]
pub(in crate::commands::doctor) struct Road {
    workflow_id: WorkflowId,
    question_id: Option<QuestionId>,
    /// Why the round stands still, as in `relaunch status --json`.
    cause: Option<Cause>,
    steps: Vec<Step>,
    /// The next command for this round. Missing if it is delivered, or over.
    next: Option<String>,
    /// The commands for the further steps that are in its way.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    further: Vec<String>,
    /// True if a launch is still to come, so that a paused queue holds the round up.
    #[serde(skip)]
    pub is_before_launch: bool,
    /// True while the round is in `pending/`, `answered/`, `running/` or `parked/`.
    #[serde(skip)]
    pub is_open: bool,
}

/// One step of the road.
#[derive(Debug, Serialize)]
struct Step {
    name: &'static str,
    state: StepState,
    #[serde(skip_serializing_if = "String::is_empty")]
    said: String,
}

/// Whether the round is past a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum StepState {
    Done,
    /// The round stands here.
    Here,
    /// The round stands at an earlier step, and would stand here too.
    Blocked,
    Ahead,
}

impl Road {
    /// The road for people.
    pub(in crate::commands::doctor) fn words(&self) -> String {
        let round = self.question_id.map(|question| format!(", round {question}")).unwrap_or_default();
        let mut out = format!("The road of {}{round}:\n", self.workflow_id);
        for Step { name, state, said } in &self.steps {
            let mark = match state {
                StepState::Done => "ok",
                StepState::Here => "->",
                StepState::Blocked => "!!",
                StepState::Ahead => "",
            };
            out.push_str(format!("  {mark:<2} {name:<11} {}", text::one_line(said)).trim_end());
            out.push('\n');
        }
        match &self.next {
            Some(next) => {
                out.push_str("Next:\n");
                std::iter::once(next).chain(&self.further).for_each(|command| out.push_str(&format!("  $ {command}\n")));
            }
            None if self.steps.iter().all(|step| step.state == StepState::Done) => out.push_str("It has come to its end.\n"),
            None => {}
        }
        out
    }

    /// Walks the road of a workflow's newest round. `None` if the workflow has no round.
    pub(in crate::commands::doctor) fn of_workflow(checkup: &Checkup, teller: &Teller<'_>, id: &WorkflowId) -> Option<Self> {
        let mailbox = teller.mailbox();
        let Some(found) = round::latest(mailbox, id) else {
            return Self::of_archived(checkup, teller, id).or_else(|| Self::of_quarantined(teller, id));
        };
        let is_claimed = !matches!(found.folder, Folder::Pending | Folder::Answered);
        let run = if is_claimed { record::latest(mailbox, &found.id).ok().flatten() } else { None };
        let question = &found.document.typed;
        // The agent's turn may be over, while what it started is not.
        let awaiting = teller.of_workflow(id).ok().filter(|story| story.state == Standing::Awaiting);
        let story = awaiting.or_else(|| teller.of_round(found.folder, &found.id, question).ok())?;
        let mut walk = Walk::new(checkup, teller, &found, &story);
        walk.posted();
        walk.answered();
        walk.counts();
        let again = run.as_ref().filter(|run| waits_for_launch(mailbox, &found, run));
        if let Some(run) = again {
            walk.claimed(Some(run));
            walk.failed(run, |attempt| attempt <= run.attempt);
        }
        let is_before_launch = found.folder == Folder::Answered || again.is_some();
        let delivery = match &run {
            Some(run) => Delivery::of_claimed(question, run),
            None => Delivery::of_unclaimed(mailbox, question).unwrap_or(Delivery::Launch),
        };
        let is_launched = delivery == Delivery::Launch;
        if is_before_launch && !is_launched && !walk.held_up("taker", |hold_up| hold_up.why.clone()) {
            walk.here("taker", format!("{} has it", delivery.who()), Some(checkup.command(&format!("relaunch done {id}"))));
        }
        walk.launch(is_before_launch && is_launched);
        match again {
            Some(run) => walk.next_attempt(run),
            None => {
                walk.claimed(run.as_ref());
                walk.attempts(run.as_ref());
            }
        }
        walk.delivered();
        walk.launch_step("children", None);
        let is_before_launch = (found.folder == Folder::Pending || is_before_launch) && is_launched;
        Some(Self { is_before_launch, is_open: found.folder != Folder::Closed, ..walk.road })
    }

    /// True if an operator has to mend something before an agent is launched for it.
    pub(in crate::commands::doctor) fn is_held_up(&self) -> bool {
        let is_of_launch = |cause| ["disk", "config", "queue", "watcher", "program"].contains(&step_of(cause));
        self.cause.is_some_and(|cause| cause.is_in_the_way() && is_of_launch(cause))
    }

    /// What other checks need to know of the round.
    pub(in crate::commands::doctor) fn newest(&self) -> Newest {
        let is_in_the_way = |step: &Step| matches!(step.state, StepState::Here | StepState::Blocked);
        let waits_for_watcher = self.steps.iter().any(|step| step.name == "watcher" && is_in_the_way(step));
        Newest { is_open: self.is_open, is_before_launch: self.is_before_launch, waits_for_watcher }
    }

    /// The road of a workflow whose only file lies in quarantine: it stands before its first step.
    fn of_quarantined(teller: &Teller<'_>, id: &WorkflowId) -> Option<Self> {
        let story = teller.of_workflow(id).ok()?;
        let hold_up = story.hold_ups.first()?;
        let steps = vec![Step { name: "readable", state: StepState::Here, said: hold_up.why.clone() }];
        Some(Self { steps, is_open: true, ..Self::new(id, story.question_id, story.cause) })
    }

    /// A road without steps.
    fn new(id: &WorkflowId, question_id: Option<QuestionId>, cause: Option<Cause>) -> Self {
        let (workflow_id, steps, further) = (id.clone(), Vec::new(), Vec::new());
        Self { workflow_id, question_id, cause, steps, next: None, further, is_before_launch: false, is_open: false }
    }

    /// Walks the road of a workflow's newest round in the archive.
    fn of_archived(checkup: &Checkup, teller: &Teller<'_>, id: &WorkflowId) -> Option<Self> {
        let Archived { id, document, attempts, archive } = Archived::latest(teller.mailbox(), id).ok().flatten()?;
        let found = Round { folder: Folder::Closed, id, document: document.ok()? };
        let run = attempts.last();
        let story = teller.of_archived(&found.id, &found.document.typed, &attempts).ok()?;
        let mut walk = Walk::new(checkup, teller, &found, &story);
        walk.posted();
        walk.answered();
        walk.claimed(run);
        walk.attempts(run);
        walk.delivered();
        walk.done("archived", format!("in {}", archive.display()));
        Some(walk.road)
    }
}

/// True if a claimed round is launched again by a watcher, and no process supervises it.
fn waits_for_launch(mailbox: &Mailbox, found: &Round, run: &Run) -> bool {
    let is_live = Lock::is_held(&record::lock_path(mailbox, &found.id)).unwrap_or(true);
    found.folder == Folder::Running && !is_live && !run.is_delivered() && run.state != RunState::Interrupted
}

/// The step that a cause holds up.
fn step_of(cause: Cause) -> &'static str {
    match cause {
        Cause::Person | Cause::Date | Cause::File | Cause::HalfDone => "answered",
        Cause::NotCounted => "counts",
        Cause::Asker | Cause::AskerStopped | Cause::Session | Cause::NotKnownYet | Cause::NotTold => "taker",
        Cause::FullDisk | Cause::ReadOnly => "disk",
        Cause::Configuration => "config",
        Cause::NoWatcher | Cause::WatcherStopped | Cause::OlderWatcher | Cause::WatcherHangs => "watcher",
        Cause::NoProgram => "program",
        Cause::Held | Cause::Failures | Cause::DayCost | Cause::DayCostReserved | Cause::Probing => "queue",
        Cause::MaxConcurrent | Cause::EarlierRound | Cause::AskerRuns => "queue",
        Cause::Retry | Cause::Throttled | Cause::Orphaned | Cause::Elsewhere | Cause::Folder => "attempts",
        Cause::Limit | Cause::Failed | Cause::Stopped | Cause::Unreadable => "attempts",
        Cause::Child => "children",
        Cause::MayHaveRun => "calls",
    }
}

struct Walk<'a> {
    checkup: &'a Checkup,
    teller: &'a Teller<'a>,
    found: &'a Round,
    story: &'a Story,
    id: &'a WorkflowId,
    road: Road,
    /// True once the step was found where the round stands.
    stands: bool,
}

impl<'a> Walk<'a> {
    fn new(checkup: &'a Checkup, teller: &'a Teller<'a>, found: &'a Round, story: &'a Story) -> Self {
        let road = Road::new(&found.id.workflow, Some(found.id.question), story.cause);
        Self { checkup, teller, found, story, id: &found.id.workflow, road, stands: false }
    }

    fn step(&mut self, name: &'static str, state: StepState, said: impl Into<String>) {
        self.road.steps.push(Step { name, state, said: said.into() });
    }

    fn done(&mut self, name: &'static str, said: impl Into<String>) {
        if self.stands { self.step(name, StepState::Ahead, "") } else { self.step(name, StepState::Done, said) }
    }

    fn here(&mut self, name: &'static str, said: impl Into<String>, next: Option<String>) {
        if self.stands {
            return self.done(name, "");
        }
        self.step(name, StepState::Here, said);
        (self.stands, self.road.next) = (true, next);
    }

    /// Adds the step if a cause holds it up. The round stands at the step of its story's first cause. Whoever mends only that would find the round
    /// at the next one, so the others are told too. `said` puts the cause into words.
    fn held_up(&mut self, name: &'static str, said: impl Fn(&HoldUp) -> String) -> bool {
        let story = self.story;
        let Some((n, hold_up)) = story.hold_ups.iter().enumerate().find(|(_, hold_up)| step_of(hold_up.cause) == name) else {
            return false;
        };
        let next = hold_up.next.clone();
        if n == 0 {
            self.here(name, said(hold_up), Some(next));
        } else if name == "attempts" {
            self.step(name, StepState::Ahead, "");
        } else if hold_up.cause.is_in_the_way() {
            self.step(name, StepState::Blocked, said(hold_up));
            if Some(&next) != self.road.next.as_ref() && !self.road.further.contains(&next) {
                self.road.further.push(next);
            }
        } else {
            self.step(name, StepState::Ahead, said(hold_up));
        }
        true
    }

    /// A step of the launch. Its words are told wherever the round stands. Without words, the step is there only if a cause holds it up.
    fn launch_step(&mut self, name: &'static str, said: Option<String>) {
        let is_held_up = self.held_up(name, |hold_up| hold_up.clause(time::rfc3339));
        if let Some(said) = said.filter(|_| !is_held_up) {
            self.step(name, if self.stands { StepState::Ahead } else { StepState::Done }, said);
        }
    }

    fn command(&self, words: &str) -> Option<String> {
        Some(self.checkup.command(words))
    }

    fn posted(&mut self) {
        let question = &self.found.document.typed;
        let ago = question.asked_at().map(ago).unwrap_or_default();
        let by = question.asked_by.as_deref().map(|by| format!(" by {}", text::excerpt(by, 60))).unwrap_or_default();
        self.done("posted", format!("{ago}{by}: {}", text::excerpt(&question.title(), 80)).trim_start_matches([' ', ':']).to_owned());
    }

    fn answered(&mut self) {
        if self.held_up("answered", |hold_up| format!("not yet: {}", hold_up.why)) {
            return;
        }
        let question = &self.found.document.typed;
        let is_other = |closing: &&Closing| !matches!(closing.state, Closed::Delivered | Closed::Dropped);
        if let Some(closing) = question.closed.as_ref().filter(is_other) {
            let (by, why) = (text::excerpt(&closing.by, 60), closing.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default());
            return self.here("answered", format!("no: its question {} ({by}){why}", closing.state.in_a_sentence()), None);
        }
        let how = match &question.answer {
            Some(answer) => {
                let value = answer.value.as_ref().map(|value| format!(": {}", text::excerpt(&value.to_text(), 80))).unwrap_or_default();
                format!("{}{value}", answer.who())
            }
            None if !matches!(question.content(), Content::Question) => "needs no answer: it is a task or news".to_owned(),
            None => "by hand".to_owned(),
        };
        self.done("answered", how);
    }

    fn counts(&mut self) {
        if self.held_up("counts", |hold_up| format!("no: {}", hold_up.why)) {
            return;
        }
        let is_signed = self.checkup.config.answers.require_signed;
        self.done("counts", if is_signed { "it is signed by a key that is trusted" } else { "no signature is needed" });
    }

    /// The steps of a launch: the disk, the configuration, the queue, a watcher and the program of its runner. Without `all` only those that a cause
    /// holds up.
    fn launch(&mut self, all: bool) {
        let queue = match self.teller.queue() {
            Some(queue) => format!("{}, {} of {} runs are live", queue.state.word(), self.teller.live_runs(), self.teller.most_runs()),
            None => String::new(),
        };
        let watcher = disk::lock_holder(&self.teller.mailbox().lock_file("watchers")).map(|holder| format!(", {holder}"));
        let runner = self.checkup.config.runner_of(self.id).ok().and_then(|(_, runner)| programs::of_runner(&runner).ok());
        self.launch_step("disk", None);
        self.launch_step("config", None);
        self.launch_step("queue", all.then_some(queue));
        // A round that waits for a person first is not told of a watcher.
        self.launch_step("watcher", (all && self.checkup.watcher).then(|| format!("running{}", watcher.unwrap_or_default())));
        self.launch_step("program", all.then(|| runner.map(|path| text::file_name(&path)).unwrap_or_default()));
    }

    fn claimed(&mut self, run: Option<&Run>) {
        match run {
            Some(run) => self.done("claimed", format!("{}, attempt {}", ago(run.claimed_at), run.attempt)),
            None if self.found.folder == Folder::Closed => self.done("claimed", "its record is gone"),
            None => self.here("claimed", "not yet, and nothing is in the way", self.command(&format!("relaunch {}", self.id))),
        }
    }

    fn attempts(&mut self, newest: Option<&Run>) {
        let Some(run) = newest else { return self.here("attempts", "none", None) };
        self.failed(run, |attempt| attempt < run.attempt);
        let (id, n, todo) = (self.id, run.attempt, self.story.todo.as_ref().map(|todo| format!("; {todo}")).unwrap_or_default());
        let how = if run.state == RunState::Parked { "failed, and it is parked" } else { "was stopped" };
        if self.held_up("attempts", |_| format!("{n} {how}: {}{todo}", why_of(run))) {
            return;
        }
        match run.state {
            RunState::Delivered => self.done("attempts", format!("{n} had a result, {}", run.ended_at.map(ago).unwrap_or_default())),
            RunState::Asking => {
                self.here("attempts", format!("{n} waits for the answer to its own question"), self.command("ask-answer list"))
            }
            _ if self.found.folder == Folder::Closed => self.done("attempts", format!("{n} ended: {}", why_of(run))),
            RunState::Claimed | RunState::Running => {
                self.here("attempts", format!("{n} is at work"), self.command(&format!("relaunch logs -f {id}")));
            }
            RunState::Failed | RunState::Parked | RunState::Interrupted => {
                self.here("attempts", format!("{n} failed: {}", why_of(run)), None)
            }
        }
    }

    /// The attempts that failed, of those up to this one that `is_meant` names.
    fn failed(&mut self, run: &Run, is_meant: impl Fn(u32) -> bool) {
        let mut meant = record::attempts(self.teller.mailbox(), &self.found.id).unwrap_or_default();
        meant.retain(|attempt| is_meant(*attempt));
        for attempt in meant.split_off(meant.len().saturating_sub(ATTEMPTS)) {
            let read = if attempt == run.attempt { Ok(run.clone()) } else { record::read(self.teller.mailbox(), &self.found.id, attempt) };
            match read {
                Ok(run) if run.state == RunState::Running => self.done("attempts", format!("{attempt} has no supervisor any more")),
                Ok(run) if run.state != RunState::Claimed => self.done("attempts", format!("{attempt} failed: {}", why_of(&run))),
                // One that is claimed waits for its launch.
                Ok(_) | Err(_) => {}
            }
        }
    }

    /// The attempt that follows one that failed, if nothing holds it up.
    fn next_attempt(&mut self, run: &Run) {
        let n = if run.state == RunState::Claimed { run.attempt } else { run.attempt.saturating_add(1) };
        let said = match (run.state, run.retry_at) {
            (RunState::Failed, Some(at)) if at > time::now() => format!("{n} starts at {}", time::rfc3339(at)),
            _ => format!("{n} starts at the watcher's next look"),
        };
        if !self.held_up("attempts", |_| said.clone()) {
            self.here("attempts", said, Some(self.checkup.launching(&format!("relaunch {}", self.id))));
        }
    }

    fn delivered(&mut self) {
        match &self.found.document.typed.closed {
            Some(closing) if closing.state == Closed::Delivered => {
                self.done("delivered", ago(closing.at));
                self.held_up("calls", |hold_up| hold_up.why.clone());
            }
            Some(closing) => self.here("delivered", format!("no: it {}", closing.state.in_a_sentence()), None),
            None => {
                self.here("delivered", "its run has ended, and the round is not closed", self.command(&format!("relaunch {}", self.id)))
            }
        }
    }
}

fn why_of(run: &Run) -> String {
    let why = run.why.as_deref().and_then(once::without);
    why.map_or_else(|| "no reason is on record".to_owned(), |why| text::excerpt(&why, 200))
}

fn ago(at: Time) -> String {
    format!("{} ago", time::human(time::since(at)))
}
