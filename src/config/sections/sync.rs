//! `[sync]`: how this machine's questions come into a database that people elsewhere see.

use std::path::PathBuf;
use std::time::Duration;

use crate::config::section::section;
use crate::time::Span;

section! {
    /// `[sync]`: the database of `askbox sync`.
    "sync" Sync {
        /// The PostgreSQL database, as a URL or as key=value pairs, without a password: that comes from `~/.pgpass` or `$PGPASSWORD`. The role
        /// is the name of this host. `""`: what the variables `PGHOST`, `PGUSER` and so on say. Example: `"postgresql://laptop@db.example.org/askbox"`.
        database: String = String::new(),
        /// The file with the certificates (PEM) by which the server proves itself over a network. `""`: `$PGSSLROOTCERT`, else those of this
        /// system.
        root_certificate: PathBuf = PathBuf::new(),
        /// How often the database is asked for offers, about; more than zero.
        poll: Span = Span(Duration::from_secs(2)),
    }
}
