//! When a target last received something, when that last failed, and when a person last confirmed that something arrived. These are
//! three small files a target: `news/TARGET.sent.json`, `news/TARGET.failed.json` and `news/TARGET.confirmed.json`. `askbox doctor`
//! shows them.

use std::path::PathBuf;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::news::channel::{self, Channel};
use crate::news::lines::{Notice, ToChannel};
use crate::news::record::NEWS_FOLDER;
use askbox_config::{Means, Notify, Target};
use askbox_mailbox::{Error, Mailbox, Result, Time, disk, document, time};

/// The longest file that is read, in bytes.
const LONGEST: u64 = 64 << 10;

/// The kind of event that is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Kind {
    /// The target took an event.
    Sent,
    /// The target could not be reached.
    Failed,
    /// A person confirmed that a message arrived: `askbox notify test`.
    Confirmed,
}

/// The last time that this happened.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Arrival {
    /// When.
    pub at: Time,
    /// The problem, if it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

fn path(mailbox: &Mailbox, target: &str, kind: Kind) -> PathBuf {
    let kind: &str = kind.into();
    mailbox.root().join(NEWS_FOLDER).join(format!("{target}.{kind}.json"))
}

/// Records that this happened now.
///
/// # Errors
/// Those of writing the file.
pub fn note(mailbox: &Mailbox, target: &str, kind: Kind, problem: Option<&str>) -> Result<()> {
    disk::touch_folder(&mailbox.root().join(NEWS_FOLDER))?;
    let arrival = Arrival { at: time::now(), problem: problem.map(|problem| askbox_mailbox::text::excerpt(problem, 300)) };
    disk::replace_unsynced(&path(mailbox, target, kind), &document::to_json(&arrival)?, SystemTime::now())
}

/// The last time that this happened; `None` if it never did.
pub fn last(mailbox: &Mailbox, target: &str, kind: Kind) -> Option<Arrival> {
    document::json(&disk::read(&path(mailbox, target, kind), LONGEST).ok()?)
}

/// Sends a code to a target, and waits until it was told.
///
/// # Errors
/// The problem, in the words of the target's program.
pub fn send_trial(mailbox: &Mailbox, notify: &Notify, name: &str, target: &Target, code: &str) -> Result<()> {
    let notice =
        Notice::plain(name, "test", &format!("askbox test: {code}"), &format!("Type {code} where `askbox notify test` asks for it."));
    let (id, line) = (notice.message.id.to_string(), ToChannel::Notice(Box::new(notice)));
    channel::ask(&mut Channel::new(mailbox, notify, name, target), &id, &line)
        .map_err(|problem| Error::failed(format!("target {name}: {problem}"), hint(name, target)))
}

/// The reason why people cannot be reached there, found without telling them anything. `None` if they may be.
pub fn problem(mailbox: &Mailbox, notify: &Notify, name: &str, target: &Target) -> Option<String> {
    let id = Uuid::new_v4();
    channel::ask(&mut Channel::new(mailbox, notify, name, target), &id.to_string(), &ToChannel::Check(id)).err()
}

/// The hint, with the key of the configuration to correct.
fn hint(name: &str, target: &Target) -> String {
    let key = match target.means() {
        Some(Means::Desktop) => return format!("the watcher has to reach your desktop, or take target.{name} away"),
        other => format!("target.{name}.{}", other.as_ref().map_or("exec", Means::word)),
    };
    format!("correct {key} in the configuration: askbox doctor --config")
}
