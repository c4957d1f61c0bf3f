//! The last known state of each machine, on disk: `$XDG_STATE_HOME/askbox/peers/HOST.json`, private. A surface that starts shows it
//! until the machine answers. The file is not a queue: nothing in it is ever sent.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::known::{HostView, Unreached};
use crate::remote_question::RemoteQuestion;
use askbox_mailbox::{HostName, QuestionId, Result, Time, WorkflowId, disk, layout, time};

/// The largest cache of one machine, in bytes.
const MAX_CACHE: usize = 16 << 20;

/// The content of the file. To write it takes no copy of the documents.
#[derive(Serialize, Deserialize)]
pub(super) struct Cached<'a> {
    /// The peer that leads to the machine: see [`Peer::name`](crate::Peer::name).
    pub(super) peer: String,
    pub(super) host: HostName,
    pub(super) as_of: Option<Time>,
    /// The reason why the machine was not reached at the last attempt.
    unreached: Option<Unreached>,
    pub(super) version: Option<String>,
    pub(super) left_out: usize,
    questions: Vec<Entry<'a>>,
}

/// A question: with its round and document, or with the reason why it cannot be read.
#[derive(Serialize, Deserialize)]
struct Entry<'a> {
    workflow_id: WorkflowId,
    #[serde(skip_serializing_if = "Option::is_none")]
    question_id: Option<QuestionId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    document: Option<Cow<'a, RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// For how long after a failed attempt a command does not wait for the machine.
const NOT_WAITED_FOR: Duration = Duration::from_secs(60);

impl Cached<'_> {
    /// The reason why the machine was not reached, if the attempt was a moment ago.
    pub(super) fn unreached(&self) -> Option<&Unreached> {
        self.unreached.as_ref().filter(|unreached| time::is_near(unreached.at, NOT_WAITED_FOR))
    }

    /// The questions, checked anew: the file may have been changed.
    pub(super) fn questions(&self) -> impl Iterator<Item = RemoteQuestion> + '_ {
        self.questions.iter().map(|entry| match (&entry.document, entry.question_id) {
            (Some(document), Some(id)) => RemoteQuestion::read(self.host.clone(), entry.workflow_id.clone(), id, document.get().as_bytes()),
            _ => RemoteQuestion::unreadable(self.host.clone(), entry.workflow_id.clone(), entry.error.clone().unwrap_or_default()),
        })
    }
}

/// The folder of private files about other machines. It is created if it is missing.
///
/// # Errors
/// If there is no home folder, or if the folder cannot be made or is not safe.
pub fn folder() -> Result<PathBuf> {
    disk::private_folder(layout::state_folder()?.join("peers"))
}

/// The caches of all machines. Files that cannot be read are left out.
pub(super) fn all(folder: &Path) -> Vec<Cached<'static>> {
    let entries = disk::entries(folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.name.to_str()?.strip_suffix(".json")?.parse::<HostName>().ok());
    let read = names.filter_map(|host| {
        let bytes = disk::read(&folder.join(format!("{host}.json")), MAX_CACHE as u64).ok()?;
        serde_json::from_slice::<Cached<'static>>(&bytes).ok().filter(|cached| cached.host == host)
    });
    read.collect()
}

/// Forgets a machine. If its file cannot be removed, the machine is shown once more.
pub(super) fn forget(folder: &Path, host: &HostName) {
    let _ = disk::remove(&folder.join(format!("{host}.json")));
}

/// Keeps the known state of a machine. Questions that do not fit are counted.
pub(super) fn keep(folder: &Path, view: &HostView, unreached: Option<Unreached>) -> Result<()> {
    let (mut questions, mut bytes, mut left_out) = (Vec::new(), 0, view.left_out);
    for question in &view.questions {
        let mut entry = Entry { workflow_id: question.workflow.clone(), question_id: None, document: None, error: None };
        match &question.asked {
            Ok(asked) => (entry.question_id, entry.document) = (Some(asked.question), Some(Cow::Borrowed(asked.json()))),
            Err(why) => entry.error = Some(why.excerpt(300)),
        }
        let size = question.bytes + 512;
        if bytes + size > MAX_CACHE / 2 {
            left_out += 1;
            continue;
        }
        bytes += size;
        questions.push(entry);
    }
    let (peer, host, version) = (view.peer.clone(), view.host.clone(), view.version.clone());
    let cached = Cached { peer, host, as_of: view.as_of, unreached, version, left_out, questions };
    disk::replace_unsynced(&folder.join(format!("{}.json", view.host)), &askbox_mailbox::document::to_json(&cached)?, SystemTime::now())
}
