//! The files beside a question: what is taken, what is shown, and what goes with the round.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use serde_json::json;
use sha2::{Digest, Sha256};

use crate::support::{World, files, names};

const DIFF: &str = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n";
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

/// A mailbox, and a question `fix` with a diff and an image.
fn asked() -> World {
    let world = World::new();
    fs::write(world.path("fix.diff"), DIFF).unwrap();
    fs::write(world.path("shot.png"), PNG).unwrap();
    world.sh("ask-post Apply? -w fix -t yes_no --attach fix.diff --attach shot.png");
    world
}

/// The folder of the files of the open question `fix`.
fn folder(world: &World) -> PathBuf {
    world.in_mailbox(format!("attachments/fix.{}", world.round("fix")))
}

/// The file that holds the diff.
fn diff(world: &World) -> PathBuf {
    folder(world).join(hash(DIFF.as_bytes()))
}

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Makes a folder look unchanged for two hours.
fn age(folder: &std::path::Path) {
    fs::File::open(folder).unwrap().set_modified(SystemTime::now() - Duration::from_secs(7200)).unwrap();
}

#[test]
fn files_of_a_killed_post_go_after_an_hour() {
    let world = asked();
    let asked = folder(&world);
    let attachments = world.in_mailbox("attachments");
    let copy = |name: &str| {
        let folder = attachments.join(name);
        fs::create_dir(&folder).unwrap();
        fs::copy(diff(&world), folder.join(hash(DIFF.as_bytes()))).unwrap();
        folder
    };
    let killed = copy("fix.019ab3c2-77aa-7c31-9b0e-5d2f6a1c8e44");
    let young = copy("other.019ab3c2-77aa-7c31-9b0e-5d2f6a1c8e45");
    let quarantined = copy("bad.019ab3c2-77aa-7c31-9b0e-5d2f6a1c8e46");
    let foreign = copy("somebody's notes");
    fs::write(world.in_mailbox("quarantine/bad.json"), "{").unwrap();
    fs::write(killed.join(".tmp0a1b2c3d4e5f"), "half").unwrap();
    [&asked, &killed, &quarantined, &foreign].into_iter().for_each(|folder| age(folder));
    world.ok("askbox", &["gc"]);
    assert!(!killed.exists() && young.exists() && quarantined.exists() && foreign.exists() && asked.exists());
    // Also while the question is answered, and an unreadable document may be the one that names the files.
    world.ok("ask-answer", &["fix", "yes"]);
    age(&asked);
    world.ok("askbox", &["gc"]);
    fs::write(world.in_mailbox("answered/fix.json"), "{").unwrap();
    world.run("askbox", &["gc"]);
    assert!(asked.exists());
}

mod promises {
    use super::*;

    #[test]
    fn the_mailbox_keeps_a_private_copy_of_each_file() {
        let world = asked();
        assert_eq!(
            world.document("pending/fix.json")["attachments"],
            json!([
                {"name": "fix.diff", "type": "text/x-diff", "size": DIFF.len(), "sha256": hash(DIFF.as_bytes())},
                {"name": "shot.png", "type": "image/png", "size": PNG.len(), "sha256": hash(PNG)},
            ])
        );
        let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(folder(&world)), mode(diff(&world))), (0o700, 0o600));
        // The agent changes its own file afterwards.
        fs::write(world.path("fix.diff"), "harmless").unwrap();
        assert_eq!(world.run("ask-answer", &["show", "fix", "--attachment", "fix.diff"]).stdout, DIFF);
        let out = world.run("ask-answer", &["show", "fix", "--attachment", "shot.png"]);
        assert_eq!(out.code(), 0, "{out:?}");
        let shown = world.ok("ask-answer", &["show", "fix"]);
        let lines = format!(
            "Beside the question: fix.diff (diff, {} bytes)\n    | --- a/x\n    | +++ b/x\n    | @@ -1 +1 @@\n    | -old\n    | +new\n",
            DIFF.len()
        );
        assert!(shown.contains(&lines) && shown.contains("ask-answer show fix --attachment shot.png > FILE"), "{shown}");
    }

    #[test]
    fn bytes_that_are_not_the_attached_ones_are_not_shown() {
        for (damage, says) in [
            (
                (&|path: &PathBuf| fs::write(path, DIFF.replace("new", "NEW")).unwrap()) as &dyn Fn(&PathBuf),
                "is not the one that was attached",
            ),
            (&|path: &PathBuf| fs::remove_file(path).unwrap(), "is missing from the mailbox"),
            (&|path: &PathBuf| fs::write(path, vec![b'x'; 2 << 20]).unwrap(), "cannot be read"),
            (
                &|path: &PathBuf| {
                    fs::rename(path, path.with_extension("moved")).unwrap();
                    symlink(path.with_extension("moved"), path).unwrap();
                },
                "is a symbolic link",
            ),
            (
                &|path: &PathBuf| {
                    let round = path.parent().unwrap();
                    fs::rename(round, round.with_extension("moved")).unwrap();
                    symlink(round.with_extension("moved"), round).unwrap();
                },
                "behind a symbolic link",
            ),
        ] {
            let world = asked();
            damage(&diff(&world));
            let shown = world.ok("ask-answer", &["show", "fix"]);
            assert!(shown.contains("NOT SHOWN") && shown.contains(says) && !shown.contains("| +"), "{shown}");
            let refused = world.refused(1, "ask-answer show fix --attachment fix.diff");
            assert!(refused.contains(says), "{refused}");
            // The question can still be decided. The person is told.
            let out = world.run("ask-answer", &["fix", "yes"]);
            assert!(out.code() == 0 && out.stderr.contains("not all of its files can be shown"), "{out:?}");
        }
        let world = asked();
        fs::remove_file(diff(&world)).unwrap();
        let out = world.run("ask-answer", &["decline", "fix"]);
        assert!(out.code() == 0 && !out.stderr.contains("files"), "{out:?}");
    }

    #[test]
    fn no_link_leads_the_files_out_of_the_mailbox() {
        let world = World::new();
        world.make_mailbox();
        fs::create_dir(world.path("outside")).unwrap();
        symlink(world.path("outside"), world.in_mailbox("attachments")).unwrap();
        fs::write(world.path("fix.diff"), DIFF).unwrap();
        world.refused(1, "ask-post Apply? -w fix --attach fix.diff");
        assert!(names(&world.path("outside")).is_empty() && world.names("pending").is_empty());
    }

    #[test]
    fn files_that_nobody_could_look_at_are_refused() {
        let world = World::new();
        world.sh("printf 'a\\0b' >binary; : >empty; head -c 1048577 /dev/zero | tr '\\0' x >long.txt; printf x >x; mkdir d; printf y >d/x");
        world.sh("printf '\\211PNG\\r\\n\\032\\n' >big.png; head -c 4194304 /dev/zero >>big.png; printf x >\"$(printf 'a\\033b')\"");
        world.sh("printf '\\211PNG\\r\\n\\032\\n' >1.png; head -c 3000000 /dev/zero >>1.png; cp 1.png 2.png; cp 1.png 3.png");
        for (attach, status, says) in [
            ("binary", 5, "`binary` is neither text nor an image"),
            ("empty", 5, "`empty` is empty"),
            ("long.txt", 5, "the limit of a text is 1048576"),
            ("big.png", 5, "limit of 4194304 bytes"),
            ("x --attach d/x", 5, "two files are called `x`"),
            ("1.png --attach 2.png --attach 3.png", 5, "the limit is 8388608"),
            ("\"$(printf 'a\\033b')\"", 5, "is not the name of a file"),
            ("none", 3, "does not exist"),
            (".", 5, "is a folder"),
            ("- --attach - <x", 2, "standard input is named twice"),
            (&["x"; 9].join(" --attach "), 2, "the limit is 8"),
        ] {
            let refused = world.refused(status, &format!("ask-post Apply? -w fix --attach {attach}"));
            assert!(refused.contains(says), "{attach}: {refused}");
        }
        assert!(world.names("pending").is_empty() && !world.in_mailbox("attachments").exists(), "{:?}", files(world.mailbox()));
        let brought = json!({"workflow_id": "fix", "question": "Apply?", "attachments": [{"name": "x", "type": "text/plain", "size": 1, "sha256": hash(b"x")}]});
        let refused = world.run_with("ask-post", &["--file", "-"], brought.to_string().as_bytes());
        assert!(refused.code() == 5 && refused.stderr.contains("are not in the mailbox"), "{refused:?}");
        // A name is only a name: nothing is looked for at the place that it seems to name.
        for name in ["../../x", "/etc/passwd", "."] {
            let mut brought = brought.clone();
            brought["attachments"][0]["name"] = json!(name);
            fs::write(world.in_mailbox("pending/fix.json"), brought.to_string()).unwrap();
            assert_eq!(world.run("ask-answer", &["show", "fix"]).code(), 5, "{name}");
        }
    }

    #[test]
    fn a_post_that_does_not_take_place_leaves_no_files() {
        let world = asked();
        let before = names(&world.in_mailbox("attachments"));
        assert!(world.sh("ask-post Apply? -w fix -t yes_no --attach fix.diff --attach shot.png --json").contains("\"repeated\":true"));
        world.refused(4, "ask-post Apply? -w fix -t yes_no --attach shot.png");
        world.refused(4, "ask-post Apply? -w fix -t yes_no");
        assert_eq!(names(&world.in_mailbox("attachments")), before);
        world.sh("ask-post Apply? -w fix -t yes_no --attach shot.png --supersede");
        assert_eq!(names(&world.in_mailbox("attachments")).len(), 2, "the superseded round keeps its files");
    }

    #[test]
    fn a_question_by_hand_has_the_files_that_were_written_first() {
        let world = World::new();
        world.make_mailbox();
        let round = "019ab3c2-77aa-7c31-9b0e-5d2f6a1c8e44";
        let folder = world.in_mailbox(format!("attachments/hand.{round}"));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(hash(b"a page\n")), "a page\n").unwrap();
        let question = |kind: &str| {
            json!({"workflow_id": "hand", "question_id": round, "question": "Publish?",
               "attachments": [{"name": "page.html", "type": kind, "size": 7, "sha256": hash(b"a page\n")}]})
        };
        fs::write(world.in_mailbox("pending/hand.json"), question("text/plain").to_string()).unwrap();
        let shown = world.ok("ask-answer", &["show", "hand"]);
        assert!(shown.contains("    | a page\n"), "{shown}");
        // A text that is called an image is not what the document says.
        fs::write(world.in_mailbox("pending/hand.json"), question("image/png").to_string()).unwrap();
        assert!(world.ok("ask-answer", &["show", "hand"]).contains("is not the one that was attached"));
        fs::write(world.in_mailbox("pending/hand.json"), question("text/html").to_string()).unwrap();
        assert_eq!(world.run("ask-answer", &["show", "hand"]).code(), 5);
    }

    #[test]
    fn gc_removes_the_files_with_their_round() {
        let world = asked();
        let folder = folder(&world);
        world.ok("ask-answer", &["cancel", "fix"]);
        age(&folder);
        world.ok("askbox", &["gc"]);
        assert_eq!(names(&world.in_mailbox("attachments")).len(), 1, "the round is still there");
        world.ok("askbox", &["gc", "--keep", "0s"]);
        assert!(names(&world.in_mailbox("attachments")).is_empty() && names(&world.in_mailbox("closed")).is_empty());
    }
}
