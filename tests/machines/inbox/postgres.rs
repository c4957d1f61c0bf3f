//! The same through a database: an answer for a machine that is away is sent, and is accepted when it is back.

use super::{enter, open};
use crate::postgres::cluster::Database;
use crate::postgres::host::asked;
use crate::support::{Terminal, World, needs};

#[test]
fn an_answer_through_a_database_is_sent_and_becomes_accepted_when_its_machine_has_decided() {
    needs!("postgres", "tmux");
    let (database, host, _) = asked();
    let here = looking_into(&database);
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

/// Where ann sits.
fn looking_into(database: &Database) -> World {
    let here = World::new();
    here.make_mailbox();
    here.configure(&format!("[peers.team]\npostgres = \"{}\"\n", database.address("ann")));
    here
}
