//! The schema, as numbered files of SQL, `MAJOR.NUMBER_NAME.sql`. Brings a database up to date, and refuses one of another version.
//!
//! Within a major version, files only add. A file that was released never changes again, because the database keeps its hash.
//!
//! Everything happens in one transaction under an advisory lock. If two programs do this at the same time, one waits for the other. If a
//! program is killed, the database stays as it was before.
//!
//! The statements that make the roles of hosts and of people. They are printed, for the administrator to read and to run.

use postgres::{Client, GenericClient};
use sha2::{Digest, Sha256};

use crate::sync::connection::Database;
use crate::sync::partitions;
use askbox_mailbox::{Error, HostName, Result};

/// The key of the advisory lock: `askbox` in ASCII.
const LOCK: i64 = 0x61_73_6b_62_6f_78;

const RECORDS: &str = "CREATE SCHEMA IF NOT EXISTS askbox;
    CREATE TABLE IF NOT EXISTS askbox.migration (
        major int NOT NULL, number int NOT NULL, name text NOT NULL, sha256 text NOT NULL,
        at timestamptz NOT NULL DEFAULT now(), by name NOT NULL DEFAULT current_user, PRIMARY KEY (major, number))";

/// A migration that a database has.
struct Applied {
    major: i32,
    number: i32,
    name: String,
    sha256: String,
}

impl Applied {
    fn word(&self) -> String {
        format!("{}.{:03}_{}", self.major, self.number, askbox_mailbox::text::excerpt(&self.name, 60))
    }
}

/// Applies the missing migrations, and makes the partitions of the next weeks. Returns what was applied.
///
/// # Errors
/// If the database is not in UTF-8, is of another major version, or has other statements under a name that this program knows.
pub fn migrate(database: &Database) -> Result<Vec<Migration>> {
    let failed = |e: &postgres::Error| database.failed("was not changed", e);
    let mut client = database.connect()?;
    let mut work = client.transaction().map_err(|e| failed(&e))?;
    let encoding: String = work.query_one("SHOW server_encoding", &[]).and_then(|row| row.try_get(0)).map_err(|e| failed(&e))?;
    if encoding != "UTF8" {
        return Err(Error::conflict(
            format!("the database {} keeps texts as {encoding}, which lacks characters that questions have", database.shown),
            "make another one: CREATE DATABASE askbox ENCODING 'UTF8' LOCALE 'C' TEMPLATE template0",
        ));
    }
    work.execute("SELECT pg_advisory_xact_lock($1)", &[&LOCK]).map_err(|e| failed(&e))?;
    let is_there: bool =
        work.query_one("SELECT to_regclass('askbox.migration') IS NOT NULL", &[]).and_then(|row| row.try_get(0)).map_err(|e| failed(&e))?;
    if !is_there {
        work.batch_execute(RECORDS).map_err(|e| failed(&e))?;
    }
    let applied = applied(database, &mut work)?;
    refuse_others(database, &applied)?;
    let missing: Vec<Migration> = ALL.into_iter().filter(|m| !has(&applied, m)).collect();
    for migration in &missing {
        work.batch_execute(migration.sql).map_err(|e| database.failed(&format!("refused {migration}; nothing was changed"), &e))?;
        let record = "INSERT INTO askbox.migration (major, number, name, sha256) VALUES ($1, $2, $3, $4)";
        work.execute(record, &[&migration.major, &migration.number, &migration.name, &migration.sha256()]).map_err(|e| failed(&e))?;
    }
    partitions::make_ahead(database, &mut work)?;
    work.commit().map_err(|e| failed(&e))?;
    Ok(missing)
}

/// Refuses a database that this program cannot use. Returns the newest migration that it has.
///
/// # Errors
/// If it is of another major version, or lacks a migration.
pub fn check(database: &Database, client: &mut Client) -> Result<String> {
    let applied = applied(database, client)?;
    refuse_others(database, &applied)?;
    match ALL.iter().find(|m| !has(&applied, m)) {
        None => Ok(applied.last().map(Applied::word).unwrap_or_default()),
        Some(missing) => Err(Error::failed(
            format!("the database {} lacks {missing}, which askbox {} needs", database.shown, env!("CARGO_PKG_VERSION")),
            "bring it up to date, as the role that may change its schema: askbox sync migrate",
        )),
    }
}

fn applied(database: &Database, client: &mut impl GenericClient) -> Result<Vec<Applied>> {
    let rows = client.query("SELECT major, number, name, sha256 FROM askbox.migration ORDER BY major, number", &[]);
    let rows = rows.map_err(|e| database.failed("does not say its version", &e))?;
    let read = |row: &postgres::Row| {
        Ok(Applied { major: row.try_get(0)?, number: row.try_get(1)?, name: row.try_get(2)?, sha256: row.try_get(3)? })
    };
    rows.iter().map(read).collect::<Result<_, postgres::Error>>().map_err(|e| database.failed("does not say its version", &e))
}

fn has(applied: &[Applied], migration: &Migration) -> bool {
    applied.iter().any(|a| (a.major, a.number) == (migration.major, migration.number))
}

fn refuse_others(database: &Database, applied: &[Applied]) -> Result<()> {
    let (shown, version) = (&database.shown, env!("CARGO_PKG_VERSION"));
    if let Some(newer) = applied.iter().find(|a| a.major > MAJOR) {
        let message = format!("the database {shown} has {}, and askbox {version} knows the schema {MAJOR} only", newer.word());
        return Err(Error::conflict(message, "update askbox on this machine"));
    }
    for known in ALL {
        let other = applied.iter().find(|a| (a.major, a.number) == (known.major, known.number) && a.sha256 != known.sha256());
        if let Some(other) = other {
            let message = format!("the database {shown} has another {} than askbox {version}: its SHA-256 differs", other.word());
            return Err(Error::conflict(message, "use the askbox that made it, or another database"));
        }
    }
    Ok(())
}

/// One file of SQL.
#[derive(Debug, Clone, Copy, derive_more::Display)]
#[display("{major}.{number:03}_{name}")]
pub struct Migration {
    /// The major version. Programs of another major version refuse the database.
    pub major: i32,
    /// The number in the major version, from 1.
    pub number: i32,
    /// The name of its change, as in its file's name.
    pub name: &'static str,
    /// Its statements.
    pub sql: &'static str,
}

/// All of them, in their order.
pub const ALL: [Migration; 1] =
    [Migration { major: 1, number: 1, name: "questions_and_offers", sql: include_str!("migrations/1.001_questions_and_offers.sql") }];

/// The major version of this program.
pub const MAJOR: i32 = ALL[ALL.len() - 1].major;

impl Migration {
    /// The hash that the database keeps, in hexadecimal digits.
    pub fn sha256(&self) -> String {
        askbox_mailbox::text::hex(&Sha256::digest(self.sql))
    }
}

/// The longest name of a role, in bytes: PostgreSQL would cut a longer one.
const LONGEST: usize = 63;

const HOSTS: &str = "askbox_host";

/// The statements for these roles.
///
/// # Errors
/// If a name cannot be the name of a role.
pub fn statements(hosts: &[String], people: &[String]) -> Result<String> {
    let mut out = String::new();
    for (names, group) in [(hosts, HOSTS), (people, "askbox_person")] {
        for name in names {
            if group == HOSTS {
                let wrong =
                    |e: Error| Error::usage(format!("`{}` is no name of a host", askbox_mailbox::text::excerpt(name, 60)), e.hint());
                name.parse::<HostName>().map_err(wrong)?;
            }
            let name = quoted(name)?;
            out.push_str(&format!("CREATE ROLE {name} LOGIN INHERIT NOCREATEDB NOCREATEROLE NOSUPERUSER;\n"));
            out.push_str(&format!("GRANT {group} TO {name};\n"));
        }
    }
    Ok(out)
}

fn quoted(name: &str) -> Result<String> {
    let reserved = name.starts_with("pg_") || ["askbox_host", "askbox_person", "public", "none"].contains(&name);
    if name.is_empty() || name.len() > LONGEST || name.chars().any(char::is_control) || reserved {
        let hint = "choose another name, such as laptop";
        return Err(Error::usage(format!("`{}` is no name of a role", askbox_mailbox::text::excerpt(name, 60)), hint));
    }
    Ok(format!("\"{}\"", name.replace('"', "\"\"")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_migration_that_was_released_never_changes() {
        let released: [&str; 0] = [];
        for (migration, sha256) in ALL.iter().zip(released) {
            assert_eq!(migration.sha256(), sha256, "{migration} was released and is not to be changed: add another one");
        }
    }

    #[test]
    fn migrations_are_numbered_in_their_order() {
        let numbers: Vec<_> = ALL.iter().map(|m| (m.major, m.number)).collect();
        assert!(numbers.is_sorted() && numbers.windows(2).all(|two| two[0] != two[1]), "{numbers:?}");
    }
}

#[cfg(test)]
mod tests_of_roles {
    use super::*;

    #[test]
    fn a_role_has_no_rights_and_a_name_cannot_leave_its_quotes() {
        let made = statements(&["laptop".into()], &["o\"hara".into()]).unwrap();
        assert!(made.contains("GRANT askbox_host TO \"laptop\";") && made.contains("GRANT askbox_person TO \"o\"\"hara\";"), "{made}");
        for name in ["A.B", "pg_monitor", ""] {
            assert!(matches!(statements(&[name.to_owned()], &[]), Err(Error::Usage { .. })), "{name}");
        }
        for name in ["", "pg_monitor", "askbox_host", "a\nb", &"x".repeat(64)] {
            assert!(statements(&[name.to_owned()], &[]).is_err(), "{name}");
        }
    }
}
