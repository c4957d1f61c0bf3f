//! Answers signed by OpenSSH: with a key in a file, or in an agent that holds the key.

use crate::support::{World, needs};

/// A world that counts only ann's SSH key, with questions. `key` names the file that `ssh-keygen` is given.
fn signing(namespace: &str, key: &str) -> World {
    let world = World::new();
    world.sh("ssh-keygen -q -t ed25519 -N '' -C ann -f ann; ssh-keygen -q -t ed25519 -N '' -C bob -f bob");
    configure(&world, "ann", namespace, key);
    world.sh("ask-post -w w 'Merge?' -o a=A -o b=B");
    world
}

fn configure(world: &World, trusted: &str, namespace: &str, key: &str) {
    let public = std::fs::read_to_string(world.path(format!("{trusted}.pub"))).unwrap();
    let command = ["ssh-keygen", "-Y", "sign", "-n", namespace, "-f", &world.path(key).display().to_string()].map(str::to_owned);
    world.configure(&format!("[answers]\nrequire_signed = true\ntrusted_keys = [{:?}]\nsign_command = {command:?}\n", public.trim()));
}

#[test]
fn an_ssh_agent_signs_with_a_key_that_lies_nowhere_else() {
    needs!("ssh");
    let world = signing("askbox-answer", "ann.pub");
    world.sh("ssh-agent sh -c 'ssh-add -q ann && rm ann && ask-answer w a'; relaunch prompt w");
    assert_eq!(world.closed("w", "delivered", 1)[0]["answer"]["value"], "a");
}

#[test]
fn an_ssh_signature_that_does_not_count_says_why() {
    needs!("ssh");
    let world = signing("file", "ann");
    let refused = world.refused(1, "ask-answer w a");
    assert!(refused.contains("for the namespace `file`, not for `askbox-answer`"), "{refused}");
    configure(&world, "bob", "askbox-answer", "ann");
    let refused = world.refused(1, "ask-answer w a");
    assert!(refused.contains("by an SSH key that answers.trusted_keys does not name"), "{refused}");
    assert_eq!(world.state("w"), "pending");
    // A key that is taken out of the list later counts no more, and neither does a changed answer.
    configure(&world, "ann", "askbox-answer", "ann");
    world.sh("ask-answer w a");
    configure(&world, "bob", "askbox-answer", "bob");
    assert!(world.refused(4, "relaunch prompt w").contains("by an SSH key that answers.trusted_keys does not name"));
    world.sh("ask-answer w a; jq '.answer.value = \"b\"' m/answered/w.json >changed; mv changed m/answered/w.json");
    assert!(world.refused(4, "relaunch prompt w").contains("its signature is not that of a key"));
}

mod promises {
    use super::*;

    #[test]
    fn an_answer_signed_by_ssh_keygen_counts() {
        needs!("ssh");
        let world = signing("askbox-answer", "ann");
        world.sh("ask-answer w a --note soon");
        let answer = world.document("answered/w.json")["answer"].clone();
        assert!(answer["signature"].as_str().is_some_and(|s| s.starts_with("sshsig:U1NIU0lH")), "{answer}");
        world.sh("relaunch prompt w");
        assert_eq!(world.closed("w", "delivered", 1)[0]["answer"]["signature"], answer["signature"]);
    }
}
