//! Sizes of screens and numbers of questions.

use super::{line_of, open};
use crate::support::{Terminal, World, needs, until};

#[test]
fn a_question_that_changes_before_a_group_declines_is_told() {
    needs!("tmux");
    let world = World::new();
    world.sh("ask-post One? -w one; ask-post Two? -w two");
    let terminal = Terminal::new(&world);
    open(&terminal);
    let decline = || {
        terminal.press(&["d"]);
        terminal.see("Why?");
        terminal.press(&["Enter"]);
        terminal.see("ok, enter decline them");
    };
    terminal.press(&["Space", "Space"]);
    decline();
    // Another key than `o` forgets it.
    terminal.press(&["x"]);
    terminal.see("nothing was declined");
    terminal.press(&["y"]);
    decline();
    world.sh("sed 's/Two?/Delete it all?/' m/pending/two.json >changed && mv changed m/pending/two.json");
    // The panel still names the question that the person saw.
    let named = || terminal.screen().matches("│two  Delete it all?").count();
    until("the list shows the new question", || terminal.screen().contains("Delete it all?").then_some(()));
    assert_eq!(named(), 0);
    terminal.confirm();
    until("the panel names the new question", || (named() == 1).then_some(()));
    assert_eq!((world.state("one").as_str(), world.state("two").as_str()), ("pending", "pending"));
    terminal.confirm();
    terminal.see("2 questions declined");
}

#[test]
fn a_filter_asks_for_words_project_asker_and_priority() {
    needs!("tmux");
    let world = World::new();
    world.sh("mkdir web api; (cd web; ask-post 'Merge it?' -w one --asked-by ann; ask-post Other? -w two); (cd api; ask-post 'Merge that?' -w three --priority 3)");
    let terminal = Terminal::new(&world);
    open(&terminal);
    for (filter, found, hidden) in [
        ("merge", "2 with", "two"),
        ("project:web", "2 with", "three"),
        ("project:web merge", "1 with", "three"),
        ("by:ann", "1 with", "two"),
        ("priority:2", "1 with", "one"),
        ("nothing-has-this", "0 with", "one"),
    ] {
        terminal.press(&["/", filter]);
        let screen = terminal.see(&format!("{found} \"{filter}\""));
        assert!(!screen.lines().any(|line| line.trim_start_matches(['>', ' ']).starts_with(hidden)), "{screen}");
        terminal.press(&["Escape"]);
        let screen = terminal.see_no_more("with \"");
        assert!(screen.contains("one ") && screen.contains("two ") && screen.contains("three "), "{screen}");
    }
}

/// A question of another kind for each number; the last ones of the numbers that are tested are choices.
fn of_every_kind(n: usize) -> serde_json::Value {
    let title = format!("質問 {n} of a plan that is long enough to be cut 👩‍👩‍👧 שלום");
    let mut json = serde_json::json!({
        "schema_version": 1, "workflow_id": format!("plan-{n:03}"), "question": title, "context": format!("# Why\n\nBecause *{n}*."),
        "timestamp": format!("2026-11-22T10:{:02}:{:02}Z", n / 60, n % 60),
    });
    let options = serde_json::json!({"merge": "Merge all of it into one section", "keep": "Keep"});
    match n % 6 {
        _ if [0, 14, 299].contains(&n) => json["options"] = options,
        1 => json["type"] = "yes_no".into(),
        2 => json["type"] = "number".into(),
        3 => json["type"] = "text".into(),
        4 => (json["type"], json["options"]) = ("multi_choice".into(), options),
        5 => {
            json.as_object_mut().expect("an object").remove("question");
            json["questions"] =
                serde_json::json!([{"question": format!("質問 {n} A?", ), "options": options}, {"question": "B?", "type": "number"}]);
        }
        _ => (json["options"], json["free_text"]) = (options, false.into()),
    }
    json
}

/// The workflows that the list shows, from its first row to its last.
fn listed(terminal: &Terminal<'_>, last: &str) -> std::collections::BTreeSet<String> {
    let mut ids = std::collections::BTreeSet::new();
    terminal.press(&["Home"]);
    terminal.see("> plan-000");
    loop {
        // What is captured while the screen is drawn is a mixture of two pictures.
        let screen = until("the screen stands still", || {
            let screen = terminal.screen();
            std::thread::sleep(std::time::Duration::from_millis(50));
            // On a busy machine a mixture stands still as well: it has the cursors of both.
            let has_one_cursor = screen.lines().filter(|line| line.starts_with("> ")).count() == 1;
            Some(screen).filter(|screen| has_one_cursor && *screen == terminal.screen())
        });
        let rows = screen
            .lines()
            .take_while(|line| !line.starts_with("──"))
            .filter_map(|line| line.trim_start_matches(['>', '*', ' ']).split(' ').next());
        ids.extend(rows.filter(|word| word.starts_with("plan-")).map(str::to_owned));
        if screen.contains(&format!("> {last}")) {
            return ids;
        }
        terminal.press(&["NPage"]);
        // An age on the screen may change as well.
        until("another row is chosen", || chosen(&terminal.screen()) != chosen(&screen));
    }
}

/// The id of the row under the cursor.
fn chosen(screen: &str) -> Option<String> {
    screen.lines().find_map(|line| line.strip_prefix("> ")?.split(' ').next().map(str::to_owned))
}

/// Waits for a screen with these words and with rows that all fit the terminal. tmux tells a program of a new size a moment later, and
/// until then breaks what the program drew for the earlier size.
fn see_fitting(terminal: &Terminal<'_>, words: &[&str], columns: u32, rows: u32) {
    let fits =
        |screen: &str| screen.lines().count() <= rows as usize && screen.lines().all(|line| line.chars().count() <= columns as usize);
    until(&format!("{words:?} on a screen of {columns}×{rows}"), || {
        let screen = terminal.screen();
        fits(&screen) && words.iter().all(|word| screen.contains(word))
    });
}

#[test]
fn the_screen_fits_every_size_and_follows_a_resize() {
    needs!("tmux");
    let world = World::new();
    world.make_mailbox();
    let terminal = Terminal::new(&world);
    let mut posted = 0;
    for number in [0, 1, 15, 300] {
        for n in posted..number {
            std::fs::write(world.path(format!("m/pending/plan-{n:03}.json")), of_every_kind(n).to_string()).unwrap();
        }
        posted = number;
        for (columns, rows) in [(40, 20), (80, 24), (150, 50), (300, 80)] {
            terminal.resize(columns, rows);
            // tmux tells a program of a new size a moment later.
            let knows = format!("until [ \"$(stty size)\" = '{rows} {columns}' ]; do sleep 0.05; done");
            terminal.press(&[&format!("clear; {knows}; ask-answer; echo left=$?"), "Enter"]);
            let title = ["No question is waiting", "1 question is waiting", "15 questions are waiting", "300 questions are waiting"];
            let title = title[[0, 1, 15, 300].iter().position(|n| *n == number).unwrap()];
            see_fitting(&terminal, &[title], columns, rows);
            if number > 0 {
                terminal.press(&["End"]);
                let last = format!("> plan-{:03}", number - 1);
                see_fitting(&terminal, &[&last], columns, rows);
                let listed = listed(&terminal, last.trim_start_matches("> "));
                // A mixture of two pictures may show more than there is, but not less.
                let missing: Vec<_> =
                    world.names("pending").into_iter().filter(|name| !listed.contains(&name.replace(".json", ""))).collect();
                assert_eq!(missing, [] as [String; 0]);
                terminal.press(&["Enter"]);
                let because = format!("Because {}.", number - 1);
                see_fitting(&terminal, &["enter send", "1 merge", "2 keep", &because], columns, rows);
                terminal.resize(60, 18);
                terminal.press(&["Escape"]);
                // A key right behind Escape would be another key.
                terminal.see_no_more("enter send");
                see_fitting(&terminal, &[&last], 60, 18);
            }
            terminal.press(&["q"]);
            terminal.see("left=0");
        }
    }
}

#[test]
fn ten_thousand_questions_open_and_the_last_one_is_answered() {
    needs!("tmux");
    let world = World::new();
    world.make_mailbox();
    for n in 0..10_000 {
        let json = format!(
            "{{\"schema_version\":1,\"workflow_id\":\"w-{n:04}\",\"question\":\"How {n}?\",\"type\":\"yes_no\",\"timestamp\":\"2026-11-22T{:02}:{:02}:{:02}Z\"}}",
            n / 3600,
            n / 60 % 60,
            n % 60
        );
        std::fs::write(world.path(format!("m/pending/w-{n:04}.json")), json).unwrap();
    }
    let terminal = Terminal::running(&world, (100, 30), &[], &["sh", "-c", "ask-answer; echo left=$?; read wait"]);
    terminal.see("10000 questions are waiting");
    terminal.press(&["End"]);
    terminal.see("> w-9999");
    // While the list is still read, another row may come under the cursor.
    terminal.open_chosen();
    terminal.press(&["y"]);
    terminal.send_asked();
    terminal.see("9999 questions are waiting");
    assert_eq!(super::answer(&world, "w-9999")["value"], "yes");
}

mod promises {
    use super::*;

    #[test]
    fn the_inbox_lists_the_urgent_first_with_asker_and_age() {
        needs!("tmux");
        let world = World::new();
        world.sh("ask-post \"$(printf 'Usual\\033[31m?')\" -w usual --asked-by reviewer; ask-post Late? -w late --timeout 1s; ask-post Urgent? -w urgent --priority 5");
        world.sh("echo '{' > m/pending/torn.json; sleep 1.1");
        let terminal = Terminal::new(&world);
        let screen = open(&terminal);
        assert!(screen.contains("4 questions are waiting"), "{screen}");
        assert!(line_of(&screen, "> urgent") < line_of(&screen, "usual"), "{screen}");
        for text in ["[+5] Urgent?", "(overdue) Late?", "reviewer  Usual[31m?", "unreadable:"] {
            assert!(screen.contains(text), "{screen}");
        }
        // Escape leads back, and here there is nothing to go back to.
        terminal.press(&["Escape"]);
        terminal.see("q leaves the inbox");
        terminal.press(&["q"]);
        terminal.see("left=0");
    }

    #[test]
    fn words_filter_the_list_and_marked_questions_are_declined() {
        needs!("tmux");
        let world = World::new();
        world.sh("for n in 1 2 3; do ask-post Stale? -w old-$n --asked-by bot; done; ask-post Real? -w real --asked-by ann");
        let terminal = Terminal::new(&world);
        open(&terminal);
        terminal.press(&["/by:bot", "Enter"]);
        let screen = terminal.see("3 with \"by:bot\"");
        assert!(!screen.contains("Real?"), "{screen}");
        terminal.press(&["Space", "Space", "Space", "d"]);
        terminal.see("Decline 3 questions. Why?");
        assert!(world.path("m/pending/old-1.json").exists(), "nothing is declined before it is confirmed");
        terminal.press(&["no longer asked", "Enter"]);
        let screen = terminal.see("Decline these 3 questions?");
        for n in 1..4 {
            assert!(screen.contains(&format!("│old-{n}  Stale?")), "they are named: {screen}");
        }
        // Enter, which ends the reason, confirms nothing.
        terminal.press(&["Enter"]);
        terminal.see("ok, enter decline them");
        assert!(world.path("m/pending/old-1.json").exists(), "nothing is declined before it is confirmed");
        terminal.confirm();
        terminal.see("3 questions declined");
        for n in 1..4 {
            assert_eq!(super::super::answer(&world, &format!("old-{n}"))["note"], "no longer asked");
        }
        terminal.press(&["Escape"]);
        terminal.see("Real?");
        assert!(world.path("m/pending/real.json").exists());
    }
}
