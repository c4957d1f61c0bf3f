//! The mailbox as files: owners, modes, links, names, leftovers.

use super::*;

#[test]
fn doctor_reports_files_of_another_user() {
    needs!("root");
    let world = well();
    world.sh("chown 4242 m/closed/*");
    finds_and_mends(&world, "owner", "closed/seed.");
    world.sh("chown 4242 m/pending");
    finds_and_mends(&world, "owner", "pending");
}

#[test]
fn doctor_reports_links_in_the_mailbox() {
    let world = well();
    world.sh("mv m/pending elsewhere && ln -s ../elsewhere m/pending");
    finds_and_mends(&world, "link", "pending");
    world.sh("ask-post -w other 'Really?' && mv m/pending/other.json file && ln -s ../../file m/pending/other.json");
    finds_and_mends(&world, "link", "pending/other.json");
    world.sh("mkdir outside; ln -s ../outside m/costs || { rmdir m/costs && ln -s ../outside m/costs; }");
    finds_and_mends(&world, "link", "costs");
    world.sh("ln -s ../../outside m/runs/linked");
    finds_and_mends(&world, "link", "runs/linked");
    world.sh("mv m real && ln -s real m");
    let mend = finds(&world, "link", "/m");
    world.sh(&format!("{mend}; askbox doctor"));
}

#[test]
fn doctor_reports_entries_that_no_program_would_make() {
    let world = well();
    world.sh("mkfifo m/answered/x.json");
    finds(&world, "no_file", "answered/x.json");
    world.sh("rm m/answered/x.json && echo '{}' > m/closed/x.json && touch -d '1 hour ago' m/closed/x.json");
    finds(&world, "stray", "closed/x.json");
    world.sh("rm m/closed/x.json && touch m/pending/x.json.tmp m/timers/x");
    // Young: somebody may be about to move it.
    assert_eq!(findings(&world), [] as [Value; 0]);
    world.sh("touch -d '2 hours ago' m/timers/x");
    finds_and_mends(&world, "stray", "timers/x");
    world.sh("touch -d '2 hours ago' m/pending/x.json.tmp");
    let mend = finds(&world, "stray", "pending/x.json.tmp");
    world.sh(&mend);
    finds(&world, "quarantined", "x.json.tmp");
}

#[test]
fn doctor_reports_temporary_files_of_dead_programs() {
    let world = well();
    world.sh("mkdir -p m/runs/w/q/1; for f in m/.tmpA m/pending/.tmpB m/runs/w/q/1/.tmpC; do touch $f; done");
    assert_eq!(findings(&world), [] as [Value; 0], "they are young");
    world.sh("touch -d '2 hours ago' m/.tmpA m/pending/.tmpB m/runs/w/q/1/.tmpC");
    let found = findings(&world);
    assert_eq!(found.len(), 3, "{found:#?}");
    for finding in found {
        assert_eq!(finding["kind"], "leftover");
        world.sh(finding["mend"].as_str().unwrap());
    }
    assert_eq!(findings(&world), [] as [Value; 0]);
}

#[test]
fn doctor_reports_a_question_moved_aside_and_never_put_back() {
    let world = well();
    world.sh(
        "ask-post -w lost 'Where am I?' >/dev/null; mv m/pending/lost.json m/pending/.tmpretired.lost.01a1ff87-0000-7000-8000-000000000000",
    );
    world.sh("touch -d '2 hours ago' m/pending/.tmpretired.*");
    finds_and_mends(&world, "half_done", ".tmpretired.lost");
    assert!(world.sh("ask-answer show lost").contains("Where am I?"));
}

#[test]
fn a_quarantined_file_can_be_edited_and_put_back() {
    let world = well();
    let mailbox = askbox::mailbox::Mailbox::open(world.mailbox()).unwrap();
    world.sh("echo '{' > m/pending/w.json && sleep 3.2");
    askbox::mailbox::transitions::intake::take_in(&mailbox, "w.json".as_ref()).unwrap();
    let mend = finds(&world, "quarantined", "quarantine/w.json");
    let problem = findings(&world)[0]["problem"].as_str().unwrap().to_owned();
    assert!(problem.contains("ends in the middle of the JSON") && problem.contains("to discard it: rm -f"), "{problem}");
    let editor = editor(&world, r#"{"question":"Whole?","workflow_id":"w"}"#);
    world.sh(&(editor + &mend));
    assert_eq!(findings(&world), [] as [Value; 0]);
    assert!(world.sh("ask-answer show w").contains("Whole?"));
    world.sh("echo why > m/quarantine/x.json.reason && touch -d '1 hour ago' m/quarantine/*");
    finds_and_mends(&world, "leftover", "x.json.reason");
}

#[test]
fn doctor_reports_a_mailbox_on_a_read_only_filesystem() {
    needs!("mount");
    let world = well();
    let ran = world.shell("unshare -m sh -c 'mount --bind m m && mount -o remount,bind,ro m && askbox doctor'");
    assert_eq!(ran.code(), 1, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("1 problem found") && ran.stdout.contains("read_only: "), "{}", ran.stdout);
    assert!(ran.stdout.contains("its filesystem is mounted read-only") && ran.stdout.contains("remount,rw"), "{}", ran.stdout);
}

#[test]
fn a_file_that_was_named_as_the_mailbox_is_not_moved() {
    let world = well();
    std::fs::write(world.path("notes.txt"), "mine").unwrap();
    for named in ["askbox doctor --json --mailbox notes.txt", "ASKBOX_DIR=$PWD/notes.txt askbox doctor --json"] {
        let ran = world.shell(named);
        assert!(ran.stdout.contains("is not a folder") && !ran.stdout.contains("mv -n"), "{}", ran.words());
    }
}

mod promises {
    use super::*;

    #[test]
    fn doctor_reports_folders_and_files_open_to_others() {
        let world = well();
        for (make, subject) in [
            ("chmod 777 m", "/m"),
            ("chmod 755 m", "/m"),
            ("chmod 775 m/pending", "pending"),
            ("chmod 500 m/running", "running"),
            ("chmod 666 m/closed/*", "closed/seed."),
            ("chmod 622 m/audit.jsonl", "audit.jsonl"),
            ("chmod 200 m/closed/*", "closed/seed."),
        ] {
            world.sh(make);
            finds_and_mends(&world, "mode", subject);
        }
    }

    #[test]
    fn doctor_moves_a_folder_out_of_the_quarantine() {
        let world = well();
        world.sh("mkdir -p m/quarantine/x.json/inner; echo 'from pending/: it is a folder' > m/quarantine/x.json.reason");
        finds_and_mends(&world, "quarantined", "quarantine/x.json");
        assert!(world.path("x.json.aside/inner").is_dir() && !world.in_mailbox("quarantine/x.json.reason").exists());
    }

    #[test]
    fn doctor_says_that_a_mailbox_open_to_all_is_not_used() {
        let world = well();
        world.sh("chmod 777 m");
        let said = world.run("askbox", &["doctor"]).stdout;
        assert!(said.contains("every user of this machine may write to it (mode 0777), so no program of askbox opens it"), "{said}");
        assert!(said.contains("  $ chmod 700 ") && !said.contains("No watcher is running; start one"), "{said}");
    }
}
