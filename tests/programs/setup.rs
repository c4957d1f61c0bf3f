//! `askbox setup` shows what it will write, writes it once, and `--remove` takes all of it back.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::support::{Terminal, World, files, needs, until};

/// A home without anything of askbox, and a service manager that notes what it is told.
pub fn home() -> World {
    let mut world = World::with_home_apart();
    systemctl(&world, "true");
    let path = format!("{}:/usr/bin:/bin", world.path("bin").display());
    world.set_path(path);
    world
}

/// The work of the pretended `systemctl`, after it has noted its arguments. The service is on once it was enabled.
fn systemctl(world: &World, does: &str) {
    let body = format!(
        "#!/bin/sh\nN={0}\necho \"$*\" >> $N/systemctl.log\n{does} || exit 1\ncase \"$2\" in enable) touch $N/on; mkdir -p \"$HOME/.config/systemd/user/default.target.wants\"; ln -sf ../askbox.service \"$HOME/.config/systemd/user/default.target.wants/askbox.service\";; disable) rm -f $N/on \"$HOME/.config/systemd/user/default.target.wants/askbox.service\";; is-*) test -e $N/on;; esac\n",
        world.path("work").display()
    );
    crate::support::files::write_program(&world.path("bin/systemctl"), &body);
}

fn told(world: &World) -> String {
    fs::read_to_string(world.path("work/systemctl.log")).unwrap_or_default()
}

/// Every file and folder of the home: names, modes, contents.
pub fn tree(world: &World) -> (String, BTreeMap<PathBuf, Vec<u8>>) {
    let names = world.sh(&format!("cd '{}' && find . -printf '%p %m %y %l\\n' | sort", world.home().display()));
    let in_home = |(path, content): (PathBuf, Vec<u8>)| (path.strip_prefix(world.home()).map(PathBuf::from).unwrap_or(path), content);
    (names, files(world.home()).into_iter().map(in_home).collect())
}

const SETTINGS: &str = "{\n\t\"z\": [1, 2.50],\n\t\"model\": \"opus\",\n\t\"permissions\": { \"deny\": [\"Read(./.env)\"], \"allow\": [ \"Read\" ] },\n\t\"unknown\": null\n}\n";

/// A home of a person who has files of their own.
pub fn lived_in() -> World {
    let world = home();
    let put = |name: &str, text: &str| {
        let path = world.home().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("it");
        fs::write(path, text).expect("a file");
    };
    put(".claude/CLAUDE.md", "# Mine\nno newline at the end");
    put(".claude/settings.json", SETTINGS);
    std::fs::create_dir_all(world.home().join(".local/state")).expect("a folder");
    put(".config/askbox/config.toml", "[relaunch]\nattempts = 2\n");
    fs::set_permissions(world.home().join(".claude/settings.json"), fs::Permissions::from_mode(0o640)).expect("a mode");
    world
}

#[test]
fn a_second_setup_beside_one_at_work_changes_nothing() {
    let world = home();
    let before = tree(&world);
    let folder = fs::File::open(world.home()).expect("the home");
    folder.lock().expect("free");
    for command in ["setup --yes", "setup --remove --yes"] {
        let said = world.refused(4, &format!("askbox {command}"));
        assert!(said.contains("another `askbox setup` is at work") && said.contains("hint: wait"), "{said}");
    }
    assert!(world.ok("askbox", &["setup", "--dry-run"]).contains("config.toml: new"), "to look is no change");
    assert_eq!(tree(&world), before);
    drop(folder);
    let is_set_up = AtomicBool::new(false);
    // A child that another test is just starting may hold the lock of a moment ago.
    until("one of two sets it up", || {
        crate::support::in_parallel(2, &[(), ()], |()| match world.run("askbox", &["setup", "--yes"]).status.code() {
            Some(0) => is_set_up.store(true, Ordering::Relaxed),
            status => assert_eq!(status, Some(4)),
        });
        is_set_up.load(Ordering::Relaxed)
    });
    assert_eq!(world.ok("askbox", &["setup", "--yes"]), "Nothing is to do.\n");
    world.ok("askbox", &["setup", "--remove", "--yes"]);
    assert_eq!(tree(&world), before, "what one wrote was not there before for the other");
}

#[test]
fn only_our_part_of_a_file_changed_since_is_taken_out() {
    let world = lived_in();
    world.ok("askbox", &["setup", "--yes", "--only", "permissions,claude-md,config,plugin"]);
    let settings = world.home().join(".claude/settings.json");
    let changed = fs::read_to_string(&settings).expect("settings").replace("opus", "haiku").replace("\"Bash(checkpoint:*)\", ", "");
    fs::write(&settings, changed).expect("settings");
    let page = world.home().join(".claude/CLAUDE.md");
    fs::write(&page, format!("Above.\n{}\nBelow.\n", fs::read_to_string(&page).expect("a page"))).expect("a page");
    let hooks = world.home().join(".claude/skills/askbox/hooks/hooks.json");
    fs::write(&hooks, "{}").expect("a file");
    let said = world.ok("askbox", &["setup", "--remove", "--yes"]);
    assert_eq!(said.matches("was changed since; only what setup put in is taken out").count(), 2, "{said}");
    assert!(said.contains("hooks.json: was changed since, and stays"), "{said}");
    assert_eq!(fs::read_to_string(&settings).expect("settings"), SETTINGS.replace("opus", "haiku"));
    assert_eq!(fs::read_to_string(&page).expect("a page"), "Above.\n# Mine\nno newline at the end\nBelow.\n");
    assert_eq!(fs::read_to_string(&hooks).expect("a file"), "{}");
    assert!(!world.home().join(".claude/skills/askbox/commands").exists() && !world.home().join(".local/state/askbox").exists());
}

#[test]
fn unreadable_and_foreign_files_are_left_and_said() {
    let world = home();
    world.sh("mkdir -p $HOME/.claude/skills/askbox/hooks && echo '{ // mine' > $HOME/.claude/settings.json && echo mine > $HOME/.claude/skills/askbox/hooks/hooks.json");
    let before = tree(&world);
    let out = world.run("askbox", &["setup", "--yes", "--without", "service"]);
    assert_eq!(out.code(), 4, "{out:?}");
    assert!(
        out.stdout
            .contains("settings.json is not a JSON object, so no rule was added; mend it, and then: askbox setup\n  $ ${EDITOR:-vi} ")
            && out.stdout.contains("hooks.json exists with another content"),
        "{out:?}"
    );
    assert!(world.home().join(".config/askbox/config.toml").is_file());
    world.ok("askbox", &["setup", "--remove", "--yes"]);
    assert_eq!(tree(&world), before);
}

#[test]
fn a_look_or_a_setup_without_agreement_writes_nothing() {
    let world = lived_in();
    let before = tree(&world);
    assert!(world.ok("askbox", &["setup", "--dry-run", "--contents"]).contains("| KillMode=process"));
    let refused = world.run("askbox", &["setup"]);
    assert!(refused.code() == 2 && refused.stderr.contains("--yes") && refused.stdout.contains("config"), "{refused:?}");
    assert_eq!(tree(&world), before);
    assert!(!told(&world).contains("enable --now"), "{}", told(&world));
}

#[test]
fn a_person_at_a_terminal_is_asked_once_and_no_is_no() {
    needs!("tmux");
    let world = home();
    let before = tree(&world);
    let terminal = Terminal::new(&world);
    terminal.press(&["askbox setup", "Enter"]);
    terminal.see("Do you want that?");
    // Ctrl-C ends the program, and no other question comes.
    terminal.press(&["C-c"]);
    assert!(!terminal.see("Nothing was changed").contains("Do this?"));
    terminal.press(&["echo left=$?", "Enter"]);
    terminal.see("left=130");
    terminal.press(&["clear", "Enter"]);
    terminal.see_no_more("left=130");
    terminal.press(&["askbox setup", "Enter"]);
    terminal.see("Do you want that?");
    terminal.press(&["n", "Enter"]);
    terminal.see("Do this?");
    terminal.press(&["n", "Enter"]);
    terminal.see("Nothing was changed");
    assert_eq!(tree(&world), before);
    terminal.press(&["clear", "Enter"]);
    terminal.see_no_more("Do you want that?");
    terminal.press(&["askbox setup", "Enter"]);
    terminal.see("Do you want that?");
    terminal.press(&["y", "Enter"]);
    terminal.see("Do this?");
    terminal.press(&["y", "Enter"]);
    terminal.see("Done. To take all of it back");
    terminal.see("Try it now");
    terminal.press(&["C-c"]);
    terminal.press(&["echo left=$?", "Enter"]);
    assert!(!terminal.see("left=130").contains("Nothing was changed"));
    let config = fs::read_to_string(world.home().join(".config/askbox/config.toml")).expect("the file");
    assert!(config.lines().any(|line| line == "enabled = true"), "{config}");
    terminal.press(&["clear; askbox setup --remove", "Enter"]);
    terminal.see("Take all of this back?");
    terminal.press(&["y", "Enter"]);
    terminal.see("Done.");
    assert_eq!(tree(&world), before);
}

#[test]
fn a_credential_is_typed_shown_nowhere_and_taken_back() {
    let world = home();
    let before = tree(&world);
    let args = ["setup", "--yes", "--credential", "ANTHROPIC_API_KEY"];
    let out = world.run_with("askbox", &args, b"sk-$ec\"ret\n").ok();
    let file = world.home().join(".config/askbox/service.env");
    assert_eq!(fs::read_to_string(&file).expect("the file"), "ANTHROPIC_API_KEY=\"sk-\\$ec\\\"ret\"\n");
    assert_eq!(fs::metadata(&file).expect("it").permissions().mode() & 0o777, 0o600);
    let state = fs::read_to_string(world.home().join(".local/state/askbox/setup.json")).expect("the record");
    assert!(!out.words().contains("ret") && !state.contains("$ec") && !told(&world).contains("$ec"));
    assert!(world.run_with("askbox", &args, b"other\n").stdout.contains("has ANTHROPIC_API_KEY already"));
    world.run_with("askbox", &["setup", "--yes", "--credential", "HTTPS_PROXY"], b"http://p").ok();
    assert!(told(&world).contains("try-restart askbox.service"), "{}", told(&world));
    assert_eq!(world.run_with("askbox", &["setup", "--yes", "--credential", "A=sk-1"], b"").code(), 2);
    world.ok("askbox", &["setup", "--remove", "--yes"]);
    assert_eq!(tree(&world), before);
}

#[test]
fn without_a_service_manager_no_service_is_written() {
    let world = home();
    systemctl(&world, "false");
    let said = world.ok("askbox", &["setup", "--yes"]);
    assert!(said.contains("systemd does not manage this user's services here") && said.contains("relaunch watch"), "{said}");
    assert!(!world.home().join(".config/systemd").exists());
}

#[test]
fn a_service_that_does_not_start_is_told_and_started_later() {
    let world = home();
    let before = tree(&world);
    systemctl(&world, "test \"$2\" != enable");
    let out = world.run("askbox", &["setup", "--yes"]);
    assert!(out.code() == 1 && out.stderr.contains("enable --now askbox.service` failed"), "{out:?}");
    systemctl(&world, "true");
    assert!(world.ok("askbox", &["setup", "--yes"]).contains("enable --now"));
    assert_eq!(world.ok("askbox", &["setup", "--yes"]), "Nothing is to do.\n");
    world.ok("askbox", &["setup", "--remove", "--yes"]);
    assert_eq!(tree(&world), before);
}

#[test]
fn a_full_disk_or_a_read_only_file_is_told_and_nothing_is_torn() {
    let world = lived_in();
    let before = tree(&world);
    let full = world.shell("ulimit -f 4; exec askbox setup --yes");
    assert!(full.code() == 1 && full.stderr.starts_with("error: ") && full.stderr.contains("hint: "), "{full:?}");
    world.sh("chmod a-w $HOME/.claude/settings.json");
    let out = world.run("askbox", &["setup", "--yes"]);
    assert!(out.code() == 1 && out.stderr.contains("settings.json is read-only and was not changed"), "{out:?}");
    assert_eq!(fs::read_to_string(world.home().join(".claude/settings.json")).expect("settings"), SETTINGS);
    world.sh("chmod 640 $HOME/.claude/settings.json");
    world.ok("askbox", &["setup", "--yes"]);
    world.ok("askbox", &["setup", "--remove", "--yes"]);
    assert_eq!(tree(&world), before);
}

#[test]
fn a_link_to_a_settings_file_stays_a_link() {
    let world = home();
    world.sh("mkdir -p $HOME/.claude $HOME/dotfiles; echo '{}' > $HOME/dotfiles/settings.json; ln -s ../dotfiles/settings.json $HOME/.claude/settings.json");
    let before = tree(&world);
    world.ok("askbox", &["setup", "--yes"]);
    assert!(fs::read_to_string(world.home().join("dotfiles/settings.json")).expect("settings").contains("ask-post"));
    world.ok("askbox", &["setup", "--remove", "--yes"]);
    assert_eq!(tree(&world), before);
}

#[test]
fn no_empty_list_stays_behind_in_a_changed_file() {
    for (mine, edited) in [
        // A file of one line has several when it gets a key.
        ("{\"model\": \"opus\"}\n", "{\n  \"model\": \"haiku\"\n}\n"),
        (
            "{\n  \"permissions\": {\n    \"deny\": [\"Read\"]\n  },\n  \"model\": \"opus\"\n}\n",
            "{\n  \"permissions\": {\n    \"deny\": [\"Read\"]\n  },\n  \"model\": \"haiku\"\n}\n",
        ),
        // The empty list is the person's.
        ("{\"permissions\": {\"allow\": []}, \"model\": \"opus\"}", "{\"permissions\": {\"allow\": []}, \"model\": \"haiku\"}"),
    ] {
        let world = home();
        let settings = world.home().join(".claude/settings.json");
        fs::create_dir_all(world.home().join(".claude")).expect("a folder");
        fs::write(&settings, mine).expect("settings");
        world.ok("askbox", &["setup", "--yes", "--only", "permissions"]);
        let changed = fs::read_to_string(&settings).expect("settings").replace("opus", "haiku");
        fs::write(&settings, changed).expect("settings");
        world.ok("askbox", &["setup", "--remove", "--yes"]);
        assert_eq!(fs::read_to_string(&settings).expect("settings"), edited);
    }
    // A file that setup created, and that somebody's editor wrote in another form since.
    let world = home();
    let before = tree(&world);
    world.ok("askbox", &["setup", "--yes", "--only", "permissions"]);
    let settings = world.home().join(".claude/settings.json");
    fs::write(&settings, fs::read_to_string(&settings).expect("settings").replace("\n", "")).expect("settings");
    world.ok("askbox", &["setup", "--remove", "--yes"]);
    assert_eq!(tree(&world), before);
}

mod promises {
    use super::*;

    #[test]
    fn the_pages_words_remove_everything_from_a_used_home() {
        let world = home();
        let before = tree(&world);
        world.ok("askbox", &["setup", "--yes"]);
        world.sh("checkpoint save w --step one; ask-post -w w 'Which?' -o a=A; ask-answer w a; relaunch prompt w; askbox gc --keep 1d");
        let page = include_str!("../../docs/install.md");
        let commands =
            page.split("    askbox setup --remove\n").nth(1).and_then(|rest| rest.lines().next()).expect("the command behind it");
        world.sh(&format!("askbox setup --remove --yes && {}", commands.replace('~', &world.home().display().to_string())));
        world.sh("rmdir ~/.local/state ~/.local ~/.config ~/.claude 2>/dev/null || true");
        assert_eq!(tree(&world), before);
    }

    #[test]
    fn an_empty_home_is_set_up_and_removed_to_what_it_was() {
        let world = home();
        let before = tree(&world);
        let said = world.ok("askbox", &["setup", "--yes"]);
        for words in [
            "config.toml: new",
            "askbox.service: new",
            "skills/askbox/hooks/hooks.json: new",
            "settings.json: new",
            "Bash(ask-post:*)",
            "enable --now askbox.service",
        ] {
            assert!(said.contains(words), "{words} is not shown: {said}");
        }
        assert!(!said.contains("CLAUDE.md"), "the plugin says it: {said}");
        assert!(told(&world).contains("--user enable --now askbox.service\n"), "{}", told(&world));
        for file in [
            ".config/askbox/config.toml",
            ".config/systemd/user/askbox.service",
            ".claude/skills/askbox/.claude-plugin/plugin.json",
            ".claude/settings.json",
            ".local/state/askbox/setup.json",
        ] {
            assert!(world.home().join(file).is_file(), "{file}");
        }
        let after = tree(&world);
        assert_eq!(world.ok("askbox", &["setup", "--yes"]), "Nothing is to do.\n");
        assert_eq!(tree(&world), after);
        let said = world.ok("askbox", &["setup", "--remove", "--yes"]);
        assert!(said.contains("settings.json: is removed") && told(&world).contains("--user disable --now askbox.service\n"), "{said}");
        assert_eq!(tree(&world), before);
        assert!(world.ok("askbox", &["setup", "--remove", "--yes"]).contains("Nothing is to do"));
        assert_eq!(tree(&world), before);
    }

    #[test]
    fn a_persons_files_are_added_to_and_restored_to_the_byte() {
        let world = lived_in();
        let before = tree(&world);
        let said = world.ok("askbox", &["setup", "--yes", "--without", "plugin"]);
        assert!(said.contains("CLAUDE.md: adds the section") && !said.contains("config.toml"), "{said}");
        let settings = fs::read_to_string(world.home().join(".claude/settings.json")).expect("settings");
        assert!(settings.starts_with(SETTINGS.split("\"Read\" ]").next().expect("a beginning")), "{settings}");
        assert!(
            settings.contains("[ \"Read\", \"Bash(ask-post:*)\"") && settings.ends_with(" ] },\n\t\"unknown\": null\n}\n"),
            "{settings}"
        );
        assert!(!settings.contains("ask-answer:*"), "an agent must not answer: {settings}");
        let page = fs::read_to_string(world.home().join(".claude/CLAUDE.md")).expect("a page");
        assert!(page.starts_with("# Mine\nno newline at the end\n\n## Questions to the user (askbox)\n"), "{page}");
        assert_eq!(world.ok("askbox", &["setup", "--yes", "--without", "plugin"]), "Nothing is to do.\n");
        let said = world.ok("askbox", &["setup", "--remove", "--yes"]);
        assert_eq!(said.matches("becomes what it was before").count(), 2, "{said}");
        assert_eq!(tree(&world), before);
    }

    #[test]
    fn a_byte_order_mark_stays_in_a_persons_settings() {
        let world = lived_in();
        for (name, text) in [("settings.json", SETTINGS), ("CLAUDE.md", "# Mine\n")] {
            fs::write(world.home().join(".claude").join(name), format!("\u{feff}{text}")).expect("a file");
        }
        let before = tree(&world);
        let said = world.ok("askbox", &["setup", "--yes", "--only", "permissions,claude-md"]);
        assert!(!said.contains("Left as it is"), "{said}");
        let settings = fs::read_to_string(world.home().join(".claude/settings.json")).expect("settings");
        assert!(settings.starts_with("\u{feff}{") && settings.contains("Bash(ask-post:*)"), "{settings}");
        assert!(world.ok("askbox", &["setup", "--yes", "--only", "permissions,claude-md"]).contains("Nothing is to do"));
        fs::write(world.home().join(".claude/settings.json"), settings.replace("opus", "haiku")).expect("settings");
        world.ok("askbox", &["setup", "--remove", "--yes"]);
        let after = fs::read_to_string(world.home().join(".claude/settings.json")).expect("settings");
        assert_eq!(after, format!("\u{feff}{}", SETTINGS.replace("opus", "haiku")));
        fs::write(world.home().join(".claude/settings.json"), format!("\u{feff}{SETTINGS}")).expect("settings");
        assert_eq!(tree(&world), before);
    }
}
