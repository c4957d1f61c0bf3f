//! `askbox agents`: which agents it lists, and what it says about files that cannot be read.
//! The snapshots in `snapshots/agent_files` are whole outputs; after a wanted change: `SNAPSHOTS=overwrite cargo test --test programs agent_files::`.

use std::os::unix::fs::PermissionsExt;

use crate::support::cli::Scene;
use serde_json::Value;
use snapbox::{assert_data_eq, file};

const GOOD: &str = "---\nname: good\ndescription: Use this agent always.\n---\nYou are good.\n";

/// A project `p` with one good agent, in a home without any.
fn project() -> Scene {
    let scene = Scene::new();
    write(&scene, "p/.claude/agents/good.md", GOOD);
    scene
}

fn write(scene: &Scene, path: &str, content: impl AsRef<[u8]>) {
    let path = scene.file(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}

fn agent(scene: &Scene, name: &str, content: impl AsRef<[u8]>) {
    write(scene, &format!("p/.claude/agents/{name}.md"), content);
}

#[test]
fn a_file_that_cannot_be_read_is_named_with_its_line_and_the_other_agents_stay_usable() {
    let mut scene = project();
    agent(&scene, "no-description", "---\nname: no-description\n\nmodel: haiku\n---\nbody\n");
    agent(&scene, "empty", "---\nname:\ndescription: d\n---\nbody\n");
    agent(&scene, "colon", "---\nname: colon\ndescription: Use this when: asked.\n---\nbody\n");
    agent(&scene, "twice", "---\nname: twice\nname: twice\ndescription: d\n---\nbody\n");
    agent(&scene, "list", "---\n- name: list\n---\nbody\n");
    agent(&scene, "unclosed", "---\nname: unclosed\ndescription: d\nbody\n");
    agent(&scene, "latin1", b"---\nname: latin1\ndescription: caf\xe9\n---\nbody\n");
    agent(&scene, "large", format!("{GOOD}{}", "x".repeat(1 << 20)));
    agent(&scene, "README", "# Our agents\n\nThis file defines none.\n");
    agent(&scene, "secret", GOOD);
    agent(&scene, "closed/inside", GOOD);
    write(&scene, "p/.claude/agents/notes.txt", "not looked at");
    scene.ok("cd p/.claude/agents && mkfifo pipe.md && ln -s /nonexistent dangling.md && ln -s . loop && ln -s ../../linked.md link.md");
    write(&scene, "p/linked.md", "---\nname: linked\ndescription: d\n---\nbody\n");
    let mode = |path: &str, mode| std::fs::set_permissions(scene.file(path), std::fs::Permissions::from_mode(mode)).unwrap();
    mode("p/.claude/agents/secret.md", 0o000);
    mode("p/.claude/agents/closed", 0o000);
    mode("", 0o755);
    for script in ["cd p && askbox agents list", "cd p && askbox agents show colon", "cd p && askbox agents show nobody"] {
        // Every file is readable for root.
        let ran = if rustix::process::geteuid().is_root() { scene.run_as(65_534, script) } else { scene.run(script) };
        scene.write_down(script, &ran);
    }
    scene.ok("chmod -R u+rwX p");
    assert_data_eq!(scene.transcript(), file!["snapshots/agent_files/mistakes.txt"].raw());
}

#[test]
fn of_one_name_the_later_file_the_nearer_folder_and_the_project_win() {
    let mut scene = project();
    let named = |name: &str, d: &str| format!("---\nname: {name}\ndescription: {d}\n---\nbody\n");
    agent(&scene, "a", named("twice", "the earlier"));
    agent(&scene, "sub/b", named("twice", "the later"));
    write(&scene, ".claude/agents/good.md", named("good", "the user's"));
    write(&scene, ".claude/agents/own.md", named("own", "the user's own"));
    write(&scene, "p/q/.claude/agents/near.md", named("twice", "the nearer"));
    scene.see("cd p && askbox agents list");
    scene.see("cd p/q && askbox agents list");
    scene.see("askbox agents list --dir p/q");
    scene.see("cd p/q && askbox agents show twice");
    scene.see("cd p && askbox agents show good");
    // The user's folder is the one that the environment names.
    scene.ok("mkdir -p c/agents && cp .claude/agents/own.md c/agents/");
    scene.see("cd p && CLAUDE_CONFIG_DIR=$HOME/c askbox agents list");
    // Folders above the home or above a repository are not the project's.
    scene.see("askbox agents list");
    scene.ok("mkdir -p p/q/r/.git");
    scene.see("cd p/q/r && askbox agents list");
    assert_data_eq!(scene.transcript(), file!["snapshots/agent_files/names.txt"].raw());
}

#[test]
fn show_prints_every_field_of_an_agent() {
    let mut scene = project();
    agent(
        &scene,
        "odd",
        "---\nname: odd\ndescription: d\ntools: Read, Bash(git log:*, x)\ndisallowedTools: [Write]\nmodel: sonnet\n\
         permissionMode: plan\nx-team: {name: ours, size: 3}\n---\n\nYou are odd.\n\nVery.\n",
    );
    agent(&scene, "none", "---\nname: none\ndescription: d\ntools:\n---\nbody\n");
    agent(&scene, "all-but", "---\nname: all-but\ndescription: d\ntools: \"*\"\ndisallowedTools: Bash, Write\n---\nbody\n");
    scene.see("cd p && askbox agents list");
    scene.see("cd p && askbox agents show odd");
    scene.see("cd p && askbox agents show odd --json");
    assert_data_eq!(scene.transcript(), file!["snapshots/agent_files/show.txt"].raw());
}

#[test]
fn hostile_files_print_nothing_that_a_terminal_would_obey_and_long_descriptions_are_cut() {
    let mut scene = project();
    agent(&scene, "escapes", "---\nname: escapes\ndescription: \"a \\e[31mred\\u202e \\a\"\n---\n\u{1b}]0;title\u{7}\n");
    agent(&scene, "key", "---\nname: key\ndescription: d\n\"\\e[31mx\\n\": 1\n---\nbody\n");
    agent(&scene, "raw-escapes", "---\nname: raw-escapes\ndescription: a \u{1b}[31mred\n---\nbody\n");
    scene.see("cd p && askbox agents list");
    scene.see("cd p && askbox agents show escapes");
    scene.see("cd p && askbox agents show key");
    scene.see("cd p && askbox agents describe");
    assert_data_eq!(scene.transcript(), file!["snapshots/agent_files/hostile.txt"].raw());
    agent(&scene, "big", format!("---\nname: big\ndescription: {}\n---\nYou are big.\n", "word ".repeat(200_000)));
    let list = scene.run("cd p && askbox agents list --json").stdout;
    for shown in [scene.transcript(), list.clone()] {
        assert!(!shown.contains(['\u{1b}', '\u{7}', '\u{202e}']));
    }
    let list: Value = serde_json::from_str(&list).unwrap();
    assert_eq!(list["agents"][0]["description"].as_str().unwrap().len(), 999_999);
    let describe = scene.run("cd p && askbox agents describe").stdout;
    assert!(describe.len() < 8_500 && describe.contains("…\n\n- escapes:"), "{}", describe.len());
    let show = scene.ok("cd p && askbox agents show big");
    assert!(show.len() < 9_000 && show.contains("… (999999 bytes; all of it with --json)") && show.ends_with("You are big."), "{show}");
}

#[test]
fn the_task_tool_is_described_as_the_api_takes_it() {
    let mut scene = project();
    agent(&scene, "lines", "---\nname: lines\ndescription: |\n  First: this.\n  Second: that.\nmodel: haiku\n---\nbody\n");
    scene.see("cd p && askbox agents describe");
    scene.see("cd p && askbox agents describe --json");
    scene.see("askbox agents describe");
    scene.see("askbox agents list");
    assert_data_eq!(scene.transcript(), file!["snapshots/agent_files/describe.txt"].raw());
    let tool: Value = serde_json::from_str(&scene.ok("cd p && askbox agents describe --json")).unwrap();
    assert_eq!(
        tool["description"],
        "Launch a new agent to handle complex tasks...\n\nAvailable agent types:\n\n- good: Use this agent always.\n\n- lines: First: this.\nSecond: that."
    );
    assert_eq!(tool["input_schema"]["required"], serde_json::json!(["subagent_type", "prompt"]));
}

#[test]
fn arguments_that_make_no_sense_are_usage_errors() {
    let mut scene = project();
    for script in
        ["askbox agents", "askbox agents find", "askbox agents show", "askbox agents list all", "askbox agents list --dir nowhere"]
    {
        scene.see(script);
    }
    assert_data_eq!(scene.transcript(), file!["snapshots/agent_files/arguments.txt"].raw());
}
