//! The table of promises names tests that exist, and leaves out no section that promises something.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use super::documented;
use super::pages::anchor;
use crate::support::root;

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

/// A row of a table of `tests/promises.md`.
struct Row {
    promise: String,
    /// The path of the page, and `#` with a heading if it names one.
    page: String,
    tests: Vec<String>,
}

/// The rows of the first table, or of that of the pages for users.
fn rows(of_users: bool) -> Vec<Row> {
    let text = fs::read_to_string(root().join("tests/promises.md")).unwrap();
    let (first, second) = text.split_once("\n## ").expect("two tables");
    let lines = if of_users { second } else { first }.lines().filter(|line| line.starts_with("| ")).skip(1);
    let row = |line: &str| {
        let [promise, link, tests] = line.trim_matches(['|', ' ']).split(" | ").collect::<Vec<_>>()[..] else { panic!("{line}") };
        let page = link.split_once("](../").and_then(|(_, rest)| rest.strip_suffix(')')).expect("a link").to_owned();
        Row { promise: promise.to_owned(), page, tests: tests.split('`').skip(1).step_by(2).map(str::to_owned).collect() }
    };
    lines.map(row).collect()
}

mod promises {
    use super::*;

    #[test]
    fn every_promise_has_its_test_in_the_first_tier() {
        let mut names = HashSet::new();
        first_tier(&root().join("tests"), &mut names);
        let rows = rows(false);
        assert!(rows.len() > 40, "{}", rows.len());
        for Row { promise, tests, .. } in &rows {
            assert!(!tests.is_empty(), "a promise without a test: {promise}");
            for test in tests {
                assert!(names.contains(test), "{test} is not a test of the first tier");
            }
        }
        for page in ["protocol.md", "reliability.md"] {
            let text = fs::read_to_string(root().join("docs/dev").join(page)).unwrap();
            for heading in text.lines().filter(|line| line.starts_with("## ") || line.starts_with("### ")) {
                let link = format!("docs/dev/{page}#{}", anchor(heading.trim_start_matches('#')));
                assert!(rows.iter().any(|row| row.page == link), "no promise of the section \"{heading}\" of {page}");
            }
        }
    }

    #[test]
    fn the_words_of_each_page_are_kept_by_tests_that_exist() {
        let (rows, tests) = (rows(true), documented::tests());
        let mut wrong = Vec::new();
        for Row { promise, page, tests: named } in &rows {
            let text = fs::read_to_string(root().join(page)).unwrap();
            if !text.split_whitespace().collect::<Vec<_>>().join(" ").contains(promise) {
                wrong.push(format!("{page} does not say: {promise}"));
            }
            if named.is_empty() {
                wrong.push(format!("{page}: no test keeps: {promise}"));
            }
            wrong.extend(named.iter().filter(|test| !tests.contains(*test)).map(|test| format!("{page}: there is no test {test}")));
        }
        for name in crate::support::names(&root().join("docs")).iter().filter(|name| name.ends_with(".md") && *name != "README.md") {
            if !rows.iter().any(|row| row.page == format!("docs/{name}")) {
                wrong.push(format!("docs/{name} has no promise in the table"));
            }
        }
        assert!(rows.iter().any(|row| row.page == "README.md") && wrong.is_empty(), "{wrong:#?}");
    }
}
