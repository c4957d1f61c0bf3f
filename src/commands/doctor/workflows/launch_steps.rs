//! The steps of a round's road that its launch needs: a watcher, the program of its runner, a place in the queue.

use crate::commands::doctor::checkup::problem;
use crate::commands::doctor::workflows::hold_ups;
use crate::commands::doctor::workflows::road::Walk;
use askbox_mailbox::disk::{self, Lock};
use askbox_mailbox::id::RoundId;
use askbox_mailbox::listing::list;
use askbox_mailbox::{Folder, text};
use askbox_run::attempt::record;
use askbox_run::process::programs;
use askbox_run::story::cause::{self, HoldUp};
use askbox_run::story::queue;

impl Walk<'_> {
    /// The disk, if it is in the way.
    pub(super) fn room(&mut self) {
        if let Some(hold_up) = cause::no_room(self.mailbox).or_else(|| cause::read_only(self.mailbox)) {
            self.hinders_by("disk", &hold_up);
        }
    }

    fn hinders_by(&mut self, step: &'static str, hold_up: &HoldUp) {
        self.hinders(step, hold_up.why.clone(), Some(self.checkup.command_of(hold_up)));
    }

    pub(super) fn watcher(&mut self) {
        match cause::no_watcher(self.mailbox) {
            Some(hold_up) => self.hinders_by("watcher", &hold_up),
            None => {
                let who = disk::lock_holder(&self.mailbox.lock_file("watchers")).map(|holder| format!(", {holder}"));
                self.holds("watcher", format!("running{}", who.unwrap_or_default()));
            }
        }
    }

    pub(super) fn program(&mut self) {
        match cause::no_program(&self.checkup.config, self.id) {
            Some(hold_up) => self.hinders_by("program", &hold_up),
            None => {
                let runner = self.checkup.config.runner_of(self.id).ok().and_then(|(_, runner)| programs::of_runner(&runner).ok());
                self.holds("program", runner.map(|path| text::file_name(&path)).unwrap_or_default());
            }
        }
    }

    pub(super) fn queue(&mut self) {
        let of_this = |round: &RoundId| round.workflow == *self.id && *round != self.found.id;
        let (mut live, mut earlier) = (0, None);
        for round in list::round_names(self.mailbox, Folder::Running) {
            live += usize::from(Lock::is_held(&record::lock_path(self.mailbox, &round)).unwrap_or(false));
            earlier = earlier.or_else(|| of_this(&round).then(|| round.clone()));
        }
        let queue = match queue::of(self.mailbox, &self.checkup.config) {
            Ok(queue) => queue,
            Err(error) => return self.hinders("queue", problem(&error), Some(hold_ups::mend_unknown(self.checkup, self.mailbox, &error))),
        };
        if let Some(hold_up) = cause::of_queue(&queue, Some(&self.checkup.config)) {
            return self.hinders_by("queue", &hold_up);
        }
        let why = queue.why.map(|why| format!(": {why}")).unwrap_or_default();
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
