//! Answers that nobody has confirmed: they may still count, and are never said to. And the end of the inbox, which waits only for a moment.

use std::time::{Duration, Instant};

use super::{behind, drafts, enter, open, two};
use crate::support::{Machine, Terminal, World, needs, until};

/// A machine that takes an offer, and says nothing about it: the offer lies in its file `offer`, and is taken by no mailbox yet.
fn silent() -> (World, Machine) {
    let (here, build) = two();
    let script = "case \"$*\" in *--offer*) printf '' | $real \"$@\" | head -n 1; cat > offer.part; mv offer.part offer;; *) exec $real \"$@\";; esac";
    behind(&here, &build, &format!("cd '{}'\n{script}", build.world.home().display()));
    (here, build)
}

/// Types an answer of one's own, and sends it.
fn answer(terminal: &Terminal<'_>) {
    enter(terminal);
    terminal.press(&["my long thoughts"]);
    terminal.see("│ my long thoughts");
    terminal.press(&["Enter"]);
    terminal.see("build:docs-42: sent: my long thoughts; not yet accepted by build");
}

#[test]
fn an_answer_that_was_not_confirmed_stays_sent_until_its_machine_tells_that_it_counts() {
    needs!("sshd", "ssh", "tmux");
    let (here, build) = silent();
    let terminal = Terminal::new(&here);
    open(&terminal, "build:docs-42");
    answer(&terminal);
    // While it is on its way, nothing else is sent.
    let screen = terminal.see("(sent) Merge the sections?");
    assert!(screen.contains("1 question is waiting"), "{screen}");
    terminal.press(&["Enter"]);
    terminal.see("sent: my long thoughts; not yet accepted by build");
    terminal.press(&["u"]);
    terminal.see("is taken back there, not here");
    terminal.press(&["Tab"]);
    let screen = terminal.see("not yet accepted by build");
    assert!(screen.contains("sent ") && screen.contains("build:docs-42"), "{screen}");
    let screen = terminal.see("unconfirmed");
    assert!(screen.contains("may have it or not") && screen.contains("not confirmed by build"), "{screen}");
    terminal.press(&["Tab"]);
    let screen = terminal.see("(sent, not confirmed) ");
    assert!(!screen.contains("answered:"), "{screen}");
    // It has arrived after all.
    let offer = build.world.home().join("offer");
    until("the offer is there", || offer.exists());
    build.world.sh(&format!("ask-answer --offer - < '{0}' || ask-answer --offer < '{0}'", offer.display()));
    terminal.see("build:docs-42: answered in your own words: my long thoughts; accepted by build");
    terminal.press(&["q"]);
    let screen = terminal.see("left=0");
    assert!(!screen.contains("is kept") && drafts(&here).is_empty(), "{screen}");
}

#[test]
fn who_leaves_before_a_machine_has_decided_is_told_so_within_seconds_and_keeps_what_was_typed() {
    needs!("sshd", "ssh", "tmux");
    let (here, build) = silent();
    let terminal = Terminal::new(&here);
    open(&terminal, "build:docs-42");
    answer(&terminal);
    terminal.press(&["q"]);
    let begun = Instant::now();
    let screen = terminal.see("left=0");
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(20), "{took:?}");
    assert!(screen.contains("build:docs-42: sent: my long thoughts; not yet accepted by build"), "{screen}");
    assert!(screen.contains("build:docs-42: your answer is not accepted yet; it is kept in"), "{screen}");
    assert!(drafts(&here).iter().any(|(_, text)| text.contains("my long thoughts")));
    assert!(build.world.in_mailbox("pending/docs-42.json").exists());
    // It is the draft when the question is opened again.
    open(&terminal, "build:docs-42");
    enter(&terminal);
    terminal.see("│ my long thoughts");
}

#[test]
fn an_answer_that_is_accepted_while_the_inbox_ends_is_told_as_accepted() {
    needs!("sshd", "ssh", "tmux");
    let (here, build) = two();
    behind(&here, &build, "case \"$*\" in *--offer*) sleep 1;; esac; exec $real \"$@\"");
    let terminal = Terminal::new(&here);
    open(&terminal, "build:docs-42");
    answer(&terminal);
    terminal.press(&["q"]);
    let screen = terminal.see("left=0");
    assert!(screen.contains("answered in your own words: my long thoughts; accepted by build"), "{screen}");
    assert!(drafts(&here).is_empty(), "{screen}");
    assert_eq!(build.world.document("answered/docs-42.json")["answer"]["value"], "my long thoughts");
}
