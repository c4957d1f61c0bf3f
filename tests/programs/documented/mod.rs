//! Every block of README and of the pages for users is true: its commands run in the setting that the words around it tell, its TOML is a
//! configuration, and its JSON parses. So is every command and every key that a sentence names.
//!
//! | file | content |
//! |---|---|
//! | `table.rs` | where each block of commands is run |
//! | `settings.rs` | the settings |
//! | `running.rs` | the commands are run here |
//! | `files.rs` | TOML and JSON |
//! | `sentences.rs` | commands and keys in sentences |

mod files;
mod running;
mod sentences;
mod settings;
mod table;

use std::collections::HashSet;
use std::fs;

use crate::support::shown::{Block, blocks, page};
use crate::support::{names, root};
use table::{COMMANDS, OTHERS, Run};

/// README, and the pages for users by their names below `docs/`.
fn pages() -> Vec<(String, Vec<Block>)> {
    let guides = names(&root().join("docs"));
    let guides = guides.iter().filter_map(|name| name.strip_suffix(".md")).filter(|name| *name != "README");
    let index = [("README".to_owned(), "README.md"), ("index".to_owned(), "docs/README.md")];
    let mut pages: Vec<_> = index.map(|(name, path)| (name, blocks(&page(path)))).into();
    pages.extend(guides.map(|name| (name.to_owned(), blocks(&page(&format!("docs/{name}.md"))))));
    pages
}

#[derive(PartialEq)]
enum Kind {
    Toml,
    Json,
    /// A unit of systemd, which `service.rs` tests.
    Unit,
    /// A program, which a test of the clients compares with its file.
    Host,
    Else,
}

fn kind(block: &Block) -> Kind {
    let first = block.text.lines().find(|line| !line.starts_with('#')).unwrap_or_default();
    match block.language.as_str() {
        "python" | "js" => Kind::Host,
        "json" => Kind::Json,
        "toml" => Kind::Toml,
        _ if first == "[Unit]" || first == "[Service]" => Kind::Unit,
        _ if first.starts_with('[') && first.ends_with(']') => Kind::Toml,
        _ if first.starts_with('"') => Kind::Json,
        _ => Kind::Else,
    }
}

/// The names of all tests.
pub(in crate::programs) fn tests() -> HashSet<String> {
    let mut names = HashSet::new();
    let mut folders = vec![root().join("tests"), root().join("crates"), root().join("src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(path).expect("a text");
                let named = |rest: &str| Some(rest.split_once("fn ")?.1.split_once('(')?.0.to_owned());
                names.extend(text.split("#[test]").skip(1).filter_map(named));
            }
        }
    }
    names
}

/// True if a line is a command of one of askbox's programs.
fn is_of_askbox(line: &str) -> bool {
    let program = line.trim_start_matches("$ ").split_whitespace().next();
    ["ask-post", "ask-answer", "checkpoint", "relaunch", "askbox", "ask-agent"].iter().any(|name| program == Some(name))
}

mod promises {
    use super::*;

    #[test]
    fn each_block_of_a_page_is_run_read_or_has_its_reason() {
        let (pages, tests) = (pages(), tests());
        assert!(pages.len() > 20, "{}", pages.len());
        let mut wrong = Vec::new();
        let others = OTHERS.iter().map(|(page, beginning, _)| (*page, *beginning));
        let known: Vec<(&str, &str)> = COMMANDS.iter().map(|(page, beginning, _)| (*page, *beginning)).chain(others).collect();
        let all = || pages.iter().flat_map(|(name, blocks)| blocks.iter().map(move |block| (name, block)));
        for (name, block) in all().filter(|(_, block)| kind(block) == Kind::Else) {
            let rows = known.iter().filter(|(page, beginning)| page == name && block.text.starts_with(beginning)).count();
            if rows != 1 {
                wrong.push(format!("{name}: {rows} rows of the table say where this block is run: {:?}", block.first_line()));
            }
        }
        for (name, beginning) in &known {
            let found = all().filter(|(page, block)| page == name && block.text.starts_with(beginning)).count();
            if found != 1 {
                wrong.push(format!("{name}: {found} blocks begin with {beginning:?}"));
            }
        }
        for (name, beginning, way) in COMMANDS {
            match way {
                Run::By(test) if !tests.contains(*test) => wrong.push(format!("{name}: there is no test {test}")),
                Run::Not(reason) => {
                    let blocks = all().filter(|(page, block)| page == name && block.text.starts_with(beginning));
                    let lines = blocks.flat_map(|(_, block)| block.text.lines());
                    wrong.extend(
                        lines
                            .filter(|line| is_of_askbox(line))
                            .map(|line| format!("{name}: askbox's command is not run ({reason}): {line}")),
                    );
                }
                _ => (),
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}
