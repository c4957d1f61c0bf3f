//! A filesystem mailbox through which coding agents ask their user: documents, transitions, checkpoints.
//!
//! ```
//! use std::time::Duration;
//!
//! use askbox_mailbox::{Caller, Mailbox, Question};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("questions");
//! let mailbox = Mailbox::open_or_create(path)?;
//!
//! // An agent asks. Once this returns, the question survives a power cut, and the agent may exit.
//! let question = Question::new("docs-42".parse()?, "Merge the two sections?").with_options([("merge", "One section"), ("keep", "Two")]);
//! let id = mailbox.post(question)?.round.workflow;
//!
//! // A person sees the question and answers. The first answer counts.
//! let ann = Caller::person("ann", "my-program")?;
//! let pending = mailbox.answer(&id)?;
//! assert_eq!(pending.question().title(), "Merge the two sections?");
//! pending.by(&ann).value("merge")?;
//!
//! let answer = mailbox.wait(&id, Duration::from_secs(60))?.expect("it was answered");
//! assert_eq!(answer.value, Some("merge".into()));
//! # Ok(())
//! # }
//! ```
//!
//! # How it works
//! A mailbox is a folder of JSON documents. **The folder that a document lies in is its state**, and one atomic rename or link is the
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
//! **Writes.** A new file is written under a temporary name in the same folder, synced, and then given its name; then the folder is
//! synced. Success is reported only after the last sync.
//!
//! **Locks.** Every transition of a workflow runs under its [`WorkflowLock`], except the first post. The lock is held only for the
//! length of a transition, and a process holds at most one. A process is alive if it holds its `flock`. A pid proves nothing.
//!
//! **Crashes.** Each transition has one commit point. The next program that takes the workflow's lock completes a transition that
//! a crash interrupted.
//!
//! `docs/dev/protocol.md` in askbox's repository describes the files byte by byte, for a client in another language.
//!
//! # What this crate leaves to others
//! Claims and launches: the crate `askbox-run` and the program `relaunch`. So nothing here starts a process, except a command that the
//! operator names to sign answers ([`Signer`]).
//!
//! # Limitations
//! One machine and one user: the mailbox lies on a filesystem with working `rename` and `flock`, and belongs to the user who runs every
//! program. The tests run on Linux; [`platform::weaker`] names what macOS promises less.
//!
//! # The modules
//! They are for askbox's own crates, and hidden here: their functions change without notice.
//!
//! | file | idea |
//! |---|---|
//! | `client` | the methods above: one transition or one look each |
//! | `transitions` | the transitions: post, intake, answer, expire, withdraw, close, settle |
//! | `trust` | decides which answers the operator trusts, and signs answers |
//! | `checkpoints` | the state of a workflow, for a fresh process that resumes it |
//! | `listing` | lists of the names that the mailbox holds |
//! | `overview` | what lies in the mailbox, for people: the questions that wait, past rounds, all workflows |
//! | `derived` | files that keep what many other files come to, and the rule of when they count |
//! | `attachments` | the files that a person is shown beside a question |
//! | `quarantine` | files that cannot be used, what they hold, and the rounds that they belong to |
//! | `due` | dates and events that continue a question without a person |
//! | `family`, `children` | the parents of a workflow, and workflows that wait for others; the names by which children are found |
//! | `who` | the processes that use the mailbox: who answers, who asked within which run, whether a watcher is present |
//! | `dialogs` | the dialogs at the terminals of programs that nobody can answer from another place |
//! | `prompts` | the next prompts of people for sessions, until they were sent |
//! | `wake` | wakes the session that asked, or that started a workflow |
//! | `audit`, `workflows`, `pause` | the audit trail; the records of workflows; a file by which the operator holds the queue |
//! | `read_question`, `round` | reads one question document; the round of a question, and the rounds of a workflow |
//! | `layout` | folders, paths, the workflow's lock |
//! | `documents` | the documents as types, and their checks |
//! | `disk` | the only module that changes files of a mailbox |
//! | `platform` | the differences between Linux and macOS |
//! | `document`, `id`, `time`, `address`, `text`, `spelling`, `untrusted`, `thread`, `error` | JSON that keeps unknown fields; ids; times; addresses of questions; filters for shown text; near spellings; text of an agent; threads; errors |

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

pub mod address;
#[doc(hidden)]
pub mod attachments;
#[doc(hidden)]
pub mod audit;
#[doc(hidden)]
pub mod checkpoints;
#[doc(hidden)]
pub mod children;
mod client;
#[doc(hidden)]
pub mod derived;
#[doc(hidden)]
pub mod dialogs;
#[doc(hidden)]
pub mod disk;
#[doc(hidden)]
pub mod document;
#[doc(hidden)]
pub mod documents;
#[doc(hidden)]
pub mod due;
#[doc(hidden)]
pub mod error;
#[doc(hidden)]
pub mod family;
#[doc(hidden)]
pub mod id;
#[doc(hidden)]
pub mod layout;
#[doc(hidden)]
pub mod listing;
#[doc(hidden)]
pub mod overview;
#[doc(hidden)]
pub mod pause;
#[doc(hidden)]
pub mod platform;
#[doc(hidden)]
pub mod prompts;
#[doc(hidden)]
pub mod quarantine;
#[doc(hidden)]
pub mod read_question;
#[doc(hidden)]
pub mod round;
#[doc(hidden)]
pub mod spelling;
#[doc(hidden)]
pub mod text;
#[doc(hidden)]
pub mod thread;
#[doc(hidden)]
pub mod time;
#[doc(hidden)]
pub mod transitions;
#[doc(hidden)]
pub mod trust;
#[doc(hidden)]
pub mod untrusted;
#[doc(hidden)]
pub mod wake;
#[doc(hidden)]
pub mod who;
#[doc(hidden)]
pub mod workflows;

pub use attachments::{AttachedFile, Damage};
pub use client::{AnswerDraft, PendingQuestion};
#[doc(hidden)]
pub use document::Document;
pub use documents::answer::{Answer, AnswerValue, Outcome};
pub use documents::asked::{Kind, OnExpiry, Part};
pub use documents::checkpoint::Checkpoint;
pub use documents::closing::{Closed, Closing};
pub use documents::fields::attachment::{Attachment, MediaType};
pub use documents::fields::options::{Choice, Options};
pub use documents::fields::range::Range;
pub use documents::fields::shown_hash::Shown;
pub use documents::fields::through::Through;
#[doc(hidden)]
pub use documents::programs;
pub use documents::question::{Question, QuestionDocument};
pub use documents::until::Until;
#[doc(hidden)]
pub use error::IoContext;
pub use error::{Error, Result};
#[doc(hidden)]
pub use id::AttemptId;
pub use id::{QuestionId, RoundId, SessionId, WorkflowId};
pub use layout::{Folder, Mailbox, WorkflowLock};
pub use time::Time;
pub use transitions::accept::Accepted;
pub use transitions::post::Receipt;
pub use trust::matter::Matter;
pub use trust::{Policy, PublicKey, Signer};
pub use who::caller::{self, Below, Caller};

/// Words that most of askbox's own crates use.
#[doc(hidden)]
pub use {
    address::{Address, HostName, RoundAt},
    disk::file_events::{FolderWatch, Hint, Hints, Waker},
    disk::{Lock, LockHolder, Placed},
    document::Stored,
    documents::awaited::{Await, Ended, Join},
    documents::checks::{check_answer, check_draft, match_option},
    documents::fields::approval::Approval,
    documents::fields::tool_call::ToolCall,
    documents::fields::trace::Trace,
    documents::offer::{Decided, Offer, Verdict},
    documents::question::Content,
    due::timers::{self, Due, Timer},
    family::{awaits, lineage},
    listing::{list, recent_rounds},
    platform::{ProcessHandle, processes, status_within},
    round::Round,
    text::{excerpt, one_line, shell_quote, without_bom},
    thread::ReadyThread,
    time::Span,
    transitions::accept::{self, Decision, On},
    transitions::quarantined_round::{self, QuarantinedRound},
    transitions::{close, post, settle},
    trust::SecretKey,
    untrusted::Untrusted,
    who::presence,
};

/// Gives enums whose words `strum` knows the method `word`.
#[doc(hidden)]
#[macro_export]
macro_rules! words {
    ($of:ty) => {
        impl $of {
            /// The word in files, in messages and for programs.
            pub fn word(&self) -> &'static str {
                self.into()
            }
        }
    };
}
