//! The session of a dialog as a program that asks.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::commands::hook::dialog::guard::{self, Guard};
use crate::commands::hook::dialog::question::{self, Keys};
use crate::commands::hook::dialog::reply;
use crate::commands::hook::dialog::signs::{self, Signs, is_attended};
use crate::commands::hook::event::PermissionRequest;
use askbox_cli::program;
use askbox_mailbox::audit::{self, Entry};
use askbox_mailbox::programs::CLAUDE;
use askbox_mailbox::{IoContext, Result, RoundId, time};
use askbox_run::asking::beside::{Program, Sent};
use askbox_run::{Desk, Reply, Request};

/// How long the transcript may take to name the call, after the grace time.
const CALL_PATIENCE: Duration = Duration::from_secs(10);

pub(super) const NOT_IN_TIME: &str = "nobody answered in time: the dialog is open at its terminal now";
const NOT_IN_TIME_UNATTENDED: &str = "nobody answered in time: the session decided without an answer";

/// The session of one dialog.
pub(super) struct Asker<'a> {
    desk: Desk<'a>,
    event: &'a PermissionRequest,
    in_background: bool,
    /// How long the call may have no id.
    patience: Duration,
    begun: Instant,
    since: time::Time,
    guard: Guard,
    signs: Signs,
    /// Nobody sees the dialog of an agent in the background.
    keys: Option<Keys>,
    is_noted: bool,
}

impl<'a> Asker<'a> {
    /// The session of this event, which opens its dialog now.
    pub(super) fn begin(desk: Desk<'a>, event: &'a PermissionRequest, in_background: bool, grace: Duration) -> Result<Self> {
        let (since, guard) = (time::now(), Guard::begin()?);
        let signs = Signs::new(event, guard.clone(), since);
        let patience = grace + CALL_PATIENCE;
        Ok(Self { desk, event, in_background, patience, begun: Instant::now(), since, guard, signs, keys: None, is_noted: false })
    }

    /// The folders whose changes may be a sign.
    pub(super) fn folders(&self) -> Vec<PathBuf> {
        self.signs.folders(self.event)
    }

    /// The id of the call. `None` if the transcript may still tell it.
    ///
    /// The transcript may have the call only after the dialog. The session's file tells the dialog's end as well. A question about a call
    /// without a dialog ends with its hold at the latest.
    fn call(&mut self, age: Duration) -> Option<String> {
        let told = self.signs.call_id().map(str::to_owned);
        if told.is_some() || age < self.patience {
            return told;
        }
        if self.in_background || (self.event.agent_id.is_none() && self.signs.has_open_dialog()) {
            return Some(question::id_not_told(self.event));
        }
        if !std::mem::replace(&mut self.is_noted, true) {
            // The dialog is open, and its question is worth something as long as that.
            self.desk.not_asked(&format!("a dialog's call is in no transcript: {}", self.signs.call.what_was_read()));
        }
        None
    }

    /// True if nobody has answered in time. An agent in the foreground has its dialog. A teammate has none, whatever the user's settings say of
    /// other agents.
    fn is_too_long(&self) -> bool {
        let ends = self.in_background || self.event.agent_id.is_some();
        ends && self.begun.elapsed() >= self.desk.config.live.hold.0 && (self.in_background || !self.signs.has_open_dialog())
    }

    fn look_at_keys(&mut self) {
        if let Some(keys) = &mut self.keys {
            keys.look(self.desk.mailbox, &self.event.session_id);
        }
    }
}

impl Program for Asker<'_> {
    type Key = ();

    fn read(&mut self, (): &(), age: Duration) -> Result<Option<Request>> {
        let Some(call) = self.call(age) else { return Ok(None) };
        let until = self.in_background.then(|| self.since + self.desk.config.live.hold.0);
        let request = question::request(self.event, call, until)?;
        self.guard.asks(self.desk.mailbox, &request.workflow, signs::REFUSED)?;
        if !self.in_background && self.keys.is_none() {
            self.keys = Some(Keys::of_process(&self.signs.process));
            self.look_at_keys();
        }
        Ok(Some(request))
    }

    fn write(&mut self, (): &(), _: &Request, round: &RoundId, reply: Reply) -> Result<Sent> {
        let output = match reply::output(self.event, reply) {
            Ok(output) => output,
            Err(why) => return Ok(Sent::No(format!("the decision would not be understood: {why}"))),
        };
        // The round stays claimed until the receipt is there, whoever looks for it.
        let waiting = guard::after_this_process(self.desk.mailbox, &["--receipt", &round.to_string()]);
        if let Err(e) = waiting.and_then(|mut waiting| waiting.spawn().io("start", "the process that waits for the receipt")) {
            audit::record(self.desk.mailbox, Entry::about_round("receipt_not_awaited", round).by(CLAUDE.by).why(program::message(&e)));
        }
        // The reader may be gone and have read it all the same. The transcript tells.
        let _ = program::write_json(&output.to_string());
        Ok(Sent::Yes)
    }

    fn end(&mut self, (): &()) -> Option<&'static str> {
        let how = self.signs.end();
        self.look_at_keys();
        let too_long = || if is_attended() { NOT_IN_TIME } else { NOT_IN_TIME_UNATTENDED };
        how.or_else(|| self.is_too_long().then(too_long))
    }
}
