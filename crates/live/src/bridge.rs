//! All requests of one process.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use crate::wire::{self, Incoming, NOT_FOUND, RequestId, TAKEN};
use crate::{programs, reply};
use askbox_cli::args::askbox_args::LiveProgram;
use askbox_cli::program;
use askbox_config::Config;
use askbox_mailbox::{Mailbox, Result, RoundId};
use askbox_run::asking::beside::{self, Dialogs, LOOK_EVERY, Sent};
use askbox_run::asking::receipt::End;
use askbox_run::{Desk, Reply, Request};

/// How many lines are read before the next look at the mailbox.
const MOST_LINES: usize = 500;

const GONE: &str = "its session has ended";
/// Nobody knows which of both calls the program would make.
const CHANGED: &str = "its session has told the call of a dialog twice, in two forms";

/// One process of a program, and what it has asked.
struct Asker {
    program: LiveProgram,
    requests: HashMap<RequestId, Request>,
}

impl beside::Program for Asker {
    type Key = RequestId;

    fn read(&mut self, id: &RequestId, _age: Duration) -> Result<Option<Request>> {
        Ok(self.requests.get(id).cloned())
    }

    fn write(&mut self, id: &RequestId, request: &Request, _round: &RoundId, reply: Reply) -> Result<Sent> {
        program::print_json(&reply::of(self.program, id.clone(), request, reply)).map(|()| Sent::Yes)
    }
}

/// Serves the dialogs until the lines end: the plugin has closed its end.
///
/// # Errors
/// If the program can no longer be written to.
pub(super) fn serve(mailbox: &Mailbox, config: &Config, program: LiveProgram, lines: &Receiver<Vec<u8>>) -> Result<()> {
    let desk = Desk { mailbox, config, facts: programs::facts(program) };
    let mut bridge = Bridge { desk, asker: Asker { program, requests: HashMap::new() }, dialogs: Dialogs { open: HashMap::new() } };
    let result = bridge.pass_until_end(lines);
    bridge.dialogs.end_all(desk, GONE, |_| true);
    result
}

struct Bridge<'a> {
    desk: Desk<'a>,
    asker: Asker,
    dialogs: Dialogs<RequestId>,
}

impl Bridge<'_> {
    fn pass_until_end(&mut self, lines: &Receiver<Vec<u8>>) -> Result<()> {
        loop {
            // Without a dialog, only a line brings work.
            let line = match self.dialogs.open.is_empty() {
                true => lines.recv().map_err(|_| RecvTimeoutError::Disconnected),
                false => lines.recv_timeout(LOOK_EVERY),
            };
            match line {
                Ok(line) => {
                    // The end of a dialog may lie behind this line, and comes before any look at the mailbox.
                    for line in std::iter::once(line).chain(lines.try_iter().take(MOST_LINES)) {
                        self.handle(wire::read(&line));
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
            self.dialogs.look(self.desk, &mut self.asker)?;
            self.asker.requests.retain(|id, _| self.dialogs.open.contains_key(id));
        }
    }

    fn handle(&mut self, told: Incoming) {
        let (desk, dialogs) = (self.desk, &mut self.dialogs);
        match told {
            Incoming::Asked(asked) => match programs::read(self.asker.program, *asked) {
                Ok((id, request)) if dialogs.open.contains_key(&id) => {
                    if self.asker.requests.insert(id.clone(), request.clone()) != Some(request) {
                        dialogs.leave(desk, &id, CHANGED);
                    }
                }
                Ok((id, request)) => {
                    self.asker.requests.insert(id.clone(), request);
                    dialogs.open(desk, id);
                }
                Err(e) => desk.not_asked(&e.to_string()),
            },
            // The plugin does not tell the ends that our reply brings about.
            Incoming::Ended { id } => {
                dialogs.take(desk, &id, &End::too_late(desk.facts.answered));
                dialogs.end(desk, &id, desk.facts.answered);
            }
            Incoming::Replied { id, status } => {
                let end = match status {
                    TAKEN => End::Confirmed,
                    NOT_FOUND => End::too_late(desk.facts.answered),
                    other => End::not_given(&format!("{} answered with the status {other}", desk.facts.name)),
                };
                dialogs.take(desk, &id, &end);
            }
            Incoming::Failed { id, why } => {
                desk.not_asked(&why);
                id.iter().for_each(|id| dialogs.take(desk, id, &End::NotKnownYet));
            }
            Incoming::Other => {}
        }
    }
}
