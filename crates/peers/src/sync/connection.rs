//! The connection to the database: the address, TLS, and its errors in words.
//!
//! A unix socket is used as it is. Over a network the server's certificate is verified, with its name, whatever the address says,
//! because an answer decides what an agent does.
//!
//! The password of a role: `$PGPASSWORD`, else the file of passwords (`$PGPASSFILE`, else `~/.pgpass`), by the rules of libpq. It never comes from the configuration,
//! because the doctor shows that. It never comes from the mailbox either.

use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use postgres::config::{Host, SslMode};
use postgres::{Client, NoTls};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres_rustls::MakeRustlsConnect;

use askbox_mailbox::{Error, IoContext, Result, disk, layout, text};

/// The folders of the socket: Debian's packages use the first, and PostgreSQL itself uses the second by default.
const SOCKETS: [&str; 2] = ["/var/run/postgresql", "/tmp"];
const PORT: u16 = 5432;
/// The largest file of certificates, in bytes.
const LARGEST_CERTIFICATES: u64 = 4 << 20;

/// A broken connection is noticed after this time at the latest. A server that does not answer a new connection is given up after this
/// time.
const PATIENCE: Duration = Duration::from_secs(15);
/// The server ends a statement, a wait for a lock or an idle transaction that takes longer.
const LIMITS: &str = "-c statement_timeout=60s -c lock_timeout=20s -c idle_in_transaction_session_timeout=60s -c timezone=UTC";

/// A database, and the role to connect as.
#[derive(Debug, Clone)]
pub struct Database {
    config: postgres::Config,
    root_certificate: Option<PathBuf>,
    is_remote: bool,
    /// The role. A host's role has the name of the host.
    pub user: String,
    /// `ROLE@HOST/DATABASE`, for people.
    pub shown: String,
}

impl Database {
    /// Reads an address, as a URL or as `key=value` pairs. Missing parts come from the variables of libpq: PGHOST, PGPORT, PGUSER,
    /// PGDATABASE, PGSSLROOTCERT.
    ///
    /// # Errors
    /// If the address cannot be understood, contains a password, or turns TLS off over a network.
    pub fn at(address: &str, root_certificate: &Path) -> Result<Self> {
        let wrong = |problem: String| Error::invalid("sync.database", problem, "write it as postgresql://ROLE@HOST/DATABASE");
        // The library knows fewer words than libpq. These words ask for something that is done anyway.
        let address = address.replace("sslmode=verify-full", "sslmode=require").replace("sslmode=verify-ca", "sslmode=require");
        let mut config = postgres::Config::from_str(&address).map_err(|e| wrong(in_words(&e)))?;
        if config.get_password().is_some() {
            return Err(Error::invalid("sync.database", "holds a password", "put it into ~/.pgpass (mode 0600) or $PGPASSWORD"));
        }
        if config.get_hosts().is_empty() {
            let sockets = || SOCKETS.iter().find(|folder| Path::new(folder).is_dir()).map_or(SOCKETS[1], |folder| folder).to_owned();
            config.host(&variable("PGHOST").unwrap_or_else(sockets));
        }
        if config.get_ports().is_empty() {
            let port = variable("PGPORT").map(|port| port.parse().map_err(|_| wrong(format!("$PGPORT is no port: {port}")))).transpose()?;
            config.port(port.unwrap_or(PORT));
        }
        let user = config.get_user().map(str::to_owned).or_else(|| variable("PGUSER")).or_else(|| variable("USER"));
        let user = user.ok_or_else(|| wrong("names no role, and neither $PGUSER nor $USER does".into()))?;
        config.user(&user);
        if config.get_dbname().is_none() {
            config.dbname(&variable("PGDATABASE").unwrap_or_else(|| user.clone()));
        }
        let remote = config.get_hosts().iter().filter(|host| matches!(host, Host::Tcp(_))).count();
        let is_remote = remote > 0;
        if is_remote && remote < config.get_hosts().len() {
            return Err(wrong("names a socket and a host of a network".into()));
        }
        if is_remote && config.get_ssl_mode() == SslMode::Disable {
            return Err(wrong("asks for no TLS; over a network the server's certificate is always verified".into()));
        }
        config.ssl_mode(if is_remote { SslMode::Require } else { SslMode::Disable });
        config.application_name("askbox").connect_timeout(PATIENCE).tcp_user_timeout(PATIENCE);
        config.keepalives_idle(PATIENCE).keepalives_interval(Duration::from_secs(5)).keepalives_retries(3);
        config.options(&config.get_options().map_or_else(|| LIMITS.to_owned(), |own| format!("{LIMITS} {own}")));
        let root_certificate = Some(root_certificate.to_path_buf()).filter(|path| !path.as_os_str().is_empty());
        let root_certificate = root_certificate.or_else(|| variable("PGSSLROOTCERT").map(PathBuf::from));
        let host = match config.get_hosts().first() {
            Some(Host::Unix(folder)) => folder.display().to_string(),
            Some(Host::Tcp(name)) => name.clone(),
            None => String::new(),
        };
        let shown = text::one_line(&format!("{user}@{host}/{}", config.get_dbname().unwrap_or_default()));
        Ok(Self { config, root_certificate, is_remote, user, shown })
    }

    /// Connects.
    ///
    /// # Errors
    /// If the server cannot be reached or refuses the role, or if its certificate cannot be verified.
    pub fn connect(&self) -> Result<Client> {
        let mut config = self.config.clone();
        if let Some(password) = self.password()? {
            config.password(password);
        }
        let connected = if self.is_remote { config.connect(self.tls()?) } else { config.connect(NoTls) };
        connected.map_err(|e| self.failed("cannot be reached", &e))
    }

    fn password(&self) -> Result<Option<String>> {
        self.with_login(find)
    }

    /// Looks something up for the login of this database.
    fn with_login<T>(&self, look: impl FnOnce(Login<'_>) -> T) -> T {
        let host = match self.config.get_hosts().first() {
            Some(Host::Tcp(name)) => name.clone(),
            Some(Host::Unix(folder)) if !SOCKETS.iter().any(|usual| Path::new(usual) == folder) => folder.display().to_string(),
            _ => "localhost".into(),
        };
        let port = self.config.get_ports().first().copied().unwrap_or(PORT);
        look(Login { host: &host, port, database: self.config.get_dbname().unwrap_or_default(), user: &self.user })
    }

    fn tls(&self) -> Result<MakeRustlsConnect> {
        let mut roots = RootCertStore::empty();
        match &self.root_certificate {
            Some(path) => {
                let pem = disk::read(path, LARGEST_CERTIFICATES)?;
                let unusable = |e: String| Error::failed(format!("{} holds no certificates: {e}", path.display()), "write them as PEM");
                for certificate in CertificateDer::pem_slice_iter(&pem) {
                    roots.add(certificate.map_err(|e| unusable(e.to_string()))?).map_err(|e| unusable(e.to_string()))?;
                }
                if roots.is_empty() {
                    return Err(unusable("there is no BEGIN CERTIFICATE".into()));
                }
            }
            None => drop(roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs)),
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let builder = builder.map_err(|e| Error::failed(format!("TLS: {e}"), "report this as a bug"))?;
        Ok(MakeRustlsConnect::new(builder.with_root_certificates(roots).with_no_client_auth()))
    }

    /// True if nobody listens at the unix socket.
    fn lacks_server(&self, error: &postgres::Error) -> bool {
        let cause = std::error::Error::source(error).and_then(|cause| cause.downcast_ref::<std::io::Error>());
        !self.is_remote && cause.is_some_and(|e| matches!(e.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused))
    }

    fn no_server(&self, what: &str, error: &postgres::Error) -> Error {
        let folder =
            self.config.get_hosts().iter().find_map(|host| if let Host::Unix(folder) = host { Some(folder.clone()) } else { None });
        let port = self.config.get_ports().first().copied().unwrap_or(PORT);
        let socket = text::path_word(folder.unwrap_or_default().join(format!(".s.PGSQL.{port}")));
        let hint = format!("no server has the socket {socket}: start PostgreSQL, or name the folder of its socket with host=FOLDER");
        Error::failed(format!("the database {} {what}: {}", self.shown, in_words(error)), hint)
    }

    /// The error for a failure of this database, with the database's name.
    pub fn failed(&self, what: &str, error: &postgres::Error) -> Error {
        if self.lacks_server(error) {
            return self.no_server(what, error);
        }
        let hint = match error.code().map(postgres::error::SqlState::code) {
            Some("28000" | "28P01") => format!("check the role and its password: {}", self.with_login(source)),
            Some("42501") => "the role lacks a right: see askbox sync roles --help".into(),
            Some("42P01" | "3F000") => "bring the database up to date: askbox sync migrate".into(),
            _ => "see docs/guide-sync.md; questions and answers on this machine need no database".into(),
        };
        Error::failed(format!("the database {} {what}: {}", self.shown, in_words(error)), hint)
    }
}

/// The text of an error, with the words of the server or the system about it.
pub(super) fn in_words(error: &postgres::Error) -> String {
    let cause = std::error::Error::source(error).map(ToString::to_string);
    let words = match error.as_db_error() {
        Some(said) => said.message().to_owned(),
        None => cause.map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}")),
    };
    text::excerpt(&words, 300)
}

/// The largest file of passwords, in bytes.
const LARGEST: u64 = 1 << 20;

/// The login whose password is looked for. `host` is `localhost` for the socket at its usual place, and the socket's folder for another
/// one.
#[derive(Debug, Clone, Copy)]
struct Login<'a> {
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
fn find(login: Login<'_>) -> Result<Option<String>> {
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
fn source(login: Login<'_>) -> String {
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
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(address: &str) -> Result<Database> {
        Database::at(address, Path::new(""))
    }

    #[test]
    fn a_network_needs_a_verified_certificate_and_a_socket_none() {
        for address in ["postgresql://laptop@db.example/askbox?sslmode=verify-full", "host=db.example user=laptop dbname=askbox"] {
            let database = at(address).unwrap();
            assert_eq!((database.config.get_ssl_mode(), database.is_remote), (SslMode::Require, true), "{address}");
            assert_eq!(database.shown, "laptop@db.example/askbox");
        }
        let socket = at("host=/run/pg user=laptop dbname=askbox").unwrap();
        assert_eq!((socket.config.get_ssl_mode(), socket.is_remote), (SslMode::Disable, false));
    }

    #[test]
    fn an_address_without_tls_or_with_a_password_is_refused() {
        let refused = |address: &str| at(address).unwrap_err().to_string();
        assert!(refused("postgresql://laptop@db.example/askbox?sslmode=disable").contains("no TLS"));
        assert!(refused("postgresql://laptop:secret@db.example/askbox").contains("holds a password"));
        assert!(refused("host=/run/pg,db.example user=laptop").contains("a socket and a host"));
        assert!(refused("nonsense").contains("sync.database"));
    }
}

#[cfg(test)]
mod tests_of_password {
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
