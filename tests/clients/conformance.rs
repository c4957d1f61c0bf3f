//! `askbox conformance`: every implementation keeps the protocol, and each check is red for one that breaks it on purpose.

use std::process::Command;
use std::sync::Mutex;

use serde_json::Value;

use crate::clients::client::{interpreter, project};
use crate::support::files::write_program;
use crate::support::process::in_parallel;
use crate::support::{Outcome, World, needs, output};

/// `askbox conformance` in a world of its own, with the programs on `PATH`.
fn conformance(args: &[&str], harness: &[&str], set: &[(&str, &str)]) -> Outcome {
    let world = World::new();
    let mut command = world.command("askbox");
    command.arg("conformance").args(args);
    with_harness(&mut command, harness);
    command.env("PATH", world.path_with_programs()).env("PYTHONDONTWRITEBYTECODE", "1").envs(set.iter().copied());
    output(&mut command)
}

fn with_harness(command: &mut Command, harness: &[&str]) {
    if let [program, file, more @ ..] = harness {
        command.arg("--").arg(interpreter(program)).arg(project().join("tests/conformance").join(file)).args(more);
    }
}

/// Runs all checks, in four processes side by side. None may be violated. Returns the names of the skipped ones.
#[track_caller]
fn keeps_all(harness: &[&str]) -> Vec<String> {
    let checks = checks();
    let skipped = Mutex::new(Vec::new());
    // Neighbours in the list are alike, and some kinds of checks take longer than others.
    let shares: Vec<_> = (0..4).map(|n| checks.iter().skip(n).step_by(4).cloned().collect::<Vec<_>>().join(",")).collect();
    in_parallel(4, &shares, |share| {
        let said = conformance(&["--json", "--races", "6", "--kills", "3", "--only", share], harness, &[]);
        assert!(!said.stdout.is_empty(), "{harness:?}: {}", said.words());
        let rows = said.json()["checks"].as_array().unwrap().clone();
        let of = |result: &str| -> Vec<Value> { rows.iter().filter(|check| check["result"] == result).cloned().collect() };
        assert_eq!((said.code(), of("violated")), (0, vec![]), "{harness:?}");
        skipped.lock().unwrap().extend(of("skipped").iter().map(|check| check["check"].as_str().unwrap().to_owned()));
    });
    let skipped = skipped.into_inner().unwrap();
    checks.into_iter().filter(|check| skipped.contains(check)).collect()
}

#[test]
fn the_programs_keep_every_clause_of_the_protocol() {
    needs!("python3", "strace");
    assert_eq!(keeps_all(&["python3", "programs.py"]), ["question-hash", "derived-id", "shown-hash", "answer-hash"]);
}

#[test]
fn the_python_client_keeps_every_clause_that_it_has() {
    needs!("python3", "strace");
    let skipped = keeps_all(&["python3", "client_python.py"]);
    assert_eq!(skipped, ONLY_ANSWERS, "with the programs");
    assert!(!keeps_all(&["python3", "client_python.py", "alone"]).iter().any(|check| check.contains("post")), "alone");
}

#[test]
fn the_node_client_keeps_every_clause_that_it_has() {
    needs!("node", "python3", "strace");
    let skipped = keeps_all(&["node", "client_node.mjs"]);
    assert_eq!(skipped, ONLY_ANSWERS, "with the programs");
    assert!(!keeps_all(&["node", "client_node.mjs", "alone"]).iter().any(|check| check.contains("post")), "alone");
}

/// The checks that need an answer by the implementation.
const ONLY_ANSWERS: [&str; 12] = [
    "answer", "decline", "value", "near-miss", "approval", "person", "other-round", "into-checkpoint", "put-back", "race-answer",
    "order-answer", "killed-answer",
];

#[test]
fn the_shell_script_keeps_every_clause_that_it_has() {
    needs!("python3", "strace", "dash", "busybox");
    let skipped = keeps_all(&["python3", "shell.py", "dash"]);
    let kept = ["post", "checkpoint", "lock", "order-post", "order-save", "killed-post", "killed-save", "race-post"];
    assert!(!kept.iter().any(|check| skipped.contains(&(*check).to_owned())), "{skipped:?}");
    let args = ["--only", "post,repeated,checkpoint,lock,order-post,killed-save", "--kills", "3"];
    let busybox = conformance(&args, &["python3", "shell.py", "busybox", "sh"], &[]);
    assert!(busybox.code() == 0 && busybox.stdout.ends_with("6 kept, 0 violated, 0 skipped\n"), "{}", busybox.words());
}

/// The names of all checks.
fn checks() -> Vec<String> {
    let list = conformance(&["--list", "--json"], &[], &[]).ok();
    list.events().iter().map(|check| check["check"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn each_check_is_red_for_a_client_that_breaks_its_point() {
    needs!("python3", "strace");
    let checks = checks();
    assert!(checks.len() > 40, "{checks:?}");
    in_parallel(4, &checks, |check| {
        let once = || conformance(&["--only", check, "--kills", "8", "--limit", "20s"], &["python3", "reference.py"], &[("BREAK", check)]);
        // Some are red only if a kill meets the right moment.
        let said = (0..4).map(|_| once()).find(|said| said.code() == 1).unwrap_or_else(once);
        let first = said.stdout.lines().next().unwrap_or_default();
        assert!(said.code() == 1 && first.starts_with(&format!("violated {check} ")), "{check}: {}", said.words());
        assert!(first.contains(" docs/dev/protocol.md#") && first.contains(": "), "{check}: it says why: {first}");
    });
}

/// Forty ways in which `reference.py` breaks a single rule, each with the check that tells.
const BREAKS: [(&str, &str); 40] = [
    ("null-posted", "invalid"),
    ("expires-not-posted", "post"),
    ("trace-not-posted", "post"),
    ("synced-once", "synced"),
    ("answer-makes-mailbox", "not-made"),
    ("save-forgets-files", "checkpoint"),
    ("case-kept", "value"),
    ("space-kept", "value"),
    ("python-number", "value"),
    ("invisible-text", "value"),
    ("null-value", "value"),
    ("near-spelling", "near-miss"),
    ("near-order", "near-miss"),
    ("near-letter", "near-miss"),
    ("near-prefix", "near-miss"),
    ("near-description", "near-miss"),
    ("near-pieces", "near-miss"),
    ("first-of-two", "near-miss"),
    ("approval-spelling", "approval"),
    ("approval-description", "approval"),
    ("approval-declined", "approval"),
    ("approval-edited", "approval"),
    ("approval-options", "approval"),
    ("approval-free-text", "approval"),
    ("approval-beside", "approval"),
    ("approval-lines", "approval"),
    ("duplicate", "damaged"),
    ("duplicate-inside", "damaged"),
    ("null-read", "damaged"),
    ("not-checked", "damaged"),
    ("bom-refused", "tolerated"),
    ("null-refused", "tolerated"),
    ("trace-refused", "tolerated"),
    ("through-missing", "answer"),
    ("named-not-put-back", "put-back"),
    ("named-forgotten", "into-checkpoint"),
    ("answer-to-forgotten", "into-checkpoint"),
    ("refusal-forgotten", "into-checkpoint"),
    ("status-3", "answered-is-over"),
    ("status-4", "other-round"),
];

/// The client that breaks a rule violates the rule's check, and keeps those of other rules.
fn is_caught(&(broken, check): &(&str, &str)) {
    let only = format!("{check},one-file,permissions,decline,unknown-fields");
    let said = conformance(&["--json", "--only", &only], &["python3", "reference.py"], &[("BREAK", broken)]);
    let rows = said.json()["checks"].as_array().unwrap().clone();
    let red: Vec<_> = rows.iter().filter(|row| row["result"] != "kept").map(|row| row["check"].as_str().unwrap()).collect();
    assert_eq!((said.code(), red), (1, vec![check]), "{broken}: {}", said.words());
}

#[test]
fn each_of_forty_breaks_is_caught_by_the_check_of_its_rule() {
    needs!("python3", "strace");
    in_parallel(4, &BREAKS, is_caught);
}

#[test]
fn the_examples_of_the_conformance_help_run_as_they_stand() {
    needs!("python3", "jq");
    let world = World::new();
    let reference = project().join("tests/conformance/reference.py");
    write_program(&world.path("harness"), &format!("#!/bin/sh\nexec '{}' -B '{}'\n", interpreter("python3"), reference.display()));
    let text = format!("import runpy, sys\nsys.path.insert(0, {:?})\nrunpy.run_path({reference:?})\n", reference.parent().unwrap());
    std::fs::write(world.path("harness.py"), text).unwrap();
    let help = world.ok("askbox", &["conformance", "--help"]);
    let examples: Vec<_> = help.lines().filter_map(|line| line.trim().strip_prefix("$ ")).collect();
    assert_eq!(examples.len(), 4, "{help}");
    for example in examples {
        // All checks run in the other tests.
        let few =
            if example.contains("--only") { example.into() } else { example.replace("conformance", "conformance --only post,answer") };
        let said = world.sh(&few);
        assert!(
            example.contains("--list") || example.contains("jq") || said.trim_end().ends_with(" kept, 0 violated, 0 skipped"),
            "{few}: {said}"
        );
    }
}

#[test]
fn each_check_names_a_section_of_the_protocol() {
    let protocol = std::fs::read_to_string(project().join("docs/dev/protocol.md")).unwrap();
    let headings: Vec<_> = protocol.lines().filter(|line| line.starts_with("##")).map(|line| line.trim_start_matches(['#', ' '])).collect();
    let anchors: Vec<_> = headings.iter().map(|heading| heading.to_lowercase().replace(' ', "-")).collect();
    for check in conformance(&["--list", "--json"], &[], &[]).ok().events() {
        let (page, anchor) = check["clause"].as_str().unwrap().split_once('#').unwrap();
        assert!(page == "docs/dev/protocol.md" && anchors.iter().any(|known| known == anchor), "{check}");
    }
}

#[test]
fn a_harness_that_does_not_speak_is_told_apart_from_a_violation() {
    let wrong = conformance(&["--only", "posts"], &[], &[]);
    assert_eq!(wrong.code(), 2, "{}", wrong.words());
    let world = World::new();
    let run = |args: &[&str]| world.run("askbox", args);
    let unknown = run(&["conformance", "--only", "posts", "--", "true"]);
    assert!(unknown.code() == 2 && unknown.stderr.contains("`posts` is not a check"), "{}", unknown.words());
    let missing = run(&["conformance", "--only", "post", "--", "/no/such/harness"]);
    assert!(missing.code() == 1 && missing.stderr.contains("cannot start /no/such/harness"), "{}", missing.words());
    let silent = run(&["conformance", "--only", "post", "--", "true"]);
    assert!(silent.code() == 1 && silent.stderr.contains("the process ended before it replied"), "{}", silent.words());
    let chatty = run(&["conformance", "--only", "post", "--", "echo", "hello"]);
    assert!(chatty.code() == 1 && chatty.stderr.contains("not one JSON object in one line: hello"), "{}", chatty.words());
    let lacks = run(&["conformance", "--only", "post", "--", "sh", "-c", "while read -r line; do echo '{\"unsupported\":true}'; done"]);
    assert!(lacks.code() == 0 && lacks.stdout.contains("0 kept, 0 violated, 1 skipped"), "{}", lacks.words());
}

#[test]
fn a_harness_that_links_a_folder_violates_the_rule() {
    needs!("python3");
    let world = World::new();
    let reference = project().join("tests/conformance/reference.py");
    let harness = format!(
        r#"
import json, os, subprocess, sys
behind = subprocess.Popen([sys.executable, "-B", {reference:?}], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
for line in sys.stdin:
    behind.stdin.write(line)
    behind.stdin.flush()
    reply = behind.stdout.readline()
    box = json.loads(line)["mailbox"]
    if os.path.isdir(box + "/pending") and not os.path.islink(box + "/pending"):
        os.rename(box + "/pending", box + ".moved")
        os.symlink(box + ".moved", box + "/pending")
    print(reply, end="", flush=True)
"#
    );
    std::fs::write(world.path("harness.py"), harness).unwrap();
    let file = world.path("harness.py").display().to_string();
    let said = conformance(&["--json", "--only", "permissions,question-hash,state"], &["python3", &file], &[]);
    assert_eq!(said.code(), 1, "{}", said.words());
    let checks = said.json()["checks"].clone();
    let state = checks.as_array().unwrap().iter().find(|check| check["check"] == "state").unwrap();
    assert_eq!((&state["result"], &state["why"]), (&"violated".into(), &"the folder pending/ was replaced by a symbolic link".into()));
    assert_eq!(said.json()["kept"].as_u64().unwrap() + said.json()["violated"].as_u64().unwrap(), 3, "{checks}");
}

#[test]
fn an_implementation_from_the_protocol_alone_skips_nothing() {
    needs!("python3", "strace");
    assert_eq!(keeps_all(&["python3", "reference.py"]), Vec::<String>::new());
}

mod promises {
    use super::*;

    #[test]
    fn a_client_that_breaks_one_rule_is_caught() {
        needs!("python3");
        let few = ["near-spelling", "approval-options", "duplicate", "bom-refused", "through-missing", "status-3"];
        let few: Vec<_> = BREAKS.into_iter().filter(|(broken, _)| few.contains(broken)).collect();
        assert_eq!(few.len(), 6);
        in_parallel(2, &few, is_caught);
    }

    #[test]
    fn every_vector_is_a_part_of_the_conformance_suite() {
        let source = std::fs::read_to_string(project().join("crates/check/src/conformance/vectors.rs")).unwrap();
        for entry in std::fs::read_dir(project().join("docs/vectors")).unwrap().flatten() {
            let name = entry.file_name().into_string().unwrap();
            if let Some(name) = name.strip_suffix(".json") {
                assert!(source.contains(&format!("\"{name}\"")), "{name} is not in crates/check/src/conformance/vectors.rs");
            }
        }
    }
}
