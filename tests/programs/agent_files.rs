//! `askbox agents`: the agents that it lists, and its words about files that cannot be read. The snapshots in `snapshots/agent_files` are
//! whole outputs. After a wanted change: `SNAPSHOTS=overwrite tests/run programs agent_files::`.

use std::os::unix::fs::PermissionsExt;

use crate::support::World;
use serde_json::Value;
use snapbox::{assert_data_eq, file};

const GOOD: &str = "---\nname: good\ndescription: Use this agent always.\n---\nYou are good.\n";

/// A project `p` with one good agent, in a home without any.
fn project() -> World {
    let world = World::new();
    write(&world, "p/.claude/agents/good.md", GOOD);
    world
}

fn write(world: &World, path: &str, content: impl AsRef<[u8]>) {
    let path = world.path(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}

fn agent(world: &World, name: &str, content: impl AsRef<[u8]>) {
    write(world, &format!("p/.claude/agents/{name}.md"), content);
}

#[test]
fn an_unreadable_agent_file_is_named_with_its_line() {
    let mut world = project();
    agent(&world, "no-description", "---\nname: no-description\n\nmodel: haiku\n---\nbody\n");
    agent(&world, "empty", "---\nname:\ndescription: d\n---\nbody\n");
    agent(&world, "colon", "---\nname: colon\ndescription: Use this when: asked.\n---\nbody\n");
    agent(&world, "quotes", "---\nname: quotes\ndescription: \"Use\" this \"when\"\n---\nbody\n");
    agent(&world, "twice", "---\nname: twice\nname: twice\ndescription: d\n---\nbody\n");
    agent(&world, "list", "---\n- name: list\n---\nbody\n");
    agent(&world, "unclosed", "---\nname: unclosed\ndescription: d\nbody\n");
    agent(&world, "latin1", b"---\nname: latin1\ndescription: caf\xe9\n---\nbody\n");
    agent(&world, "large", format!("{GOOD}{}", "x".repeat(1 << 20)));
    agent(&world, "README", "# Our agents\n\nThis file defines none.\n");
    agent(&world, "secret", GOOD);
    agent(&world, "closed/inside", GOOD);
    write(&world, "p/.claude/agents/notes.txt", "not looked at");
    world.sh("cd p/.claude/agents && mkfifo pipe.md && ln -s /nonexistent dangling.md && ln -s . loop && ln -s ../../linked.md link.md");
    write(&world, "p/linked.md", "---\nname: linked\ndescription: d\n---\nbody\n");
    let mode = |path: &str, mode| std::fs::set_permissions(world.path(path), std::fs::Permissions::from_mode(mode)).unwrap();
    mode("p/.claude/agents/secret.md", 0o000);
    mode("p/.claude/agents/closed", 0o000);
    mode("", 0o755);
    for script in ["cd p && askbox agents list", "cd p && askbox agents show quotes", "cd p && askbox agents show nobody"] {
        // Every file is readable for root.
        let ran = if rustix::process::geteuid().is_root() { world.shell_as(65_534, script) } else { world.shell(script) };
        world.write_down(script, &ran);
    }
    world.sh("chmod -R u+rwX p");
    assert_data_eq!(world.transcript(), file!["snapshots/agent_files/mistakes.txt"].raw());
}

#[test]
fn hostile_agent_files_print_nothing_that_a_terminal_obeys() {
    let mut world = project();
    agent(&world, "escapes", "---\nname: escapes\ndescription: \"a \\e[31mred\\u202e \\a\"\n---\n\u{1b}]0;title\u{7}\n");
    agent(&world, "key", "---\nname: key\ndescription: d\n\"\\e[31mx\\n\": 1\n---\nbody\n");
    agent(&world, "raw-escapes", "---\nname: raw-escapes\ndescription: a \u{1b}[31mred\n---\nbody\n");
    world.see("cd p && askbox agents list");
    world.see("cd p && askbox agents show escapes");
    world.see("cd p && askbox agents show key");
    world.see("cd p && askbox agents describe");
    assert_data_eq!(world.transcript(), file!["snapshots/agent_files/hostile.txt"].raw());
    agent(&world, "big", format!("---\nname: big\ndescription: {}\n---\nYou are big.\n", "word ".repeat(200_000)));
    let list = world.shell("cd p && askbox agents list --json").stdout;
    for shown in [world.transcript(), list.clone()] {
        assert!(!shown.contains(['\u{1b}', '\u{7}', '\u{202e}']));
    }
    let list: Value = serde_json::from_str(&list).unwrap();
    assert_eq!(list["agents"][0]["description"].as_str().unwrap().len(), 999_999);
    let describe = world.shell("cd p && askbox agents describe").stdout;
    assert!(describe.len() < 8_500 && describe.contains("…\n\n- escapes:"), "{}", describe.len());
    let show = world.sh("cd p && askbox agents show big");
    assert!(show.len() < 9_000 && show.contains("… (999999 bytes; all of it with --json)") && show.ends_with("You are big."), "{show}");
}

#[test]
fn the_task_tool_is_described_as_the_api_takes_it() {
    let mut world = project();
    agent(&world, "lines", "---\nname: lines\ndescription: |\n  First: this.\n  Second: that.\nmodel: haiku\n---\nbody\n");
    world.see("cd p && askbox agents describe");
    world.see("cd p && askbox agents describe --json");
    world.see("askbox agents describe");
    world.see("askbox agents list");
    assert_data_eq!(world.transcript(), file!["snapshots/agent_files/describe.txt"].raw());
    let tool: Value = serde_json::from_str(&world.sh("cd p && askbox agents describe --json")).unwrap();
    assert_eq!(
        tool["description"],
        "Launch a new agent to handle complex tasks...\n\nAvailable agent types:\n\n- good: Use this agent always.\n\n- lines: First: this.\nSecond: that."
    );
    assert_eq!(tool["input_schema"]["required"], serde_json::json!(["subagent_type", "prompt"]));
}

#[test]
fn agents_with_senseless_arguments_says_how_to_call_it() {
    let mut world = project();
    for script in
        ["askbox agents", "askbox agents find", "askbox agents show", "askbox agents list all", "askbox agents list --dir nowhere"]
    {
        world.see(script);
    }
    assert_data_eq!(world.transcript(), file!["snapshots/agent_files/arguments.txt"].raw());
}

mod promises {
    use snapbox::file;

    use super::*;

    #[test]
    fn among_agents_of_one_name_the_nearer_and_later_file_wins() {
        let mut world = project();
        let named = |name: &str, d: &str| format!("---\nname: {name}\ndescription: {d}\n---\nbody\n");
        agent(&world, "a", named("twice", "the earlier"));
        agent(&world, "sub/b", named("twice", "the later"));
        write(&world, ".claude/agents/good.md", named("good", "the user's"));
        write(&world, ".claude/agents/own.md", named("own", "the user's own"));
        write(&world, "p/q/.claude/agents/near.md", named("twice", "the nearer"));
        world.see("cd p && askbox agents list");
        world.see("cd p/q && askbox agents list");
        world.see("askbox agents list --dir p/q");
        world.see("cd p/q && askbox agents show twice");
        world.see("cd p && askbox agents show good");
        // The user's folder is the one that the environment names.
        world.sh("mkdir -p c/agents && cp .claude/agents/own.md c/agents/");
        world.see("cd p && CLAUDE_CONFIG_DIR=$HOME/c askbox agents list");
        // Folders above the world or above a repository are not the project's.
        world.see("askbox agents list");
        world.sh("mkdir -p p/q/r/.git");
        world.see("cd p/q/r && askbox agents list");
        assert_data_eq!(world.transcript(), file!["snapshots/agent_files/names.txt"].raw());
    }

    #[test]
    fn show_prints_every_field_of_an_agent() {
        let mut world = project();
        agent(
            &world,
            "odd",
            "---\nname: odd\ndescription: d\ntools: Read, Bash(git log:*, x)\ndisallowedTools: [Write]\nmodel: sonnet\n\
         permissionMode: plan\nx-team: {name: ours, size: 3}\n---\n\nYou are odd.\n\nVery.\n",
        );
        agent(&world, "none", "---\nname: none\ndescription: d\ntools:\n---\nbody\n");
        agent(&world, "all-but", "---\nname: all-but\ndescription: d\ntools: \"*\"\ndisallowedTools: Bash, Write\n---\nbody\n");
        world.see("cd p && askbox agents list");
        world.see("cd p && askbox agents show odd");
        world.see("cd p && askbox agents show odd --json");
        assert_data_eq!(world.transcript(), file!["snapshots/agent_files/show.txt"].raw());
    }
}
