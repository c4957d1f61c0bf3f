//! A folder that is missing, mistyped or not mounted.

use std::process::Stdio;

use crate::support::{Running, World, until};

#[test]
fn the_page_makes_no_mailbox_and_says_what_does() {
    let world = World::new();
    let outcome = world.run("askbox", &["web", "--listen", "127.0.0.1:0"]);
    assert_eq!(outcome.status.code(), Some(3), "{}", outcome.words());
    assert!(outcome.stderr.contains("hint:") && !world.mailbox().exists(), "{}", outcome.words());
}

#[test]
fn the_page_makes_an_empty_mailbox_where_machines_are_known() {
    let world = World::new();
    world.configure("[peers.build]\nssh = 'build.test'\nssh_options = ['-F', 'none', '-o', 'ProxyCommand=false']\n");
    let log = world.path("page.log");
    let said = std::fs::File::create(&log).unwrap();
    let mut command = world.command("askbox");
    let command = command.args(["web", "--listen", "127.0.0.1:0"]).stdout(Stdio::null()).stderr(said);
    let _page = Running::start(command);
    let said = until("the page listens", || std::fs::read_to_string(&log).ok().filter(|said| said.contains("http://127.0.0.1:")));
    assert!(said.contains("note: an empty mailbox was made: ") && world.in_mailbox("pending").exists(), "{said}");
}
