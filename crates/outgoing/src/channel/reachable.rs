//! Whether the server of a target can be reached. This only connects: nothing is sent to the server.

use std::net::{TcpStream, ToSocketAddrs};
use std::sync::mpsc;
use std::time::Duration;

use askbox_config::{Means, Target};
use askbox_mailbox::thread;

/// How long to wait for a connection.
const PATIENCE: Duration = Duration::from_secs(3);
/// The variables that lead curl over a proxy.
const PROXIES: [&str; 6] = ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy"];

/// Connects to the server of a target. Returns the problem; `None` if the server can be reached, or if a proxy or no server stands between.
pub fn problem(target: &Target) -> Option<String> {
    let (Means::Webhook(url) | Means::Ntfy(url)) = target.means()? else { return None };
    let (host, port) = place(url)?;
    if PROXIES.iter().any(|name| std::env::var_os(name).is_some()) {
        return None;
    }
    let named = format!("{host}:{port}");
    // A name server may take its time, and so may each of several addresses.
    let (sender, result) = mpsc::channel();
    thread::start(move || drop(sender.send(connect(&host, port)))).ok()?;
    match result.recv_timeout(2 * PATIENCE) {
        Ok(result) => result.err().map(|e| format!("{named}: {e}")),
        Err(_) => Some(format!("{named}: no connection within {}s", 2 * PATIENCE.as_secs())),
    }
}

fn connect(host: &str, port: u16) -> std::io::Result<()> {
    let mut last = std::io::Error::from(std::io::ErrorKind::AddrNotAvailable);
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(_) => return Ok(()),
            Err(e) => last = e,
        }
    }
    Err(last)
}

/// The host and the port of an address of the web.
fn place(url: &str) -> Option<(String, u16)> {
    let (scheme, rest) = url.split_once("://")?;
    let usual = if scheme.eq_ignore_ascii_case("http") { 80 } else { 443 };
    let authority = rest.split(['/', '?', '#']).next()?.rsplit('@').next()?;
    let (host, port) = match authority.strip_prefix('[') {
        Some(six) => six.split_once(']')?,
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    let port = port.strip_prefix(':').filter(|port| !port.is_empty()).map_or(Some(usual), |port| port.parse().ok())?;
    (!host.is_empty()).then(|| (host.to_owned(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_an_address_is_its_host_and_port() {
        let place = |url| place(url).map(|(host, port)| format!("{host} {port}"));
        for (url, found) in [
            ("https://ntfy.sh/topic", "ntfy.sh 443"),
            ("http://box.example", "box.example 80"),
            ("http://ann:s3cret@[::1]:8080/x@y", "::1 8080"),
            ("https://127.0.0.1:9?x=://", "127.0.0.1 9"),
        ] {
            assert_eq!(place(url).as_deref(), Some(found), "{url}");
        }
        for url in ["", "ntfy.sh/topic", "http://", "http://x:port/", "http://[::1"] {
            assert_eq!(place(url), None, "{url}");
        }
    }
}
