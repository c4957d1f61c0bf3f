//! Every command and every key that a sentence names is one.

use std::collections::HashSet;
use std::path::Path;

use super::super::pages::pages;
use super::is_of_askbox;
use crate::support::{World, root};

/// True if a page is README or one for users.
fn of_users(path: &Path) -> bool {
    path == root().join("README.md") || path.parent().is_some_and(|folder| folder.ends_with("docs"))
}

/// The id of a workflow, of a round and of a session.
const ID: &str = "019ab3c2-77aa-7c31-9b0e-5d2f6a1c8e44";

/// Names of spans in a trace, which look like commands.
const SPANS: [&str; 3] = ["askbox round", "askbox wait", "askbox run"];

mod promises {
    use super::*;

    #[test]
    fn each_command_in_a_sentence_is_known_to_its_program() {
        let world = World::new();
        let (mut read, mut wrong) = (HashSet::new(), Vec::new());
        for (path, text) in pages().into_iter().filter(|(path, _)| of_users(path)) {
            for span in text.split('`').skip(1).step_by(2).filter(|span| is_of_askbox(span) && span.contains(' ')) {
                let command = span.split_whitespace().collect::<Vec<_>>().join(" ");
                // What follows belongs to the shell. Help is shown once all words before it are known.
                let of_shell = [" | ", " < ", " >> ", " > "];
                let words = of_shell.iter().fold(command.as_str(), |words, sign| words.split(sign).next().unwrap_or_default());
                let help = if words.contains(" -- ") { "" } else { " --help" };
                if SPANS.contains(&words) || !read.insert(words.to_owned()) {
                    continue;
                }
                let filled = words
                    .trim_end_matches(" …")
                    .replace(" ID:HASH", &format!(" {ID}:{}", "0".repeat(32)))
                    .replace(" ID", &format!(" {ID}"));
                let ran = world.shell(&format!("{filled}{help}"));
                // An option may be named without its value.
                if ran.code() == 2 && !ran.stderr.contains("error: a value is required for ") {
                    wrong.push(format!("{}: {command}\n{}", path.display(), ran.stderr));
                }
            }
        }
        assert!(read.len() > 80 && wrong.is_empty(), "{} read\n{}", read.len(), wrong.join("\n"));
    }

    #[test]
    fn each_key_in_a_sentence_is_a_key_of_the_configuration() {
        let keys: Vec<&str> = askbox::config::keys().map(|key| key.path).collect();
        let sections: HashSet<&str> = keys.iter().filter_map(|key| Some(key.split_once('.')?.0)).collect();
        let (mut read, mut wrong) = (0, Vec::new());
        for (path, text) in pages().into_iter().filter(|(path, _)| of_users(path)) {
            for span in text.split('`').skip(1).step_by(2) {
                let key = span.split([' ', '=']).next().unwrap_or_default();
                let is_key = key.split_once('.').is_some_and(|(section, _)| sections.contains(section))
                    && key.bytes().all(|b| b.is_ascii_alphabetic() || b == b'_' || b == b'.');
                if is_key {
                    read += 1;
                    let found = key.replace(".NAME.", ".*.");
                    if !keys.contains(&found.as_str()) {
                        wrong.push(format!("{}: {key}", path.display()));
                    }
                }
            }
        }
        assert!(read > 80 && wrong.is_empty(), "{read} read: {wrong:#?}");
    }
}
