//! `askbox setup`, the keys of `[live]`, and the plugin for opencode.

use std::fs;

use crate::programs::setup::{home, lived_in, tree};
use crate::support::{Terminal, World, needs};

fn config(world: &World) -> String {
    fs::read_to_string(world.home().join(".config/askbox/config.toml")).unwrap_or_default()
}

fn has(world: &World, line: &str) -> bool {
    config(world).lines().any(|found| found == line)
}

#[test]
fn setup_adds_both_keys_of_live_to_a_file_that_is_there() {
    for (text, code, lines) in [
        ("[live] # mine\ngrace = \"1m\"\n[limits]\n", 0, &["enabled = true", "codex = true"][..]),
        ("[live]\nenabled = true\n", 0, &["codex = true"]),
        ("[live]\nenabled = false\n", 4, &["codex = true"]),
        ("[live]\ncodex = false\n", 4, &["enabled = true"]),
        // No line can be added to a section in this form.
        ("live.grace = \"1m\"\n", 4, &[]),
    ] {
        let world = lived_in();
        fs::write(world.home().join(".config/askbox/config.toml"), text).expect("a file");
        let before = tree(&world);
        let said = world.run("askbox", &["setup", "--yes", "--only", "live", "--live", "--codex"]);
        assert_eq!(said.code(), code, "{text}: {}", said.words());
        let added: Vec<_> = config(&world).lines().filter(|line| !text.contains(line)).map(str::to_owned).collect();
        assert_eq!(added, lines, "{text}");
        world.ok("askbox", &["setup", "--remove", "--yes"]);
        assert_eq!(tree(&world), before, "{text}");
    }
}

#[test]
fn a_person_is_asked_about_codex_only_where_it_is_used() {
    needs!("tmux");
    let world = home();
    fs::create_dir_all(world.home().join(".codex")).expect("a folder");
    let terminal = Terminal::new(&world);
    let asked_after_claude = |sees: &str| {
        terminal.press(&["clear", "Enter"]);
        terminal.see_no_more("Do you want that?");
        terminal.press(&["askbox setup", "Enter"]);
        terminal.see("Do you want that?");
        terminal.press(&["n", "Enter"]);
        terminal.see(sees);
    };
    asked_after_claude("Do this?");
    terminal.press(&["n", "Enter"]);
    terminal.see("Nothing was changed");
    fs::create_dir_all(world.home().join(".codex/app-server-control")).expect("a folder");
    asked_after_claude("Do you want that for Codex?");
    terminal.press(&["y", "Enter"]);
    terminal.see("Do this?");
    terminal.press(&["y", "Enter"]);
    terminal.see("Done. To take all of it back");
    assert!(has(&world, "codex = true") && !has(&world, "enabled = true"), "{}", config(&world));
}

#[test]
fn setup_writes_the_plugin_of_opencode_and_takes_it_back() {
    let world = home();
    let before = tree(&world);
    let plugin = world.home().join(".config/opencode/plugin/askbox.js");
    world.ok("askbox", &["setup", "--yes", "--live"]);
    assert!(!plugin.exists() && !has(&world, "opencode = true"), "nobody has agreed");
    let shown = world.ok("askbox", &["setup", "--dry-run", "--only", "live", "--opencode", "--contents"]);
    assert!(shown.contains("sets live.opencode") && shown.contains("| export const Askbox"), "{shown}");
    assert!(shown.contains("Without a network") && !plugin.exists(), "{shown}");
    for _ in 0..2 {
        world.ok("askbox", &["setup", "--yes", "--only", "live", "--opencode"]);
        assert!(has(&world, "opencode = true") && fs::read_to_string(&plugin).unwrap().contains("permission.asked"));
    }
    assert_eq!(world.ok("askbox", &["setup", "--yes", "--only", "live", "--opencode"]), "Nothing is to do.\n");
    world.ok("askbox", &["setup", "--remove", "--yes"]);
    assert_eq!(tree(&world), before);
    // A file of the person stays.
    fs::create_dir_all(plugin.parent().unwrap()).expect("a folder");
    fs::write(&plugin, "// mine\n").expect("a file");
    let said = world.run("askbox", &["setup", "--yes", "--only", "live", "--opencode"]);
    assert!(said.code() == 4 && said.stdout.contains("exists with another content"), "{}", said.words());
    assert_eq!(fs::read_to_string(&plugin).unwrap(), "// mine\n");
}

#[test]
fn setup_writes_the_extension_of_copilot_only_if_asked_to() {
    let world = home();
    fs::create_dir_all(world.home().join(".copilot")).expect("a folder");
    let before = tree(&world);
    let extension = world.home().join(".copilot/extensions/askbox/extension.mjs");
    world.ok("askbox", &["setup", "--yes", "--live", "--opencode"]);
    assert!(!extension.exists() && !config(&world).contains("\nexperimental_copilot"), "nobody has agreed");
    world.ok("askbox", &["setup", "--remove", "--yes"]);
    let shown = world.ok("askbox", &["setup", "--dry-run", "--only", "live", "--copilot", "--contents"]);
    assert!(shown.contains("sets live.experimental_copilot") && shown.contains("copilot --experimental") && !extension.exists(), "{shown}");
    world.ok("askbox", &["setup", "--yes", "--only", "live", "--copilot"]);
    assert!(has(&world, "experimental_copilot = true") && fs::read_to_string(&extension).unwrap().contains("joinSession"));
    assert_eq!(world.ok("askbox", &["setup", "--yes", "--only", "live", "--copilot"]), "Nothing is to do.\n");
    world.ok("askbox", &["setup", "--remove", "--yes", "--only", "live"]);
    assert_eq!(tree(&world), before);
}

#[test]
fn the_head_of_live_stays_with_the_keys_that_a_person_added() {
    let world = home();
    world.ok("askbox", &["setup", "--yes", "--only", "live", "--copilot"]);
    let path = world.home().join(".config/askbox/config.toml");
    let text = format!("[target.desk]\nexec = [\"/bin/true\"]\n\n{}news = [\"kimi\"]\n", fs::read_to_string(&path).unwrap().trim_start());
    fs::write(&path, text).unwrap();
    world.ok("askbox", &["setup", "--remove", "--yes", "--only", "live"]);
    let rest = fs::read_to_string(&path).unwrap();
    assert!(rest.contains("\n[live]\nnews = [\"kimi\"]\n") && !rest.contains("experimental_copilot"), "{rest}");
    assert!(!world.run("askbox", &["doctor"]).words().contains("unknown key"));
}

#[test]
fn setup_names_the_keys_of_live_that_stay_in_a_file_of_its_own() {
    let world = home();
    let said = |args: &[&str]| world.run("askbox", args).ok().words();
    said(&["setup", "--yes", "--only", "config", "--only", "live", "--codex"]);
    let words = said(&["setup", "--remove", "--yes", "--only", "live"]);
    assert_eq!(has(&world, "codex = true"), words.contains("still sets live.codex; write false to switch it off"), "{words}");
}

mod promises {
    use super::*;

    #[test]
    fn setup_switches_on_the_dialogs_of_sessions_only_if_asked_to() {
        let is_on = |world: &World| {
            let text = fs::read_to_string(world.home().join(".config/askbox/config.toml")).expect("the file");
            text.lines().any(|line| line == "enabled = true")
        };
        let world = home();
        let before = tree(&world);
        world.ok("askbox", &["setup", "--yes"]);
        assert!(!is_on(&world), "nobody has agreed");
        for _ in 0..2 {
            world.ok("askbox", &["setup", "--yes", "--live"]);
            assert!(is_on(&world));
        }
        assert_eq!(world.ok("askbox", &["setup", "--yes", "--live"]), "Nothing is to do.\n");
        world.ok("askbox", &["setup", "--remove", "--yes"]);
        assert_eq!(tree(&world), before);
        for text in ["[relaunch]\nattempts = 2", "[live] # mine\ngrace = \"1m\"\n[limits]\n", "[live]\nenabled = false\n"] {
            let world = lived_in();
            let path = world.home().join(".config/askbox/config.toml");
            fs::write(&path, text).expect("a file");
            let before = tree(&world);
            let said = world.run("askbox", &["setup", "--yes", "--only", "live"]);
            match text.contains("false") {
                true => assert!(said.code() == 4 && said.stdout.contains("write true yourself"), "{}", said.words()),
                false => assert!(is_on(&world), "{}", said.words()),
            }
            world.ok("askbox", &["setup", "--remove", "--yes"]);
            assert_eq!(tree(&world), before, "{text}");
        }
    }

    #[test]
    fn setup_switches_on_the_dialogs_of_codex_only_if_asked_to() {
        let world = home();
        let before = tree(&world);
        world.ok("askbox", &["setup", "--yes", "--live"]);
        assert!(has(&world, "enabled = true") && !has(&world, "codex = true"), "nobody has agreed");
        let shown = world.ok("askbox", &["setup", "--dry-run", "--codex", "--only", "live", "--contents"]);
        assert!(shown.contains("sets live.codex\n      | codex = true\n") && !has(&world, "codex = true"), "{shown}");
        for _ in 0..2 {
            world.ok("askbox", &["setup", "--yes", "--codex"]);
            assert!(has(&world, "enabled = true") && has(&world, "codex = true"));
        }
        assert_eq!(world.ok("askbox", &["setup", "--yes", "--codex", "--live"]), "Nothing is to do.\n");
        world.ok("askbox", &["setup", "--remove", "--yes"]);
        assert_eq!(tree(&world), before);
        // The one key without the other, and both in a new file.
        world.ok("askbox", &["setup", "--yes", "--only", "live", "--codex"]);
        assert_eq!(config(&world), "[live]\ncodex = true\n");
        world.ok("askbox", &["setup", "--remove", "--yes"]);
        world.ok("askbox", &["setup", "--yes", "--live", "--codex"]);
        assert!(has(&world, "enabled = true") && has(&world, "codex = true"));
    }
}
