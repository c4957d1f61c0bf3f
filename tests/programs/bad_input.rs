//! Bad input comes to a documented exit status, one line that says what is wrong, one that says what to do, and nothing half
//! done. The snapshots in `snapshots/bad_input` are whole outputs; after a wanted change: `SNAPSHOTS=overwrite cargo test --test programs bad_input::`.

use std::os::unix::fs::{PermissionsExt, symlink};

use crate::support::cli::Scene;
use snapbox::{assert_data_eq, file};

#[test]
fn an_id_that_could_leave_the_mailbox_is_refused_by_every_program() {
    let mut scene = Scene::new();
    for id in ["../x", "/etc/passwd", "", ".", "a..b", "a/b", "$(head -c 300 /dev/zero | tr '\\0' a)", "$(printf 'a\\033[31m')"] {
        scene.see(&format!("ask-post How? -w \"{id}\""));
    }
    scene.ok("ask-post How? -w real");
    scene.see("ask-answer ../pending/real yes");
    scene.see("ask-answer show ..");
    scene.see("checkpoint get ../../etc x");
    scene.see("WORKFLOW_ID=../x ask-post How?");
    scene.see("WORKFLOW_ID=ok ASKBOX_WORKFLOW_ID=/x ask-post How?");
    scene.see("checkpoint path .hidden");
    assert_data_eq!(scene.transcript(), file!["snapshots/bad_input/ids.txt"].raw());
    assert!(!scene.file("x.json").exists() && !scene.file("m/x.json").exists());
}

#[test]
fn links_are_not_followed() {
    let mut scene = Scene::new();
    scene.ok("ask-post How? -w real && mv m/pending/real.json elsewhere.json && echo '{}' > checkpoint.json");
    symlink(scene.file("elsewhere.json"), scene.file("m/pending/real.json")).unwrap();
    symlink(scene.file("checkpoint.json"), scene.file("m/checkpoints/c.json")).unwrap();
    symlink(scene.mailbox(), scene.file("linked")).unwrap();
    scene.see("ask-answer real yes");
    scene.see("ask-answer list");
    scene.see("ask-post How? -w real");
    scene.see("checkpoint show c");
    scene.see("ask-post How? -w c");
    scene.see("ask-post How? -w d -c m/checkpoints/c.json");
    scene.see("ask-answer list --mailbox linked");
    scene.ok("mv m/pending p && ln -s ../p m/pending");
    scene.see("ask-post How? -w through-a-link");
    assert_data_eq!(scene.transcript(), file!["snapshots/bad_input/links.txt"].raw());
    assert!(!scene.file("p/through-a-link.json").exists());
}

#[test]
fn a_mailbox_that_others_can_write_to_is_refused() {
    let mut scene = Scene::new();
    scene.ok("ask-post How? -w real && chmod 0777 m");
    scene.see("ask-post How? -w x");
    scene.see("ask-answer list");
    scene.ok("chmod 0700 m && chmod g+w m/pending");
    scene.see("ask-answer real yes");
    scene.see("ask-post How? --mailbox /dev/null");
    assert_data_eq!(scene.transcript(), file!["snapshots/bad_input/writable.txt"].raw());
}

#[test]
fn what_belongs_to_somebody_else_is_refused() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("NOT TESTED: giving files to another user takes root; CI runs this as root");
        return;
    }
    let mut scene = Scene::new();
    scene.ok("ask-post How? -w real && ask-post How? -w other && echo '{}' | checkpoint save c");
    // For root everything of root's own is its own: so somebody without rights looks at root's mailbox, and root at theirs.
    std::fs::set_permissions(scene.root(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let ran = scene.run_as(65_534, "ask-post How? -w x");
    scene.write_down("(as user 65534) ask-post How? -w x", &ran);
    scene.ok("chown 12345 m/pending/real.json m/checkpoints/c.json");
    scene.see("ask-answer real yes");
    scene.see("checkpoint get c x");
    scene.ok("chown 12345 m");
    scene.see("ask-answer other yes");
    assert_data_eq!(scene.transcript(), file!["snapshots/bad_input/owners.txt"].raw());
}

#[test]
fn a_mailbox_that_cannot_be_written_is_a_clear_failure_and_stays_as_it_was() {
    let mut scene = Scene::new();
    scene.ok("ask-post How? -w real && echo '{}' | checkpoint save real");
    std::fs::set_permissions(scene.root(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let root = rustix::process::geteuid().is_root();
    // Root writes everywhere; so the mailbox is given to somebody who does not.
    scene.ok(if root { "chown -R 65534:65534 m && chmod -R a-w m" } else { "chmod -R a-w m" });
    for script in
        ["ask-post How? -w x", "ask-answer real yes", "checkpoint set real context x", "ask-answer cancel real", "checkpoint rm real"]
    {
        let ran = if root { scene.run_as(65_534, script) } else { scene.run(script) };
        scene.write_down(script, &ran);
    }
    scene.ok("chmod -R u+w m");
    assert!(scene.file("m/pending/real.json").exists() && !scene.file("m/pending/x.json").exists());
    assert_data_eq!(scene.transcript(), file!["snapshots/bad_input/read_only.txt"].raw());
}

#[test]
fn what_is_too_large_is_not_read() {
    let mut scene = Scene::new();
    scene.ok("ask-post How? -w real && truncate -s 100M big.json && cp big.json m/pending/big.json");
    scene.see("ask-post -w x --file big.json");
    scene.see("ask-post -w x --file - < big.json");
    scene.see("ask-post -w x - < big.json");
    scene.see("ask-post --batch --file big.json");
    scene.see("ask-answer big yes");
    scene.see("ask-answer real - < big.json");
    scene.see("ask-answer real --file big.json");
    scene.see("checkpoint save x < big.json");
    scene.see("ask-post How? -w x -c \"$PWD/big.json\"");
    assert_data_eq!(scene.transcript(), file!["snapshots/bad_input/sizes.txt"].raw());
}

#[test]
fn hostile_json_is_refused_with_the_field_named() {
    let mut scene = Scene::new();
    let deep = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
    std::fs::write(scene.file("deep.json"), format!(r#"{{"question":"?","x":{}}}"#, deep(100_000))).unwrap();
    std::fs::write(scene.file("deep-batch.json"), deep(100_000)).unwrap();
    std::fs::write(scene.file("latin1.json"), b"{\"question\": \"caf\xe9\"}").unwrap();
    scene.ok("ask-post How? -w real && cp deep.json m/pending/deep.json");
    scene.see("ask-post -w x --file deep.json");
    scene.see("ask-post --batch --file deep-batch.json");
    scene.see("ask-post -w x --file latin1.json");
    scene.see(r#"echo '{"question":"a","question":"b"}' | ask-post -w x --file -"#);
    scene.see(r#"echo '{"question":"a","options":{"k":"1","k":"2"}}' | ask-post -w x --file -"#);
    scene.see(r#"echo '{"question":"a","closed":{"state":"delivered","at":"2026-01-01T00:00:00Z","by":"me"}}' | ask-post -w x --file -"#);
    scene.see(r#"echo '{"question":"a","workflow_id":"../x"}' | ask-post --file -"#);
    scene.see(r#"echo '{"question":"a","workflow_id":"y"}' | ask-post -w x --file -"#);
    scene.see(r#"echo '{"question":"a","type":"guess"}' | ask-post -w x --file -"#);
    scene.see(r#"printf '{"question":"a' | ask-post -w x --file -"#);
    scene.see(r#"echo '"text"' | ask-post -w x --file -"#);
    scene.see(r#"echo '{}' | ask-post -w x --file -"#);
    scene.see(r#"echo '[]' | ask-post --batch --file -"#);
    scene.see("ask-answer deep yes");
    scene.see("ask-answer real --file deep.json");
    scene.see("ask-answer real --file deep-batch.json");
    scene.see("ask-answer real - < latin1.json");
    scene.see(r#"echo '{"answers":{"How?":"a","How?":"b"}}' | ask-answer real --file -"#);
    scene.see("echo null | ask-answer real --file -");
    scene.see("checkpoint save x < deep.json");
    scene.see("checkpoint save x < latin1.json");
    scene.see(r#"echo '{"files":{"a":"relative"}}' | checkpoint save x"#);
    assert_data_eq!(scene.transcript(), file!["snapshots/bad_input/json.txt"].raw());
    assert!(!scene.file("m/pending/x.json").exists() && !scene.file("m/checkpoints/x.json").exists());
}

#[test]
fn an_answer_that_fits_nothing_is_refused() {
    let mut scene = Scene::new();
    scene.see("ask-answer none yes");
    scene.ok("ask-post How? -w w -o merge='Merge it' -o keep='Keep both' --no-free-text");
    scene.see("ask-answer none yes");
    scene.see("ask-answer w split");
    scene.see("ask-answer w merge it");
    scene.see("ask-answer w");
    scene.see("ask-answer w merge --round 01890000-0000-7000-8000-000000000000");
    scene.see("ask-answer w merge --round 7");
    scene.ok("ask-answer w merge --by bob");
    scene.see("ask-answer w keep");
    scene.see("ask-answer decline w");
    scene.see("ask-answer cancel w");
    scene.ok("ask-post 'How many?' -w n -t number; ask-post 'Really?' -w y -t yes_no");
    scene.see("ask-answer n seven");
    scene.see("ask-answer y maybe");
    scene.ok(r#"echo '{"questions":[{"id":"db","question":"Which?","options":["pg"]},{"id":"n","question":"Many?","type":"number"}]}' | ask-post -w b --file -"#);
    scene.see("ask-answer b pg");
    scene.see("ask-answer b db=pg");
    scene.see("ask-answer b db=pg n=1 n=2");
    scene.see("ask-answer b db=pg n=x");
    assert_data_eq!(scene.transcript(), file!["snapshots/bad_input/answers.txt"].raw());
}

#[test]
fn a_checkpoint_that_cannot_be_resumed_from_is_refused_when_the_question_is_posted() {
    let mut scene = Scene::new();
    scene.ok("echo '{\"workflow_id\":\"other\"}' > other.json; printf '{\"current_step\": \"rev' > torn.json");
    scene.see("ask-post How? -w w -c missing.json");
    scene.see("ask-post How? -w w -c torn.json");
    scene.see("ask-post How? -w w -c other.json");
    scene.see("ask-post How? -w w -c ''");
    scene.see("checkpoint get w user_answer");
    scene.see("checkpoint validate torn.json");
    scene.see("checkpoint validate ./none.json");
    scene.see("echo '{\"workflow_id\":\"other\"}' | checkpoint save w");
    scene.ok("echo '{}' | checkpoint save w; printf '{' > m/checkpoints/w.json");
    scene.see("ask-post How? -w w");
    scene.see("checkpoint env w");
    scene.see("checkpoint step w next");
    scene.see("checkpoint rm none");
    assert_data_eq!(scene.transcript(), file!["snapshots/bad_input/checkpoints.txt"].raw());
    assert!(!scene.file("m/pending/w.json").exists());
}

#[test]
fn arguments_that_make_no_sense_are_usage_errors() {
    let mut scene = Scene::new();
    for script in [
        "ask-post",
        "ask-post --colour red How?",
        "ask-post How? is it",
        "ask-post How? --default yes",
        "ask-post How? --on-expiry cancel",
        "ask-post How? --timeout soon",
        "ask-post How? --wait 5",
        "ask-post How? -t guess",
        "ask-post How? -o a=1 -o a=2",
        "ask-post How? --file x.json",
        "ask-post --batch",
        "ask-post --batch -w x --file y",
        "ask-post --file missing.json",
        "ask-post \"$(printf 'caf\\351')\"",
        "ask-post ''",
        "ask-post How? -t choice",
        "ask-post How? -o =x",
        "ask-answer",
        "ask-answer lst",
        "ask-answer show",
        "ask-answer list all",
        "ask-answer show w --format yaml",
        "ask-answer --note x",
        "checkpoint",
        "checkpoint frobnicate",
        "checkpoint get w",
        "checkpoint path",
        "checkpoint env w --prefix 'x;y'",
        "checkpoint save w --file-ref backup",
        "checkpoint set w workflow_id x",
        "checkpoint set w a x --as-json",
        "env -u HOME -u ASKBOX_DIR ask-post How?",
        "ask-post How? --mailbox ''",
    ] {
        scene.see(script);
    }
    assert_data_eq!(scene.transcript(), file!["snapshots/bad_input/arguments.txt"].raw());
}
