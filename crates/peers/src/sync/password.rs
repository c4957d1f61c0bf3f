//! The password of a role: `$PGPASSWORD`, else the file of passwords (`$PGPASSFILE`, else `~/.pgpass`), by the rules of libpq. It never comes from the configuration,
//! because the doctor shows that. It never comes from the mailbox either.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use askbox_mailbox::error::IoContext;
use askbox_mailbox::{Error, Result, disk, layout};

/// The largest file of passwords, in bytes.
const LARGEST: u64 = 1 << 20;

/// The login whose password is looked for. `host` is `localhost` for the socket at its usual place, and the socket's folder for another
/// one.
#[derive(Debug, Clone, Copy)]
pub struct Login<'a> {
    /// The host's name, as it was configured.
    pub host: &'a str,
    /// The port.
    pub port: u16,
    /// The database.
    pub database: &'a str,
    /// The role.
    pub user: &'a str,
}

/// Looks the password up. `None` if there is none: the server may not ask for one.
///
/// # Errors
/// If the file of passwords can be read by others: libpq would ignore it, and the server's refusal would be hard to understand.
pub fn find(login: Login<'_>) -> Result<Option<String>> {
    if let Some(password) = variable("PGPASSWORD") {
        return Ok(Some(password));
    }
    let Some(path) = file() else { return Ok(None) };
    let metadata = match disk::metadata(&path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        other => other.io("read", &path)?,
    };
    if metadata.mode() & 0o077 != 0 {
        let message = format!("the file of passwords {} can be read by others", path.display());
        return Err(Error::failed(message, format!("chmod 0600 {}", askbox_mailbox::text::path_word(&path))));
    }
    let bytes = disk::read(&path, LARGEST)?;
    Ok(in_text(&String::from_utf8_lossy(&bytes), login))
}

/// Where the password of this login comes from, or would have to stand, for a person whose password was refused.
pub fn source(login: Login<'_>) -> String {
    match (variable("PGPASSWORD"), file()) {
        (Some(_), _) => "it comes from $PGPASSWORD".into(),
        (None, Some(path)) => source_in(&path, login),
        (None, None) => "set $PGPASSWORD or $PGPASSFILE".into(),
    }
}

fn source_in(path: &Path, login: Login<'_>) -> String {
    let (file, Login { host, port, database, user }) = (askbox_mailbox::text::path_word(path), login);
    let text = disk::read(path, LARGEST).unwrap_or_default();
    match in_text(&String::from_utf8_lossy(&text), login) {
        Some(_) => format!("it comes from {file}"),
        None => format!("{file} has no line for {host}:{port}:{database}:{user}"),
    }
}

fn file() -> Option<PathBuf> {
    variable("PGPASSFILE").map(PathBuf::from).or_else(|| layout::home().ok().map(|home| Path::new(&home).join(".pgpass")))
}

/// The password in the first line that fits: `host:port:database:user:password`. `*` fits everything, and a `\` before `:` or `\` makes
/// it an ordinary character.
fn in_text(text: &str, login: Login<'_>) -> Option<String> {
    let port = login.port.to_string();
    let wanted = [login.host, &port, login.database, login.user];
    text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let fields = fields(line);
        let (password, of) = fields.split_last().filter(|(_, of)| of.len() == wanted.len())?;
        let fits = of.iter().zip(wanted).all(|(field, wanted)| field == "*" || field == wanted);
        fits.then(|| password.clone())
    })
}

/// The five fields. The password is the rest of the line.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut chars = line.trim_end_matches(['\r', '\n']).chars();
    while let Some(c) = chars.next() {
        let is_last = fields.len() == 5;
        match (c, fields.last_mut()) {
            (':', _) if !is_last => fields.push(String::new()),
            ('\\', Some(field)) => field.extend(chars.next()),
            (c, Some(field)) => field.push(c),
            _ => {}
        }
    }
    fields
}

/// A variable of the environment that is not empty.
pub(super) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_fits_has_the_password() {
        let text = "# a remark\ndb:5432:askbox:bob:bobs\n*:*:*:ann:with\\:colon:and more\ndb:5432:askbox:ann:second\nbroken\n";
        let of = |user, port| in_text(text, Login { host: "db", port, database: "askbox", user });
        assert_eq!(of("bob", 5432).as_deref(), Some("bobs"));
        assert_eq!(of("ann", 1).as_deref(), Some("with:colon:and more"));
        assert_eq!(of("bob", 5433), None);
        assert_eq!(of("eve", 5432), None);
    }

    #[test]
    #[allow(clippy::disallowed_methods, reason = "the person's own file")]
    fn a_refused_person_is_told_which_file_was_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("passwords");
        let login = Login { host: "db", port: 5432, database: "askbox", user: "ann" };
        let none = format!("{} has no line for db:5432:askbox:ann", path.display());
        assert_eq!(source_in(&path, login), none);
        std::fs::write(&path, "db:5432:askbox:bob:x\n").unwrap();
        assert_eq!(source_in(&path, login), none);
        std::fs::write(&path, "*:*:*:*:x\n").unwrap();
        assert_eq!(source_in(&path, login), format!("it comes from {}", path.display()));
    }
}
