//! The sessions that the daemon has loaded, for people who look. Looking changes no session and starts no daemon.

use std::collections::HashSet;
use std::path::Path;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::codex::client::Client;
use crate::codex::wire::{self, Status, Thread, ThreadId};
use askbox_mailbox::{Error, Result, Time, thread};
use askbox_sessions::codex::{self, CodexSession, Doing};

/// Asks the daemon. `None` if no daemon runs.
pub(super) fn in_time<T: Send + 'static>(
    folder: &Path,
    patience: Duration,
    ask: impl FnOnce(Client, Instant) -> Result<T> + Send + 'static,
) -> Result<Option<T>> {
    let socket = codex::socket_in(folder);
    let until = Instant::now() + patience;
    let (sender, receiver) = mpsc::channel();
    // Connecting to a daemon that hangs has no end, so a thread does it. The thread ends with this program.
    thread::start(move || {
        let asked = Client::connect(&socket).and_then(|client| {
            let Some(mut client) = client else { return Ok(None) };
            client.introduce(until)?;
            ask(client, until).map(Some)
        });
        sender.send(asked)
    })?;
    let said = format!("codex's daemon has not answered within {} s", patience.as_secs());
    receiver.recv_timeout(patience).unwrap_or_else(|_| Err(Error::failed(said, "codex app-server daemon version")))
}

/// The sessions of persons that the daemon has loaded.
pub(super) fn ask(mut client: Client, until: Instant) -> Result<Vec<CodexSession>> {
    let loaded = client.call(1, "thread/loaded/list", &json!({}), until)?.map_err(|why| wire::refused(&why))?;
    let ids: Vec<String> = serde_json::from_value(loaded["data"].clone()).unwrap_or_default();
    let mut threads = Vec::new();
    for (number, id) in (2..).zip(ids) {
        // The session may have ended since the list was made.
        if let Ok(result) = client.call(number, "thread/read", &json!({ "threadId": id }), until)? {
            threads.extend(wire::thread(&result));
        }
    }
    Ok(of_persons(threads))
}

/// The sessions of people. Subagents, and sessions that Codex makes for itself, are left out.
fn of_persons(threads: Vec<Thread>) -> Vec<CodexSession> {
    let ids: HashSet<ThreadId> = threads.iter().map(|thread| thread.id.clone()).collect();
    let waiting = threads.iter().filter(|thread| thread.status.waits()).filter_map(|thread| thread.parent_thread_id.clone());
    let waiting: HashSet<ThreadId> = waiting.collect();
    let has_parent = |thread: &Thread| thread.parent_thread_id.as_ref().is_some_and(|parent| ids.contains(parent));
    let own = threads.into_iter().filter(|thread| !thread.ephemeral && !has_parent(thread));
    own.map(|thread| CodexSession {
        doing: match &thread.status {
            status if status.waits() || waiting.contains(&thread.id) => Doing::Waits,
            Status::Active { .. } => Doing::Works,
            Status::Resting | Status::NotLoaded => Doing::Rests,
        },
        title: thread.title().map(str::to_owned),
        since: thread.updated_at.and_then(|seconds| Time::from_timestamp(seconds, 0)),
        id: thread.id,
        cwd: thread.cwd,
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subagent_of_codex_that_waits_is_shown_as_its_session() {
        let thread = |id: &str, more: serde_json::Value| {
            let mut thread = json!({"id": id, "cwd": "/w", "status": {"type": "idle"}, "preview": "fix it", "updatedAt": 7});
            more.as_object().unwrap().iter().for_each(|(name, value)| thread[name] = value.clone());
            wire::thread(&json!({ "thread": thread })).unwrap()
        };
        let waits = json!({"type": "active", "activeFlags": ["waitingOnApproval"]});
        let found = of_persons(vec![
            thread("a", json!({"status": {"type": "active", "activeFlags": []}})),
            thread("a1", json!({"parentThreadId": "a", "status": waits})),
            thread("b", json!({"name": "The bill", "status": {"type": "active"}})),
            thread("c", json!({"preview": " ", "name": null, "updatedAt": null})),
            // Its session is not loaded.
            thread("d1", json!({"parentThreadId": "d", "status": waits})),
            thread("title", json!({"ephemeral": true})),
        ]);
        let seen: Vec<_> = found.iter().map(|one| (one.id.as_str(), one.doing, one.title.as_deref())).collect();
        let expected = [
            ("a", Doing::Waits, Some("fix it")),
            ("b", Doing::Works, Some("The bill")),
            ("c", Doing::Rests, None),
            ("d1", Doing::Waits, Some("fix it")),
        ];
        assert_eq!(seen, expected);
        assert_eq!((found[0].since, found[2].since), (Time::from_timestamp(7, 0), None));
    }
}
