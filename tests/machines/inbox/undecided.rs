//! Answers that nobody has confirmed: they may still count, and are never said to. And the end of the inbox, which waits only for a moment.

use std::time::{Duration, Instant};

use super::{ask, behind, drafts, enter, open, two};
use crate::support::{Machine, Terminal, World, needs, until};

/// A machine that takes an offer and says nothing about it: the offer lies in its file `offer`, and no mailbox has taken it yet.
fn silent() -> (World, Machine) {
    let (here, build) = two();
    let script = "case \"$*\" in *--offer*) printf '' | $real \"$@\" | head -n 1; cat > offer.part; mv offer.part offer;; *) exec $real \"$@\";; esac";
    behind(&here, &build, &format!("cd '{}'\n{script}", build.world.home().display()));
    (here, build)
}

/// Types an answer of one's own, and sends it.
fn answer(terminal: &Terminal<'_>) {
    enter(terminal);
    terminal.press(&["i", "my long thoughts"]);
    terminal.see("│ my long thoughts");
    terminal.send_asked();
    terminal.see("build:docs-42: sending: my long thoughts; not yet accepted by build");
}

#[test]
fn an_unconfirmed_answer_stays_sent_until_it_counts() {
    needs!("sshd", "ssh", "tmux");
    let (here, build) = silent();
    let terminal = Terminal::new(&here);
    open(&terminal, "build:docs-42");
    answer(&terminal);
    // While it is on its way, nothing else is sent.
    let screen = terminal.see("(sending) Merge the sections?");
    assert!(screen.contains("1 question is waiting"), "{screen}");
    terminal.press(&["Enter"]);
    terminal.see("sending: my long thoughts; not yet accepted by build");
    terminal.take_back();
    terminal.see("is taken back there, not here");
    terminal.press(&["Tab"]);
    let screen = terminal.see("sending since ");
    assert!(screen.contains("not yet accepted by build") && screen.contains("build:docs-42"), "{screen}");
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
fn who_leaves_before_the_decision_is_told_within_seconds() {
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
    let joined = screen.replace('\n', "");
    assert!(joined.contains("build:docs-42: build has not answered, and may have your answer (my long thoughts) or not"), "{screen}");
    assert!(screen.contains("build:docs-42: your answer is not accepted yet; it is kept in"), "{screen}");
    assert!(drafts(&here).iter().any(|(_, text)| text.contains("my long thoughts")));
    assert!(build.world.in_mailbox("pending/docs-42.json").exists());
    // It is the draft when the question is opened again.
    open(&terminal, "build:docs-42");
    enter(&terminal);
    terminal.see("│ my long thoughts");
}

#[test]
fn an_answer_accepted_while_the_inbox_ends_is_told() {
    needs!("sshd", "ssh", "tmux");
    until("a machine accepts while the inbox ends", is_accepted_at_the_end);
}

/// One try of it. False if the machine was not quick enough: the inbox waits only a few seconds.
fn is_accepted_at_the_end() -> bool {
    let (here, build) = two();
    // The machine greets, and reads the offer only once the inbox ends.
    let held = "case \"$*\" in *--offer*) (while [ ! -e go ]; do sleep 0.05; done; cat) | $real \"$@\";; *) exec $real \"$@\";; esac";
    behind(&here, &build, &format!("cd '{}'\n{held}", build.world.home().display()));
    let terminal = Terminal::new(&here);
    open(&terminal, "build:docs-42");
    answer(&terminal);
    terminal.press(&["q"]);
    terminal.see("waiting a moment for what was sent");
    std::fs::write(build.world.home().join("go"), "").unwrap();
    let screen = terminal.see("left=0");
    if screen.replace('\n', "").contains("may have your answer (my long thoughts) or not") {
        assert!(drafts(&here).iter().any(|(_, text)| text.contains("my long thoughts")), "{screen}");
        return false;
    }
    assert!(screen.contains("answered in your own words: my long thoughts; accepted by build"), "{screen}");
    assert!(drafts(&here).is_empty(), "{screen}");
    assert_eq!(build.world.document("answered/docs-42.json")["answer"]["value"], "my long thoughts");
    true
}

#[test]
fn unconfirmed_answers_are_asked_about_once_reachable() {
    needs!("sshd", "ssh", "tmux");
    let (here, build) = two();
    ask(&build, "docs-43");
    // Until it is healed, the link breaks behind each offer. The one for docs-42 arrives, and nobody is told.
    let script = "case \"$*\" in
        *--watch*) exec $real \"$@\" | grep --line-buffered -v '\"line\":\"gone\"';;
        *--offer*) test ! -e healed || exec $real \"$@\"
            printf '' | $real \"$@\" | head -n 1; cat > offer.$$
            if grep -q docs-42 offer.$$; then $real \"$@\" < offer.$$ > taken; fi; exit 255;;
        *) exec $real \"$@\";; esac";
    behind(&here, &build, &format!("cd '{}'\n{script}", build.world.home().display()));
    let terminal = Terminal::new(&here);
    open(&terminal, "2 questions are waiting");
    for workflow in ["docs-42", "docs-43"] {
        terminal.press(&["/", "C-u", workflow, "Enter"]);
        terminal.see(&format!("1 with \"{workflow}\""));
        enter(&terminal);
        terminal.press(&["1", "Enter"]);
        // The broken link may be told before the notice of the sending was seen.
        terminal.see("(sent");
    }
    build.world.ok("ask-answer", &["docs-43", "drop", "--by", "bob"]);
    build.world.appears("answered/docs-42.json");
    // The screen does not say that the answers were refused: one of them was accepted.
    let screen = terminal.see("2 answers are not confirmed · tab tells why");
    assert!(!screen.contains("not accepted"), "{screen}");
    terminal.press(&["Tab"]);
    terminal.see("asked again by itself");
    terminal.press(&["Tab"]);
    terminal.see("? help");
    std::fs::write(build.world.home().join("healed"), "").unwrap();
    build.cut();
    terminal.see("build is not reached");
    build.set_down(false);
    // The verdicts come one after the other, and the notice of the second replaces that of the first.
    terminal.see_no_more("not confirmed");
    terminal.press(&["Tab"]);
    terminal.see("→ not accepted by build: not the first");
    let screen = terminal.see("\n  accepted ");
    let row = |id: &str| screen.lines().find(|line| line.contains(id)).unwrap_or_default().to_owned();
    assert!(row("build:docs-42").contains("accepted ") && row("build:docs-43").contains("refused "), "{screen}");
    assert_eq!(build.world.document("answered/docs-43.json")["answer"]["by"], "bob");
}

#[test]
fn a_question_with_an_accepted_answer_waits_no_longer() {
    needs!("sshd", "ssh", "tmux");
    let (here, build) = two();
    let script = "case \"$*\" in
        *--offer*) touch offered; kill $(cat feed); exec $real \"$@\";;
        *--watch*) [ ! -e offered ] || exit 255; echo $$ > feed; exec $real \"$@\";;
        *) exec $real \"$@\";;
    esac";
    behind(&here, &build, &format!("cd '{}'\n{script}", build.world.home().display()));
    let terminal = Terminal::new(&here);
    open(&terminal, "build:docs-42");
    enter(&terminal);
    terminal.press(&["1", "Enter"]);
    terminal.see("accepted by build");
    terminal.see("build is not reached");
    terminal.see("No question is waiting");
    let screen = terminal.screen();
    assert!(!screen.contains("> build:docs-42"), "{screen}");
}
