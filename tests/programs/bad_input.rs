//! Bad input comes to a documented exit status, one line that says what is wrong, one that says what to do, and nothing half done. The
//! snapshots in `snapshots/bad_input` are whole outputs. After a wanted change: `SNAPSHOTS=overwrite tests/run programs
//! bad_input::`.

use std::os::unix::fs::{PermissionsExt, symlink};

use crate::support::{World, needs};
use snapbox::{assert_data_eq, file};

#[test]
fn a_mailbox_that_others_can_write_to_is_refused() {
    let mut world = World::new();
    world.sh("ask-post How? -w real && chmod 0777 m");
    world.see("ask-post How? -w x");
    world.see("ask-answer list");
    world.sh("chmod 0700 m && chmod o+w m/pending");
    world.see("ask-answer real yes");
    world.see("ask-post How? --mailbox /dev/null");
    assert_data_eq!(world.transcript(), file!["snapshots/bad_input/writable.txt"].raw());
}

#[test]
fn a_folder_that_is_not_utf8_is_named() {
    needs!("bash");
    let world = World::new();
    world.sh("ask-post -w first How?");
    let there =
        |script: &str| world.shell(&format!("bash -c 'mkdir -p $\"work\"/$(printf \"d\\377\") && cd $(printf \"d\\377\") && {script}'"));
    world.sh("mkdir -p $(printf 'd\\377') && echo '{\"workflow_id\": \"c\"}' > $(printf 'd\\377')/c.json");
    let refused = [
        "checkpoint save w --file-ref x=y.md",
        "ask-post -w c -c c.json How?",
        "ask-post -w c --until-file y.md",
        "ask-post -w c How?",
        "relaunch run --prompt hello",
    ];
    for command in refused {
        let out = there(command);
        assert_eq!(out.code(), 2, "{command}: {out:?}");
        assert!(out.stderr.contains("/d\\377") && out.stderr.contains("is not UTF-8") && out.stderr.contains("hint: rename"), "{out:?}");
    }
    assert!(!world.path("m/checkpoints/w.json").exists() && !world.path("m/pending/c.json").exists());
    // A file or a folder elsewhere can be named from there.
    assert_eq!(there("checkpoint save w --file-ref x=/tmp/y.md").code(), 0);
    assert_eq!(world.sh("checkpoint get w files.x"), "/tmp/y.md");
    assert_eq!(there(r#"echo "{\"question\": \"How?\", \"cwd\": \"/tmp\"}" | ask-post -w w --file -"#).code(), 0);
    assert_eq!(world.json("m/pending/w.json")["cwd"], "/tmp");
}

#[test]
fn a_post_or_a_run_from_a_deleted_folder_is_refused() {
    let world = World::new();
    world.sh("ask-post -w first How?");
    for command in ["ask-post -w w How?", "relaunch run -w w --prompt hello", "relaunch spawn -w w --prompt hello"] {
        let out = world.shell(&format!("mkdir gone && cd gone && rmdir ../gone && {command}"));
        assert_eq!(out.code(), 2, "{command}: {out:?}");
        assert!(out.stderr.contains("working folder") && out.stderr.contains("hint: cd to a folder that exists"), "{out:?}");
    }
    assert_eq!((world.names("pending"), world.names("running").len()), (vec!["first.json".to_owned()], 0));
}

/// A watcher would look for a relative folder below its own.
#[test]
fn a_relative_folder_is_kept_as_the_asker_sees_it() {
    let world = World::new();
    let here = world.sh("pwd -P");
    world.sh(r#"echo '{"question": "How?", "cwd": "sub"}' | CLAUDE_CONFIG_DIR='~/.claude-work' ask-post -w w --file -"#);
    let question = world.json("m/pending/w.json");
    assert_eq!(question["cwd"], format!("{here}/sub"));
    assert_eq!(question["config_dir"], format!("{here}/sub/~/.claude-work"));
}

#[test]
fn a_wrong_option_or_time_in_a_document_says_what_to_write() {
    let world = World::new();
    for (document, problem, hint) in [
        (r#"{"question": "?", "options": [{"label": "Merge", "value": "merge"}]}"#, "has `value` beside `label`", "hint: keep `label`"),
        (r#"{"question": "?", "options": ["a", 7]}"#, "an option is text, or an object with `label`", "hint: "),
        (
            r#"{"questions": [{"question": "?", "options": [{"label": "a", "key": "b"}]}]}"#,
            "has `key` beside `label`",
            "hint: keep `label`",
        ),
        (
            r#"{"question": "?", "expires_at": "2026-11-23T18:00:00"}"#,
            "expires_at: is not a time with its offset",
            "2026-11-23T18:00:00+01:00",
        ),
        (r#"{"question": "?", "expires_at": "tomorrow"}"#, "expires_at: is not a time with its offset", "2026-11-23T18:00:00Z"),
        (r#"{"question": "?", "until": {"at": "2026-11-23 18:00"}}"#, "is not a time with its offset", "2026-11-23T18:00:00Z"),
    ] {
        std::fs::write(world.path("q.json"), document).unwrap();
        let said = world.refused(5, "ask-post -w w --file q.json");
        assert!(said.contains(problem) && said.contains(hint), "{document}: {said}");
    }
}

mod promises {
    use snapbox::file;

    use super::*;

    #[test]
    fn an_id_that_could_leave_the_mailbox_is_always_refused() {
        let mut world = World::new();
        for id in ["../x", "/etc/passwd", "", ".", "a..b", "a/b", "$(head -c 300 /dev/zero | tr '\\0' a)", "$(printf 'a\\033[31m')"] {
            world.see(&format!("ask-post How? -w \"{id}\""));
        }
        world.sh("ask-post How? -w real");
        world.see("ask-answer ../pending/real yes");
        world.see("ask-answer show ..");
        world.see("checkpoint get ../../etc x");
        world.see("WORKFLOW_ID=../x ask-post How?");
        world.see("WORKFLOW_ID=ok ASKBOX_WORKFLOW_ID=/x ask-post How?");
        world.see("checkpoint path .hidden");
        assert_data_eq!(world.transcript(), file!["snapshots/bad_input/ids.txt"].raw());
        assert!(!world.path("x.json").exists() && !world.path("m/x.json").exists());
    }

    #[test]
    fn a_byte_order_mark_of_an_editor_is_skipped_everywhere() {
        let world = World::new();
        let put = |name: &str, text: &str| std::fs::write(world.path(name), format!("\u{feff}{text}")).unwrap();
        put("q.json", r#"{"question": "Which?", "options": ["a", "b"]}"#);
        put("all.json", r#"[{"question": "One?", "workflow_id": "one"}, {"question": "Two?", "workflow_id": "two"}]"#);
        put("c.json", r#"{"workflow_id": "with", "current_step": "here"}"#);
        put("a.json", r#""a""#);
        put("r.json", r#"{"answers": {"Which?": "b"}}"#);
        put("words.txt", "because");
        world.sh("ask-post -w file --file q.json && ask-post -w stdin --file - < q.json && ask-post --batch --file all.json");
        world.sh("checkpoint save with < c.json && checkpoint save with --file c.json");
        assert_eq!(world.sh("checkpoint get with current_step"), "here");
        world.sh("rm -r m/checkpoints/with.json && ask-post How? -w with -c $PWD/c.json && ask-answer with yes");
        world.sh("ask-answer file --file a.json && ask-answer stdin --file - < r.json && ask-answer one - < words.txt");
        for (id, value) in [("file", "a"), ("stdin", "b"), ("one", "because")] {
            assert_eq!(world.json(format!("m/answered/{id}.json"))["answer"]["value"], value);
        }
        // Files made by hand.
        put("m/pending/hand.json", r#"{"question": "By hand?", "workflow_id": "hand"}"#);
        assert!(world.sh("ask-answer list").contains("By hand?"));
        world.sh("ask-answer hand yes && relaunch prompt hand");
        put("m/answered/done.json", r#"{"question": "Done?", "workflow_id": "done", "answer": {"value": "yes"}}"#);
        assert!(world.sh("relaunch prompt done").contains("yes"));
        assert!(world.sh("ls m/quarantine m/parked").lines().all(|line| line.ends_with(':') || line.is_empty()));
    }

    #[test]
    fn links_are_not_followed() {
        let mut world = World::new();
        world.sh("ask-post How? -w real && mv m/pending/real.json elsewhere.json && echo '{}' > checkpoint.json");
        symlink(world.path("elsewhere.json"), world.path("m/pending/real.json")).unwrap();
        symlink(world.path("checkpoint.json"), world.path("m/checkpoints/c.json")).unwrap();
        symlink(world.mailbox(), world.path("linked")).unwrap();
        world.see("ask-answer real yes");
        world.see("ask-answer list");
        world.see("ask-post How? -w real");
        world.see("checkpoint show c");
        world.see("ask-post How? -w c");
        world.see("ask-post How? -w d -c m/checkpoints/c.json");
        world.see("ask-answer list --mailbox linked");
        world.sh("mv m/pending p && ln -s ../p m/pending");
        world.see("ask-post How? -w through-a-link");
        assert_data_eq!(world.transcript(), file!["snapshots/bad_input/links.txt"].raw());
        assert!(!world.path("p/through-a-link.json").exists());
    }

    #[test]
    fn files_of_another_user_are_refused() {
        needs!("root");
        let mut world = World::new();
        world.sh("ask-post How? -w real && ask-post How? -w other && echo '{}' | checkpoint save c");
        // For root everything of root's own is its own: so somebody without rights looks at root's mailbox, and root at theirs.
        std::fs::set_permissions(world.root(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let ran = world.shell_as(65_534, "ask-post How? -w x");
        world.write_down("(as user 65534) ask-post How? -w x", &ran);
        world.sh("chown 12345 m/pending/real.json m/checkpoints/c.json");
        world.see("ask-answer real yes");
        world.see("checkpoint get c x");
        world.sh("chown 12345 m");
        world.see("ask-answer other yes");
        assert_data_eq!(world.transcript(), file!["snapshots/bad_input/owners.txt"].raw());
    }

    #[test]
    fn a_read_only_mailbox_is_a_clear_failure_and_stays_as_it_was() {
        let mut world = World::new();
        world.sh("ask-post How? -w real && echo '{}' | checkpoint save real");
        std::fs::set_permissions(world.root(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let root = rustix::process::geteuid().is_root();
        // Root writes everywhere; so the mailbox is given to somebody who does not.
        world.sh(if root { "chown -R 65534:65534 m && chmod -R a-w m" } else { "chmod -R a-w m" });
        for script in
            ["ask-post How? -w x", "ask-answer real yes", "checkpoint set real context x", "ask-answer cancel real", "checkpoint rm real"]
        {
            let ran = if root { world.shell_as(65_534, script) } else { world.shell(script) };
            world.write_down(script, &ran);
        }
        world.sh("chmod -R u+w m");
        assert!(world.path("m/pending/real.json").exists() && !world.path("m/pending/x.json").exists());
        assert_data_eq!(world.transcript(), file!["snapshots/bad_input/read_only.txt"].raw());
    }

    #[test]
    fn a_file_that_is_too_large_is_not_read() {
        let mut world = World::new();
        world.sh("ask-post How? -w real && truncate -s 100M big.json && cp big.json m/pending/big.json");
        world.see("ask-post -w x --file big.json");
        world.see("ask-post -w x --file - < big.json");
        world.see("ask-post -w x - < big.json");
        world.see("ask-post --batch --file big.json");
        world.see("ask-answer big yes");
        world.see("ask-answer real - < big.json");
        world.see("ask-answer real --file big.json");
        world.see("checkpoint save x < big.json");
        world.see("ask-post How? -w x -c \"$PWD/big.json\"");
        assert_data_eq!(world.transcript(), file!["snapshots/bad_input/sizes.txt"].raw());
    }

    #[test]
    fn json_that_programs_cannot_use_is_refused_by_field() {
        let mut world = World::new();
        let deep = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
        std::fs::write(world.path("deep.json"), format!(r#"{{"question":"?","x":{}}}"#, deep(100_000))).unwrap();
        std::fs::write(world.path("deep-batch.json"), deep(100_000)).unwrap();
        std::fs::write(world.path("latin1.json"), b"{\"question\": \"caf\xe9\"}").unwrap();
        world.sh("ask-post How? -w real && cp deep.json m/pending/deep.json");
        world.see("ask-post -w x --file deep.json");
        world.see("ask-post --batch --file deep-batch.json");
        world.see("ask-post -w x --file latin1.json");
        world.see(r#"echo '{"question":"a","question":"b"}' | ask-post -w x --file -"#);
        world.see(r#"echo '{"question":"a","options":{"k":"1","k":"2"}}' | ask-post -w x --file -"#);
        world.see(
            r#"echo '{"question":"a","closed":{"state":"delivered","at":"2026-01-01T00:00:00Z","by":"me"}}' | ask-post -w x --file -"#,
        );
        world.see(r#"echo '{"question":"a","workflow_id":"../x"}' | ask-post --file -"#);
        world.see(r#"echo '{"question":"a","workflow_id":"y"}' | ask-post -w x --file -"#);
        world.see(r#"echo '{"question":"a","type":"guess"}' | ask-post -w x --file -"#);
        world.see(r#"printf '{"question":"a' | ask-post -w x --file -"#);
        world.see(r#"echo '"text"' | ask-post -w x --file -"#);
        world.see(r#"echo '{}' | ask-post -w x --file -"#);
        world.see(r#"echo '[]' | ask-post --batch --file -"#);
        world.see("ask-answer deep yes");
        world.see("ask-answer real --file deep.json");
        world.see("ask-answer real --file deep-batch.json");
        world.see("ask-answer real - < latin1.json");
        world.see(r#"echo '{"answers":{"How?":"a","How?":"b"}}' | ask-answer real --file -"#);
        world.see("echo null | ask-answer real --file -");
        world.see("checkpoint save x < deep.json");
        world.see("checkpoint save x < latin1.json");
        world.see(r#"echo '{"files":{"a":"relative"}}' | checkpoint save x"#);
        assert_data_eq!(world.transcript(), file!["snapshots/bad_input/json.txt"].raw());
        assert!(!world.path("m/pending/x.json").exists() && !world.path("m/checkpoints/x.json").exists());
    }

    #[test]
    fn an_answer_that_does_not_fit_the_question_is_refused() {
        let mut world = World::new();
        world.see("ask-answer none yes");
        world.sh("ask-post How? -w w -o merge='Merge it' -o keep='Keep both' --no-free-text");
        world.see("ask-answer none yes");
        world.see("ask-answer w split");
        world.see("ask-answer w merge it");
        world.see("ask-answer w");
        world.see("ask-answer w merge --round 01890000-0000-7000-8000-000000000000");
        world.see("ask-answer w merge --round 7");
        world.sh("ask-answer w merge --by bob");
        world.see("ask-answer w keep");
        world.see("ask-answer decline w");
        world.see("ask-answer cancel w");
        world.sh("ask-post 'How many?' -w n -t number; ask-post 'Really?' -w y -t yes_no");
        world.see("ask-answer n seven");
        world.see("ask-answer y maybe");
        world.sh(r#"echo '{"questions":[{"id":"db","question":"Which?","options":["pg"]},{"id":"n","question":"Many?","type":"number"}]}' | ask-post -w b --file -"#);
        world.see("ask-answer b pg");
        world.see("ask-answer b db=pg");
        world.see("ask-answer b db=pg n=1 n=2");
        world.see("ask-answer b db=pg n=x");
        assert_data_eq!(world.transcript(), file!["snapshots/bad_input/answers.txt"].raw());
    }

    #[test]
    fn an_unusable_checkpoint_is_refused_by_the_post() {
        let mut world = World::new();
        world.sh("echo '{\"workflow_id\":\"other\"}' > other.json; printf '{\"current_step\": \"rev' > torn.json");
        world.see("ask-post How? -w w -c missing.json");
        world.see("ask-post How? -w w -c torn.json");
        world.see("ask-post How? -w w -c other.json");
        world.see("ask-post How? -w w -c ''");
        world.see("checkpoint get w user_answer");
        world.see("checkpoint validate torn.json");
        world.see("checkpoint validate ./none.json");
        world.see("echo '{\"workflow_id\":\"other\"}' | checkpoint save w");
        world.sh("echo '{}' | checkpoint save w; printf '{' > m/checkpoints/w.json");
        world.see("ask-post How? -w w");
        world.see("checkpoint env w");
        world.see("checkpoint step w next");
        world.see("checkpoint rm none");
        assert_data_eq!(world.transcript(), file!["snapshots/bad_input/checkpoints.txt"].raw());
        assert!(!world.path("m/pending/w.json").exists());
    }

    #[test]
    fn every_program_with_senseless_arguments_says_how_to_call_it() {
        let mut world = World::new();
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
            world.see(script);
        }
        assert_data_eq!(world.transcript(), file!["snapshots/bad_input/arguments.txt"].raw());
    }
}
