//! The layers: no two files and no two folders of a crate import each other, directly or by way of others. (Cargo sees to the crates.)

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

/// The modules of its own crate that a text names in `use`, without its tests.
fn imports(text: &str) -> Vec<Module> {
    let text = text.split("\n#[cfg(test)]\n").next().unwrap();
    let code: Vec<&str> = text.lines().map(|line| line.split("//").next().unwrap().trim()).collect();
    let code = code.join(" ");
    let uses = code.split("use crate::").skip(1).filter_map(|rest| rest.split_once(';')).map(|(tree, _)| tree.replace(' ', ""));
    uses.flat_map(|tree| paths(&tree)).map(|path| path.split("::").map(str::to_owned).collect()).collect()
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

#[test]
fn no_files_and_no_folders_import_each_other() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let crates = fs::read_dir(root.join("crates")).unwrap().map(|entry| entry.unwrap().path().join("src"));
    let mut found = Vec::new();
    for source in crates.chain([root.join("src")]).filter(|source| !source.starts_with(root.join("crates/testkit"))) {
        let mut all = Vec::new();
        files(&source, &mut all);
        let is_test = |module: &Module| module.iter().any(|name| name == "tests") || module.last().is_some_and(|name| name == "fuzzed");
        let modules: BTreeMap<Module, String> = all
            .iter()
            .map(|file| (module(&source, file), fs::read_to_string(file).unwrap()))
            .filter(|(module, _)| !is_test(module))
            .collect();
        let (mut of_files, mut of_folders) = (Imports::new(), Imports::new());
        for (module, text) in &modules {
            for path in imports(text) {
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
        assert!(modules.len() > 3, "{}", source.display());
        let name = source.strip_prefix(root).unwrap().display().to_string();
        found.extend(circles(&name, &of_files).into_iter().chain(circles(&name, &of_folders)));
    }
    assert!(found.is_empty(), "{found:#?}");
}
