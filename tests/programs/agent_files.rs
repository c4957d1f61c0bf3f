//! Agent files with every mistake that people make: the file, the line and the way out are named, and the other agents stay usable.
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

/// `list --json` of the project.
fn listed(scene: &Scene) -> Value {
    serde_json::from_str(&scene.run("cd p && askbox agents list --json").stdout).unwrap()
}

#[track_caller]
fn names(scene: &Scene) -> Vec<String> {
    let list = listed(scene);
    list["agents"].as_array().unwrap().iter().map(|a| a["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn what_gives_no_agent_is_named_with_file_and_line_and_the_rest_is_usable() {
    let mut scene = project();
    agent(&scene, "no-name", "---\ndescription: d\n---\nbody\n");
    agent(&scene, "no-description", "---\nname: no-description\n\nmodel: haiku\n---\nbody\n");
    agent(&scene, "nothing", "---\n---\nbody\n");
    agent(&scene, "empty-values", "---\nname:\ndescription: \"\"\n---\nbody\n");
    agent(&scene, "types", "---\nname: 12\ndescription: [a, b]\n---\nbody\n");
    agent(&scene, "dash", "---\nname: -x\ndescription: d\n---\nbody\n");
    agent(&scene, "colon", "---\nname: a:b\ndescription: d\n---\nbody\n");
    agent(&scene, "long-name", format!("---\nname: {}\ndescription: d\n---\nbody\n", "n".repeat(257)));
    agent(&scene, "bad-yaml", "---\nname: bad-yaml\ndescription: Examples:\n<example>\nuser: \"x\"\n---\nbody\n");
    agent(&scene, "open-quote", "---\nname: open-quote\ndescription: \"never closed\n---\nbody\n");
    agent(&scene, "list", "---\n- name: list\n---\nbody\n");
    agent(&scene, "unclosed", "---\nname: unclosed\ndescription: d\nbody\n");
    agent(&scene, "late", "\n---\nname: late\ndescription: d\n---\nbody\n");
    agent(&scene, "README", "# Our agents\n\nNo agent at all.\n");
    agent(&scene, "empty", "");
    agent(&scene, "keys", "---\nName: keys\nwhat-for: d\n---\nbody\n");
    write(&scene, "p/.claude/agents/notes.txt", "not looked at");
    scene.see("cd p && askbox agents list");
    scene.see("cd p && askbox agents show good");
    scene.see("cd p && askbox agents show bad-yaml");
    scene.see("cd p && askbox agents show no-description");
    scene.see("cd p && askbox agents show god");
    scene.see("cd p && askbox agents show nobody");
    scene.see("cd p && askbox agents describe");
    assert_data_eq!(scene.transcript(), file!["snapshots/agent_files/mistakes.txt"].raw());
    assert_eq!(names(&scene), ["good"]);
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
    // What is above the home, or above a repository, is not the project's.
    scene.see("askbox agents list");
    scene.ok("mkdir -p p/q/r/.git");
    scene.see("cd p/q/r && askbox agents list");
    assert_data_eq!(scene.transcript(), file!["snapshots/agent_files/names.txt"].raw());
}

#[test]
fn what_claude_makes_up_for_is_made_up_for_and_told() {
    let mut scene = project();
    agent(
        &scene,
        "colon",
        "---\nname: colon\ndescription: Use this when: asked. user: \"x\"\\nassistant: \"y\"\nmodel: haiku\n---\nbody\n",
    );
    agent(&scene, "crlf", "---\r\nname: crlf\r\ndescription: d\r\n---\r\nbody\r\n");
    agent(&scene, "crlf-colon", "---\r\nname: crlf-colon\r\ndescription: when: asked\r\n---\r\nbody\r\n");
    agent(&scene, "bom", "\u{feff}---\nname: bom\ndescription: d\n---\nbody\n");
    agent(&scene, "star", "---\nname: star\ndescription: *not an alias\n---\nbody\n");
    agent(&scene, "comment", "---\nname: comment\ndescription: Knows C# and #tags\n---\nbody\n");
    agent(&scene, "middle", "---\nname: middle\ndescription: this --- and that\n---\nbody\n");
    agent(&scene, "twice", "---\nname: first\nname: twice\ndescription: d\n---\nbody\n");
    agent(&scene, "spaces", "---\nname: with spaces\ndescription: d\n---\nbody\n");
    scene.see("cd p && askbox agents list");
    assert_data_eq!(scene.transcript(), file!["snapshots/agent_files/lenient.txt"].raw());
    assert_eq!(names(&scene), ["bom", "colon", "comment", "crlf", "good", "middle", "star", "twice", "with spaces"]);
}

#[test]
fn tools_models_and_modes_that_nobody_knows_are_doubted_and_unknown_keys_are_kept() {
    let mut scene = project();
    agent(
        &scene,
        "odd",
        "---\nname: odd\ndescription: d\ntools: read, Bash(git log:*, x), Nonesuch, mcp__x__y\ndisallowedTools: [Write]\nmodel: 5\n\
         permissionMode: bypass\ncolor: mauve\nx-team: {name: ours, size: 3}\ntool: Read\n---\n\nYou are odd.\n\nVery.\n",
    );
    agent(&scene, "none", "---\nname: none\ndescription: d\ntools:\n---\nbody\n");
    agent(&scene, "all-but", "---\nname: all-but\ndescription: d\ntools: \"*\"\ndisallowedTools: Bash, Write\nmodel: sonnet\n---\nbody\n");
    scene.see("cd p && askbox agents list");
    scene.see("cd p && askbox agents show odd");
    scene.see("cd p && askbox agents show odd --json");
    assert_data_eq!(scene.transcript(), file!["snapshots/agent_files/doubts.txt"].raw());
}

#[test]
fn hostile_files_cost_nothing_and_drive_no_terminal() {
    let mut scene = project();
    let mut bomb = "---\nname: bomb\ndescription: d\na0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
    for n in 1..30 {
        let before = format!("*a{}", n - 1);
        bomb.push_str(&format!("a{n}: &a{n} [{}]\n", [before.as_str(); 10].join(",")));
    }
    agent(&scene, "bomb", format!("{bomb}---\nbody\n"));
    agent(&scene, "deep", format!("---\nname: deep\ndescription: d\nx:\n  {}y\n---\nbody\n", "- ".repeat(200_000)));
    agent(&scene, "latin1", b"---\nname: latin1\ndescription: caf\xe9\n---\nbody\n");
    agent(&scene, "escapes", "---\nname: escapes\ndescription: \"a \\e[31mred\\u202e \\a\"\n---\n\u{1b}]0;title\u{7}\n");
    agent(&scene, "raw-escapes", "---\nname: raw-escapes\ndescription: a \u{1b}[31mred\n---\nbody\n");
    agent(&scene, "key", "---\nname: key\ndescription: d\n\"\\e[31mx\\n\": 1\n---\nbody\n");
    agent(&scene, "nul", "---\nname: nul\ndescription: a\0b\n---\nbody\n");
    agent(&scene, "large", format!("{GOOD}{}", "x".repeat(1 << 20)));
    scene.ok("cd p/.claude/agents && mkfifo pipe.md && ln -s /nonexistent dangling.md && ln -s . loop && ln -s ../../linked.md link.md");
    write(&scene, "p/linked.md", "---\nname: linked\ndescription: d\n---\nbody\n");
    scene.see("cd p && askbox agents list");
    scene.see("cd p && askbox agents show escapes");
    scene.see("cd p && askbox agents show key");
    scene.see("cd p && askbox agents describe");
    assert_data_eq!(scene.transcript(), file!["snapshots/agent_files/hostile.txt"].raw());
    assert_eq!(names(&scene), ["bomb", "escapes", "good", "key", "latin1", "linked", "raw-escapes"]);
    let json = scene.run("cd p && askbox agents list --json").stdout;
    for shown in [scene.transcript(), json.clone()] {
        assert!(!shown.contains(['\u{1b}', '\u{7}', '\u{202e}']));
    }
    assert!(json.len() < 3 << 20, "{}", json.len());
}

#[test]
fn a_description_of_a_megabyte_is_told_shown_shortened_and_cut_where_a_model_would_pay_for_it() {
    let mut scene = project();
    agent(&scene, "big", format!("---\nname: big\ndescription: {}\n---\nYou are big.\n", "word ".repeat(200_000)));
    agent(&scene, "too-big", format!("---\nname: too-big\ndescription: {}\n---\nbody\n", "x".repeat(1 << 20)));
    scene.see("cd p && askbox agents list");
    assert_data_eq!(scene.transcript(), file!["snapshots/agent_files/big.txt"].raw());
    assert_eq!(names(&scene), ["big", "good"]);
    assert_eq!(listed(&scene)["agents"][0]["description"].as_str().unwrap().len(), 999_999);
    let describe = scene.run("cd p && askbox agents describe").stdout;
    assert!(describe.len() < 8_500 && describe.contains("…\n\n- good: Use this agent always."), "{}", describe.len());
    let show = scene.ok("cd p && askbox agents show big");
    assert!(show.len() < 9_000 && show.contains("… (999999 bytes; all of it with --json)") && show.ends_with("You are big."), "{show}");
}

#[test]
fn a_file_that_cannot_be_read_is_told_and_the_rest_is_usable() {
    let mut scene = project();
    agent(&scene, "secret", GOOD);
    agent(&scene, "closed/inside", GOOD);
    let mode = |path: &str, mode| std::fs::set_permissions(scene.file(path), std::fs::Permissions::from_mode(mode)).unwrap();
    mode("p/.claude/agents/secret.md", 0o000);
    mode("p/.claude/agents/closed", 0o000);
    mode("", 0o755);
    let script = "cd p && askbox agents list";
    // For root every file is readable.
    let ran = if rustix::process::geteuid().is_root() { scene.run_as(65_534, script) } else { scene.run(script) };
    scene.write_down(script, &ran);
    scene.ok("chmod -R u+rwX p");
    assert_data_eq!(scene.transcript(), file!["snapshots/agent_files/unreadable.txt"].raw());
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
