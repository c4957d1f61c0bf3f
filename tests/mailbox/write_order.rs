//! Promise 4: what a program acknowledges is on the disk. strace shows the order of the system calls.

use crate::support::{World, needs, output, strace};

const TRACED: &str = "trace=open,openat,openat2,creat,write,pwrite64,fsync,fdatasync,rename,renameat,renameat2,link,linkat,unlink,unlinkat,\
                      mkdir,mkdirat,clone,clone3,vfork,exit_group";

/// What is a hint, a log or a lock: not a document, and rebuilt when it is lost.
const NOT_DURABLE: [&str; 9] =
    ["/round.json", "/audit.jsonl", "/locks/", "/timers/", "/events.jsonl", "/stderr.log", "/lock", "/control", "/costs/"];

/// One successful system call of the main thread.
#[derive(Debug)]
enum Call {
    Created(String),
    Written(String),
    Synced(String),
    /// From, to, and whether an existing name would have been refused.
    Moved(String, String, bool),
    Removed(String),
    FolderMade(String),
    Printed(String),
    Spawned,
    /// A line into the agent's pipe.
    Told,
    Left(String),
}

/// Runs a program behind strace in the mailbox of `place`; its calls in order.
#[track_caller]
fn calls(world: &World, program: &str, args: &[&str]) -> Vec<Call> {
    calls_with(world, "signal=none", program, args)
}

/// [`calls`] with one more expression for strace.
#[track_caller]
fn calls_with(world: &World, expression: &str, program: &str, args: &[&str]) -> Vec<Call> {
    let trace = world.path("trace");
    let before =
        strace(&["-qq", "-y", "-s", "200", "-e", TRACED, "-e", "signal=none", "-e", expression, "-o", trace.to_str().expect("a path")]);
    let out = output(world.wrapped(&before, program).args(args));
    assert!(out.status.success(), "{program} {args:?}: {}", out.words());
    let text = std::fs::read_to_string(&trace).expect("a trace");
    let calls: Vec<Call> = text.lines().filter_map(|line| call(line, &world.root().display().to_string())).collect();
    assert!(matches!(calls.last(), Some(Call::Left(status)) if status == "0"), "{program} did not end with exit_group(0):\n{text}");
    calls
}

fn call(line: &str, root: &str) -> Option<Call> {
    let (name, rest) = line.split_once('(')?;
    if name == "exit_group" {
        return Some(Call::Left(rest.split(')').next()?.into()));
    }
    let (args, result) = rest.rsplit_once(" = ")?;
    if result.starts_with('-') {
        return None;
    }
    let pieces: Vec<&str> = args.split('"').collect();
    // A name in a folder: `5</the/folder>, "name"`.
    let quoted = |(before, name): (&str, &str)| match before.rsplit_once('<').and_then(|(_, rest)| rest.split_once('>')) {
        Some((folder, _)) if !name.starts_with('/') && !before.is_empty() => format!("{folder}/{name}"),
        _ => name.to_owned(),
    };
    let quoted: Vec<String> = pieces.chunks_exact(2).map(|pair| quoted((pair[0], pair[1]))).collect();
    let of_fd = || Some(args.split_once('<')?.1.split_once('>')?.0.to_owned());
    let ours = |path: &String| path.starts_with(root);
    Some(match name {
        "fsync" | "fdatasync" => Call::Synced(of_fd()?),
        "write" if args.starts_with("1<") => Call::Printed((*pieces.get(1)?).to_owned()),
        "write" if args.contains("<pipe:") && pieces.get(1)?.starts_with("{\\") => Call::Told,
        "write" | "pwrite64" => Call::Written(of_fd().filter(ours)?),
        "open" | "openat" | "openat2" | "creat" if args.contains("O_CREAT") => Call::Created(quoted.first().filter(|p| ours(p))?.clone()),
        "rename" | "renameat" | "renameat2" => {
            let safe = args.contains("RENAME_NOREPLACE");
            Call::Moved(quoted.first()?.clone(), quoted.get(1)?.clone(), safe)
        }
        "link" | "linkat" => Call::Moved(quoted.first()?.clone(), quoted.get(1)?.clone(), true),
        "unlink" | "unlinkat" => Call::Removed(quoted.first()?.clone()),
        "mkdir" | "mkdirat" => Call::FolderMade(quoted.first()?.clone()),
        "vfork" => Call::Spawned,
        "clone" | "clone3" if args.contains("CLONE_VFORK") => Call::Spawned,
        _ => return None,
    })
}

fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

fn is_document(path: &str) -> bool {
    !folder(path).is_empty()
        && !NOT_DURABLE.iter().any(|n| path.contains(n))
        && !path.rsplit('/').next().unwrap_or_default().starts_with('.')
}

/// The order that every program must keep.
#[track_caller]
fn assert_ordered(calls: &[Call]) {
    let synced_between = |path: &str, from: usize, to: usize| calls[from..to].iter().any(|c| matches!(c, Call::Synced(p) if p == path));
    for (at, call) in calls.iter().enumerate() {
        match call {
            Call::Created(path) | Call::Written(path) => {
                assert!(!is_document(path), "{path} is written under its final name: {calls:#?}");
            }
            Call::Moved(from, to, _) if is_document(to) => {
                // A file with a temporary name was written before. A file with a final name was synced when it got that name.
                if let Some(written) = calls[..at].iter().rposition(|c| matches!(c, Call::Written(p) if p == from)) {
                    assert!(synced_between(from, written, at), "{to} appears before its data is on the disk: {calls:#?}");
                }
                // An agent that is launched knows of nothing before it is told.
                let is_record = to.ends_with("/run.json");
                let tells =
                    |c: &Call| matches!(c, Call::Printed(_) | Call::Told | Call::Left(_)) || (!is_record && matches!(c, Call::Spawned));
                let told = at + calls[at..].iter().position(tells).expect("the program ends");
                let moved_on = calls[at + 1..told].iter().any(|c| matches!(c, Call::Moved(from, ..) if from == to));
                // The round's own document also says so.
                let closed = |c: &Call| matches!(c, Call::Moved(_, to, _) if to.contains("/closed/"));
                let is_over = is_record && calls[at..told].iter().any(closed);
                assert!(
                    moved_on || is_over || synced_between(folder(to), at, told),
                    "success is told before the name {to} is on the disk: {calls:#?}"
                );
                // A copy that comes back is told from one that counts by the folders behind it: see tests/faults/crashes.rs.
                let goes_on = to.contains("/running/") || to.contains("/closed/");
                let goes_on = goes_on && ["/answered/", "/running/", "/parked/"].iter().any(|f| from.contains(f));
                if is_document(from) && folder(from) != folder(to) && !goes_on {
                    assert!(synced_between(folder(from), at, told), "{from} may come back after a power cut: {calls:#?}");
                }
            }
            // A request lasts no longer than its run.
            Call::FolderMade(path) if !path.contains("/asks") => {
                assert!(synced_between(folder(path), at, calls.len()), "the folder {path} may vanish: {calls:#?}");
            }
            _ => {}
        }
    }
}

/// No name in that folder could have replaced another one.
#[track_caller]
fn assert_never_replaces(calls: &[Call], part: &str) {
    let found: Vec<_> = calls.iter().filter_map(|c| if let Call::Moved(_, to, safe) = c { Some((to, *safe)) } else { None }).collect();
    let found: Vec<_> = found.into_iter().filter(|(to, _)| to.contains(part) && is_document(to)).collect();
    assert!(!found.is_empty(), "nothing appeared in {part}: {calls:#?}");
    assert!(found.iter().all(|(_, safe)| *safe), "a name in {part} could have been replaced: {calls:#?}");
}

fn position(calls: &[Call], is: impl Fn(&Call) -> bool) -> usize {
    calls.iter().position(is).unwrap_or_else(|| panic!("it never happens: {calls:#?}"))
}

#[test]
fn a_program_starts_after_its_record_is_durable() {
    needs!("strace");
    let world = World::stepping("work");
    for workflow in ["first", "docs"] {
        world.ok("ask-post", &["-w", workflow, "Merge?", "-o", "a=A"]);
        world.ok("ask-answer", &[workflow, "a"]);
    }
    // A second attempt, whose record was made before its supervisor.
    assert!(!world.run("relaunch", &["exec", "first", "--", "false"]).status.success());
    let parked = world.rounds("parked", "first")[0]["question_id"].as_str().expect("an id").to_owned();
    for (workflow, round, attempt) in [("docs", world.round("docs"), 1), ("first", parked, 2)] {
        let calls = calls(&world, "relaunch", &["exec", workflow, "--", "true"]);
        assert_eq!(world.state(workflow), "delivered");
        assert_ordered(&calls);
        let of_round = format!("/runs/{workflow}/{round}");
        let run = format!("{of_round}/{attempt}");
        let spawned = position(&calls, |c| matches!(c, Call::Spawned));
        let is_record = |c: &Call| matches!(c, Call::Moved(_, to, _) if to.ends_with(&format!("{run}/run.json")));
        let record = calls[..spawned].iter().rposition(is_record).unwrap_or_else(|| panic!("it is started without a record: {calls:#?}"));
        for (folder, since) in [(run.as_str(), record), (of_round.as_str(), 0)] {
            let synced = |c: &Call| matches!(c, Call::Synced(path) if path.ends_with(folder));
            assert!(calls[since..spawned].iter().any(synced), "{workflow}: {folder} may vanish: {calls:#?}");
        }
    }
}

#[test]
fn a_withdrawn_round_is_found_after_a_power_cut() {
    needs!("strace");
    let world = World::stepping("work");
    world.ok("ask-post", &["-w", "docs", "Merge?"]);
    let round = world.round("docs");
    let calls = calls(&world, "ask-answer", &["cancel", "docs"]);
    assert_ordered(&calls);
    // Its rounds are found by the names in `runs/W/`: without that name, the workflow would be as it was before the question.
    let told = position(&calls, |c| matches!(c, Call::Printed(_)));
    position(&calls, |c| matches!(c, Call::FolderMade(path) if path.ends_with(&format!("/runs/docs/{round}"))));
    for folder in ["/runs/docs", "/runs"] {
        let synced = |c: &Call| matches!(c, Call::Synced(path) if path.ends_with(folder));
        assert!(calls[..told].iter().any(synced), "{folder} may vanish: {calls:#?}");
    }
}

mod promises {
    use super::*;

    #[test]
    fn a_post_is_one_durable_file_and_two_syncs() {
        needs!("strace");
        let world = World::stepping("work");
        world.make_mailbox();
        let calls = calls(&world, "ask-post", &["-w", "docs", "Merge?", "-o", "a=A", "--timeout", "2h"]);
        assert_ordered(&calls);
        assert_never_replaces(&calls, "/pending/");
        let syncs: Vec<_> = calls.iter().filter_map(|c| if let Call::Synced(path) = c { Some(path.as_str()) } else { None }).collect();
        assert_eq!(syncs.len(), 2, "{syncs:?}");
        assert!(syncs[0].contains("/pending/.tmp") && syncs[1].ends_with("/pending"), "{syncs:?}");
        let acknowledged = position(&calls, |c| matches!(c, Call::Printed(text) if text.starts_with("QUESTION_POSTED:docs")));
        let last_sync = calls.iter().rposition(|c| matches!(c, Call::Synced(_))).expect("synced above");
        assert!(last_sync < acknowledged, "{calls:#?}");
    }

    #[test]
    fn the_files_of_a_question_are_on_the_disk_before_it() {
        needs!("strace");
        let world = World::stepping("work");
        world.make_mailbox();
        let file = world.path("note.txt").display().to_string();
        std::fs::write(&file, "a note").expect("a file");
        let calls = calls(&world, "ask-post", &["-w", "docs", "Publish?", "--attach", &file]);
        assert_ordered(&calls);
        assert_never_replaces(&calls, "/attachments/");
        let named = position(&calls, |c| matches!(c, Call::Moved(_, to, _) if to.contains("/attachments/docs.")));
        let synced = position(&calls, |c| matches!(c, Call::Synced(path) if path.contains("/attachments/docs.") && !path.contains(".tmp")));
        let posted = position(&calls, |c| matches!(c, Call::Moved(_, to, _) if to.ends_with("/pending/docs.json")));
        assert!(named < synced && synced < posted, "{calls:#?}");
    }

    #[test]
    fn the_first_post_makes_the_mailbox_durable_too() {
        needs!("strace");
        let world = World::stepping("work");
        let calls = calls(&world, "ask-post", &["-w", "docs", "Merge?"]);
        assert_ordered(&calls);
        assert!(calls.iter().filter(|c| matches!(c, Call::FolderMade(_))).count() >= 5, "{calls:#?}");
    }

    #[test]
    fn a_mailbox_being_made_is_synced_before_a_posts_receipt() {
        needs!("strace");
        let world = World::stepping("work");
        world.make_mailbox();
        // As it is between the other one's mkdir and his sync; or as a stranger's `mkdir -p` leaves it.
        std::fs::remove_file(world.in_mailbox("locks/synced")).expect("the first post leaves it");
        let first = calls(&world, "ask-post", &["-w", "docs", "Merge?"]);
        let told = position(&first, |c| matches!(c, Call::Printed(text) if text.starts_with("QUESTION_POSTED:docs")));
        for folder in [world.mailbox(), world.root()] {
            let path = folder.display().to_string();
            assert!(first[..told].iter().any(|c| matches!(c, Call::Synced(p) if *p == path)), "{path} may vanish: {first:#?}");
        }
        let syncs = |calls: &[Call]| calls.iter().filter(|c| matches!(c, Call::Synced(_))).count();
        assert_eq!(syncs(&calls(&world, "ask-post", &["-w", "more", "Merge?"])), 2, "it is synced for good");
    }

    #[test]
    fn an_answer_is_in_the_checkpoint_before_it_counts() {
        needs!("strace");
        let world = World::stepping("work");
        world.ok("checkpoint", &["save", "docs", "--step", "review"]);
        world.ok("ask-post", &["-w", "docs", "Merge?", "-o", "a=A", "-o", "b=B"]);
        let calls = calls(&world, "ask-answer", &["docs", "a"]);
        assert_ordered(&calls);
        assert_never_replaces(&calls, "/answered/");
        let checkpoint = position(&calls, |c| matches!(c, Call::Moved(_, to, _) if to.ends_with("/checkpoints/docs.json")));
        let counts = position(&calls, |c| matches!(c, Call::Moved(_, to, _) if to.ends_with("/answered/docs.json")));
        let durable = position(&calls, |c| matches!(c, Call::Synced(path) if path.ends_with("/answered")));
        let gone = position(&calls, |c| {
            matches!(c, Call::Moved(from, ..) if from.ends_with("/pending/docs.json"))
                || matches!(c, Call::Removed(p) if p.ends_with("/pending/docs.json"))
        });
        assert!(checkpoint < counts && counts < durable && durable < gone, "{calls:#?}");
        let told = position(&calls, |c| matches!(c, Call::Printed(text) if text.starts_with("docs: answered")));
        assert!(gone < told, "{calls:#?}");
    }

    #[test]
    fn an_answered_question_leaves_pending_in_one_step() {
        needs!("strace");
        let world = World::stepping("work");
        world.ok("ask-post", &["-w", "docs", "Merge?", "-o", "a=A"]);
        let calls = calls_with(&world, "inject=renameat2:error=EINVAL", "ask-answer", &["docs", "a"]);
        let is_pending = |path: &String| path.ends_with("/pending/docs.json");
        position(&calls, |c| matches!(c, Call::Moved(from, _, false) if is_pending(from)));
        // A question that came after the link would be removed.
        assert!(!calls.iter().any(|c| matches!(c, Call::Removed(path) if is_pending(path))), "{calls:#?}");
    }

    #[test]
    fn a_checkpoint_is_replaced_whole() {
        needs!("strace");
        let world = World::stepping("work");
        world.ok("checkpoint", &["save", "docs", "--step", "draft"]);
        let calls = calls(&world, "checkpoint", &["save", "docs", "--step", "review"]);
        assert_ordered(&calls);
        position(&calls, |c| matches!(c, Call::Moved(_, to, _) if to.ends_with("/checkpoints/docs.json")));
        let told = position(&calls, |c| matches!(c, Call::Printed(text) if text.contains("checkpoints/docs.json")));
        let synced = position(&calls, |c| matches!(c, Call::Synced(path) if path.ends_with("/checkpoints")));
        assert!(synced < told, "{calls:#?}");
    }

    #[test]
    fn the_claim_is_durable_before_the_agent_is_spawned() {
        needs!("strace");
        let world = World::stepping("work");
        for workflow in ["first", "docs"] {
            world.ok("ask-post", &["-w", workflow, "Merge?", "-o", "a=A"]);
            world.ok("ask-answer", &[workflow, "a"]);
        }
        // What is made once, such as `costs/`, is there.
        world.ok("relaunch", &["first"]);
        let round = world.round("docs");
        let calls = calls(&world, "relaunch", &["docs"]);
        assert_eq!(world.state("docs"), "delivered");
        assert_ordered(&calls);
        assert_never_replaces(&calls, "/closed/");
        let spawned = position(&calls, |c| matches!(c, Call::Spawned));
        let claimed = position(
            &calls,
            |c| matches!(c, Call::Moved(from, to, true) if from.ends_with("/answered/docs.json") && to.contains("/running/")),
        );
        let durable = position(&calls, |c| matches!(c, Call::Synced(path) if path.ends_with("/running")));
        let run = format!("/runs/docs/{round}/1");
        // Where the claimant launches, the record is made while the agent starts.
        let record = position(&calls, |c| matches!(c, Call::Moved(_, to, true) if to.ends_with(&format!("{run}/run.json"))));
        let told = position(&calls, |c| matches!(c, Call::Told));
        assert!(claimed < durable && durable < spawned && spawned < record && record < told, "{calls:#?}");
        for folder in [run.as_str(), &format!("/runs/docs/{round}"), "/runs/docs", "/runs", "/workflows"] {
            let synced = |c: &Call| matches!(c, Call::Synced(path) if path.ends_with(folder));
            assert!(calls[spawned..told].iter().any(synced), "{folder} may vanish: {calls:#?}");
        }
        // Only what has to be is waited for, both before the launch and after the result.
        let syncs = |calls: &[Call]| calls.iter().filter(|c| matches!(c, Call::Synced(_))).count();
        assert_eq!((syncs(&calls[..spawned]), syncs(&calls[told..])), (1, 5), "{calls:#?}");
    }
}
