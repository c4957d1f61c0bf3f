//! The scripts that hold their own expectations.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use fs2::FileExt;

use crate::clients::client::{Client, project};
use crate::support::{Running, World, needs};

#[test]
fn every_error_of_the_python_client_has_its_type_and_hint() {
    needs!("python3");
    errors(Client::Python);
}

#[test]
fn every_error_of_the_node_client_has_its_type_and_hint() {
    needs!("node");
    errors(Client::Node);
}

/// Runs the script of the errors while the lock of its workflow `held` is held.
fn errors(client: Client) {
    let world = World::new();
    let script = client.script(&world, "errors");
    let mut running = Running::start(client.command(&world, &script).stdin(Stdio::piped()).stdout(Stdio::piped()));
    let mut lines = BufReader::new(running.0.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "ready");
    // The stripe of `held`, as docs/dev/protocol.md says.
    let hash = "held".bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    let stripe = world.in_mailbox(format!("locks/{:02x}", (hash ^ (hash >> 32)) & 0xff));
    let lock = File::options().create(true).append(true).open(stripe).unwrap();
    FileExt::lock_exclusive(&lock).unwrap();
    running.0.stdin.take().unwrap().write_all(b"\n").unwrap();
    assert_eq!(lines.map_while(Result::ok).last().as_deref(), Some("done"), "{client:?}");
    assert!(running.wait().success());
}

#[test]
fn hostile_files_and_texts_do_not_mislead_the_python_client() {
    needs!("python3");
    Client::Python.ok(&World::new(), "hostile", &[]);
}

#[test]
fn hostile_files_and_texts_do_not_mislead_the_node_client() {
    needs!("node");
    Client::Node.ok(&World::new(), "hostile", &[]);
}

#[test]
fn of_a_withdrawal_by_python_and_an_answer_one_counts() {
    needs!("python3");
    Client::Python.ok(&World::new(), "race", &["200"]);
}

#[test]
fn of_a_withdrawal_by_node_and_an_answer_one_counts() {
    needs!("node");
    Client::Node.ok(&World::new(), "race", &["200"]);
}

mod promises {
    use super::*;

    #[test]
    fn every_call_of_the_python_client() {
        needs!("python3");
        Client::Python.ok(&World::new(), "calls", &[]);
    }

    #[test]
    fn every_call_of_the_node_client() {
        needs!("node");
        Client::Node.ok(&World::new(), "calls", &[]);
    }

    #[test]
    fn both_clients_compute_the_hashes_of_all_vectors() {
        needs!("python3", "node");
        let folder = project().join("docs/vectors");
        let vectors =
            std::fs::read_dir(&folder).unwrap().flatten().filter(|entry| entry.path().extension().is_some_and(|e| e == "json")).count();
        for client in [Client::Python, Client::Node] {
            let said = client.ok(&World::new(), "hashes", &[folder.to_str().unwrap()]);
            assert_eq!(said.trim(), vectors.to_string(), "{client:?}");
        }
    }
}
