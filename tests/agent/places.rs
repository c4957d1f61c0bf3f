//! The file tools stay in the folder: a path is decided about where the system finds it. No call changes what decides about calls.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::agent::scene::{SESSION, Scene};
use crate::support::{Dice, number, output};
use serde_json::{Value, json};

/// A home with a project in it. Around it are a key, a folder that the project links to, and a second link on the way to the home.
fn scene() -> Scene {
    let scene = Scene::new();
    for folder in ["home/ann/.ssh", "srv", "var", "run", "project/src"] {
        std::fs::create_dir_all(scene.path(folder)).unwrap();
    }
    std::fs::write(scene.path("home/ann/.ssh/id_rsa"), "the key").unwrap();
    symlink(scene.path("srv"), scene.path("project/data")).unwrap();
    symlink(scene.path("run"), scene.path("var/run")).unwrap();
    scene
}

fn file(tool: &str, path: impl AsRef<Path>) -> Value {
    json!({"tool": tool, "input": {"file_path": path.as_ref(), "content": "mine", "old_string": "the", "new_string": "mine", "pattern": "*"}})
}

fn glob(pattern: &str) -> Value {
    json!({"tool": "Glob", "input": {"pattern": pattern}})
}

/// The agent in the project, with the task to make these calls.
fn agent(scene: &Scene, args: &[&str], calls: &[Value]) -> Command {
    let mut steps = calls.to_vec();
    steps.push(json!({"text": "done"}));
    let mut command = scene.careful_agent(args);
    command.args(["--output-format", "stream-json", "--session-id", SESSION]).arg(format!("x @@{}", json!(steps)));
    command.current_dir(scene.path("project"));
    command
}

/// The results of these calls, in a mode where nobody is asked.
#[track_caller]
fn results(scene: &Scene, args: &[&str], calls: &[Value]) -> Vec<String> {
    let args = [&["--permission-mode", "dontAsk"], args].concat();
    output(&mut agent(scene, &args, calls)).ok();
    scene.turns().last().unwrap().tool_results()
}

fn is_refused(text: &str) -> bool {
    text.starts_with("Permission to use")
}

#[test]
fn an_operators_rules_hold_however_a_path_is_spelled() {
    let scene = scene();
    std::fs::write(scene.path("project/src/key"), "the key").unwrap();
    std::fs::write(scene.path("srv/key"), "the key").unwrap();
    symlink("src", scene.path("project/secret")).unwrap();
    symlink("src/key", scene.path("project/.env")).unwrap();
    let by_link = format!("Read(/{}/run/**)", scene.path("var").display());
    scene.settings(&json!({"permissions": {"deny": ["Read(secret/**)", "Read(.env)", by_link], "allow": ["Read"]}}));
    std::fs::write(scene.path("run/key"), "the key").unwrap();
    let calls = [
        file("Read", "secret/key"),
        file("Read", "src/key"),
        file("Read", ".env"),
        file("Read", scene.path("run/key")),
        glob("secret/*"),
        file("Read", "data/key"),
    ];
    let told = results(&scene, &[], &calls);
    let refused: Vec<bool> = told.iter().map(|text| is_refused(text)).collect();
    assert_eq!(refused, [true, true, true, true, true, false], "{told:#?}");
}

#[test]
fn a_rule_that_allows_follows_no_link_of_the_project() {
    let scene = scene();
    let told = results(&scene, &["--allowedTools=Edit(data/**)"], &[file("Write", "data/new")]);
    assert!(is_refused(&told[0]) && !scene.path("srv/new").exists(), "{told:?}");
}

#[test]
fn a_person_is_asked_about_the_place_and_not_its_spelling() {
    let scene = scene();
    let calls = [file("Write", "data/../home/ann/.bashrc")];
    output(&mut agent(&scene, &["--permission-mode", "acceptEdits"], &calls)).ok();
    let shown = scene.ok("ask-answer", &["show", SESSION]);
    let place = scene.path("home/ann/.bashrc");
    assert!(shown.contains(&format!("file_path: {}", place.display())), "{shown}");
    // The link leads somewhere else by the time of the answer: that was not allowed.
    let line = shown.lines().map(str::trim).find(|line| line.starts_with(&format!("ask-answer {SESSION} once "))).unwrap();
    scene.sh(line);
    std::fs::create_dir_all(scene.path("else/where")).unwrap();
    std::fs::create_dir_all(scene.path("else/home/ann")).unwrap();
    std::fs::remove_file(scene.path("project/data")).unwrap();
    symlink(scene.path("else/where"), scene.path("project/data")).unwrap();
    let args = ["--permission-mode", "acceptEdits", "--output-format", "stream-json", "--resume", SESSION];
    output(scene.careful_agent(&args).current_dir(scene.path("project"))).ok();
    assert!(!scene.path("else/home/ann/.bashrc").exists() && !place.exists());
}

/// Everything that decides about later calls, or that runs by itself, with the project's folder as the working folder.
const PROTECTED: [&str; 12] = [
    ".claude/settings.local.json",
    ".claude/settings.json",
    ".claude/agents/lead.md",
    ".CLAUDE/settings.json",
    ".git/hooks/pre-commit",
    "src/.git/config",
    ".bashrc",
    "src/../.zshenv",
    ".mcp.json",
    ".vscode/tasks.json",
    "dotfiles/claude/settings.json",
    "settings-of-this-run.json",
];

#[test]
fn no_mode_and_no_rule_lets_a_protected_path_through() {
    let scene = scene();
    // A project whose `.claude` is a link into its own files.
    std::fs::create_dir_all(scene.path("project/dotfiles/claude")).unwrap();
    symlink("dotfiles/claude", scene.path("project/.claude")).unwrap();
    std::fs::write(scene.path("project/settings-of-this-run.json"), "{}").unwrap();
    let settings = ["--settings", "settings-of-this-run.json"];
    let mut calls = PROTECTED.map(|path| file("Write", path)).to_vec();
    calls.extend(["m/pending/x.json", ".config/askbox/config.toml", ".claude/settings.json"].map(|path| file("Write", scene.path(path))));
    calls.push(file("Edit", "settings-of-this-run.json"));
    let told =
        results(&scene, &[&["--allowedTools=Edit", "--allowedTools=Edit(**)", "--allowedTools=Write"], &settings[..]].concat(), &calls);
    assert!(told.iter().all(|text| is_refused(text)) && told.len() == calls.len(), "{told:#?}");
    assert!(told[0].contains("protected"), "{told:#?}");
    // This mode checks nothing, as in Claude Code.
    let scene = self::scene();
    output(&mut agent(&scene, &["--permission-mode", "bypassPermissions"], &[file("Write", ".claude/settings.local.json")])).ok();
    assert!(scene.path("project/.claude/settings.local.json").exists());
}

/// Folders of a tree that grew at random, in a project and around it, with files and links. Each file holds its own path.
struct Tree {
    root: PathBuf,
    folders: Vec<PathBuf>,
}

impl Tree {
    fn grow(root: &Path, dice: &mut Dice) -> Self {
        let mut tree = Self { root: root.to_owned(), folders: vec![root.join("project"), root.join("around")] };
        tree.folders.iter().for_each(|folder| std::fs::create_dir(folder).unwrap());
        for n in 0..30 {
            let folder = dice.one(&tree.folders).clone();
            let path = folder.join(format!("{}{n}", dice.one(&["a", "b", "c"])));
            match dice.roll(4) {
                0 => {
                    std::fs::create_dir(&path).unwrap();
                    tree.folders.push(path);
                }
                1 => std::fs::write(&path, path.to_str().unwrap()).unwrap(),
                _ => symlink(tree.path(&folder, dice), &path).unwrap(),
            }
        }
        tree
    }

    /// A path from this folder or from the root of the system. Its parts are names of the tree, links among them, `..`, and names that
    /// do not exist.
    fn path(&self, from: &Path, dice: &mut Dice) -> PathBuf {
        let mut path = if dice.roll(4) == 0 { dice.one(&self.folders).clone() } else { PathBuf::new() };
        for _ in 0..=dice.roll(6) {
            let here = from.join(&path).canonicalize().ok().filter(|here| here.starts_with(&self.root));
            let mut names: Vec<_> =
                here.and_then(|here| here.read_dir().ok()).into_iter().flatten().map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            match dice.roll(10) {
                0 | 1 => path.push(".."),
                2 => path.push("."),
                3 => path.push(format!("new{}", dice.roll(3))),
                _ if names.is_empty() => {}
                _ => path.push(dice.one(&names)),
            }
        }
        if path.as_os_str().is_empty() { PathBuf::from("..") } else { path }
    }
}

/// Where the system finds a path from this folder: it opens the path, and says where that is.
fn of_the_system(folder: &Path, path: &Path) -> Option<PathBuf> {
    use std::os::fd::AsRawFd;
    let opened = rustix::fs::open(folder.join(path), rustix::fs::OFlags::PATH, rustix::fs::Mode::empty()).ok()?;
    Some(std::fs::read_link(format!("/proc/self/fd/{}", opened.as_raw_fd())).unwrap())
}

/// Everything below a folder: the kind, and the content or the target.
fn contents(folder: &Path) -> Vec<String> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let about = path.symlink_metadata().unwrap();
        if about.is_dir() {
            all.push(format!("{}/", path.display()));
            all.extend(contents(&path));
        } else if about.is_symlink() {
            all.push(format!("{} -> {}", path.display(), path.read_link().unwrap().display()));
        } else {
            all.push(format!("{} = {}", path.display(), std::fs::read_to_string(&path).unwrap()));
        }
    }
    all.sort();
    all
}

/// Reads and writes paths of one tree. Returns how many were read, written and refused.
fn try_tree(seed: u64) -> [usize; 3] {
    const PATHS: usize = 50;
    let mut dice = Dice::new(seed);
    let scene = Scene::new();
    let tree = Tree::grow(scene.root(), &mut dice);
    let project = scene.path("project");
    let paths: Vec<PathBuf> = (0..PATHS).map(|_| tree.path(&project, &mut dice)).collect();
    let found: Vec<_> = paths.iter().map(|path| of_the_system(&project, path)).collect();
    let around = contents(&scene.path("around"));
    let calls: Vec<Value> = ["Read", "Write"].into_iter().flat_map(|tool| paths.iter().map(move |path| file(tool, path))).collect();
    let told = results(&scene, &["--allowedTools=Edit(**)"], &[json!({ "tools": calls })]);
    let mut counts = [0; 3];
    for (n, text) in told.iter().enumerate() {
        let (path, found) = (&paths[n % PATHS], &found[n % PATHS]);
        let is_here = found.as_ref().is_some_and(|found| found.starts_with(&project));
        let about = || format!("tree {seed}, {}: {text}\nthe system: {found:?}", path.display());
        let (read, written) = (text.strip_prefix("     1\t"), text.rsplit_once(" successfully at: ").map(|(_, at)| Path::new(at)));
        match (read, written, found) {
            (Some(content), _, _) => assert_eq!((Some(Path::new(content.trim())), is_here), (found.as_deref(), true), "{}", about()),
            (_, Some(at), Some(found)) => assert!(at == found && is_here, "{}", about()),
            (_, Some(at), None) => assert!(at.starts_with(&project) && at.symlink_metadata().unwrap().is_file(), "{}", about()),
            (None, None, Some(found)) => assert!(found.is_dir() || is_refused(text) && !is_here, "{}", about()),
            (None, None, None) => {}
        }
        counts[if read.is_some() {
            0
        } else if written.is_some() {
            1
        } else {
            2
        }] += 1;
    }
    assert_eq!((told.len(), contents(&scene.path("around"))), (2 * PATHS, around), "tree {seed}");
    counts
}

mod promises {
    use super::*;

    #[test]
    fn an_agent_does_not_grant_itself_a_permission() {
        let scene = scene();
        let grants = json!({"permissions": {"allow": ["Bash"]}}).to_string();
        let call = json!({"tool": "Write", "input": {"file_path": ".claude/settings.local.json", "content": grants}});
        let result = output(&mut agent(&scene, &["--permission-mode", "acceptEdits"], &[call])).ok().result();
        assert_eq!(result["terminal_reason"], "tool_deferred", "{result:#}");
        assert!(!scene.path("project/.claude").exists() && scene.ok("ask-answer", &["show", SESSION]).contains("settings.local.json"));
    }

    #[test]
    fn a_link_is_followed_before_dot_dot_goes_up() {
        let scene = scene();
        let calls = [
            file("Read", "data/../home/ann/.ssh/id_rsa"),
            file("Write", "data/../home/ann/.bashrc"),
            file("Edit", "data/../home/ann/.ssh/id_rsa"),
            file("Read", "data/../project/src/a"),
        ];
        let told = results(&scene, &["--allowedTools=Edit(**)"], &calls);
        assert!(told[..3].iter().all(|text| is_refused(text)) && told[3].contains("No such file"), "{told:#?}");
        assert!(!scene.path("home/ann/.bashrc").exists());
        let scene = self::scene();
        scene.settings(&json!({"permissions": {"deny": [format!("Read(/{}/**)", scene.path("home").display())], "allow": ["Read"]}}));
        let told = results(&scene, &[], &[file("Read", scene.path("var/run/../home/ann/.ssh/id_rsa"))]);
        assert!(is_refused(&told[0]), "{told:?}");
    }

    #[test]
    fn a_link_to_nothing_creates_no_file_outside_the_folder() {
        let scene = scene();
        symlink(scene.path("home/ann/.bashrc"), scene.path("project/new")).unwrap();
        let told =
            results(&scene, &["--allowedTools=Edit(**)"], &[file("Write", "new"), file("Write", "new/a"), file("Write", "src/b/new")]);
        assert!(told[2].starts_with("File created") && !told[..2].iter().any(|text| text.starts_with("File")), "{told:?}");
        assert!(!scene.path("home/ann/.bashrc").exists() && scene.path("project/new").is_symlink());
    }

    #[test]
    fn a_search_stays_in_the_folder_it_was_decided_about() {
        let scene = scene();
        let keys = format!("{}/*", scene.path("home/ann/.ssh").display());
        let inside = scene.path("project/src/a.rs");
        std::fs::write(&inside, "").unwrap();
        std::fs::write(scene.path("srv/b.rs"), "").unwrap();
        let calls = [
            glob(&keys),
            glob("../home/ann/.ssh/*"),
            glob("*/../../home/ann/.ssh/*"),
            glob(".?/home/ann/.ssh/*"),
            glob("**/*.rs"),
            glob("*/*.rs"),
        ];
        let told = results(&scene, &[], &calls);
        assert!(told[..2].iter().all(|text| is_refused(text)), "{told:#?}");
        assert_eq!(told[2..4], ["No files found"; 2]);
        assert_eq!(told[4..], [inside.to_str().unwrap(); 2]);
        let scene = self::scene();
        let keys = format!("{}/*", scene.path("home/ann/.ssh").display());
        std::fs::write(scene.path("project/src/a.rs"), "").unwrap();
        let deny = [format!("Read(/{}/**)", scene.path("home").display()), "Read(src/**)".into()];
        scene.settings(&json!({"permissions": {"deny": deny, "allow": ["Read"]}}));
        let told = results(&scene, &[], &[glob(&keys), glob("../*/*/.ssh/*"), glob("**/*.rs")]);
        assert!(is_refused(&told[0]), "{told:#?}");
        assert_eq!(told[1..], ["No files found"; 2]);
    }

    /// `ASKBOX_TREES` is the number of trees. Each has 50 paths, which are read and then written.
    #[test]
    fn an_opened_file_lies_where_the_decision_says() {
        let mut counts = [0; 3];
        for seed in 0..number("ASKBOX_TREES", 4) {
            let these = try_tree(seed as u64);
            (0..3).for_each(|n| counts[n] += these[n]);
        }
        assert!(counts.iter().all(|count| *count > 10), "each outcome is tried: {counts:?}");
    }
}
