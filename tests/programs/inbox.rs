//! The interactive inbox of `ask-answer`, in a real terminal.

use crate::support::{Terminal, World, needs};
use serde_json::json;

/// Opens the inbox on a clean screen.
fn open(terminal: &Terminal<'_>) -> String {
    terminal.press(&["clear; ask-answer; echo left=$?", "Enter"]);
    terminal.see("quit]")
}

/// Finds a question by typing its id and opens it.
fn choose(terminal: &Terminal<'_>, id: &str) {
    terminal.press(&[id, "Enter"]);
    terminal.see(&format!("{id}: asked"));
    terminal.see("?");
}

#[test]
fn the_inbox_lists_the_urgent_first_and_shows_who_asks_and_since_when() {
    needs!("tmux");
    let world = World::new();
    world.sh("ask-post \"$(printf 'Usual\\033[31m?')\" -w usual --asked-by reviewer; ask-post Late? -w late --timeout 1s; ask-post Urgent? -w urgent --priority 5");
    world.sh("echo '{' > m/pending/torn.json; sleep 1.1");
    let terminal = Terminal::new(&world);
    let screen = open(&terminal);
    assert!(screen.contains("4 questions are pending"));
    let line = |text: &str| screen.lines().position(|l| l.contains(text)).unwrap_or_else(|| panic!("no {text:?} in\n{screen}"));
    assert!(line("> urgent") < line("usual") && screen.contains("[+5] Urgent?") && screen.contains("(overdue) Late?"));
    assert!(screen.contains("reviewer  Usual[31m?") && screen.contains("unreadable:"), "{screen}");
    terminal.press(&["Escape"]);
    terminal.see("left=0");
}

#[test]
fn a_choice_is_made_with_the_arrow_keys() {
    needs!("tmux");
    let world = World::new();
    world.sh("ask-post How? -w w -o merge='Merge into one' -o keep='Keep both' --context 'They *overlap*.'");
    let terminal = Terminal::new(&world);
    open(&terminal);
    terminal.press(&["Enter"]);
    let screen = terminal.see("Answer:");
    assert!(
        screen.contains("They *overlap*.") && screen.contains("merge  Merge into one") && screen.contains("Other: your own words"),
        "{screen}"
    );
    terminal.press(&["Down", "Enter"]);
    terminal.see("No question is pending");
    terminal.press(&["Down", "Enter"]);
    terminal.see("left=0");
    let answer = &world.json("m/answered/w.json")["answer"];
    assert_eq!((&answer["value"], &answer["by"], &answer["channel"]), (&json!("keep"), &json!("ann"), &json!("inbox")));
}

/// Types an answer to the only question, and sends it.
fn types(terminal: &Terminal<'_>, words: &str) {
    open(terminal);
    terminal.press(&["Enter"]);
    terminal.see("or type;");
    terminal.press(&[words]);
    terminal.see(&format!("Answer: {words}"));
}

#[test]
fn typed_words_are_an_option_only_if_they_are_its_key_and_never_because_its_letters_occur_in_one() {
    needs!("tmux");
    let world = World::new();
    let terminal = Terminal::new(&world);
    let value = || world.json("m/answered/w.json")["answer"]["value"].clone();
    let again = || {
        terminal.press(&["Escape"]);
        terminal.see("left=0");
        world.sh("ask-answer undo w");
    };
    world.sh("ask-post Ship? -w w -o nowait='Ship at once, on Monday' -o no='Do not ship'");
    types(&terminal, "no");
    terminal.press(&["Enter"]);
    terminal.see("w: no");
    assert_eq!(value(), "no");
    again();
    // Words of the person's own are kept, and shown before they are sent.
    types(&terminal, "none of it");
    terminal.see("> Other: your own words");
    terminal.press(&["Enter"]);
    terminal.see("open your editor");
    terminal.press(&["Enter"]);
    terminal.see("w: none of it");
    assert_eq!(value(), "none of it");
    again();
    types(&terminal, "nowa");
    terminal.press(&["Enter"]);
    terminal.see("open your editor");
    terminal.press(&["Enter"]);
    terminal.see("What do you mean?");
    terminal.press(&["Enter"]);
    terminal.see("w: nowait");
    assert_eq!(value(), "nowait");
}

#[test]
fn where_only_the_options_count_other_words_choose_none_of_them() {
    needs!("tmux");
    let world = World::new();
    world.sh("ask-post Ship? -w w -o now='Deploy now' -o later='Wait until tomorrow' --no-free-text");
    let terminal = Terminal::new(&world);
    types(&terminal, "no");
    terminal.press(&["Enter"]);
    terminal.see("no is no option. What do you mean?");
    terminal.press(&["Enter"]);
    terminal.see("or type;");
    assert!(world.path("m/pending/w.json").exists());
    terminal.press(&["now", "Enter"]);
    terminal.see("w: now");
}

#[test]
fn several_options_and_words_of_ones_own_are_marked_with_space() {
    needs!("tmux");
    let world = World::new();
    world.sh("ask-post 'Which tests?' -w w -t multi_choice -o unit=U -o e2e=E -o perf=P");
    let terminal = Terminal::new(&world);
    open(&terminal);
    terminal.press(&["Enter"]);
    terminal.see("space mark");
    terminal.press(&["Enter"]);
    terminal.see("choose with space");
    terminal.press(&["Space", "Down", "Down", "Space", "Down", "Space", "Enter"]);
    terminal.see("open your editor");
    terminal.press(&["and fuzz", "Enter"]);
    terminal.see("No question is pending");
    assert_eq!(world.json("m/answered/w.json")["answer"]["value"], json!(["unit", "perf", "and fuzz"]));
}

#[test]
fn a_batch_is_asked_one_after_the_other_and_sent_at_once() {
    needs!("tmux");
    let world = World::new();
    let batch = json!({"questions": [
        {"question": "Which DB?", "options": [{"label": "pg", "description": "P", "preview": "host=1\nport=2"}]},
        {"id": "n", "question": "How many?", "type": "number"},
        {"id": "go", "question": "Go?", "type": "yes_no"},
    ]});
    std::fs::write(world.path("q.json"), batch.to_string()).unwrap();
    world.sh("ask-post -w w --file q.json");
    let terminal = Terminal::new(&world);
    open(&terminal);
    terminal.press(&["Enter"]);
    assert!(terminal.see("1 of 3: Which DB?").contains("| port=2"));
    terminal.see("Answer:");
    terminal.press(&["Enter"]);
    terminal.see("2 of 3: How many?");
    terminal.press(&["abc", "Enter"]);
    terminal.see("a number such as 42");
    terminal.press(&["BSpace", "BSpace", "BSpace", "42", "Enter"]);
    terminal.see("3 of 3: Go?");
    terminal.press(&["Down", "Enter"]);
    terminal.see("Send these answers");
    assert!(world.path("m/pending/w.json").exists(), "nothing is sent before it is looked over");
    terminal.press(&["Enter"]);
    terminal.see("No question is pending");
    assert_eq!(world.json("m/answered/w.json")["answer"]["value"], json!({"q1": "pg", "n": "42", "go": "no"}));
}

#[test]
fn escape_leaves_a_question_open_or_declines_it() {
    needs!("tmux");
    let world = World::new();
    world.sh("ask-post Essay? -w w");
    let terminal = Terminal::new(&world);
    open(&terminal);
    choose(&terminal, "w");
    terminal.press(&["Escape"]);
    terminal.see("What now?");
    terminal.press(&["Enter"]);
    terminal.see("quit]");
    assert!(world.path("m/pending/w.json").exists());
    choose(&terminal, "w");
    terminal.see("open your editor");
    terminal.press(&["Escape"]);
    terminal.see("Decline to answer");
    terminal.press(&["Down", "Enter"]);
    terminal.see("Why?");
    terminal.press(&["not mine to say", "Enter"]);
    terminal.see("No question is pending");
    let answer = &world.json("m/answered/w.json")["answer"];
    assert_eq!((&answer["outcome"], &answer["note"]), (&json!("declined"), &json!("not mine to say")));
}

#[test]
fn an_empty_line_opens_the_editor() {
    needs!("tmux");
    let world = World::new();
    world.sh("ask-post Essay? -w w; printf '#!/bin/sh\\nprintf \"one\\\\n\\\\ntwo\\\\n\" > \"$1\"\\n' > ed; chmod +x ed");
    let terminal = Terminal::new(&world);
    open(&terminal);
    choose(&terminal, "w");
    terminal.see("open your editor");
    terminal.press(&["Enter"]);
    terminal.see("No question is pending");
    assert_eq!(world.json("m/answered/w.json")["answer"]["value"], "one\n\ntwo");
}

#[test]
fn a_question_that_vanishes_or_changes_under_the_screen_is_said_and_the_inbox_goes_on() {
    needs!("tmux");
    let world = World::new();
    world.sh("for id in gone answered changed; do ask-post How? -w $id -t yes_no; done");
    let terminal = Terminal::new(&world);
    open(&terminal);
    // Gone between the list and the choice.
    world.sh("ask-answer gone no --by bob");
    terminal.press(&["gone", "Enter"]);
    terminal.see("answered by bob through ask-answer");
    terminal.see("2 questions are pending");
    // Answered while it is on the screen.
    choose(&terminal, "answered");
    world.sh("ask-answer answered no --by eve");
    terminal.press(&["Enter"]);
    terminal.see("already answered by eve");
    terminal.see("1 question is pending");
    // Replaced while it is on the screen: the answer is not given to the new question.
    choose(&terminal, "changed");
    world.sh("ask-post 'Shall I delete it all?' -w changed -t yes_no --supersede");
    terminal.press(&["Enter"]);
    terminal.see("asks another question by now");
    terminal.see("Shall I delete it all?");
    terminal.press(&["C-c"]);
    terminal.see("left=0");
    assert!(world.path("m/pending/changed.json").exists());
    assert_eq!(world.json("m/answered/answered.json")["answer"]["by"], "eve");
}

#[test]
fn refresh_shows_what_came_meanwhile() {
    needs!("tmux");
    let world = World::new();
    world.sh("ask-post How? -w first && ask-answer first yes");
    let terminal = Terminal::new(&world);
    assert!(open(&terminal).contains("No question is pending"));
    world.sh("ask-post How? -w second");
    terminal.press(&["Enter"]);
    terminal.see("1 question is pending");
    terminal.see("second");
}
