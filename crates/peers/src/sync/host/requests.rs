//! Does the requests of people about the sessions of this host, if the operator lets them. It has a connection and a thread of its
//! own, so the reading of a long conversation holds up no answer.
//!
//! A request is taken before it is done, by the mailbox that is the host, and while its person still waits. So it is done once at most.

use std::time::Duration;

use postgres::Client;
use postgres::fallible_iterator::FallibleIterator;

use crate::lines::Line;
use crate::sync::connection::Database;
use crate::sync::host::epoch::EpochFile;
use crate::sync::host::service::{HEARTBEAT, named};
use crate::sync::migrate;
use askbox_cli::{Context, program};
use askbox_config::Sync;
use askbox_mailbox::{Below, Mailbox, Result, document, text};
use askbox_run::log;
use askbox_sessions::Asked;

/// The channel that rings for the hosts.
pub const CHANNEL: &str = "askbox_request";
/// The pause after a failure.
const PAUSE: Duration = Duration::from_secs(10);

/// Takes the next request of the last seconds. An abandoned one is removed.
const TAKE: &str = "WITH old AS (DELETE FROM askbox.request WHERE host = current_user AND sent_at < now() - interval '1 minute')
    UPDATE askbox.request SET taken_at = now() WHERE request_id = (
        SELECT request_id FROM askbox.request WHERE host = current_user AND taken_at IS NULL AND sent_at > now() - interval '15 seconds'
            AND EXISTS (SELECT FROM askbox.host WHERE host = current_user AND token = ANY($1::text[]::uuid[]))
            ORDER BY seq LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING request_id::text, sent_by::text, doc";

/// Does it until the process ends. A failure is tried again.
pub fn serve(settings: &Sync, mailbox: &Mailbox, context: &Context) {
    loop {
        if let Err(e) = listen(settings, mailbox, context) {
            log::error(&e);
        }
        std::thread::sleep(PAUSE);
    }
}

fn listen(settings: &Sync, mailbox: &Mailbox, context: &Context) -> Result<()> {
    let database = Database::at(&settings.database, &settings.root_certificate)?;
    let failed = |e: &postgres::Error| database.failed("tells no requests", e);
    let mut client = database.connect()?;
    migrate::check(&database, &mut client)?;
    client.batch_execute(&format!("LISTEN {CHANNEL}")).map_err(|e| failed(&e))?;
    loop {
        while next(&mut client, mailbox, context, &failed)? {}
        client.notifications().timeout_iter(HEARTBEAT).next().map_err(|e| failed(&e))?;
    }
}

/// Does the next request. Returns false if there is none.
fn next(
    client: &mut Client,
    mailbox: &Mailbox,
    context: &Context,
    failed: &dyn Fn(&postgres::Error) -> askbox_mailbox::Error,
) -> Result<bool> {
    let tokens: Vec<String> = EpochFile::read(mailbox)?.tokens.iter().map(ToString::to_string).collect();
    let Some(row) = client.query_opt(TAKE, &[&tokens]).map_err(|e| failed(&e))? else { return Ok(false) };
    let text = |n: usize| row.try_get::<_, String>(n).map_err(|e| failed(&e));
    let (id, role, doc) = (text(0)?, text(1)?, text(2)?);
    let line = reply(mailbox, context, &role, &doc).unwrap_or_else(|e| Line::Failed { error: program::message(&e), hint: e.hint() });
    let reply = line.to_json()?;
    client.execute("UPDATE askbox.request SET reply = $2 WHERE request_id = $1::text::uuid", &[&id, &reply]).map_err(|e| failed(&e))?;
    Ok(true)
}

fn reply(mailbox: &Mailbox, context: &Context, role: &str, doc: &str) -> Result<Line> {
    document::check_depth(doc)?;
    let asked: Asked = serde_json::from_str(doc).map_err(|e| {
        askbox_mailbox::Error::invalid("request", text::excerpt(&e.to_string(), 200), "install the same release of askbox on both machines")
    })?;
    let asked = Asked { by: named(asked.by, role), ..asked };
    Ok(Line::Reply { reply: asked.does(mailbox, context, Below::NoAgent)?.to_json()? })
}
