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
//! | [`listing`] | what lies in the mailbox, in lists |
//! | [`quarantine`] | files that cannot be used, what they hold, and the rounds that they belong to |
//! | [`due`] | what a question waits for without a person: dates and events |
//! | [`audit`] | the audit trail |
//! | [`workflows`] | the records of workflows |
//! | [`family`] | parents and children among workflows |
//! | [`who`] | which processes deal with the mailbox: who answers, who asked within which run, whether a watcher is present |
//! | [`pause`] | whether the operator holds the queue |

pub mod audit;
pub mod checkpoints;
pub mod documents;
pub mod due;
pub mod family;
pub mod layout;
pub mod listing;
pub mod pause;
pub mod quarantine;
pub mod read_question;
pub mod round;
pub mod transitions;
#[cfg(feature = "relaunch")]
pub mod trust;
pub mod who;
pub mod workflows;

pub use documents::answer::{Answer, AnswerValue, Outcome};
pub use documents::question::{Question, QuestionDocument};
pub use layout::{Folder, Mailbox, WorkflowLock};
