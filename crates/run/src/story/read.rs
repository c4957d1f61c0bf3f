//! A round's story: its document and its run's record, put together with its state, the reason for it and the causes why it stands still.

use crate::activity::live::Live;
use crate::activity::so_far;
use crate::attempt::stop_request;
use crate::delivery::Delivery;
use crate::money::costs;
use crate::story::hold_ups::{self, Found};
use crate::story::kind::Cause;
use crate::story::reason::{Reason, also};
use crate::story::shape::{Standing, Story, View};
use crate::story::teller::Teller;
use crate::story::{awaited, state};
use crate::{HoldUp, Run, record};
use askbox_mailbox::{
    AnswerValue, Closing, Error, Folder, Lock, Mailbox, QuarantinedRound, Question, Result, RoundId, Time, WorkflowId, awaits, disk, list,
    quarantined_round, read_question, recent_rounds, round, text, time, workflows,
};

/// The limit of [`Story::question`], in bytes: a view holds the stories of all workflows.
const QUESTION: usize = 4000;
/// The limit of [`Story::answer`], in bytes.
const ANSWER: usize = 64 << 10;

/// The work of a round so far, in all attempts. `is_live` is true if a process of the run is left.
fn view(mailbox: &Mailbox, round: &RoundId, is_live: bool) -> Result<View> {
    let mut live = Live::default();
    for attempt in record::attempts(mailbox, round)? {
        live.add_attempt(so_far::of_attempt(&record::folder(mailbox, round, attempt))?);
    }
    if !is_live {
        live.ended();
    }
    Ok(View::of_live(&live, time::now()))
}

/// The work of a round's run in all attempts, whether the run is over or not.
pub fn work_of(mailbox: &Mailbox, round: &RoundId) -> Result<View> {
    view(mailbox, round, false)
}

/// The state of one workflow, open or over.
///
/// # Errors
/// [`Error::NotFound`] if the workflow has no round.
pub fn state_of(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<Standing> {
    Teller::of_states(mailbox).newest(workflow).map(|story| story.state)
}

/// The error for a workflow without rounds.
pub fn unknown(mailbox: &Mailbox, workflow: &WorkflowId) -> Error {
    let meant = list::did_you_mean(mailbox, workflow);
    Error::not_found(
        format!("nothing is known of {workflow}"),
        format!(
            "{meant}list the workflows: relaunch status; `askbox gc` archives and prunes those that were over for long; archived rounds: askbox history {workflow}"
        ),
    )
}

/// The story of a workflow whose document or record cannot be read.
pub fn unreadable(workflow: &WorkflowId, error: &Error) -> Story {
    let (state, why) = match error {
        e if e.is_missing_file() || matches!(e, Error::NotFound { .. }) => return Story::blank(workflow, Standing::Unknown),
        e => (Standing::Unreadable, e.to_string()),
    };
    let hold_up = HoldUp::new(Cause::Unreadable, why.clone(), format!("askbox doctor {workflow}"));
    Story { why: Some(why), ..Story::blank(workflow, state) }.held_up_by(vec![hold_up])
}

/// The story of a workflow that has a file in quarantine and nothing else that is open.
pub(super) fn parked(held: &QuarantinedRound) -> Story {
    let hold_up = HoldUp::new(Cause::Unreadable, held.why(), format!("askbox doctor {}", held.workflow));
    Story {
        question_id: held.question,
        since: held.since,
        why: Some(held.why()),
        todo: Some(held.todo()),
        ..Story::blank(&held.workflow, Standing::Parked)
    }
    .held_up_by(vec![hold_up])
}

/// The story of a later round, with a remark that an earlier one lies in quarantine.
pub(super) fn beside(story: Story, held: &QuarantinedRound) -> Story {
    let why = also(story.why.as_deref(), &format!("an earlier round is parked: {}", held.why()));
    Story { why, todo: story.todo.or_else(|| Some(held.todo())), ..story }
}

impl Teller<'_> {
    /// The story of one workflow, open or over, with what its run did.
    ///
    /// # Errors
    /// [`Error::NotFound`] if the workflow has no round.
    pub fn of_workflow(&self, workflow: &WorkflowId) -> Result<Story> {
        let mut story = self.newest(workflow)?;
        if let (None, Some(_), Some(question)) = (&story.live, story.attempt, story.question_id) {
            let round = RoundId { workflow: workflow.clone(), question };
            story.live = view(self.mailbox, &round, false).ok();
        }
        if story.state == Standing::Awaiting {
            let (todo, hold_up) = awaited::todo(self, workflow);
            story = Story { todo: Some(todo), ..story.held_up_by(hold_up.into_iter().collect()) };
        }
        Ok(story)
    }

    /// The story of one of many workflows: errors become a story, and the events of a run that has ended are not read.
    pub fn at_a_glance(&self, workflow: &WorkflowId) -> Story {
        self.newest(workflow).unwrap_or_else(|e| unreadable(workflow, &e))
    }

    /// [`at_a_glance`](Self::at_a_glance) for a workflow whose rounds are all closed.
    pub fn of_closed(&self, workflow: &WorkflowId) -> Story {
        match recent_rounds::closed_last(self.mailbox, workflow, 1).pop() {
            Some((round, document)) => {
                let story = self.of_round(Folder::Closed, &round, &document.typed);
                story.map_or_else(|e| unreadable(workflow, &e), |story| self.unless_cancelled(story, document.typed.asked_at()))
            }
            None => self.unless_cancelled(Story::blank(workflow, Standing::Unknown), None),
        }
    }

    /// The story of a workflow without an open round. If its whole tree was cancelled since that round began, its state says so.
    fn unless_cancelled(&self, story: Story, begun: Option<Time>) -> Story {
        let cancelled = workflows::read(self.mailbox, &story.workflow_id).ok().flatten().and_then(|document| document.typed.cancelled);
        match cancelled {
            Some(at) if begun.is_none_or(|begun| begun <= at) => {
                let why = Some("its whole tree was cancelled".to_owned());
                Story { state: Standing::Withdrawn, since: Some(at), why, ..story }
            }
            _ => story,
        }
    }

    fn newest(&self, workflow: &WorkflowId) -> Result<Story> {
        let Some(held) = quarantined_round::of_workflow(self.mailbox, workflow)? else { return self.newest_readable(workflow) };
        match self.newest_readable(workflow) {
            Ok(story) if story.state.is_open() => Ok(beside(story, &held)),
            Ok(_) | Err(Error::NotFound { .. }) => Ok(parked(&held)),
            Err(e) => Err(e),
        }
    }

    /// The story from the documents outside of quarantine.
    fn newest_readable(&self, workflow: &WorkflowId) -> Result<Story> {
        let mailbox = self.mailbox;
        // Read before the rounds, because everything that ends a wait creates a round first.
        let waits = awaits::of_parent(mailbox, workflow)?;
        let found = round::latest(mailbox, workflow);
        // Such a file would be the newest round, unless something later waits or runs.
        if found.as_ref().is_none_or(|found| found.folder == Folder::Closed)
            && let Some(unusable) = round::unusable_file(mailbox, workflow)
        {
            return Err(unusable);
        }
        let found = found.ok_or_else(|| unknown(mailbox, workflow))?;
        let running = list::round_names(mailbox, Folder::Running).find(|r| r.workflow == *workflow);
        if let Some(round) = running
            && matches!(found.folder, Folder::Pending | Folder::Answered)
            && Lock::is_held(&record::lock_path(mailbox, &round))?
            // Otherwise the run has just ended. The round that waits beside it is the newest one now.
            && let Some(document) = disk::if_there(read_question::document(&mailbox.round(Folder::Running, &round)))?
        {
            return self.of_round(Folder::Running, &round, &document.typed);
        }
        let story = self.of_round(found.folder, &found.id, &found.document.typed)?;
        if found.folder == Folder::Pending {
            return Ok(self.with_earlier_answer(story));
        }
        let story = if found.folder == Folder::Closed { self.unless_cancelled(story, found.document.typed.asked_at()) } else { story };
        match (story.state, &found.document.typed.closed) {
            (Standing::Dropped, Some(closing)) => return Ok(Story { why: Some(given_up(closing, story.why.as_deref())), ..story }),
            (Standing::Withdrawn, Some(closing)) if story.why.is_none() => {
                return Ok(Story { why: Some(format!("by {}", text::excerpt(&closing.by, 60))), ..story });
            }
            _ => {}
        }
        if story.state != Standing::Delivered || waits.is_empty() {
            return Ok(story);
        }
        let whom: Vec<_> = waits.iter().map(|w| w.typed.child.as_str()).collect();
        let why = format!("waits for {}", whom.join(", "));
        let hold_up = HoldUp::new(Cause::Child, why.clone(), format!("askbox tree {workflow}"));
        // The agent ended its turn with this text, but it is not the workflow's result.
        let story = Story { state: Standing::Awaiting, why: Some(why), result: None, ..story };
        Ok(if self.tells_causes() { story.held_up_by(vec![hold_up]) } else { story })
    }

    /// The story of a pending question. If the answer to the question before it still waits for a run, the story mentions that, because
    /// the pending question would hide it.
    pub(super) fn with_earlier_answer(&self, story: Story) -> Story {
        let Ok(earlier) = read_question::answered(self.mailbox, &story.workflow_id) else { return story };
        let is_this = round::round_of(self.mailbox, &earlier.typed).is_ok_and(|round| Some(round.question) == story.question_id);
        if is_this || earlier.typed.answer.is_none() {
            return story;
        }
        let earlier = format!("the answer to its question before waits for a run: {}", text::excerpt(&earlier.typed.title(), 60));
        Story { why: also(story.why.as_deref(), &earlier), ..story }
    }

    /// The story of one round in `folder`, given its document.
    ///
    /// # Errors
    /// If the record of its runs cannot be read.
    pub fn of_round(&self, folder: Folder, round: &RoundId, question: &Question) -> Result<Story> {
        let run = match folder {
            Folder::Pending | Folder::Answered => None,
            _ => record::latest(self.mailbox, round)?,
        };
        let cost = if run.is_some() { costs::of_round(self.mailbox, round)? } else { None };
        self.with_run(folder, round, question, run, cost)
    }

    /// The story of a closed round, given its document and the records of its attempts. The files are elsewhere: in the archive.
    ///
    /// # Errors
    /// If the system refuses to look at a lock.
    pub fn of_archived(&self, round: &RoundId, question: &Question, attempts: &[Run]) -> Result<Story> {
        self.with_run(Folder::Closed, round, question, attempts.last().cloned(), costs::of_attempts(attempts))
    }

    /// [`of_round`](Self::of_round) for a view. If the record of its runs cannot be read, the story is that of its folder and its document, with the
    /// reason why there is no more.
    pub fn of_round_or_why(&self, folder: Folder, round: &RoundId, question: &Question) -> Story {
        self.of_round(folder, round, question).unwrap_or_else(|error| {
            let unread = format!("what its runs did cannot be read: {error}");
            let hold_up = HoldUp::new(Cause::Unreadable, unread.clone(), format!("askbox doctor {}", round.workflow));
            let story = self.with_run(folder, round, question, None, None).unwrap_or_else(|error| unreadable(&round.workflow, &error));
            let hold_ups = if self.tells_causes() { vec![self.in_this_mailbox(hold_up)] } else { Vec::new() };
            Story { why: also(story.why.as_deref(), &unread), ..story }.held_up_by(hold_ups)
        })
    }

    /// What keeps an answered question from starting its agent, or its session of Codex from being told, until somebody changes it. `None` if the
    /// agent is started by itself, or if a waiter or a session takes the answer.
    pub fn after_answer(&self, question: &Question) -> Option<HoldUp> {
        // The waiter is asked for first: it lets its lock go after it has moved the document.
        let delivery = Delivery::of_unclaimed(self.mailbox, question).ok()?;
        if !disk::exists(self.mailbox.document(Folder::Answered, &question.workflow_id)) {
            return None;
        }
        match delivery {
            Delivery::Launch => self.in_the_way(&question.workflow_id).into_iter().next(),
            Delivery::Session => {
                Some(hold_ups::of_session(self.mailbox, self.config(), question)).filter(|hold_up| hold_up.cause == Cause::NotTold)
            }
            Delivery::Waiter | Delivery::MainAgent | Delivery::Dialog => None,
        }
    }

    fn with_run(&self, folder: Folder, round: &RoundId, question: &Question, run: Option<Run>, cost: Option<f64>) -> Result<Story> {
        let mailbox = self.mailbox;
        let answered_at = question.answer.as_ref().and_then(|a| a.at);
        let (state, since) = state::of(mailbox, folder, round, question, run.as_ref())?;
        let to_session = state == Standing::Answered && Delivery::asked_for(question) == Delivery::Session;
        let live = match (&run, state) {
            (Some(run), Standing::Running) => {
                view(mailbox, round, true).ok().map(|view| match stop_request::read_request(&run.folder(mailbox)) {
                    Ok(Some(_)) => view.stopping(),
                    _ => view,
                })
            }
            _ => None,
        };
        let launch = run.as_ref().filter(|run| run.is_launch());
        let mut hold_ups = hold_ups::of(self, Found { round, question, run: run.as_ref(), state });
        if self.tells_causes() && live.as_ref().is_some_and(|live| live.doing == "asking") {
            hold_ups.push(HoldUp::new(Cause::Person, "its agent has asked a question", "ask-answer list"));
        }
        let Reason { why, todo } = Reason::of(self, Found { round, question, run: run.as_ref(), state }, to_session, &hold_ups);
        Ok(Story {
            since,
            why,
            todo,
            live,
            answer: run.as_ref().and_then(|_| taken_by_its_session(question)),
            answered_at,
            launched_at: run.as_ref().and_then(|run| run.started_at),
            is_of_session: to_session,
            question_id: Some(round.question),
            question: text::beginning(&question.title(), QUESTION),
            asked_by: question.asked_by.clone(),
            attempt: run.as_ref().map(|r| r.attempt),
            // No session exists if a process claimed the answer itself.
            session_id: launch.map(|r| r.session_id),
            runner: launch.map(|run| run.runner.clone()).filter(|runner| !runner.is_empty()),
            agent_version: launch.and_then(|run| run.agent_version.clone()),
            auto: run.as_ref().and_then(|r| r.auto.clone()),
            retry_at: run.as_ref().and_then(|r| r.retry_at),
            failure: run.as_ref().and_then(|r| r.failure.as_ref()).map(|f| f.class),
            cost_usd: cost,
            result: run.and_then(|r| r.result),
            ..Story::blank(&round.workflow, state)
        }
        .held_up_by(hold_ups))
    }
}

/// The answer that its session has taken. The session may have no checkpoint to read it from.
fn taken_by_its_session(question: &Question) -> Option<String> {
    let answer = question.answer.as_ref().filter(|_| Delivery::asked_for(question) == Delivery::Session)?;
    let value = answer.value.as_ref().map_or_else(|| answer.word().to_owned(), AnswerValue::to_text);
    let note = answer.note.as_deref().map(|note| format!("\n{note}")).unwrap_or_default();
    Some(text::beginning(&(value + &note), ANSWER))
}

/// Says who gave a round up, and what had become of its run.
fn given_up(closing: &Closing, of_run: Option<&str>) -> String {
    let why = closing.why.as_deref();
    let run = of_run.filter(|run| Some(*run) != why).map(|why| format!("; its run before: {why}")).unwrap_or_default();
    let why = why.map(|why| format!(": {why}")).unwrap_or_default();
    format!("given up by {}{why}{run}", text::excerpt(&closing.by, 60))
}
