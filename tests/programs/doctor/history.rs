//! The doctor and a long history: one workflow by its id, names of children, memory.

use std::fs;

use super::{finds_and_mends, well};
use crate::programs::beside::{opened, strangers};
use crate::support::{Terminal, needs};
use serde_json::Value;

#[test]
fn doctor_reports_a_child_missing_among_its_parents_names() {
    let world = well();
    fs::write(world.in_mailbox("workflows/kid.json"), r#"{"workflow_id":"kid","parent":"elder"}"#).unwrap();
    world.sh("chmod -R go-w m");
    finds_and_mends(&world, "unlisted", "workflows/kid.json");
    assert!(world.in_mailbox("runs/elder/children/kid").exists());
}

#[test]
fn doctor_needs_no_more_memory_for_thirty_thousand_files() {
    let world = well();
    let is_enough =
        |kib: u64| world.shell(&format!("ulimit -v {kib}; askbox doctor --json 2>/dev/null | grep -q '\"ok\":true'")).status.success();
    // The least address space, in KiB, that lets the doctor read an empty mailbox.
    let (mut low, mut without) = (0_u64, 1_u64 << 20);
    while without - low > 512 {
        let middle = low.midpoint(without);
        if is_enough(middle) { without = middle } else { low = middle }
    }
    assert!(low > 0 && without < 1 << 20);
    let name = |n| format!("timers/20261122T014545.108Z~expire~{}~01900000-0000-7000-8000-{n:012x}", "w".repeat(120));
    fs::write(world.in_mailbox(name(0)), "").unwrap();
    for n in 1..30_000 {
        fs::hard_link(world.in_mailbox(name(0)), world.in_mailbox(name(n))).unwrap();
    }
    world.sh("chmod -R go-w m");
    // The names alone are 5 MiB long.
    assert!(is_enough(without + 3 * 1024), "{without} KiB are enough without the files");
}

#[test]
fn doctor_shows_its_progress_on_a_terminal_only() {
    needs!("tmux", "strace");
    let world = well();
    strangers(&world, 10_000);
    let ran = world.shell("askbox doctor");
    assert_eq!((ran.stderr.as_str(), ran.code()), ("", 0));
    let terminal = Terminal::new(&world);
    // Slowly, so that it is seen on any machine: each file is opened two milliseconds later.
    let slow = "strace -qq -o /dev/null -e trace=openat2 -e inject=openat2:delay_enter=2000";
    terminal.press(&[&format!("clear; {slow} askbox doctor --all-rounds >out & sleep 600; clear"), "Enter"]);
    terminal.see(" files, now in ");
}

mod promises {
    use super::*;

    #[test]
    fn doctor_with_an_id_reads_that_workflow_alone() {
        needs!("strace");
        let world = well();
        world.sh("ask-post -w mine 'Go?' && ask-answer cancel mine && ask-post -w mine 'Again?'");
        let alone = opened(&world, "askbox doctor mine");
        strangers(&world, 500);
        assert_eq!(opened(&world, "askbox doctor mine"), alone);
        assert!(world.sh("askbox doctor mine").ends_with("No problems found."));
        // A problem of another workflow is not reported, and each problem of its own is.
        world.sh("echo '{' > m/closed/stranger3.$(ls m/runs/stranger3).json; touch -d '1 hour ago' m/closed/stranger3.*");
        world.sh("for f in m/closed/mine.*; do echo '{' > $f; touch -d '1 hour ago' $f; done; mkdir m/checkpoints/mine.json; touch -d '2 hours ago' m/runs/mine/.tmpabcdefabcdef");
        let ran = world.shell("askbox doctor mine --json");
        let report: Value = serde_json::from_str(&ran.stdout).unwrap();
        let mut kinds: Vec<_> = report["findings"].as_array().unwrap().iter().map(|f| f["kind"].as_str().unwrap()).collect();
        kinds.sort_unstable();
        assert_eq!((kinds, ran.code()), (vec!["leftover", "no_file", "unreadable"], 1), "{report:#}");
        let ran = world.shell("askbox doctor nobody");
        assert_eq!((ran.code(), ran.stderr.lines().next()), (3, Some("error: nothing is known of nobody")), "{}", ran.stderr);
    }
}
