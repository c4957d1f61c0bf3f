//! A webhook, heard by an independent receiver.

use super::{Server, lines};
use crate::support::needs;
use crate::support::{World, until};

fn world_with_webhook(port: u16, secret: &str) -> World {
    let world = World::stepping("work");
    std::fs::write(world.path("secret"), secret).expect("a secret");
    let target = format!("webhook = \"http://127.0.0.1:{port}/hook\"\nsecret_file = \"{}\"", world.path("secret").display());
    world.configure(&format!("[notify]\ngrace = \"0s\"\n[target.hook]\n{target}\n"));
    world.make_mailbox();
    world
}

#[test]
fn a_refused_webhook_is_told_again_with_the_same_id() {
    needs!("python3", "curl");
    let place = World::new();
    let server = Server::start(&place, "receiver.py", &["s"]);
    let world = world_with_webhook(server.port, "another secret");
    std::fs::write(place.path("server/fails"), "").expect("a file");
    let watcher = world.watch();
    world.ok("ask-post", &["-w", "docs", "Merge?"]);
    watcher.says("target hook: curl failed: curl: (22) The requested URL returned error: 503");
    std::fs::remove_file(place.path("server/fails")).expect("it is there");
    let heard = until("it is told again", || Some(lines(&place, "received")).filter(|heard| heard.len() >= 2));
    assert!(heard.iter().all(|request| request["id"] == heard[0]["id"]), "{heard:#?}");
    assert_eq!(heard[0]["signed"], false, "signed with another secret");
}

#[test]
fn without_its_secret_no_request_is_sent_unsigned() {
    needs!("python3", "curl");
    let place = World::new();
    let server = Server::start(&place, "receiver.py", &["s"]);
    let world = world_with_webhook(server.port, "");
    let watcher = world.watch();
    world.ok("ask-post", &["-w", "docs", "Merge?"]);
    watcher.says("target hook:");
    assert!(watcher.log().contains("holds no secret"), "{}", watcher.log());
    assert_eq!(lines(&place, "received").len(), 0);
}

mod promises {
    use super::*;

    #[test]
    fn a_webhook_is_signed_for_an_independent_receiver() {
        needs!("python3", "curl");
        let place = World::new();
        let server = Server::start(&place, "receiver.py", &["a shared secret"]);
        let world = world_with_webhook(server.port, "a shared secret\n");
        let _watcher = world.watch();
        // Words of an agent cannot become a header, another option, or another request.
        world.ok("ask-post", &["-w", "docs", "Merge \"it\"?\r\nurl = \"http://127.0.0.1:1/\"\n\\ ü"]);
        // A question that is answered before anybody hears of it is not told.
        until("the question is heard of", || lines(&place, "received").len() == 1);
        world.ok("ask-answer", &["docs", "yes"]);
        let heard = until("the rest is heard", || Some(lines(&place, "received")).filter(|heard| heard.len() >= 3));
        for request in &heard {
            assert_eq!((request["signed"].as_bool(), request["path"].as_str()), (Some(true), Some("/hook")), "{request:#}");
            assert_eq!(request["type"], "application/json");
            assert_eq!(request["id"], request["body"]["id"]);
        }
        let events: Vec<_> = heard.iter().map(|request| request["body"]["event"].as_str().unwrap_or_default()).collect();
        assert_eq!(events, ["asked", "answered", "delivered"]);
        assert_eq!(heard[0]["body"]["question"], "Merge \"it\"?  url = \"http://127.0.0.1:1/\" \\ ü");
    }
}
