//! The layers: no two files and no two folders of a crate import each other, directly or by way of others. (Cargo sees to the crates.)
//! And the tables at the beginning of each `lib.rs` and `mod.rs`: they name the modules that exist, in the order that they promise.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The names on the way to a module, from its crate.
type Module = Vec<String>;
type Imports = BTreeMap<Module, BTreeSet<Module>>;

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files(&path, found),
            false if path.extension().is_some_and(|extension| extension == "rs") => found.push(path),
            false => {}
        }
    }
}

fn module(root: &Path, file: &Path) -> Module {
    let mut names: Module = file.strip_prefix(root).unwrap().with_extension("").iter().map(|n| n.to_str().unwrap().to_owned()).collect();
    if names.last().is_some_and(|name| name == "mod" || name == "lib") {
        names.pop();
    }
    names
}

/// The paths of a tree of imports, such as `a::{b, c::{d, e}}`.
fn paths(tree: &str) -> Vec<String> {
    let Some((before, inner)) = tree.split_once('{') else { return vec![tree.to_owned()] };
    let inner = inner.strip_suffix('}').unwrap_or(inner);
    let (mut depth, mut parts) = (0, vec![String::new()]);
    for c in inner.chars() {
        depth += i32::from(c == '{') - i32::from(c == '}');
        if c == ',' && depth == 0 {
            parts.push(String::new());
        } else {
            parts.last_mut().unwrap().push(c);
        }
    }
    parts.iter().filter(|part| !part.is_empty()).flat_map(|part| paths(&format!("{before}{part}"))).collect()
}

/// The code of a text in one line, without its comments and its tests.
fn code(text: &str) -> String {
    let text = text.split("\n#[cfg(test)]\n").next().unwrap();
    let code: Vec<&str> = text.lines().map(|line| line.split("//").next().unwrap().trim()).collect();
    code.join(" ")
}

/// The paths behind each `before` of a code, such as `use crate::`.
fn used(code: &str, before: &str) -> Vec<Module> {
    let uses = code.split(before).skip(1).filter_map(|rest| rest.split_once(';')).map(|(tree, _)| tree.replace(' ', ""));
    uses.flat_map(|tree| paths(&tree)).map(|path| path.split("::").filter(|name| *name != "self").map(str::to_owned).collect()).collect()
}

/// The words that stand at the root of a crate, and where each of them comes from.
fn words_of_the_root(source: &Path) -> BTreeMap<String, Module> {
    let lib = fs::read_to_string(source.join("lib.rs")).unwrap();
    used(&code(&lib), "pub use ").into_iter().map(|path| (path.last().unwrap().clone(), path)).collect()
}

/// The modules of its own crate that a text names in `use`, without its tests. A word of the root means the module that it comes from.
fn imports(text: &str, words: &BTreeMap<String, Module>) -> Vec<Module> {
    let from = |path: Module| words.get(&path[0]).into_iter().flatten().chain(&path[1..]).cloned().collect();
    used(&code(text), "use crate::").into_iter().map(|path| if words.contains_key(&path[0]) { from(path) } else { path }).collect()
}

/// Whether one of the modules is imported by another, directly or by way of others.
fn reaches(imports: &Imports, from: &Module, to: &Module) -> bool {
    let (mut seen, mut next) = (BTreeSet::new(), vec![from.clone()]);
    while let Some(module) = next.pop() {
        for imported in imports.get(&module).into_iter().flatten() {
            if imported == to {
                return true;
            }
            if seen.insert(imported.clone()) {
                next.push(imported.clone());
            }
        }
    }
    false
}

fn circles(name: &str, imports: &Imports) -> Vec<String> {
    let pairs = imports.iter().flat_map(|(from, all)| all.iter().map(move |to| (from, to)));
    let back = pairs.filter(|(from, to)| reaches(imports, to, from));
    back.map(|(from, to)| format!("{name}: {} imports {}, and the other way round", from.join("/"), to.join("/"))).collect()
}

/// The folders with the sources of all crates.
fn sources() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let crates = fs::read_dir(root.join("crates")).unwrap().map(|entry| entry.unwrap().path().join("src"));
    crates.chain([root.join("src")]).collect()
}

/// The modules of a crate and their texts, without the modules that only tests use.
fn modules(source: &Path) -> BTreeMap<Module, String> {
    let mut all = Vec::new();
    files(source, &mut all);
    let is_test = |module: &Module| module.iter().any(|name| name == "tests") || module.last().is_some_and(|name| name == "fuzzed");
    all.iter().map(|file| (module(source, file), fs::read_to_string(file).unwrap())).filter(|(module, _)| !is_test(module)).collect()
}

#[test]
fn no_files_and_no_folders_import_each_other() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    for source in sources().iter().filter(|source| !source.starts_with(root.join("crates/testkit"))) {
        let (modules, words) = (modules(source), words_of_the_root(source));
        let (mut of_files, mut of_folders) = (Imports::new(), Imports::new());
        for (module, text) in &modules {
            for path in imports(text, &words) {
                let known = (1..=path.len()).rev().map(|n| path[..n].to_vec()).find(|part| modules.contains_key(part));
                let Some(imported) = known.filter(|imported| imported != module) else { continue };
                let common = module.iter().zip(&imported).take_while(|(a, b)| a == b).count();
                if module.len() > common && imported.len() > common {
                    let (from, to) = (module[..=common].to_vec(), imported[..=common].to_vec());
                    of_folders.entry(from).or_default().insert(to);
                }
                of_files.entry(module.clone()).or_default().insert(imported);
            }
        }
        assert!(modules.len() > 2, "{}", source.display());
        let name = source.strip_prefix(root).unwrap().display().to_string();
        found.extend(circles(&name, &of_files).into_iter().chain(circles(&name, &of_folders)));
    }
    assert!(found.is_empty(), "{found:#?}");
}

/// The modules that a text declares by `mod x;`, each with true if the table of files has to name it.
fn declared(text: &str) -> BTreeMap<&str, bool> {
    let before = std::iter::once("").chain(text.lines());
    let declared = before.zip(text.lines()).filter_map(|(before, line)| {
        let (visibility, name) = line.split_once(';')?.0.split_once("mod ")?;
        let is_module = visibility.is_empty() || (visibility.starts_with("pub") && !visibility.contains('='));
        let is_wanted = before != "#[cfg(test)]" && name != "tests" && name != "fuzzed";
        is_module.then_some((name, is_wanted))
    });
    declared.collect()
}

/// The rows of the table of files in the header of a text: the names in each first cell.
fn rows(text: &str) -> Vec<Vec<&str>> {
    let header = text.lines().map_while(|line| line.strip_prefix("//!"));
    let table = header.skip_while(|line| !line.starts_with(" | file |") && !line.starts_with(" | room |")).skip(2);
    let cells = table.map_while(|line| line.strip_prefix(" | ")?.split('|').next());
    cells.map(|cell| cell.split('`').skip(1).step_by(2).collect()).collect()
}

#[test]
fn each_table_of_files_names_every_file() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut tables, mut found) = (0, Vec::new());
    for source in sources() {
        let mut all = Vec::new();
        files(&source, &mut all);
        let begins_a_folder = |file: &&PathBuf| file.ends_with("lib.rs") || file.ends_with("mod.rs");
        for file in all.iter().filter(begins_a_folder).filter(|file| !module(&source, file).iter().any(|name| name == "tests")) {
            let text = fs::read_to_string(file).unwrap();
            let (declared, rows, place) = (declared(&text), rows(&text), file.strip_prefix(root).unwrap().display());
            let wanted: Vec<&str> = declared.iter().filter(|(_, is_wanted)| **is_wanted).map(|(name, _)| *name).collect();
            let named: Vec<&str> = rows.into_iter().flatten().collect();
            if named.is_empty() {
                found.extend((wanted.len() > 1).then(|| format!("{place}: no table `//! | file | idea |` in its header")));
                continue;
            }
            tables += 1;
            let missing = wanted.iter().filter(|name| !named.contains(name));
            found.extend(missing.map(|name| format!("{place}: the table does not name `{name}`")));
            let gone = named.iter().filter(|name| !declared.contains_key(*name));
            found.extend(gone.map(|name| format!("{place}: the table names `{name}`, which is not a module")));
        }
    }
    assert!(found.is_empty(), "{found:#?}");
    assert!(tables > 90, "{tables}");
}

/// The first names of all paths of its own crate in a text, without its tests.
fn rooms(text: &str, words: &BTreeMap<String, Module>) -> BTreeSet<String> {
    let imported = imports(text, words).into_iter().filter_map(|path| path.into_iter().next());
    let code = code(text);
    let is_end = |c: char| !c.is_alphanumeric() && c != '_';
    let called = code.split("crate::").skip(1).filter_map(|rest| rest.split(is_end).next());
    let called = called.map(|name| words.get(name).map_or(name, |path| &path[0]).to_owned());
    imported.chain(called).collect()
}

#[test]
fn each_room_uses_only_rooms_on_the_lines_below() {
    let (mut ordered, mut found) = (0, Vec::new());
    for source in sources() {
        let text = fs::read_to_string(source.join("lib.rs")).unwrap();
        if !text.contains("//! Each room uses only rooms on the lines below its own") {
            continue;
        }
        ordered += 1;
        let (rows, words) = (rows(&text), words_of_the_root(&source));
        let line = |room: &str| rows.iter().position(|row| row.contains(&room));
        for (module, text) in modules(&source) {
            let Some((room, own)) = module.first().and_then(|room| Some((room, line(room)?))) else { continue };
            let above = rooms(&text, &words).into_iter().filter(|used| used != room && line(used).is_some_and(|of_used| of_used <= own));
            found.extend(above.map(|used| format!("{} uses `{used}`, which is not on a line below `{room}`", module.join("/"))));
        }
    }
    assert!(found.is_empty(), "{found:#?}");
    assert!(ordered > 0);
}

#[test]
fn every_file_is_a_module_of_its_folder() {
    let (mut count, mut lost) = (0, Vec::new());
    for source in sources() {
        let mut all = Vec::new();
        files(&source, &mut all);
        for file in &all {
            let mut names = module(&source, file);
            let Some(name) = names.pop().filter(|name| name != "main") else { continue };
            let folder = names.iter().fold(source.clone(), |folder, name| folder.join(name));
            let parents = [folder.join("mod.rs"), folder.join("lib.rs"), folder.with_extension("rs")];
            let texts = parents.iter().filter_map(|parent| fs::read_to_string(parent).ok());
            count += 1;
            if !names.iter().any(|name| name == "tests") && !texts.into_iter().any(|text| declared(&text).contains_key(name.as_str())) {
                lost.push(file.display().to_string());
            }
        }
    }
    assert!(lost.is_empty(), "no module of these files is declared: {lost:#?}");
    assert!(count > 500, "{count}");
}

/// The texts in quotes of a text, without its comments and its tests.
fn quoted(text: &str) -> Vec<String> {
    let code = code(text).replace("\\\"", "'");
    code.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

/// A program with one of its commands or flags.
fn names_a_command(text: &str) -> Option<usize> {
    let programs =
        ["ask-answer ", "ask-post ", "relaunch ", "checkpoint save", "checkpoint show", "askbox setup", "askbox doctor", "askbox hook"];
    let more = ["askbox keygen", "askbox web", "askbox mcp", "askbox tree", "askbox once", "`ask-post`", "`ask-answer`"];
    programs.iter().chain(&more).filter_map(|program| text.find(program)).min()
}

#[test]
fn no_sentence_of_the_librarys_errors_names_a_command() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/mailbox/src");
    let mut found = Vec::new();
    let mut all = Vec::new();
    files(&source, &mut all);
    // These are not errors: the doctor says them of macOS, and of a file in quarantine.
    let said_elsewhere = ["platform/weaker.rs", "transitions/quarantined_round.rs"];
    for file in all.iter().filter(|file| !said_elsewhere.iter().any(|name| file.ends_with(name))) {
        // A command of its own is beside the sentence: a program that embeds the library says the sentence alone.
        let texts = quoted(&fs::read_to_string(file).unwrap());
        found.extend(texts.into_iter().filter(|text| names_a_command(text).is_some_and(|at| at > 0)).map(|text| (file.clone(), text)));
    }
    assert_eq!(found, []);
}
