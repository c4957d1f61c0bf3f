//! `[web]`: the addresses of the page of `askbox web`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::section::section;
use askbox_mailbox::{Error, Result, Span};

section! {
    /// `[web]`: the page, `askbox web`.
    "web" Web {
        /// A loopback address with a port, or `"unix:"` and the path of a socket. Any other address needs `web.hosts` and
        /// `web.tls_in_front`. Example: `"unix:/run/user/1000/askbox.sock"`.
        listen: String = "127.0.0.1:8347".into(),
        /// The names of the page besides localhost, with an unusual port. Links have the first. Needs `web.tls_in_front`. Example:
        /// `["box.example"]`.
        hosts: Vec<String> = Vec::new(),
        /// True if a server of yours that speaks TLS stands in front. Links begin with https, and cookies need TLS.
        tls_in_front: bool = false,
        /// How long a device stays signed in after its last use. A visible page is in use.
        session: Span = Span(Duration::from_secs(30 * 86_400)),
    }
}

/// Where the page listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listen {
    /// At an address.
    Tcp(SocketAddr),
    /// At a socket in the filesystem.
    Unix(PathBuf),
}

impl Web {
    /// The address to listen at: `flag`, else that of the configuration.
    ///
    /// # Errors
    /// If it is not an address, or if other machines can reach it although the configuration does not say that TLS stands in front.
    pub fn listen(&self, flag: Option<&str>) -> Result<Listen> {
        let (text, name) = (flag.unwrap_or(&self.listen), if flag.is_some() { "--listen" } else { "web.listen" });
        let invalid =
            |problem: &str, fix: &str| Err(Error::invalid(name, format!("`{}` {problem}", askbox_mailbox::text::excerpt(text, 80)), fix));
        if let Some(path) = text.strip_prefix("unix:") {
            let path = PathBuf::from(path);
            return if path.is_absolute() {
                Ok(Listen::Unix(path))
            } else {
                invalid("is no absolute path", "write unix:/PATH/askbox.sock")
            };
        }
        let Ok(address) = text.replace("localhost:", "127.0.0.1:").parse::<SocketAddr>() else {
            return invalid("is no address", "write 127.0.0.1:8347, or unix:/PATH/askbox.sock");
        };
        if !address.ip().is_loopback() && (self.hosts.is_empty() || !self.tls_in_front) {
            let fix =
                "listen on 127.0.0.1 and let ssh, tailscale or caddy lead there; or set web.hosts and web.tls_in_front: docs/guide-web.md";
            return invalid("can be reached from other machines", fix);
        }
        Ok(Listen::Tcp(address))
    }
}

/// Refuses values that no browser could use.
pub(crate) fn check(web: &Web) -> Result<()> {
    web.listen(None)?;
    for host in &web.hosts {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':' | '[' | ']');
        if host.is_empty() || !host.chars().all(is_plain) {
            let problem = format!("`{}` is no name of a host", askbox_mailbox::text::excerpt(host, 80));
            let fix = "write the name alone, without https://, such as box.example or box.example:8443";
            return Err(Error::invalid("web.hosts", problem, fix));
        }
    }
    // Without TLS, browsers do not say which page a form comes from, except to the computer's own names.
    if !web.hosts.is_empty() && !web.tls_in_front {
        return Err(Error::invalid(
            "web.hosts",
            "is set without web.tls_in_front: without TLS, the page would refuse every form that a browser sends to such a name",
            "set web.tls_in_front = true with a server that speaks TLS in front; or leave web.hosts out and use ssh -L: docs/guide-web.md",
        ));
    }
    if web.session.0.is_zero() { Err(Error::invalid("web.session", "is zero", "use a value above zero")) } else { Ok(()) }
}
