//! The steps of a round's road that its launch needs: a watcher, the program of its runner, a place in the queue.

use crate::commands::doctor::checkup::{edit, hanging, problem};
use crate::commands::doctor::installation::setup::startable;
use crate::commands::doctor::workflows::hold_ups;
use crate::commands::doctor::workflows::road::Walk;
use askbox_config as config;
use askbox_mailbox::disk::{self, Lock};
use askbox_mailbox::id::RoundId;
use askbox_mailbox::listing::list;
use askbox_mailbox::time;
use askbox_mailbox::{Folder, text};
use askbox_run::attempt::record;
use askbox_run::process::programs;
use askbox_watch::report::summary::{self, QueueState};

impl Walk<'_> {
    pub(super) fn watcher(&mut self) {
        match disk::lock_holder(&self.mailbox.lock_file("watchers")) {
            _ if !self.checkup.watcher => self.hinders("watcher", "none is running", self.command("relaunch watch")),
            Some(holder) if holder.is_stopped => {
                let (said, next) = hanging(self.mailbox, "watchers");
                self.hinders("watcher", said, next);
            }
            Some(holder) => self.holds("watcher", format!("running, {holder}")),
            None => self.holds("watcher", "running"),
        }
    }

    pub(super) fn program(&mut self) {
        match self.checkup.config.runner_of(self.id) {
            Ok((_, runner)) => match programs::of_runner(&runner) {
                Ok(path) => self.holds("program", text::file_name(&path)),
                Err(error) => self.hinders("program", problem(&error), Some(startable(&runner))),
            },
            Err(error) => self.hinders("program", problem(&error), Some(edit(&config::location().unwrap_or_default()))),
        }
    }

    pub(super) fn queue(&mut self) {
        let of_this = |round: &RoundId| round.workflow == *self.id && *round != self.found.id;
        let (mut live, mut earlier) = (0, None);
        for round in list::round_names(self.mailbox, Folder::Running) {
            live += usize::from(Lock::is_held(&record::lock_path(self.mailbox, &round)).unwrap_or(false));
            earlier = earlier.or_else(|| of_this(&round).then(|| round.clone()));
        }
        let queue = match summary::queue(self.mailbox, &self.checkup.config) {
            Ok(queue) => queue,
            Err(error) => return self.hinders("queue", problem(&error), Some(hold_ups::mend_unknown(self.checkup, self.mailbox, &error))),
        };
        let why = queue.why.map(|why| format!(": {why}")).unwrap_or_default();
        if let (QueueState::Paused, Some(cause)) = (queue.state, queue.cause) {
            let until = queue.until.map(|until| format!(" until {}", time::rfc3339(until))).unwrap_or_default();
            return self.hinders("queue", format!("paused{until}{why}"), Some(hold_ups::mend(self.checkup, cause)));
        }
        if let Some(earlier) = earlier {
            let said = format!("round {} of this workflow is not over yet", earlier.question);
            return self.hinders("queue", said, self.command(&format!("relaunch status {}", self.id)));
        }
        let most = hold_ups::most_runs(self.checkup, self.mailbox);
        if live >= most {
            return self.hinders("queue", format!("{live} runs are live, and {most} may be{why}"), self.command("relaunch status"));
        }
        self.holds("queue", format!("open, {live} of {most} runs are live"));
    }
}
