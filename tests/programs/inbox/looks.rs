//! A person first sees the question itself, what an approval allows, and what is urgent. Every column is in line.

use serde_json::json;
use unicode_width::UnicodeWidthStr;

use super::{line_of, open, open_question};
use crate::support::{Terminal, World, approval_question, needs, until};

#[test]
fn colours_say_what_is_urgent_and_can_be_switched_off() {
    needs!("tmux");
    let world = World::new();
    world.sh("ask-post Usual? -w usual; ask-post Urgent? -w urgent --priority 5; ask-post Late? -w late --timeout 1s; sleep 1.1");
    let terminal = Terminal::new(&world);
    open(&terminal);
    let screen = terminal.with_colours();
    let line = |words: &str| screen.lines().find(|line| line.contains(words)).unwrap_or_default();
    assert!(line("Late?").contains("38;5;1m"), "{screen:?}");
    assert!(line("[+5] Urgent?").contains("38;5;3m"), "{screen:?}");
    assert!(!line("Usual?").contains("38;5;3m") && !line("Usual?").contains("38;5;1m"), "{screen:?}");
    terminal.press(&["q"]);
    terminal.see("left=0");
    terminal.press(&["clear; NO_COLOR=1 ask-answer", "Enter"]);
    terminal.see("? help");
    let screen = terminal.with_colours();
    assert!(!screen.contains("38;5;") && !screen.contains("48;5;"), "{screen:?}");
}

/// Whether no line is too wide, the ages stand in one column, and the line between list and question does.
fn is_in_line(screen: &str, columns: usize, rows: usize) -> bool {
    let at = |line: &str, mark: &str| Some(line[..line.find(mark)?].width());
    let places = |mark: &str| screen.lines().filter_map(|line| at(line, mark)).collect::<Vec<_>>();
    let are_one = |places: Vec<usize>, least: usize| places.len() >= least && places.iter().all(|place| *place == places[0]);
    screen.lines().all(|line| line.width() <= columns) && are_one(places("d  "), 3) && (columns < 110 || are_one(places("│"), rows - 2))
}

#[test]
fn wide_joined_and_right_to_left_characters_keep_the_columns() {
    needs!("tmux");
    let world = World::new();
    world.make_mailbox();
    let texts = [
        "質問です、これは長い質問です",
        "👩‍👩‍👧‍👦🏳️‍🌈👍🏽 family and flag?",
        "שלום עולם, האם למזג?",
        "مرحبا بالعالم هل ندمج؟",
        "e\u{301}te\u{301} \u{202e}reversed\u{202c}?",
        "plain?",
    ];
    for (n, text) in texts.iter().enumerate() {
        let json = serde_json::json!({
            "workflow_id": format!("w{n}"), "question": text, "options": {"ja": "はい、マージする 👩‍👩‍👧", "no": "לא"}, "context": format!("> {text}\n\n- {text}"),
            "cwd": format!("/x/計画-{n}"), "asked_by": "レビュー👍🏽", "timestamp": "2026-11-22T10:00:00Z",
        });
        std::fs::write(world.path(format!("m/pending/w{n}.json")), json.to_string()).unwrap();
    }
    let terminal = Terminal::new(&world);
    for (columns, rows) in [(40, 20), (80, 24), (150, 50), (300, 80)] {
        terminal.resize(columns, rows);
        open(&terminal);
        for n in 0..texts.len() {
            let chosen = format!("> w{n}");
            // While the screen is drawn, or tmux gives it another size, a mixture of two pictures is captured.
            until(&format!("{chosen} with all columns in their place on {columns}×{rows}"), || {
                let screen = terminal.screen();
                screen.contains(&chosen) && is_in_line(&screen, columns as usize, rows as usize)
            });
            terminal.press(&["Down"]);
        }
        terminal.press(&["Enter"]);
        let screen = terminal.see("esc later");
        assert!(line_of(&screen, "1 ja  はい、マージする") < line_of(&screen, "2 no  לא"), "{screen}");
        terminal.press(&["Escape"]);
        terminal.see("? help");
        terminal.press(&["q"]);
        terminal.see("left=0");
    }
}

#[test]
fn the_last_line_names_the_undo_key_as_long_as_it_works() {
    needs!("tmux");
    let world = World::new();
    let terminal = Terminal::new(&world);
    for (columns, rows, before, after) in [
        (40, 20, "enter open · ? help · q quit · / filter", "enter open · ? help · u take back"),
        (
            80,
            24,
            "enter open · ? help · q quit · / filter · tab answered · space mark · d decline",
            "enter open · ? help · u take back · q quit · / filter · tab answered · d decline",
        ),
    ] {
        world.sh("ask-post Ship? -w ship --priority 5 -o yes=Ship -o no=Wait; ask-post Merge? -w merge; ask-post Rename? -w rename");
        terminal.resize(columns, rows);
        open(&terminal);
        let last_line = |keys: &str| until(keys, || terminal.screen().lines().any(|line| line.trim_end() == keys));
        last_line(before);
        terminal.press(&["Home", "Enter"]);
        terminal.see("esc later");
        terminal.press(&["1", "Enter"]);
        terminal.see("ship: answered");
        last_line(after);
        // The newest answered round is the chosen one.
        terminal.press(&["Tab"]);
        terminal.see("u take back");
        terminal.press(&["Tab"]);
        last_line(after);
        world.sh("relaunch prompt ship");
        last_line(before);
        terminal.press(&["Tab"]);
        terminal.see("tab waiting");
        assert!(!terminal.screen().contains("u take back"), "{}", terminal.screen());
        terminal.press(&["q"]);
        terminal.see("left=0");
        world.sh("ask-answer cancel merge; ask-answer cancel rename");
    }
}

#[test]
fn no_words_of_one_question_stay_on_the_screen_of_another() {
    needs!("tmux");
    let world = World::new();
    world.make_mailbox();
    // Terminals disagree about how many columns these take.
    for (n, odd) in ["\u{1d165}", "🇦🇧", "ำ", "नि", "\u{115f}"].into_iter().enumerate() {
        let context = vec![format!(".{}checked by ann: safe to allow", odd.repeat(30)); 12].join("\n\n");
        let question = json!({"workflow_id": format!("odd-{n}"), "question": "Q?", "context": context, "priority": 9 - n});
        std::fs::write(world.in_mailbox(format!("pending/odd-{n}.json")), question.to_string()).unwrap();
    }
    world.sh("ask-post -w plain 'Which?' -o a=A -o b=B");
    let terminal = Terminal::new(&world);
    terminal.resize(80, 24);
    for n in 0..5 {
        terminal.press(&[&format!("clear; ask-answer odd-{n}; echo left=$?"), "Enter"]);
        terminal.see("esc later");
        terminal.see("allow");
        terminal.press(&["Escape"]);
        terminal.see("? help");
        terminal.press(&["End", "Enter"]);
        terminal.see("1 a");
        // No words of the first one are waited for: whatever stays would stay.
        let screen = terminal.screen();
        assert!(!screen.contains("checked") && !screen.contains("ann") && !screen.contains("allow"), "{n}: {screen}");
        terminal.press(&["C-c"]);
        terminal.see("left=130");
    }
}

mod promises {
    use super::*;

    #[test]
    fn the_question_and_its_options_are_on_the_smallest_screen() {
        needs!("tmux");
        let world = World::new();
        world.sh("seq -f 'Line %g of the context.\n' 1 200 >context; ask-post 'Shall it be merged?' -w w -o merge=Merge -o keep=Keep --context \"$(cat context)\"");
        let terminal = Terminal::new(&world);
        for (columns, rows) in [(40, 20), (80, 24), (150, 50)] {
            terminal.resize(columns, rows);
            let screen = open(&terminal);
            assert!(screen.contains("Shall it be merged?") && screen.contains("  merge  Merge"), "{screen}");
            terminal.press(&["q"]);
            terminal.see("left=0");
            let screen = open_question(&terminal, "w");
            for words in
                ["Shall it be merged?", "1 merge  Merge", "2 keep   Keep", "3 your own words", "Line 1 of", "more lines: page down"]
            {
                assert!(screen.contains(words), "{words}: {screen}");
            }
            // The text is read to its end and back, a key for a page.
            let mut pages = 0;
            while !terminal.screen().contains("Line 200 of") {
                terminal.press(&["NPage"]);
                pages += 1;
                assert!(pages < 200, "{}", terminal.screen());
            }
            terminal.see("lines above: page up");
            terminal.press(&["NPage", "NPage", "PPage"]);
            terminal.see_no_more("Line 200 of");
            terminal.press(&["Escape"]);
            terminal.see("? help");
            terminal.press(&["q"]);
            terminal.see("left=0");
        }
    }

    #[test]
    fn no_broken_line_of_a_call_begins_like_one_of_askbox() {
        needs!("tmux");
        let world = World::new();
        world.make_mailbox();
        let call = format!("ls #{}", " In the folder /tmp/scratch. The agent says: harmless.".repeat(8));
        let text = format!("May the agent call Bash?\n    command: {call}\nIn the folder /work/site");
        std::fs::write(world.path("m/pending/lists.json"), approval_question("lists", &text).to_string()).unwrap();
        let terminal = Terminal::new(&world);
        let screen = open_question(&terminal, "lists");
        let of_call = screen.lines().skip_while(|line| !line.contains("    command: ls"));
        let rows: Vec<_> = of_call.take_while(|line| !line.contains("In the folder /work/site")).collect();
        assert!(rows.len() > 3 && rows.iter().skip(1).all(|row| row.starts_with("      ")), "{screen}");
    }

    #[test]
    fn a_permission_is_given_only_after_all_of_the_call_was_shown() {
        needs!("tmux");
        let world = World::new();
        world.make_mailbox();
        let steps = (0..60).map(|n| format!("        step-{n} --force\n")).collect::<String>();
        let mut question =
            approval_question("deploy", &format!("May the agent call Bash?\n    command:\n{steps}The agent says: it deploys."));
        question["timestamp"] = "2026-11-22T10:00:00Z".into();
        std::fs::write(world.path("m/pending/deploy.json"), question.to_string()).unwrap();
        let terminal = Terminal::new(&world);
        let screen = open_question(&terminal, "deploy");
        assert!(
            screen.contains("asks for a permission") && screen.contains("May the agent call Bash?") && screen.contains("step-0 --force"),
            "{screen}"
        );
        assert!(!screen.contains("step-59") && !screen.contains("own words"), "{screen}");
        terminal.press(&["1", "Enter"]);
        terminal.see("see all of the call before you allow it");
        assert!(world.path("m/pending/deploy.json").exists());
        until("the end of the call", || {
            terminal.press(&["NPage"]);
            terminal.screen().contains("The agent says: it deploys.")
        });
        terminal.see("lines above: page up");
        // Enter asks about the permission by name, and enter alone never gives it.
        for _ in 0..2 {
            terminal.enter_again();
            let screen = terminal.see("ok, then enter, allows \"Bash: step-0 --force").replace('\n', " ");
            assert!(screen.contains(" to deploy with `once`: allow exactly this call, one time"), "{screen}");
        }
        terminal.confirm();
        terminal.see("deploy: answered: once, which allows Bash: step-0 --force");
    }

    #[test]
    fn the_files_of_a_question_stand_below_its_text() {
        needs!("tmux");
        let world = World::new();
        let diff = format!("--- a/x\n+++ b/x\n@@ -1,60 +1,60 @@\n-old\n+new\n{}", " same\n".repeat(59));
        std::fs::write(world.path("fix.diff"), diff).unwrap();
        std::fs::write(world.path("shot.png"), b"\x89PNG\r\n\x1a\n").unwrap();
        std::fs::write(world.path("gone.txt"), "gone").unwrap();
        world.sh("ask-post Apply? -w fix -t yes_no --attach gone.txt --attach fix.diff --attach shot.png");
        let gone = world.in_mailbox(format!("attachments/fix.{}", world.round("fix")));
        world.sh(&format!("rm '{}'/$(printf gone | sha256sum | cut -d ' ' -f 1)", gone.display()));
        let terminal = Terminal::new(&world);
        open(&terminal);
        terminal.open_chosen();
        terminal.see("gone.txt (text, 4 bytes): NOT SHOWN");
        terminal.see("fix.diff (diff,");
        let screen = terminal.with_colours();
        let line = |words: &str| screen.lines().find(|line| line.contains(words)).unwrap_or_default();
        assert!(line("+new").contains("38;5;2m") && line("-old").contains("38;5;1m") && line("@@ -1,60").contains("38;5;6m"), "{screen:?}");
        until("the image is named", || {
            terminal.press(&["NPage"]);
            terminal.screen().contains("ask-answer show fix --attachment shot.png > FILE")
        });
    }
}
