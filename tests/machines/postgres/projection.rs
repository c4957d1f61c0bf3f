//! The database's view of a mailbox.

use super::cluster::Database;
use super::host::{Host, asked, laptop};
use super::hub::hub;
use crate::support::{World, needs, until};

#[test]
fn a_host_waits_for_its_mailbox_and_for_its_return() {
    needs!("postgres");
    let database = Database::new();
    let host = Host { world: World::stepping("work"), name: "laptop" };
    host.configure(&database, "200ms");
    std::fs::remove_dir_all(host.world.mailbox()).ok();
    let _sync = host.serve();
    host.says("waiting for the mailbox");
    let is_known = |workflow: &str| {
        let query = format!("SELECT 'yes' FROM askbox.question WHERE workflow_id = '{workflow}'");
        until("the database knows it", || database.value(&query).is_some());
    };
    host.ask("first");
    is_known("first");
    let away = host.world.path("away");
    std::fs::rename(host.world.mailbox(), &away).unwrap();
    until("it waits again", || host.log().matches("waiting for the mailbox").count() == 2);
    std::fs::rename(&away, host.world.mailbox()).unwrap();
    host.ask("second");
    is_known("second");
}

#[test]
fn an_idle_host_with_very_many_questions_rests() {
    needs!("postgres");
    let (database, host, _ann) = laptop();
    // A look at so many files takes longer than the time until the next poll.
    host.configure(&database, "10ms");
    for n in 0..8000 {
        let question = format!(r#"{{"workflow_id":"w{n}","question_id":"01900000-0000-7000-8000-{n:012x}","question":"Which?"}}"#);
        std::fs::write(host.world.in_mailbox(format!("pending/w{n}.json")), question).unwrap();
    }
    let sync = host.serve();
    let count = "SELECT count(*)::text FROM askbox.question";
    until("all are known", || database.value(count).as_deref() == Some("8000"));
    std::thread::sleep(std::time::Duration::from_secs(3));
    let spent = || crate::support::process::processor_time(sync.pid());
    let before = spent();
    std::thread::sleep(std::time::Duration::from_secs(5));
    let spent = spent() - before;
    assert!(spent < std::time::Duration::from_millis(400), "{spent:?}");
}

#[test]
fn what_ended_while_no_process_ran_is_told_by_the_next_one() {
    needs!("postgres");
    let (_database, host, mut ann) = laptop();
    for workflow in ["cancelled", "delivered", "removed", "stays"] {
        host.ask(workflow);
    }
    host.sync();
    host.world.ok("ask-answer", &["cancel", "cancelled"]);
    host.world.ok("ask-answer", &["delivered", "a"]);
    host.world.ok("relaunch", &["delivered"]);
    std::fs::remove_file(host.world.in_mailbox("pending/removed.json")).expect("removed by hand");
    host.ask("new");
    host.sync();
    let mut state = |workflow: &str| ann.sees("laptop", workflow).expect("known").2;
    let states: Vec<_> = ["cancelled", "delivered", "removed", "stays", "new"].into_iter().map(&mut state).collect();
    assert_eq!(states, ["withdrawn", "delivered", "gone", "pending", "pending"]);
}

#[test]
fn a_round_whose_file_was_away_is_seen_and_answered_again() {
    needs!("postgres");
    let (database, host, mut ann) = laptop();
    host.ask("docs");
    let _sync = host.serve();
    let hub = hub(&database);
    let is_seen = || hub.question(&"laptop".parse().unwrap(), &"docs".parse().unwrap()).is_some();
    let (file, aside) = (host.world.in_mailbox("pending/docs.json"), host.world.home().join("docs.json"));
    for is_damaged in [false, true] {
        until("it is seen", is_seen);
        std::fs::rename(&file, &aside).expect("moved away");
        if is_damaged {
            std::fs::write(&file, "{").expect("damaged");
        }
        ann.sees_state("laptop", "docs", "gone");
        until("it is seen no more", || !is_seen());
        std::fs::rename(&aside, &file).expect("moved back");
        ann.sees_state("laptop", "docs", "pending");
    }
    until("it is seen", is_seen);
    let offer = ann.offer("laptop", "docs", "b");
    assert_eq!(ann.hears(&offer).outcome, "accepted");
}

#[test]
fn questions_of_all_kinds_arrive_as_they_are_asked() {
    needs!("postgres");
    let (database, host, mut ann) = laptop();
    let world = &host.world;
    world.ok("ask-post", &["-w", "wörds".replace('ö', "o").as_str(), "Größe? \u{202e}\u{1b}[31m 😀", "--context", "# Titel\n\u{7}"]);
    let batch = r#"{"workflow_id": "batch", "questions": [{"id": "x", "question": "One?", "options": {"a": null}}, {"question": "Two?"}]}"#;
    world.run_with("ask-post", &["--file", "-"], batch.as_bytes()).ok();
    // A file made by hand: no id, an escaped NUL, numbers that JSON keeps and a database would not.
    std::fs::write(world.in_mailbox("pending/hand.json"), r#"{"workflow_id": "hand", "question": "NUL \u0000?", "x": 1e400}"#).unwrap();
    std::fs::write(world.in_mailbox("pending/broken.json"), "{").unwrap();
    host.sync();
    for workflow in ["words", "batch", "hand"] {
        let (id, hash, _) = ann.sees("laptop", workflow).unwrap_or_else(|| panic!("{workflow} is not there"));
        let doc = database.value(&format!("SELECT doc FROM askbox.question WHERE workflow_id = '{workflow}'")).expect("a document");
        let question = askbox::mailbox::QuestionDocument::parse(doc.as_bytes()).expect("a question").typed;
        assert_eq!((question.hash().unwrap().to_string(), question.question_id.unwrap().to_string()), (hash, id), "{doc}");
    }
    assert!(ann.sees("laptop", "broken").is_none());
    let offer = ann.offer("laptop", "hand", "yes\u{0}".trim_end_matches('\0'));
    host.sync();
    assert_eq!(ann.told(&offer).expect("a verdict").outcome, "accepted");
}

#[test]
fn nothing_that_belongs_to_the_machine_alone_leaves_it() {
    needs!("postgres");
    let (database, host, _) = laptop();
    host.world.ok("checkpoint", &["save", "docs", "--step", "secret-step"]);
    let checkpoint = host.world.in_mailbox("checkpoints/docs.json");
    let checkpoint = checkpoint.to_str().expect("a path");
    host.world.ok("ask-post", &["-w", "docs", "Merge?", "-c", checkpoint]);
    host.world.ok("ask-answer", &["docs", &"x".repeat(100_000)]);
    host.sync();
    let row = database.value("SELECT q::text FROM askbox.question q").expect("a row");
    assert!(!row.contains(checkpoint) && !row.contains("secret-step") && !row.contains("xxxxx"), "{row}");
}

#[test]
fn a_thousand_questions_arrive_with_one_look() {
    needs!("postgres");
    let (database, host, _) = laptop();
    let batch: Vec<_> = (0..1000).map(|n| serde_json::json!({"workflow_id": format!("w{n}"), "question": "x".repeat(2000)})).collect();
    let batch = serde_json::Value::from(batch).to_string();
    host.world.run_with("ask-post", &["--batch", "--file", "-"], batch.as_bytes()).ok();
    host.configure(&database, "1h");
    let _sync = host.serve();
    let count = |rank: &str| database.value(&format!("SELECT count(*)::text FROM askbox.question WHERE rank = {rank}"));
    until("all are there", || count("0").as_deref() == Some("1000"));
    // The next poll is an hour away: the folder says that something happened.
    host.world.ok("ask-answer", &["w500", "yes"]);
    until("the answer is told", || count("1").as_deref() == Some("1"));
}

mod promises {
    use super::*;

    #[test]
    fn a_round_is_told_in_each_of_its_states_once() {
        needs!("postgres");
        let (database, host, mut ann) = asked();
        ann.sees_state("laptop", "docs", "pending");
        host.world.ok("ask-answer", &["docs", "a"]);
        host.sync();
        ann.sees_state("laptop", "docs", "answered");
        let ending = database.value("SELECT ending FROM askbox.question").expect("an ending");
        assert!(ending.contains(r#""value":"a""#) && ending.contains(r#""by":"ann""#), "{ending}");
        host.world.ok("ask-answer", &["undo", "docs"]);
        host.sync();
        ann.sees_state("laptop", "docs", "pending");
        assert_eq!(database.value("SELECT ending FROM askbox.question"), None);
        host.world.ok("ask-answer", &["docs", "b"]);
        host.world.ok("relaunch", &["docs"]);
        host.sync();
        ann.sees_state("laptop", "docs", "delivered");
        // A look without changes writes nothing.
        let change = database.value("SELECT max(change)::text FROM askbox.question");
        host.sync();
        assert_eq!(database.value("SELECT max(change)::text FROM askbox.question"), change);
    }
}
