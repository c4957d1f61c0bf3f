//! The reason why a session of Codex is not told of its answer, for people who look. Looking changes no session and starts no daemon.

use std::time::Duration;

use serde_json::json;

use crate::codex::client::Client;
use crate::codex::sessions;
use crate::codex::wire::{self, Status};
use askbox_mailbox::Result;
use askbox_watch::codex;

/// How long the daemon may take to answer.
const PATIENCE: Duration = Duration::from_secs(1);

/// Says why the daemon tells this session nothing. `None` if it does once the session rests.
///
/// # Errors
/// If the daemon does not answer within a second, or not as expected.
pub(super) fn because(session: &str) -> Result<Option<&'static str>> {
    let Some(folder) = codex::folder() else { return Ok(None) };
    let session = session.to_owned();
    let found = sessions::in_time(&folder, PATIENCE, move |mut client: Client, until| {
        client.call(1, "thread/read", &json!({ "threadId": session }), until)
    })?;
    Ok(match found {
        None => Some("codex's daemon is not running"),
        Some(Err(_)) => Some("codex's daemon does not have the session"),
        Some(Ok(read)) => {
            let is_away = wire::thread(&read).is_some_and(|thread| thread.status == Status::NotLoaded);
            is_away.then_some("codex's daemon has put the session away")
        }
    })
}
