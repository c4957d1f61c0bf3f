//! The table of the checks, and equal problems, which are one line.

use std::fs;

use serde_json::Value;

use super::{findings, report, well};
use crate::support::World;

/// The words in backticks.
fn quoted(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

#[test]
fn thirty_thousand_equal_problems_are_one_line() {
    let world = well();
    let parked = |n: u32| format!("parked/w{n:05}.01a1ff87-0000-7000-8000-{n:012x}.json");
    for n in 0..30_000 {
        fs::write(world.in_mailbox(parked(n)), "{").unwrap();
    }
    world.sh("chmod -R go-w m; find m/parked -type f -exec touch -d '1 hour ago' {} +");
    let found = findings(&world);
    assert_eq!(found.len(), 1, "{:#?}", &found[..found.len().min(5)]);
    let found = &found[0];
    assert_eq!((found["count"].as_u64(), found["subjects"].as_array().unwrap().len()), (Some(30_000), 10), "{found:#}");
    assert_eq!(found["subject"], parked(0));
    assert_eq!(found["subjects"][9], parked(9));
    let said = world.shell("askbox doctor").stdout;
    let line = format!("unreadable: {} and 29995 more, each: ", (0..5).map(parked).collect::<Vec<_>>().join(", "));
    assert!(said.contains("30000 problems found:\n") && said.contains(&line), "{said}");
    assert!(said.lines().count() < 20, "{said}");
}

mod promises {
    use super::*;

    #[test]
    fn the_guide_names_each_cause_and_each_state_once() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        let guide = fs::read_to_string(root.join("docs/guide-operator.md")).unwrap();
        let schema: Value = serde_json::from_str(&fs::read_to_string(root.join("docs/schema/status.schema.json")).unwrap()).unwrap();
        let tables = [
            ("Cause", "| `cause` | what holds the round up | `next` |"),
            ("Standing", "| state | the nearest state of a task in A2A 1.0 |"),
        ];
        for (kind, head) in tables {
            let rows = guide.lines().skip_while(|line| *line != head).skip(2).take_while(|line| line.starts_with('|'));
            let mut shown: Vec<&str> = rows.flat_map(|row| quoted(row.trim_matches('|').split(" | ").next().unwrap())).collect();
            let mut known: Vec<&str> =
                schema["$defs"][kind]["oneOf"].as_array().unwrap().iter().map(|word| word["const"].as_str().unwrap()).collect();
            shown.sort_unstable();
            known.sort_unstable();
            assert_eq!(shown, known, "{kind}");
        }
    }

    #[test]
    fn the_guide_shows_the_table_of_the_checks() {
        let world = World::new();
        let table: Vec<Value> = serde_json::from_str(&world.sh("askbox doctor --checks --json")).unwrap();
        let guide = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/guide-operator.md")).unwrap();
        let rows: Vec<Vec<&str>> = guide
            .lines()
            .skip_while(|line| *line != "| check | says |")
            .skip(2)
            .take_while(|line| line.starts_with('|'))
            .map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect())
            .collect();
        let names = |rows: &[Vec<&str>]| rows.iter().map(|row| row[0].trim_end_matches(" *").to_owned()).collect::<Vec<_>>();
        assert_eq!(names(&rows), table.iter().map(|check| check["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>());
        for (row, check) in rows.iter().zip(&table) {
            assert_eq!(row[0].ends_with('*'), check["of_a_workflow"] == true, "{row:?}");
            let kinds: Vec<&str> = check["says"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
            let said: Vec<&str> = quoted(row[1]);
            assert!(kinds.iter().all(|kind| said.contains(kind)), "{row:?} says not all of {kinds:?}");
            assert!(
                row[1]
                    .split(". ")
                    .all(|part| !part.contains(':') || quoted(part.split(':').next().unwrap()).iter().all(|kind| kinds.contains(kind))),
                "{row:?}"
            );
        }
        assert_eq!(report(&well())["findings"], Value::Array(Vec::new()));
    }
}
