//! Prints what polling sends, for the figures of `docs/guide-chains.md`: `tests/run polls`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failed expectation ends the program")]

use askbox_testkit::claude::polling::{Poll, polls};

fn main() {
    for fork in ["--fork-session", ""] {
        let polls = polls(50, fork);
        for n in [1, 10, 50] {
            let sum = |part: fn(&Poll) -> usize| polls[..n].iter().map(part).sum::<usize>();
            let (requests, bytes, messages) = (sum(|p| p.requests), sum(|p| p.bytes), sum(|p| p.messages));
            println!("{fork:15} {n:2} polls: {requests} requests, {bytes} bytes, {messages} of conversation");
        }
    }
}
