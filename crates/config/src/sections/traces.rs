//! `[traces]`: the spans of rounds that the watcher sends to a collector.

use std::path::PathBuf;
use std::time::Duration;

use crate::section::section;
use crate::sections::notify::check_url;
use askbox_mailbox::{Error, Result, Span};

section! {
    /// `[traces]`: the spans of rounds that the watcher sends to a collector of OpenTelemetry.
    "traces" Traces {
        /// The URL that gets the spans of each ended round, as OTLP over HTTP in JSON, by `curl`. Example:
        /// `"http://127.0.0.1:4318/v1/traces"`.
        url: String = String::new(),
        /// The file with more headers, one `Name: value` a line, such as an access token.
        headers_file: PathBuf = PathBuf::new(),
        /// True if the spans have the question, the answer, and the name of the person who answered.
        texts: bool = false,
        /// How long one request may take.
        time_limit: Span = Span(Duration::from_secs(10)),
    }
}

impl Traces {
    /// True if spans are sent.
    pub fn are_sent(&self) -> bool {
        !self.url.is_empty()
    }

    /// Refuses values that would make every request fail.
    pub(crate) fn check(&self) -> Result<()> {
        if self.time_limit.0.is_zero() {
            return Err(Error::invalid("traces.time_limit", "is zero", "use a value above zero"));
        }
        check_url("traces.url", &self.url)
    }
}
