//! The road of a workflow's newest round: posted, answered, the answer counts, a watcher takes it, claimed, attempted, delivered. It ends at
//! the step where the round stands, with the next command.

use serde::Serialize;

use crate::commands::doctor::checkup::{Checkup, problem};
use crate::commands::doctor::workflows::retry;
use askbox_mailbox::disk::{self, Lock};
use askbox_mailbox::documents::content::Content;
use askbox_mailbox::documents::fields::closing::Closed;
use askbox_mailbox::error::Error;
use askbox_mailbox::id::{QuestionId, WorkflowId};
use askbox_mailbox::round::{self, Round};
use askbox_mailbox::time::{self, Time};
use askbox_mailbox::{Folder, Mailbox, text};
use askbox_run::attempt::record::{self, Run, RunState};
use askbox_run::delivery::{self, Delivery};
use askbox_run::story::cause::edit_configuration;
use askbox_run::view::archived::{self, Archived};
use askbox_run::view::status;

/// The most attempts that are named one by one.
const ATTEMPTS: usize = 5;

/// The road of one round.
#[derive(Debug, Serialize)]
pub(in crate::commands::doctor) struct Road {
    workflow_id: WorkflowId,
    question_id: QuestionId,
    steps: Vec<Step>,
    /// The next command for this round. Missing if it is delivered, or over.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    /// The commands for the further steps that are in its way.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    further: Vec<String>,
    /// True if a launch is still to come, so that a paused queue holds the round up.
    #[serde(skip)]
    is_before_launch: bool,
    /// True while the round is in `pending/`, `answered/`, `running/` or `parked/`.
    #[serde(skip)]
    is_open: bool,
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

impl StepState {
    fn mark(self) -> &'static str {
        match self {
            Self::Done => "ok",
            Self::Here => "->",
            Self::Blocked => "!!",
            Self::Ahead => "",
        }
    }
}

impl Road {
    /// The road for people.
    pub(in crate::commands::doctor) fn words(&self) -> String {
        let mut out = format!("The road of {}, round {}:\n", self.workflow_id, self.question_id);
        for Step { name, state, said } in &self.steps {
            out.push_str(format!("  {:<2} {name:<11} {}", state.mark(), text::one_line(said)).trim_end());
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

    /// Walks the road of a workflow's newest round. `unreadable` is the error of the configuration. `None` if the workflow has no round.
    pub(in crate::commands::doctor) fn of_workflow(
        checkup: &Checkup,
        unreadable: Option<&Error>,
        mailbox: &Mailbox,
        id: &WorkflowId,
    ) -> Option<Self> {
        let Some(found) = round::latest(mailbox, id) else { return Self::of_archived(checkup, mailbox, id) };
        let run = if matches!(found.folder, Folder::Pending | Folder::Answered) {
            None
        } else {
            record::latest(mailbox, &found.id).ok().flatten()
        };
        let mut walk = Walk::new(checkup, mailbox, &found, id);
        walk.posted();
        walk.answered();
        walk.counts();
        let again = run.as_ref().filter(|run| waits_for_launch(mailbox, &found, run));
        if let Some(run) = again {
            walk.claimed(Some(run));
            walk.failed(run, |attempt| attempt <= run.attempt);
        }
        if found.folder == Folder::Answered || again.is_some() {
            walk.taken_by_somebody_else(run.as_ref());
            walk.room();
            match unreadable {
                // A watcher would not start, so the configuration comes first.
                Some(error) => {
                    walk.hinders("program", problem(error), Some(edit_configuration()));
                    walk.watcher();
                }
                None => {
                    walk.watcher();
                    walk.program();
                }
            }
            walk.queue();
        }
        match again {
            Some(run) => walk.next_attempt(run),
            None => {
                walk.claimed(run.as_ref());
                walk.attempts(run.as_ref());
            }
        }
        walk.delivered();
        let (steps, next, further, is_launched) = (walk.steps, walk.next, walk.further, walk.is_launched);
        let is_before_launch = matches!(found.folder, Folder::Pending | Folder::Answered) || again.is_some();
        let is_before_launch = is_before_launch && is_launched;
        Some(Self {
            workflow_id: id.clone(),
            question_id: found.id.question,
            steps,
            next,
            further,
            is_before_launch,
            is_open: found.folder != Folder::Closed,
        })
    }

    /// True while the round is in `pending/`, `answered/`, `running/` or `parked/`.
    pub(in crate::commands::doctor) fn is_open(&self) -> bool {
        self.is_open
    }

    /// True if the road tells that the watcher is in the way.
    pub(in crate::commands::doctor) fn names_watcher(&self) -> bool {
        self.steps.iter().any(|step| step.name == "watcher" && matches!(step.state, StepState::Here | StepState::Blocked))
    }

    /// True if a launch is still to come, so that a paused queue holds the round up.
    pub(in crate::commands::doctor) fn is_before_launch(&self) -> bool {
        self.is_before_launch
    }

    /// True if the launch waits for a watcher, a program or the queue.
    pub(in crate::commands::doctor) fn is_held_up(&self) -> bool {
        let holds = |step: &Step| ["watcher", "program", "queue"].contains(&step.name);
        self.steps.iter().any(|step| holds(step) && matches!(step.state, StepState::Here | StepState::Blocked))
    }
}

/// True if a claimed round is launched again by a watcher, and no process supervises it.
fn waits_for_launch(mailbox: &Mailbox, found: &Round, run: &Run) -> bool {
    let is_live = Lock::is_held(&record::lock_path(mailbox, &found.id)).unwrap_or(true);
    found.folder == Folder::Running && !is_live && !run.is_delivered() && run.progress.state != RunState::Interrupted
}

pub(super) struct Walk<'a> {
    pub(super) checkup: &'a Checkup,
    pub(super) mailbox: &'a Mailbox,
    pub(super) found: &'a Round,
    pub(super) id: &'a WorkflowId,
    steps: Vec<Step>,
    next: Option<String>,
    further: Vec<String>,
    /// True once the step was found where the round stands.
    stands: bool,
    /// False if somebody else than an agent that is launched takes the answer.
    is_launched: bool,
}

impl<'a> Walk<'a> {
    fn new(checkup: &'a Checkup, mailbox: &'a Mailbox, found: &'a Round, id: &'a WorkflowId) -> Self {
        let (steps, further) = (Vec::new(), Vec::new());
        Self { checkup, mailbox, found, id, steps, next: None, further, stands: false, is_launched: true }
    }

    fn done(&mut self, name: &'static str, said: impl Into<String>) {
        let (state, said) = if self.stands { (StepState::Ahead, String::new()) } else { (StepState::Done, said.into()) };
        self.steps.push(Step { name, state, said });
    }

    fn here(&mut self, name: &'static str, said: impl Into<String>, next: Option<String>) {
        if self.stands {
            return self.done(name, "");
        }
        self.steps.push(Step { name, state: StepState::Here, said: said.into() });
        (self.stands, self.next) = (true, next);
    }

    /// A step of the launch that does not depend on the steps before it, and is not in the way. It is told wherever the round stands.
    pub(super) fn holds(&mut self, name: &'static str, said: impl Into<String>) {
        let state = if self.stands { StepState::Ahead } else { StepState::Done };
        let said = if self.is_launched { said.into() } else { String::new() };
        self.steps.push(Step { name, state, said });
    }

    /// A step of the launch that does not depend on the steps before it, and is in the way. It is told wherever the round stands: whoever
    /// mends only the first step would find the round at the next one.
    pub(super) fn hinders(&mut self, name: &'static str, said: impl Into<String>, next: Option<String>) {
        if !self.stands || !self.is_launched {
            return self.here(name, said, next);
        }
        self.steps.push(Step { name, state: StepState::Blocked, said: said.into() });
        let is_new = |next: &String| Some(next) != self.next.as_ref() && !self.further.contains(next);
        if let Some(next) = next.filter(is_new) {
            self.further.push(next);
        }
    }

    pub(super) fn command(&self, words: &str) -> Option<String> {
        Some(self.checkup.command(words))
    }

    fn posted(&mut self) {
        let question = &self.found.document.typed;
        let ago = question.asked_at().map(ago).unwrap_or_default();
        let by = question.asked.asked_by.as_deref().map(|by| format!(" by {}", text::excerpt(by, 60))).unwrap_or_default();
        self.done("posted", format!("{ago}{by}: {}", text::excerpt(&question.title(), 80)).trim_start_matches([' ', ':']).to_owned());
    }

    fn answered(&mut self) {
        let question = &self.found.document.typed;
        let how = match &question.closed {
            Some(closing) if !matches!(closing.state, Closed::Delivered | Closed::Dropped) => {
                let why = closing.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
                let by = text::excerpt(&closing.by, 60);
                return self.here("answered", format!("no: its question {} ({by}){why}", closing.state.in_a_sentence()), None);
            }
            _ => question.answer.as_ref().map(|answer| {
                let value = answer.value.as_ref().map(|value| format!(": {}", text::excerpt(&value.to_text(), 80))).unwrap_or_default();
                format!("{}{value}", answer.who())
            }),
        };
        match (self.found.folder, how, &question.asked.until) {
            (Folder::Pending, _, Some(until)) => {
                let next = if self.checkup.watcher { None } else { self.command("relaunch watch") };
                self.here("answered", format!("not yet: {}", until.words()), next);
            }
            (Folder::Pending, ..) => {
                self.here("answered", "not yet: a person has to answer", self.command(&format!("ask-answer show {}", self.id)))
            }
            (_, Some(how), _) => self.done("answered", how),
            (_, None, _) if !matches!(question.content(), Content::Question) => {
                self.done("answered", "needs no answer: it is a task or news")
            }
            (_, None, _) => self.done("answered", "by hand"),
        }
    }

    fn counts(&mut self) {
        let question = &self.found.document.typed;
        match self.checkup.config.answers.policy().judge(question) {
            Err(why) => {
                self.here("counts", format!("no: {}; it is refused, and the question waits again", why.0), self.command("relaunch watch"))
            }
            Ok(()) if self.checkup.config.answers.require_signed => self.done("counts", "it is signed by a key that is trusted"),
            Ok(()) => self.done("counts", "no signature is needed"),
        }
    }

    /// The answer may be for somebody else than an agent that is launched.
    fn taken_by_somebody_else(&mut self, run: Option<&Run>) {
        let question = &self.found.document.typed;
        let delivery = match run {
            Some(run) => Delivery::of_claimed(question, run),
            None => Delivery::of_unclaimed(self.mailbox, question).unwrap_or(Delivery::Launch),
        };
        self.is_launched = delivery == Delivery::Launch;
        match delivery {
            Delivery::Launch => {}
            Delivery::Waiter => {
                let holder = disk::lock_holder(&self.mailbox.waiter(self.id));
                let next = holder.as_ref().filter(|holder| holder.is_stopped).map(|holder| format!("kill -CONT {}", holder.pid));
                let who = holder.map_or_else(|| delivery.who().to_owned(), |holder| format!("{}: {holder}", delivery.who()));
                self.here("taker", format!("{who} takes it"), next);
            }
            Delivery::Session => {
                let next = delivery::resume_command(question).or_else(|| self.command(&format!("relaunch {}", self.id)));
                self.here("taker", format!("{} takes it once it goes on", delivery.who()), next);
            }
            Delivery::Dialog => self.here("taker", format!("{} takes it, if its dialog is still open", delivery.who()), None),
            Delivery::MainAgent => {
                self.here("taker", format!("{} has it", delivery.who()), self.command(&format!("relaunch done {}", self.id)))
            }
        }
    }

    fn claimed(&mut self, run: Option<&Run>) {
        match run {
            Some(run) => self.done("claimed", format!("{}, attempt {}", ago(run.progress.claimed_at), run.attempt)),
            None if self.found.folder == Folder::Closed => self.done("claimed", "its record is gone"),
            None => self.here("claimed", "not yet, and nothing is in the way", self.command(&format!("relaunch {}", self.id))),
        }
    }

    fn attempts(&mut self, newest: Option<&Run>) {
        let Some(run) = newest else { return self.here("attempts", "none", None) };
        self.failed(run, |attempt| attempt < run.attempt);
        let (id, n) = (self.id, run.attempt);
        match run.progress.state {
            RunState::Delivered => {
                self.done("attempts", format!("{n} had a result, {}", run.progress.ended_at.map(ago).unwrap_or_default()))
            }
            RunState::Asking => {
                self.here("attempts", format!("{n} waits for the answer to its own question"), self.command("ask-answer list"))
            }
            _ if self.found.folder == Folder::Closed => self.done("attempts", format!("{n} ended: {}", why_of(run))),
            RunState::Parked => {
                let status = status::of_round(self.mailbox, self.found.folder, &self.found.id, &self.found.document.typed).ok();
                let todo = status.and_then(|status| status.todo).map(|todo| format!("; {todo}")).unwrap_or_default();
                let next = Some(retry::command(self.checkup, self.mailbox, &self.found.id));
                self.here("attempts", format!("{n} failed, and it is parked: {}{todo}", why_of(run)), next);
            }
            RunState::Interrupted => {
                self.here("attempts", format!("{n} was stopped: {}", why_of(run)), Some(self.checkup.launching(&format!("relaunch {id}"))));
            }
            RunState::Claimed | RunState::Running => {
                self.here("attempts", format!("{n} is at work"), self.command(&format!("relaunch logs -f {id}")));
            }
            RunState::Failed => self.here("attempts", format!("{n} failed: {}", why_of(run)), None),
        }
    }

    /// The attempts that failed, of those up to this one that `is_meant` names.
    fn failed(&mut self, run: &Run, is_meant: impl Fn(u32) -> bool) {
        let attempts = record::attempts(self.mailbox, &self.found.id).unwrap_or_default();
        let meant: Vec<u32> = attempts.into_iter().filter(|attempt| is_meant(*attempt)).collect();
        for attempt in meant.iter().skip(meant.len().saturating_sub(ATTEMPTS)) {
            let read = if *attempt == run.attempt { Ok(run.clone()) } else { record::read(self.mailbox, &self.found.id, *attempt) };
            match read {
                // It is on record, and waits for its launch.
                Ok(run) if run.progress.state == RunState::Claimed => {}
                Ok(run) if run.progress.state == RunState::Running => {
                    self.done("attempts", format!("{attempt} has no supervisor any more"));
                }
                Ok(run) => self.done("attempts", format!("{attempt} failed: {}", why_of(&run))),
                Err(_) => {}
            }
        }
    }

    /// The attempt that follows one that failed, if nothing holds it up.
    fn next_attempt(&mut self, run: &Run) {
        let next = Some(self.checkup.launching(&format!("relaunch {}", self.id)));
        let n = if run.progress.state == RunState::Claimed { run.attempt } else { run.attempt.saturating_add(1) };
        let said = match (run.progress.state, run.progress.retry_at) {
            (RunState::Failed, Some(at)) if at > time::now() => format!("{n} starts at {}", time::rfc3339(at)),
            _ => format!("{n} starts at the watcher's next look"),
        };
        self.here("attempts", said, next);
    }

    fn delivered(&mut self) {
        match &self.found.document.typed.closed {
            Some(closing) if closing.state == Closed::Delivered => self.done("delivered", ago(closing.at)),
            Some(closing) => self.here("delivered", format!("no: it {}", closing.state.in_a_sentence()), None),
            None => {
                self.here("delivered", "its run has ended, and the round is not closed", self.command(&format!("relaunch {}", self.id)))
            }
        }
    }
}

impl Road {
    /// Walks the road of a workflow's newest round in the archive.
    fn of_archived(checkup: &Checkup, mailbox: &Mailbox, id: &WorkflowId) -> Option<Self> {
        let Archived { round: found, attempts, archive } = archived::latest(mailbox, id).ok().flatten()?;
        let run = attempts.last();
        let mut walk = Walk::new(checkup, mailbox, &found, id);
        walk.posted();
        walk.answered();
        walk.claimed(run);
        walk.attempts(run);
        walk.delivered();
        walk.steps.push(Step { name: "archived", state: StepState::Done, said: format!("in {}", archive.display()) });
        let (steps, next, further) = (walk.steps, walk.next, walk.further);
        Some(Self {
            workflow_id: id.clone(),
            question_id: found.id.question,
            steps,
            next,
            further,
            is_before_launch: false,
            is_open: false,
        })
    }
}

fn why_of(run: &Run) -> String {
    run.progress.why.as_deref().map_or_else(|| "no reason is on record".to_owned(), |why| text::excerpt(why, 200))
}

fn ago(at: Time) -> String {
    format!("{} ago", time::human(time::since(at)))
}
