//! One question in the inbox: options, words of one's own, several answers, batches, declining, asking back.

use super::{answer, open, open_question};
use crate::support::{Terminal, World, needs};
use serde_json::json;

#[test]
fn typed_words_are_an_option_only_if_they_are_its_whole_key() {
    needs!("tmux");
    let world = World::new();
    let terminal = Terminal::new(&world);
    world.sh("for w in key words near; do ask-post Ship? -w $w -o nowait='Ship at once, on Monday' -o later='Do not ship'; done");
    let types = |id: &str, words: &str| {
        open_question(&terminal, id);
        terminal.press(&["i", words]);
        terminal.see(&format!("│ {words}"));
        terminal.press(&["Enter"]);
    };
    let leave = || {
        terminal.press(&["q"]);
        terminal.see("left=0");
    };
    types("key", "later");
    terminal.see("ok, then enter, sends your words to key");
    terminal.confirm();
    terminal.see("key: answered: later");
    assert_eq!(answer(&world, "key")["value"], "later");
    leave();
    types("words", "show me first");
    terminal.see("ok, then enter, sends your words to words: \"Ship?\"");
    terminal.confirm();
    terminal.see("words: answered in your own words");
    assert_eq!(answer(&world, "words")["value"], "show me first");
    leave();
    types("near", "latr");
    terminal.see("Is this one of the options?");
    assert!(world.path("m/pending/near.json").exists());
    // Enter alone turns no words into an option.
    terminal.press(&["Enter"]);
    terminal.see("choose first: a number, or the arrow keys");
    assert!(world.path("m/pending/near.json").exists());
    terminal.press(&["1", "Enter"]);
    terminal.see("near: answered: later");
    assert_eq!(answer(&world, "near")["value"], "later");
}

#[test]
fn keys_that_no_digit_chooses_are_not_offered_by_digits() {
    needs!("tmux");
    let world = World::new();
    world.sh("ask-post 'Which port?' -w w -o 80=HTTP -o 443=HTTPS; ask-post 'Which one?' -w x -o 1=A -o 20=B");
    let terminal = Terminal::new(&world);
    let screen = open_question(&terminal, "w");
    assert!(screen.contains("↑↓ choose") && !screen.contains("1-9"), "{screen}");
    terminal.press(&["Escape"]);
    terminal.see("2 questions are waiting");
    terminal.press(&["q"]);
    terminal.see("left=0");
    assert!(open_question(&terminal, "x").contains("1-9 choose"));
}

#[test]
fn several_options_and_own_words_are_sent_together() {
    needs!("tmux");
    let world = World::new();
    world.sh("ask-post 'Which tests?' -w w -t multi_choice -o unit=U -o e2e=E -o perf=P");
    let terminal = Terminal::new(&world);
    open_question(&terminal, "w");
    terminal.press(&["Down", "Enter"]);
    terminal.see("mark with space");
    terminal.press(&["Space", "3"]);
    terminal.see("[x] perf");
    terminal.press(&["i", "and fuzz"]);
    terminal.see("│ and fuzz");
    terminal.send_asked();
    terminal.see("No question is waiting");
    assert_eq!(answer(&world, "w")["value"], json!(["unit", "perf", "and fuzz"]));
}

#[test]
fn a_batch_goes_back_and_forth_and_is_reviewed_before_sending() {
    needs!("tmux");
    let world = World::new();
    let batch = json!({"questions": [
        {"question": "Which DB?", "options": [{"label": "pg", "description": "P", "preview": "host=1\nport=2"}, {"label": "lite"}]},
        {"id": "n", "question": "How many?", "type": "number"},
        {"id": "go", "question": "Go?", "type": "yes_no"},
    ]});
    std::fs::write(world.path("q.json"), batch.to_string()).unwrap();
    world.sh("ask-post -w w --file q.json");
    let terminal = Terminal::new(&world);
    assert!(open_question(&terminal, "w").contains("│ port=2"));
    terminal.see("1 of 3: Which DB?");
    terminal.press(&["1", "Enter"]);
    terminal.see("2 of 3: How many?");
    terminal.press(&["abc", "Enter"]);
    terminal.see("`abc` is not a number; write a number such as 42 or 0.5");
    terminal.press(&["BSpace", "BSpace", "BSpace", "42", "Enter"]);
    terminal.see("3 of 3: Go?");
    terminal.press(&["Tab"]);
    terminal.see("1 of 3 is not answered yet");
    terminal.press(&["Enter"]);
    terminal.see("3 of 3: Go?");
    terminal.press(&["BTab", "BTab"]);
    terminal.see("1 of 3");
    terminal.press(&["2", "Enter", "Enter"]);
    terminal.see("3 of 3");
    terminal.press(&["n"]);
    terminal.see("> 2 no");
    terminal.press(&["Enter"]);
    let screen = terminal.see("Enter asks, and then sends this");
    for text in ["1. Which DB?: lite", "2. How many?: 42", "3. Go?: no"] {
        assert!(screen.contains(text), "{screen}");
    }
    assert!(world.path("m/pending/w.json").exists(), "nothing is sent before it is looked over");
    for _ in 0..2 {
        terminal.enter_again();
        terminal.see("ok, then enter, sends your 3 answers to w: ");
    }
    assert!(world.path("m/pending/w.json").exists(), "nor by a second enter");
    terminal.confirm();
    terminal.see("No question is waiting");
    assert_eq!(answer(&world, "w")["value"], json!({"q1": "lite", "n": "42", "go": "no"}));
}

#[test]
fn a_question_is_left_declined_or_asked_back_with_a_note() {
    needs!("tmux");
    let world = World::new();
    world.sh("ask-post Essay? -w declined; ask-post Which? -w back -o a=A; ask-post Which? -w noted -o a=A");
    let terminal = Terminal::new(&world);
    open(&terminal);
    terminal.press(&["/declined", "Enter", "Enter"]);
    terminal.see("esc later");
    terminal.press(&["half a thought", "Escape"]);
    terminal.see("? help");
    assert!(world.path("m/pending/declined.json").exists());
    terminal.press(&["Enter"]);
    terminal.see("half a thought");
    terminal.press(&["C-d"]);
    terminal.see("Decline. Why?");
    terminal.press(&["not mine to say", "Enter"]);
    terminal.see("your answer (\"half a thought\") would not be sent");
    terminal.confirm();
    terminal.see("declined: declined");
    let sent = answer(&world, "declined");
    assert_eq!((&sent["outcome"], &sent["note"]), (&json!("declined"), &json!("not mine to say")));
    terminal.press(&["Escape"]);
    terminal.see_no_more("with \"declined\"");
    terminal.press(&["/back", "Enter", "Enter"]);
    terminal.see("esc later");
    terminal.press(&["b"]);
    terminal.see("Your question to the agent");
    terminal.press(&["Which two?"]);
    terminal.send_asked();
    terminal.see("back: asked back");
    assert_eq!(answer(&world, "back")["asks_back"], true);
    terminal.press(&["Escape"]);
    terminal.see_no_more("with \"back\"");
    terminal.press(&["Enter"]);
    terminal.see("esc later");
    terminal.press(&["n"]);
    terminal.see("A note beside your answer");
    terminal.press(&["but slowly", "Enter"]);
    terminal.see("note: but slowly");
    terminal.press(&["1", "Enter"]);
    // A note may have been typed into the wrong window.
    terminal.see("ok, then enter, sends your words to noted: \"");
    terminal.confirm();
    terminal.see("No question is waiting");
    assert_eq!(answer(&world, "noted")["note"], "but slowly");
}

#[test]
fn long_words_come_from_the_editor_or_a_paste_with_their_lines() {
    needs!("tmux");
    let world = World::new();
    world.sh("ask-post Essay? -w edited; ask-post Essay? -w pasted");
    world.sh("printf '#!/bin/sh\\nprintf \"one\\\\n\\\\ntwo\\\\n\" > \"$1\"\\n' > ed; chmod +x ed");
    let terminal = Terminal::new(&world);
    open_question(&terminal, "edited");
    terminal.press(&["C-e"]);
    terminal.see("two");
    terminal.send_asked();
    terminal.see("edited: answered");
    assert_eq!(answer(&world, "edited")["value"], "one\n\ntwo");
    terminal.press(&["Enter"]);
    terminal.see("esc later");
    // No character of a pasted text is a key.
    terminal.paste("d first\nb second");
    terminal.see("b second");
    terminal.send_asked();
    terminal.see("pasted: answered");
    assert_eq!(answer(&world, "pasted")["value"], "d first\nb second");
}

#[test]
fn a_question_whose_text_changes_while_it_is_open_is_over() {
    needs!("tmux");
    let world = World::new();
    world.sh("ask-post 'Merge it?' -w w -o a=A -o b=B");
    let terminal = Terminal::new(&world);
    open_question(&terminal, "w");
    terminal.press(&["i", "my long thoughts"]);
    terminal.see("│ my long thoughts");
    world.sh("sed 's/Merge it/Delete it/' m/pending/w.json >changed && mv changed m/pending/w.json");
    let screen = terminal.see("w was changed while you read it");
    assert!(screen.contains("my long thoughts"), "{screen}");
    terminal.press(&["C-o"]);
    let screen = terminal.see("Delete it?");
    assert!(screen.contains("│ my long thoughts"), "{screen}");
    terminal.send_asked();
    terminal.see("w: answered");
}

#[test]
fn a_word_that_begins_like_a_command_is_asked_about_first() {
    needs!("tmux");
    let world = World::new();
    world.sh(
        "ask-post -w which 'Which?' -o one=A -o two=B; ask-post -w ship 'Ship?' --type yes_no; ask-post -w back 'Go on?' -o y1=A -o z1=B",
    );
    let terminal = Terminal::new(&world);
    open_question(&terminal, "which");
    terminal.press(&["both", "Enter"]);
    let screen = terminal.see("did you mean \"both\" as your answer?").replace('\n', " ");
    assert!(screen.contains("tab takes it as your own words") && screen.contains("ok, then enter, asks the agent back"), "{screen}");
    terminal.press(&["Tab"]);
    terminal.see("│ both");
    terminal.send_asked();
    terminal.see("which: answered in your own words: both");
    assert_eq!(answer(&world, "which")["value"], "both");
    terminal.press(&["q"]);
    terminal.see("left=0");
    // Where no words are taken, nothing is decided either.
    open_question(&terminal, "ship");
    terminal.press(&["don't know yet", "Enter"]);
    terminal.see("did you mean \"don't know yet\"? this question takes no words of yours");
    terminal.press(&["Escape"]);
    terminal.see_no_more("Decline. Why?");
    for word in ["nope", "not sure, ask me tomorrow", "yesterday", "nay"] {
        terminal.press(&[word, "Enter"]);
        let screen = terminal.see("choose first");
        assert!(!screen.contains("> "), "{word}: {screen}");
        terminal.press(&["1", "BSpace"]);
        terminal.see("> 1 yes");
        terminal.press(&["Escape"]);
        terminal.see("? help");
        terminal.open_chosen();
    }
    assert!(world.in_mailbox("pending/ship.json").exists());
    // The words themselves count, and a letter may be taken back.
    terminal.press(&["nope", "BSpace", "BSpace"]);
    terminal.see("> 2 no");
    terminal.press(&["Enter"]);
    terminal.see("why you decline (\"on't know yet\") would not be sent");
    terminal.confirm();
    terminal.see("ship: answered: no");
    terminal.press(&["q"]);
    terminal.see("left=0");
    // A reason or a question in lower case is no word that goes on: only its own question is named.
    open_question(&terminal, "back");
    terminal.press(&["b"]);
    terminal.see("Your question to the agent");
    terminal.press(&["which of them", "Enter"]);
    let screen = terminal.see("ok, then enter, asks back back: \"Go on?\"");
    assert!(!screen.contains("did you mean"), "{screen}");
    terminal.confirm();
    terminal.see("back: asked back");
}

#[test]
fn a_reason_in_lower_case_is_not_taken_for_a_word() {
    needs!("tmux");
    let world = World::new();
    world.sh("for w in one two; do ask-post Which? -w $w -o drop=A -o domain=B; done");
    let terminal = Terminal::new(&world);
    open_question(&terminal, "one");
    terminal.press(&["d"]);
    terminal.see("Decline. Why?");
    terminal.press(&["not mine to say", "Enter"]);
    let screen = terminal.see("ok, then enter, declines one: \"Which?\"");
    assert!(!screen.contains("did you mean"), "{screen}");
    terminal.confirm();
    terminal.see("one: declined");
    assert_eq!(answer(&world, "one")["note"], "not mine to say");
    terminal.press(&["q"]);
    terminal.see("left=0");
    // The key of an option is one.
    open_question(&terminal, "two");
    terminal.press(&["domain", "Enter"]);
    terminal.see("did you mean \"domain\" as your answer?");
    assert_eq!(world.state("two"), "pending");
}

#[test]
fn the_keys_of_a_hint_work_behind_a_wrong_word() {
    needs!("tmux");
    let world = World::new();
    world.sh("for w in one two; do ask-post Ship? -w $w --type yes_no; done");
    let terminal = Terminal::new(&world);
    // A person reads the hint, and then presses one of its keys.
    let wrong = || {
        terminal.press(&["x"]);
        terminal.see("y or n, then enter; d declines");
        std::thread::sleep(std::time::Duration::from_millis(500));
    };
    open_question(&terminal, "one");
    wrong();
    terminal.press(&["d"]);
    terminal.see("Decline. Why?");
    terminal.press(&["Escape"]);
    terminal.see_no_more("Decline. Why?");
    wrong();
    terminal.press(&["b"]);
    terminal.see("Your question to the agent");
    terminal.press(&["Escape"]);
    terminal.see_no_more("Your question to the agent");
    // Within one word they are letters.
    terminal.press(&["only", "Enter"]);
    terminal.see("choose first");
    assert_eq!(world.state("one"), "pending");
    terminal.press(&["Escape"]);
    terminal.see("2 questions are waiting");
    terminal.press(&["q"]);
    terminal.see("left=0");
    open_question(&terminal, "two");
    wrong();
    std::thread::sleep(std::time::Duration::from_millis(600));
    // The other letter is not forgotten after a pause. Backspace takes it back.
    terminal.press(&["y", "Enter"]);
    terminal.see("was \"xy\" meant for this question?");
    terminal.press(&["BSpace", "BSpace", "y", "Enter"]);
    terminal.see("ok, then enter, sends `yes` to two: \"Ship?\"");
    terminal.confirm();
    terminal.see("two: answered: yes");
}

#[test]
fn a_log_is_a_view_that_each_key_of_going_back_leaves() {
    needs!("tmux");
    let line = r#"{\"type\":\"assistant\",\"message\":{\"id\":\"m$n\",\"content\":[{\"type\":\"text\",\"text\":\"line $n.\"}]}}"#;
    let world = World::stepping(&format!("for n in $(seq 60); do say \"{line}\"; done\nresult done"));
    world.sh("ask-post -w other 'Other?'; ask-answer other x; ask-post -w which 'Which?'; ask-answer which this; relaunch which");
    let terminal = Terminal::new(&world);
    open(&terminal);
    terminal.press(&["Tab"]);
    let screen = terminal.see("What became of");
    assert!(!screen.contains("left="), "{screen}");
    for back in ["q", "Escape", "Tab", "C-c"] {
        terminal.press(&["Enter"]);
        let screen = terminal.see("The log of which · it has ended");
        assert!(screen.contains("line 60."), "{screen}");
        terminal.press(&["g"]);
        terminal.see("lines below");
        terminal.press(&["G"]);
        terminal.see("it has ended");
        terminal.press(&[back]);
        let screen = terminal.see("What became of");
        assert!(!screen.contains("left="), "{screen}");
    }
    assert!(world.processes("logs which").is_empty());
    terminal.press(&["q"]);
    terminal.see("left=0");
}

#[test]
fn words_beside_an_option_are_not_left_out_without_a_word() {
    needs!("tmux");
    let world = World::new();
    world.sh("ask-post -w which 'Which?' -o one=A -o two=B");
    let terminal = Terminal::new(&world);
    open_question(&terminal, "which");
    terminal.press(&["i", "quite another one"]);
    terminal.see("│ quite another one");
    terminal.press(&["Up", "Enter"]);
    let screen = terminal.see("ok, then enter, sends `two`");
    assert!(screen.contains("your own words (\"quite another one\") would not be sent"), "{screen}");
    assert!(world.in_mailbox("pending/which.json").exists());
    // Another key, and it is asked again.
    terminal.press(&["Up", "Enter"]);
    terminal.see("ok, then enter, sends `one`");
    terminal.confirm();
    terminal.see("which: answered: one");
}

#[test]
fn a_letter_with_control_decides_nothing_in_the_list() {
    needs!("tmux");
    let world = World::new();
    world.sh("for w in one two; do ask-post How? -w $w -o a=A; done");
    let terminal = Terminal::new(&world);
    open_question(&terminal, "one");
    terminal.press(&["1", "Enter"]);
    terminal.see("one: answered: a");
    // In less and vim these scroll. Here `u` takes an answer back, `d` declines, and `b` asks back.
    terminal.press(&["C-u", "C-d", "C-b", "C-f"]);
    terminal.see("1 question is waiting");
    // A window for a text would take this letter.
    terminal.press(&["q"]);
    terminal.see("left=0");
    assert_eq!(answer(&world, "one")["value"], "a");
    assert!(world.path("m/pending/two.json").exists());
}

mod promises {
    use super::*;

    #[test]
    fn a_choice_is_made_with_keys_and_enter_alone_decides_nothing() {
        needs!("tmux");
        let world = World::new();
        world.sh(
        "for w in arrows number; do ask-post How? -w $w -o merge='Merge into one' -o keep='Keep both' --context 'They *overlap*.'; done",
    );
        let terminal = Terminal::new(&world);
        let screen = open_question(&terminal, "arrows");
        for text in ["They overlap.", "1 merge  Merge into one", "3 your own words"] {
            assert!(screen.contains(text), "{screen}");
        }
        terminal.press(&["Enter"]);
        terminal.see("choose first");
        assert!(world.path("m/pending/arrows.json").exists());
        terminal.press(&["Down", "Down"]);
        terminal.see("> 2 keep");
        terminal.press(&["Enter"]);
        terminal.see("arrows: answered: keep");
        let sent = answer(&world, "arrows");
        assert_eq!((&sent["value"], &sent["by"], &sent["channel"]), (&json!("keep"), &json!("ann"), &json!("inbox")));
        terminal.see("1 question is waiting");
        terminal.press(&["Enter"]);
        terminal.see("1-9 choose");
        terminal.press(&["1"]);
        terminal.see("> 1 merge");
        assert!(world.path("m/pending/number.json").exists(), "a key chooses, and sends nothing");
        terminal.press(&["Enter"]);
        terminal.see("No question is waiting");
        assert_eq!(answer(&world, "number")["value"], "merge");
        terminal.press(&["q"]);
        terminal.see("left=0");
    }

    #[test]
    fn a_chosen_meaning_holds_while_a_left_out_text_is_told() {
        needs!("tmux");
        let world = World::new();
        world.sh("ask-post Ship? -w w -o nowait='Ship at once, on Monday' -o later='Do not ship'");
        let terminal = Terminal::new(&world);
        open_question(&terminal, "w");
        terminal.press(&["d"]);
        terminal.see("Decline. Why?");
        terminal.press(&["Not mine", "Escape"]);
        terminal.see_no_more("Decline. Why?");
        terminal.press(&["i", "latr", "Enter"]);
        terminal.see("Is this one of the options?");
        terminal.press(&["1", "Enter"]);
        terminal.see("why you decline (\"Not mine\") would not be sent; ok, then enter, sends your answer without it");
        // Another line is another key: the text is told once more, and what the words mean is still asked.
        terminal.press(&["2"]);
        terminal.see_no_more("would not be sent");
        terminal.enter_again();
        terminal.see("would not be sent");
        assert!(world.path("m/pending/w.json").exists());
        terminal.confirm();
        terminal.see("w: answered in your own words: latr");
    }

    #[test]
    fn where_only_the_options_count_other_words_choose_none_of_them() {
        needs!("tmux");
        let world = World::new();
        world.sh("ask-post Ship? -w w -o now='Deploy now' -o later='Wait until tomorrow' --no-free-text");
        let terminal = Terminal::new(&world);
        open_question(&terminal, "w");
        terminal.press(&["o"]);
        terminal.see("only the options count here");
        terminal.paste("later");
        terminal.press(&["Enter"]);
        terminal.see("choose first");
        assert!(world.path("m/pending/w.json").exists());
        // The "o" was hardly meant for this question.
        terminal.press(&["1", "Enter"]);
        terminal.see("was \"o1\" meant for this question? ok, then enter, sends w `now`");
        terminal.confirm();
        terminal.see("w: answered: now");
    }

    #[test]
    fn numeric_keys_are_chosen_by_key_and_never_by_place() {
        needs!("tmux");
        let world = World::new();
        world.sh("ask-post 'How many workers?' -w w -o 4=four -o 2=two -o 1=one");
        let terminal = Terminal::new(&world);
        open_question(&terminal, "w");
        terminal.press(&["2"]);
        terminal.see(">   2");
        terminal.press(&["Enter"]);
        terminal.see("w: answered: 2");
        assert_eq!(answer(&world, "w")["value"], "2");
    }
}
