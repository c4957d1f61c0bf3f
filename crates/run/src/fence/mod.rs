//! The fence around the agent of a run (`[fence]`): what the run cannot touch, it cannot decide.
//!
//! Behind it the mailbox is read-only, but for one folder of the attempt: `runs/W/Q/N/asks`. A program of askbox that the run calls puts a
//! request there, and the supervisor starts the same program in front of the fence, for this run. It speaks through named pipes, so the
//! caller reads and writes as ever.
//!
//! 1. The caller makes `asks/ID` with the pipes `in`, `out`, `err` and `end`, opens them, and puts `request.json` there: **it is asked**.
//! 2. It wakes the supervisor by `asks/control`.
//! 3. The supervisor renames the file to `taken.json`: **it is taken, once**. It opens the pipes, and writes `t` into `end`.
//! 4. It starts the program, in the run's environment: the request names neither the run, nor the mailbox, nor the configuration.
//! 5. The program has ended. Its exit status goes into `end`, behind all of its output.
//!
//! If the supervisor ends in between, the program ends too. The caller finds `end` closed without a status, and says that nobody knows what
//! became of the call. No further record is written, because the program itself is durable before it reports success. If the caller
//! ends, the program ends too.
//!
//! The run sees the mailbox's own `pending` in `asks/mailbox-pending`, where a hook looks whether its workflow waits.
//!
//! A question that the run writes by hand into `pending/` lies in `asks/pending`: the supervisor posts it when the turn ends.
//!
//! | file | idea |
//! |---|---|
//! | `folders` | the folders of the fence, and whether there is one |
//! | `request` | what a run asks for |
//!
//! The supervisor's side is `supervise/desk`.

mod folders;
pub mod request;

pub use folders::{ASKS, HAND_MADE, PENDING, asks, of_run, of_session};

use askbox_mailbox::family::lineage;
use askbox_mailbox::{Mailbox, WorkflowId};

/// True if a run of `own` may change this workflow: its own, one below it, or a new one.
pub fn may_change(mailbox: &Mailbox, own: &WorkflowId, workflow: &WorkflowId) -> bool {
    workflow == own || lineage::is_at_or_below(mailbox, own, workflow) || !lineage::kin(mailbox, workflow).is_known
}
