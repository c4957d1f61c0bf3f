//! A phone, by ntfy: a scripted server speaks the documented wire format, because ntfy's own is not to be had without its network.

use serde_json::Value;

use super::{Server, lines};
use crate::support::needs;
use crate::support::{World, until};

struct Phone {
    place: World,
    world: World,
    server: Server,
}

impl Phone {
    fn new(agent: &str) -> Self {
        let place = World::new();
        let server = Server::start(&place, "ntfy.py", &[]);
        let world = World::stepping(agent);
        std::fs::write(world.path("token"), "tk_secret\n").expect("a token");
        let url = format!("http://127.0.0.1:{}", server.port);
        let target = format!(
            "ntfy = \"{url}/cards\"\nntfy_replies = \"{url}/replies\"\ntoken_file = \"{}\"\nperson = \"ann\"\nopen = \"https://box.example/q/{{workflow}}/{{question_id}}\"",
            world.path("token").display()
        );
        world.configure(&format!("[notify]\ngrace = \"0s\"\n[target.phone]\n{target}\n"));
        world.make_mailbox();
        Self { place, world, server }
    }

    /// The messages that arrived on the phone.
    fn shows(&self) -> Vec<Value> {
        lines(&self.place, "published")
    }

    /// The message with this title, once it has arrived.
    fn shows_title(&self, title: &str) -> Value {
        until(&format!("the phone shows {title}"), || {
            self.shows().into_iter().find(|m| m["title"].as_str().is_some_and(|t| t.contains(title)))
        })
    }

    /// Presses a button: does what the phone would do.
    fn press(&self, action: &Value) {
        assert_eq!((action["action"].as_str(), action["method"].as_str()), (Some("http"), Some("POST")));
        self.publish(action["url"].as_str().expect("a URL"), action["body"].as_str().expect("a body"));
    }

    fn publish(&self, url: &str, body: &str) {
        let out = crate::support::output(self.world.any_command("curl").args(["-sS", "--fail", "--data-raw", body, url]));
        assert_eq!(out.code(), 0, "{}", out.words());
    }

    fn replies(&self) -> String {
        format!("http://127.0.0.1:{}/replies", self.server.port)
    }
}

#[test]
fn a_button_on_the_phone_answers_and_the_card_says_the_rest() {
    needs!("python3", "curl");
    let phone = Phone::new("work");
    let _watcher = phone.world.watch();
    phone.world.ok("ask-post", &["-w", "docs", "Merge?", "-o", "merge=Merge them", "-o", "keep=Keep both"]);
    let card = phone.shows_title("docs asks");
    assert!(card["topic"] == "cards" && card["message"].as_str().is_some_and(|text| text.starts_with("Merge? · ")), "{card:#}");
    let question = phone.world.document("pending/docs.json")["question_id"].as_str().expect("an id").to_owned();
    assert_eq!(card["click"], format!("https://box.example/q/docs/{question}"));
    assert_eq!(card["authorization"], "Bearer tk_secret");
    let labels: Vec<_> = card["actions"].as_array().expect("buttons").iter().map(|a| a["label"].as_str().unwrap_or_default()).collect();
    assert_eq!(labels, ["merge", "keep"]);
    phone.press(&card["actions"][1]);
    let closed = phone.world.closed("docs", "delivered", 1).remove(0);
    let answer = &closed["answer"];
    assert_eq!((answer["value"].as_str(), answer["by"].as_str(), answer["channel"].as_str()), (Some("keep"), Some("ann"), Some("ntfy")));
    assert!(phone.world.only_told().contains("keep"), "{}", phone.world.only_told());
    for title in ["docs: answered by ann through ntfy", "docs: delivered"] {
        let update = phone.shows_title(title);
        assert_eq!(update["sequence_id"], card["sequence_id"], "it takes the place of the card");
        assert!(update["actions"].is_null() && update["priority"] == 2, "{update:#}");
    }
}

#[test]
fn where_answers_are_signed_the_phone_has_no_buttons() {
    needs!("python3", "curl");
    let phone = Phone::new("work");
    let config = std::fs::read_to_string(phone.world.config()).expect("a configuration");
    std::fs::write(phone.world.config(), format!("{config}{}", phone.world.only_signed_answers())).expect("a configuration");
    let _watcher = phone.world.watch();
    phone.world.ok("ask-post", &["-w", "docs", "Merge?", "-o", "merge=", "-o", "keep=", "--timeout", "30s", "--default", "keep"]);
    let card = phone.shows_title("docs asks");
    assert!(card["actions"].is_null(), "{card:#}");
    let text = card["message"].as_str().expect("a text");
    assert!(text.ends_with("To answer: on the page, or ask-answer docs"), "{text}");
    phone.shows_title("docs is overdue: its asker's default decides nothing, because answers must be signed");
    phone.world.forge("docs", "keep");
    phone.shows_title("docs asks again: an answer was refused: its signature is not that of a key in answers.trusted_keys");
    phone.world.ok("ask-answer", &["docs", "merge"]);
    assert_eq!(phone.world.closed("docs", "delivered", 1)[0]["answer"]["value"], "merge");
}

#[test]
fn late_double_and_forged_replies_change_nothing() {
    needs!("python3", "curl");
    let phone = Phone::new("work");
    let watcher = phone.world.watch();
    phone.world.ok("ask-post", &["-w", "docs", "Merge?", "-o", "merge=", "-o", "keep="]);
    phone.world.ok("ask-post", &["-w", "other", "Merge?", "-o", "merge=", "-o", "keep="]);
    let (card, other) = (phone.shows_title("docs asks"), phone.shows_title("other asks"));
    // The code of one option with the key of the other one, then the code of another question, no code, another person's words, and
    // nonsense.
    let body = |card: &Value, n: usize| card["actions"][n]["body"].as_str().expect("a body").to_owned();
    let id = |body: &str| body.split(' ').nth(2).expect("an id").to_owned();
    for forged in [
        body(&card, 0).replace(" merge", " keep"),
        body(&other, 0).replace("other", "docs").replace(&id(&body(&other, 0)), &id(&body(&card, 0))),
        format!("askbox docs {} 00 merge", id(&body(&card, 0))),
        format!("askbox docs {} {} merge", id(&body(&card, 0)), "0".repeat(32)),
    ] {
        phone.publish(&phone.replies(), &forged);
    }
    phone.publish(&phone.replies(), "hello");
    phone.publish(&phone.replies(), "{\"event\": \"message\"}");
    watcher.says_times("a reply changed nothing", 4);
    assert!(phone.world.in_mailbox("pending/docs.json").exists() && phone.world.in_mailbox("pending/other.json").exists());
    // Somebody at a terminal is first.
    phone.world.ok("ask-answer", &["docs", "merge", "--by", "bob"]);
    phone.press(&card["actions"][1]);
    let late = until("the person is told", || {
        phone.shows().into_iter().rfind(|m| {
            m["message"].as_str().is_some_and(|m| m.starts_with("It was answered by bob through ask-answer (") && m.ends_with(" before."))
        })
    });
    assert_eq!(late["title"], "docs: your button changed nothing");
    // A second person presses the other button of the same card.
    phone.press(&card["actions"][0]);
    let told = || phone.shows().iter().filter(|m| m["title"] == "docs: your button changed nothing").count();
    until("both are told", || told() == 2);
    let closed = phone.world.closed("docs", "delivered", 1).remove(0);
    assert_eq!(closed["answer"]["value"], "merge");
    // The same button twice.
    phone.press(&other["actions"][0]);
    phone.world.closed("other", "delivered", 1);
    phone.press(&other["actions"][0]);
    until("the second is told", || phone.shows().iter().any(|m| m["title"] == "other: your button changed nothing"));
    assert_eq!(phone.world.launches_of("other").len() + phone.world.launches_of("docs").len(), 0, "the agents are the stepping ones");
    assert_eq!(phone.world.logged("shown "), 2);
}

#[test]
fn a_button_pressed_without_a_watcher_counts_with_the_next() {
    needs!("python3", "curl");
    let phone = Phone::new("work");
    let watcher = phone.world.watch();
    phone.world.ok("ask-post", &["-w", "docs", "Merge?", "-o", "merge=", "-o", "keep="]);
    let card = phone.shows_title("docs asks");
    until("the card is known to be shown", || {
        let records = super::records(&phone.world, "phone");
        records.iter().any(|name| phone.world.document(&format!("news/phone/{name}"))["events"][0]["state"] == "sent")
    });
    watcher.kill();
    phone.press(&card["actions"][0]);
    let _watcher = phone.world.watch();
    assert_eq!(phone.world.closed("docs", "delivered", 1)[0]["answer"]["value"], "merge");
    // The card was not shown a second time.
    assert_eq!(phone.shows().iter().filter(|m| m["title"] == "docs asks").count(), 1);
}

#[test]
fn what_a_button_cannot_answer_has_none() {
    needs!("python3", "curl");
    let phone = Phone::new("work");
    let _watcher = phone.world.watch();
    let world = &phone.world;
    world.ok("ask-post", &["-w", "text", "Which name?"]);
    world.ok("ask-post", &["-w", "four", "Which?", "-o", "a=", "-o", "b=", "-o", "c=", "-o", "d="]);
    world.ok("ask-post", &["-w", "several", "Which?", "--type", "multi_choice", "-o", "a=", "-o", "b="]);
    world.ok("ask-post", &["-w", "yes", "Go?", "--type", "yes_no"]);
    for workflow in ["text", "four", "several"] {
        assert!(phone.shows_title(&format!("{workflow} asks"))["actions"].is_null(), "{workflow}");
    }
    let go = phone.shows_title("yes asks");
    phone.press(&go["actions"][0]);
    assert_eq!(world.closed("yes", "delivered", 1)[0]["answer"]["value"], "yes");
}

#[test]
fn no_request_is_left_when_the_watcher_is_killed() {
    needs!("python3", "curl");
    let phone = Phone::new("work");
    let watcher = phone.world.watch();
    phone.world.ok("ask-post", &["-w", "docs", "Merge?", "-o", "merge=", "-o", "keep="]);
    phone.shows_title("docs asks");
    until("the replies are followed", || !phone.world.processes("curl").is_empty());
    watcher.kill();
    until("nothing is left", || phone.world.processes("curl").is_empty());
}

#[test]
fn the_topic_is_followed_only_while_a_card_waits() {
    needs!("python3", "curl");
    let phone = Phone::new("work");
    let watcher = phone.world.watch();
    let followers = || phone.world.processes("curl").len();
    assert_eq!(followers(), 0);
    phone.world.ok("ask-post", &["-w", "docs", "Merge?", "-o", "merge=", "-o", "keep="]);
    let card = phone.shows_title("docs asks");
    until("the replies are followed", || !lines(&phone.place, "followed").is_empty());
    // The server stays: another test might take its port.
    let cut = phone.place.path("server/cut");
    std::fs::write(&cut, "").expect("a file");
    watcher.says("the stream of replies ended");
    std::fs::remove_file(cut).expect("it is there");
    phone.press(&card["actions"][0]);
    phone.world.closed("docs", "delivered", 1);
    until("nobody follows any more", || phone.world.processes("curl").is_empty());
}

#[test]
fn a_flood_of_forged_replies_starts_no_programs() {
    needs!("python3", "curl");
    let phone = Phone::new("work");
    let watcher = phone.world.watch();
    phone.world.ok("ask-post", &["-w", "docs", "Merge?", "-o", "merge=", "-o", "keep="]);
    phone.world.ok("ask-post", &["-w", "open", "Merge?", "-o", "merge=", "-o", "keep="]);
    let (card, open) = (phone.shows_title("docs asks"), phone.shows_title("open asks"));
    phone.world.ok("ask-answer", &["docs", "merge", "--by", "bob"]);
    // A true button, too late, again and again.
    (0..6).for_each(|_| phone.press(&card["actions"][1]));
    watcher.says_times("a reply changed nothing", 6);
    phone.shows_title("docs: your button changed nothing");
    // Somebody who knows the topic. Each message is nearly as long as ntfy lets it be.
    let body = open["actions"][0]["body"].as_str().expect("a body");
    let id = body.split(' ').nth(2).expect("an id");
    let message = format!("askbox open {id} {} {}", "0".repeat(32), "x".repeat(3000));
    let flood: String = (0..50_000)
        .map(|n| serde_json::json!({"topic": "replies", "message": message, "id": format!("f{n}"), "time": 4e9 as u64, "event": "message"}))
        .fold(String::new(), |all, line| all + &line.to_string() + "\n");
    let store = phone.place.path("server/messages");
    let before = std::fs::read_to_string(&store).expect("what was said");
    std::fs::write(phone.place.path("server/flooded"), before + &flood).expect("a file");
    std::fs::rename(phone.place.path("server/flooded"), &store).expect("in its place");
    let read = || std::fs::read_to_string(phone.world.in_mailbox("news/phone.since")).ok()?.strip_prefix('f')?.parse::<u32>().ok();
    until("a thousand of them are read", || read().is_some_and(|n| n >= 1000));
    let memory = std::fs::read_to_string(format!("/proc/{}/status", watcher.process.pid())).expect("it runs");
    let kib = memory.lines().find_map(|l| l.strip_prefix("RssAnon:")?.trim().strip_suffix(" kB")?.parse::<u32>().ok()).expect("its memory");
    // Not counted are the pages of the program file, of which a debug build has many.
    assert!(kib < 20 << 10, "{kib} KiB");
    assert!(phone.world.processes("curl").len() <= 5, "{:?}", phone.world.processes("curl"));
    let told = |title: &str| phone.shows().iter().filter(|m| m["title"].as_str().is_some_and(|t| t.contains(title))).count();
    assert_eq!((told("docs: your button changed nothing"), told("open: your button")), (1, 0));
    assert!(phone.world.in_mailbox("pending/open.json").exists());
}

mod promises {
    use super::*;

    #[test]
    fn a_too_long_line_is_passed_over_and_the_next_press_counts() {
        needs!("python3", "curl");
        let phone = Phone::new("work");
        let watcher = phone.world.watch();
        phone.world.ok("ask-post", &["-w", "docs", "Merge?", "-o", "merge=", "-o", "keep="]);
        let card = phone.shows_title("docs asks");
        // As JSON, each of these characters takes six bytes.
        phone.publish(&phone.replies(), &"\u{1}".repeat(20_000));
        phone.publish(&phone.replies(), &"x".repeat(100_000));
        phone.press(&card["actions"][1]);
        assert_eq!(phone.world.closed("docs", "delivered", 1)[0]["answer"]["value"], "keep");
        assert_eq!(watcher.said("the stream of replies ended"), [] as [String; 0]);
    }
}
