//! The help texts fit the terminal: no paragraph is broken by hand, because its lines would be broken once more where the terminal is narrow.

use crate::support::World;

/// The lines of a paragraph that end although the next line's first word had room.
fn broken_by_hand(help: &str, columns: usize) -> Vec<String> {
    let lines: Vec<&str> = help.lines().collect();
    let is_prose = |line: &str| !line.is_empty() && !line.starts_with(' ') && !line.ends_with(':');
    let pairs = lines.windows(2).filter(|pair| is_prose(pair[0]) && !pair[1].is_empty() && !pair[1].starts_with(' '));
    let fits = |pair: &&[&str]| {
        let word = pair[1].split_whitespace().next().unwrap_or_default();
        pair[0].chars().count() + 1 + word.chars().count() <= columns
    };
    pairs.filter(fits).map(|pair| format!("{} / {}", pair[0], pair[1])).collect()
}

mod promises {
    use super::*;

    #[test]
    fn no_paragraph_of_relaunchs_help_is_broken_by_hand() {
        let world = World::new();
        let commands = [
            "", "watch", "status", "logs", "events", "run", "stop", "spawn", "resume", "wait", "retry", "drop", "prompt", "pause", "go",
            "done", "exec",
        ];
        for command in commands {
            for columns in [60, 90] {
                let help = world.sh(&format!("COLUMNS={columns} relaunch {command} --help"));
                assert_eq!(broken_by_hand(&help, columns), [""; 0], "relaunch {command} --help in {columns} columns:\n{help}");
                assert!(help.lines().all(|line| line.starts_with("  ") || line.chars().count() <= columns), "{help}");
            }
        }
    }
}
