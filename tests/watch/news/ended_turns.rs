//! How far a person's prompt to a session has come: told once, and not if the person has seen it on the session's page.

use std::fs;

use askbox::mailbox::Mailbox;
use askbox::mailbox::documents::fields::through::Through;
use askbox::mailbox::prompts::{self, Agent, Prompt, Reached};
use askbox::mailbox::time;
use askbox::mailbox::who::caller::{Below, Caller};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{records, told, words, world_with_desk};
use crate::support::{World, until};

const ID: &str = "5a1e0c5e-0000-4000-8000-000000000001";
const OPEN: &str = "open = \"https://box.example/q/{workflow}/{question_id}\"";

fn mailbox(world: &World) -> Mailbox {
    Mailbox::open(world.mailbox()).unwrap()
}

/// A prompt from Ann's phone that was sent.
fn sent(world: &World, words: &str) -> (Uuid, Prompt) {
    let mailbox = mailbox(world);
    let (id, person) = (Uuid::new_v4(), Caller::new("ann's phone", "web", Through::Web, Below::NoAgent).unwrap());
    let prompt = Prompt { title: "shop-7f".into(), ..Prompt::new(Agent::Codex, ID, words.into(), "ann's phone") };
    prompts::keep(&mailbox, &person, id, &prompt).unwrap();
    assert!(prompts::take(&mailbox, id).unwrap());
    (id, Prompt { sent_at: Some(time::now()), ..prompt })
}

/// Its sender notes how far it has come.
fn comes(world: &World, (id, prompt): &(Uuid, Prompt), reached: Reached, why: &str) {
    prompts::note(&mailbox(world), *id, &Prompt { reached, why: why.into(), ..prompt.clone() }).unwrap();
}

#[test]
fn an_end_that_the_person_has_seen_is_not_told() {
    let world = world_with_desk("work", "[notify]\ngrace = \"1h\"\npresent = \"0s\"");
    let folder = world.home().join(".claude/projects/-work");
    fs::create_dir_all(&folder).unwrap();
    world.put(
        folder.join(format!("{ID}.jsonl")),
        "{\"type\": \"user\", \"uuid\": \"1\", \"message\": {\"content\": \"Fix the prices.\"}}\n",
    );
    let (prompt, path, watcher) = (sent(&world, "Go on."), format!("/session/{ID}"), world.watch());
    comes(&world, &prompt, Reached::Answered, "");
    until("it would be told", || records(&world, "desk").len() == 1);
    let page = world.serve_page();
    let [phone, desk] = ["ann's phone", "desk"].map(|device| page.signed_in(&world, device));
    let is_news = || prompts::news(&mailbox(&world)).next().is_some();
    let looks = |browser: &crate::support::Browser, how: &str| {
        let (cookie, port) = (browser.cookie.as_deref().unwrap(), browser.port);
        let home = &browser.home;
        let head =
            format!("GET {home}{path} HTTP/1.1\r\nHost: localhost:{port}\r\nCookie: {cookie}\r\n{how}: 1\r\nConnection: close\r\n\r\n");
        let reply = browser.send(&head);
        assert!(reply.status == 200 && reply.text().contains("answered"), "{reply:?}");
    };
    looks(&phone, "Askbox-Hidden");
    looks(&desk, "Askbox-Again");
    assert!(is_news(), "a hidden page, and one that is open elsewhere, may have nobody in front of them");
    looks(&phone, "Askbox-Again");
    assert!(!is_news(), "the phone shows it");
    // What comes later is news again.
    comes(&world, &prompt, Reached::Refused, "its inbox is full");
    assert!(is_news());
    desk.see(&path);
    assert!(!is_news());
    // The watcher is killed before it hears of that.
    watcher.kill();
    world.reconfigure("grace = \"1h\"", "grace = \"0s\"");
    let _watcher = world.watch();
    world.ok("ask-post", &["-w", "docs", "Merge?"]);
    until("the question is told", || words(&world) == ["asked docs"]);
    assert_eq!(records(&world, "desk").len(), 1);
}

#[test]
fn only_targets_that_want_ended_turns_are_told_of_them() {
    for (more, is_told) in [
        ("live = \"only\"", true),
        ("live = \"never\"", false),
        ("events = [\"asked\", \"not_taken\"]", false),
        ("events = [\"asked\", \"turn_ended\"]", true),
    ] {
        let world = world_with_desk("work", "[notify]\ngrace = \"0s\"");
        world.reconfigure("[target.desk]", &format!("[target.desk]\n{more}"));
        let _watcher = world.watch();
        comes(&world, &sent(&world, "Go on."), Reached::Answered, "");
        if is_told {
            until("it is told", || words(&world) == ["turn_ended"]);
        } else {
            world.ok("ask-post", &["-w", "docs", "Merge?"]);
            until("the question is told", || words(&world) == ["asked docs"]);
        }
    }
}

mod promises {
    use super::*;

    #[test]
    fn the_end_of_a_prompt_is_told_once() {
        let world = world_with_desk("work", "[notify]\ngrace = \"0s\"");
        world.reconfigure("[target.desk]", &format!("[target.desk]\n{OPEN}"));
        let watcher = world.watch();
        let prompt = sent(&world, &format!("Go on.\u{1b}[2J {}", "And on.".repeat(40)));
        comes(&world, &prompt, Reached::TakenUp, "");
        // A stop is no such news.
        let stop = sent(&world, "");
        comes(&world, &(stop.0, Prompt { stops: true, ..stop.1 }), Reached::NotArrived, "no turn was at work");
        comes(&world, &prompt, Reached::Held, "parity");
        until("it is told", || words(&world) == ["not_taken"]);
        comes(&world, &prompt, Reached::TakenUp, "");
        comes(&world, &prompt, Reached::Answered, "");
        until("its end is told", || words(&world) == ["not_taken", "turn_ended"]);
        let all = told(&world);
        assert_eq!(all[0]["title"], "shop-7f: your prompt waits at its terminal: parity");
        let news = &all[1];
        let of = |name: &str| news[name].as_str().unwrap_or_default();
        assert_eq!(["title", "program", "session_id", "reached"].map(of), ["shop-7f: its turn has ended", "codex", ID, "answered"]);
        assert!(of("text").starts_with("Go on.") && of("text").len() < 130 && !of("text").contains('\u{1b}'), "{news}");
        assert_eq!(news["open"], json!(format!("https://box.example/session/{ID}")));
        assert!(news["workflow_id"].is_null() && all[0]["id"] != news["id"], "{news}");
        // A watcher that dies while it tells would tell it once more, with the same id.
        let events = |name: &String| world.document(&format!("news/desk/{name}"))["events"].as_array().cloned().unwrap_or_default();
        let is_sent = |event: &Value| event["event"] == "turn_ended" && event["state"] == "sent";
        until("it is on record", || records(&world, "desk").iter().flat_map(events).any(|event| is_sent(&event)));
        watcher.kill();
        let _watcher = world.watch();
        comes(&world, &sent(&world, "And the discounts?"), Reached::Answered, "its turn has failed");
        until("the next one is told", || words(&world).len() == 3);
        assert_eq!(told(&world)[2]["title"], "shop-7f: its turn has failed");
        fs::remove_dir_all(world.in_mailbox("prompts")).unwrap();
        world.ok("ask-post", &["-w", "docs", "Merge?"]);
        until("nothing else is on record", || records(&world, "desk").len() == 1);
        assert_eq!(words(&world).iter().filter(|word| *word == "turn_ended").count(), 2);
    }
}
