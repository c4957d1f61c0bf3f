//! The supervisor: the process that owns one run, from its launch to its end.
//!
//! 1. It takes the round's lock (`ownership`). If another process holds the lock, it leaves the run alone.
//! 2. It reserves money, and notes in `run.json` that it launches, so that recovery knows that there may be a process. (If this process
//!    has just claimed the round, there is no `run.json` yet. For recovery that means the same.)
//! 3. It launches the agent, and makes the record durable while the agent starts (`start_agent`).
//! 4. Only then it sends the agent its first message.
//! 5. It attends to the agent until that has ended (`attend`), and writes every event to the log (`event_log`).
//! 6. It ends the processes that the agent left behind, and makes the ending durable: the round is closed, tried again later, or parked.
//! 7. It releases the lock.
//!
//! | thread | what it does | what it waits for |
//! |---|---|---|
//! | attending | all of the above; the only one that decides, writes the log, and speaks to the agent | the next message on the channel, or the next deadline |
//! | stdout reader | turns the agent's output into messages | the agent's output; room in the channel |
//! | poll thread | turns everything else into messages: the agent's exit, its standard error, requests to stop, Unix signals, a reader that goes away | its descriptors |
//! | stdin writer | exists only once the agent stops reading its standard input | the agent |
//!
//! | file | idea |
//! |---|---|
//! | `supervisor` | the steps above |
//! | `ownership` | the attempt, and how this process becomes its only supervisor |
//! | `start_agent` | from a claimed attempt to an agent that has its first message; checks that the agent program knows the role that the run asks for |
//! | `started_agent` | a started agent, and the threads that listen to it |
//! | `run_message` | the messages from those threads to the attending thread |
//! | `attend` | the attending thread's reactions to them |
//! | `event_log` | `events.jsonl`, the costs, the observer, and `partial.jsonl`: the text that is being generated |
//! | `ladder` | the next step when a run is to stop |
//! | `stop` | requests of other processes to stop the run, and the wait for its end |
//! | `hooks` | the agent's own hooks, which see such a request and end the turn at a tool boundary |
//! | `desk` | takes the requests that come through the fence around the agent |
//! | `detach` | starts a supervisor as a process of its own |

pub(crate) mod attend;
pub mod desk;
pub mod detach;
pub(crate) mod event_log;
pub mod hooks;
pub mod ladder;
pub mod ownership;
pub mod run_message;
pub(crate) mod start_agent;
pub(crate) mod started_agent;
pub mod stop;
pub mod supervisor;
