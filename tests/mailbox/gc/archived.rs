//! `askbox gc` archives old rounds: `history` and `show` still read them, and `zcat` and `jq` do without askbox.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value;

use crate::mailbox::gc::{age, closed, deliver, everything, gc, json, traces, world};
use crate::support::{World, files, names, needs, until};

/// The lines of `history --json`, without the place of each document.
fn history(world: &World, args: &str) -> Vec<Value> {
    let lines = world.sh(&format!("askbox history --json {args}"));
    let without_place = |line: &str| {
        let mut entry: Value = serde_json::from_str(line).expect("JSON");
        assert!(entry.as_object_mut().expect("an object").remove("file").is_some());
        entry
    };
    lines.lines().map(without_place).collect()
}

fn json_of(world: &World, command: &str) -> Value {
    serde_json::from_str(&world.sh(command)).expect("JSON")
}

/// The files in the archives. No file is in two of them.
fn archived_files(world: &World) -> BTreeMap<PathBuf, Vec<u8>> {
    world.sh(
        "rm -rf unpacked; mkdir unpacked; for archive in m/archive/*/*.tar.gz; do tar -xzf $archive -C unpacked --keep-old-files; done",
    );
    let unpacked = world.path("unpacked");
    let in_mailbox = |path: PathBuf| world.in_mailbox(path.strip_prefix(&unpacked).expect("below the folder"));
    files(&unpacked).into_iter().map(|(path, bytes)| (in_mailbox(path), bytes)).collect()
}

#[test]
fn old_audit_files_and_old_bookings_are_archived_whole() {
    let world = world();
    let line = |day: &str| format!("{{\"at\":\"{day}T00:00:00.000Z\",\"event\":\"posted\"}}\n");
    let mut all = String::new();
    for (n, day) in [(9, "2026-01-02"), (5, "2026-01-09"), (2, "2026-02-03")] {
        let text = line(day).repeat(1000);
        std::fs::write(world.in_mailbox(format!("audit.jsonl.{n}")), &text).expect("writable");
        all += &text;
    }
    let young = line("2999-01-01").repeat(10);
    std::fs::write(world.in_mailbox("audit.jsonl.1"), &young).expect("writable");
    std::fs::create_dir_all(world.in_mailbox("costs")).expect("a folder");
    let today = chrono::Utc::now().date_naive();
    for name in ["2026-01-02.jsonl", "2026-01-03.jsonl", "2026-01-03.sum.json", &format!("{today}.jsonl"), "notes.txt"] {
        std::fs::write(world.in_mailbox("costs").join(name), format!("{name}\n")).expect("writable");
    }
    // A killed process had appended this one, but not removed it.
    world.sh("chmod -R go-w m; cp m/audit.jsonl.9 kept");
    gc(&world, &[]);
    world.sh("cp kept m/audit.jsonl.9");
    gc(&world, &[]);
    assert_eq!(world.sh("zcat m/archive/*/audit.*.jsonl.gz"), all.trim_end());
    assert_eq!(world.sh("zcat m/archive/2026-01/costs.*.jsonl.gz"), "2026-01-02.jsonl\n2026-01-03.jsonl");
    assert_eq!(world.sh("cat m/audit.jsonl.1"), young.trim_end());
    assert_eq!(names(world.mailbox()).into_iter().filter(|name| name.starts_with("audit.jsonl.")).collect::<Vec<_>>(), ["audit.jsonl.1"]);
    let mut left = names(&world.in_mailbox("costs"));
    left.sort();
    assert_eq!(left, [format!("{today}.jsonl"), "notes.txt".into()]);
}

/// The example of the guide.
#[test]
fn the_guide_reads_an_archive_without_askbox() {
    needs!("jq");
    let world = world();
    world.past_rounds("docs", 0..3);
    gc(&world, &[]);
    let guide = include_str!("../../../docs/guide-operator.md");
    let is_meant = |line: &&str| line.starts_with("$ ") && line.contains("tar -");
    let commands: Vec<&str> = guide.lines().map(str::trim).filter(is_meant).collect();
    assert_eq!(commands.len(), 2, "{commands:?}");
    for command in commands {
        let out = world.sh(&format!("cd m; {}", command.trim_start_matches("$ ").replace("2026-10", "2026-01")));
        assert!(out.contains("Merge 2?") || out.contains("closed/docs."), "{command}: {out}");
    }
}

mod promises {
    use super::*;

    #[test]
    fn an_archived_round_is_whole_and_is_shown_as_before() {
        needs!("jq");
        let world = world();
        for (id, days) in [("old", 70), ("older", 100), ("young", 3)] {
            world.ok("checkpoint", &["save", id, "--step", "review"]);
            let round = deliver(&world, id);
            age(&world, id, &round, days);
        }
        world.ok("ask-post", &["-w", "back", "Wait?"]);
        let round = world.round("back");
        world.ok("ask-answer", &["cancel", "back"]);
        age(&world, "back", &round, 40);
        // Two rounds of a workflow that goes on: the newer one stays.
        let first = deliver(&world, "lives");
        age(&world, "lives", &first, 90);
        let second = deliver(&world, "lives");
        age(&world, "lives", &second, 80);
        world.ok("ask-post", &["-w", "lives", "Next?"]);
        let runs = world.in_mailbox(format!("runs/lives/{first}/1"));
        std::fs::write(runs.join("stderr.log"), b"caf\xe9\n\x00").expect("writable");
        let (before, shown) = (everything(&world), world.sh("ask-answer show old"));
        let logged = ["relaunch logs old", "relaunch events old", "relaunch logs --tail 2 old"].map(|command| world.sh(command));
        let ended = world.run("relaunch", &["wait", "old"]).ok().stdout;
        let (all, of_one, newest) = (history(&world, ""), history(&world, "lives"), world.sh("askbox history --limit 2"));
        assert_eq!(all.len(), 7);

        let dry = gc(&world, &["--dry-run"]);
        assert_eq!((&dry["archived"]["rounds"], &dry["archived"]["workflows"]), (&4.into(), &3.into()), "{dry}");
        assert!(dry["would_be_archived"].as_array().is_some_and(|names| names.len() == 6) && dry["would_go"].is_null(), "{dry}");
        assert!(everything(&world) == before, "a dry run changed something");

        let report = gc(&world, &[]);
        assert_eq!((&report["rounds"], &report["archived"]["rounds"]), (&0.into(), &4.into()), "{report}");
        assert!(report["left"].is_null() && report["archived"]["archive_bytes"].as_u64() > Some(0), "{report}");
        assert!(!closed(&world, "lives", &first).exists() && closed(&world, "lives", &second).exists());
        for id in ["old", "older", "back"] {
            let left = traces(&world, &format!("{id}.")).into_iter().filter(|path| !path.starts_with(world.in_mailbox("archive")));
            assert_eq!(left.collect::<Vec<_>>(), Vec::<PathBuf>::new());
            assert!(!world.in_mailbox(format!("runs/{id}")).exists());
        }
        // Every byte that left the mailbox is in the archive, and nothing else.
        let (archived, after) = (archived_files(&world), everything(&world));
        let gone: BTreeMap<_, _> = before.iter().filter(|(path, _)| !after.contains_key(*path)).collect();
        for (path, bytes) in gone {
            let has_content = !path.ends_with("lock") && !bytes.is_empty();
            assert!(!has_content || archived.get(path) == Some(bytes), "{} is lost", path.display());
        }
        let recorded = |path: &PathBuf| before.contains_key(path) && !after.contains_key(path);
        assert!(archived.keys().all(recorded), "in two places: {:?}", archived.keys().filter(|p| !recorded(p)).collect::<Vec<_>>());

        // The views are the same.
        assert_eq!(history(&world, ""), all);
        assert_eq!(history(&world, "lives"), of_one);
        assert_eq!(history(&world, "--limit 5"), all[..5]);
        assert_eq!(world.sh("askbox history --limit 2"), newest);
        assert_eq!(history(&world, "--since 50d"), all[..3]);
        assert_eq!(world.sh("ask-answer show old"), shown);
        assert_eq!(["relaunch logs old", "relaunch events old", "relaunch logs --tail 2 old"].map(|command| world.sh(command)), logged);
        let told = world.run("relaunch", &["logs", "-f", "old"]).ok();
        assert!(told.stdout == format!("{}\n", logged[0]) && told.stderr.contains("this run is archived in "), "{told:?}");
        let told = world.sh("relaunch status old");
        assert!(["archive/2", "relaunch logs old", "askbox history old"].iter().all(|words| told.contains(words)), "{told}");
        assert!(world.refused(3, "relaunch logs back").contains("askbox history back"), "a round without a run");
        let place = world.sh("askbox history older --json | jq -r .file");
        assert!(place.starts_with("archive/2") && place.ends_with(".tar.gz"), "{place}");
        let audit = std::fs::read_to_string(world.in_mailbox("audit.jsonl")).expect("an audit trail");
        assert_eq!(audit.matches(r#""event":"archived""#).count(), 4, "{audit}");
        assert_eq!(json_of(&world, "relaunch status old --json")["state"], "delivered");

        // So do the commands that look for one workflow.
        let told = world.run("relaunch", &["wait", "old"]).ok();
        assert!(told.stdout == ended && told.stderr.contains("note: old is archived in "), "{told:?}");
        assert_eq!(world.run("relaunch", &["resume", "old"]).ok().stdout, ended);
        let told = world.run("relaunch", &["wait", "back"]);
        assert!(told.status.code() == Some(1) && told.stdout.starts_with("withdrawn (back):"), "{}", told.words());
        assert!(world.refused(3, "relaunch wait nothing").contains("nothing is known of nothing"));
        let told = world.run("askbox", &["doctor", "old"]).stdout;
        assert!(
            ["The road of old, round ", "attempts    1 had a result", "archived    in "].iter().all(|words| told.contains(words)),
            "{told}"
        );

        // A second gc finds nothing, and the id is free again.
        let archive = files(&world.in_mailbox("archive"));
        assert_eq!(gc(&world, &[])["archived"]["rounds"], 0);
        assert_eq!(files(&world.in_mailbox("archive")), archive);
        let again = deliver(&world, "old");
        assert_eq!(history(&world, "old").len(), 2);
        age(&world, "old", &again, 60);
        gc(&world, &[]);
        assert_eq!(history(&world, "old").len(), 2);

        // Archives fall away only if the operator says how long history is kept.
        let archive = || files(&world.in_mailbox("archive")).len();
        let before = archive();
        assert_eq!((&gc(&world, &["--keep", "10y"])["rounds"], archive()), (&0.into(), before));
        let listed = gc(&world, &["--keep", "65d", "--archive", "never", "--dry-run"]);
        assert_eq!((listed["would_go"].as_array().map(Vec::len), archive()), (Some(3), before), "{listed}");
        assert_eq!((&gc(&world, &["--keep", "65d", "--archive", "never"])["rounds"], archive()), (&3.into(), before - 3));
        gc(&world, &["--keep", "0s", "--archive", "never"]);
        assert_eq!(names(&world.in_mailbox("archive")), Vec::<String>::new());
    }

    #[test]
    fn a_damaged_archive_hides_only_what_it_damages() {
        let world = world();
        world.past_rounds("docs", 0..5);
        gc(&world, &["--archive", "30d"]);
        let file = &files(&world.in_mailbox("archive/2026-01")).into_keys().nth(1).expect("an archive");
        let mut bytes = std::fs::read(file).expect("an archive");
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0x55;
        std::fs::write(file, bytes).expect("writable");
        let out = world.run("askbox", &["history", "--json"]);
        assert_eq!((out.status.code(), out.stdout.lines().count()), (Some(1), 5), "{}", out.words());
        assert!(out.stderr.contains(&format!("{} is damaged: ", file.display())), "{}", out.stderr);
        let found = world.run("askbox", &["doctor"]).stdout;
        assert!(found.contains("archive: archive/2026-01/docs.") && found.contains(" is damaged: "), "{found}");
        assert!(found.contains("\n  $ askbox history --limit 0 >/dev/null\n"), "{found}");
    }

    #[test]
    fn the_log_of_an_archived_crash_says_how_to_read_its_error() {
        needs!("jq");
        let world = World::stepping("echo 'no such module' >&2; exit 3");
        world.make_mailbox();
        world.configure("attempts = 2");
        world.ask_and_answer("docs");
        world.run("relaunch", &["docs"]);
        world.reaches("docs", "parked");
        let logged = world.sh("relaunch logs docs");
        assert!(logged.contains("-- attempt 2\n") && logged.contains("stderr.log"), "{logged}");
        world.ok("relaunch", &["drop", "docs"]);
        let closed = world.only("closed", "docs.").expect("it is over");
        let round = closed.file_stem().and_then(|stem| stem.to_str()?.strip_prefix("docs.")).expect("a round");
        age(&world, "docs", round, 60);
        gc(&world, &[]);
        assert!(!world.in_mailbox("runs/docs").exists());
        let archived = world.sh("relaunch logs docs");
        let events = |logged: &str| logged.lines().filter(|line| !line.starts_with("-- the agent")).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(events(&archived), events(&logged));
        let command = archived.lines().find_map(|line| line.strip_prefix("-- the agent wrote to its standard error: ")).expect(&archived);
        assert_eq!(world.sh(command), "no such module");
    }

    #[test]
    fn a_round_that_changed_after_it_was_archived_is_archived_again() {
        let world = world();
        world.past_rounds("docs", 0..2);
        let path = closed(&world, "docs", "01900000-0000-7000-8000-000000000001");
        let document = (path.clone(), std::fs::read(&path).expect("readable"));
        let all = history(&world, "docs");
        gc(&world, &["--archive", "30d"]);
        // A power cut brings the round back as it was: it goes again, and is not archived twice.
        let bring_back = |bytes: &[u8]| {
            std::fs::write(&document.0, bytes).expect("writable");
            let round = json(&document.0)["question_id"].as_str().expect("an id").to_owned();
            std::fs::create_dir_all(world.in_mailbox(format!("runs/docs/{round}"))).expect("its folder");
            world.sh(&format!("touch -d 2026-01-20T00:00:00Z {}; chmod -R go-w m", document.0.display()));
        };
        bring_back(&document.1);
        assert_eq!(history(&world, "docs").len(), 2);
        let archive = archived_files(&world);
        gc(&world, &["--archive", "30d"]);
        assert!(!document.0.exists());
        assert_eq!(archived_files(&world), archive);
        assert_eq!(history(&world, "docs"), all);
        // With another content it is archived again, and shown once.
        let changed = String::from_utf8(document.1.clone()).expect("text").replace("Merge", "Really merge");
        bring_back(changed.as_bytes());
        gc(&world, &["--archive", "30d"]);
        assert!(!document.0.exists());
        let now = history(&world, "docs");
        assert_eq!(
            (now.len(), now.iter().filter(|e| e["question"].as_str().is_some_and(|q| q.starts_with("Really"))).count()),
            (2, 1),
            "{now:#?}"
        );
    }

    #[test]
    fn four_gcs_at_once_archive_each_round_once() {
        let world = world();
        for n in 0..30 {
            world.past_rounds(&format!("w{}", n % 10), n..n + 1);
        }
        let all = history(&world, "");
        let watcher = world.start_watcher();
        let reports: Vec<Value> = std::thread::scope(|scope| {
            let gcs: Vec<_> = (0..4).map(|_| scope.spawn(|| gc(&world, &["--archive", "30d"]))).collect();
            gcs.into_iter().map(|g| g.join().expect("a gc")).collect()
        });
        watcher.kill();
        gc(&world, &["--archive", "30d"]);
        assert_eq!(history(&world, ""), all);
        let documents = archived_files(&world).into_keys().filter(|path| path.starts_with(world.in_mailbox("closed"))).count();
        assert_eq!(documents, 30, "{reports:#?}");
    }

    #[test]
    fn a_watcher_archives_once_a_day() {
        let world = world();
        world.past_rounds("docs", 0..3);
        let mark = world.in_mailbox("locks/archived");
        // A new mailbox gets its first look later.
        let watcher = world.start_watcher();
        until("the day is noted", || mark.exists());
        watcher.kill();
        assert_eq!(world.names("closed").len(), 4);
        world.sh("touch -d '23 hours ago' m/locks/archived");
        world.start_watcher().kill();
        assert!(!world.in_mailbox("archive").exists());
        world.sh("touch -d '25 hours ago' m/locks/archived");
        let all = history(&world, "");
        let watcher = world.start_watcher();
        until("the old rounds are archived", || world.names("closed").len() == 1 && !world.in_mailbox("runs/docs").exists());
        assert!(mark.metadata().and_then(|m| m.modified()).is_ok_and(|at| at.elapsed().is_ok_and(|age| age.as_secs() < 3600)));
        until("the audit tells it", || {
            let audit = std::fs::read_to_string(world.in_mailbox("audit.jsonl")).unwrap_or_default();
            audit.matches(r#""event":"archived""#).count() == 3 && audit.contains(r#""by":"relaunch watch""#)
        });
        watcher.kill();
        assert_eq!(history(&world, ""), all);
        // Never means never.
        world.past_rounds("more", 0..2);
        world.configure("[history]\narchive = \"never\"\n");
        world.sh("touch -d '25 hours ago' m/locks/archived");
        world.start_watcher().kill();
        assert_eq!(world.names("closed").len(), 3);
    }

    #[test]
    fn the_doctor_says_what_history_costs_and_names_damage() {
        let world = world();
        world.past_rounds("docs", 0..3);
        let says = |words: &str| {
            let out = world.run("askbox", &["doctor"]);
            assert!(out.stdout.contains(words), "{words}: {}", out.words());
        };
        says("History: 4 closed rounds in about 0.0 MiB and 16 files; rounds of more than 30d ago are archived once a day.\n");
        gc(&world, &[]);
        says("History: 1 closed round in about 0.0 MiB and 4 files, 3 archived rounds in 0.0 MiB; rounds of more than 30d");
        world.configure("[history]\narchive = \"never\"\nkeep = \"90d\"\n");
        says("; `askbox gc` removes those of more than 90d ago.\n");
        // A killed process left the file that it wrote.
        let file = files(&world.in_mailbox("archive")).into_keys().next().expect("an archive");
        let left = file.with_file_name(".tmpabcdefghijkl");
        world.sh(&format!("cp {} {1}; touch -d '2 hours ago' {1}", file.display(), left.display()));
        says("leftover: archive/2026-01/.tmpabcdefghijkl: left 2h ago by a program that was killed");
        world.sh(&format!("rm {}; truncate -s -5 {}", left.display(), file.display()));
        says("archive: archive/2026-01/docs.");
    }
}
