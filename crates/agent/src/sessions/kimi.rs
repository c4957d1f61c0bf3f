//! The sessions of Kimi, from the folders `sessions/wd_NAME/ID`. They do not name the process of a session. So a killed session looks like a
//! living one, and a session is left out if it has long said nothing.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::Deserialize;

use crate::sessions::found::{Doing, Found, Need, Sessions};
use crate::sessions::kept;
use askbox_mailbox::{Result, Time};

/// How long a session is listed that waits for its user.
const WAITS: Duration = Duration::from_secs(24 * 3600);
/// How long another session is listed.
const FRESH: Duration = Duration::from_secs(3600);

/// The session's own agent.
const MAIN: &str = "main";
/// The maximum number of subagents whose files are read.
const MOST_SUBAGENTS: usize = 100;

/// `state.json` of a session.
#[derive(Deserialize)]
struct State {
    #[serde(default)]
    cwd: PathBuf,
    title: Option<String>,
}

/// A line of `wire.jsonl`.
#[derive(Deserialize)]
struct Record {
    #[serde(rename = "type")]
    kind: String,
    id: Option<String>,
    /// The kind of a request.
    #[serde(default, rename = "kind")]
    of: Option<String>,
    time: Option<i64>,
}

impl Record {
    fn at(&self) -> Option<Time> {
        self.time.and_then(Time::from_timestamp_millis)
    }
}

pub(super) fn sessions(folder: &Path, now: SystemTime) -> Sessions {
    let projects = kept::folders(&folder.join("sessions")).into_iter().filter(|(name, _)| name.starts_with("wd_"));
    let all = projects.flat_map(|(_, project)| kept::folders(&project));
    all.filter_map(|(id, folder)| {
        let age = now.duration_since(kept::changed(&records_of(&folder, MAIN))?).unwrap_or_default();
        (age <= WAITS).then(|| session(id, &folder, age))
    })
    .collect()
}

fn records_of(folder: &Path, agent: &str) -> PathBuf {
    folder.join("agents").join(agent).join("wire.jsonl")
}

fn session(id: String, folder: &Path, age: Duration) -> Result<Option<Found>> {
    let (mut doing, mut since) = newest(kept::newest_records(&records_of(folder, MAIN))?);
    if doing == Doing::Works {
        // The dialog of a subagent stands in the subagent's own file.
        let subagents = kept::folders(&folder.join("agents")).into_iter().filter(|(name, _)| name != MAIN).take(MOST_SUBAGENTS);
        let dialogs = subagents.filter_map(|(name, _)| kept::newest_records(&records_of(folder, &name)).ok().map(newest));
        if let Some(dialog) = dialogs.filter(|(doing, _)| matches!(doing, Doing::Waits(_))).min_by_key(|(_, since)| *since) {
            (doing, since) = dialog;
        }
    }
    if age > FRESH && !matches!(doing, Doing::Waits(_)) {
        return Ok(None);
    }
    let state: State = kept::json(&folder.join("state.json"))?;
    Ok(Some(Found { id, pid: None, cwd: state.cwd, title: state.title, doing, since }))
}

/// The state of the session, from its records, the newest first.
fn newest(records: impl Iterator<Item = Record>) -> (Doing, Option<Time>) {
    let mut ended = HashSet::new();
    let mut newest = None;
    for record in records {
        newest = newest.or(record.at());
        match record.kind.as_str() {
            "interaction.resolved" => ended.extend(record.id),
            "interaction.request" if record.id.as_ref().is_none_or(|id| !ended.contains(id)) => {
                let need = if record.of.as_deref() == Some("question") { Need::Answer } else { Need::Permission };
                return (Doing::Waits(need), record.at());
            }
            // The requests before the turn have ended, also the requests of a killed process.
            "agent.turn.started" => return (Doing::Works, newest),
            "turn.ended" | "agent.turn.ended" => return (Doing::Rests, newest),
            _ => {}
        }
    }
    (Doing::Unknown, newest)
}
