//! The same through a database: an answer for a machine that is away is sent, and is accepted when it is back.

use std::sync::Arc;

use super::{enter, open};
use crate::machines::postgres::cluster::{Cluster, Database};
use crate::machines::postgres::host::{Host, asked};
use crate::support::{Signal, Terminal, World, needs, signal, until};

#[test]
fn an_undecided_answer_is_shown_to_all_others_first() {
    needs!("postgres", "tmux");
    let (database, host, _) = asked();
    let (ann, bob) = (looking_into(&database, "ann"), looking_into(&database, "bob"));
    let page = bob.serve_page();
    let browser = page.signed_in(&bob, "bob's phone");
    let terminal = Terminal::new(&bob);
    let screen = open(&terminal, "laptop:docs");
    assert!(!screen.contains("sent by"), "{screen}");
    ann.sh("ask-answer laptop:docs b > told 2>&1 &");
    terminal.see("(sent by ann) ");
    enter(&terminal);
    let screen = terminal.see("ann sent an answer");
    assert!(screen.replace('\n', " ").contains("laptop has not decided yet"), "{screen}");
    until("the page shows it", || browser.see("/").text().contains("sent by ann"));
    let question = browser.see(&format!("/q/laptop:docs/{}", host.world.round("docs")));
    assert!(question.text().contains("ann sent an answer"), "{}", question.text());
    assert!(bob.ok("ask-answer", &["list"]).contains("(sent by ann) "));
    assert!(bob.ok("ask-answer", &["show", "laptop:docs"]).contains("ann sent an answer"));
    bob.sh("ask-answer laptop:docs a > told 2>&1 &");
    let told = |world: &World, words: &str| std::fs::read_to_string(world.path("told")).is_ok_and(|told| told.contains(words));
    until("who answers all the same is told", || told(&bob, "warning: ann sent an answer"));
    until("both answers are sent", || {
        database.value("SELECT count(*)::text FROM askbox.offer WHERE outcome IS NULL").as_deref() == Some("2")
    });
    host.sync();
    assert_eq!(host.world.document("answered/docs.json")["answer"]["value"], "b", "the first one counts");
    // The command waits for fifteen seconds. A busy machine may take longer.
    until("the first is told that hers counts", || told(&ann, "accepted by laptop") || told(&ann, "laptop has not decided yet"));
    until("the second is told who was first", || told(&bob, "by ann") || told(&bob, "laptop has not decided yet"));
    assert!(ann.ok("ask-answer", &["show", "laptop:docs"]).contains("answered by ann"));
    terminal.see("This question is over");
}

#[test]
fn an_answer_decided_while_the_database_was_away_is_not_sent() {
    needs!("postgres");
    // The server is killed: it is no other test's.
    let database = Database::in_cluster(Arc::new(Cluster::new()));
    let host = Host::new(&database, "laptop");
    host.ask("docs");
    host.sync();
    let (ann, bob) = (looking_into(&database, "ann"), looking_into(&database, "bob"));
    ann.sh("ask-answer laptop:docs b > told 2>&1 &");
    let page = bob.serve_page();
    let browser = page.signed_in(&bob, "bob's phone");
    until("the page shows it", || browser.see("/").text().contains("sent by ann"));
    // The page sees nothing of what happens.
    signal(page.process.pid(), Signal::STOP);
    database.cluster.crash();
    database.cluster.start();
    database.value("UPDATE askbox.offer SET outcome = 'invalid', said = 'no', decided_at = now() RETURNING said");
    signal(page.process.pid(), Signal::CONT);
    until("the page shows it no longer", || !browser.see("/").text().contains("sent by ann"));
    assert!(browser.see("/").text().contains("laptop:docs") && host.world.in_mailbox("pending/docs.json").exists());
}

/// Where somebody sits.
fn looking_into(database: &Database, person: &str) -> World {
    let here = World::new();
    here.make_mailbox();
    here.configure(&format!("[peers.team]\npostgres = \"{}\"\n", database.address(person)));
    here
}

mod promises {
    use super::*;

    #[test]
    fn an_answer_through_a_database_is_sent_and_then_accepted() {
        needs!("postgres", "tmux");
        let (database, host, _) = asked();
        let here = looking_into(&database, "ann");
        let terminal = Terminal::new(&here);
        let screen = open(&terminal, "laptop:docs");
        assert!(screen.contains("Merge?"), "{screen}");
        enter(&terminal);
        terminal.press(&["2", "Enter"]);
        terminal.see("laptop:docs: sent: b; not yet accepted by laptop");
        terminal.see("(sent) ");
        terminal.press(&["Enter"]);
        terminal.see("sent: b; not yet accepted by laptop");
        // The database has it: nothing is waited for, and the person knows how it stands.
        terminal.press(&["q"]);
        let screen = terminal.see("left=0");
        assert!(screen.contains("laptop:docs: sent: b; not yet accepted by laptop"), "{screen}");
        open(&terminal, "laptop:docs");
        host.ask("more");
        host.sync();
        terminal.see("laptop:more");
        terminal.see_no_more("laptop:docs ");
        assert_eq!(host.world.document("answered/docs.json")["answer"]["value"], "b");
        terminal.press(&["/more", "Enter"]);
        enter(&terminal);
        terminal.press(&["1", "Enter"]);
        terminal.see("laptop:more: sent: a; not yet accepted by laptop");
        host.sync();
        terminal.see("laptop:more: answered: a; accepted by laptop");
    }
}
