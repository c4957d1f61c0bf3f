//! `askbox init` writes configuration, completions and man pages that the programs, shells and readers accept.

use std::path::Path;

use askbox::config;

use crate::support::{World, needs, output};

const PROGRAMS: [&str; 5] = ["ask-post", "ask-answer", "checkpoint", "relaunch", "askbox"];

#[test]
fn the_configuration_goes_where_the_environment_says() {
    let world = World::new();
    world.sh("XDG_CONFIG_HOME=$PWD/x askbox init && ASKBOX_CONFIG=$PWD/deep/er/own.toml askbox init");
    assert!(world.path("x/askbox/config.toml").is_file() && world.path("deep/er/own.toml").is_file());
    // The programs read the file that the variable names.
    world.sh("printf '[relaunch]\\nattempts = 0\\n' > bad.toml");
    assert_eq!(world.shell("ASKBOX_CONFIG=$PWD/bad.toml timeout 60 relaunch watch").code(), 5);
    // An empty variable counts as unset.
    world.sh("ask-post -w w 'Go?' && ASKBOX_CONFIG= relaunch status --summary");
}

/// The words that bash offers for a line. The last word of the line is being typed.
fn bash_offers(world: &World, line: &str) -> Vec<String> {
    let script = format!(
        "eval \"$(askbox init --completions bash)\"; COMP_WORDS=({line}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); COMP_LINE='{line}'; COMP_POINT=${{#COMP_LINE}}
         _askbox_from_mailbox ${{COMP_WORDS[0]}} \"${{COMP_WORDS[-1]}}\" \"${{COMP_WORDS[-2]}}\"; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    );
    std::fs::write(world.path("complete.bash"), script).expect("a script");
    world.sh("bash complete.bash").lines().map(str::to_owned).collect()
}

#[test]
fn completions_offer_waiting_ids_and_the_keys_of_their_options() {
    needs!("bash");
    let world = World::new();
    world.sh("ask-post -w docs-42 'Merge?' -o merge='Into one' -o 'keep both'='As it is' && ask-post -w other 'Go?' --type yes_no");
    assert_eq!(world.sh("askbox complete -- ask-answer ''"), "docs-42\tMerge?\nother\tGo?");
    assert_eq!(world.sh("askbox complete -- /usr/bin/ask-answer show o"), "other\tGo?");
    assert_eq!(world.sh("askbox complete -- ask-answer docs-42 ''"), "merge\tInto one\nkeep both\tAs it is");
    assert_eq!(world.sh("askbox complete -- ask-answer --by ann"), "", "a name is being typed");
    assert!(bash_offers(&world, "ask-answer doc").contains(&"docs-42".into()));
    assert!(bash_offers(&world, "ask-answer docs-42 k").contains(&"keep\\ both".into()));
    let behind = bash_offers(&world, "ask-answer docs-42 ''");
    assert!(behind.contains(&"merge".into()) && behind.contains(&"--note".into()), "{behind:?}");
    assert!(!behind.iter().any(|word| ["decline", "list", "undo"].contains(&word.as_str())), "{behind:?}");
    assert!(bash_offers(&world, "ask-answer --by ann dec").contains(&"decline".into()));
    let all = bash_offers(&world, "ask-answer ''");
    assert!(all.contains(&"other".into()) && all.contains(&"list".into()), "{all:?}");
    // The value of a flag is no word of the command.
    assert_eq!(world.sh("askbox complete -- ask-answer --by ann o"), "other\tGo?");
    assert_eq!(world.sh("askbox complete -- ask-answer docs-42 --note why m"), "merge\tInto one");
    for line in ["askbox doctor", "askbox tree", "askbox history", "askbox inbox", "relaunch status"] {
        assert_eq!(world.sh(&format!("askbox complete -- {line} o")), "other\tGo?", "{line}");
    }
    world.sh("checkpoint save docs-42 --step one");
    for line in ["checkpoint get", "checkpoint save", "ask-post How? -w", "ask-post --workflow"] {
        assert_eq!(world.sh(&format!("askbox complete -- {line} d")), "docs-42\tcheckpoint", "{line}");
    }
    assert!(bash_offers(&world, "checkpoint get doc").contains(&"docs-42".into()));
    for hidden in ["supervise", "complete", "schema"] {
        for line in ["relaunch ''", "askbox ''"] {
            assert!(!bash_offers(&world, line).contains(&hidden.to_owned()), "{line}: {hidden}");
        }
    }
    world.sh("ask-answer other yes");
    assert_eq!(world.sh("askbox complete -- ask-answer undo ''"), "other\tanswered");
    assert_eq!(world.sh("askbox complete -- relaunch ''"), "other\tanswered");
    // After any error, completion offers nothing and says nothing.
    for line in ["", "ask-answer", "ask-answer nowhere ''", "ask-answer docs-42 merge ''", "vi ''"] {
        assert_eq!(world.sh(&format!("askbox complete -- {line} 2>&1")), "", "{line}");
    }
    assert_eq!(world.sh("ASKBOX_DIR=/no/such/mailbox askbox complete -- ask-answer '' 2>&1"), "");
}

#[test]
fn the_section_for_a_claude_md_explains_spawn_ask_and_terminate() {
    let world = World::new();
    let section = world.sh("askbox init --claude-md");
    for (word, command) in [
        ("_spawn_", "relaunch spawn {f}.md"),
        ("_ask_", "ask-post"),
        ("_terminate_", "Stop immediately"),
        ("_follow_", "in this order"),
        ("_if_", "only if"),
        ("_remember_", "checkpoint set"),
    ] {
        let line = section.lines().find(|l| l.starts_with(&format!("| {word}"))).unwrap_or_else(|| panic!("{word} in {section}"));
        assert!(line.contains(command), "{line}");
    }
    assert!(section.lines().any(|l| l.starts_with("- `SGN_UNHANDLED` as your last line")), "{section}");
    assert!(!world.path(".config/askbox/config.toml").exists());
}

#[test]
fn the_section_for_a_claude_md_has_a_part_for_each_role() {
    let section = World::without_mailbox().sh("askbox init --claude-md");
    let parts: Vec<&str> = section.lines().filter_map(|line| line.strip_prefix("### ")).collect();
    assert_eq!(parts.len(), 3, "{parts:#?}");
    for (part, word) in parts.iter().zip(["cannot ask the user yourself", "talk to the user", "chains of agents"]) {
        assert!(part.contains(word), "{part}");
    }
    let promises: Vec<&str> = section.split(". ").filter(|sentence| sentence.contains("you are resumed")).collect();
    assert!(promises.len() == 2 && promises.iter().all(|s| s.contains("If askbox started your run")), "{promises:#?}");
}

#[test]
fn the_table_of_keys_in_the_operators_guide_is_current() {
    let row = |key: &config::Key| {
        let meaning = key.meaning().replace('|', "\\|");
        format!("| `{}` | `{}` | {meaning} |\n", key.path.replace('*', "NAME"), config::default_of(key))
    };
    let table = format!("| key | default | meaning |\n|---|---|---|\n{}", config::keys().map(row).collect::<String>());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/configuration.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (head, rest) = page.split_once("<!-- keys -->\n").unwrap();
    let (written, tail) = rest.split_once("<!-- end -->").unwrap();
    if std::env::var_os("ASKBOX_WRITE_DOCS").is_some() {
        std::fs::write(&path, format!("{head}<!-- keys -->\n{table}<!-- end -->{tail}")).unwrap();
    } else {
        assert_eq!(written, table, "docs/configuration.md is stale; ASKBOX_WRITE_DOCS=1 rewrites the table");
    }
}

mod promises {
    use super::*;

    #[test]
    fn the_configuration_lands_in_its_place_and_is_not_overwritten() {
        let world = World::new();
        let path = world.sh("askbox init");
        assert_eq!(path, world.path(".config/askbox/config.toml").to_str().unwrap());
        let written = std::fs::read_to_string(&path).unwrap();
        assert_eq!(written, config::template());
        assert_eq!(written, world.sh("askbox init --print") + "\n");
        std::fs::write(&path, "[relaunch]\nattempts = 2\n").unwrap();
        let again = world.shell("askbox init");
        assert_eq!(again.code(), 4, "{}", again.stderr);
        assert!(again.stderr.contains("was not changed") && again.stderr.contains("askbox init --force"), "{}", again.stderr);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "[relaunch]\nattempts = 2\n");
    }

    #[test]
    fn force_keeps_every_old_configuration_beside_the_new_one() {
        let world = World::new();
        for text in ["# one\n", "# two\n"] {
            std::fs::create_dir_all(world.path(".config/askbox")).unwrap();
            std::fs::write(world.path(".config/askbox/config.toml"), text).unwrap();
            world.sh("askbox init --force");
        }
        let read = |name: &str| std::fs::read_to_string(world.path(".config/askbox").join(name)).unwrap();
        assert_eq!((read("config.toml.old"), read("config.toml.old.1")), ("# one\n".into(), "# two\n".into()));
        assert_eq!(read("config.toml"), config::template());
    }

    #[test]
    fn every_program_has_completions_that_its_shell_can_read() {
        needs!("bash");
        let world = World::new();
        for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
            let script = world.sh(&format!("askbox init --completions {shell}"));
            for program in PROGRAMS {
                assert!(script.contains(program), "{shell} does not complete {program}");
            }
        }
        let completed =
            world.sh("bash -c 'eval \"$(askbox init --completions bash)\"; complete -p ask-post ask-answer checkpoint relaunch askbox'");
        assert_eq!(completed.lines().count(), PROGRAMS.len(), "{completed}");
        assert_eq!(world.shell("askbox init --completions tcsh").code(), 2);
    }

    #[test]
    fn every_program_and_command_has_a_man_page_that_renders() {
        needs!("man");
        let world = World::new();
        let pages = world.sh("askbox init --man man/man1");
        let names: Vec<_> = pages.lines().map(|p| p.rsplit('/').next().unwrap()).collect();
        for name in ["ask-post.1", "ask-answer.1", "ask-answer-list.1", "checkpoint-env.1", "relaunch-watch.1", "askbox.1", "askbox-demo.1"]
        {
            assert!(names.contains(&name), "no {name} in {names:?}");
        }
        assert!(!pages.contains("supervise") && !pages.contains("schema"), "hidden commands have pages: {pages}");
        // A command's own help goes to its own page.
        let page = std::fs::read_to_string(world.path("man/man1/checkpoint-get.1")).unwrap();
        assert!(page.contains("checkpoint\\-get") && page.contains("dotted path"), "{page}");
        for path in pages.lines() {
            let rendered = output(world.any_command("man").env("LC_ALL", "C.UTF-8").args(["--warnings=w", "-l", path]));
            assert!(rendered.status.success() && rendered.stderr.is_empty(), "{path}: {}", rendered.stderr);
            assert!(rendered.stdout.contains("NAME") && rendered.stdout.contains("SYNOPSIS"), "{path}: {}", rendered.stdout);
        }
    }
}
