//! The host is on every screen, however small; and nothing that an enemy sends does anything there.

use super::{ask, behind, enter, open, two};
use crate::support::machine::configure;
use crate::support::{Machine, Terminal, needs};

#[test]
fn the_host_is_seen_in_all_places_on_the_smallest_screen() {
    needs!("sshd", "ssh", "tmux");
    let (here, build) = two();
    let tower = Machine::new(&here, "a-machine-with-quite-a-long-name");
    ask(&tower, "docs-with-a-long-id-of-its-own");
    configure(&here, &[&build, &tower]);
    here.ok("ask-post", &["-w", "local-1", "Here?", "--priority", "1"]);
    for (columns, rows) in [(40, 20), (80, 24), (150, 50)] {
        let workflow = format!("w-{columns}");
        ask(&build, &workflow);
        let terminal = Terminal::new(&here);
        terminal.resize(columns, rows);
        open(&terminal, "4 questions are waiting");
        let screen = terminal.see_no_more("(as of ");
        let row = |id: &str| {
            screen.lines().find(|line| line[2.min(line.len())..].starts_with(id)).unwrap_or_else(|| panic!("no {id} in\n{screen}"))
        };
        assert!(row("build:docs-42").contains("Merge"), "{screen}");
        assert!(row("a-machine-wi").contains("Merge") && row("local-1").contains("Here?"), "{screen}");
        assert!(screen.lines().all(|line| line.chars().count() <= columns as usize), "{screen}");
        terminal.press(&["/", &format!("build:{workflow}"), "Enter"]);
        let screen = terminal.see(&format!("\n> build:{workflow}"));
        assert!(screen.contains(&format!("build:{workflow} · by")), "the question beside the list names it too: {screen}");
        let screen = enter(&terminal);
        assert!(screen.contains(&format!("build:{workflow} · by")), "{screen}");
        terminal.press(&["1", "Enter"]);
        terminal.see("; accepted by");
        terminal.press(&["Tab"]);
        let screen = terminal.see("→ accepted by");
        assert!(screen.contains(&format!("build:{workflow}")), "{screen}");
        terminal.press(&["q"]);
        terminal.see("left=0");
    }
}

#[test]
fn a_filter_finds_questions_by_their_host() {
    needs!("sshd", "ssh", "tmux");
    let (here, build) = two();
    let tower = Machine::new(&here, "tower");
    ask(&tower, "site");
    configure(&here, &[&build, &tower]);
    here.ok("ask-post", &["-w", "local-1", "Here?"]);
    let terminal = Terminal::new(&here);
    open(&terminal, "3 questions are waiting");
    terminal.press(&["/"]);
    terminal.see("host:NAME");
    terminal.press(&["Escape"]);
    terminal.see_no_more("host:NAME");
    for (filter, found, hidden) in
        [("host:tower", "tower:site", "build:docs-42"), ("build", "build:docs-42", "tower:site"), ("host:local", "local-1", "tower:site")]
    {
        terminal.press(&["/", filter, "Enter"]);
        let screen = terminal.see(&format!("1 with \"{filter}\""));
        assert!(screen.contains(found) && !screen.contains(hidden), "{screen}");
        terminal.press(&["Escape"]);
        terminal.see_no_more("with \"");
    }
}

#[test]
fn what_an_enemy_sends_becomes_no_row_of_another_machine() {
    needs!("sshd", "ssh", "tmux");
    let (here, build) = two();
    let id = "0192d3a0-0000-7000-8000-000000000001";
    let hello = r#"{"line":"hello","protocol":1,"schema_version":1,"version":"1\u001b[31m"}"#;
    let evil = format!(
        r#"{{"line":"question","workflow_id":"evil","question_id":"{id}","document":{{"workflow_id":"evil","question":"\u001b]0;x\u0007\u001b[2JClear\u202ethis?","asked_by":"\u001b[31mroot","project":"p"}}}}"#
    );
    let torn = r#"{"line":"unreadable","workflow_id":"torn","error":"no \u001b[2J way"}"#;
    let lines = format!("cat <<'EOF'\n{hello}\n{evil}\n{torn}\n{{\"line\":\"listed\"}}\nEOF\nsleep 1000");
    behind(&here, &build, &lines);
    here.ok("ask-post", &["-w", "local-1", "Here?"]);
    let terminal = Terminal::new(&here);
    let screen = open(&terminal, "build:evil");
    assert!(screen.contains("Clear") && screen.contains("this?") && screen.contains("local-1"), "{screen}");
    terminal.see("build:torn");
    let coloured = terminal.with_colours();
    assert!(!coloured.contains("\x1b[2J") && !coloured.contains('\u{202e}') && !coloured.contains('\x07'), "{coloured:?}");
    terminal.press(&["/evil", "Enter", "Enter"]);
    let screen = terminal.see("esc later");
    assert!(screen.starts_with("build:evil · by "), "{screen}");
    terminal.press(&["Escape"]);
    terminal.see("? help");
    // A question that cannot be read is not answered.
    terminal.press(&["/", "C-u", "torn", "Enter"]);
    terminal.see("1 with \"torn\"");
    terminal.press(&["Enter"]);
    let screen = terminal.see("way");
    assert!(!screen.contains("esc later"), "{screen}");
}
