//! What is seen of another machine is answered from here, and its machine decides.

use super::{ask, behind, drafts, enter, open, two};
use crate::support::machine::configure;
use crate::support::{Machine, Terminal, needs, until};

#[test]
fn questions_with_one_id_on_three_machines_stay_three() {
    needs!("sshd", "ssh", "tmux");
    let (here, build) = two();
    let tower = Machine::new(&here, "tower");
    ask(&tower, "docs-42");
    here.ok("ask-post", &["-w", "docs-42", "Here?", "-o", "a=A", "-o", "b=B"]);
    configure(&here, &[&build, &tower]);
    let terminal = Terminal::new(&here);
    let screen = open(&terminal, "3 questions are waiting");
    assert!(screen.contains("build:docs-42") && screen.contains("tower:docs-42") && screen.contains(" docs-42 "), "{screen}");
    // The drafts of the three are three.
    for (filter, words) in [("host:local", "for here"), ("host:build", "for build"), ("host:tower", "for tower")] {
        terminal.press(&["/", filter, "Enter"]);
        terminal.see(&format!("1 with \"{filter}\""));
        enter(&terminal);
        terminal.press(&["i", words]);
        terminal.see(&format!("│ {words}"));
        terminal.press(&["Escape"]);
        terminal.see("? help");
        terminal.press(&["Escape"]);
        terminal.see_no_more("with \"");
    }
    terminal.press(&["/host:tower", "Enter"]);
    terminal.see("1 with \"host:tower\"");
    enter(&terminal);
    terminal.see("│ for tower");
    terminal.enter_again();
    terminal.see("this is your draft from before; ok, then enter, goes on with it");
    terminal.confirm();
    terminal.see("; accepted by tower");
    assert_eq!(tower.world.document("answered/docs-42.json")["answer"]["value"], "for tower");
    terminal.press(&["Escape", "q"]);
    let screen = terminal.see("left=0");
    assert!(screen.contains("build:docs-42: what you typed was not sent"), "{screen}");
    let mut kept: Vec<_> = drafts(&here).into_iter().map(|(name, text)| (name.split('.').next().unwrap().to_owned(), text)).collect();
    kept.sort();
    assert_eq!(kept.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["build:docs-42", "docs-42"], "{kept:?}");
    assert!(kept[0].1.contains("for build") && kept[1].1.contains("for here"), "{kept:?}");
    for world in [&here, &build.world] {
        assert!(world.in_mailbox("pending/docs-42.json").exists());
    }
}

#[test]
fn a_question_answered_there_while_it_is_open_here_is_over() {
    needs!("sshd", "ssh", "tmux");
    let (here, build) = two();
    let terminal = Terminal::new(&here);
    open(&terminal, "build:docs-42");
    enter(&terminal);
    terminal.press(&["i", "my long thoughts"]);
    terminal.see("│ my long thoughts");
    build.world.ok("ask-answer", &["docs-42", "drop", "--by", "bob"]);
    let screen = terminal.see("This question is over");
    assert!(screen.contains("build:docs-42: ") && screen.contains("by bob") && screen.contains("my long thoughts"), "{screen}");
    // What it asks next takes the same words, once the person has seen it.
    build.world.ok("ask-answer", &["undo", "docs-42"]);
    build.world.ok("ask-post", &["-w", "docs-42", "--supersede", "Something else?"]);
    until("the new question is told", || {
        terminal.press(&["C-o"]);
        terminal.screen().contains("Something else?")
    });
    terminal.see("│ my long thoughts");
    terminal.send_asked();
    terminal.see("; accepted by build");
}

#[test]
fn who_is_not_the_first_is_told_who_was_and_has_the_draft_again() {
    needs!("sshd", "ssh", "tmux");
    let (here, build) = two();
    // The machine is late with its news.
    behind(
        &here,
        &build,
        "case \"$*\" in *--watch*) exec $real \"$@\" | grep --line-buffered -v '\"line\":\"gone\"';; *) exec $real \"$@\";; esac",
    );
    let terminal = Terminal::new(&here);
    open(&terminal, "build:docs-42");
    enter(&terminal);
    terminal.press(&["i", "my long thoughts"]);
    terminal.see("│ my long thoughts");
    build.world.ok("ask-answer", &["docs-42", "drop", "--by", "bob"]);
    terminal.send_asked();
    let screen = terminal.see("not accepted by build: not the first");
    assert!(screen.replace('\n', " ").contains("answered by bob"), "{screen}");
    assert!(!screen.contains("docs-42: answered"), "{screen}");
    terminal.press(&["Down"]);
    // It stays to be seen until the person has looked.
    let screen = terminal.see("build:docs-42: not accepted by build: not the first · tab tells why");
    assert!(screen.contains("No question is waiting"), "{screen}");
    terminal.press(&["Tab"]);
    terminal.see("What became of");
    let screen = terminal.see("answered by bob");
    assert!(screen.contains("refused") && screen.contains("→ my long thoughts"), "{screen}");
    terminal.press(&["Tab"]);
    terminal.see("No question is waiting");
    terminal.see_no_more("tab tells why");
    terminal.press(&["u"]);
    terminal.see("nothing was answered from here that could be taken back");
    // Right behind another letter, `q` would be part of a word.
    terminal.press(&["Escape"]);
    terminal.see("q leaves the inbox");
    terminal.press(&["q"]);
    let screen = terminal.see("left=0");
    assert!(screen.contains("build:docs-42: your answer was not accepted; it is kept in"), "{screen}");
    assert!(drafts(&here).iter().any(|(name, text)| name.starts_with("build:docs-42.") && text.contains("my long thoughts")));
    assert_eq!(build.world.document("answered/docs-42.json")["answer"]["by"], "bob");
}

#[test]
fn marked_questions_of_other_machines_are_declined_there() {
    needs!("sshd", "ssh", "tmux");
    let (here, build) = two();
    (0..9).for_each(|n| ask(&build, &format!("old-{n}")));
    here.ok("ask-post", &["-w", "old-here", "Stale?"]);
    let terminal = Terminal::new(&here);
    open(&terminal, "11 questions are waiting");
    terminal.press(&["/old", "Enter"]);
    terminal.see("10 with \"old\"");
    terminal.press(&["Home"]);
    for _ in 0..10 {
        terminal.press(&["Space"]);
    }
    terminal.see("d decline the marked");
    terminal.press(&["d"]);
    terminal.see("at most 8 questions of other machines are declined at once, and 9 are marked");
    // The mark of one is taken away.
    terminal.press(&["/", "C-u", "host:build old-8", "Enter"]);
    terminal.see("1 with");
    terminal.press(&["Space", "d"]);
    terminal.see("Decline 9 questions. Why?");
    terminal.press(&["no longer asked", "Enter"]);
    let screen = terminal.see("Decline these 9 questions?");
    assert!(screen.contains("build:old-0  Merge"), "they are named with their host: {screen}");
    terminal.confirm();
    until("all are declined there", || (0..8).all(|n| build.world.in_mailbox(format!("answered/old-{n}.json")).exists()));
    assert_eq!(build.world.document("answered/old-3.json")["answer"]["note"], "no longer asked");
    assert_eq!(here.document("answered/old-here.json")["answer"]["outcome"], "declined");
    assert!(build.world.in_mailbox("pending/old-8.json").exists() && build.world.in_mailbox("pending/docs-42.json").exists());
    terminal.press(&["Escape"]);
    terminal.see("2 questions are waiting");
}

#[test]
fn a_question_of_another_machine_is_opened_by_its_address() {
    needs!("sshd", "ssh", "tmux");
    let (here, build) = two();
    let terminal = Terminal::new(&here);
    terminal.press(&["clear; askbox inbox build:docs-42; echo left=$?", "Enter"]);
    let screen = terminal.see("esc later");
    assert!(screen.contains("build:docs-42 · by reviewer"), "{screen}");
    terminal.press(&["b"]);
    terminal.see("Your question to the agent");
    terminal.press(&["Which ones?"]);
    terminal.send_asked();
    terminal.see("build:docs-42: asked back; accepted by build");
    assert_eq!(build.world.document("answered/docs-42.json")["answer"]["note"], "Which ones?");
    terminal.press(&["q"]);
    terminal.see("left=0");
    terminal.press(&["clear; askbox inbox build:nothing; echo left=$?", "Enter"]);
    terminal.see("build:nothing waits for no answer");
    terminal.press(&["q"]);
    terminal.see("left=0");
    terminal.press(&["clear; askbox inbox nowhere:docs-42; echo left=$?", "Enter"]);
    terminal.see("no machine `nowhere` is configured");
}

#[test]
fn an_address_opens_the_question_and_an_unknown_one_nothing() {
    needs!("sshd", "ssh", "tmux");
    let (here, build) = two();
    let terminal = Terminal::new(&here);
    terminal.press(&["clear; ask-answer build:docs --by ann; echo left=$?", "Enter"]);
    let screen = terminal.see("esc later");
    assert!(screen.contains("build:docs-42 · by reviewer"), "a part of the id is enough: {screen}");
    terminal.press(&["2", "Enter"]);
    terminal.see("build:docs-42: answered: drop; accepted by build");
    assert_eq!(build.world.document("answered/docs-42.json")["answer"]["by"], "ann");
    terminal.press(&["q"]);
    terminal.see("left=0");
    terminal.press(&["clear; ask-answer build:nothing; echo left=$?", "Enter"]);
    let screen = terminal.see("left=3");
    assert!(screen.contains("nothing waits for no answer on build"), "{screen}");
}

#[test]
fn an_answer_that_does_not_count_there_leaves_its_draft() {
    needs!("sshd", "ssh", "tmux");
    let (here, build) = two();
    // The machine tells an earlier text than it has.
    let script = "case \"$*\" in *--watch*) $real \"$@\" | sed -u 's/Merge the sections/Merge all sections/';; *) exec $real \"$@\";; esac";
    behind(&here, &build, script);
    let terminal = Terminal::new(&here);
    open(&terminal, "Merge all sections?");
    enter(&terminal);
    terminal.press(&["1", "Enter"]);
    let screen = terminal.see("not accepted by build: the question has changed");
    assert!(screen.contains("1 question is waiting"), "{screen}");
    let screen = enter(&terminal);
    assert!(screen.contains("> 1 merge"), "what was chosen is chosen again: {screen}");
    assert!(!build.world.in_mailbox("answered/docs-42.json").exists());
}

mod promises {
    use super::*;

    #[test]
    fn a_question_of_another_machine_is_seen_and_answered() {
        needs!("sshd", "ssh", "tmux");
        let (here, build) = two();
        here.ok("ask-post", &["-w", "local-1", "Here?"]);
        let terminal = Terminal::new(&here);
        let screen = open(&terminal, "2 questions are waiting");
        assert!(screen.contains("build:docs-42") && screen.contains("local-1") && screen.contains("Merge the sections?"), "{screen}");
        terminal.press(&["/build", "Enter"]);
        terminal.see("1 with \"build\"");
        let screen = enter(&terminal);
        assert!(screen.starts_with("build:docs-42 · by reviewer") && screen.contains("1 merge  Yes"), "{screen}");
        terminal.press(&["n"]);
        terminal.see("A note beside");
        terminal.press(&["quickly", "Enter"]);
        terminal.see("note: quickly");
        terminal.press(&["1"]);
        terminal.send_asked();
        terminal.see("build:docs-42: answered: merge; accepted by build");
        let answer = build.world.document("answered/docs-42.json")["answer"].clone();
        assert_eq!(
            (answer["value"].as_str(), answer["by"].as_str(), answer["note"].as_str()),
            (Some("merge"), Some("ann"), Some("quickly"))
        );
        assert!(answer["channel"].as_str().unwrap().starts_with("inbox on ") && answer["through"] == "terminal", "{answer}");
        terminal.press(&["Escape"]);
        // A key that comes with the escape would be another key.
        terminal.see_no_more("with \"build\"");
        let screen = terminal.see("1 question is waiting");
        assert!(!screen.contains("docs-42  "), "{screen}");
        // The outcome of the answer, with its host. The run is shown there, and the answer is taken back there.
        terminal.press(&["Tab"]);
        let screen = terminal.see("→ accepted by build");
        assert!(screen.contains("accepted ") && screen.contains("build:docs-42") && screen.contains("quickly"), "{screen}");
        terminal.press(&["Enter"]);
        terminal.see("its log is on build");
        terminal.take_back();
        terminal.see("is taken back there, not here: on build, ask-answer undo docs-42");
        terminal.press(&["Tab"]);
        terminal.see("? help");
        // A question that waits again because it was taken back there is answered again.
        build.world.ok("ask-answer", &["undo", "docs-42"]);
        terminal.see("2 questions are waiting");
        terminal.press(&["/build", "Enter"]);
        terminal.see("1 with \"build\"");
        let screen = enter(&terminal);
        assert!(!screen.contains("accepted by"), "{screen}");
        terminal.press(&["2", "Enter"]);
        terminal.see("build:docs-42: answered: drop; accepted by build");
        assert_eq!(build.world.document("answered/docs-42.json")["answer"]["value"], "drop");
    }
}
