//! Who looks once at what is there asks for no file events: to take them down again lasts longer than the look.

use crate::support::faults::{Place, output, strace, words};

/// Whether a call of `relaunch` asks the kernel for file events.
fn asks_for_events(place: &Place, args: &[&str]) -> bool {
    let trace = place.root.join("trace");
    let before = strace(&["-f", "-qq", "-e", "trace=inotify_init,inotify_init1", "-e", "signal=none", "-o", trace.to_str().unwrap()]);
    let out = output(place.wrapped(&before, "relaunch").args(args));
    assert!(out.status.success() && !out.stdout.is_empty(), "{args:?}: {}", words(&out));
    std::fs::read_to_string(&trace).unwrap().contains("inotify_init")
}

#[test]
fn only_who_follows_a_round_asks_for_file_events() {
    let place = Place::with("work");
    place.ok("ask-post", &["-w", "docs", "Merge?", "-o", "a=A"]);
    place.ok("ask-answer", &["docs", "a"]);
    place.ok("relaunch", &["docs"]);
    for look in [&["status"][..], &["status", "docs"], &["status", "docs", "--json"], &["events", "docs"], &["logs", "docs"]] {
        assert!(!asks_for_events(&place, look), "{look:?}");
    }
    assert!(asks_for_events(&place, &["logs", "docs", "-f"]));
}
