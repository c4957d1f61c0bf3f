//! The sessions of a host, for the people of its database.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json;
use uuid::Uuid;

use super::cluster::Database;
use super::host::{Host, Person};
use super::hub::hub;
use crate::support::{LIMIT, World, needs, until};
use crate::web::sessions::{Fake, ID, inbox, inbox_is};
use askbox::mailbox::who::caller::Caller;
use askbox::peers::Peers;
use askbox_sessions::{Look, Reply, Request};

fn ann() -> Caller {
    Caller::person("ann", "inbox").unwrap()
}

fn ask(hub: &Peers, request: Request) -> Result<Reply, String> {
    hub.sessions(&"laptop".parse().unwrap(), &ann(), request).map_err(|e| e.to_string())
}

fn listed(hub: &Peers) -> Option<askbox_sessions::Listed> {
    match ask(hub, Request::List) {
        Ok(Reply::List(listed)) if !listed.sessions.is_empty() => Some(listed),
        _ => None,
    }
}

fn send(words: &str) -> Request {
    Request::Send { session: ID.into(), prompt: Uuid::new_v4(), words: words.into(), has_ended: false }
}

/// A host whose people may see its sessions.
fn host(database: &Database) -> Host {
    let host = Host::with(database, "laptop", World::at_home());
    let address = database.address("laptop");
    host.world.configure(&format!("[sync]\ndatabase = \"{address}\"\npoll = \"200ms\"\nsessions = true"));
    host
}

fn rows(database: &Database) -> i64 {
    database.connect("owner").query_one("SELECT count(*) FROM askbox.request", &[]).unwrap().get(0)
}

#[test]
fn a_session_is_read_and_sent_on_through_a_database() {
    needs!("postgres");
    let database = Database::new();
    let host = host(&database);
    let mut session = Fake::new(&host.world);
    session.hour();
    let told = inbox(&session, &json!({"status": "busy"}));
    let _watcher = host.world.watch();
    let serving = host.serve();
    let hub = hub(&database);
    until("the host is seen", || !hub.view().is_empty());
    let listed = until("the sessions are told", || listed(&hub));
    assert_eq!((listed.sessions[0].id.as_str(), listed.sessions[0].does.as_str()), (ID, "busy"));
    let see = || ask(&hub, Request::See { session: ID.into(), look: Look::Opens }).unwrap();
    let Reply::Session(view) = see() else { panic!("no session") };
    assert!(format!("{:?}", view.said.turns).contains("The tax was wrong."), "{view:?}");
    assert!(matches!(ask(&hub, send("Go on.")), Ok(Reply::Done(None))));
    inbox_is(&session, "idle");
    let content = |line: &serde_json::Value| line["message"]["content"].as_str().map(str::to_owned);
    let sent = until("it is sent", || content(&told.recv_timeout(LIMIT).unwrap()));
    assert!(sent.starts_with("Go on.\n") && sent.contains("sent by ann"), "{sent}");
    // Whoever asked has the reply, and the database has it no more.
    assert_eq!(rows(&database), 0);
    // Another person's role sees no request of hers, and sends none in her name.
    let mut bob = Person::new(&database, "bob").client;
    let doc = json!({"by": "ann", "through": "web", "ask": "list"}).to_string();
    let mut mine = Person::new(&database, "ann").client;
    mine.execute("INSERT INTO askbox.request (request_id, host, doc) VALUES (gen_random_uuid(), 'nobody', $1)", &[&doc]).unwrap();
    assert_eq!(bob.query("SELECT * FROM askbox.request", &[]).unwrap().len(), 0);
    assert_eq!(bob.execute("DELETE FROM askbox.request", &[]).unwrap(), 0);
    let forged = "INSERT INTO askbox.request (request_id, host, doc, sent_by) VALUES (gen_random_uuid(), 'laptop', $1, 'ann')";
    assert!(bob.execute(forged, &[&doc]).is_err());
    let named = json!({"by": "ann", "through": "web", "ask": "send", "session": ID, "prompt": Uuid::new_v4(), "words": "By bob.", "has_ended": false});
    let by_bob = "INSERT INTO askbox.request (request_id, host, doc) VALUES (gen_random_uuid(), 'laptop', $1)";
    bob.execute(by_bob, &[&named.to_string()]).unwrap();
    bob.execute("SELECT pg_notify('askbox_request', '')", &[]).unwrap();
    let sent = until("it is sent", || content(&told.recv_timeout(LIMIT).unwrap()));
    assert!(sent.starts_with("By bob.\n") && sent.contains("sent by ann (role bob)"), "{sent}");
    // Without its process nobody gets anything, and nothing is done later.
    serving.kill();
    let unsent = ask(&hub, send("Too late.")).unwrap_err();
    assert!(unsent.contains("laptop does not reply") && !unsent.contains("may have been done"), "{unsent}");
    let _serving = host.serve();
    until("it replies again", || ask(&hub, Request::List).is_ok());
    assert!(matches!(ask(&hub, send("\n")), Err(why) if why.contains("the prompt is empty")));
    assert!(told.recv_timeout(Duration::from_secs(1)).is_err());
}

#[test]
fn a_host_tells_nothing_of_its_sessions_unless_it_is_told_to() {
    needs!("postgres");
    let database = Database::new();
    let host = Host::with(&database, "laptop", World::at_home());
    let _session = Fake::new(&host.world);
    let _serving = host.serve();
    let hub = hub(&database);
    until("the host is seen", || !hub.view().is_empty());
    assert!(matches!(ask(&hub, Request::List), Ok(Reply::List(listed)) if listed.sessions.is_empty()));
    let refused = ask(&hub, send("Go on.")).unwrap_err();
    assert!(refused.contains("laptop does not reply") && rows(&database) == 0, "{refused}");
}

#[test]
fn of_a_host_and_its_copy_one_does_a_request_once() {
    needs!("postgres");
    let database = Database::new();
    let host = host(&database);
    let session = Fake::new(&host.world);
    inbox_is(&session, "busy");
    let _serving = host.serve();
    let hub = hub(&database);
    until("the sessions are told", || listed(&hub));
    // A copy of the mailbox is another computer's, which takes over in the middle.
    let copy = World::at_home();
    std::fs::remove_dir_all(copy.mailbox()).unwrap();
    copy.sh(&format!("cp -r {} {}", host.world.mailbox().display(), copy.mailbox().display()));
    copy.configure(&format!("[sync]\ndatabase = \"{}\"\npoll = \"200ms\"\nsessions = true", database.address("laptop")));
    let other = Fake::new(&copy);
    inbox_is(&other, "busy");
    let ends = AtomicBool::new(false);
    let said: Vec<bool> = std::thread::scope(|scope| {
        let sender = scope.spawn(|| {
            let mut said = Vec::new();
            while !ends.load(Ordering::Relaxed) {
                said.push(ask(&hub, send("Go on.")).is_ok());
            }
            said
        });
        let _second =
            crate::support::Running::start(copy.command("askbox").args(["sync", "run", "--take-over"]).stderr(std::process::Stdio::null()));
        until("the copy is the host", || copy.mailbox().join("prompts").exists());
        ends.store(true, Ordering::Relaxed);
        sender.join().unwrap()
    });
    let sent = said.iter().filter(|is_sent| **is_sent).count();
    let there = host.world.names("prompts").len() + copy.names("prompts").iter().filter(|name| name.ends_with(".json")).count();
    assert!(there >= sent && there <= said.len() && sent > 1, "{there} of {said:?}");
}
