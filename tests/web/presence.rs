//! A page that is visible is a person who sees new questions: news of them wait.

use askbox::mailbox::Mailbox;
use askbox::mailbox::who::presence;

use crate::support::{World, until};

#[test]
fn a_visible_page_counts_as_a_person_and_a_hidden_one_does_not() {
    let world = World::new();
    world.make_mailbox();
    let mailbox = Mailbox::open(world.mailbox()).expect("a mailbox");
    let page = world.serve_page();
    let browser = page.signed_in(&world, "desk");
    assert!(!presence::any_person(&mailbox), "to sign in is not to look");
    let port = browser.port;
    let cookie = browser.cookie.as_deref().expect("a cookie");
    let hidden = format!("GET / HTTP/1.1\r\nHost: localhost:{port}\r\nCookie: {cookie}\r\nAskbox-Hidden: 1\r\nConnection: close\r\n\r\n");
    assert_eq!(browser.send(&hidden).status, 200);
    let mut stream = browser.follow();
    stream.hears("text/event-stream");
    assert_eq!(page.browser().get("/").status, 401);
    assert!(!presence::any_person(&mailbox), "neither a hidden page, nor a stream, nor a stranger is a person who looks");
    assert_eq!(browser.see("/here").body, "0");
    until("the person is there", || presence::any_person(&mailbox));
    drop(page);
    until("the person is gone with the server", || !presence::any_person(&mailbox));
}
