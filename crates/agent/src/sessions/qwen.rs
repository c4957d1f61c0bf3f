//! The sessions of Qwen, from the files `sessions/PID.json`. They do not say what a session does.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::sessions::found::{Doing, Found, Sessions};
use crate::sessions::kept;
use askbox_mailbox::{Result, Time};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Registered {
    pid: i32,
    session_id: String,
    /// The boot and the tick when its process began: `BOOT:TICKS`.
    proc_start: Option<String>,
    #[serde(default)]
    cwd: PathBuf,
    name: Option<String>,
    started_at: Option<i64>,
}

pub(super) fn sessions(folder: &Path) -> Sessions {
    let folder = folder.join("sessions");
    let pid = |name: &str| name.strip_suffix(".json").and_then(|pid| pid.parse::<i32>().ok());
    // Most files of processes that have ended need not be read.
    let living = kept::names(&folder).filter(|name| pid(name).is_some_and(|pid| kept::process(pid, None).is_some()));
    living.map(|name| session(&folder.join(&name), pid(&name))).collect()
}

fn session(path: &Path, pid: Option<i32>) -> Result<Option<Found>> {
    let about: Registered = kept::json(path)?;
    let began = about.proc_start.as_deref().map(|start| start.rsplit(':').next().unwrap_or(start));
    if pid != Some(about.pid) || kept::process(about.pid, began).is_none() {
        return Ok(None);
    }
    let since = about.started_at.and_then(Time::from_timestamp_millis);
    Ok(Some(Found { id: about.session_id, pid, cwd: about.cwd, title: about.name, doing: Doing::Unknown, since }))
}
