//! The mailbox: a folder of documents. **The folder that a document lies in is its state**, and one atomic rename or link is the
//! transition, so `ls` and `jq` are enough to see and repair everything.
//!
//! ```text
//!            post                answer               claim               delivered
//!  (nothing) ────▶ pending/W.json ────▶ answered/W.json ────▶ running/W.Q.json ────▶ closed/W.Q.json
//!                     │      ▲               │                 │        ▲                ▲  ▲
//!                     │      └─ no answer ───┘       attempts  │        │ retry          │  │
//!                     │         came with it         used up   ▼        │      dropped   │  │
//!                     │                                    parked/W.Q.json ──────────────┘  │
//!                     └─ withdrawn, expired, superseded ────────────────────────────────────┘
//! ```
//! `W` is the workflow, `Q` the question id; both together are a *round*. A workflow has at most one pending question. A file that
//! cannot be used goes to `quarantine/`.
//!
//! **Locks.** Every transition of a workflow runs under its [`WorkflowLock`], except the first post. The lock is held only for the
//! length of a transition, and a process holds at most one. A claimed round has its own run lock (`run::attempt::record`), which is
//! taken after the workflow's lock.
//!
//! **Crashes.** Each transition has one commit point. The next program that takes the workflow's lock completes what a crash left
//! behind it: see [`transitions::settle`].
//!
//! | file | idea |
//! |---|---|
//! | [`documents`] | the documents as types, and their checks |
//! | [`transitions`] | the transitions: post, intake, answer, expire, withdraw, close, settle |
//! | `trust` | which answers the operator trusts, and how answers are signed |
//! | [`checkpoints`] | the state that a fresh process resumes from |
//! | [`layout`] | folders, paths, the workflow's lock |
//! | [`read_question`] | reads one question document |
//! | [`round`] | the round of a question, and the rounds of a workflow |
//! | [`list`] | lists names, and the pending questions |
//! | [`near_id`] | the workflow that a misspelt id probably means |
//! | [`past_rounds`], [`known_workflows`] | the rounds that were answered or are over, and all workflows, the newest first |
//! | [`newest_first`] | how, in bounded memory |
//! | [`quarantine`] | files that cannot be used, what they hold, and the rounds that they belong to |
//! | [`timers`] | dates as file names |
//! | `event` | whether the event has come that a question waits for |
//! | [`audit`] | the audit trail |
//! | [`workflows`] | the records of workflows |
//! | [`awaits`] | workflows that wait for others |
//! | [`lineage`], [`children`] | parents and children; the names by which a parent's children are found |
//! | [`answerer`] | who gives an answer, and through what |
//! | [`asked_within`] | whether a process or a question belongs to the run that it names |
//! | [`pause`] | whether the operator holds the queue |
//! | `presence` | whether a watcher is present |

pub mod answerer;
pub mod asked_within;
pub mod audit;
pub mod awaits;
pub mod checkpoints;
pub mod children;
pub mod documents;
#[cfg(feature = "relaunch")]
pub mod event;
pub mod known_workflows;
pub mod layout;
pub mod lineage;
pub mod list;
pub mod near_id;
pub mod newest_first;
pub mod past_rounds;
pub mod pause;
#[cfg(feature = "relaunch")]
pub mod presence;
pub mod quarantine;
pub mod read_question;
pub mod round;
pub mod timers;
pub mod transitions;
#[cfg(feature = "relaunch")]
pub mod trust;
pub mod workflows;

pub use documents::answer::{Answer, AnswerValue, Outcome};
pub use documents::question::{Question, QuestionDocument};
pub use layout::{Folder, Mailbox, WorkflowLock};
