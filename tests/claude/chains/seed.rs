//! The requests that polling sends, the scheme of the first sketch: see `crates/testkit/src/claude/polling.rs`. askbox sends nothing while
//! a chain waits: see `birthday.rs`. `benches/polls.rs` prints the figures of `docs/guide-chains.md`.

use crate::support::claude::polling::polls;

#[test]
fn polling_asks_every_levels_model_twice_a_poll() {
    let forked = polls(2, "--fork-session");
    assert!(forked.iter().all(|p| p.requests == 8), "a tool call and a word on each of four levels");
    assert!(forked[1].bytes.abs_diff(forked[0].bytes) * 100 < forked[0].bytes, "as much each time");
    let grown = polls(3, "");
    assert!(grown.iter().all(|p| p.requests == 8));
    let steps: Vec<_> = grown.windows(2).map(|w| w[1].messages - w[0].messages).collect();
    assert!(steps.iter().all(|s| *s > 1000) && steps[0].abs_diff(steps[1]) * 5 < steps[0], "more each time, by as much: {steps:?}");
}
