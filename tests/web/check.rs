//! The one check before all routing, and its order.

use crate::support::World;

#[test]
fn what_is_no_request_at_all_is_refused_with_the_same_headers() {
    let world = World::new();
    let page = world.serve_page();
    let long = format!("GET / HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n", "x".repeat(1 << 20));
    let many = format!("GET / HTTP/1.1\r\n{}\r\n", "X: y\r\n".repeat(500));
    for bad in ["GET / HTTP/1.1\r\nno header\r\n\r\n", "\u{16}\u{3}\u{1}\r\n\r\n", "PRI * HTTP/7.0\r\n\r\n", &many, &long] {
        // A client that writes more than is read may lose the reply.
        let Some(reply) = page.browser().try_send(bad) else {
            assert_eq!(bad, long);
            continue;
        };
        assert!((400..500).contains(&reply.status), "{}", reply.head);
        assert!(reply.header("content-security-policy").is_some_and(|policy| policy.starts_with("default-src 'none'")), "{}", reply.head);
        assert_eq!((reply.header("cache-control"), reply.body.as_str()), (Some("no-store"), ""), "{}", reply.head);
    }
}

#[test]
fn a_page_that_others_could_reach_needs_names_and_tls_in_front() {
    let world = World::new();
    for (configured, flag) in [("", "0.0.0.0:0"), ("[web]\ntls_in_front = true", "[::]:0")] {
        world.configure(configured);
        let refused = world.run("askbox", &["web", "--listen", flag]);
        assert_eq!(refused.code(), 2, "{configured} {flag}: {refused:?}");
        assert!(refused.stderr.contains("can be reached from other machines"), "{}", refused.stderr);
    }
    let refused = world.refused(2, "askbox web --listen x");
    assert!(refused.contains("--listen: `x` is no address"), "{refused}");
    world.configure("[web]\nhosts = [\"https://box.example\"]");
    assert!(world.refused(5, "askbox web").contains("without https://"));
    world.configure("[web]\nhosts = [\"box.example\"]");
    for command in ["askbox web", "askbox web link", "askbox web --listen 0.0.0.0:0"] {
        let refused = world.refused(5, command);
        assert!(refused.contains("web.hosts: is set without web.tls_in_front") && refused.contains("ssh -L"), "{refused}");
    }
    world.configure("[web]\nlisten = \"unix:here\"");
    assert!(world.refused(5, "askbox web").contains("no absolute path"));
}

#[test]
fn an_agents_run_neither_serves_the_page_nor_signs_a_device_in() {
    let world = World::new();
    for command in ["askbox web", "askbox web link", "askbox web revoke --all"] {
        let said = world.refused(4, &format!("ASKBOX_RUN=w/01a20a0d-7607-7569-868a-fa2ca802a0df/1 {command}"));
        assert!(said.contains("the page is for people"), "{said}");
    }
}

mod promises {
    use super::*;

    #[test]
    fn a_strangers_host_name_is_refused_before_anything_else() {
        let world = World::new();
        world.ok("ask-post", &["-w", "w", "Secret?"]);
        let page = world.serve_page();
        let browser = page.signed_in(&world, "desk");
        let port = browser.port;
        let cookie = browser.cookie.clone().unwrap();
        for (host, path) in [
            ("evil.example", "/"),
            ("evil.example:8347", "/nowhere"),
            ("127.0.0.1.evil.example", "/static/style.css"),
            ("evil.example", "/in/x"),
        ] {
            let reply = browser.send(&format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\nConnection: close\r\n\r\n"));
            assert_eq!(reply.status, 421, "{host} {path}");
            assert!(!reply.body.contains("Secret?"), "{}", reply.body);
        }
        for request in [
            format!("GET http://localhost:{port}/ HTTP/1.1\r\nHost: localhost:{port}\r\nCookie: {cookie}\r\nConnection: close\r\n\r\n"),
            format!("GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nCookie: {cookie}\r\nConnection: close\r\n\r\n"),
            format!("GET / HTTP/1.0\r\nCookie: {cookie}\r\n\r\n"),
        ] {
            assert_eq!(browser.send(&request).status, 421, "{request}");
        }
        // The headers that a server in front writes about the browser change nothing.
        let forwarded = "X-Forwarded-Host: localhost\r\nForwarded: host=localhost\r\nX-Forwarded-For: 127.0.0.1\r\n";
        let request = format!("GET / HTTP/1.1\r\nHost: evil.example\r\n{forwarded}Cookie: {cookie}\r\nConnection: close\r\n\r\n");
        assert_eq!(browser.send(&request).status, 421);
        let request = format!("GET / HTTP/1.1\r\nHost: localhost:{port}\r\n{forwarded}Cookie: {cookie}\r\nConnection: close\r\n\r\n");
        assert_eq!(browser.send(&request).status, 200);
    }

    #[test]
    fn the_check_takes_host_session_origin_and_form_in_order() {
        let world = World::new();
        world.ok("ask-post", &["-w", "w", "Merge?", "-o", "a=A"]);
        let page = world.serve_page();
        let browser = page.signed_in(&world, "desk");
        let path = format!("/q/w/{}", world.round("w"));
        let shown = browser.see(&path);
        let (form, hash) = (shown.hidden("form").unwrap(), shown.hidden("shown").unwrap());
        let good = [("form", form.as_str()), ("shown", &hash), ("a0", "0"), ("act", "send")];
        let bad = [("form", "0".repeat(form.len())), ("shown", hash.clone()), ("a0", "0".into()), ("act", "send".into())];
        let bad: Vec<_> = bad.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let ours = format!("Origin: {}\r\n", browser.origin());
        let stranger = page.browser();
        let wrong_host = |request: String| request.replacen("Host: 127.0.0.1", "Host: evil.example", 1);
        for (status, request) in [
            (421, wrong_host(stranger.form(&path, "Origin: http://evil.example\r\n", &bad))),
            (401, stranger.form(&path, "Origin: http://evil.example\r\n", &bad)),
            (401, stranger.form(&path, &ours, &good)),
            (403, browser.form(&path, "Origin: http://evil.example\r\n", &good)),
            (403, browser.form(&path, "", &good)),
            (403, browser.form(&path, "Origin: null\r\n", &good)),
            (403, browser.form(&path, "Sec-Fetch-Site: cross-site\r\n", &good)),
            (403, browser.form(&path, "Sec-Fetch-Site: same-site\r\n", &good)),
            (403, browser.form(&path, "Origin: http://127.0.0.1:1\r\nSec-Fetch-Site: same-origin\r\n", &good)),
            (403, browser.form(&path, &format!("{ours}Origin: http://evil.example\r\n"), &good)),
            (403, browser.form(&path, &format!("{ours}{ours}"), &good)),
            (403, browser.form(&path, "Sec-Fetch-Site: same-origin\r\nSec-Fetch-Site: cross-site\r\n", &good)),
            (403, browser.form(&path, &ours.replace("http:", "https:"), &good)),
            (403, browser.form(&path, &ours, &bad)),
            (403, browser.form(&path, &ours, &good[1..])),
            (403, browser.form("/nowhere", "", &good)),
            (415, browser.form(&path, &ours, &good).replace("application/x-www-form-urlencoded", "text/plain")),
            (405, browser.form(&path, &ours, &good).replacen("POST", "PUT", 1)),
            (405, browser.form(&path, &ours, &good).replacen("POST", "DELETE", 1)),
        ] {
            let reply = browser.send(&request);
            assert_eq!(reply.status, status, "{request}\n{}", reply.text());
        }
        assert_eq!(world.names("pending"), ["w.json"], "nothing was answered");
        // Each of both says enough.
        let unhurt = browser.send(&browser.form(&path, "Origin: null\r\nSec-Fetch-Site: same-origin\r\n", &good));
        assert_eq!(unhurt.status, 303, "{}", unhurt.text());
    }

    #[test]
    fn every_reply_has_the_headers_that_protect_it() {
        let world = World::new();
        let page = world.serve_page();
        let browser = page.signed_in(&world, "desk");
        for (browser, path) in [
            (&browser, "/"),
            (&browser, "/nowhere"),
            (&browser, "/tree"),
            (&browser, "/done"),
            (&page.browser(), "/"),
            (&page.browser(), "/in/x"),
        ] {
            let reply = browser.get(path);
            let policy = reply.header("content-security-policy").expect(path);
            assert!(
                policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self'") && policy.contains("frame-ancestors 'none'")
            );
            assert!(!policy.contains("unsafe") && !policy.contains('*'), "{policy}");
            for (name, value) in [
                ("cache-control", "no-store"),
                ("referrer-policy", "same-origin"),
                ("x-content-type-options", "nosniff"),
                ("x-frame-options", "DENY"),
            ] {
                assert_eq!(reply.header(name), Some(value), "{path}: {name}");
            }
        }
    }
}
