//! HTTP to the API. A request is sent in a thread of its own. The thread reports the events of the reply as they come.
//!
//! Encryption without C: rustls with the cryptography of graviola, and the certificates that the system trusts.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read};
use std::sync::Arc;
use std::time::Duration;

use regex_lite::Regex;
use serde_json::Value;
use ureq::tls::TlsConfig;

use askbox_mailbox::{Error, Result, text, thread};

const URL: &str = "https://api.anthropic.com";
/// The tokens of a reply that are asked for: as many as any model gives. A model that gives fewer says so.
const MOST_TOKENS: u64 = 128_000;
/// A reply with less room than this would be cut at once.
const LEAST_TOKENS: u64 = 1_000;
/// How long the API may be silent before the connection counts as broken. It sends a `ping` now and then.
const SILENCE: Duration = Duration::from_secs(300);
const CONNECT: Duration = Duration::from_secs(30);
/// The longest line of a stream, in bytes.
const LONGEST_LINE: u64 = 32 << 20;

/// Errors without an HTTP status that the same request meets again.
const FINAL: [&str; 5] = ["invalid_request_error", "authentication_error", "billing_error", "permission_error", "not_found_error"];

/// A part of the reply to a request.
pub(crate) enum Heard {
    /// An event of the stream.
    Event(Value),
    /// The stream has ended, or no reply came.
    End(Result<(), Failure>),
}

/// Why there is no reply.
#[derive(Debug, Clone, Default)]
pub(crate) struct Failure {
    /// The HTTP status; `None` if the connection failed.
    pub status: Option<u16>,
    /// The API's type of error, such as `overloaded_error`, or `connection_failed`.
    pub kind: String,
    pub message: String,
    /// How long the API asks to wait.
    pub retry_after: Option<Duration>,
}

impl Failure {
    /// A connection that failed or broke.
    pub fn broken(message: impl Into<String>) -> Self {
        Self { kind: "connection_failed".into(), message: message.into(), ..Self::default() }
    }

    /// The API's own error. In the middle of a stream, it comes without an HTTP status.
    pub fn of_error(error: &Value, status: Option<u16>) -> Self {
        let text = |key: &str| error[key].as_str().unwrap_or("api_error").to_owned();
        Self { status, kind: text("type"), message: text("message"), retry_after: None }
    }

    /// True if the same request may succeed later.
    pub fn may_pass(&self) -> bool {
        self.status.map_or_else(|| !FINAL.contains(&self.kind.as_str()), askbox_agent::stream::waiting_mends)
    }
}

/// The API, and the key to it.
pub(crate) struct Api {
    agent: ureq::Agent,
    url: String,
    headers: Vec<(&'static str, String)>,
    /// How often a request is repeated.
    pub max_retries: u32,
    /// The most tokens of a reply, as the operator wants it; and as each model's API has said.
    wanted: u64,
    most: HashMap<String, u64>,
}

/// A request that was sent. Dropping it tells its thread to read no further.
pub(crate) type Ongoing = Arc<()>;

impl Api {
    /// The API that the environment names.
    ///
    /// # Errors
    /// [`Error::Failed`] if there is no key, or no encryption on this processor.
    pub fn from_env(set: impl Fn(&str) -> Option<String>) -> Result<Self> {
        let base = set("ANTHROPIC_BASE_URL").unwrap_or_else(|| URL.into());
        let key = set("ANTHROPIC_API_KEY").map(|key| ("x-api-key", key));
        let key = key.or_else(|| Some(("authorization", format!("Bearer {}", set("ANTHROPIC_AUTH_TOKEN")?))));
        if key.is_none() && base == URL {
            let hint = "set ANTHROPIC_API_KEY, or ANTHROPIC_BASE_URL for a proxy that has it";
            return Err(Error::failed("there is no key for the API", hint));
        }
        let mut headers = vec![("anthropic-version", "2023-06-01".to_owned()), ("content-type", "application/json".to_owned())];
        headers.extend(key);
        let builder = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .timeout_connect(Some(CONNECT))
            .timeout_per_read(Some(SILENCE))
            .user_agent(concat!("ask-agent/", env!("CARGO_PKG_VERSION")));
        let builder = if base.starts_with("https:") { builder.tls_config(config()?) } else { builder };
        Ok(Self {
            agent: builder.build().new_agent(),
            url: format!("{}/v1/messages", base.trim_end_matches('/')),
            headers,
            max_retries: set("CLAUDE_CODE_MAX_RETRIES").and_then(|n| n.parse().ok()).unwrap_or(10),
            wanted: set("CLAUDE_CODE_MAX_OUTPUT_TOKENS").and_then(|n| n.parse().ok()).unwrap_or(MOST_TOKENS),
            most: HashMap::new(),
        })
    }

    /// The most tokens of a reply of this model.
    pub fn max_tokens(&self, model: &str) -> u64 {
        self.most.get(model).map_or(self.wanted, |most| self.wanted.min(*most))
    }

    /// The most tokens that a reply may have after this failure. The API says so in its message: `max_tokens: 128000 > 64000, …` is the
    /// model's limit, and `… exceed context limit: 174167 + 64000 > 200000, …` leaves what the input leaves.
    pub fn room(&mut self, model: &str, failure: &Failure) -> Option<u64> {
        let said = Regex::new(r"(?:(\d+) \+ |max_tokens: )\d+ > (\d+)").ok()?;
        let found = said.captures(&failure.message)?;
        let most = found.get(2)?.as_str().parse::<u64>().ok()?;
        let Some(input) = found.get(1) else {
            self.most.insert(model.to_owned(), most);
            return Some(most);
        };
        most.checked_sub(input.as_str().parse().ok()?).filter(|room| *room >= LEAST_TOKENS)
    }

    /// Sends a request. `hear` gets each part of the reply, in another thread, and says whether anybody still listens.
    pub fn send(&self, body: Arc<str>, hear: impl Fn(Heard) -> bool + Send + 'static) -> Result<Ongoing> {
        let ongoing = Ongoing::default();
        let is_wanted = Arc::downgrade(&ongoing);
        let request = self.headers.iter().fold(self.agent.post(&self.url), |request, (name, value)| request.header(*name, value));
        thread::start(move || {
            let tell = |heard| hear(heard) && is_wanted.strong_count() > 0;
            let response = request.send(&*body).map_err(|e| Failure::broken(e.to_string()));
            hear(Heard::End(response.and_then(|response| listen(response, &tell))));
        })?;
        Ok(ongoing)
    }
}

/// Reads a reply to its end, or until nobody listens any more.
fn listen(mut response: ureq::http::Response<ureq::Body>, tell: &impl Fn(Heard) -> bool) -> Result<(), Failure> {
    let status = response.status().as_u16();
    if status != 200 {
        let retry_after = response.headers().get("retry-after").and_then(|value| value.to_str().ok()?.trim().parse().ok());
        let body = response.body_mut().read_to_string().unwrap_or_default();
        let error = serde_json::from_str::<Value>(&body).map(|body| body["error"].clone()).unwrap_or_default();
        let failure = Failure { retry_after: retry_after.map(Duration::from_secs), ..Failure::of_error(&error, Some(status)) };
        return Err(if error["message"].is_string() { failure } else { Failure { message: text::excerpt(&body, 200), ..failure } });
    }
    let mut lines = BufReader::new(response.body_mut().as_reader());
    let mut line = String::new();
    loop {
        line.clear();
        let read = lines.by_ref().take(LONGEST_LINE).read_line(&mut line);
        if read.map_err(|e| Failure::broken(e.to_string()))? == 0 {
            return Ok(());
        }
        // The name of an event is in its data as well.
        let Some(data) = line.strip_prefix("data:") else { continue };
        let event = serde_json::from_str(data.trim()).map_err(|e| Failure::broken(format!("an event is not JSON: {e}")))?;
        if !tell(Heard::Event(event)) {
            return Ok(());
        }
    }
}

/// The configuration for `https`.
pub(super) fn config() -> Result<TlsConfig> {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    {
        use ureq::tls::{Certificate, RootCerts, TlsProvider};
        // A certificate that cannot be read is left out. If no certificate is left, the connection fails.
        let found = rustls_native_certs::load_native_certs().certs;
        let certificates: Vec<_> = found.iter().map(|der| Certificate::from_der(der.as_ref()).to_owned()).collect();
        Ok(TlsConfig::builder()
            .provider(TlsProvider::Rustls)
            .root_certs(RootCerts::new_with_certs(&certificates))
            .unversioned_rustls_crypto_provider(std::sync::Arc::new(rustls_graviola::default_provider()))
            .build())
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    Err(askbox_mailbox::error::Error::failed(
        "this ask-agent has no encryption for this processor",
        "let a proxy on this machine encrypt, and set ANTHROPIC_BASE_URL to its http:// address",
    ))
}
