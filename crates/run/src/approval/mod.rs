//! A person's permission for one tool call of an agent: the question, what its answer allows, and what was allowed to a workflow.
//!
//! | file | idea |
//! |---|---|
//! | `call` | a tool call, its hash, and the calls that `askbox hook` let through |
//! | `ask` | the question that shows the call, and what a person's reply means |
//! | `change` | what a call changes in a file as it is now |
//! | `lines` | the lines of two texts |
//! | `permit` | an answer allows exactly the call that was shown, once |
//! | `standing` | what a person allowed or refused to a workflow for good |
//!
//! 1. The hook or the supervisor holds a call back and asks with [`ask::question`].
//! 2. Once the question is answered and its round is claimed, [`permit::permit`] decides about the call. Before it says *allowed*, it
//!    makes the round's mark (`runs/W/Q/approved`), exclusively and durably: nobody can use the same answer again.
//! 3. With the answer `workflow`, the call is put into the workflow's record, and [`standing::about`] allows the next one. A refusal with
//!    `always` is put there when its round is claimed, and [`standing::about`] refuses the next one.
//!
//! No message to the agent, no default and no event allows anything: the answer must be a person's `once` or `workflow`.

pub mod ask;
pub mod call;
mod change;
pub mod lines;
pub mod permit;
pub mod standing;
