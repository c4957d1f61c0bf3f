//! The reason why a session of Codex is not told of its answer, for people who look. Looking changes no session and starts no daemon.

use std::time::Duration;

use serde_json::json;

use crate::codex::client::Client;
use crate::codex::wire::{self, Status};
use crate::codex::{home, sessions};
use askbox_config::Config;
use askbox_mailbox::error::Result;
use askbox_mailbox::{Mailbox, Question};
use askbox_run::story;

/// How long the daemon may take to answer.
const PATIENCE: Duration = Duration::from_secs(1);

/// Says why the session of Codex that takes this answer is not told of it. `None` if it is told once it rests, or if no session of Codex takes the
/// answer.
///
/// # Errors
/// If the daemon does not answer within a second, or not as expected.
pub fn because(mailbox: &Mailbox, config: Option<&Config>, question: &Question) -> Result<Option<&'static str>> {
    let Some(session) = question.codex_thread() else { return Ok(None) };
    if let Some(why) = story::no_news_for_codex(mailbox, config) {
        return Ok(Some(why));
    }
    let Some(folder) = home::folder() else { return Ok(None) };
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
