//! Which mailbox is this host. Mailboxes are copied and restored from backups, and two of them must not both be one host.
//!
//! The database knows the token of the mailbox that is the host, and `sync/epoch.json` in the mailbox knows it too. A process that
//! connects replaces the token by a new one, by compare and set, and every later write demands it. If a mailbox and its copy both
//! start, the one that starts last is the host. The other one is refused at its next statement, reports it, and stays refused until a person
//! takes over.
//!
//! The new token is in the file before it is in the database. After a crash in between, the file has both tokens, and the database may
//! have either. A statement of a killed process, or of a connection that broke, may reach the database only after the next connection
//! has looked. So a token leaves the file once another one is in the database: from then on, the late statement has no effect.

use std::path::PathBuf;

use postgres::Client;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::sync::connection::Database;
use crate::sync::host::{state, store};
use askbox_mailbox::{Error, Mailbox, Result, Time, disk, document, time};

const LARGEST: u64 = 64 << 10;
/// How many connections may break in a row while a statement of theirs is still on its way.
const LATE: usize = 16;

/// The file `sync/epoch.json`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct EpochFile {
    /// The tokens of this mailbox. If it is the host, the database has one of them. There is one, or more after crashes at the start of
    /// a connection.
    pub tokens: Vec<Uuid>,
    /// The host: the role of the database.
    pub host: String,
    /// How often this host has connected.
    pub epoch: i64,
    /// When another mailbox was found to be the host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fenced_at: Option<Time>,
}

impl EpochFile {
    /// Reads the file; a missing one is empty.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn read(mailbox: &Mailbox) -> Result<Self> {
        let path = path(mailbox);
        match disk::read(&path, LARGEST) {
            Err(e) if e.is_missing_file() => Ok(Self::default()),
            Err(e) => Err(e),
            Ok(bytes) => document::json(&bytes).ok_or_else(|| {
                let mend = "move the file away, and then: askbox sync run --take-over";
                Error::invalid("tokens", "is not what askbox wrote", mend).in_file(&path)
            }),
        }
    }

    fn write(&self, mailbox: &Mailbox) -> Result<()> {
        disk::create_folder(&state::folder(mailbox))?;
        disk::replace(&path(mailbox), &document::to_json(self)?)
    }
}

fn path(mailbox: &Mailbox) -> PathBuf {
    state::folder(mailbox).join("epoch.json")
}

/// The proof that this connection is the host's, as long as the database agrees.
#[derive(Debug, Clone)]
pub struct Epoch {
    /// The token that every write demands.
    pub token: Uuid,
    /// The number of the epoch.
    pub number: i64,
}

impl Epoch {
    /// Makes this mailbox the host, if it was the host before or if there was none. With `take_over`, in any case.
    ///
    /// # Errors
    /// [`Error::Conflict`] if another mailbox is the host.
    pub fn begin(database: &Database, client: &mut Client, mailbox: &Mailbox, take_over: bool) -> Result<Self> {
        for _ in 0..LATE {
            let mut file = EpochFile::read(mailbox)?;
            if file.host != database.user {
                file.tokens.clear();
            }
            let known = store::token(database, client)?;
            if !take_over && known.is_some_and(|known| !file.tokens.contains(&known)) {
                break;
            }
            let new = Uuid::new_v4();
            file.tokens.retain(|token| Some(*token) != known);
            file.tokens.extend(known.into_iter().chain([new]));
            file.tokens.drain(..file.tokens.len().saturating_sub(LATE));
            let file = EpochFile { host: database.user.clone(), fenced_at: None, ..file };
            file.write(mailbox)?;
            // If the token changed since it was read, whoever changed it is the host: another mailbox, or an earlier connection of this
            // one.
            if let Some(number) = store::begin_epoch(database, client, known, new)? {
                EpochFile { tokens: vec![new], epoch: number, ..file }.write(mailbox)?;
                return Ok(Self { token: new, number });
            }
        }
        Err(fenced(database, mailbox))
    }
}

/// The error that another mailbox is the host. It is also recorded for the doctor.
pub fn fenced(database: &Database, mailbox: &Mailbox) -> Error {
    let noted = EpochFile::read(mailbox).and_then(|file| EpochFile { fenced_at: Some(time::now()), ..file }.write(mailbox));
    let but = noted.err().map(|e| format!(" (this could not be noted: {e})")).unwrap_or_default();
    Error::conflict(
        format!("another mailbox is the host {} by now: this one is its copy, was restored, or is new{but}", database.user),
        "if this one is to be the host: askbox sync run --take-over; else give this machine a role of its own",
    )
}
