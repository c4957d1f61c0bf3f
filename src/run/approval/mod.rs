//! A person's permission for one tool call of an agent: the question, what its answer allows, and what was allowed to a workflow.
//!
//! - `call`: a tool call and its hash
//! - `ask`: the question that shows the call
//! - `reply`: what a person's reply means
//! - `permit`: what an answer allows: exactly the call that was shown, once
//! - `let_through`: what `askbox hook` has let through, for the supervisor that is asked once more
//! - `grants`: what a person has allowed to a workflow, in the workflow's record
//!
//! 1. Whoever holds a call back asks with [`ask::question`].
//! 2. Once the question is answered and its round is claimed, [`permit::permit`] says what becomes of the call. Before it says *allowed*, it
//!    makes the round's mark (`runs/W/Q/approved`), exclusively and durably: nobody can use the same answer again.
//! 3. With the answer `workflow`, the call is put into the workflow's record, and [`grants::covers`] allows the next one.
//!
//! No message to the agent, no default and no event allows anything: the answer must be a person's `once` or `workflow`.

pub mod ask;
pub mod call;
pub mod grants;
pub mod let_through;
pub mod permit;
mod reply;
