//! The screen of a person at a terminal.

use crate::support::{Terminal, World, needs};
use serde_json::json;

#[test]
fn a_hint_names_the_workflow_that_it_is_about() {
    let world = World::new();
    world.sh("ask-post How? -w w && checkpoint save w --step one");
    for (command, hint) in [
        ("relaunch status -f w", "for a program: relaunch status -f w --json, or relaunch events -f w"),
        ("checkpoint get w nothing", "look what it has: checkpoint show w"),
    ] {
        let refused = world.shell(command);
        assert!(refused.stderr.contains(&format!("hint: {hint}\n")), "{}", refused.words());
    }
}

const LONG: &str =
    "The sections about retries and errors overlap considerably, and readers stumble; should the maintainers merge them now?";
const MERGE: &str = "Put everything about retries into the section on errors, with redirects from the former headings";

/// Asks a question that is longer than a line of a terminal.
fn ask_at_length(world: &World) {
    let question = json!({
        "workflow_id": "docs-42", "question": LONG, "options": {"merge": MERGE, "keep": "Keep both"}, "asked_by": "reviewer",
        "context": "The former headings are linked from the handbook and from seventeen tickets of the support team.",
        "expires_at": "2099-01-02T03:04:05Z",
    });
    std::fs::write(world.path("q.json"), question.to_string()).expect("a file");
    world.sh("ask-post --file q.json; ask-post Short? -w b");
}

/// The screen of a narrow terminal after a command has run, up to the line `left`.
fn screen(world: &World, zone: &str, command: &str) -> String {
    let terminal = Terminal::running(world, (56, 40), &["PS1=$ ", zone], &["sh"]);
    terminal.see("$");
    terminal.press(&[&format!("clear; {command}; echo le''ft"), "Enter"]);
    terminal.see("left").split("left").next().expect("the output").to_owned()
}

#[track_caller]
fn assert_whole_words(screen: &str, text: &str) {
    let shown: Vec<&str> = screen.split_whitespace().collect();
    for word in text.split_whitespace() {
        assert!(shown.contains(&word), "{word:?} is not whole in\n{screen}");
    }
}

#[test]
fn words_break_on_a_narrow_terminal_and_never_in_a_pipe() {
    needs!("tmux");
    let world = World::new();
    ask_at_length(&world);
    let both = screen(&world, "TZ=UTC", "ask-answer show docs-42; relaunch status docs-42");
    let (shown, status) = both.split_once("workflow   ").expect("the status");
    assert_whole_words(shown, LONG);
    assert_whole_words(shown, MERGE);
    assert!(shown.contains("    merge  Put everything about retries into the section\n           on errors"), "{shown}");
    assert!(shown.contains("\n  The former headings are linked from the handbook and\n    from seventeen"), "{shown}");
    let piped = world.sh("ask-answer show docs-42");
    assert!(piped.contains(LONG) && piped.contains(MERGE) && piped.contains("until 2099-01-02T03:04:05.000Z,"), "{piped}");

    assert_whole_words(status, LONG);
    assert!(status.contains("question   The sections about retries and errors overlap\n           considerably"), "{status}");
    assert!(world.sh("relaunch status docs-42").contains(LONG));
}

#[test]
fn a_row_is_cut_to_the_terminals_width_and_whole_in_a_pipe() {
    needs!("tmux");
    let world = World::new();
    ask_at_length(&world);
    let both = screen(&world, "TZ=UTC", "ask-answer list; relaunch status");
    let rows: Vec<&str> = both.lines().filter(|line| line.starts_with("docs-42")).collect();
    assert_eq!(rows.len(), 2, "{both}");
    for row in rows {
        assert!(row.contains("The sections about") && row.ends_with('…') && row.chars().count() <= 56, "{both}");
    }
    assert_eq!(both.lines().filter(|line| line.contains("section")).count(), 2, "a row takes one line:\n{both}");
    assert!(world.sh("ask-answer list").contains("overlap considerably, and readers"));
    assert!(world.sh("relaunch status").contains("retries and errors overlap"));
}

#[test]
fn the_rows_of_the_inbox_fit_and_long_questions_are_whole() {
    needs!("tmux");
    let world = World::new();
    ask_at_length(&world);
    let terminal = Terminal::running(&world, (56, 40), &[], &["ask-answer"]);
    // The lowest of these lines: the picture may come in parts.
    let rows = terminal.see("…\n  b ");
    assert!(rows.contains("2 questions are waiting") && rows.contains("> docs-42"), "{rows}");
    terminal.press(&["Enter"]);
    let shown = terminal.see("your own words");
    assert_whole_words(&shown, LONG);
    assert_whole_words(&shown, MERGE);
    assert!(shown.contains("  2 keep   Keep both\n"), "{shown}");
}

#[test]
fn errors_and_warnings_break_between_words() {
    needs!("tmux");
    let world = World::new();
    let shown = screen(&world, "TZ=UTC", "ask-post Merge? -w docs -o a=A; ask-answer docs c; relaunch logs docs");
    assert_whole_words(&shown, "there is no checkpoint, so the process that gets the answer will know only the question; save one:");
    assert!(shown.contains("one: checkpoint save docs --next-action TEXT\n"), "a command stays whole: {shown}");
    assert_whole_words(
        &shown,
        "answer: `c` is none of the options hint: choose one of: a (add --text if these are the person's own words)",
    );
    assert!(shown.contains("error: docs has no run: it is pending\nhint: ask-answer show docs\n"), "{shown}");
    let piped = world.shell("ask-post Merge? -w other").stderr;
    assert_eq!(piped.lines().count(), 1, "{piped}");
}

#[test]
fn people_read_local_times_and_programs_read_utc() {
    needs!("tmux");
    let world = World::new();
    ask_at_length(&world);
    let shown = screen(&world, "TZ=XST-5:30", "ask-answer show docs-42; ask-answer list --json");
    assert_whole_words(&shown, "until 2099-01-02 08:34 +05:30 (in");
    assert!(shown.replace('\n', "").contains("\"expires_at\":\"2099-01-02T03:04:05"), "{shown}");
}

#[test]
fn a_question_without_a_time_has_no_age() {
    let world = World::new();
    world.sh("ask-post How? -w w --timeout 1s --on-expiry cancel; echo '{\"question\": \"Merge?\", \"workflow_id\": \"hand\"}' > m/pending/hand.json");
    let shown = world.sh("ask-answer show hand");
    assert!(shown.starts_with("hand: asked\n"), "{shown}");
    let watcher = world.watch();
    world.closed("w", "expired", 1);
    let late = world.refused(4, "ask-answer w yes");
    assert!(late.contains("the question of w has expired before you answered"), "{late}");
    watcher.stop();
}

mod promises {
    use super::*;

    #[test]
    fn a_terminal_without_a_cursor_is_told_how_to_answer() {
        needs!("tmux");
        let world = World::new();
        world.sh("ask-post How? -w w -o merge='Merge into one' -o keep='Keep both'");
        let terminal = Terminal::running(&world, (100, 40), &["TERM=dumb"], &["sh", "-c", "ask-answer; echo left=$?; read wait"]);
        let screen = terminal.see("left=2");
        assert!(
            screen.contains("the inbox needs a terminal that can move its cursor (TERM=dumb)") && screen.contains("ask-answer list"),
            "{screen}"
        );
        assert!(!terminal.with_colours().contains("\x1b["), "{:?}", terminal.with_colours());
    }

    #[test]
    fn a_diff_beside_the_question_is_coloured_on_a_terminal_only() {
        needs!("tmux");
        let world = World::new();
        let long = "x".repeat(150);
        let diff = format!("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\u{202e}\n+new {long} Round 1: answered\n");
        std::fs::write(world.path("fix.diff"), diff).unwrap();
        world.sh("ask-post Apply? -w fix --attach fix.diff");
        let shown = |variables: &[&str]| {
            let command = ["sh", "-c", "ask-answer show fix; echo shown; read wait"];
            let terminal = Terminal::running(&world, (100, 40), variables, &command);
            terminal.see("shown");
            terminal.with_colours()
        };
        let coloured = shown(&[]);
        assert!(coloured.contains("\x1b[31m    | -old\\u{202e}") && coloured.contains("\x1b[32m    | +new"), "{coloured:?}");
        assert!(coloured.lines().all(|line| !line.starts_with("Round 1")), "a long line goes on as a line of its own: {coloured}");
        assert!(!shown(&["NO_COLOR=1"]).contains("\x1b[3"));
        assert!(!world.sh("ask-answer show fix").contains('\x1b'));
    }
}
