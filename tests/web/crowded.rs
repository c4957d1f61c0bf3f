//! Many connections at once, from strangers who are not signed in.

use std::io::Read;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::support::{World, quickly, until};

/// The beginning of a request that never goes on.
const HALF: &str = "GET / HTTP/1.1\r\nHost: localhost\r\n";

/// Whether the other side has ended this connection.
fn is_over(stream: &mut TcpStream) -> bool {
    stream.set_nonblocking(true).unwrap();
    match stream.read(&mut [0; 64]) {
        Ok(count) => count == 0,
        Err(e) => e.kind() != std::io::ErrorKind::WouldBlock,
    }
}

#[test]
fn half_requests_of_strangers_keep_nobody_from_the_page() {
    let world = World::new();
    let page = world.serve_page();
    let browser = page.signed_in(&world, "desk");
    let mut open = browser.follow();
    open.hears("text/event-stream");
    let stranger = page.browser();
    // A stranger is sent away after ten seconds, so that by then there is room in any case.
    let (is_last_over, _halves) = quickly("a page beside half requests", Duration::from_secs(9), || {
        let mut halves: Vec<_> = (0..700).map(|_| stranger.open(HALF)).collect();
        // A person comes in at once, and signs in at once.
        browser.see("/");
        page.signed_in(&world, "phone").see("/");
        until("the oldest made room", || is_over(&mut halves[0]));
        (is_over(halves.last_mut().unwrap()), halves)
    });
    assert!(!is_last_over, "the last one is still there");
    // A page that was open before hears what changes.
    world.ok("ask-post", &["-w", "news", "A question?"]);
    open.hears("data: news");
}

#[test]
fn a_stranger_without_a_request_is_sent_away() {
    let world = World::new();
    let page = world.serve_page();
    let browser = page.signed_in(&world, "desk");
    let port = browser.port;
    let cookie = browser.cookie.clone().unwrap();
    let mut known = browser.open(&format!("GET /here HTTP/1.1\r\nHost: localhost:{port}\r\nCookie: {cookie}\r\n\r\n"));
    let mut silent = page.browser().open(HALF);
    let begun = Instant::now();
    assert!(matches!(silent.read(&mut [0; 64]), Ok(0) | Err(_)));
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    let mut reply = [0; 4096];
    assert!(known.read(&mut reply).unwrap() > 0);
    let again = browser.below(&format!("GET /here HTTP/1.1\r\nHost: localhost:{port}\r\nCookie: {cookie}\r\n\r\n"));
    std::io::Write::write_all(&mut known, again.as_bytes()).unwrap();
    assert!(known.read(&mut reply).unwrap() > 0, "its connection is kept");
}

#[test]
fn a_device_with_a_late_request_gets_through_a_flood() {
    let world = World::new();
    let page = world.serve_page();
    let browser = page.signed_in(&world, "desk");
    let port = browser.port;
    let cookie = browser.cookie.clone().unwrap();
    let stranger = page.browser();
    let request = browser.below(&format!("GET /here HTTP/1.1\r\nHost: localhost:{port}\r\nCookie: {cookie}\r\n\r\n"));
    until("a flood within the time that each connection has", || {
        let begun = Instant::now();
        let mut slow = stranger.open("");
        // More than the page keeps of those that have been there for a while.
        let halves: Vec<_> = (0..300).map(|_| stranger.open(HALF)).collect();
        // They are all taken before this one.
        browser.see("/");
        let in_time = begun.elapsed() < Duration::from_millis(900);
        // Where it has ended, this fails as well.
        let is_told = std::io::Write::write_all(&mut slow, request.as_bytes()).is_ok() && matches!(slow.read(&mut [0; 4096]), Ok(1..));
        drop(halves);
        assert!(is_told || !in_time, "it was sent away");
        in_time
    });
}

#[test]
fn a_stranger_may_say_little_and_a_device_much() {
    let world = World::new();
    let page = world.serve_page();
    let browser = page.signed_in(&world, "desk");
    world.ok("ask-post", &["-w", "w", "What?"]);
    browser.answer(&world, "w", &[("w0", &"long ".repeat(200_000))]);
    assert_eq!(world.document("answered/w.json")["answer"]["value"].as_str().unwrap().len(), 1_000_000);
    // Without a bound, it would be sent away for its silence, after ten seconds.
    quickly("a stranger is sent away for saying much", Duration::from_secs(9), || {
        let mut stranger = page.browser().open(HALF);
        let _it_may_have_ended_within = std::io::Write::write_all(&mut stranger, &[b'x'; 100_000]);
        assert!(matches!(stranger.read(&mut [0; 64]), Ok(0) | Err(_)));
    });
}
