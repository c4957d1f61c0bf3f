//! The names under which the page may be requested, and the pages that may send it forms.

use std::net::{Ipv4Addr, Ipv6Addr};

use askbox_config::Web;

/// The names of the page.
#[derive(Debug, Clone)]
pub struct Hosts {
    listed: Vec<String>,
    tls_in_front: bool,
}

/// This computer's own names for itself.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// A name that a browser used for the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// The name with its port, as the browser wrote it, in lower case.
    authority: String,
    /// True if browsers reach this name through a server that speaks TLS.
    pub is_behind_tls: bool,
}

impl Host {
    /// The port that the browser uses. `None` if it is the usual one.
    pub fn port(&self) -> Option<u16> {
        self.authority.rsplit_once(':').and_then(|(_, port)| port.parse().ok())
    }
}

impl Hosts {
    /// The names that the configuration lists, and the names of this computer.
    pub fn new(config: &Web) -> Self {
        let listed = config.hosts.iter().map(|host| host.to_ascii_lowercase()).collect();
        Self { listed, tls_in_front: config.tls_in_front }
    }

    /// The name in a request, if the page may be requested under it. A stranger's name server can make any other name lead here. To a
    /// browser, the stranger's pages would then have the same origin as this page.
    pub fn known(&self, header: &str) -> Option<Host> {
        let authority = header.to_ascii_lowercase();
        if is_loopback(&authority) {
            return Some(Host { authority, is_behind_tls: false });
        }
        self.lists(&authority).then_some(Host { authority, is_behind_tls: self.tls_in_front })
    }

    /// True if a form comes from one of our own pages. The browser's headers must say where the form comes from, and must not contradict
    /// each other.
    pub fn is_ours(&self, host: &Host, origin: Option<&str>, fetch_site: Option<&str>) -> bool {
        // A browser whose settings keep the referrer to itself writes `null` as the origin of a form.
        let origin = origin.filter(|origin| *origin != "null");
        if origin.is_none() && fetch_site.is_none() {
            return false;
        }
        // `same-site` means another port of this computer, or a neighbouring name.
        fetch_site.is_none_or(|site| site == "same-origin") && origin.is_none_or(|origin| self.is_our_origin(host, origin))
    }

    /// True if an origin is the page's own: its scheme, name and port match. A listed name may stand for any other listed name, because a
    /// server in front may request the page under the name of this computer.
    fn is_our_origin(&self, host: &Host, origin: &str) -> bool {
        let Some((scheme, authority)) = origin.split_once("://") else { return false };
        let authority = authority.to_ascii_lowercase();
        let usual = match scheme {
            "https" if self.tls_in_front => ":443",
            "http" => ":80",
            _ => return false,
        };
        let plain = |authority: &str| authority.strip_suffix(usual).unwrap_or(authority).to_owned();
        if self.lists(&authority) {
            return (scheme == "https") == self.tls_in_front;
        }
        is_loopback(&authority) && plain(&authority) == plain(&host.authority)
    }

    /// True if a link may lead to this computer or to a name of the page, at any port. Browsers read an address in many spellings, so only a
    /// plain name or address counts as another's.
    pub fn may_be_own(&self, url: &str) -> bool {
        let url = url.to_ascii_lowercase();
        let Some(rest) = url.strip_prefix("http:").or_else(|| url.strip_prefix("https:")) else { return false };
        let authority = rest.trim_start_matches(['/', '\\']).split(['/', '\\', '?', '#']).next().unwrap_or_default();
        let authority = authority.rsplit('@').next().unwrap_or_default();
        if let Some(address) = authority.strip_prefix('[') {
            let address: Option<Ipv6Addr> = address.split(']').next().and_then(|address| address.parse().ok());
            let is_listed = self.listed.iter().any(|listed| listed.starts_with('['));
            return is_listed || address.is_none_or(|it| it.is_loopback() || it.is_unspecified() || it.to_ipv4().is_some());
        }
        let name = |authority: &str| authority.split(':').next().unwrap_or_default().trim_end_matches('.').to_owned();
        let host = name(authority);
        if self.listed.iter().any(|listed| name(listed) == host) || host == "localhost" || host.ends_with(".localhost") {
            return true;
        }
        // Browsers read a name with a number at its end as an address.
        if host.rsplit('.').next().is_none_or(|last| last.is_empty() || last.starts_with(|c: char| c.is_ascii_digit())) {
            return host.parse::<Ipv4Addr>().map_or(true, |address| address.is_loopback() || address.is_unspecified());
        }
        !host.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._".contains(&b))
    }

    fn lists(&self, authority: &str) -> bool {
        let usual = if self.tls_in_front { ":443" } else { ":80" };
        self.listed.iter().any(|host| host == authority || authority.strip_suffix(usual) == Some(host))
    }
}

fn is_loopback(authority: &str) -> bool {
    LOOPBACK.iter().any(|name| {
        authority.strip_prefix(name).is_some_and(|rest| match rest.strip_prefix(':') {
            Some(port) => port.parse::<u16>().is_ok(),
            None => rest.is_empty(),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(listed: &[&str], tls_in_front: bool) -> Hosts {
        Hosts::new(&Web { hosts: listed.iter().map(|&h| h.into()).collect(), tls_in_front, ..Web::default() })
    }

    #[test]
    fn only_the_names_of_this_computer_and_listed_ones_are_known() {
        let hosts = hosts(&["Box.example", "other.example:8443"], true);
        for good in ["localhost", "LOCALHOST:1", "127.0.0.1:8347", "[::1]:8347", "box.example", "BOX.example:443", "other.example:8443"] {
            assert!(hosts.known(good).is_some(), "{good}");
        }
        for bad in [
            "", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "localhost:x", "localhost:", "localhost:99999",
            "box.example:80", "other.example", "sub.box.example", "127.0.0.1@evil.example",
        ] {
            assert!(hosts.known(bad).is_none(), "{bad}");
        }
        for (host, port) in [("localhost", None), ("[::1]", None), ("[::1]:8347", Some(8347)), ("127.0.0.1:80", Some(80))] {
            assert_eq!(hosts.known(host).unwrap().port(), port, "{host}");
        }
        assert!(hosts.known("box.example").unwrap().is_behind_tls && !hosts.known("localhost").unwrap().is_behind_tls);
    }

    #[test]
    fn a_link_in_any_spelling_of_the_own_host_is_its_own() {
        let hosts = hosts(&["Box.example", "other.example:8443", "10.1.2.3"], true);
        for own in [
            "http://127.0.0.1:18999/",
            "HTTP://LocalHost",
            "https://a.localhost/",
            "http://localhost.:1/",
            "http://[::1]:3000/x",
            "http://[::ffff:127.0.0.1]/",
            "http://[::]/",
            "http://0.0.0.0:1",
            "http://127.1/",
            "http://2130706433/",
            "http://0x7f.0.0.1/",
            "http://0177.0.0.1/",
            "http:localhost",
            "http:/\\localhost\\@x.example",
            "http://x.example@127.0.0.1/",
            "http://x.example:y@localhost:3/",
            "http://%6cocalhost/",
            "http://\u{ff4c}ocalhost/",
            "http://local\thost/",
            "http://",
            "https://box.example:1/",
            "https://BOX.example./",
            "http://other.example/",
            "http://10.1.2.3:3000/",
        ] {
            assert!(hosts.may_be_own(own), "{own}");
        }
        for other in [
            "https://docs.example/?to=localhost#127.0.0.1",
            "http://10.0.0.1:3000/",
            "http://[2001:db8::1]/",
            "https://localhost.example/",
            "https://my_box.example:8443",
            "https://sub.box.example/",
            "http://devbox/",
            "mailto:ann@localhost",
        ] {
            assert!(!hosts.may_be_own(other), "{other}");
        }
    }

    #[test]
    fn a_form_is_ours_only_if_the_browser_says_so() {
        let hosts = hosts(&["box.example"], true);
        let ours = |host: &str, origin, site| hosts.is_ours(&hosts.known(host).unwrap(), origin, site);
        let here = "127.0.0.1:8347";
        assert!(ours(here, Some("http://127.0.0.1:8347"), None));
        assert!(ours(here, Some("http://127.0.0.1:8347"), Some("same-origin")));
        assert!(ours(here, None, Some("same-origin")));
        assert!(ours(here, Some("null"), Some("same-origin")), "a page without a referrer");
        assert!(ours("box.example", Some("https://box.example"), None));
        assert!(ours(here, Some("https://box.example"), Some("same-origin")), "a server in front asks under another name");
        for (origin, site) in [
            (None, None),
            (Some("null"), None),
            (Some(""), None),
            (Some("http://127.0.0.1:3000"), None),
            (Some("http://localhost:8347"), None),
            (Some("http://evil.example"), None),
            (Some("http://127.0.0.1:8347.evil.example"), None),
            (Some("file://"), None),
            (Some("http://box.example"), None),
            (Some("https://box.example:8443"), None),
            (None, Some("cross-site")),
            (None, Some("same-site")),
            (None, Some("none")),
            (Some("http://127.0.0.1:8347"), Some("same-site")),
            (Some("http://evil.example"), Some("same-origin")),
        ] {
            assert!(!ours(here, origin, site), "{origin:?} {site:?}");
        }
    }

    #[test]
    fn another_scheme_is_another_origin() {
        let plain = hosts(&["box.example"], false);
        let ours = |host: &str, origin| plain.is_ours(&plain.known(host).unwrap(), Some(origin), Some("same-origin"));
        assert!(ours("127.0.0.1:8347", "http://127.0.0.1:8347") && ours("box.example", "http://box.example"));
        for (host, origin) in [
            ("127.0.0.1:8347", "https://127.0.0.1:8347"),
            ("localhost", "https://localhost"),
            ("box.example", "https://box.example"),
            ("box.example", "ws://box.example"),
        ] {
            assert!(!ours(host, origin), "{origin}");
        }
    }
}
