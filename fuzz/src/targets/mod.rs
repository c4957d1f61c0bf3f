//! The targets.
//!
//! | file | targets |
//! |---|---|
//! | `question` | `question`, `answer` |
//! | `checkpoint` | `checkpoint` |
//! | `records` | `records`: the files that askbox writes about runs, workflows and money |
//! | `operator` | `configuration`, `agent_file` |
//! | `stream` | `stream`, `transcript` |
//! | `acp` | `acp`: the lines of an agent that speaks the Agent Client Protocol |
//! | `small` | `text`, `names`: ids, names of files, durations, dates, chain signals, words of a command line |
//! | `approval` | `approval`: calls that a person has to allow |
//! | `people` | `reply`, `browser`, `elicited`: what comes from a person's side |
//! | `others` | `peer`, `settings`, `keys`: what other programs and machines write |
//! | `message` | `message`: what an agent is told |
//! | `live` | `live`, `sessions`: what live sessions say, and the files that tell of sessions |
//! | `promises` | what the targets have in common |

mod acp;
mod approval;
mod checkpoint;
mod live;
mod message;
mod operator;
mod others;
mod people;
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
    Target { name: "acp", check: acp::acp },
    Target { name: "text", check: small::text },
    Target { name: "names", check: small::names },
    Target { name: "approval", check: approval::approval },
    Target { name: "reply", check: people::reply },
    Target { name: "browser", check: people::browser },
    Target { name: "elicited", check: people::elicited },
    Target { name: "peer", check: others::peer },
    Target { name: "settings", check: others::settings },
    Target { name: "keys", check: others::keys },
    Target { name: "message", check: message::message },
    Target { name: "live", check: live::live },
    Target { name: "sessions", check: live::sessions },
];
