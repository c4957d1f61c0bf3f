//! `[history]`, `[metrics]` and `[mcp]`: the rounds that are kept, the watcher's figures, and the tools for agents.

use std::path::PathBuf;
use std::time::Duration;

use derive_more::Display;
use serde_with::{DeserializeFromStr, SerializeDisplay};

use crate::section::section;
use askbox_mailbox::{Span, text, time};

section! {
    /// `[history]`: how long finished rounds stay in the mailbox, and how long they are kept.
    "history" History {
        /// Rounds that ended longer ago move into the archive of their month, by `askbox gc` and once a day by a watcher. `"never"`: they
        /// stay.
        archive: ArchiveAfter = ArchiveAfter(Some(Span(Duration::from_secs(30 * 86_400)))),
        /// How long finished and archived rounds are kept. Only `askbox gc` removes older ones. `""`: for ever. Example: `"1y"`.
        keep: Keep = Keep(None),
    }
}

section! {
    /// `[metrics]`: figures for monitoring.
    "metrics" Metrics {
        /// The absolute path of a file for Prometheus's textfile collector. Example: `"/var/lib/node_exporter/askbox.prom"`.
        file: PathBuf = PathBuf::new(),
    }
}

section! {
    /// `[mcp]`: the tools that `askbox mcp` offers to agents.
    "mcp" Mcp {
        /// True if agents may answer with `answer_question`. Permit it only to an agent that asks its user first.
        answer: bool = false,
        /// How long `ask_user` waits for a client without tasks, at most `10m`. Choose less than the client's own limit, which often is a
        /// minute.
        wait: Span = Span(Duration::from_secs(45)),
    }
}

/// The age at which rounds are archived: a duration, or `never`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Display, SerializeDisplay, DeserializeFromStr, schemars::JsonSchema)]
#[display("{}", _0.map_or_else(|| "never".to_owned(), |span| humantime::format_duration(span.0).to_string()))]
#[schemars(with = "String")]
pub struct ArchiveAfter(pub Option<Span>);

impl std::str::FromStr for ArchiveAfter {
    type Err = String;

    fn from_str(written: &str) -> Result<Self, String> {
        if written == "never" {
            return Ok(Self(None));
        }
        let wrong = |_| format!("`{}` is neither a duration such as 30d nor `never`", text::excerpt(written, 40));
        time::parse_duration(written, "archive").map(|time| Self(Some(Span(time)))).map_err(wrong)
    }
}

/// How long something is kept: a duration, or `""` for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Display, SerializeDisplay, DeserializeFromStr, schemars::JsonSchema)]
#[display("{}", _0.map_or_else(String::new, |span| humantime::format_duration(span.0).to_string()))]
#[schemars(with = "String")]
pub struct Keep(pub Option<Span>);

impl std::str::FromStr for Keep {
    type Err = String;

    fn from_str(written: &str) -> Result<Self, String> {
        if written.is_empty() {
            return Ok(Self(None));
        }
        let wrong = |_| format!("`{}` is not a duration such as 90d", text::excerpt(written, 40));
        time::parse_duration(written, "keep").map(|time| Self(Some(Span(time)))).map_err(wrong)
    }
}
