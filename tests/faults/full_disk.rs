//! Promise 4 when the disk refuses. Each system call of each program that changes anything fails once, with each of three errors. The
//! program says so, every earlier file is there to the byte, and the same command succeeds afterwards.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::{Outcome, Running, World, files, in_parallel, is_hidden, needs, output, program, strace, until};

const CALLS: [&str; 14] = [
    "open", "openat", "openat2", "write", "fsync", "rename", "renameat", "renameat2", "link", "linkat", "unlink", "unlinkat", "mkdirat",
    "flock",
];
const ERRORS: [&str; 3] = ["ENOSPC", "EIO", "EDQUOT"];

/// One call to be refused.
struct Refusal {
    call: &'static str,
    n: usize,
    error: &'static str,
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} number {} says {}", self.call, self.n, self.error)
    }
}

/// The calls of a program that concern the mailbox; the rest is the loader's, and the terminal's.
fn refusals(setup: &dyn Fn() -> World, program: &str, args: &[&str]) -> Vec<Refusal> {
    let world = setup();
    let trace = world.path("trace");
    let set = format!("trace={}", CALLS.join(","));
    let before = strace(&["-qq", "-y", "-e", &set, "-e", "signal=none", "-o", trace.to_str().expect("a path")]);
    let out = output(world.wrapped(&before, program).args(args));
    assert!(out.status.success(), "{program} {args:?}: {}", out.words());
    let text = std::fs::read_to_string(&trace).expect("a trace");
    let mailbox = world.mailbox().display().to_string();
    let mut found = Vec::new();
    for call in CALLS {
        let lines = text.lines().filter(|l| l.starts_with(&format!("{call}(")));
        for (n, _) in lines.enumerate().filter(|(_, l)| l.contains(&mailbox) && !l.starts_with("write(1<")) {
            found.extend(ERRORS.map(|error| Refusal { call, n: n + 1, error }));
        }
    }
    found
}

fn run_refused(world: &World, refusal: &Refusal, program: &str, args: &[&str]) -> Outcome {
    let inject = format!("inject={}:error={}:when={}", refusal.call, refusal.error, refusal.n);
    let before = strace(&["-qq", "-e", &format!("trace={}", refusal.call), "-e", &inject, "-e", "signal=none", "-o", "/dev/null"]);
    output(world.wrapped(&before, program).args(args))
}

/// What must not change: every file but temporary names, hints, locks and the audit trail. Folders count by their files.
pub(super) fn state(world: &World) -> BTreeMap<PathBuf, Vec<u8>> {
    let exempt = |path: &Path| {
        let inner = path.strip_prefix(world.mailbox()).unwrap_or(path);
        let first = inner.components().next().map(|c| c.as_os_str().to_string_lossy().into_owned()).unwrap_or_default();
        is_hidden(path) || ["timers", "locks", "audit.jsonl"].contains(&first.as_str()) || path.ends_with("lock")
    };
    files(world.mailbox()).into_iter().filter(|(path, _)| !exempt(path)).collect()
}

#[track_caller]
pub(super) fn assert_says_so(out: &Outcome, when: &str) {
    let stderr = &out.stderr;
    assert_eq!(out.status.code(), Some(1), "{when}: {}", out.words());
    let lines: Vec<&str> = stderr.lines().collect();
    assert!(lines.iter().any(|l| l.starts_with("error: ")) && lines.iter().any(|l| l.starts_with("hint: ")), "{when}: {stderr}");
    assert!(!stderr.contains("panicked"), "{when}: {stderr}");
}

/// Refuses a program each of its calls in a fresh place.
fn at_every_call(setup: &(dyn Fn() -> World + Sync), program: &str, args: &[&str], after: impl Fn(&World, &str) + Sync) {
    let refusals = refusals(setup, program, args);
    let (failed, passed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    in_parallel(8, &refusals, |refusal| {
        let world = setup();
        let before = state(&world);
        let when = format!("{program}: {refusal}");
        let out = run_refused(&world, refusal, program, args);
        world.assert_whole(&when);
        if out.status.success() {
            // Something that is a hint, a log, or done again at the next look.
            passed.fetch_add(1, Ordering::Relaxed);
        } else {
            failed.fetch_add(1, Ordering::Relaxed);
            assert_says_so(&out, &when);
            let now = state(&world);
            let changed: Vec<_> = now.iter().filter(|(p, b)| before.get(*p) != Some(b)).map(|(p, _)| p).collect();
            let gone: Vec<_> = before.keys().filter(|p| !now.contains_key(*p)).collect();
            assert!(changed.is_empty() && gone.is_empty(), "{when}: changed {changed:?}, gone {gone:?}: {}", out.words());
            world.ok(program, args);
        }
        after(&world, &when);
    });
    let (failed, passed) = (failed.into_inner(), passed.into_inner());
    eprintln!("{program}: {} refusals: {failed} errors, {passed} done all the same", refusals.len());
    assert!(failed >= refusals.len() / 5, "{program} hardly noticed");
}

fn made() -> World {
    let world = World::stepping("work");
    world.make_mailbox();
    world
}

fn asked() -> World {
    let world = World::stepping("work");
    world.ok("checkpoint", &["save", "docs", "--step", "review"]);
    world.ok("ask-post", &["-w", "docs", "Merge?", "-o", "a=A", "-o", "b=B"]);
    world
}

fn answered() -> World {
    let world = asked();
    world.ok("ask-answer", &["docs", "a"]);
    world
}

#[test]
fn a_refused_first_post_can_be_repeated() {
    needs!("strace");
    at_every_call(&|| World::stepping("work"), "ask-post", &["-w", "docs", "Merge?"], |world, when| {
        assert_eq!(world.state("docs"), "pending", "{when}")
    });
}

/// From the launch on, an error cannot undo what has happened: the round must be delivered in the end all the same, once.
#[test]
fn a_run_that_is_refused_its_files_is_delivered_once_in_the_end() {
    needs!("strace");
    let args = ["docs"];
    let refusals = refusals(&answered, "relaunch", &args);
    let (clean, late) = (AtomicUsize::new(0), AtomicUsize::new(0));
    in_parallel(8, &refusals, |refusal| {
        let world = answered();
        let before = state(&world);
        let when = format!("relaunch: {refusal}");
        let out = run_refused(&world, refusal, "relaunch", &args);
        world.assert_whole(&when);
        if !out.status.success() {
            assert_says_so(&out, &when);
            if world.logged("start ") == 0 && state(&world) == before {
                clean.fetch_add(1, Ordering::Relaxed);
            } else {
                late.fetch_add(1, Ordering::Relaxed);
            }
            if world.state("docs") != "delivered" {
                world.ok("relaunch", &args);
            }
        }
        assert_eq!(world.state("docs"), "delivered", "{when}");
        assert_eq!(world.logged("shown "), 1, "{when}: {:#?}", world.log());
        assert!(world.only("closed", "docs.").is_some() && world.only("running", "docs.").is_none(), "{when}");
    });
    let (clean, late) = (clean.into_inner(), late.into_inner());
    eprintln!("relaunch: {} refusals: {clean} left everything as it was, {late} after the claim", refusals.len());
    assert!(clean > 0);
}

/// The agent delivers while nothing can be written: the supervisor keeps the receipt until there is room.
#[test]
fn a_delivery_onto_a_full_disk_is_recorded_once_there_is_room() {
    needs!("strace");
    let world = answered();
    let round = world.round("docs");
    let record = world.in_mailbox(format!("runs/docs/{round}/1/run.json"));
    // The record is made when the agent starts, and replaced at the end. The disk is full from then on, four times.
    let before = strace(&["-qq", "-P", "run.json", "-e", "trace=renameat", "-e", "signal=none", "-o", "/dev/null"]);
    let inject = ["-e", "inject=renameat:error=ENOSPC:when=1..4"].map(str::to_owned);
    let before: Vec<String> = before.into_iter().chain(inject).collect();
    let mut child = Running(world.wrapped(&before, "relaunch").arg("docs").spawn().expect("relaunch"));
    until("the supervisor records what it knows", || world.only("closed", "docs.").is_some());
    assert!(child.0.wait().expect("it ends").success());
    assert_eq!(world.logged("start "), 1);
    let events = std::fs::read_to_string(record.with_file_name("events.jsonl")).expect("events");
    assert!(events.contains("cannot be recorded yet"), "the disk was never full: {events}");
}

mod promises {
    use super::*;

    #[test]
    fn a_refused_post_leaves_nothing_and_can_be_repeated() {
        needs!("strace");
        at_every_call(&made, "ask-post", &["-w", "docs", "Merge?", "-o", "a=A", "--timeout", "2h"], |world, when| {
            assert_eq!(world.state("docs"), "pending", "{when}");
            world.ok("ask-answer", &["docs", "a"]);
        });
    }

    #[test]
    fn a_refused_answer_is_in_no_document_and_can_be_repeated() {
        needs!("strace");
        at_every_call(&asked, "ask-answer", &["docs", "a"], |world, when| {
            assert_eq!(world.json(world.in_mailbox("answered/docs.json"))["answer"]["value"], "a", "{when}");
            assert_eq!(world.run("ask-answer", &["docs", "b"]).status.code(), Some(4), "{when}: a second answer was taken");
            assert_eq!(world.state("docs"), "answered", "{when}");
        });
    }

    #[test]
    fn a_refused_save_leaves_the_old_checkpoint() {
        needs!("strace");
        at_every_call(&asked, "checkpoint", &["save", "docs", "--step", "new"], |world, when| {
            assert_eq!(world.json(world.in_mailbox("checkpoints/docs.json"))["current_step"], "new", "{when}");
        });
    }

    /// A disk that is really full, to the last byte and the last name, in a mount namespace of our own.
    #[test]
    fn a_disk_that_is_really_full_loses_nothing() {
        needs!("mount");
        let world = World::stepping("work");
        std::fs::create_dir(world.path("small")).expect("mount point");
        let script = r#"
set -eu
mount -t tmpfs -o "$OPTIONS",mode=0700 askbox-test "$ROOT/small"
export ASKBOX_DIR="$ROOT/small/m"
fail() { echo "FAILED: $*"; exit 1; }
refused() {
  status=0; "$@" >"$ROOT/out" 2>"$ROOT/err" </dev/null || status=$?
  [ $status = 1 ] || fail "$* ended with $status: $(cat "$ROOT/out" "$ROOT/err")"
  grep -q ^error: "$ROOT/err" && grep -q ^hint: "$ROOT/err" || fail "$* said: $(cat "$ROOT/err")"
}
snapshot() { (cd "$ASKBOX_DIR" && find . -type f ! -path './locks/*' ! -path './timers/*' ! -name audit.jsonl ! -name lock ! -name '.*' -exec sha256sum {} + | sort); }
"$CHECKPOINT" save docs --step review >/dev/null
"$ASK_POST" -w docs "Merge?" -o a=A -o b=B >/dev/null
"$ASK_POST" -w done "Ready?" -o a=A >/dev/null
"$ASK_ANSWER" done a >/dev/null
fill
snapshot >"$ROOT/before"
refused "$ASK_POST" -w more "Another?" --timeout 2h
refused "$ASK_ANSWER" docs a
refused "$CHECKPOINT" save docs --step later
refused "$RELAUNCH" -- done
snapshot >"$ROOT/after"
cmp -s "$ROOT/before" "$ROOT/after" || fail "changed: $(diff "$ROOT/before" "$ROOT/after")"
"$ASKBOX" doctor >"$ROOT/doctor" && fail "the doctor finds nothing"
grep -q "^full_disk: .*left on its disk\|^full_disk: .*no more files" "$ROOT/doctor" || fail "the doctor says: $(cat "$ROOT/doctor")"
rm -rf "$ROOT/small/filler"
"$ASK_POST" -w more "Another?" --timeout 2h >/dev/null
"$ASK_ANSWER" docs a >/dev/null
"$CHECKPOINT" save docs --step later >/dev/null
"$RELAUNCH" -- done >/dev/null
"$RELAUNCH" docs >/dev/null
echo FINE
"#;
        let bytes = "fill() { mkdir \"$ROOT/small/filler\"; cat /dev/zero >\"$ROOT/small/filler/zeros\" 2>/dev/null || true; }";
        let names =
            "fill() { mkdir \"$ROOT/small/filler\"; n=0; while (: >\"$ROOT/small/filler/$n\"); do n=$((n + 1)); done 2>/dev/null; }";
        for (options, fill) in [("size=256k", bytes), ("nr_inodes=80", names)] {
            let mut command = world.any_command("unshare");
            command.args(["-m", "sh", "-c", &format!("{fill}\n{script}")]).env("ROOT", world.root()).env("OPTIONS", options);
            for (variable, name) in [
                ("ASK_POST", "ask-post"),
                ("ASK_ANSWER", "ask-answer"),
                ("CHECKPOINT", "checkpoint"),
                ("RELAUNCH", "relaunch"),
                ("ASKBOX", "askbox"),
            ] {
                command.env(variable, program(name));
            }
            let said = output(&mut command);
            assert!(said.stdout.ends_with("FINE\n"), "{options}: {said:?}");
        }
        assert_eq!(world.logged("done "), 4, "{:#?}", world.log());
    }
}
