//! One run: the way of an answered round from its claim to its final state.
//!
//! 1. A watcher or a command **claims** the round: one rename moves its document from `answered/` to `running/`, and its first attempt is
//!    put on record with the session id chosen.
//! 2. A **supervisor** process locks the round and checks the limits on **money** and time.
//! 3. It launches the agent **process**, sends it the prompt with the answer, and writes what the agent does to `events.jsonl`.
//! 4. The **attempt** ends. If it is *delivered*, the round moves to `closed/`. If it *failed*, another attempt follows after a back-off.
//!    If it is *parked* or *interrupted*, the round moves to `parked/` until it is retried by hand.
//! 5. If the supervisor dies, its agent gets SIGTERM from the kernel. **Recovery** finds the round in `running/` with its lock free,
//!    ends all processes of the attempt, and starts the next one.
//!
//! Each room uses only rooms on the lines below its own:
//!
//! | room | idea |
//! |---|---|
//! | `on_demand`, `chain` | a person's commands to one run: run it now, or stop it; workflows that start workflows |
//! | `recovery`, `view` | claimed rounds without a supervisor; the history and the tail of runs |
//! | `supervise`, `story` | one attempt in the hands of its supervisor; what became of a round, and the command that changes it |
//! | `asking`, `task`, `gc` | what a foreign program asks becomes a question, and its answer the program's reply; a run that begins with a prompt instead of an answer; archiving and removing rounds that ended long ago |
//! | `claim`, `activity` | taking a round, and planning its first attempt; what a run does now |
//! | `fence` | the folders that a run's agent cannot touch, and what it asks for instead |
//! | `process` | the agent's process: launch, pipes, descendants, and where it may work |
//! | `prompt` | the message that carries the answer |
//! | `approval`, `money`, `breaker`, `delivery` | a person's permission for one tool call; the costs of runs, and the limits on them; the times when no run, or only one, may be launched; who goes on with an answer |
//! | `attempt`, `words`, `archive`, `log` | the record of an attempt, its failure, its ending; the sentences that tell a model what a person has said; closed rounds of long ago, in one compressed file a month; the watcher's log |

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

pub mod activity;
pub mod approval;
pub mod archive;
pub mod asking;
pub mod attempt;
pub mod breaker;
pub mod chain;
pub mod claim;
pub mod delivery;
pub mod fence;
pub mod gc;
pub mod log;
pub mod money;
pub mod on_demand;
pub mod process;
pub mod prompt;
pub mod recovery;
pub mod story;
pub mod supervise;
pub mod task;
pub mod view;
pub mod words;

pub use asking::beside::Desk;
pub use asking::reply::Reply;
pub use asking::request::{Request, Subject};
pub use attempt::record::{self, Run, RunState};
pub use chain::outcome::{self, OwnState};
pub use process::{launch, programs, run_processes};
pub use story::cause::HoldUp;
pub use story::{Cause, Standing, Story, Teller};
