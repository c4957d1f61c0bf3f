//! Answers that the operator does not trust are refused where they are given, and where they are claimed.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::support::{World, approval_question};

/// A world that counts only signed answers, with a question.
fn signing() -> World {
    let world = World::new();
    world.configure(&world.only_signed_answers());
    world.sh("ask-post -w w 'Merge?' -o a=A -o b=B");
    world
}

#[test]
fn a_repeated_forgery_is_kept_once_and_another_beside_it() {
    let world = signing();
    let forged = |value: &str| {
        world.forge("w", value);
        world.refused(4, "relaunch done w");
    };
    forged("b");
    let bytes = std::fs::read(world.in_mailbox("quarantine/w.json")).unwrap();
    for _ in 0..3 {
        std::fs::write(world.in_mailbox("answered/w.json"), &bytes).unwrap();
        world.refused(4, "relaunch done w");
    }
    assert_eq!(world.names("quarantine"), ["w.json", "w.json.reason"]);
    forged("a");
    assert_eq!(world.names("quarantine"), ["w.json", "w.json.1", "w.json.1.reason", "w.json.reason"]);
}

#[test]
fn a_signature_for_another_question_or_round_does_not_count() {
    let world = signing();
    world.sh("ask-answer w a");
    let signed = world.document("answered/w.json");
    world.sh("ask-answer undo w");
    for change in
        [r#".answer.value = "b""#, r#".question = "Delete?""#, r#".answer.through = "web""#, r#".answer.by = "bob""#, r#".context = "…""#]
    {
        std::fs::write(world.path("signed.json"), signed.to_string()).unwrap();
        world.sh(&format!("jq '{change}' signed.json >m/answered/w.json"));
        assert!(world.refused(4, "relaunch prompt w").contains("was refused"), "{change}");
    }
    // The original answer was taken back, and does not count again, whatever came after it. A new one does.
    std::fs::write(world.in_mailbox("answered/w.json"), signed.to_string()).unwrap();
    world.shell("relaunch prompt w");
    assert_eq!(world.state("w"), "pending");
    world.sh("ask-answer w a");
    let signed = world.document("answered/w.json");
    world.sh("relaunch prompt w");
    // Not a second time, for a question that looks the same.
    world.sh("ask-post -w w 'Merge?' -o a=A -o b=B");
    let mut again = world.document("pending/w.json");
    again["answer"] = signed["answer"].clone();
    std::fs::write(world.in_mailbox("answered/w.json"), again.to_string()).unwrap();
    assert!(world.refused(4, "relaunch prompt w").contains("was refused"));
}

#[test]
fn what_is_not_accepted_is_said_at_once_and_refused() {
    let world = World::new();
    world.configure("[answers]\naccept = ['web']\n");
    world.sh("ask-post -w w 'Merge?' -o a=A -o b=B");
    assert!(world.refused(1, "ask-answer w a").contains("this answer would not count: it came through `"));
    assert!(world.refused(1, "CLAUDECODE=1 ask-answer w a").contains("`agent`, which answers.accept does not name"));
    // By hand: the answer in the file, or in the checkpoint.
    world.sh("jq '.answer = \"a\"' m/pending/w.json >m/answered/w.json && rm m/pending/w.json");
    assert!(world.refused(4, "relaunch prompt w").contains("it came through `file`, which answers.accept does not name"));
    world.sh("checkpoint save w --step one; touch -d '1 minute ago' m/pending/w.json; mv m/pending/w.json m/answered/w.json");
    world.sh("jq '.user_answer = \"b\"' m/checkpoints/w.json >c.json && cp c.json m/checkpoints/w.json");
    assert!(world.refused(4, "relaunch prompt w").contains("`file`"));
    assert_eq!((world.state("w").as_str(), &world.document("checkpoints/w.json")["user_answer"]), ("pending", &json!(null)));
    world.configure("[answers]\naccept = ['terminal', 'agent']\n");
    world.sh("ask-answer w a && relaunch prompt w");
}

#[test]
fn a_program_that_cannot_sign_gives_no_answer_and_says_so() {
    let world = signing();
    std::fs::remove_file(world.home().join(".config/askbox/answer.key")).unwrap();
    assert!(world.refused(1, "ask-answer w a").contains("the answer is not given, because it cannot be signed"));
    world.reconfigure("sign_key", "# sign_key");
    assert!(world.refused(1, "ask-answer decline w").contains("it must be signed, and is not signed here"));
    assert_eq!(world.state("w"), "pending");
    // Taking back and withdrawing decide nothing.
    world.sh("ask-answer cancel w");
}

#[test]
fn a_command_signs_where_the_key_lies_elsewhere() {
    let world = World::new();
    let section = world.only_signed_answers();
    // Python's own Ed25519 is not everywhere, so that askbox itself stands for the token: what it prints is what the tests of the bytes pin.
    let key = askbox::mailbox::trust::SecretKey::read(&world.home().join(".config/askbox/answer.key")).unwrap();
    let (section, _) = section.split_once("sign_key").unwrap();
    world.configure(&format!("{section}\nsign_command = ['{}/sign', 'token']\n", world.root().display()));
    let program = |body: &str| crate::support::files::write_program(&world.path("sign"), &format!("#!/bin/sh\n{body}\n"));
    world.sh("ask-post -w w 'Merge?' -o a=A");
    program("exit 3");
    assert!(world.refused(1, "ask-answer w a").contains("failed: exit status: 3"));
    program("echo ed25519:AAAA");
    assert!(world.refused(1, "ask-answer w a").contains("printed neither an Ed25519 signature"));
    // A signature that would not count is not given.
    program(&format!("cat >'{}'; echo {}", world.path("bytes").display(), key.sign(b"something else")));
    let refused = world.refused(1, "ask-answer w a");
    assert!(refused.contains("the key of answers.sign_command is not one of answers.trusted_keys"), "{refused}");
    assert_eq!(world.state("w"), "pending");
    let bytes = std::fs::read_to_string(world.path("bytes")).unwrap();
    assert!(
        bytes.starts_with("askbox answer v1\n[\"w\",\"") && bytes.contains("\"answered\",\"a\",null,false,\"ann\",\"ask-answer\""),
        "{bytes}"
    );
    // The person's answer may come while the token is awaited: the question is not locked meanwhile.
    world.reconfigure("require_signed = true", "require_signed = false");
    let program = |meanwhile: &str| program(&format!("{meanwhile} >/dev/null; echo {}", key.sign(b"?")));
    program("ask-answer cancel w");
    assert!(world.refused(4, "ask-answer w a").contains("w"));
    world.sh("ask-post -w w 'Merge?' -o a=A");
    // Nor does it change unseen: not in a field that no hash covers either.
    program("jq '.cwd = \"/\"' m/pending/w.json >changed; cp changed m/pending/w.json");
    let refused = world.refused(4, "ask-answer w a");
    assert!(refused.contains("the question of w has changed while the answer was signed"), "{refused}");
}

#[test]
fn an_untrusted_or_unreadable_key_is_said_before_the_answer() {
    let world = signing();
    let doctor = |word: &str| {
        let said = world.run("askbox", &["doctor"]).stdout;
        assert!(said.contains(word), "{said}");
    };
    let (key, other) = (world.home().join(".config/askbox/answer.key"), world.path("other.key"));
    world.ok("askbox", &["keygen", &other.display().to_string()]);
    world.reconfigure(&key.display().to_string(), &other.display().to_string());
    let refused = world.refused(1, "ask-answer w a");
    assert!(refused.contains("the key in answers.sign_key is not one of answers.trusted_keys"), "{refused}");
    assert!(refused.contains("hint: name its public half in answers.trusted_keys"), "{refused}");
    doctor("its public half is not in answers.trusted_keys");
    std::fs::remove_file(&other).unwrap();
    let refused = world.refused(1, "ask-answer w a");
    assert!(refused.contains("hint: answers.sign_key in the configuration names a file that is not there"), "{refused}");
    doctor("answers cannot be signed");
    world.configure("[answers]\nsign_command = ['/no/such/program']\n");
    let refused = world.refused(1, "ask-answer w a");
    assert!(refused.contains("/no/such/program cannot be started") && refused.contains("hint: mend answers.sign_command"), "{refused}");
    doctor("answers.sign_command");
    assert_eq!(world.state("w"), "pending");
}

#[test]
fn a_configuration_that_would_let_no_answer_count_is_refused() {
    for (section, problem) in [
        ("require_signed = true", "answers.require_signed: needs trusted_keys"),
        ("accept = []", "answers.accept: is empty"),
        ("accept = ['terminals']", "unknown way `terminals`, expected one of `terminal`, `web`"),
        ("trusted_keys = ['ann']", "`ann` is no public key"),
        ("sign_key = 'answer.key'", "answers.sign_key: is not an absolute path"),
        ("sign_key = '/a'\nsign_command = ['b']", "answers.sign_command: stands beside sign_key"),
    ] {
        let world = World::new();
        world.make_mailbox();
        world.configure(&format!("[answers]\n{section}\n"));
        assert!(world.refused(5, "relaunch status --summary").contains(problem), "{section}");
    }
}

#[test]
fn an_event_needs_no_signature_and_cannot_be_faked() {
    let world = World::stepping("work");
    world.configure(&world.only_signed_answers());
    world.sh("touch come; ask-post -w e --until-file \"$PWD/come\"");
    world.sh("ask-post -w f 'Which?' -o a=A -o b=B --timeout 1h --default a");
    for (value, by, why) in [
        ("b", "default", "it says `by: default`, and a default decides nothing where answers must be signed"),
        ("a", "default", "it says `by: default`, and a default decides nothing where answers must be signed"),
        ("a", "event", "it says `by: event`, but has `options`"),
    ] {
        world.forge("f", value);
        world.sh(&format!("jq '.answer.by = \"{by}\"' m/answered/f.json >f && cp f m/answered/f.json"));
        let refused = world.refused(4, "relaunch prompt f");
        assert!(refused.contains(why), "{refused}");
    }
    let _watcher = world.watch();
    assert_eq!(world.closed("e", "delivered", 1)[0]["answer"]["by"], "event");
}

/// The signature was computed by another implementation (OpenSSL, through Python's `cryptography`).
#[test]
fn the_vector_of_the_protocol_is_what_is_signed() {
    let vector: serde_json::Value = serde_json::from_str(&std::fs::read_to_string("docs/vectors/accepted-text.json").unwrap()).unwrap();
    let signature = vector["answer"]["signature"].as_str().unwrap();
    assert_eq!(signature, "ed25519:nebDWhR713QuJqpyXtzR1rPTUE2+uZ8/Hz4ufaev747v8sgvKVYsiddOyXypWEGqnDWsDemBc9UtKR5vfuSzDw==");
    let world = World::new();
    // The seed of the bytes 00 to 1f.
    let seed = "askbox-secret-ed25519:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n";
    std::fs::write(world.path("key"), seed).unwrap();
    std::fs::set_permissions(world.path("key"), std::fs::Permissions::from_mode(0o600)).unwrap();
    let key = askbox::mailbox::trust::SecretKey::read(&world.path("key")).unwrap();
    let mut document = vector["question"].clone();
    document["answer"] = vector["answer"].clone();
    let question: askbox::mailbox::Question = serde_json::from_value(document).unwrap();
    let bytes = askbox::mailbox::trust::signed_bytes::of_answer(&question, question.answer.as_ref().unwrap()).unwrap();
    assert_eq!(String::from_utf8(bytes.clone()).unwrap(), vector["signed_bytes"].as_str().unwrap());
    assert_eq!(key.sign(&bytes), signature);
    let public = world.sh("askbox keygen --public key --name ann");
    assert_eq!(vector["trusted_key"].as_str(), public.trim().strip_suffix(" ann"));
    world.configure(&format!("[answers]\nrequire_signed = true\ntrusted_keys = ['{}']\n", public.trim()));
    world.make_mailbox();
    std::fs::write(world.in_mailbox("answered/wf8.json"), serde_json::to_vec(&question).unwrap()).unwrap();
    world.sh("relaunch prompt wf8");
}

#[test]
fn what_an_agent_does_is_never_signed_and_allows_no_call() {
    let world = signing();
    for agent in ["CLAUDECODE=1", "ASKBOX_RUN=w/x/1", "CLAUDECODE=1 sh -c 'env -u CLAUDECODE \"$@\"; exit $?' sh"] {
        let said = world.refused(1, &format!("env {agent} ask-answer w a"));
        assert!(said.contains("must be signed") && said.contains("a person answers"), "{agent}: {said}");
    }
    assert_eq!(world.state("w"), "pending");
    // Without a need for signatures, an agent's answer counts, and the key that lies there still does not sign it.
    world.reconfigure("require_signed = true", "require_signed = false");
    world.sh("CLAUDECODE=1 ask-answer w a");
    let answer = world.document("answered/w.json")["answer"].clone();
    assert_eq!((&answer["through"], &answer["signature"]), (&json!("agent"), &json!(null)));
    let call = approval_question("call", "May the agent call Bash?");
    std::fs::write(world.in_mailbox("pending/call.json"), call.to_string()).unwrap();
    let said = world.refused(4, "env ASKBOX_RUN=w/x/1 sh -c 'env -u ASKBOX_RUN ask-answer call once; exit $?'");
    assert!(said.contains("an agent's run answers no such question"), "{said}");
}

mod promises {
    use super::*;

    #[test]
    fn a_key_is_made_once_for_its_owner_and_says_what_to_write() {
        let world = World::new();
        let said = world.sh("askbox keygen --name 'ann at work'");
        let key = world.home().join(".config/askbox/answer.key");
        assert_eq!(std::fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(said.contains(&format!("sign_key = \"{}\"", key.display())) && said.contains("require_signed = true"), "{said}");
        let public = world.sh(&format!("askbox keygen --public '{}' --name 'ann at work'", key.display()));
        assert!(said.contains(public.trim()) && public.starts_with("ed25519:"), "{public}");
        assert!(world.refused(4, "askbox keygen").contains("exists already"));
        // What it says is a configuration.
        let sections: String =
            said.lines().filter(|line| line.starts_with("    ") && !line.contains("[answers]")).map(|l| format!("{l}\n")).collect();
        world.configure(&format!("[answers]\n{sections}"));
        world.sh("ask-post -w w 'Merge?' -o a=A; ask-answer w a; relaunch done w");
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
        world.sh("ask-post -w x 'Merge?' -o a=A");
        assert!(world.refused(1, "ask-answer x a").contains("others may read the key"));
        assert_eq!(world.state("x"), "pending");
    }

    #[test]
    fn every_kind_of_answer_is_signed_and_counts() {
        for (reply, value) in [
            ("ask-answer w a", json!("a")),
            ("ask-answer w A --note 'soon'", json!("a")),
            ("ask-answer decline w --note never", json!(null)),
            ("ask-answer ask-back w 'Which what?'", json!(null)),
            ("ask-answer w 'words of my own' --text", json!("words of my own")),
            ("echo '\"b\"' | ask-answer w --file -", json!("b")),
            ("echo b | ask-answer w -", json!("b")),
        ] {
            let world = signing();
            world.sh(reply);
            let answer = world.document("answered/w.json")["answer"].clone();
            assert!(answer["signature"].as_str().is_some_and(|s| s.starts_with("ed25519:")), "{reply}: {answer}");
            world.sh("relaunch prompt w");
            let closed = &world.closed("w", "delivered", 1)[0];
            assert_eq!((&closed["answer"]["value"], &closed["answer"]["signature"]), (&value, &answer["signature"]), "{reply}");
        }
    }

    #[test]
    fn a_batch_and_a_question_by_hand_are_signed_too() {
        let world = World::new();
        world.configure(&world.only_signed_answers());
        world.sh(r#"echo '{"questions":[{"id":"n","question":"How many?","type":"number"},{"question":"Which?","options":["ü","b"],"multiSelect":true}],"context":"…"}' | ask-post -w w --file -"#);
        world.sh("ask-answer w q2=ü,b n=1e3 && relaunch prompt w");
        world.sh(r#"printf '{"workflow_id":"h","question":"By hand?"}' >m/pending/h.json; ask-answer h yes && relaunch prompt h"#);
        assert_eq!(world.closed("w", "delivered", 1)[0]["answer"]["value"], json!({"n": "1e3", "q2": ["ü", "b"]}));
        world.closed("h", "delivered", 1);
    }

    #[test]
    fn a_forged_answer_is_refused_kept_and_shown() {
        let world = signing();
        world.sh("checkpoint save w --step one");
        let (round, timers) = (world.round("w"), world.names("timers"));
        world.forge("w", "b");
        assert_eq!(world.state("w"), "answered");
        let refused = world.refused(4, "relaunch prompt w");
        assert!(refused.contains("the answer of w was refused: its signature is not that of a key in answers.trusted_keys"), "{refused}");
        assert!(refused.contains("hint: answer it so that it counts: ask-answer w ANSWER"), "{refused}");
        // The question waits again, as it was.
        let pending = world.document("pending/w.json");
        assert_eq!((pending.get("answer"), pending["question_id"].as_str()), (None, Some(round.as_str())));
        assert!(world.names("answered").is_empty() && world.names("running").is_empty() && world.names("timers") == timers);
        assert!(world.document("checkpoints/w.json")["user_answer"].is_null());
        // The answer is kept, and everybody who looks is told.
        assert_eq!(world.document("quarantine/w.json")["answer"]["value"], "b");
        assert!(world.reason("w.json").contains("from answered/: its answer was refused: its signature"), "{}", world.reason("w.json"));
        let audited = world.audited();
        let entry = audited.iter().find(|entry| entry["event"] == "refused").expect("an entry");
        assert_eq!((&entry["by"], &entry["question_id"]), (&json!("ann"), &json!(round)));
        assert!(entry["why"].as_str().unwrap().ends_with("see quarantine/w.json.reason"), "{entry}");
        let doctor = world.run("askbox", &["doctor"]);
        assert!(doctor.stdout.contains("refused: quarantine/w.json") && doctor.stdout.contains("ask-answer show w"), "{}", doctor.stdout);
        let shown = world.sh("ask-answer show w");
        assert!(
            shown.contains("an earlier answer was refused") && shown.contains("answered by ann through ask-answer (terminal)"),
            "{shown}"
        );
        let status = world.status("w");
        assert_eq!(status["state"], "pending");
        assert!(status["why"].as_str().unwrap().starts_with("an answer was refused: its signature"), "{status}");
        // A proper answer counts at once; the copy does not stand in its way.
        world.sh("ask-answer w a");
        assert_eq!(world.state("w"), "answered");
        world.sh("relaunch prompt w");
        assert_eq!(world.closed("w", "delivered", 1)[0]["answer"]["value"], "a");
        assert_eq!(world.state("w"), "delivered");
        assert!(world.run("askbox", &["doctor"]).stdout.contains("rm -f "), "the copy is still listed");
    }
}
