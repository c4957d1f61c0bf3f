//! Tasks in the background: `Task` with `run_in_background`, in the session itself.
//!
//! The result of such a call comes at once. It says in the transcript that the call has started a task. A notice in the transcript says
//! that the task is over, and brings its conclusion. A process works on the tasks that were started and have no notice, one thread for
//! each. So the next process goes on with them, and each conclusion is told once.
//!
//! The session's turn ends after its tasks. Once anything waits for a person, all come to rest, and the turn ends. In the next turn, the
//! conversation that waits looks into the mailbox first. The others go on once it has its answer.

use std::sync::atomic::Ordering;

use serde_json::json;

use crate::conversation::Conversation;
use crate::history::Call;
use crate::host::{Happening, Host};
use crate::model::add_usage;
use crate::outcome::Outcome;
use crate::step::{End, Stop};
use crate::{person, task};
use askbox_mailbox::{Result, thread};

impl Conversation {
    /// A turn of the session, with its tasks.
    pub fn turn(&mut self, host: &mut Host) -> Result<End> {
        let mut end = self.work(host)?;
        host.rest.store(true, Ordering::SeqCst);
        while !host.tasks.is_empty() {
            if host.over.is_empty() {
                host.wait(None);
            }
            let of_task = self.take_over(host)?;
            // If the session has come to rest, the turn ends because of a task.
            if matches!(end, End::Stopped(Stop::Terminate)) && host.stop.is_none() {
                end = of_task.unwrap_or(end);
            }
        }
        if let End::Waits(call) = &end {
            self.transcript.wait(call)?;
        }
        Ok(end)
    }

    fn work(&mut self, host: &mut Host) -> Result<End> {
        if !self.transcript.history.tasks().is_empty()
            && let Some(asked) = person::asked(host)?.or(self.transcript.history.waiting.clone())
            && let Some(end) = self.look_first(host, &asked)?
        {
            return Ok(end);
        }
        loop {
            if let Some(end) = self.take_over(host)? {
                return Ok(end);
            }
            for call in self.transcript.history.tasks() {
                if host.is_to_stop().is_none() && !host.tasks.contains(&call.id) {
                    match task::prepare(host, self, &call)? {
                        Ok(child) => Self::start(host, &call, child)?,
                        Err(refused) => self.notice(host, &call.id, &refused)?,
                    }
                }
            }
            if let Some(end) = self.step(host)? {
                return Ok(end);
            }
        }
    }

    /// Makes the step of the conversation that waits for a person with this call: the session, or a task.
    fn look_first(&mut self, host: &mut Host, asked: &str) -> Result<Option<End>> {
        for call in self.transcript.history.tasks() {
            if task::has_open(host, &call, asked)?
                && let Ok(mut child) = task::prepare(host, self, &call)?
            {
                match child.step(host)?.map(|end| task::conclusion(end, &child)) {
                    None => Self::start(host, &call, child)?,
                    Some(Ok(outcome)) => self.notice(host, &call.id, &outcome)?,
                    Some(Err(end)) => return Ok(Some(end)),
                }
                let waited = self.transcript.history.waiting.clone();
                return waited.map_or(Ok(()), |waited| self.transcript.wait_is_over(&waited)).map(|()| None);
            }
        }
        self.step(host)
    }

    /// Works on the task of a call, in a thread.
    fn start(host: &mut Host, call: &Call, mut child: Conversation) -> Result<()> {
        let (mut own, sender, call) = (host.for_task(&call.id), host.sender(), call.id.clone());
        thread::start(move || {
            let conclusion = child.go_on(&mut own).map(|end| task::conclusion(end, &child));
            if !matches!(conclusion, Ok(Ok(_))) {
                own.rest.store(true, Ordering::SeqCst);
            }
            // The lock on its transcript is free for the next turn.
            drop(child);
            let _ = sender.send(Happening::TaskOver(Some(Box::new((call, conclusion, own.usage)))));
        })
        .map(drop)
    }

    /// Takes in a task that is over. Returns the end of the turn, if the task has no conclusion.
    fn take_over(&mut self, host: &mut Host) -> Result<Option<End>> {
        while let Some(over) = host.over.pop_front() {
            let (call, conclusion, usage) = *over;
            host.tasks.remove(&call);
            add_usage(&mut host.usage, &usage);
            match conclusion? {
                Ok(outcome) => self.notice(host, &call, &outcome)?,
                Err(end) => return Ok(Some(end)),
            }
        }
        Ok(None)
    }

    fn notice(&mut self, host: &Host, call: &str, outcome: &Outcome) -> Result<()> {
        let how = if outcome.is_error { "has failed" } else { "is done" };
        let words = format!("[Notice: the agent that the call {call} started in the background {how}.]\n{}", outcome.text);
        let block = json!({ "type": "text", "text": words });
        self.transcript.notice(call, &block)?;
        host.events.told(&block, None);
        Ok(())
    }
}
