//! Other servers on the page's host: a browser sends a cookie to every port of a host, so a session must not be found by its host alone.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::json;

use crate::support::{Browser, World, needs};
use crate::web::browsers;

/// A server of an agent. It keeps what it is sent, answers the question at `path` with the request's cookies if it can, and sets a
/// cookie of the page's name.
fn preview(page: Browser, path: String, listener: TcpListener) -> Arc<Mutex<String>> {
    let heard = Arc::new(Mutex::new(String::new()));
    let hears = Arc::clone(&heard);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let head = head_of(&stream);
            let value = |name: &str| Some(head.lines().find_map(|line| line.strip_prefix(name))?.to_owned());
            let thief = Browser { cookie: value("Cookie: "), program: value("User-Agent: ").unwrap_or_default(), ..page.clone() };
            let shown = thief.get(&path);
            thief.send(&thief.form_as_shown(&shown, &path, &[("a0", "0"), ("act", "send")]));
            hears.lock().unwrap().push_str(&head);
            let cookies = format!("Set-Cookie: askbox-{}={}; Path=/\r\n", page.port, "e".repeat(43));
            let _gone = (&stream).write_all(format!("HTTP/1.1 200 OK\r\n{cookies}Connection: close\r\n\r\npreview").as_bytes());
        }
    });
    heard
}

fn head_of(mut stream: &TcpStream) -> String {
    let (mut head, mut bytes) = (Vec::new(), [0; 4096]);
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        match stream.read(&mut bytes) {
            Ok(count @ 1..) => head.extend(&bytes[..count]),
            _ => break,
        }
    }
    String::from_utf8_lossy(&head).replace('\r', "")
}

#[test]
fn a_preview_at_another_port_gets_no_session_of_the_page() {
    needs!("chromium", "node");
    let world = World::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let context = format!("[the preview](http://127.0.0.1:{}/)", listener.local_addr().unwrap().port());
    world.ok("ask-post", &["-w", "docs", "Merge?", "--context", &context, "-o", "merge=One section", "-o", "keep=Keep both"]);
    let page = world.serve_page();
    let place = format!("/q/docs/{}", world.round("docs"));
    let heard = preview(page.browser(), place.clone(), listener);
    let given = json!({"base": page.browser().origin(), "link": world.link_to_page(None), "place": place});
    browsers::run(&world, "preview.js", &given);
    let heard = heard.lock().unwrap();
    let first = heard.split("\n\n").next().unwrap();
    assert!(first.starts_with("GET / ") && !first.contains("Referer: ") && !first.contains("Cookie: "), "{first}");
    // The browser answered after the preview, beside the preview's own cookie.
    assert_eq!(world.document("answered/docs.json")["answer"]["value"], "keep", "{heard}");
    assert_eq!(world.audit("docs"), ["posted", "answered"]);
}

#[test]
fn a_session_counts_only_below_the_path_of_its_device() {
    let world = World::new();
    let page = world.serve_page();
    let (ann, bob) = (page.signed_in(&world, "ann"), page.signed_in(&world, "bob"));
    let cookie = ann.cookie.clone().unwrap();
    let name = cookie.split('=').next().unwrap();
    let with = |home: &str, cookie: &str| Browser { home: home.into(), cookie: Some(cookie.into()), ..page.browser() }.get("/").status;
    for home in
        ["", "/d", "/d/", &bob.home, &ann.home[..ann.home.len() - 1], &format!("{}0", ann.home), "/d/0123456789abcdef0123456789abcdef"]
    {
        assert_eq!(with(home, &cookie), 401, "{home}");
    }
    // A server at another port can give a browser cookies of any name, and these come too.
    let tossed = format!("{name}={}; {name}=x; {}", "e".repeat(43), bob.cookie.as_deref().unwrap());
    assert_eq!(with(&ann.home, &tossed), 401);
    assert_eq!((with(&ann.home, &format!("{tossed}; {cookie}")), with(&ann.home, &format!("{cookie}; {tossed}"))), (200, 200));
    let given = page.browser().post(&world.link_to_page(Some("desk")), &[]);
    let home = given.header("location").unwrap();
    assert!(home.strip_prefix("/d/").is_some_and(|secret| secret.len() > 32), "{home}");
    assert!(given.header("set-cookie").unwrap().contains(&format!("; Path={home};")), "{given:?}");
}

#[test]
fn a_link_to_the_pages_own_host_has_a_word_beside_it() {
    let world = World::new();
    world.configure("[web]\nhosts = [\"box.example\"]\ntls_in_front = true");
    let own = ["http://127.0.0.1:18999/", "http://LOCALHOST/x", "http://[::1]:3000", "https://box.example:8443/", "http://127.1/"];
    let context: String = own.iter().chain(&["https://docs.example/"]).map(|url| format!("[see]({url}) <{url}>\n\n")).collect();
    let preview = "**see** [it](http://localhost:3000/)";
    let asked = json!({"question": "Merge?", "context": context, "options": [{"label": "a", "preview": preview}, {"label": "b"}]});
    std::fs::write(world.path("asked.json"), asked.to_string()).unwrap();
    world.ok("ask-post", &["-w", "w", "--file", &world.path("asked.json").to_string_lossy()]);
    let page = world.serve_page();
    let desk = page.signed_in(&world, "desk");
    let shown = desk.see(&format!("/q/w/{}", world.round("w"))).body;
    let links: Vec<_> = shown.split("target=\"_blank\"").skip(1).map(|rest| rest.split_once("</a>").unwrap().1).collect();
    let words = |rest: &str| rest.trim_start().starts_with("<strong>(a server on this page's own host");
    assert_eq!(links.len(), 2 * own.len() + 3, "{shown}");
    assert_eq!(links.iter().map(|rest| words(rest)).collect::<Vec<_>>(), [vec![true; 10], vec![false; 2], vec![true]].concat(), "{shown}");
}

#[test]
fn a_session_in_another_browser_reads_and_does_not_decide() {
    let chrome =
        |version: &str| format!("Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{version} Safari/537.36");
    let world = World::new();
    world.ok("ask-post", &["-w", "w", "Merge?", "-o", "a=A"]);
    let page = world.serve_page();
    let ann = Browser { program: chrome("120.0.0.0"), ..page.browser() }.signed_in(&world, "ann's desk");
    let path = format!("/q/w/{}", world.round("w"));
    for program in ["", "curl/8.5.0", "Mozilla/5.0 (X11; Linux x86_64; rv:109.0) Gecko/20100101 Firefox/115.0"] {
        let eve = Browser { program: program.into(), ..ann.clone() };
        for (path, fields) in [(path.as_str(), [("a0", "0"), ("act", "send")]), ("/decline", [("these", &path[3..]), ("act", "decline")])] {
            let refused = eve.fill_as_shown(&eve.see(&format!("/q/w/{}", world.round("w"))), path, &fields);
            assert_eq!(refused.status, 403, "{program} {path}");
            assert!(refused.text().contains("another browser") && refused.text().contains("askbox web link"), "{}", refused.text());
        }
    }
    assert_eq!(world.audit("w"), ["posted"]);
    // An update of the browser is no other browser.
    Browser { program: chrome("131.0.6778.2"), ..ann.clone() }.answer(&world, "w", &[("a0", "0")]);
    let elsewhere = Browser { program: "curl/8.5.0".into(), ..ann };
    assert_eq!(elsewhere.fill_as_shown(&elsewhere.see("/"), "/out", &[]).status, 200);
}
