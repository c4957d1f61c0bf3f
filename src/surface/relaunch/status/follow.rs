//! `relaunch status -f`: the status, kept up to date.

use crate::error::Result;
use crate::id::WorkflowId;
use crate::mailbox::Mailbox;
use crate::run::view::status::{self, Status};
use crate::surface::program::Context;
use crate::surface::relaunch::status::table;
use crate::surface::terminal::live_view::{self, Picture};

struct Table<'a> {
    mailbox: &'a Mailbox,
    context: &'a Context,
    workflow: Option<&'a WorkflowId>,
}

impl Picture for Table<'_> {
    type Row = Status;

    fn for_programs(&self) -> String {
        match self.workflow {
            Some(id) => format!("relaunch status -f {id} --json, or relaunch events -f {id}"),
            None => "relaunch status -f --json".to_owned(),
        }
    }

    fn look(&self) -> Result<Vec<Status>> {
        // The operator may have changed the configuration.
        self.context.reload();
        table::look(self.mailbox, self.context, self.workflow)
    }

    fn gone(&self, workflow: &WorkflowId) -> Result<Status> {
        status::of(self.mailbox, workflow)
    }

    fn words(&self, found: &[Status], _: Option<usize>) -> String {
        table::words(found, self.context, self.workflow.is_some())
    }

    fn status(row: &Status) -> &Status {
        row
    }

    fn is_same(one: &Status, other: &Status) -> bool {
        live_view::is_same(one, other)
    }
}

/// Shows one workflow, or all that are not over, until Ctrl-C.
pub fn follow(mailbox: &Mailbox, context: &Context, workflow: Option<&WorkflowId>, json: bool) -> Result<u8> {
    live_view::follow(mailbox, &Table { mailbox, context, workflow }, json)
}
