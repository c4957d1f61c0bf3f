//! Starting supervisors, and knowing when they end.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::disk::Lock;
use crate::id::RoundId;
use crate::mailbox::{Folder, QuestionDocument};
use crate::run::claim::record::{self, Run};
use crate::run::claim::{Claim, Taken};
use crate::run::process::detach;
use crate::watch::{Input, Watch};

/// How long the operator's notification program may take.
const NOTIFY_LIMIT: Duration = Duration::from_secs(30);

impl Watch<'_> {
    /// Starts the supervisor of an attempt as a process of its own, which outlives the watcher.
    pub(super) fn start(&mut self, run: Run) {
        if self.admit(&run) {
            let spawned = self.spawn(&run);
            self.started(&run, spawned);
        } else {
            // It is claimed, and waits for its turn.
            self.ready.push_front(run);
        }
    }

    /// [`start`](Self::start) while the attempt of a claim is put on record: its supervisor waits for that.
    pub(super) fn start_claimed(&mut self, claim: Claim<Taken>) {
        let run = claim.run.clone();
        let spawned = self.admit(&run).then(|| self.spawn(&run));
        let answered = self.mailbox.document(Folder::Answered, &run.workflow_id);
        // From here on the supervisor can take the round's lock.
        let recorded = claim.put_on_record(&self.mailbox).map(Claim::hand_over);
        match (spawned, recorded.is_ok()) {
            // One that finds no record ends at once.
            (Some(spawned), _) => self.started(&run, spawned),
            (None, true) => self.ready.push_front(run),
            (None, false) => {}
        }
        if let Err(e) = recorded {
            self.tell(&e);
            self.look_later(answered, Duration::from_secs(10));
        }
    }

    fn started(&mut self, run: &Run, spawned: crate::Result<Child>) {
        let round = run.round();
        match spawned {
            Ok(mut child) => {
                self.live.insert(round.clone());
                let (attempt, session) = (run.attempt, run.session_id);
                tracing::info!(event = "launched", workflow = %round.workflow, attempt, %session, "attempt {attempt}, session {session}");
                let sender = self.sender.clone();
                std::thread::spawn(move || {
                    let _ = child.wait();
                    let _ = sender.send(Input::Ended(round));
                });
            }
            Err(e) => {
                self.tell(&e);
                self.not_started(run);
                self.look_later(self.mailbox.round(Folder::Running, &round), Duration::from_secs(10));
            }
        }
    }

    fn spawn(&self, run: &Run) -> crate::Result<Child> {
        detach::command(&self.mailbox, run)?.spawn().map_err(|e| detach::failed(&e))
    }

    /// A run that somebody else launched: its lock tells when it ends. One sleeping thread a run, no polling.
    pub(super) fn attach(&mut self, round: &RoundId) {
        if !self.live.insert(round.clone()) {
            return;
        }
        let (path, sender, round) = (record::lock_path(&self.mailbox, round), self.sender.clone(), round.clone());
        std::thread::spawn(move || {
            let _ = Lock::wait_until_free(&path);
            let _ = sender.send(Input::Ended(round));
        });
    }

    /// Tells the human through the operator's program. It may fail or hang without harm.
    pub(super) fn notify(&mut self, event: &str, document: &QuestionDocument) {
        let Some((program, args)) = self.config.notify.command.split_first() else { return };
        let child = Command::new(program)
            .args(args)
            .arg(event)
            .env("ASKBOX_EVENT", event)
            .env("ASKBOX_WORKFLOW_ID", document.typed.workflow_id.as_str())
            .env("ASKBOX_QUESTION", crate::text::excerpt(&document.typed.title(), 400))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn();
        match child {
            Ok(mut child) => {
                let bytes = document.to_bytes();
                let stdin = child.stdin.take();
                std::thread::spawn(move || {
                    let process = crate::run::process::processes::Process::hold(child.id());
                    std::thread::spawn(move || {
                        use std::io::Write;
                        let _ = stdin.map(|mut s| s.write_all(&bytes));
                    });
                    if process.as_ref().is_some_and(|p| !p.wait_gone(NOTIFY_LIMIT)) {
                        let _ = child.kill();
                    }
                    let _ = child.wait();
                });
            }
            Err(e) => tracing::error!("notify.command: {program}: {e}"),
        }
    }
}
