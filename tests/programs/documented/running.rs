//! The commands of a block are run, and print what the page shows.

use std::fs;
use std::path::Path;

use super::pages;
use super::table::{COMMANDS, Run};
use crate::support::shown::{Block, Shown, prompted};
use crate::support::{World, needs};

/// A command as the test can run it: one that goes on has a terminal and is interrupted, setup is agreed to, and doctor may find something.
fn runnable(typed: &str) -> String {
    let line = |line: &str| {
        let command = line.split(" #").next().unwrap_or_default().trim_end();
        let goes_on = command == "relaunch watch" || command.split(' ').any(|word| word == "-f");
        if goes_on {
            format!("{{ script -qec 'timeout --foreground -s INT 1 {command}' /dev/null || test $? = 124; }}")
        } else if command.starts_with("askbox doctor") {
            format!("{{ {command} || test $? = 1; }}")
        } else if command.starts_with("askbox setup") && !command.contains("--yes") {
            command.replacen("askbox setup", "askbox setup --yes", 1)
        } else {
            line.to_owned()
        }
    };
    typed.lines().map(line).collect::<Vec<_>>().join("\n").replace(" ID", " ${ID:-docs-42}").replace("/tmp/workflows", "$HOME/workflows")
}

/// What is not the same each time, as one word: an age, a time, an id, an amount of money.
fn settled(line: &str) -> String {
    let word = |word: &str| {
        let bare = word.trim_end_matches([',', ':', '.', ')']);
        let is_age =
            |last| bare.strip_suffix(last).is_some_and(|number: &str| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()));
        if is_age('s') || is_age('m') || is_age('h') || is_age('d') {
            word.replace(bare, "AGE")
        } else if bare.starts_with("20") && bare.ends_with('Z') {
            "TIME".into()
        } else if bare.starts_with('$') && bare.len() > 2 {
            "COST".into()
        } else {
            let id = |part: &str| {
                if part.len() >= 32 && part.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-') { "ID".into() } else { part.to_owned() }
            };
            word.split(':').map(id).collect::<Vec<_>>().join(":")
        }
    };
    line.split_whitespace().map(word).collect::<Vec<_>>().join(" ")
}

/// A page's line is among these lines. `…` stands for anything.
fn is_among(shown: &str, lines: &[String]) -> bool {
    let pieces: Vec<&str> = shown.split('…').map(str::trim).collect();
    let fits = |line: &String| {
        let mut rest = line.as_str();
        let in_order = pieces.iter().all(|piece| rest.split_once(piece).map(|(_, behind)| rest = behind).is_some());
        in_order && (pieces.len() > 1 || line == shown)
    };
    lines.iter().any(fits)
}

/// Runs a block in its setting. What it prints is what the page shows.
fn run(block: &Block, world: &World, then: &str) -> Result<(), String> {
    // A prompt further in is printed.
    let indented: String = block.text.lines().map(|line| format!("    {}\n", line.replace("  $ ", "  $\u{a0}"))).collect();
    let mut shown = prompted(&indented);
    if shown.is_empty() {
        shown.push(Shown { typed: block.text.clone(), printed: Vec::new() });
    }
    let input = world.path("input");
    let input = if input.exists() { input.display().to_string() } else { "/dev/null".into() };
    for Shown { typed, printed } in &shown {
        let shell = if typed.contains(" bash)") { "bash" } else { "sh" };
        fs::write(world.path("script"), runnable(typed)).expect("a script");
        let ran = world.shell(&format!("{shell} -e '{}' <'{input}'", world.path("script").display()));
        if !ran.status.success() {
            return Err(format!("{typed}\n{}\n{}", ran.status, ran.words()));
        }
        let path = |path: &Path| path.display().to_string();
        let words = ran.words().replace(&path(world.work()), "/home/ann/work").replace(&path(world.home()), "/home/ann");
        let lines: Vec<String> = words.lines().map(settled).collect();
        let mut shown = printed.iter().filter(|line| !line.trim().is_empty());
        if let Some(line) = shown.find(|line| !is_among(&settled(line), &lines)) {
            return Err(format!("{typed}\nprints no line {line:?}:\n{words}"));
        }
    }
    let ran = world.shell(then);
    if ran.status.success() { Ok(()) } else { Err(format!("{then}\n{}", ran.words())) }
}

#[test]
fn each_command_of_the_pages_runs_in_its_setting() {
    needs!("jq", "script");
    let (pages, mut wrong) = (pages(), Vec::new());
    for (name, beginning, way) in COMMANDS {
        let Run::In(setting, then) = way else { continue };
        let blocks = &pages.iter().find(|(page, _)| page == name).expect("a page").1;
        let block = blocks.iter().find(|block| block.text.starts_with(beginning)).expect("a block");
        if let Err(why) = run(block, &setting(), then) {
            wrong.push(format!("{name}: {why}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
