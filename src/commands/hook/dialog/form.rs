//! The form of an MCP server (an elicitation) as a program that asks. Claude Code opens no dialog before its hook has ended, so this is no race
//! with the terminal. The mailbox has the form only while nobody is at the terminal: the first key there ends the hook, and the form opens.

use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};
use uuid::Uuid;

use crate::commands::hook::dialog::asker::NOT_IN_TIME;
use crate::commands::hook::dialog::guard::Guard;
use crate::commands::hook::dialog::question::{self, Keys};
use crate::commands::hook::dialog::signs;
use crate::commands::hook::event::Elicitation;
use askbox_cli::{hangup, program};
use askbox_mailbox::{Result, RoundId, Time, Trace, time};
use askbox_run::asking::beside::{Program, Sent};
use askbox_run::asking::posted;
use askbox_run::asking::request::More;
use askbox_run::{Desk, Reply, Request, Subject};

const AT_TERMINAL: &str = "somebody is at its terminal: the form is open there";

/// A form whose user is not at the terminal.
pub(super) struct Form<'a> {
    desk: Desk<'a>,
    event: &'a Elicitation,
    begun: Instant,
    since: Time,
    guard: Guard,
    keys: Keys,
    /// The last key before the form.
    last_key: SystemTime,
}

impl<'a> Form<'a> {
    /// The form of this event. `None` if somebody may be at the terminal: a key came within the grace time, or no terminal is known.
    pub(super) fn begin(desk: Desk<'a>, event: &'a Elicitation) -> Result<Option<Self>> {
        let keys = Keys::of_process(&program::env("CLAUDE_PID").unwrap_or_default());
        // The key may have come at the end of its step.
        let at_most = desk.config.live.grace.0 + question::STEP;
        let is_away = |at: &SystemTime| at.elapsed().is_ok_and(|ago| ago >= at_most);
        let Some(last_key) = keys.last().filter(is_away) else { return Ok(None) };
        Ok(Some(Self { desk, event, begun: Instant::now(), since: time::now(), guard: Guard::begin()?, keys, last_key }))
    }

    fn hold(&self) -> Duration {
        self.desk.config.live.hold.0
    }
}

impl Program for Form<'_> {
    type Key = ();

    fn read(&mut self, (): &(), _: Duration) -> Result<Option<Request>> {
        let event = self.event;
        // Two hooks of one form find the same id.
        let asked = json!([event.session_id, event.mcp_server_name, event.input]).to_string();
        let id = Uuid::new_v5(&Uuid::NAMESPACE_OID, asked.as_bytes()).simple().to_string();
        let request = Request {
            workflow: posted::workflow(&event.cwd, &event.session_id, &id)?,
            session: event.session_id,
            folder: event.cwd.clone(),
            subject: Subject::Form,
            tool: event.mcp_server_name.clone(),
            input: event.input.clone(),
            cwd: event.cwd.clone(),
            call: id,
            subagent: None,
            more: More {
                title: question::title(&event.transcript_path, &event.session_id),
                until: Some(self.since + self.hold()),
                config_dir: signs::config_dir(&event.transcript_path).map(Path::to_path_buf),
                trace: Trace::of_environment().ok().flatten(),
                ..More::default()
            },
        };
        self.guard.asks(self.desk.mailbox, &request.workflow, signs::REFUSED)?;
        Ok(Some(request))
    }

    fn write(&mut self, (): &(), _: &Request, _: &RoundId, reply: Reply) -> Result<Sent> {
        let mut output = match reply {
            Reply::Form(content) => json!({ "action": "accept", "content": content }),
            Reply::Refuse { .. } => json!({ "action": "decline" }),
            Reply::Allow { .. } | Reply::Stop { .. } | Reply::Answers(_) => return Ok(Sent::No("it does not fit a form".into())),
        };
        output["hookEventName"] = Value::from("Elicitation");
        // Nothing shows later that the server has it. Claude Code takes what its hook has printed.
        Ok(match program::write_json(&json!({ "hookSpecificOutput": output }).to_string()) {
            Ok(()) => Sent::Taken,
            Err(e) => Sent::No(e.to_string()),
        })
    }

    fn end(&mut self, (): &()) -> Option<&'static str> {
        if hangup::is_gone() {
            return Some(signs::ENDED);
        }
        if self.guard.is_told_to_end() {
            return Some(signs::REFUSED);
        }
        if self.keys.last() != Some(self.last_key) {
            return Some(AT_TERMINAL);
        }
        (self.begun.elapsed() >= self.hold()).then_some(NOT_IN_TIME)
    }
}
