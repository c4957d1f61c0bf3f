//! Links, devices, signing out.

use std::os::unix::fs::PermissionsExt;

use sha2::Digest;

use crate::support::{Browser, Page, Signal, World, signal, until};

#[test]
fn of_many_that_use_one_link_at_once_one_is_signed_in() {
    let world = World::new();
    let page = world.serve_page();
    let link = world.link_to_page(None);
    let taken = std::sync::atomic::AtomicUsize::new(0);
    crate::support::in_parallel(8, &[(); 8], |()| {
        if page.browser().post(&link, &[("device", "x")]).status == 303 {
            taken.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
    });
    assert_eq!((taken.into_inner(), world.ok("askbox", &["web", "sessions"]).lines().count()), (1, 1));
}

#[test]
fn a_device_that_is_signed_out_hears_nothing_from_then_on() {
    let world = World::new();
    let page = world.serve_page();
    let mut keeps = page.signed_in(&world, "keeps").follow();
    // Without being told, the page looks every 15 seconds.
    let (least, mut devices) = (std::time::Duration::from_secs(4), 0..);
    until("a stream that ends at once", || {
        let device = format!("device-{}", devices.next().expect("a number"));
        let mut stream = page.signed_in(&world, &device).follow();
        stream.hears("text/event-stream");
        world.ok("askbox", &["web", "revoke", &device]);
        let begun = std::time::Instant::now();
        stream.ends();
        begun.elapsed() < least
    });
    world.ok("ask-post", &["-w", "news", "A question?"]);
    keeps.hears("data: news");
}

#[test]
fn the_file_of_devices_is_private_and_holds_no_secret() {
    let world = World::new();
    let mut page = world.serve_page();
    let (mut browser, link) = (page.signed_in(&world, "desk"), world.link_to_page(None));
    let file = world.config().with_file_name("web-devices.json");
    let written = std::fs::read_to_string(&file).expect("the file");
    let cookie = browser.cookie.clone().expect("a cookie").split_once('=').expect("a value").1.to_owned();
    assert!(!written.contains(&cookie) && !written.contains(link.trim_start_matches("/in/")), "{written}");
    assert_eq!(file.metadata().expect("the file").permissions().mode() & 0o777, 0o600);
    signal(page.process.pid(), Signal::TERM);
    assert!(page.process.wait().success());
    let again: Page = world.serve_page();
    browser.move_to(again.port);
    browser.see("/");
    assert_eq!(world.ok("askbox", &["web", "revoke", "--all"]).lines().count(), 1);
    assert_eq!((browser.get("/").status, browser.get(&link).status), (401, 410));
}

#[test]
fn two_pages_on_one_computer_do_not_sign_each_other_out() {
    let worlds = [World::new(), World::new()];
    let pages = worlds.each_ref().map(World::serve_page);
    let mut browsers = [0, 1].map(|n| pages[n].signed_in(&worlds[n], "desk"));
    // A browser may also send the cookies of other servers at 127.0.0.1.
    let cookies = browsers.each_ref().map(|browser| browser.cookie.clone().expect("a cookie"));
    let names = cookies.each_ref().map(|cookie| cookie.split_once('=').expect("a name").0);
    assert_eq!(names, [0, 1].map(|n| format!("askbox-{}", pages[n].port)));
    for browser in &mut browsers {
        browser.cookie = Some(cookies.join("; "));
        browser.see("/");
    }
    assert_eq!(browsers[0].fill_as_shown(&browsers[0].see("/"), "/out", &[]).status, 200);
    assert_eq!((browsers[0].get("/").status, browsers[1].get("/").status), (401, 200));
}

#[test]
fn a_link_has_the_name_under_which_browsers_reach_the_page() {
    let world = World::new();
    let begins = |args: &[&str], start: &str| {
        let link = world.ok("askbox", &[&["web", "link"], args].concat());
        assert!(link.starts_with(start), "{args:?}: {link}");
    };
    begins(&[], "http://127.0.0.1:8347/in/");
    begins(&["--url", "http://localhost:9000/"], "http://localhost:9000/in/");
    world.configure("[web]\nhosts = [\"box.example\"]\ntls_in_front = true");
    begins(&["phone"], "https://box.example/in/");
    world.configure("[web]\nlisten = \"unix:/nowhere/s\"");
    assert!(world.refused(2, "askbox web link").contains("has no URL"));
    assert!(world.refused(5, "askbox web link default").contains("stands for an answer that nobody gave"));
}

#[test]
fn a_device_that_was_written_into_the_file_answers_nothing() {
    let world = World::new();
    world.configure(&world.only_signed_answers());
    world.ok("ask-post", &["-w", "w", "Merge?", "-o", "a=A"]);
    let page = world.serve_page();
    let ann = page.signed_in(&world, "desk");
    let file = world.home().join(".config/askbox/web-devices.json");
    let mut book: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    let secret = "e".repeat(43);
    let mut device = book["devices"][0].clone();
    device["sha256"] = serde_json::json!(askbox::mailbox::text::hex(&sha2::Sha256::digest(&secret)));
    book["devices"].as_array_mut().unwrap().push(device);
    std::fs::write(&file, book.to_string()).unwrap();
    let name = ann.cookie.as_deref().and_then(|cookie| cookie.split('=').next()).unwrap();
    let home = askbox_web::gate::Secret::parse(&secret).unwrap().home();
    let eve = Browser { cookie: Some(format!("{name}={secret}")), home, ..page.browser() };
    let path = format!("/q/w/{}", world.round("w"));
    let refused = eve.fill(&path, &[("a0", "0"), ("act", "send")]);
    assert!(refused.status >= 400 && refused.text().contains("was not signed in with the key of this page"), "{refused:?}");
    assert_eq!(world.state("w"), "pending");
    let doctor = world.run("askbox", &["doctor"]).stdout;
    assert!(doctor.contains("was not signed in with the key of answers.sign_key"), "{doctor}");
    ann.answer(&world, "w", &[("a0", "0")]);
    assert!(world.document("answered/w.json")["answer"]["signature"].is_string());
}

#[test]
fn a_device_stays_signed_in_while_it_is_used_and_no_longer() {
    let world = World::new();
    world.make_mailbox();
    let page = world.serve_page();
    let desk = page.signed_in(&world, "desk");
    let file = world.config().with_file_name("web-devices.json");
    let book = || world.json(&file);
    let set_back = |hours: i64| {
        let mut book = book();
        let at = chrono::Utc::now() - chrono::TimeDelta::hours(hours);
        book["devices"][0]["seen_at"] = at.to_rfc3339_opts(chrono::SecondsFormat::Millis, true).into();
        std::fs::write(&file, book.to_string()).unwrap();
    };
    set_back(29 * 24);
    let before = book();
    // Neither a hidden page nor a stream is a use.
    let cookie = desk.cookie.clone().expect("a cookie");
    let hidden =
        format!("GET / HTTP/1.1\r\nHost: localhost:{}\r\nCookie: {cookie}\r\nAskbox-Hidden: 1\r\nConnection: close\r\n\r\n", desk.port);
    assert_eq!(desk.send(&hidden).header("set-cookie"), None);
    desk.follow().hears("text/event-stream");
    assert_eq!(book(), before);
    // A page that is looked at is, and the browser keeps its cookie as long.
    let seen = desk.see("/");
    let given = seen.header("set-cookie").expect("the cookie again");
    assert!(given.starts_with(&format!("{cookie}; ")) && given.contains("; Max-Age=2592000; HttpOnly; SameSite=Strict"), "{given}");
    assert_ne!(book(), before);
    assert_eq!(desk.see("/").header("set-cookie"), None, "once an hour is enough");
    set_back(31 * 24);
    assert_eq!(desk.get("/").status, 401);
}

mod promises {
    use super::*;

    #[test]
    fn a_link_shows_a_button_and_signs_in_once() {
        let world = World::new();
        let page = world.serve_page();
        let (ann, eve) = (page.browser(), page.browser());
        let link = world.link_to_page(None);
        // Whatever shows previews of links may open it any number of times.
        for _ in 0..3 {
            let shown = eve.see(&link);
            assert!(shown.text().contains("Sign this device in") && shown.header("set-cookie").is_none(), "{shown:?}");
        }
        let foreign = eve.send(&eve.form(&link, "Origin: http://evil.example\r\n", &[("device", "eve")]));
        assert_eq!(foreign.status, 403);
        let nameless = ann.post(&link, &[("device", " ")]);
        assert_eq!((nameless.status, nameless.header("set-cookie")), (422, None), "a name is asked for again");
        let signed_in = ann.post(&link, &[("device", "ann's phone")]);
        let cookie = signed_in.header("set-cookie").expect("a cookie");
        assert_eq!(signed_in.status, 303);
        assert!(cookie.contains("; HttpOnly") && cookie.contains("; SameSite=Strict") && cookie.contains("; Path=/d/"), "{cookie}");
        for stolen in [eve.post(&link, &[("device", "eve")]), eve.get(&link)] {
            assert_eq!((stolen.status, stolen.header("set-cookie")), (410, None), "{}", stolen.text());
        }
        let sessions = world.ok("askbox", &["web", "sessions"]);
        assert!(sessions.starts_with("ann's phone  since ") && sessions.lines().count() == 1, "{sessions}");
    }

    #[test]
    fn only_a_signed_in_device_sees_anything() {
        let world = World::new();
        world.ok("ask-post", &["-w", "secret-plan", "Merge?"]);
        let page = world.serve_page();
        let stranger = page.browser();
        for path in ["/", "/done", "/tree", "/run/secret-plan", "/q/secret-plan", "/events", "/here", "/nowhere"] {
            let reply = stranger.get(path);
            assert_eq!(reply.status, 401, "{path}");
            assert!(!reply.body.contains("secret-plan") || path.contains("secret-plan"), "{path}: {}", reply.body);
        }
        let (desk, phone) = (page.signed_in(&world, "desk"), page.signed_in(&world, "phone"));
        assert!(desk.see("/").text().contains("Merge?"));
        let mut stream = phone.follow();
        stream.hears("text/event-stream");
        assert_eq!(world.ok("askbox", &["web", "revoke", "phone"]), "phone: signed out\n");
        assert_eq!((phone.get("/").status, desk.get("/").status), (401, 200));
        stream.ends();
        assert_eq!(desk.fill_as_shown(&desk.see("/"), "/out", &[]).status, 200);
        assert_eq!(desk.get("/").status, 401);
        assert!(world.run("askbox", &["web", "sessions"]).stderr.contains("no device is signed in"));
        assert!(world.refused(3, "askbox web revoke phone").contains("no device with the name phone"));
    }
}
