//! The targets.
//!
//! | file | targets |
//! |---|---|
//! | `question` | `question`, `answer` |
//! | `checkpoint` | `checkpoint` |
//! | `records` | `records`: the files that askbox writes about runs, workflows and money |
//! | `operator` | `configuration`, `agent_file` |
//! | `stream` | `stream`, `transcript` |
//! | `small` | `text`, `names`: ids, names of files, durations, dates, chain signals, words of a command line |
//! | `approval` | `approval`: calls that a person has to allow |
//! | `promises` | what the targets have in common |

mod approval;
mod checkpoint;
mod operator;
mod promises;
mod question;
mod records;
mod small;
mod stream;

/// A target: its name, which is its folder in the corpus, and its function.
pub struct Target {
    /// The name.
    pub name: &'static str,
    /// Panics if a promise is broken for this input.
    pub check: fn(&[u8]),
}

/// All targets.
pub const ALL: &[Target] = &[
    Target { name: "question", check: question::question },
    Target { name: "answer", check: question::answer },
    Target { name: "checkpoint", check: checkpoint::checkpoint },
    Target { name: "records", check: records::records },
    Target { name: "configuration", check: operator::configuration },
    Target { name: "agent_file", check: operator::agent_file },
    Target { name: "stream", check: stream::stream },
    Target { name: "transcript", check: stream::transcript },
    Target { name: "text", check: small::text },
    Target { name: "names", check: small::names },
    Target { name: "approval", check: approval::approval },
];
