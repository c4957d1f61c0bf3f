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
//! | `on_demand` | a person's commands to one run: run it now, or stop it |
//! | `recovery`, `delegated` | claimed rounds without a supervisor; a run as an iterator, for programs that delegate work |
//! | `supervise` | one attempt in the hands of its supervisor, from its launch to its end or its stop |
//! | `asking` | what a foreign program asks becomes a question, and its answer the program's reply |
//! | `story` | what became of a round: its state, the cause why it stands still, and the command that changes it |
//! | `view`, `task` | the history and the tail of runs; a run that begins with a prompt instead of an answer |
//! | `activity`, `process` | what a run does now; the agent's process: launch, pipes, descendants, and where it may work |
//! | `approval`, `claim`, `money`, `prompt` | a person's permission for one tool call; taking a round, and planning its first attempt; the costs of runs, and the limits on them; the message that carries the answer |
//! | `breaker` | the times when no run, or only one, may be launched |
//! | `delivery` | who goes on with an answer: a launched agent, a waiting process, the session that asked, or a main agent |
//! | `attempt` | the record of an attempt, its failure, its ending |
//! | `words` | the sentences that tell a model what a person has said |
//! | `archive` | closed rounds of long ago, in one compressed file a month |

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

pub mod activity;
pub mod approval;
pub mod archive;
pub mod asking;
pub mod attempt;
pub mod breaker;
pub mod chain;
pub mod claim;
pub mod delegated;
pub mod delivery;
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
