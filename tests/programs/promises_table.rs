//! The table of promises names tests of the first tier, and leaves out no section that promises something.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use super::pages::anchor;

/// The tests that stand in a module `promises` of a file below this folder.
fn first_tier(folder: &Path, names: &mut HashSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            first_tier(&path, names);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let Some((_, promises)) = text.split_once("\nmod promises {") else { continue };
            // The macro of the fuzz targets has names like `target: a_test;`.
            let words = promises.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            names.extend(words.filter(|word| word.contains('_')).map(str::to_owned));
        }
    }
}

mod promises {
    use super::*;

    #[test]
    fn every_promise_has_its_test_in_the_first_tier() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let table = fs::read_to_string(root.join("tests/promises.md")).unwrap();
        let mut names = HashSet::new();
        first_tier(&root.join("tests"), &mut names);
        let rows: Vec<Vec<&str>> =
            table.lines().filter(|line| line.starts_with("| ")).skip(1).map(|line| line.split(" | ").collect()).collect();
        assert!(rows.len() > 40, "{}", rows.len());
        for row in &rows {
            let tests: Vec<&str> = row[2].split('`').skip(1).step_by(2).collect();
            assert!(!tests.is_empty(), "a promise without a test: {row:?}");
            for test in tests {
                assert!(names.contains(test), "{test} is not a test of the first tier");
            }
        }
        for page in ["protocol.md", "reliability.md"] {
            let text = fs::read_to_string(root.join("docs/dev").join(page)).unwrap();
            for heading in text.lines().filter(|line| line.starts_with("## ") || line.starts_with("### ")) {
                let link = format!("](../docs/dev/{page}#{})", anchor(heading.trim_start_matches('#')));
                assert!(rows.iter().any(|row| row[1].ends_with(&link)), "no promise of the section \"{heading}\" of {page}");
            }
        }
    }
}
