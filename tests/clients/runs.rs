//! Programs that are written with a client, as runners and by `relaunch exec`.

use std::fs;

use serde_json::Value;

use crate::clients::client::Client;
use crate::support::files::write_program;
use crate::support::{World, needs, output};

/// The first block of this language in the client's README.
fn of_the_readme(client: Client) -> String {
    let readme = fs::read_to_string(client.sources().join("README.md")).unwrap();
    let fence = if client == Client::Python { "```python\n" } else { "```js\n" };
    readme.split_once(fence).unwrap().1.split_once("```").unwrap().0.to_owned()
}

/// Asks, is killed behind its only act, asks again, and ends: each step is a process of its own.
fn goes_on_with_each_answer(client: Client) {
    let world = World::new().with_scripted_agent();
    let script = client.script(&world, "host");
    let words: Vec<_> = client.words().iter().map(|word| format!("'{word}'")).collect();
    write_program(&world.path("host"), &format!("#!/bin/sh\nexec {} '{}'\n", words.join(" "), script.display()));
    world.configure(&format!(
        "[relaunch]\nbackoff = \"20ms\"\nbackoff_max = \"40ms\"\n[runner.host]\nkind = \"program\"\nprogram = \"{}\"\nworkflows = [\"ship-*\"]\n",
        world.path("host").display()
    ));
    assert_eq!(output(&mut client.command(&world, &script)).code(), 6, "it asks, and a person is awaited");
    let _watcher = world.watch();
    world.ok("ask-answer", &["ship-1", "yes"]);
    world.closed("ship-1", "delivered", 1);
    world.ok("ask-answer", &["ship-1", "no"]);
    world.closed("ship-1", "delivered", 2);
    let log = fs::read_to_string(world.home().join("log")).unwrap();
    let lines: Vec<_> = log.lines().map(str::trim_end).collect();
    assert_eq!(lines, ["answer 1 yes deploy None", "effect", "answer 2 yes deploy 9 deploy", "answer 1 no deploy None"], "{client:?}");
    assert_eq!(world.status("ship-1")["result"], "deployed: no");
}

#[test]
fn the_examples_of_the_clients_run_as_they_stand() {
    needs!("python3", "node");
    for client in [Client::Python, Client::Node] {
        let world = World::new();
        let script = client.bring(&world, if client == Client::Python { "deploy.py" } else { "deploy.mjs" }, &of_the_readme(client));
        assert_eq!(output(&mut client.command(&world, &script)).code(), 6, "{client:?}");
        world.ok("ask-answer", &["ship-24", "yes"]);
        let exec = || {
            let words = client.words();
            let mut command = world.command("relaunch");
            command.args(["exec", "ship-24", "--"]).args(words).arg(&script).env("PATH", world.path_with_programs());
            output(&mut command)
        };
        let first = exec();
        assert_eq!(first.code(), 0, "{client:?}: {}", first.words());
        let shown: Value = serde_json::from_str(&world.ok("ask-answer", &["show", "ship-24", "--json"])).unwrap();
        assert_eq!((&shown["state"], &shown["document"]["closed"]["state"]), (&"closed".into(), &"delivered".into()));
        assert_eq!(world.status("ship-24")["result"], "deploying");
        assert_eq!(exec().code(), 4, "{client:?}: nothing is left to run");
    }
}

#[test]
fn a_client_that_waits_keeps_the_watcher_away() {
    needs!("python3", "node");
    for client in [Client::Python, Client::Node] {
        let world = World::new().with_scripted_agent();
        world.configure("");
        world.make_mailbox();
        let _watcher = world.watch();
        client.ok(&world, "beside", &[]);
        for number in 0..5 {
            assert!(world.launches_of(&format!("wait-{number}")).is_empty(), "{client:?}: nothing is launched with what a waiter has");
        }
    }
}

mod promises {
    use super::*;

    #[test]
    fn a_python_program_goes_on_with_each_answer_and_acts_once() {
        needs!("python3");
        goes_on_with_each_answer(Client::Python);
    }

    #[test]
    fn a_node_program_goes_on_with_each_answer_and_acts_once() {
        needs!("node");
        goes_on_with_each_answer(Client::Node);
    }
}
