//! The news for programs: metrics and the log.

use super::*;

#[test]
fn the_log_can_be_read_by_programs() {
    let world = world("work", "", "");
    world.make_mailbox();
    let watcher = world.start_as_watcher(world.command("relaunch").args(["watch", "--json"]));
    world.ask_and_answer("docs");
    world.reaches("docs", "delivered");
    // A quick run may be over before its watcher has logged the launch.
    watcher.says("\"launched\"");
    let log = world.watchers_said();
    let lines: Vec<Value> = whole_lines(&log).map(|l| serde_json::from_str(l).unwrap_or_else(|e| panic!("{e}: {l}"))).collect();
    let launched = lines.iter().find(|l| l["event"] == "launched").unwrap_or_else(|| panic!("{log}"));
    assert_eq!((&launched["level"], &launched["workflow"], &launched["attempt"]), (&"info".into(), &"docs".into(), &1.into()));
    assert!(launched["at"].as_str().is_some_and(|at| askbox::time::parse_rfc3339(at).is_some()));
}

#[test]
fn of_two_watchers_with_one_metrics_file_one_writes_it() {
    let world = world("work", "", "");
    let file = world.path("askbox.prom");
    world.configure(&format!("[metrics]\nfile = \"{}\"", file.display()));
    world.make_mailbox();
    let first = world.start_watcher();
    until("it is there", || file.exists());
    world.ok("ask-post", &["-w", "docs", "Merge?"]);
    let waits = || std::fs::read_to_string(&file).is_ok_and(|text| text.contains("askbox_rounds{state=\"pending\"} 1\n"));
    until("the question counts", waits);
    let other = world.path("other").display().to_string();
    world.ok("ask-post", &["--mailbox", &other, "-w", "seed", "Merge?"]);
    world.ok("ask-answer", &["--mailbox", &other, "cancel", "seed"]);
    let second = world.start_as_watcher(world.command("relaunch").args(["watch", "--mailbox", &other]));
    second.says("another watcher writes");
    assert!(waits(), "the file says what the other mailbox holds");
    first.kill();
    second.kill();
}

#[test]
fn unwritable_metrics_are_told_with_their_configuration_key() {
    let world = world("work", "", "");
    world.configure(&format!("[metrics]\nfile = \"{}\"", world.path("nowhere/askbox.prom").display()));
    world.make_mailbox();
    let watcher = world.start_watcher();
    let said = watcher.says("the metrics cannot be written to");
    assert!(said.contains("metrics.file") && !said.contains("--mailbox"), "{said}");
}

mod promises {
    use super::*;

    #[test]
    fn the_metrics_file_follows_what_happens_and_is_never_torn() {
        let world = world("work", "", "");
        let file = world.path("askbox.prom");
        world.configure(&format!("[metrics]\nfile = \"{}\"", file.display()));
        world.make_mailbox();
        let _watcher = world.start_watcher();
        let figure = |name: &str| {
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            assert!(text.is_empty() || text.ends_with('\n') && text.contains("askbox_day_limit_usd 0\n"), "torn: {text}");
            text.lines().find_map(|l| l.strip_prefix(name)?.strip_prefix(' ')?.parse::<f64>().ok())
        };
        until("it is there", || figure("askbox_rounds{state=\"pending\"}") == Some(0.0));
        world.ok("ask-post", &["-w", "docs", "Merge?"]);
        until("the question counts", || figure("askbox_rounds{state=\"pending\"}") == Some(1.0));
        assert!(figure("askbox_oldest_pending_timestamp_seconds").is_some_and(|at| at > 1.7e9));
        world.ok("ask-answer", &["docs", "yes"]);
        until("the run counts", || figure("askbox_runs_ended_total{state=\"delivered\"}") == Some(1.0));
        until("the question is gone", || figure("askbox_rounds{state=\"pending\"}") == Some(0.0));
        let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&file).expect("it is there").permissions());
        assert_eq!(mode & 0o777, 0o644, "a collector of another user could not read it");
    }
}
