//! The parts of a run while its supervisor attends to it, and the loop of the attending thread: one message or deadline after the other,
//! until the agent has ended.
//!
//! The end of a plain program: its exit status is the verdict on its work.
//!
//! An agent whose result came on a line that cannot be read, or did not come at all. Its transcript shows whether it has ended its turn.

use std::fs::File;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use crate::attempt::ending::Ending;
use crate::attempt::record::Run;
use crate::attempt::turn_ending;
use crate::supervise::attend::conclusion::{Attended, COMPLAINT_PATIENCE, Outcome, last_words};
use crate::supervise::attend::hold_requests::Requests;
use crate::supervise::attend::limits::{Deadlines, ModelAnswers, TimeLimit};
use crate::supervise::attend::live_run::LiveRun;
use crate::supervise::attend::session::Session;
use crate::supervise::attend::stopped_calls;
use crate::supervise::attend::stopping::{EXIT_GRACE, OpenCalls, Stopping};
use crate::supervise::event_log::EventLog;
use crate::supervise::run_message::RunMessage;
use crate::supervise::started_agent::Started;
use askbox_agent::events::EventKind;
use askbox_agent::program::{AWAITS_PERSON, COMPLETED, Exit, NOT_DONE};
use askbox_agent::transcript;
use askbox_config::{Config, RunnerKind};
use askbox_mailbox::Mailbox;
use askbox_mailbox::untrusted::Untrusted;

/// A run and everything that its supervisor needs to attend to it.
pub(super) struct Attendance<'a, 'b> {
    pub(super) live: LiveRun<'a, 'b>,
    pub(super) began: Instant,
    pub(super) stopping: Stopping,
    pub(super) deadlines: Deadlines,
    pub(super) session: Session,
    pub(super) answers: ModelAnswers,
    pub(super) tools: OpenCalls,
    pub(super) requests: Requests,
    pub(super) outcome: Outcome,
    /// The beginning of the last line that could not be read, if there was one.
    pub(super) unread_line: Option<Untrusted>,
    /// True if a limit on time has passed before the session had begun.
    ran_out_before_session: bool,
}

/// How long output may still come after the agent's process has ended: a surviving descendant may hold the pipe open for ever. Then only
/// what is in the pipe is taken.
const DRAIN: Duration = Duration::from_secs(2);
/// How long that may take on a busy machine, or if a descendant never stops writing.
const TO_THE_LAST_BYTE: Duration = Duration::from_secs(20);

/// Attends to the agent until it has ended. `tree_time` is how long the workflow's tree may still be at work.
pub(crate) fn attend(
    mailbox: &Mailbox,
    config: &Config,
    run: &Run,
    started: Started,
    log: &mut EventLog<'_>,
    messages: &Receiver<RunMessage>,
    tree_time: Option<Duration>,
) -> Attended {
    let Started { agent, held_message, max_turns } = started;
    let began = Instant::now();
    let deadlines = Deadlines::new(&config.limits, tree_time, began);
    let (deadlines, session) = match agent.kind {
        RunnerKind::Claude | RunnerKind::Acp => (deadlines, Session::new(held_message)),
        RunnerKind::Program => (deadlines.of_a_quiet_program(), Session::of_a_program()),
    };
    let mut attendance = Attendance {
        live: LiveRun { mailbox, config, run, log, agent, was_signalled: false, proposals: Vec::new(), posted: None, lack_noted: false },
        began,
        stopping: Stopping::default(),
        deadlines,
        session,
        answers: ModelAnswers::new(max_turns),
        tools: OpenCalls::default(),
        requests: Requests::default(),
        outcome: Outcome::default(),
        unread_line: None,
        ran_out_before_session: false,
    };
    let exit = attendance.until_the_end(messages);
    let Attendance { live, stopping, session, outcome, requests, unread_line, ran_out_before_session, .. } = attendance;
    let stop_ending = stopping.ending.map(|ending| match ending {
        Ending::Interrupted { why, class } if ran_out_before_session => {
            Ending::Interrupted { why: why + &last_words(&live.agent, unread_line.as_ref()), class }
        }
        other => other,
    });
    let mut attended = outcome.conclude(&live.agent, stop_ending, session.began, &exit.words, unread_line.as_ref());
    if let Ending::Asking { question, .. } = attended.ending
        && requests.ends_for() == Some(question)
    {
        // The question was posted before the turn was cut. The last event says why the run has ended.
        let (workflow_id, question_id) = (run.workflow_id.as_str().into(), question.to_string().into());
        attended.last_event = Some(EventKind::QuestionPosted { workflow_id, question_id });
    }
    attended
}

impl Attendance<'_, '_> {
    /// Returns how the agent's process ended.
    fn until_the_end(&mut self, messages: &Receiver<RunMessage>) -> Exit {
        let (mut exited, mut output_ended) = (None::<(Exit, Instant)>, false);
        // The status of a program that was asked to end is not a verdict.
        let mut ended_by_itself = false;
        // The request may have been written before the FIFO existed.
        self.stopping.check_stop_request(&mut self.live, self.tools.doing());
        loop {
            let now = Instant::now();
            // Once the agent has exited: when its output is drained, and at last no longer waited for.
            let drains_at = exited.as_ref().map(|(_, at)| *at);
            let ends_at = drains_at.map(|at| at + TO_THE_LAST_BYTE);
            if ends_at.is_some_and(|at| output_ended || now >= at) {
                break;
            }
            if drains_at.is_some_and(|at| now >= at) {
                self.live.agent.drain();
            }
            let exit_due = if drains_at.is_some_and(|at| now < at) { drains_at } else { ends_at };
            self.stopping.climb(&mut self.live, self.tools.doing(), now);
            if self.stopping.is_working()
                && let Some(question) = self.requests.overdue(now)
            {
                self.stopping.end_turn_for(&mut self.live, question);
            }
            if !self.requests.is_empty() {
                // If the run waits for a person, its silence is expected.
                self.deadlines.sign_of_life(now);
            }
            if self.stopping.is_working()
                && let Some(limit) = self.deadlines.passed(now)
            {
                self.time_is_over(limit, now);
            }
            let next_look = self.requests.look_after_all(&mut self.live, &self.stopping, now);
            let working = self.stopping.is_working().then(|| self.deadlines.next());
            let turn_ends = self.requests.ends_for.as_ref().map(|ends| ends.until).filter(|_| self.stopping.is_working());
            let next = [self.stopping.next_rung(), exit_due, working, turn_ends, next_look].into_iter().flatten().min();
            let message = match next {
                Some(at) => messages.recv_timeout(at.saturating_duration_since(now)),
                None => messages.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match message {
                Ok(RunMessage::Output(items)) => {
                    items.into_iter().for_each(|item| self.take(item));
                    self.deadlines.sign_of_life(Instant::now());
                }
                Ok(RunMessage::OutputEnded) => {
                    output_ended = true;
                    // An agent can say nothing more: let it exit. A program may have work to do.
                    if self.live.agent.kind != RunnerKind::Program {
                        self.stopping.let_it_exit(&mut self.live);
                    }
                }
                Ok(RunMessage::Exited(exit)) => {
                    ended_by_itself = !self.stopping.has_begun();
                    exited = Some((exit, Instant::now() + DRAIN));
                }
                Ok(RunMessage::Stop(request)) => self.stopping.stop(&mut self.live, self.tools.doing(), request),
                Ok(RunMessage::CheckStopRequest) => self.stopping.check_stop_request(&mut self.live, self.tools.doing()),
                Err(RecvTimeoutError::Timeout) => self.report_silence(),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.live.agent.drain();
        self.requests.end_all(&mut self.live);
        let exit = exited.map_or_else(|| Exit::unknown("its output ended"), |(exit, _)| exit);
        if ended_by_itself {
            self.program_ended(&exit);
            self.conclude_from_transcript(&exit);
        } else if self.live.agent.of_program(|output| output.cost_usd()).flatten().is_some() {
            // The dollars of a program that was stopped are booked. Its status is not a verdict, so the event is not a receipt.
            self.record_result(NOT_DONE);
        }
        exit
    }

    /// Stops the run, because a limit on time has passed. If it waits for a person, about a call or for an MCP server, it ends for that
    /// question instead, and goes on once the person has decided.
    fn time_is_over(&mut self, limit: TimeLimit, now: Instant) {
        if self.requests.end_run_for_held(&mut self.live) {
            // The agent program ends the turn at once. If it does not, it is forced to.
            self.deadlines.put_off(now + EXIT_GRACE);
        } else {
            self.ran_out_before_session = !self.session.began;
            self.stopping.stop_at_time_limit(&mut self.live, self.tools.doing(), limit, self.ran_out_before_session);
        }
    }

    fn report_silence(&mut self) {
        if self.stopping.is_working()
            && let Some(silence) = self.deadlines.silence_to_report(Instant::now())
        {
            self.live.log.event(EventKind::Silent { seconds: silence.as_secs() });
            self.end_wait_for_unread_result();
        }
    }
}

impl Attendance<'_, '_> {
    /// Notes the ending that the exit of a program means. Does nothing for an agent, whose stream has the verdict.
    pub(super) fn program_ended(&mut self, exit: &Exit) {
        let Some((text, cost_usd)) = self.live.agent.of_program(|output| (output.result(), output.cost_usd())) else { return };
        let ending = turn_ending::ending(exit, text, cost_usd, || self.live.agent.last_complaint(COMPLAINT_PATIENCE));
        self.live.look_for_question();
        let ended = match &ending {
            Ending::Delivered { .. } => COMPLETED,
            Ending::Awaits { .. } => AWAITS_PERSON,
            _ => NOT_DONE,
        };
        self.record_result(ended);
        self.outcome.note_turn(ending);
    }

    fn record_result(&mut self, ended: &str) {
        let took = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let event = self.live.agent.of_program(|output| output.result_event(ended, took));
        event.into_iter().for_each(|event| self.live.log.event(event));
    }
}

impl Attendance<'_, '_> {
    /// Lets an agent exit that has ended its turn, and whose result must be on a line that could not be read. It waits for another message,
    /// which will not come.
    pub(super) fn end_wait_for_unread_result(&mut self) {
        if self.unread_line.is_some() && self.last_words().is_some() {
            self.live.log.note("the agent's transcript shows that its turn has ended, but its result could not be read: it may exit");
            self.stopping.let_it_exit(&mut self.live);
        }
    }

    /// Takes the agent's last words from its transcript as its result, if it has ended its turn, and no turn came to its end here.
    pub(super) fn conclude_from_transcript(&mut self, exit: &Exit) {
        if (exit.status == Some(0) || self.live.was_signalled)
            && let Some(text) = self.last_words()
        {
            self.live.log.note("no result of the agent could be read: its last words in its transcript count as the result");
            self.session.had_a_turn(&self.live, &self.live.run.session_id.to_string().into());
            self.outcome.note_turn(Ending::Delivered { text: text.into(), cost_usd: None });
        }
    }

    fn last_words(&self) -> Option<String> {
        if self.live.agent.kind != RunnerKind::Claude || !self.outcome.is_open() {
            return None;
        }
        let run = self.live.run;
        let told = (1..=run.attempt).map(|attempt| Run { attempt, ..run.clone() }.continue_id().to_string());
        let messages: Vec<String> = told.chain([run.message_id.to_string()]).collect();
        transcript::last_words(File::open(stopped_calls::transcript_of(&self.live)?).ok()?, &messages)
    }
}
