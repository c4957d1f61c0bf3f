//! A machine that stops in the middle of a connection, seen by a surface that stays open, as the inbox and the page do.

use std::time::{Duration, Instant};

use askbox::peers::{HostView, Peers, Reach};

use super::{Kept, surface};
use crate::support::{Machine, World, needs, until};

/// The promise of `docs/guide-machines.md`: a machine that says nothing is greyed after this time at the latest.
const GREYED_WITHIN: Duration = Duration::from_secs(30);

/// Looks as a surface does. It never waits.
fn look(peers: &Peers) -> HostView {
    let begun = Instant::now();
    let view = peers.view().remove(0);
    assert!(begun.elapsed() < Duration::from_secs(10), "a look waits for nobody: {:?}", begun.elapsed());
    view
}

#[test]
fn a_stopped_server_greys_its_rows_and_is_seen_again() {
    needs!("sshd", "ssh");
    let here = World::new();
    let build = Machine::new(&here, "build");
    build.world.ok("ask-post", &["-w", "docs", "Merge?"]);
    let peers = surface(&here, &build, Kept::Yes);
    until("its question is seen", || look(&peers).questions.len() == 1);
    build.stop(true);
    let stopped = Instant::now();
    let view = until("its rows are grey", || Some(look(&peers)).filter(HostView::is_stale));
    let took = stopped.elapsed();
    // A busy machine notices later.
    assert!(took < 2 * GREYED_WITHIN, "{took:?}");
    eprintln!("grey after {took:?}");
    assert!(view.questions.len() == 1 && view.as_of.is_some() && matches!(view.reach, Reach::Unreachable { .. }), "{view:?}");
    build.stop(false);
    build.world.ok("ask-post", &["-w", "more", "And this?"]);
    until("it is seen again", || Some(look(&peers)).filter(|view| !view.is_stale() && view.questions.len() == 2));
}
