//! The loop of the attending thread: one message or deadline after the other, until the agent has ended.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use crate::agent::events::EventKind;
use crate::config::Config;
use crate::mailbox::Mailbox;
use crate::run::attempt::record::Run;
use crate::run::supervise::attend::attendance::Attendance;
use crate::run::supervise::attend::conclusion::Attended;
use crate::run::supervise::attend::deadlines::TimeLimit;
use crate::run::supervise::attend::stopping::EXIT_GRACE;
use crate::run::supervise::event_log::EventLog;
use crate::run::supervise::run_message::RunMessage;
use crate::run::supervise::start_agent::Started;

/// How long output may still come after the agent's process has ended: a surviving descendant may hold the pipe open for ever.
const DRAIN: Duration = Duration::from_secs(2);

/// Attends to the agent until it has ended. `tree_time`: how long the workflow's tree may still be at work.
pub(crate) fn attend(
    mailbox: &Mailbox,
    config: &Config,
    run: &Run,
    started: Started,
    log: &mut EventLog<'_>,
    messages: &Receiver<RunMessage>,
    tree_time: Option<Duration>,
) -> Attended {
    let mut attendance = Attendance::new(mailbox, config, run, started, log, tree_time);
    let exit_status = attendance.until_the_end(messages);
    let Attendance { live, stopping, session, outcome, .. } = attendance;
    outcome.conclude(&live.agent, stopping.into_ending(), session.has_begun(), &exit_status)
}

impl Attendance<'_, '_> {
    /// Returns the agent's exit status in words.
    fn until_the_end(&mut self, messages: &Receiver<RunMessage>) -> String {
        let (mut exited, mut output_ended) = (None::<(String, Instant)>, false);
        // The request may have been written before the FIFO existed.
        self.stopping.check_stop_request(&mut self.live, self.tools.doing());
        loop {
            let now = Instant::now();
            let drained = exited.as_ref().map(|(_, at)| *at);
            if drained.is_some_and(|at| output_ended || now >= at) {
                break;
            }
            self.stopping.climb(&mut self.live, self.tools.doing(), now);
            if !self.requests.is_empty() {
                // A run that waits for a person is not silent.
                self.deadlines.sign_of_life(now);
            }
            if self.stopping.is_working()
                && let Some(limit) = self.deadlines.passed(now)
            {
                self.time_is_over(limit, now);
            }
            let next_look = self.requests.look_after_all(&mut self.live, &self.stopping, now);
            let working = self.stopping.is_working().then(|| self.deadlines.next());
            let next = [self.stopping.next_rung(), drained, working, next_look].into_iter().flatten().min();
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
                    // The agent can say nothing more: let it exit.
                    self.stopping.let_it_exit(&mut self.live);
                }
                Ok(RunMessage::Exited(status)) => exited = Some((status, Instant::now() + DRAIN)),
                Ok(RunMessage::Stop(request)) => self.stopping.stop(&mut self.live, self.tools.doing(), request),
                Ok(RunMessage::CheckStopRequest) => self.stopping.check_stop_request(&mut self.live, self.tools.doing()),
                Err(RecvTimeoutError::Timeout) => self.report_silence(),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.requests.end_all(&mut self.live);
        exited.map_or_else(|| "its output ended".into(), |(status, _)| status)
    }

    /// A limit on time has passed: the run stops. If it waits for a person, about a call or for an MCP server, it ends for that question instead, and goes on
    /// once they have decided.
    fn time_is_over(&mut self, limit: TimeLimit, now: Instant) {
        if self.requests.end_run_for_held(&mut self.live) {
            // The agent program ends the turn at once. If it does not, the run stops then.
            self.deadlines.put_off(now + EXIT_GRACE);
        } else {
            self.stopping.stop_at_time_limit(&mut self.live, self.tools.doing(), limit);
        }
    }

    fn report_silence(&mut self) {
        if self.stopping.is_working()
            && let Some(silence) = self.deadlines.silence_to_report(Instant::now())
        {
            self.live.log.event(EventKind::Silent { seconds: silence.as_secs() });
        }
    }
}
