//! Names that are not UTF-8, or that a terminal or a shell would misread.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use crate::support::{World, needs, output, until};

mod promises {
    use super::*;

    #[test]
    fn a_file_name_that_is_not_utf8_goes_to_quarantine() {
        needs!("bash");
        let world = World::new();
        world.make_mailbox();
        let question = r#"{"workflow_id": "docs", "question": "Merge?"}"#;
        let long = [b"l".repeat(250).as_slice(), b".json"].concat();
        let names: [&[u8]; 5] = [b"caf\xe9.json", b"new\nline.json", b"esc\x1b[31m'q\\.json", b"-rf.json", &long];
        let pending = world.in_mailbox("pending");
        for name in names {
            std::fs::write(pending.join(OsStr::from_bytes(name)), question).unwrap();
        }
        let watcher = world.watch();
        let of = |folder: &str| -> Vec<Vec<u8>> {
            std::fs::read_dir(world.in_mailbox(folder)).unwrap().map(|e| e.unwrap().file_name().as_bytes().to_owned()).collect()
        };
        until("all are in quarantine, with their reasons", || of("quarantine").len() == 2 * names.len() && of("pending").is_empty());
        watcher.kill();
        for name in &names[..4] {
            assert!(of("quarantine").contains(&name.to_vec()), "{name:?} lost its name");
        }
        let report: serde_json::Value = serde_json::from_str(&world.run("askbox", &["doctor", "--json"]).stdout).unwrap();
        let findings = report["findings"].as_array().unwrap();
        let mends: Vec<&str> = findings.iter().filter(|f| f["kind"] == "quarantined").map(|f| f["mend"].as_str().unwrap()).collect();
        assert_eq!(mends.len(), names.len(), "{report:#}");
        for mend in mends {
            assert!(!mend.chars().any(char::is_control), "{mend:?}");
            let done = output(world.any_command("bash").arg("-c").arg(mend).env("EDITOR", "true"));
            assert!(done.status.success(), "{mend}: {}", done.words());
        }
        assert_eq!(of("quarantine"), Vec::<Vec<u8>>::new(), "a command missed its file");
        assert_eq!(of("pending").len(), names.len());
        for name in &names[..4] {
            assert!(of("pending").contains(&name.to_vec()), "{name:?} did not come back");
        }
    }

    #[test]
    fn a_mailbox_path_with_a_newline_or_not_utf8_is_refused() {
        let world = World::new();
        for name in [b"mail\xffbox".as_slice(), b"mail\nbox"] {
            let path = world.path(OsStr::from_bytes(name));
            for by_hand in [false, true] {
                if by_hand {
                    std::fs::create_dir_all(path.join("pending")).unwrap();
                }
                for (program, args) in [
                    ("ask-post", &["Merge?"] as &[&str]),
                    ("ask-answer", &["list"]),
                    ("checkpoint", &["list"]),
                    ("relaunch", &["status"]),
                    ("relaunch", &["watch"]),
                    ("askbox", &["doctor"]),
                    ("askbox", &["init", "--service"]),
                ] {
                    let out = output(world.command(program).args(args).env("ASKBOX_DIR", &path));
                    assert_eq!(out.status.code(), Some(2), "{program} {args:?}: {}", out.words());
                    assert!(out.words().contains("the mailbox path") && out.words().contains("box'"), "{program}: {}", out.words());
                    assert!(out.words().lines().count() <= 2, "{program}: {}", out.words());
                }
                assert_eq!(path.exists(), by_hand);
            }
        }
    }

    #[test]
    fn a_file_that_holds_another_document_is_told_from_a_torn_one() {
        let world = World::new();
        world.make_mailbox();
        let put = |below: &str, text: &str| std::fs::write(world.in_mailbox(below), text).unwrap();
        put("pending/other.json", r#"{"workflow_id": "docs", "question": "Merge?"}"#);
        put("pending/state.json", r#"{"workflow_id": "state", "current_step": "draft"}"#);
        put("pending/torn.json", r#"{"workflow_id": "torn", "question": "Mer"#);
        put("pending/zeros.json", "\0\0\0\0");
        put("pending/empty.json", "");
        let watcher = world.watch();
        for (name, words) in [
            ("other.json", "holds another document: a question of docs"),
            ("state.json", "holds another document: a checkpoint of state"),
            ("torn.json", "the file is torn"),
            ("zeros.json", "only zeros"),
            ("empty.json", "the file is empty"),
        ] {
            let reason = world.reason(name);
            assert!(reason.contains(words), "{name}: {reason}");
            assert!(name == "torn.json" || !reason.contains("the file is torn"), "{name}: {reason}");
        }
        watcher.kill();
    }

    #[test]
    fn a_claimed_name_on_another_rounds_document_is_not_delivered() {
        let world = World::stepping("work");
        world.ask_and_answer("docs");
        let claimed = "running/other.01a20535-7c1c-70f4-93d9-68b4a24a55aa.json";
        std::fs::copy(world.in_mailbox("answered/docs.json"), world.in_mailbox(claimed)).unwrap();
        std::fs::remove_file(world.in_mailbox("answered/docs.json")).unwrap();
        let watcher = world.watch();
        let reason = world.reason("other.01a20535-7c1c-70f4-93d9-68b4a24a55aa.json");
        watcher.kill();
        assert!(reason.contains("holds another document: a question of docs"), "{reason}");
        assert_eq!(world.logged("start "), 0, "{:#?}", world.log());
    }
}
